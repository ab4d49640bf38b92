//! The MCP inspector's command line as a client: it lists each server's tools in both lifecycles and judges their
//! schemas (`--strict`: what some clients and models cannot read).

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::examples::for_each;
use crate::steps::{Context, Tally};

const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let node = context.cache.node(&mut context.log)?;
    let inspector = context.cache.inspector(&mut context.log)?;
    let settings = context.target.join("xtask/inspector");
    std::fs::create_dir_all(&settings).map_err(|error| format!("cannot make a folder: {error}"))?;
    for_each(context, |context, example| {
        let mut tally = Tally::default();
        for era in ["legacy", "modern"] {
            let mut command = Command::new(&node);
            command
                .arg(&inspector)
                .arg("--cli")
                .arg(&example.program)
                .args(["--method", "tools/list", "--strict", "--format", "json", "--protocol-era", era])
                // Its settings stay out of the home folder.
                .env("MCP_CATALOG_PATH", settings.join("catalog.json"))
                .env("MCP_CLIENT_CONFIG_PATH", settings.join("client.json"))
                .env("RUST_LOG", "off");
            let finished = context.log.capture(command, LIMIT)?;
            if finished.success && lists_tools(&finished.output) {
                tally.passed += 1;
            } else {
                context
                    .log
                    .note(&format!("the inspector does not accept the server {} ({era})", example.name));
                tally.failed += 1;
            }
        }
        Ok(tally)
    })
}

fn lists_tools(output: &str) -> bool {
    let answer: Value = serde_json::from_str(output).unwrap_or_default();
    let tools = [&answer["tools"], &answer["result"]["tools"]].into_iter().find_map(Value::as_array);
    tools.is_some_and(|tools| !tools.is_empty())
}
