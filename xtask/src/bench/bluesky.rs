//! `cargo xtask bench bluesky`: how fast a history of Bluesky is read, made searchable and searched, and what memory that takes.
//!
//! The measurement itself is `crates/diptych-bluesky/benches/history.rs`, on repositories that it makes.

use std::time::Duration;

use super::measurement::{Measurement, cores, is_quick};
use crate::steps::cargo;

const RUN_LIMIT: Duration = Duration::from_secs(30 * 60);
const BENCH: [&str; 7] =
    ["bench", "--package", "diptych-bluesky", "--features", "synthetic", "--bench", "history"];

/// `cargo xtask bench bluesky …`.
pub(super) fn command(arguments: &[String]) -> Result<bool, String> {
    let quick = is_quick(arguments)?;
    let mut measurement = Measurement::new("bluesky")?;
    measurement.build(&[&BENCH[..], &["--no-run"]].concat())?;
    let mut command = cargo();
    command.current_dir(&measurement.root).args(BENCH);
    if quick {
        command.args(["--", "--quick"]);
    }
    let table = measurement.measure(command, RUN_LIMIT)?;
    measurement.keep(&format!(
        "# Histories of Bluesky accounts\n\n\
         Synthetic repositories, each stage in a process of its own, {} cores.\n\n{table}",
        cores()
    ))
}
