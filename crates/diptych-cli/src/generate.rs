//! What is generated from the definitions: completions, the manual page, and the reference documentation.

use clap::{ArgMatches, Command};
use clap_complete::Shell;
use serde_json::Value;

use crate::call::fields::ToolCommand;
use crate::command::tree;
use crate::exit::{Exit, Failure, Outcome};
use crate::output;
use crate::settings::{Kind, Settings, TABLE};
use crate::toolsets;

/// Prints the completions of a shell.
pub(crate) fn completions(_settings: &Settings, flags: &ArgMatches) -> Outcome {
    let shell = flags.get_one::<Shell>("shell").copied();
    let shell = shell.ok_or_else(|| Failure::usage("A shell is missing."))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_tools()?, "diptych", &mut script);
    output::bytes(&script)?;
    Ok(Exit::Done)
}

/// Prints the manual page.
pub(crate) fn manual(_settings: &Settings) -> Outcome {
    let mut page = Vec::new();
    let command = tree().after_help(exit_codes_text());
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::failed(format!("The manual page cannot be made: {error}.")))?;
    output::bytes(&page)?;
    Ok(Exit::Done)
}

/// Prints a part of the reference documentation, as Markdown.
pub(crate) fn docs(_settings: &Settings, flags: &ArgMatches) -> Outcome {
    let part = flags.get_one::<String>("part").map(String::as_str).unwrap_or_default();
    let text = match part {
        "settings" => settings_table(),
        "exit-codes" => exit_codes_table(),
        "commands" => commands_table(),
        _ => tools_table()?,
    };
    output::line(&text)?;
    Ok(Exit::Done)
}

/// The tree with every tool under `call`.
fn with_tools() -> Outcome<Command> {
    let definitions = definitions()?;
    Ok(tree().mut_subcommand("call", |call| {
        definitions.iter().fold(call, |call, definition| {
            // Under `call` the words before are part of the name.
            call.subcommand(ToolCommand::new(definition).command().clone().no_binary_name(false))
        })
    }))
}

fn definitions() -> Outcome<Vec<Value>> {
    let tools = toolsets::everything()?.tools();
    let values: Result<Vec<Value>, _> = tools.iter().map(serde_json::to_value).collect();
    values.map_err(|error| Failure::failed(format!("The definitions cannot be read: {error}.")))
}

fn settings_table() -> String {
    let mut text = String::from(
        "| flag | environment | `diptych.toml` | default | what it does |\n|---|---|---|---|---|\n",
    );
    for setting in TABLE {
        let value = match setting.kind {
            Kind::Switch => String::new(),
            _ => format!(" {}", setting.value_name()),
        };
        let default = match setting.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        text.push_str(&format!(
            "| `--{}{value}` | `{}` | `{}` | {default} | {} |\n",
            setting.name,
            setting.variable(),
            setting.name,
            cell(setting.help),
        ));
    }
    text.push_str("| `--config FILE` | `DIPTYCH_CONFIG` |  | `diptych.toml` | The configuration file; by default it is in the configuration folder |\n");
    text
}

fn exit_codes_table() -> String {
    let mut text = String::from("| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
        text.push_str(&format!("| {} | {} |\n", exit.code(), cell(exit.meaning())));
    }
    text
}

fn exit_codes_text() -> String {
    let codes = Exit::ALL.map(|exit| format!("{}: {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", codes.join("\n"))
}

fn commands_table() -> String {
    let mut text = String::from("| command | what it does |\n|---|---|\n");
    for command in tree().get_subcommands().filter(|command| !command.is_hide_set()) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("| `diptych {}` | {} |\n", command.get_name(), cell(&about)));
    }
    text
}

fn tools_table() -> Outcome<String> {
    let mut text = String::from("| tool | changes something | what it does |\n|---|---|---|\n");
    for definition in definitions()? {
        let writes = if definition["annotations"]["readOnlyHint"] == true { "no" } else { "yes" };
        text.push_str(&format!(
            "| `{}` | {writes} | {} |\n",
            definition["name"].as_str().unwrap_or_default(),
            cell(definition["description"].as_str().unwrap_or_default()),
        ));
    }
    Ok(text)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
