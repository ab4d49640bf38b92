//! `cargo xtask bench tokens`: how many tokens the answers of `bluesky` take, beside what the network serves.

use std::process::Command;
use std::time::Duration;

use super::measurement::Measurement;
use crate::external::devnet::Devnet;
use crate::install::Cache;

const RUN_LIMIT: Duration = Duration::from_secs(5 * 60);

pub(super) fn command() -> Result<bool, String> {
    let mut measurement = Measurement::new("tokens")?;
    let cache = Cache::find()?;
    measurement.build(&["build", "--package", "diptych-bluesky", "--example", "tokens"])?;
    let Measurement { root, target, log, .. } = &mut measurement;
    let node = cache.node(log)?;
    let folder = root.join("xtask/tokens");
    let modules = cache.npm_modules(log, "tokens", &folder.join("package.json"))?;
    let devnet = Devnet::start(root, &cache, log)?;
    let answers = target.join("xtask/tokens.json");
    let mut ask = Command::new(target.join("debug/examples/tokens"));
    ask.arg(&answers).env("DIPTYCH_DEVNET", &devnet.facts);
    log.run(ask, RUN_LIMIT)?.expect("asking the tools")?;
    let mut count = Command::new(node);
    count.arg(folder.join("count.mjs")).arg(modules).arg(&answers);
    let report = measurement.measure(count, RUN_LIMIT)?;
    measurement.keep(&report)
}
