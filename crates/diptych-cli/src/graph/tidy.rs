//! `diptych graph tidy`: entities that may be one thing under two names, merged where a person says that they are.

use std::collections::HashSet;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use diptych_graph::store::MergeCandidate;
use diptych_graph::{Project, Store};

use super::{failed, open};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{self, Choice, tame};
use crate::settings::Settings;

/// How many pairs are listed.
const LISTED: usize = 100;

pub(super) fn arguments(command: Command) -> Command {
    command
        .arg(
            Arg::new("merge")
                .long("merge")
                .value_names(["KEEP", "OTHER"])
                .num_args(2)
                .action(ArgAction::Append)
                .help("Merge OTHER into KEEP, listed or not; can be given several times"),
        )
        .arg(
            Arg::new("yes")
                .long("yes")
                .action(ArgAction::SetTrue)
                .requires("merge")
                .help("Do not ask before merging the pairs that `--merge` names"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("NUMBER")
                .value_parser(value_parser!(usize))
                .help(format!("How many pairs to list at most [default: {LISTED}]")),
        )
}

pub(super) fn run(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let (store, project) = open(settings, false)?;
    let named: Vec<(String, String)> = flags
        .get_occurrences::<String>("merge")
        .into_iter()
        .flatten()
        .filter_map(|mut pair| Some((pair.next()?.clone(), pair.next()?.clone())))
        .collect();
    if named.is_empty() {
        return walk(&store, &project, flags.get_one("limit").copied().unwrap_or(LISTED));
    }
    let sure = flags.get_flag("yes");
    if !sure && !output::can_ask() {
        return Err(Failure::new(
            Exit::NeedsInput,
            "Merging needs your word, and there is no terminal to ask at.",
        )
        .hint("Add `--yes` to merge the pairs that you named."));
    }
    for (keep, absorb) in named {
        match if sure { Answer::Yes } else { asked(&keep, &absorb) } {
            Answer::Yes => merge(&store, &project, &keep, &absorb)?,
            Answer::Swap => merge(&store, &project, &absorb, &keep)?,
            Answer::No => {}
            Answer::Quit => break,
        }
    }
    Ok(Exit::Done)
}

/// Lists the pairs, and asks about each of them where there is somebody to ask.
fn walk(store: &Store, project: &Project, limit: usize) -> Outcome {
    let pairs = store.merge_candidates(project, limit).map_err(|error| failed(&error))?;
    if pairs.is_empty() {
        output::note("No two entities look like one.");
        return Ok(Exit::Done);
    }
    if !output::can_ask() {
        let lines: Vec<String> = pairs.iter().map(describe).collect();
        output::line(&lines.join("\n"))?;
        output::note("Nothing was merged. `diptych graph tidy --merge KEEP OTHER --yes` merges a pair.");
        return Ok(Exit::Done);
    }
    let mut gone: HashSet<String> = HashSet::new();
    for (number, pair) in pairs.iter().enumerate() {
        if gone.contains(&pair.keep) || gone.contains(&pair.absorb) {
            continue;
        }
        output::note(&format!("{} of {}: {}", number + 1, pairs.len(), describe(pair)));
        let (keep, absorb) = match asked(&pair.keep, &pair.absorb) {
            Answer::Yes => (&pair.keep, &pair.absorb),
            Answer::Swap => (&pair.absorb, &pair.keep),
            Answer::No => continue,
            Answer::Quit => break,
        };
        merge(store, project, keep, absorb)?;
        gone.insert(absorb.clone());
    }
    Ok(Exit::Done)
}

fn describe(pair: &MergeCandidate) -> String {
    let types = if pair.same_type { "" } else { "; they are of different types" };
    format!("{} ← {}: {}{types}", quoted(&pair.keep), quoted(&pair.absorb), pair.reason)
}

#[derive(Clone, Copy)]
enum Answer {
    Yes,
    Swap,
    No,
    Quit,
}

/// The end of the input ends the questions.
fn asked(keep: &str, absorb: &str) -> Answer {
    let question =
        format!("Merge {} into {}? [y]es, [s]wap them, [N]o, [q]uit: ", quoted(absorb), quoted(keep));
    let choices = [
        Choice { words: &["y", "yes"], means: Answer::Yes },
        Choice { words: &["s", "swap"], means: Answer::Swap },
        Choice { words: &["", "n", "no"], means: Answer::No },
        Choice { words: &["q", "quit"], means: Answer::Quit },
    ];
    output::choose(&question, &choices, "Please answer y, s, n or q.").unwrap_or(Answer::Quit)
}

fn merge(store: &Store, project: &Project, keep: &str, absorb: &str) -> Outcome<()> {
    let outcome = store.merge(project, keep, absorb).map_err(|error| failed(&error))?;
    output::note(&format!(
        "{} is part of {} now: {} observations and {} relations went over, {} relations were there already or led \
         from one to the other. Its history says where it went.",
        quoted(absorb),
        quoted(keep),
        outcome.observations_added,
        outcome.relations_moved,
        outcome.relations_dropped,
    ));
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", tame(name))
}
