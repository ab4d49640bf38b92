//! `cargo xtask bench semantic`: what searches by meaning cost, measured by the example `semantic_bench` of the graph.

use std::process::Command;
use std::time::Duration;

use crate::install::Cache;
use crate::run::Log;
use crate::steps::{BUILD_LIMIT, cargo, root, target_folder};

const RUN_LIMIT: Duration = Duration::from_secs(60 * 60);

pub(super) fn command(sizes: &[String]) -> Result<bool, String> {
    if let Some(wrong) = sizes.iter().find(|size| size.parse::<usize>().is_err()) {
        return Err(format!("{wrong:?} is no number of entities\n\n{}", super::HELP));
    }
    let root = root();
    let target = target_folder(&root)?;
    let mut log = Log::create(target.join("xtask/bench-semantic.log"))?;
    eprintln!("building");
    let mut command = cargo();
    command.current_dir(&root).args([
        "build",
        "--release",
        "--package",
        "diptych-cli",
        "--package",
        "diptych-graph",
    ]);
    command.args(["--bin", "diptych", "--example", "semantic_bench"]);
    log.run(command, BUILD_LIMIT)?.expect("building the benchmark")?;
    let model = Cache::find()?.model(&mut log, &target.join("release/diptych"))?;
    eprintln!("measuring");
    let mut command = Command::new(target.join("release/examples/semantic_bench"));
    command.arg(model).args(sizes);
    let report = log.capture(command, RUN_LIMIT)?.expect("measuring")?;
    let path = target.join("xtask/bench-semantic.md");
    std::fs::write(&path, &report).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{report}");
    eprintln!("kept in {}", path.display());
    Ok(true)
}
