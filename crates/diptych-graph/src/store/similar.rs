//! Names that are near to each other: near-duplicates of a new name, and what a missing name may have meant.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::error::{MissingEntity, StoreError};
use super::model::SimilarName;
use super::transaction::{IdRange, Write};
use super::vocabulary::{self, Edits};
use super::words;

/// More near-duplicates of one name than this are not listed.
const SIMILAR_NAMES: usize = 3;
/// Words shorter than this differ from their neighbours in meaning more often than in spelling.
const MISSPELT_LENGTH: usize = 5;
/// How many words are tried for a misspelt one.
const NEAR_WORDS: usize = 8;
/// How many names a misspelt one is held against.
const CANDIDATES: usize = 200;
/// How alike two names must be for one to be suggested for the other.
const NEAR_ENOUGH: f64 = 0.6;

/// In what two names are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    SameLetters,
    SameWords,
    OneWordMisspelt,
}

impl Likeness {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::SameLetters => "differs only in case, spacing or punctuation",
            Self::SameWords => "has the same words in another order",
            Self::OneWordMisspelt => "differs in the spelling of one word",
        }
    }
}

/// The living entities of a range whose names are near-duplicates of this one, the likest first.
pub(crate) fn near_duplicates(
    connection: &Connection,
    range: IdRange,
    name: &str,
    limit: usize,
) -> Result<Vec<(i64, String, Likeness)>, StoreError> {
    let mut found: BTreeMap<i64, (String, Likeness)> = BTreeMap::new();
    let mut look_up = |key: &str, likeness: Likeness| -> Result<(), StoreError> {
        let mut statement = connection.prepare_cached(
            "SELECT entity.id, entity.name FROM name_key JOIN entity ON entity.id = name_key.entity
             WHERE name_key.key = ?1 AND name_key.entity BETWEEN ?2 AND ?3 AND entity.deleted_at IS NULL LIMIT 20",
        )?;
        let mut rows = statement.query(params![key, range.first, range.last])?;
        while let Some(row) = rows.next()? {
            let existing: String = row.get(1)?;
            if existing != name {
                found.entry(row.get(0)?).or_insert((existing, likeness));
            }
        }
        Ok(())
    };
    let folded = words::folded(name);
    if folded.is_empty() {
        return Ok(Vec::new());
    }
    look_up(&folded, Likeness::SameLetters)?;
    let readings = words::readings(name);
    for reading in &readings {
        look_up(&words::sorted_key(reading.clone()), Likeness::SameWords)?;
    }
    for reading in &readings {
        for (index, word) in
            reading.iter().enumerate().filter(|(_, word)| word.chars().count() >= MISSPELT_LENGTH)
        {
            for near in vocabulary::near(connection, word, Edits::One, NEAR_WORDS)? {
                let mut changed = reading.clone();
                changed[index] = near;
                look_up(&words::sorted_key(changed), Likeness::OneWordMisspelt)?;
            }
        }
    }
    let mut list: Vec<_> =
        found.into_iter().map(|(id, (existing, likeness))| (id, existing, likeness)).collect();
    list.sort_by_key(|(id, _, likeness)| (*likeness, *id));
    list.truncate(limit);
    Ok(list)
}

/// What a name that is about to be made looks like.
pub(crate) fn to_new_name(write: &Write<'_>, name: &str) -> Result<Vec<SimilarName>, StoreError> {
    let range = IdRange::of_project(write.project);
    let near = near_duplicates(write.connection, range, name, SIMILAR_NAMES)?;
    Ok(near
        .into_iter()
        .map(|(_, existing, likeness)| SimilarName {
            name: name.to_owned(),
            existing,
            reason: likeness.reason().to_owned(),
        })
        .collect())
}

/// The error for names that do not exist, with those that may have been meant.
pub(crate) fn missing_entities(write: &Write<'_>, names: &[&str]) -> Result<StoreError, StoreError> {
    let range = IdRange::of_project(write.project);
    missing(write.connection, Some(range), names)
}

/// The same for a question.
pub(crate) fn missing(
    connection: &Connection,
    range: Option<IdRange>,
    names: &[&str],
) -> Result<StoreError, StoreError> {
    let missing = names
        .iter()
        .map(|name| {
            let nearest =
                range.map_or_else(|| Ok(Vec::new()), |range| nearest_names(connection, range, name, 3))?;
            Ok(MissingEntity { name: (*name).to_owned(), nearest })
        })
        .collect::<Result<_, StoreError>>()?;
    Ok(StoreError::MissingEntities(missing))
}

/// Names that exist and are near to one that does not: near-duplicates first, then names with a word in common.
pub(crate) fn nearest_names(
    connection: &Connection,
    range: IdRange,
    name: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let mut nearest: Vec<String> = near_duplicates(connection, range, name, limit)?
        .into_iter()
        .map(|(_, existing, _)| existing)
        .collect();
    let mut alternatives = Vec::new();
    for word in words::name_words(name).into_iter().take(8) {
        alternatives.extend(
            vocabulary::near(connection, &word, Edits::ByLength, 4)?.iter().map(|near| words::quote(near)),
        );
        alternatives
            .extend(vocabulary::containing(connection, &word, 4)?.iter().map(|near| words::quote(near)));
        alternatives.push(
            words::of_query(&word)
                .first()
                .map_or_else(|| words::quote(&word), |word| word.expression.clone()),
        );
    }
    if alternatives.is_empty() || nearest.len() >= limit {
        return Ok(nearest);
    }
    let mut statement = connection.prepare_cached(
        "SELECT entity.name FROM name_text JOIN entity ON entity.id = name_text.rowid
         WHERE name_text MATCH ?1 AND name_text.rowid BETWEEN ?2 AND ?3 LIMIT ?4",
    )?;
    let expression = format!("name : ({})", alternatives.join(" OR "));
    let candidates: Vec<String> = statement
        .query_map(params![expression, range.first, range.last, CANDIDATES], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let folded = words::folded(name);
    let mut ranked: Vec<(f64, String)> = candidates
        .into_iter()
        .filter(|candidate| !nearest.contains(candidate))
        .map(|candidate| (strsim::jaro_winkler(&folded, &words::folded(&candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR_ENOUGH)
        .collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    nearest.extend(ranked.into_iter().map(|(_, candidate)| candidate));
    nearest.truncate(limit);
    Ok(nearest)
}
