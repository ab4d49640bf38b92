//! The toolset `bluesky` on a real network: login, reading, writing, failing.

use super::devnet::Devnet;
use crate::steps::{BUILD_LIMIT, Context, Tally, cargo, test_results};

/// The tests that need the network, each with the number that it has at least: fewer would pass for nothing.
const TESTS: [(&str, usize); 3] = [("network", 43), ("devnet_history", 3), ("discretion", 1)];

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    // Built first: the network need not wait for the compiler.
    let mut build = cargo();
    build.current_dir(&context.root).args(["test", "--package", "diptych-bluesky", "--no-run"]);
    context.log.run(build, BUILD_LIMIT)?.expect("building the tests")?;
    let devnet = Devnet::start(&context.root, &context.cache, &mut context.log)?;
    let mut tally = Tally::default();
    for (test, least) in TESTS {
        let mut command = cargo();
        command.current_dir(&context.root).env("DIPTYCH_DEVNET", &devnet.facts);
        command.args(["test", "--package", "diptych-bluesky", "--no-fail-fast", "--test", test]);
        let finished = context.log.run(command, BUILD_LIMIT)?;
        let mut counted = test_results(&finished.output);
        if !finished.success && counted.failed == 0 || counted.passed + counted.failed < least {
            counted.add(&Tally { failed: 1, note: format!("{test} did not run"), ..Tally::default() });
        }
        tally.add(&counted);
    }
    Ok(tally)
}
