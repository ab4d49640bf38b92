//! `cargo xtask`: everything a developer runs that is not `cargo` itself.
//!
//! `cargo xtask test` is the one command that passes all tests on a machine with only Rust, a C compiler, Node with
//! npm and Python; `cargo xtask bench` compares the toolkit's speed with its peers.
#![allow(clippy::print_stdout, reason = "a command for people at a terminal: stdout is where it answers")]

mod bench;
mod docs;
mod external;
mod install;
mod invariants;
mod packaging;
mod run;
mod server;
mod steps;
mod versions;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  test [STEP…]     run all tests, or only the named steps; installs what they need
  test --list      name the steps and what each one does
  docs             write what is made from the definitions: docs/, parts of the README, packaging/
  package          make the .mcpb bundle of this machine's platform, and its server.json
  bench toolkit    measure the toolkit beside a bare rmcp server and the floor (see --help)
  bench binary     measure the binary: start to first answer, idle memory, size (see --help)
  bench semantic   measure searches by meaning: embedding, scanning, whole calls, memory
  bench bluesky    measure how fast histories are read and searched
  bench graph      measure the knowledge graph beside server-memory, and alone with 100,000 entities
  bench tokens     count the tokens of bluesky's answers beside what the network serves
  install          only install what the tests need, and say what and where

Downloads are kept in $DIPTYCH_DEV_CACHE, else in the user's cache folder, under diptych-dev.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let done = match arguments.first().map(String::as_str) {
        Some("test") => steps::test(rest),
        Some("docs") => docs::command(),
        Some("package") => packaging::command(),
        Some("bench") => bench::command(rest),
        Some("install") => steps::install_everything(),
        Some("help" | "--help" | "-h") | None => {
            print!("{HELP}");
            Ok(true)
        }
        Some(other) => Err(format!("there is no command {other:?}\n\n{HELP}")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}
