//! What must hold for the sources as a whole and no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the project: its path from the root, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// The places where `offends` says so, as `path:line: text`.
    fn lines_that(&self, offends: impl Fn(&str) -> bool) -> Vec<String> {
        let found = self.text.lines().enumerate().filter(|(_, line)| offends(line));
        found.map(|(index, line)| format!("{}:{}: {}", self.path, index + 1, line.trim())).collect()
    }
}

/// Each invariant with the places that break it.
pub(crate) fn check(root: &Path) -> Result<Vec<(&'static str, Vec<String>)>, String> {
    let sources = read(root)?;
    if sources.is_empty() {
        return Err("there are no sources to check".to_owned());
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let machine = machine_paths(&root.to_string_lossy(), &home);
    let each = |offending: &dyn Fn(&Source) -> Vec<String>| sources.iter().flat_map(offending).collect();
    Ok(vec![
        ("only crates/diptych names rmcp", each(&names_rmcp)),
        (
            "no file names a path of the machine it was written on",
            each(&|source| names_path(source, &machine)),
        ),
        ("nothing takes the retired prompt argument", each(&names_retired_argument)),
        ("no file names the host of a package registry", each(&names_registry)),
        ("the continuous integration runs the one command", ci_runs_the_one_command(&sources)),
    ])
}

/// rmcp breaks often: it must stay behind the toolkit.
fn names_rmcp(source: &Source) -> Vec<String> {
    let other_crate = source.is_in("crates") && !source.is_in("crates/diptych");
    let relevant = source.path.ends_with(".rs") || source.path.ends_with("Cargo.toml");
    if other_crate && relevant { source.lines_that(|line| has_word(line, "rmcp")) } else { Vec::new() }
}

fn names_path(source: &Source, machine: &[String]) -> Vec<String> {
    source.lines_that(|line| machine.iter().any(|path| line.contains(path)))
}

/// The paths that would betray this machine: the checkout and the home folder.
fn machine_paths(root: &str, home: &str) -> Vec<String> {
    // A path of one component, such as `/src` or `/root`, is found on many machines and in many made-up examples.
    let telling = |path: &&str| path.trim_matches('/').contains('/');
    let paths = [root, home].into_iter().filter(telling);
    paths.map(|path| format!("{}/", path.trim_end_matches('/'))).collect()
}

fn names_retired_argument(source: &Source) -> Vec<String> {
    // Written in two halves, lest this line break its own rule.
    let retired = ["prompt", "id"].join("_");
    if source.path == "CONTRIBUTING.md" {
        return Vec::new();
    }
    source.lines_that(|line| line.contains(&retired) && !line.contains("assert"))
}

fn names_registry(source: &Source) -> Vec<String> {
    let hosts = [["registry.npmjs", "org"], ["pypi", "org"], ["pythonhosted", "org"], ["crates", "io/api"]]
        .map(|parts| parts.join("."));
    source.lines_that(|line| hosts.iter().any(|host| line.contains(host.as_str())))
}

fn ci_runs_the_one_command(sources: &[Source]) -> Vec<String> {
    let Some(run) = sources.iter().find(|source| source.path == ".ci/run") else {
        return vec![".ci/run is missing".to_owned()];
    };
    let commands: Vec<&str> = run
        .text
        .lines()
        .filter(|line| line.contains("cargo") && !line.trim_start().starts_with('#'))
        .collect();
    if commands.len() == 1 && commands[0].trim_end().ends_with("cargo xtask test") {
        Vec::new()
    } else {
        vec![format!(".ci/run must run `cargo xtask test` and no other cargo command, but has {commands:?}")]
    }
}

/// Whether `word` stands in `line` as a whole identifier.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// Every text file of the project, except the lock files that cargo writes.
fn read(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for path in tracked(root)? {
        if path.ends_with("Cargo.lock") {
            continue;
        }
        // What is not UTF-8 is no source; what git lists but is gone has been deleted since.
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            sources.push(Source { path: path.to_string_lossy().replace('\\', "/"), text });
        }
    }
    Ok(sources)
}

/// The files that git tracks or would track; without git (an unpacked archive), all that are not products of a build.
fn tracked(root: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output();
    if let Ok(output) = listed
        && output.status.success()
        && !output.stdout.is_empty()
    {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect());
    }
    let mut files = Vec::new();
    walk(root, Path::new(""), &mut files)
        .map_err(|error| format!("cannot list the project's files: {error}"))?;
    Ok(files)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir()
            && ![".git", "target", "node_modules", "__pycache__", ".venv"]
                .iter()
                .any(|name| entry.file_name() == **name)
        {
            walk(root, &path, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn only_the_toolkit_may_name_rmcp() {
        let text = "use rmcp::model;\n// trmcps\n";
        assert_eq!(
            names_rmcp(&source("crates/diptych-graph/src/lib.rs", text)),
            ["crates/diptych-graph/src/lib.rs:1: use rmcp::model;"]
        );
        assert_eq!(names_rmcp(&source("crates/diptych-graph/Cargo.toml", "rmcp.workspace = true")).len(), 1);
        assert!(names_rmcp(&source("crates/diptych/src/lib.rs", text)).is_empty());
        assert!(names_rmcp(&source("README.md", text)).is_empty());
    }

    #[test]
    fn machine_paths_are_found() {
        let machine = machine_paths("/builds/diptych", "/home/someone/");
        assert_eq!(machine, ["/builds/diptych/", "/home/someone/"]);
        let text = "fine\nlet p = \"/home/someone/x\";\n";
        assert_eq!(names_path(&source("a.rs", text), &machine), ["a.rs:2: let p = \"/home/someone/x\";"]);
        assert!(machine_paths("/src", "/root").is_empty(), "such paths tell nothing");
    }

    #[test]
    fn the_retired_argument_may_only_be_forbidden() {
        let retired = ["prompt", "id"].join("_");
        assert_eq!(
            names_retired_argument(&source("a.rs", &format!("struct A {{ {retired}: u8 }}"))).len(),
            1
        );
        assert!(
            names_retired_argument(&source("a.rs", &format!("assert!(!s.contains(\"{retired}\"))")))
                .is_empty()
        );
        assert!(
            names_retired_argument(&source("CONTRIBUTING.md", &format!("Never `{retired}`."))).is_empty()
        );
    }

    #[test]
    fn registries_are_not_named() {
        let host = ["pypi", "org"].join(".");
        assert_eq!(names_registry(&source("a.md", &format!("see {host}/project"))).len(), 1);
    }

    #[test]
    fn ci_has_one_command() {
        let run = |text: &str| ci_runs_the_one_command(&[source(".ci/run", text)]);
        assert!(run("#!/bin/sh\nexec cargo xtask test\n").is_empty());
        assert_eq!(run("cargo test\ncargo xtask test\n").len(), 1);
        assert_eq!(ci_runs_the_one_command(&[]).len(), 1);
    }

    #[test]
    fn without_git_the_tree_is_walked() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("target")).unwrap();
        fs::create_dir_all(folder.path().join("crates/a")).unwrap();
        fs::write(folder.path().join("target/x"), "").unwrap();
        fs::write(folder.path().join("crates/a/lib.rs"), "").unwrap();
        let mut files = Vec::new();
        walk(folder.path(), Path::new(""), &mut files).unwrap();
        assert_eq!(files, [PathBuf::from("crates/a/lib.rs")]);
    }
}
