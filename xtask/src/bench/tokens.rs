//! `cargo xtask bench tokens`: how many tokens the answers of `bluesky` take, beside what the network serves.

use std::process::Command;
use std::time::Duration;

use crate::external::devnet::Devnet;
use crate::install::Cache;
use crate::run::Log;
use crate::steps::{BUILD_LIMIT, cargo, root, target_folder};

const RUN_LIMIT: Duration = Duration::from_secs(5 * 60);

pub(super) fn command() -> Result<bool, String> {
    let root = root();
    let target = target_folder(&root)?;
    let mut log = Log::create(target.join("xtask/bench-tokens.log"))?;
    let cache = Cache::find()?;
    let node = cache.node(&mut log)?;
    let folder = root.join("xtask/tokens");
    let modules = cache.npm_modules(&mut log, "tokens", &folder.join("package.json"))?;
    eprintln!("building");
    let mut build = cargo();
    build.current_dir(&root).args(["build", "--package", "diptych-bluesky", "--example", "tokens"]);
    log.run(build, BUILD_LIMIT)?.expect("building the measurement")?;
    eprintln!("measuring");
    let devnet = Devnet::start(&root, &cache, &mut log)?;
    let answers = target.join("xtask/tokens.json");
    let mut ask = Command::new(target.join("debug/examples/tokens"));
    ask.arg(&answers).env("DIPTYCH_DEVNET", &devnet.facts);
    log.run(ask, RUN_LIMIT)?.expect("asking the tools")?;
    let mut count = Command::new(node);
    count.arg(folder.join("count.mjs")).arg(modules).arg(&answers);
    let report = log.capture(count, RUN_LIMIT)?.expect("counting")?;
    println!("{report}");
    Ok(true)
}
