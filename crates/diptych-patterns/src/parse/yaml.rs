//! YAML with limits, and errors as problems with a line.
//!
//! `serde-saphyr` is the YAML crate: it is kept up, has no unsafe code of its own, reads straight into
//! typed values (so that `1.10` stays text where text is wanted), counts events, depth and alias
//! replays against a budget while it parses, and knows the line of every value. `serde_yaml` is archived.

use serde::de::DeserializeOwned;
use serde_saphyr::{DefaultMessageFormatter, Error, MessageFormatter};

use crate::problem::Problem;

/// The most bytes of YAML that a front matter or a catalogue's own file may have.
pub(crate) const YAML_LIMIT: usize = 64 * 1024;

/// Reads YAML that begins on the line after `line_offset` of `file`.
pub(crate) fn read<T: DeserializeOwned + Default>(
    yaml: &str,
    file: &str,
    line_offset: usize,
) -> Result<T, Problem> {
    let first_line = line_offset + 1;
    if yaml.len() > YAML_LIMIT {
        return Err(Problem::error(
            file,
            first_line,
            format!("The YAML has {} KB, more than the {} KB allowed.", yaml.len() / 1024, YAML_LIMIT / 1024),
            "Move the text into the body of the file.",
        ));
    }
    if yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(T::default());
    }
    serde_saphyr::from_str_with_options(yaml, options()).map_err(|error| {
        let line = error
            .location()
            .and_then(|location| usize::try_from(location.line()).ok())
            .filter(|line| *line > 0)
            .map_or(first_line, |line| line + line_offset);
        let (what, fix) = explain(&error);
        Problem::error(file, line, what, fix)
    })
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 10_000,
            max_nodes: 5_000,
            max_depth: 16,
            max_aliases: 64,
            max_anchors: 64,
            max_documents: 1,
            max_total_scalar_bytes: YAML_LIMIT,
            max_recorded_anchor_events: 2_000,
            max_recorded_anchor_bytes: YAML_LIMIT,
            max_merge_keys: 16,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 2_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 64,
        },
        with_snippet: false,
    }
}

fn explain(error: &Error) -> (String, String) {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => explain(error),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => too_much(),
        Error::DuplicateMappingKey { key, .. } => (
            match key {
                Some(key) => format!("`{}` is given twice.", key.escape_debug()),
                None => "A name is given twice.".into(),
            },
            "Keep one of them.".into(),
        ),
        Error::SerdeInvalidType { unexpected, expected, .. } => (
            format!("Found {} where {expected} belongs.", unexpected.escape_debug()),
            "Quote a value that contains `: ` or begins with one of [ { * & ! | > % @ `.".into(),
        ),
        Error::NullIntoString { .. } => (
            "Found nothing, or the word `null`, where a text belongs.".into(),
            "Write the text, in quotes if it is `null` or `~`.".into(),
        ),
        Error::Unexpected { expected: "string scalar", .. } => (
            "Found a list or a group of names where a single text belongs.".into(),
            "Put the text in quotes.".into(),
        ),
        Error::Unexpected { expected: "mapping start", .. } => (
            "Found something else where lines such as `title: …` belong.".into(),
            "Write each field as its name, a colon, a space and its value.".into(),
        ),
        other => {
            let message = DefaultMessageFormatter.format_message(other);
            if message == "recursion limit exceeded" {
                return too_much();
            }
            (
                format!("The YAML cannot be read: {}.", message.escape_debug().to_string().trim_end_matches('.')),
                "Quote a value that contains `: ` or begins with one of [ { * & ! | > % @ `, and indent with spaces.".into(),
            )
        }
    }
}

fn too_much() -> (String, String) {
    (
        "The YAML grows to more than a pattern can need: too many values, levels or aliases.".into(),
        "Write the values out and remove anchors (`&name`) and aliases (`*name`).".into(),
    )
}
