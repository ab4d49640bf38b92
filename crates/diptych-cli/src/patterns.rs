//! `diptych patterns`: for those who write catalogues.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use diptych_patterns::{Difficulty, Limits, Severity, lint, new_pattern};

use crate::exit::{Exit, Failure, Outcome, plain};
use crate::output;
use crate::settings::{self, Scope, Settings};
use crate::toolsets;

/// The commands.
pub(crate) fn command() -> Command {
    let folder = || Arg::new("folder").value_name("FOLDER").value_hint(ValueHint::DirPath);
    Command::new("patterns")
        .about("Check, start and search catalogues of patterns")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("lint")
                .about("Check a folder of patterns, file by file and line by line")
                .arg(folder().required(true).help("The folder")),
        )
        .subcommand(
            Command::new("new")
                .about("Write the file that a new pattern starts from")
                .arg(
                    Arg::new("id")
                        .value_name("ID")
                        .required(true)
                        .help("The pattern's id, such as retry-twice"),
                )
                .arg(
                    Arg::new("title")
                        .long("title")
                        .value_name("TEXT")
                        .help("Its title [default: from the id]"),
                )
                .arg(
                    Arg::new("category")
                        .long("category")
                        .value_name("NAME")
                        .default_value("general")
                        .help("Its category"),
                )
                .arg(
                    Arg::new("difficulty")
                        .long("difficulty")
                        .value_name("LEVEL")
                        .default_value("beginner")
                        .value_parser(PossibleValuesParser::new(["beginner", "intermediate", "advanced"]))
                        .help("How hard it is"),
                )
                .arg(folder().long("folder").help("Where to write it; without it, it is printed")),
        )
        .subcommand(
            Command::new("search")
                .about("Search the catalogue, and see how its ranking comes about")
                .arg(
                    Arg::new("query")
                        .value_name("QUERY")
                        .required(true)
                        .num_args(1..)
                        .help("What to search for"),
                )
                .arg(
                    Arg::new("explain")
                        .long("explain")
                        .action(ArgAction::SetTrue)
                        .help("Say what each word was taken to mean, and what each match earned by it"),
                )
                .arg(
                    Arg::new("limit")
                        .long("limit")
                        .value_name("NUMBER")
                        .default_value("10")
                        .value_parser(clap::value_parser!(usize))
                        .help("How many matches to show"),
                )
                .args(settings::arguments(&[Scope::Server])),
        )
}

/// Runs one of them.
pub(crate) fn run(settings: &Settings, flags: &ArgMatches) -> Outcome {
    match flags.subcommand() {
        Some(("lint", flags)) => check(flags),
        Some(("new", flags)) => create(flags),
        Some(("search", flags)) => search(settings, flags),
        _ => Err(Failure::usage("A command is missing.").hint("`diptych patterns --help` lists them.")),
    }
}

fn given<'a>(flags: &'a ArgMatches, name: &str) -> &'a str {
    flags.get_one::<String>(name).map(String::as_str).unwrap_or_default()
}

fn check(flags: &ArgMatches) -> Outcome {
    let folder = Path::new(given(flags, "folder"));
    if !folder.is_dir() {
        return Err(Failure::usage(format!("There is no folder {}.", folder.display())));
    }
    let problems = lint(folder, Limits::default());
    let mut text = String::new();
    for problem in &problems {
        text.push_str(&format!("{problem}\n"));
    }
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    if problems.is_empty() {
        output::note("No problems.");
        return Ok(Exit::Done);
    }
    output::line(&text)?;
    let warnings = problems.len() - errors;
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    output::note(&format!("{}, {}.", count(errors, "error"), count(warnings, "warning")));
    if errors == 0 { Ok(Exit::Done) } else { Err(Failure::quiet(Exit::Failed)) }
}

fn create(flags: &ArgMatches) -> Outcome {
    let id = given(flags, "id");
    let title = match given(flags, "title") {
        "" => titled(id),
        title => title.to_owned(),
    };
    let difficulty = Difficulty::from_str(given(flags, "difficulty")).unwrap_or(Difficulty::Beginner);
    let text = new_pattern(id, &title, given(flags, "category"), difficulty);
    let Some(folder) = flags.get_one::<String>("folder").map(PathBuf::from) else {
        output::line(&text)?;
        return Ok(Exit::Done);
    };
    // The id in the file is the one that the template made of ours, fit for a file's name.
    let id = text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap_or("pattern").to_owned();
    let file = folder.join(format!("{id}.md"));
    let created = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    created.and_then(|mut created| std::io::Write::write_all(&mut created, text.as_bytes())).map_err(
        |error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::usage(format!("{} is there already.", file.display())).hint("Choose another id.")
            }
            std::io::ErrorKind::NotFound => {
                Failure::usage(format!("There is no folder {}.", folder.display()))
            }
            _ => Failure::failed(format!("{} cannot be written: {}.", file.display(), plain(&error))),
        },
    )?;
    output::line(&file.display().to_string())?;
    Ok(Exit::Done)
}

/// `retry-twice` is "Retry Twice".
fn titled(id: &str) -> String {
    let words = id.split(['-', '_', ' ']).filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    words.collect::<Vec<String>>().join(" ")
}

fn search(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let words: Vec<&str> =
        flags.get_many::<String>("query").into_iter().flatten().map(String::as_str).collect();
    let query = words.join(" ");
    let limit = flags.get_one::<usize>("limit").copied().unwrap_or(10);
    let catalogue = toolsets::library(settings)?.current();
    if flags.get_flag("explain") {
        output::line(&catalogue.index().explain(&query, limit).to_string())?;
        return Ok(Exit::Done);
    }
    let found = catalogue.find(&query, None, None);
    let rows: Vec<[String; 4]> = found
        .matches
        .iter()
        .take(limit)
        .map(|found| {
            let pattern = &found.pattern;
            [
                format!("{:.3}", found.score),
                pattern.id.clone(),
                pattern.category.clone(),
                pattern.title.clone(),
            ]
        })
        .collect();
    if rows.is_empty() {
        output::note("Nothing matches.");
    } else {
        output::line(&output::columns(&rows))?;
        output::note(&format!("{} of {} matches.", rows.len(), found.matches.len()));
    }
    Ok(Exit::Done)
}
