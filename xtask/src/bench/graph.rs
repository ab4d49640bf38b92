//! `cargo xtask bench graph`: the graph beside server-memory, and alone with a hundred thousand entities.
//!
//! The script is `xtask/python/graph_bench.py`; both servers run as they are shipped.

use std::process::Command;
use std::time::Duration;

use super::measurement::{Measurement, is_quick};
use crate::install::Cache;

const RUN_LIMIT: Duration = Duration::from_secs(60 * 60);

/// `cargo xtask bench graph …`.
pub(super) fn command(arguments: &[String]) -> Result<bool, String> {
    let quick = is_quick(arguments)?;
    let cache = Cache::find()?;
    let mut measurement = Measurement::new("graph")?;
    measurement.build(&["build", "--profile", "dist", "--package", "diptych-cli"])?;
    let Measurement { root, target, log, .. } = &mut measurement;
    let mut command = Command::new(cache.python(log)?.python);
    command.arg(root.join("xtask/python/graph_bench.py"));
    command.arg("--diptych").arg(target.join("dist/diptych"));
    command.arg("--node").arg(cache.node(log)?);
    command.arg("--server-memory").arg(cache.server_memory(log)?);
    if quick {
        command.args(["--beside", "1000", "--alone", "10000", "--rounds", "20", "--rounds-alone", "100"]);
    }
    let report = measurement.measure(command, RUN_LIMIT)?;
    measurement.keep(&report)
}
