//! The MCP inspector's command line as a client, over stdio and HTTP, in both lifecycles: it lists each server's tools
//! and judges their schemas (`--strict`: what some clients and models cannot read), and it uses the binary.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::servers::{BINARY, Subject, for_each};
use crate::server::Server;
use crate::steps::{Context, Tally};

const LIMIT: Duration = Duration::from_secs(120);

/// What is asked of the binary besides, and what the answer must have.
const USES: [(&[&str], &str); 4] = [
    (
        &["--method", "tools/call", "--tool-name", "get_pattern", "--tool-arg", "id=effect-all"],
        "patternDetails:v1",
    ),
    (&["--method", "resources/read", "--uri", "patterns://patterns/effect-all"], "text/markdown"),
    (&["--method", "resources/templates/list"], "memory://entities/{name}"),
    (
        &[
            "--method",
            "prompts/get",
            "--prompt-name",
            "review-code",
            "--prompt-args",
            "category=streams",
            "code=x",
        ],
        "messages",
    ),
];

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let inspector = Inspector {
        node: context.cache.node(&mut context.log)?,
        program: context.cache.inspector(&mut context.log)?,
        settings: context.target.join("xtask/inspector"),
    };
    std::fs::create_dir_all(&inspector.settings).map_err(|error| format!("cannot make a folder: {error}"))?;
    for_each(context, |context, subject| {
        let mut tally = inspector.inspect(context, subject, &subject.program.display().to_string())?;
        if subject.serves_http {
            let server = Server::start(&subject.program, Subject::http, &mut context.log)?;
            tally.add(&inspector.inspect(context, subject, &server.url)?);
        }
        Ok(tally)
    })
}

struct Inspector {
    node: PathBuf,
    program: PathBuf,
    settings: PathBuf,
}

impl Inspector {
    /// Everything that is asked of a server, which is named by its command or its URL.
    fn inspect(&self, context: &mut Context, subject: &Subject, target: &str) -> Result<Tally, String> {
        let mut tally = Tally::default();
        for era in ["legacy", "modern"] {
            let mut check = |arguments: &[&str], holds: &dyn Fn(&str) -> bool| {
                let finished = context.log.capture(self.command(target, era, arguments), LIMIT)?;
                if finished.success && holds(&finished.output) {
                    tally.passed += 1;
                } else {
                    let asked = arguments.join(" ");
                    context.log.note(&format!("the inspector does not accept {target} ({era}, {asked})"));
                    tally.failed += 1;
                }
                Ok::<(), String>(())
            };
            check(&["--method", "tools/list", "--strict"], &lists_tools)?;
            if subject.name == BINARY {
                for (arguments, expected) in USES {
                    check(arguments, &|output: &str| output.contains(expected))?;
                }
            }
        }
        Ok(tally)
    }

    fn command(&self, target: &str, era: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg(&self.program)
            .args(["--cli", target, "--format", "json", "--protocol-era", era])
            .args(arguments)
            // Its settings stay out of the home folder.
            .env("MCP_CATALOG_PATH", self.settings.join("catalog.json"))
            .env("MCP_CLIENT_CONFIG_PATH", self.settings.join("client.json"))
            .env("RUST_LOG", "off");
        command
    }
}

fn lists_tools(output: &str) -> bool {
    let answer: Value = serde_json::from_str(output).unwrap_or_default();
    let tools = [&answer["tools"], &answer["result"]["tools"]].into_iter().find_map(Value::as_array);
    tools.is_some_and(|tools| !tools.is_empty())
}
