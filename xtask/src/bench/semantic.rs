//! `cargo xtask bench semantic`: what searches by meaning cost, measured by the example `semantic_bench` of the graph.

use std::process::Command;
use std::time::Duration;

use super::measurement::Measurement;
use crate::install::Cache;

const RUN_LIMIT: Duration = Duration::from_secs(60 * 60);

pub(super) fn command(sizes: &[String]) -> Result<bool, String> {
    if let Some(wrong) = sizes.iter().find(|size| size.parse::<usize>().is_err()) {
        return Err(format!("{wrong:?} is no number of entities\n\n{}", super::HELP));
    }
    let mut measurement = Measurement::new("semantic")?;
    measurement.build(&[
        "build",
        "--release",
        "--package",
        "diptych-cli",
        "--package",
        "diptych-graph",
        "--bin",
        "diptych",
        "--example",
        "semantic_bench",
    ])?;
    let Measurement { target, log, .. } = &mut measurement;
    let model = Cache::find()?.model(log, &target.join("release/diptych"))?;
    let mut command = Command::new(target.join("release/examples/semantic_bench"));
    command.arg(model).args(sizes);
    let report = measurement.measure(command, RUN_LIMIT)?;
    measurement.keep(&report)
}
