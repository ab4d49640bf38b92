//! The commands and the exit codes.

use clap::{Arg, Command};

use super::{GENERATED, cell};
use crate::command::tree;
use crate::exit::Exit;
use crate::settings::TABLE;

/// One row for each command, those within commands included.
pub(super) fn table() -> String {
    let mut out = String::from("| command | what it does |\n|---|---|\n");
    for (name, command) in all() {
        if !command.has_subcommands() || command.is_allow_external_subcommands_set() {
            out.push_str(&format!("| `{name}` | {} |\n", cell(&about(&command))));
        }
    }
    out
}

/// The page.
pub(super) fn page() -> String {
    let mut out = format!(
        "{GENERATED}\n# Commands\n\n\
         Without a command `diptych` serves: MCP on standard input and output, ready for any client. \
         `diptych COMMAND --help` says at the terminal what is said here; `diptych man COMMAND` prints it as a manual \
         page.\n"
    );
    for (name, command) in all() {
        out.push_str(&format!("\n## `{name}`\n\n{}.\n", about(&command)));
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage: ").lines().map(str::trim).collect::<Vec<_>>().join("\n");
        out.push_str(&format!("\n```sh\n{usage}\n```\n"));
        if command.is_allow_external_subcommands_set() {
            out.push_str(
                "\nWhat follows the tool's name is read by the tool's own command: [Tools](tools.md).\n",
            );
        }
        let (settings, own): (Vec<&Arg>, Vec<&Arg>) = command
            .get_arguments()
            .filter(|argument| argument.get_id() != "help")
            .partition(|argument| is_setting(argument));
        if !own.is_empty() {
            out.push_str("\n| argument | what it does |\n|---|---|\n");
            for argument in own {
                out.push_str(&format!("| `{}` | {} |\n", spelled(argument), cell(&help(argument))));
            }
        }
        if !settings.is_empty() {
            let names: Vec<String> = settings
                .iter()
                .filter_map(|setting| setting.get_long())
                .map(|name| format!("`--{name}`"))
                .collect();
            out.push_str(&format!("\n[Settings](settings.md): {}.\n", names.join(", ")));
        }
    }
    out.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
        out.push_str(&format!("| {} | {} |\n", exit.code(), cell(exit.meaning())));
    }
    out
}

/// Every command that people see, with its whole name.
fn all() -> Vec<(String, Command)> {
    let mut root = tree().disable_help_subcommand(true).term_width(100);
    root.build();
    let mut found = Vec::new();
    collect(&root, "diptych", &mut found);
    found
}

fn collect(command: &Command, name: &str, found: &mut Vec<(String, Command)>) {
    for nested in
        command.get_subcommands().filter(|nested| !nested.is_hide_set() && nested.get_name() != "help")
    {
        let name = format!("{name} {}", nested.get_name());
        found.push((name.clone(), nested.clone()));
        collect(nested, &name, found);
    }
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn is_setting(argument: &Arg) -> bool {
    argument
        .get_long()
        .is_some_and(|name| name == "config" || TABLE.iter().any(|setting| setting.name == name))
}

fn spelled(argument: &Arg) -> String {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let takes = argument.get_action().takes_values();
    match (argument.get_long(), value) {
        (Some(flag), Some(value)) if takes => format!("--{flag} {value}"),
        (Some(flag), _) => format!("--{flag}"),
        (None, value) => value.unwrap_or_else(|| argument.get_id().to_string()),
    }
}

fn help(argument: &Arg) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> = match argument.get_action().takes_values() {
        true => {
            argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect()
        }
        false => Vec::new(),
    };
    if !choices.is_empty() {
        text.push_str(&format!(" ({})", choices.join(", ")));
    }
    let defaults = argument.get_default_values();
    if let Some(default) = defaults.first().filter(|_| argument.get_action().takes_values()) {
        text.push_str(&format!(" [default: {}]", default.to_string_lossy()));
    }
    text
}
