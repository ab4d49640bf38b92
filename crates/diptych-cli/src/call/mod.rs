//! `diptych call`: a tool as a shell command.
//!
//! The terminal is just another client: the tool runs as it would for any other, its asks become prompts, its
//! progress a progress bar, its answer text.

pub(crate) mod fields;
mod hidden;
mod progress;
mod prompt;
mod show;

use std::ffi::OsString;
use std::time::Duration;

use clap::ArgMatches;
use diptych::client::{Client, ClientError, Reply};
use serde_json::{Map, Value};

use self::fields::ToolCommand;
use self::progress::Progress;
pub(crate) use self::prompt::Terminal;
use crate::command::call_command;
use crate::connection::{self, Target};
use crate::exit::{Exit, Failure, Outcome};
use crate::nearest::nearest;
use crate::output;
use crate::settings::{Settings, TOOLSETS};
use crate::toolsets;

/// Calls a tool.
pub(crate) async fn call(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let target = connection::target(settings)?;
    let Some((tool, rest)) = flags.subcommand() else {
        return without_a_tool(target, flags.get_flag("help")).await;
    };
    let rest: Vec<&OsString> = rest.get_many::<OsString>("").into_iter().flatten().collect();
    let progress = Progress::default();
    // Whether to ask is known only when the tool's own flags are read, and for that it must be looked up first.
    let asks = output::can_ask() && !rest.iter().any(|word| *word == fields::NO_INPUT_FLAG);
    let other = target.other().map(str::to_owned);
    let target = match asks {
        true => target.answered_by(Terminal::new(progress.clone(), other.clone())),
        false => target,
    };
    let client = target.connect().await?;
    let definitions = client.tools().await.map_err(|error| connection::failed(&error))?;
    let definition = definitions
        .iter()
        .find(|definition| definition["name"] == tool)
        .ok_or_else(|| unknown(settings, tool, &definitions, other.as_deref()))?;
    let command = ToolCommand::new(definition);
    let asked = command.read(rest)?;
    let answer = async {
        let called = client.call(tool, Value::Object(asked.arguments.clone()));
        let reply = progress.follow(&client, called).await;
        progress.done();
        reply
    };
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let reply = tokio::select! {
        reply = answer => reply,
        _ = &mut interrupt => return Err(interrupted(&progress)),
    };
    // Ctrl-C also reaches a server that we started, and its end may be noticed before the signal is.
    if reply.is_err() && tokio::time::timeout(SIGNAL_DELAY, interrupt).await.is_ok() {
        return Err(interrupted(&progress));
    }
    let reply = reply.map_err(|error| connection::failed(&error))?;
    client.close().await;
    show::reply(&reply, asked.format, &command)
}

/// How much later than a server's end the signal that ended it may arrive.
const SIGNAL_DELAY: Duration = Duration::from_millis(250);

/// `diptych call` and `diptych call --help`.
async fn without_a_tool(target: Target, help: bool) -> Outcome {
    let client = target.connect().await?;
    let definitions = client.tools().await.map_err(|error| connection::failed(&error))?;
    let rows: Vec<[String; 2]> = definitions
        .iter()
        .map(|definition| {
            let name = definition["name"].as_str().unwrap_or_default();
            let about = definition["description"].as_str().unwrap_or_default();
            [format!("  {}", output::tame(name)), first_sentence(&output::tame(about))]
        })
        .collect();
    let text = format!(
        "{}\nTools:\n{}\n`diptych call TOOL --help` shows the fields of a tool.",
        call_command().render_help(),
        output::columns(&rows),
    );
    if help {
        output::line(&text)?;
        return Ok(Exit::Done);
    }
    output::note(&text);
    Err(Failure::usage("A tool's name is missing."))
}

/// The first sentence of a description, for lists.
pub(crate) fn first_sentence(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.find(". ") {
        Some(end) => line[..=end].to_owned(),
        None => line.to_owned(),
    }
}

fn unknown(settings: &Settings, tool: &str, definitions: &[Value], other: Option<&str>) -> Failure {
    let names = || definitions.iter().filter_map(|definition| definition["name"].as_str());
    let tool = output::tame(tool);
    if let Some(server) = other {
        let meant = nearest(&tool, names()).map(|name| format!("Did you mean `{name}`?"));
        return Failure::usage(format!("The server `{server}` has no tool `{tool}`."))
            .hint("`diptych tools --server …` lists its tools.")
            .maybe_hint(meant);
    }
    // A tool that is there, but not with these settings.
    if let Some(toolset) = toolsets::toolset_of(&tool) {
        let served = settings.list(&TOOLSETS).contains(&toolset);
        let why =
            if served { "it changes something, and `read-only` is on" } else { "its toolset is not served" };
        return Failure::usage(format!("The tool `{tool}` is part of `{toolset}`, but {why}."))
            .hint("`diptych config` shows where the settings come from.");
    }
    let meant = nearest(&tool, names()).map(|name| format!("Did you mean `{name}`?"));
    Failure::usage(format!("There is no tool `{tool}`."))
        .hint("`diptych tools` lists them.")
        .maybe_hint(meant)
}

fn interrupted(progress: &Progress) -> Failure {
    progress.done();
    hidden::restore();
    output::note("");
    Failure::new(Exit::Interrupted, "Interrupted: nothing was answered.")
}

/// What a person asked for: the tool's arguments, and how to show its answer.
pub(crate) struct Asked {
    pub(crate) arguments: Map<String, Value>,
    pub(crate) format: diptych::Format,
}

/// A call under way.
type Called = Result<Reply, ClientError>;

impl Progress {
    /// Shows the progress of a call until it is answered.
    async fn follow(&self, client: &Client, called: impl Future<Output = Called>) -> Called {
        tokio::pin!(called);
        loop {
            tokio::select! {
                reply = &mut called => return reply,
                Some(notice) = client.notice() => self.show(&notice),
            }
        }
    }
}
