//! `cargo xtask bench bluesky`: how fast a history of Bluesky is read, made searchable and searched, and what memory that takes.
//!
//! The measurement itself is `crates/diptych-bluesky/benches/history.rs`, on repositories that it makes.

use std::fmt::Write as _;
use std::time::Duration;

use super::HELP;
use crate::run::Log;
use crate::steps::{BUILD_LIMIT, cargo, root, target_folder};

const RUN_LIMIT: Duration = Duration::from_secs(30 * 60);
const BENCH: [&str; 7] =
    ["bench", "--package", "diptych-bluesky", "--features", "synthetic", "--bench", "history"];

/// `cargo xtask bench bluesky …`.
pub(super) fn command(arguments: &[String]) -> Result<bool, String> {
    let quick = match arguments {
        [] => false,
        [only] if only == "--quick" => true,
        [other, ..] => return Err(format!("{other:?} is not understood here\n\n{HELP}")),
    };
    let root = root();
    let target = target_folder(&root)?;
    let mut log = Log::create(target.join("xtask/bench-bluesky.log"))?;
    eprintln!("building");
    let mut build = cargo();
    build.current_dir(&root).args(BENCH).arg("--no-run");
    log.run(build, BUILD_LIMIT)?.expect("building the measurement")?;
    eprintln!("measuring");
    let mut measure = cargo();
    measure.current_dir(&root).args(BENCH);
    if quick {
        measure.args(["--", "--quick"]);
    }
    let table = log.capture(measure, RUN_LIMIT)?.expect("the measurement")?;
    let mut report = String::from("# Histories of Bluesky accounts\n");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let _ = writeln!(
        report,
        "\nSynthetic repositories, each stage in a process of its own, {cores} cores.\n\n{table}"
    );
    let path = target.join("xtask/bench-bluesky.md");
    std::fs::write(&path, &report).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{report}");
    eprintln!("kept in {}", path.display());
    Ok(true)
}
