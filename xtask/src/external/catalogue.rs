//! The catalogue's TypeScript examples, type-checked by `xtask/typecheck`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::steps::{Context, Tally};

const LIMIT: Duration = Duration::from_secs(10 * 60);

pub(crate) fn manifest(root: &Path) -> PathBuf {
    root.join("xtask/typecheck/package.json")
}

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let node = context.cache.node(&mut context.log)?;
    let modules = context.cache.npm_modules(&mut context.log, "typecheck", &manifest(&context.root))?;
    let mut tally = Tally::default();

    let mut command = Command::new(&node);
    command.current_dir(context.root.join("xtask/typecheck")).args(["--test", "--test-reporter=tap"]);
    let finished = context.log.run(command, LIMIT)?;
    tally.add(&tap_results(&finished.output));
    if !finished.success && tally.failed == 0 {
        return Err("the type check's own tests failed".to_owned());
    }

    let mut command = Command::new(&node);
    command
        .arg(context.root.join("xtask/typecheck/check.mjs"))
        .arg("--catalogue")
        .arg(context.root.join("catalogue"))
        .arg("--modules")
        .arg(&modules);
    let finished = context.log.run(command, LIMIT)?;
    let last = finished.output.lines().last().unwrap_or_default().to_owned();
    if finished.success {
        // "85 examples in 83 patterns type-check"
        let examples = last.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(1);
        tally.add(&Tally { passed: examples, note: last, ..Tally::default() });
    } else {
        tally.add(&Tally { failed: 1, note: last, ..Tally::default() });
    }
    Ok(tally)
}

/// Reads the end of a TAP report: `# pass 7` and `# fail 0`.
fn tap_results(output: &str) -> Tally {
    let count = |name: &str| {
        let mut counts =
            output.lines().filter_map(|line| line.strip_prefix(name)?.trim().parse::<usize>().ok());
        counts.next_back().unwrap_or_default()
    };
    Tally { passed: count("# pass "), failed: count("# fail "), ..Tally::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tap_report_is_counted() {
        let tally = tap_results("ok 1 - a\n# tests 9\n# pass 7\n# fail 2\n");
        assert_eq!((tally.passed, tally.failed), (7, 2));
    }
}
