//! The tree of commands, and which function each of them runs.

use std::ffi::OsString;
use std::future::Future;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::exit::{Exit, Failure, Outcome};
use crate::settings::{self, Scope, Settings};
use crate::{call, config, docs, doctor, generate, graph, install, list, log, model, patterns, serve};

const SERVE: &[Scope] = &[Scope::Server, Scope::Http];
const CLIENT: &[Scope] = &[Scope::Server, Scope::Remote];
const ALL: &[Scope] = &[Scope::Server, Scope::Http, Scope::Remote];

/// The whole tree, but for the tools under `call`.
pub(crate) fn tree() -> Command {
    let name = |what: &'static str| Arg::new("name").value_name("NAME").help(what);
    let json = || {
        Arg::new("as-json").long("json").action(ArgAction::SetTrue).help("Print JSON, as the protocol has it")
    };
    let listing = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).arg(json()).args(settings::arguments(CLIENT))
    };
    Command::new("diptych")
        .about("Serves MCP toolsets whose answers have two panels, and calls any MCP server from the shell")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help("Without a command it serves: MCP on standard input and output, ready for any client.")
        .args_conflicts_with_subcommands(true)
        .args(settings::arguments(SERVE))
        .subcommand(
            Command::new("serve")
                .about("Serve the toolsets over standard input and output, and over HTTP where asked to")
                .args(settings::arguments(SERVE)),
        )
        .subcommand(call_command())
        .subcommand(listing("tools", "List the tools"))
        .subcommand(listing("prompts", "List the prompts"))
        .subcommand(listing("resources", "List the resources and resource templates"))
        .subcommand(
            listing("read", "Read a resource")
                .arg(Arg::new("uri").value_name("URI").required(true).help("The resource's URI")),
        )
        .subcommand(
            listing("prompt", "Get a prompt's messages").arg(name("The prompt's name").required(true)).arg(
                Arg::new("argument")
                    .long("arg")
                    .value_name("KEY=VALUE")
                    .action(ArgAction::Append)
                    .help("An argument of the prompt; can be given several times"),
            ),
        )
        .subcommand(patterns::command())
        .subcommand(graph::command())
        .subcommand(model::command())
        .subcommand(install::install_command())
        .subcommand(install::uninstall_command())
        .subcommand(doctor::command().args(settings::arguments(ALL)))
        .subcommand(
            Command::new("config")
                .about("Show every setting, its value and where it comes from")
                .arg(json())
                .args(settings::arguments(ALL)),
        )
        .subcommand(
            Command::new("completions")
                .about("Print the completions for a shell, tools and their fields included")
                .arg(
                    Arg::new("shell")
                        .value_name("SHELL")
                        .required(true)
                        .value_parser(clap::value_parser!(clap_complete::Shell))
                        .help("The shell"),
                ),
        )
        .subcommand(
            Command::new("man")
                .about("Print the manual page of a command")
                .arg(
                    Arg::new("command")
                        .value_name("COMMAND")
                        .num_args(0..)
                        .help("The command, such as `call` or `patterns lint`; without it, the first page"),
                )
                .arg(
                    Arg::new("into")
                        .long("into")
                        .value_name("FOLDER")
                        .value_hint(clap::ValueHint::DirPath)
                        .conflicts_with("command")
                        .help("Write the pages of all commands into this folder instead"),
                ),
        )
        .subcommand(
            Command::new("docs").hide(true).about("Print the reference and the packaging files as JSON"),
        )
}

/// `call`, without the tools: whatever follows the tool's name is read by the tool's own command.
pub(crate) fn call_command() -> Command {
    Command::new("call")
        .about("Call a tool")
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .allow_external_subcommands(true)
        .subcommand_value_name("TOOL")
        .override_usage("diptych call [OPTIONS] TOOL [--FIELD VALUE]...")
        .arg(
            Arg::new("help")
                .short('h')
                .long("help")
                .action(ArgAction::SetTrue)
                .help("Print help, with the list of tools"),
        )
        .args(settings::arguments(CLIENT))
}

/// Runs what the arguments ask for.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let matches = tree().try_get_matches_from(arguments).map_err(|error| misunderstood(&error))?;
    match matches.subcommand() {
        None => with_settings("serve", &matches, |settings| block_on(serve::serve(settings))),
        Some(("doctor", flags)) => examine(flags),
        Some((command, flags)) => dispatch(command, flags),
    }
}

fn dispatch(command: &str, flags: &ArgMatches) -> Outcome {
    // The flags of a command within a command are its own.
    let own = if ["patterns", "graph", "model"].contains(&command) {
        flags.subcommand().map_or(flags, |(_, nested)| nested)
    } else {
        flags
    };
    with_settings(command, own, |settings| match command {
        "serve" => block_on(serve::serve(settings)),
        "call" => block_on(call::call(settings, flags)),
        "tools" => block_on(list::tools(settings, flags)),
        "prompts" => block_on(list::prompts(settings, flags)),
        "resources" => block_on(list::resources(settings, flags)),
        "read" => block_on(list::read(settings, flags)),
        "prompt" => block_on(list::prompt(settings, flags)),
        "patterns" => patterns::run(settings, flags),
        "graph" => graph::run(settings, flags),
        "model" => model::run(settings, flags),
        "install" => install::install(settings, flags),
        "uninstall" => install::uninstall(settings, flags),
        "config" => config::config(settings, flags),
        "completions" => generate::completions(flags),
        "man" => generate::manual(flags),
        "docs" => block_on(docs::docs()),
        other => Err(Failure::usage(format!("There is no command `{other}`."))),
    })
}

fn with_settings(command: &str, flags: &ArgMatches, run: impl FnOnce(&Settings) -> Outcome) -> Outcome {
    let settings = Settings::resolve(flags)?;
    let _log = log::start(&settings, command == "serve")?;
    warn_of_strangers();
    run(&settings)
}

/// The doctor is asked because something is wrong: it goes on where the others stop.
fn examine(flags: &ArgMatches) -> Outcome {
    let (settings, mut problems) = Settings::resolve_what_can_be(flags)?;
    let _log = log::start(&settings, false).map_err(|problem| problems.push(problem)).ok();
    warn_of_strangers();
    block_on(doctor::doctor(&settings, &problems, flags))
}

fn warn_of_strangers() {
    for variable in settings::strangers() {
        tracing::warn!("{variable} is set, but there is no such setting");
    }
}

/// What clap has to say, said as clap says it: it has its own hints. Help and version are results.
pub(crate) fn misunderstood(error: &clap::Error) -> Failure {
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Done };
    // Whoever closed the pipe does not want to know.
    let _ = error.print();
    Failure::quiet(exit)
}

/// Runs a future to its end, and leaves behind what a thread may still be waiting for, such as a line that
/// nobody will type.
fn block_on(run: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::failed(format!("The runtime cannot be started: {error}.")))?;
    let outcome = runtime.block_on(run);
    runtime.shutdown_timeout(Duration::ZERO);
    outcome
}
