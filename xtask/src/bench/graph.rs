//! `cargo xtask bench graph`: the graph beside server-memory, and alone with a hundred thousand entities.
//!
//! The script is `xtask/python/graph_bench.py`; both servers run as they are shipped.

use std::process::Command;
use std::time::Duration;

use super::HELP;
use crate::install::Cache;
use crate::run::Log;
use crate::steps::{BUILD_LIMIT, cargo, root, target_folder};

const RUN_LIMIT: Duration = Duration::from_secs(60 * 60);

/// `cargo xtask bench graph …`.
pub(super) fn command(arguments: &[String]) -> Result<bool, String> {
    let quick = match arguments {
        [] => false,
        [only] if only == "--quick" => true,
        [other, ..] => return Err(format!("{other:?} is not understood here\n\n{HELP}")),
    };
    let root = root();
    let target = target_folder(&root)?;
    let cache = Cache::find()?;
    let mut log = Log::create(target.join("xtask/bench-graph.log"))?;
    let mut build = cargo();
    build.current_dir(&root).args(["build", "--release", "--package", "diptych-cli"]);
    eprintln!("building");
    log.run(build, BUILD_LIMIT)?.expect("building the binary for release")?;
    let mut command = Command::new(cache.python(&mut log)?.python);
    command.arg(root.join("xtask/python/graph_bench.py"));
    command.arg("--diptych").arg(target.join("release/diptych"));
    command.arg("--node").arg(cache.node(&mut log)?);
    command.arg("--server-memory").arg(cache.server_memory(&mut log)?);
    if quick {
        command.args(["--beside", "1000", "--alone", "10000", "--rounds", "20", "--rounds-alone", "100"]);
    }
    eprintln!("measuring; {} says how far it has come", log.path().display());
    let report = log.capture(command, RUN_LIMIT)?.expect("the measurement")?;
    let path = target.join("xtask/bench-graph.md");
    std::fs::write(&path, &report).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{report}");
    eprintln!("kept in {}", path.display());
    Ok(true)
}
