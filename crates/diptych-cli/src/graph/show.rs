//! `diptych graph show`: a picture of the graph.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use diptych_graph::{PictureFormat, picture};

use super::{failed, open};
use crate::exit::{Exit, Outcome};
use crate::output;
use crate::settings::Settings;

/// More entities than this make no picture, unless somebody asks for them.
const DRAWN: usize = 500;

pub(super) fn arguments(command: Command) -> Command {
    command
        .arg(Arg::new("name").value_name("NAME").help("An entity: only it and what lies around it is drawn"))
        .arg(
            Arg::new("depth")
                .long("depth")
                .value_name("NUMBER")
                .requires("name")
                .value_parser(value_parser!(usize))
                .help("How many steps around the entity [default: 1]"),
        )
        .arg(
            Arg::new("as")
                .long("as")
                .value_name("FORMAT")
                .default_value("mermaid")
                .value_parser(PossibleValuesParser::new(["mermaid", "dot", "html"]))
                .help("For Markdown, for Graphviz, or as a page to pan, zoom and search"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("NUMBER")
                .value_parser(value_parser!(usize))
                .help(format!("How many entities at most, the most connected first [default: {DRAWN}]")),
        )
}

pub(super) fn run(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let (store, project) = open(settings, false)?;
    let number = |name: &str, default: usize| flags.get_one::<usize>(name).copied().unwrap_or(default);
    let limit = number("limit", DRAWN);
    let (part, title) = match flags.get_one::<String>("name") {
        Some(name) => (store.neighbourhood(&project, name, number("depth", 1), limit), name.clone()),
        None => (store.most_connected(&project, limit), project.to_string()),
    };
    let part = part.map_err(|error| failed(&error))?;
    let format = match flags.get_one::<String>("as").map(String::as_str) {
        Some("dot") => PictureFormat::Dot,
        Some("html") => PictureFormat::Html,
        _ => PictureFormat::Mermaid,
    };
    if part.more {
        output::note(&format!("There are more entities than the {limit} drawn here; `--limit` draws more."));
    }
    let drawn = picture(&part, &title, format);
    // At a terminal, stored text must not steer it; in a file, it is kept as it is.
    if output::is_terminal() {
        output::line(&output::tame(&drawn))?;
    } else {
        output::bytes(drawn.as_bytes())?;
    }
    Ok(Exit::Done)
}
