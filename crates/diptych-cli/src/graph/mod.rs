//! `diptych graph`: for those who look after a knowledge graph.

mod show;
mod tidy;

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, ValueHint};
use diptych_graph::{Meaning, Project, Step, Store, StoreError};
use diptych_search::{EmbedError, Purpose};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::embedder;
use crate::exit::{Exit, Failure, Outcome, plain};
use crate::output;
use crate::settings::{self, Scope, Settings};
use crate::toolsets;

/// Longer than the claim of another process lasts.
const CLAIMS_LAST: Duration = Duration::from_secs(90);
/// How long texts that were refused are waited for.
const REFUSED_WAIT: Duration = Duration::from_secs(10);

/// The commands.
pub(crate) fn command() -> Command {
    let file =
        |help: &'static str| Arg::new("file").value_name("FILE").value_hint(ValueHint::FilePath).help(help);
    let command = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).args(settings::arguments(&[Scope::Server]))
    };
    Command::new("graph")
        .about("Show, tidy, export, import, back up, embed and check the knowledge graph")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(show::arguments(command(
            "show",
            "Draw the project's graph, or what lies around one entity: for Markdown, for Graphviz, or as a page",
        )))
        .subcommand(tidy::arguments(command(
            "tidy",
            "List entities that may be one thing under two names, and merge those that you say are",
        )))
        .subcommand(
            command("export", "Write the project's graph as JSON lines, one entity or relation each")
                .arg(file("Where to; without it, to standard output")),
        )
        .subcommand(
            command("import", "Take in JSON lines, as `export` and server-memory write them")
                .arg(file("The file").required(true)),
        )
        .subcommand(
            command("backup", "Copy the whole store into a new file, also while it is in use")
                .arg(file("The new file").required(true)),
        )
        .subcommand(command("embed", "Make all embeddings that are waiting, for searches by meaning"))
        .subcommand(command("check", "Read the whole store and say what is wrong with it"))
}

/// Runs one of them.
pub(crate) fn run(settings: &Settings, flags: &ArgMatches) -> Outcome {
    match flags.subcommand() {
        Some(("show", flags)) => show::run(settings, flags),
        Some(("tidy", flags)) => tidy::run(settings, flags),
        Some(("export", flags)) => export(settings, file(flags)),
        Some(("import", flags)) => import(settings, file(flags).unwrap_or(Path::new(""))),
        Some(("backup", flags)) => backup(settings, file(flags).unwrap_or(Path::new(""))),
        Some(("embed", _)) => embed(settings),
        Some(("check", _)) => check(settings),
        _ => Err(Failure::usage("A command is missing.").hint("`diptych graph --help` lists them.")),
    }
}

fn file(flags: &ArgMatches) -> Option<&Path> {
    flags.get_one::<String>("file").map(Path::new)
}

fn failed(error: &StoreError) -> Failure {
    Failure::failed(error.to_string()).maybe_hint(error.hint().map(str::to_owned))
}

/// The store of the settings. Only an import makes one that is not there.
fn open(settings: &Settings, make: bool) -> Outcome<(Store, Project)> {
    let options = toolsets::graph(settings);
    if !make && !options.database.exists() {
        let shown = settings.folders.show(&options.database);
        return Err(Failure::failed(format!("There is no graph yet: {shown} is not there."))
            .hint("It is made when something is first remembered. `--graph-db` names another file."));
    }
    let store = Store::open(&options.database, options.store).map_err(|error| failed(&error))?;
    Ok((store, Project::new(options.project)))
}

fn export(settings: &Settings, file: Option<&Path>) -> Outcome {
    let (store, project) = open(settings, false)?;
    let Some(file) = file else {
        let mut lines = Vec::new();
        store.export(&project, &mut lines).map_err(|error| failed(&error))?;
        output::bytes(&lines)?;
        return Ok(Exit::Done);
    };
    let unwritable = |error: &std::io::Error| {
        Failure::usage(format!("{} cannot be written: {}.", file.display(), plain(error)))
    };
    let created =
        File::options().write(true).create_new(true).open(file).map_err(|error| unwritable(&error))?;
    let mut created = BufWriter::new(created);
    let lines = store.export(&project, &mut created).map_err(|error| failed(&error))?;
    created.flush().map_err(|error| unwritable(&error))?;
    output::note(&format!("{lines} lines in {}", file.display()));
    Ok(Exit::Done)
}

