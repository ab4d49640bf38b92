//! What the measurements have in common: what they measure is built, what is printed goes to a log, the report is
//! shown and kept, and figures are written for people.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::HELP;
use crate::run::Log;
use crate::steps::{BUILD_LIMIT, cargo, root, target_folder};

/// One measurement.
pub(super) struct Measurement {
    name: &'static str,
    pub(super) root: PathBuf,
    /// Cargo's target folder.
    pub(super) target: PathBuf,
    pub(super) log: Log,
}

impl Measurement {
    pub(super) fn new(name: &'static str) -> Result<Measurement, String> {
        let root = root();
        let target = target_folder(&root)?;
        let log = Log::create(target.join(format!("xtask/bench-{name}.log")))?;
        Ok(Measurement { name, root, target, log })
    }

    /// Runs cargo in the workspace.
    pub(super) fn build(&mut self, arguments: &[&str]) -> Result<(), String> {
        let mut command = cargo();
        command.current_dir(&self.root).args(arguments);
        self.build_with(command)
    }

    /// Builds, and shows what was said when that fails.
    pub(super) fn build_with(&mut self, command: Command) -> Result<(), String> {
        eprintln!("building");
        let built = self.log.run(command, BUILD_LIMIT)?.expect("building what is measured");
        if built.is_err() {
            eprintln!("{}", self.log.text());
        }
        built.map(drop)
    }

    /// Runs the program that measures, and gives what it printed.
    pub(super) fn measure(&mut self, command: Command, limit: Duration) -> Result<String, String> {
        eprintln!("measuring; {} says how far it has come", self.log.path().display());
        self.log.capture(command, limit)?.expect("the measurement")
    }

    /// Prints the report, and keeps it.
    pub(super) fn keep(&self, report: &str) -> Result<bool, String> {
        let path = self.target.join(format!("xtask/bench-{}.md", self.name));
        std::fs::write(&path, report).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        println!("{report}");
        eprintln!("kept in {}", path.display());
        Ok(true)
    }
}

/// Whether the one option that there is was given.
pub(super) fn is_quick(arguments: &[String]) -> Result<bool, String> {
    match arguments {
        [] => Ok(false),
        [only] if only == "--quick" => Ok(true),
        [other, ..] => Err(format!("{other:?} is not understood here\n\n{HELP}")),
    }
}

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

pub(super) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| grouped(&format!("{value:.digits$}")))
}

pub(super) fn ratio(own: Option<f64>, base: Option<f64>) -> String {
    match (own, base) {
        (Some(own), Some(base)) if base > 0.0 => format!("{:.2}×", own / base),
        _ => "–".to_owned(),
    }
}

/// Thousands apart, for people.
fn grouped(number: &str) -> String {
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(number(Some(182_345.6), 0), "182,346");
        assert_eq!(number(Some(999.25), 1), "999.2");
        assert_eq!(number(None, 1), "–");
        assert_eq!(ratio(Some(3.0), Some(2.0)), "1.50×");
        assert_eq!(ratio(Some(3.0), None), "–");
    }

    #[test]
    fn options_that_are_not_known_are_refused() {
        assert_eq!(is_quick(&[]), Ok(false));
        assert_eq!(is_quick(&["--quick".to_owned()]), Ok(true));
        assert!(is_quick(&["--quick".to_owned(), "--quick".to_owned()]).unwrap_err().contains("--quick"));
    }
}
