//! What shells and `man` get from the definitions: completions and manual pages.

use std::path::Path;

use clap::{ArgMatches, Command};
use clap_complete::Shell;
use serde_json::Value;

use crate::call::fields::ToolCommand;
use crate::command::tree;
use crate::exit::{Exit, Failure, Outcome, plain};
use crate::{nearest, output, toolsets};

/// Prints the completions of a shell.
pub(crate) fn completions(flags: &ArgMatches) -> Outcome {
    let shell = flags.get_one::<Shell>("shell").copied();
    let shell = shell.ok_or_else(|| Failure::usage("A shell is missing."))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_tools()?, "diptych", &mut script);
    output::bytes(&script)?;
    Ok(Exit::Done)
}

/// Prints the manual page of a command, or writes all of them into a folder.
pub(crate) fn manual(flags: &ArgMatches) -> Outcome {
    let broken = |error: &std::io::Error| {
        Failure::failed(format!("The manual page cannot be made: {}.", plain(error)))
    };
    let mut root = with_tools()?.disable_help_subcommand(true).after_help(exit_codes());
    root.build();
    if let Some(folder) = flags.get_one::<String>("into") {
        let folder = Path::new(folder);
        if !folder.is_dir() {
            return Err(Failure::usage(format!("There is no folder {}.", folder.display())));
        }
        clap_mangen::generate_to(root, folder).map_err(|error| broken(&error))?;
        return Ok(Exit::Done);
    }
    let mut command = &root;
    for name in flags.get_many::<String>("command").into_iter().flatten() {
        command = command.find_subcommand(name).ok_or_else(|| {
            let names = command.get_subcommands().map(Command::get_name);
            Failure::usage(format!("There is no command `{name}` here."))
                .hint("`diptych --help` lists the commands.")
                .maybe_hint(nearest::hint(name, names))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(|error| broken(&error))?;
    output::bytes(&page)?;
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

fn exit_codes() -> String {
    let codes = Exit::ALL.map(|exit| format!("{}: {}", exit.code(), exit.meaning()));
    format!("Exit codes:\n{}", codes.join("\n"))
}