fn import(settings: &Settings, file: &Path) -> Outcome {
    let opened = File::open(file)
        .map_err(|error| Failure::usage(format!("{} cannot be read: {}.", file.display(), plain(&error))))
        .map_err(|failure| {
            failure.hint("Name a file of JSON lines, as `diptych graph export` writes them.")
        })?;
    let (store, project) = open(settings, true)?;
    let report = store.import(&project, BufReader::new(opened)).map_err(|error| failed(&error))?;
    for problem in &report.problems {
        output::note(&format!("{}:{}: {}", file.display(), problem.line, problem.problem));
    }
    output::note(&format!(
        "{} entities and {} relations are new, {} and {} were there; {} observations were added to those.",
        report.entities_created,
        report.relations_created,
        report.entities_existing,
        report.relations_existing,
        report.observations_added,
    ));
    Ok(Exit::Done)
}

fn backup(settings: &Settings, file: &Path) -> Outcome {
    let (store, _) = open(settings, false)?;
    store.backup(file).map_err(|error| failed(&error))?;
    output::note(&format!("The whole store is in {}", file.display()));
    Ok(Exit::Done)
}

fn embed(settings: &Settings) -> Outcome {
    let Some(embedder) = embedder::embedder(settings)? else {
        return Err(Failure::failed("There is no embedder, so there are no embeddings.")
            .hint("`diptych model install` puts a local model in place; `--embedder-url` names a service."));
    };
    let (store, _) = open(settings, false)?;
    let store = Arc::new(store);
    let meaning = Meaning::new(Arc::clone(&store), embedder);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan} {pos} of {len} embeddings, {eta} left") {
        bar.set_style(style);
    }
    let progress = || store.embedding_progress().map_err(|error| failed(&error));
    let (mut made, mut patience) = (0, CLAIMS_LAST);
    let outcome = loop {
        match meaning.step(Purpose::Bulk).map_err(|error| failed(&error))? {
            Step::Made(count) => made += count,
            Step::Idle => match store.next_text_due().map_err(|error| failed(&error))? {
                // What others have claimed they make; should they have died, it becomes ours.
                Some(due) if due < patience => std::thread::sleep(due.min(Duration::from_millis(200))),
                _ => break Ok(Exit::Done),
            },
            Step::OtherModel => {
                break Err(Failure::failed(
                    "Another process makes this store's embeddings with another model.",
                )
                .hint("Give both the same settings."));
            }
            // The texts of a batch that was refused come again one by one; those that are refused again wait longer
            // each time, and are left to others at last.
            Step::Failed(EmbedError::Refused(why)) => {
                bar.suspend(|| output::note(&why));
                patience = REFUSED_WAIT;
            }
            Step::Failed(error) => break Err(Failure::failed(error.to_string())),
        }
        let now = progress()?;
        bar.set_length((now.made + now.waiting) as u64);
        bar.set_position(now.made as u64);
    };
    bar.finish_and_clear();
    let now = progress()?;
    let model = now.model.unwrap_or_default();
    output::note(&format!(
        "{made} embeddings were made; {} are kept ({model}), {} wait.",
        now.made, now.waiting
    ));
    outcome
}

fn check(settings: &Settings) -> Outcome {
    let (store, _) = open(settings, false)?;
    let findings = store.check_integrity().map_err(|error| failed(&error))?;
    if findings.is_empty() {
        output::note("The store is sound.");
        return Ok(Exit::Done);
    }
    output::line(&findings.join("\n"))?;
    Err(Failure::failed("The store is damaged.")
        .hint("Restore the last backup, or save what can be read with `diptych graph export`."))
}
