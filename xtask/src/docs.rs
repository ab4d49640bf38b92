//! `cargo xtask docs`: writes what the binary makes from its definitions into the tree; the step `docs` says what of it
//! is stale.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::steps::{Context, Tally, context};

const LIMIT: Duration = Duration::from_secs(120);
const MEND: &str = "run `cargo xtask docs` and commit what it changes";
/// Where files are made that nobody else writes.
const FOLDER: &str = "docs";
/// How each page in there begins that was made.
const MARK: &str = "<!-- Made by `cargo xtask docs`";

/// A file as it should be; without a text, it should not be.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    path: String,
    text: Option<String>,
}

/// `cargo xtask docs`.
pub(crate) fn command() -> Result<bool, String> {
    let mut context = context("docs")?;
    let mut written = 0;
    for wanted in wanted(&mut context)? {
        let path = context.root.join(&wanted.path);
        let problem = |error: std::io::Error| format!("cannot write {}: {error}", wanted.path);
        let Some(text) = &wanted.text else {
            fs::remove_file(&path).map_err(problem)?;
            println!("removed {}", wanted.path);
            continue;
        };
        if fs::read_to_string(&path).is_ok_and(|now| now == *text) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(problem)?;
        }
        fs::write(&path, text).map_err(problem)?;
        println!("wrote {}", wanted.path);
        written += 1;
    }
    println!("{written} files changed");
    Ok(true)
}

/// The step: nothing is written.
pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for wanted in wanted(context)? {
        let now = fs::read_to_string(context.root.join(&wanted.path)).ok();
        if now == wanted.text {
            tally.passed += 1;
            continue;
        }
        tally.failed += 1;
        context.log.note(&format!("stale: {}", wanted.path));
        if let Some(line) = first_difference(&now.unwrap_or_default(), &wanted.text.unwrap_or_default()) {
            context.log.note(&format!("  first in line {line}"));
        }
    }
    if tally.failed > 0 {
        context.log.note(MEND);
        tally.note = MEND.to_owned();
    }
    Ok(tally)
}

fn wanted(context: &mut Context) -> Result<Vec<Wanted>, String> {
    let mut command = Command::new(context.binary()?);
    command.arg("docs");
    let output = context.log.capture(command, LIMIT)?.expect("making the documentation (`diptych docs`)")?;
    let made: Value = serde_json::from_str(&output)
        .map_err(|error| format!("what `diptych docs` prints is not JSON: {error}"))?;
    let mut wanted = Vec::new();
    for (path, text) in made["files"].as_object().into_iter().flatten() {
        wanted.push(Wanted { path: path.clone(), text: text.as_str().map(str::to_owned) });
    }
    for (path, sections) in made["sections"].as_object().into_iter().flatten() {
        let mut text = fs::read_to_string(context.root.join(path))
            .map_err(|error| format!("cannot read {path}: {error}"))?;
        for (name, section) in sections.as_object().into_iter().flatten() {
            text = replace(&text, name, section.as_str().unwrap_or_default()).ok_or_else(|| {
                format!("{path} has no place for {name}: it needs {} and {}", begin(name), end(name))
            })?;
        }
        wanted.push(Wanted { path: path.clone(), text: Some(text) });
    }
    if wanted.is_empty() {
        return Err("`diptych docs` made nothing".to_owned());
    }
    let left = left_over(&context.root, Path::new(FOLDER), &wanted);
    wanted.extend(left);
    Ok(wanted)
}

fn begin(name: &str) -> String {
    format!("<!-- {name}: made by `cargo xtask docs` -->")
}

fn end(name: &str) -> String {
    format!("<!-- end of {name} -->")
}

/// The text with another section between the marks; nothing when they are not there.
fn replace(text: &str, name: &str, section: &str) -> Option<String> {
    let (before, rest) = text.split_once(&begin(name))?;
    let (_, after) = rest.split_once(&end(name))?;
    Some(format!("{before}{}\n{}\n{}{after}", begin(name), section.trim_end(), end(name)))
}

/// Pages that were made once and are no more.
fn left_over(root: &Path, folder: &Path, wanted: &[Wanted]) -> Vec<Wanted> {
    let mut left = Vec::new();
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            left.extend(left_over(root, &path, wanted));
            continue;
        }
        let path = path.to_string_lossy().replace('\\', "/");
        let is_made = fs::read_to_string(entry.path()).is_ok_and(|text| text.starts_with(MARK));
        if is_made && wanted.iter().all(|one| one.path != path) {
            left.push(Wanted { path, text: None });
        }
    }
    left
}

fn first_difference(now: &str, wanted: &str) -> Option<usize> {
    let (now, wanted): (Vec<&str>, Vec<&str>) = (now.lines().collect(), wanted.lines().collect());
    (0..now.len().max(wanted.len())).find(|line| now.get(*line) != wanted.get(*line)).map(|line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let text = format!("# Title\n\n{}\nold\n{}\n\nEnd.\n", begin("settings"), end("settings"));
        let new = replace(&text, "settings", "new\n").unwrap();
        assert_eq!(new, text.replace("old", "new"));
        assert_eq!(replace(&text, "commands", "x"), None);
    }

    #[test]
    fn pages_that_are_no_longer_made_are_found() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("docs/tools")).unwrap();
        let made = format!("{MARK} … -->\n");
        for (path, text) in [
            ("docs/tools/old.md", made.as_str()),
            ("docs/tools/new.md", &made),
            ("docs/by-hand.md", "# Hello\n"),
        ] {
            fs::write(root.path().join(path), text).unwrap();
        }
        let wanted = [Wanted { path: "docs/tools/new.md".into(), text: Some(String::new()) }];
        let left = left_over(root.path(), Path::new("docs"), &wanted);
        assert_eq!(left, [Wanted { path: "docs/tools/old.md".into(), text: None }]);
    }

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\n"), None);
    }
}
