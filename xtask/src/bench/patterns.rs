//! `cargo xtask bench patterns`: how long catalogues of several sizes take to load, to search and to follow an edit.

use std::process::Command;
use std::time::Duration;

use super::measurement::Measurement;

const RUN_LIMIT: Duration = Duration::from_secs(5 * 60);

pub(super) fn command() -> Result<bool, String> {
    let mut measurement = Measurement::new("patterns")?;
    measurement.build(&["build", "--release", "--package", "diptych-patterns", "--example", "benchmark"])?;
    let program = Command::new(measurement.target.join("release/examples/benchmark"));
    let report = measurement.measure(program, RUN_LIMIT)?;
    measurement.keep(&report)
}
