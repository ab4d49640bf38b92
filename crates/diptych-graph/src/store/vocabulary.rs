//! Every word that was ever indexed, for finding words by a part of them and words by a misspelling.
//!
//! Misspellings are found by deletion: two words that are one edit apart become equal when the right letter is
//! taken from one or both. Each word is filed under itself and all its single deletions, so a look-up is a few exact
//! questions, however many words there are. Words stay when their last text is gone: they cost little, and a
//! question that finds nothing with them is simply not answered by them.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::error::StoreError;

/// Longer runs are keys and hashes, not words.
const WORD_LENGTH: usize = 40;
/// Words of these lengths are corrected. Shorter ones have too many neighbours.
const CORRECTED_LENGTHS: std::ops::RangeInclusive<usize> = 4..=24;
/// From this length on, two edits are forgiven.
const LONG_WORD: usize = 8;

/// Files the words of a text that is already in the form of the index.
pub(crate) fn learn(connection: &Connection, indexed: &str) -> Result<(), StoreError> {
    let words: BTreeSet<&str> = indexed.split(' ').filter(|word| is_word(word)).collect();
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO term (word) VALUES (?1)")?;
    for word in words {
        if insert.execute([word])? == 0 {
            continue;
        }
        let id = connection.last_insert_rowid();
        connection
            .prepare_cached("INSERT INTO term_gram (rowid, word) VALUES (?1, ?2)")?
            .execute(params![id, word])?;
        if is_corrected(word) {
            let mut file = connection
                .prepare_cached("INSERT OR IGNORE INTO term_deletion (key, term) VALUES (?1, ?2)")?;
            for key in keys(word) {
                file.execute(params![key, id])?;
            }
        }
    }
    Ok(())
}

fn is_word(word: &str) -> bool {
    let length = word.chars().count();
    (2..=WORD_LENGTH).contains(&length)
}

/// Numbers and identifiers are not corrected: a neighbour of one is another thing, not a better spelling.
fn is_corrected(word: &str) -> bool {
    CORRECTED_LENGTHS.contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
}

/// What a word is filed and looked up under.
fn keys(word: &str) -> BTreeSet<String> {
    let mut keys = deletions(word);
    keys.insert(word.to_owned());
    keys
}

/// The word with each of its letters taken away in turn.
fn deletions(word: &str) -> BTreeSet<String> {
    word.char_indices()
        .map(|(at, character)| [&word[..at], &word[at + character.len_utf8()..]].concat())
        .collect()
}

/// Known words that contain this part, shortest first, without the part itself.
pub(crate) fn containing(
    connection: &Connection,
    part: &str,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let mut words: Vec<String> = if part.chars().count() < 3 {
        // Trigrams know nothing so short; beginnings of words are in the index of the words themselves.
        let end = format!("{part}\u{10ffff}");
        connection
            .prepare_cached("SELECT word FROM term WHERE word > ?1 AND word < ?2 LIMIT ?3")?
            .query_map(params![part, end, limit], |row| row.get(0))?
            .collect::<Result<_, _>>()?
    } else {
        connection
            .prepare_cached("SELECT word FROM term_gram WHERE term_gram MATCH ?1 AND word <> ?2 LIMIT ?3")?
            .query_map(params![format!("\"{part}\""), part, limit], |row| row.get(0))?
            .collect::<Result<_, _>>()?
    };
    words.sort_by_cached_key(|word| (word.chars().count(), word.clone()));
    Ok(words)
}

/// How many edits are forgiven.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edits {
    One,
    /// One, and in long words two.
    ByLength,
}

/// Known words that this may be a misspelling of, nearest first, without the word itself.
pub(crate) fn near(
    connection: &Connection,
    word: &str,
    edits: Edits,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    if !is_corrected(word) {
        return Ok(Vec::new());
    }
    let allowed = if edits == Edits::ByLength && word.chars().count() >= LONG_WORD { 2 } else { 1 };
    let mut keys = keys(word);
    if allowed == 2 {
        keys.extend(keys.clone().iter().flat_map(|key| deletions(key)));
    }
    let found: BTreeSet<String> = connection
        .prepare_cached(
            "SELECT term.word FROM json_each(?1) wanted CROSS JOIN term_deletion filed ON filed.key = wanted.value
             JOIN term ON term.id = filed.term",
        )?
        .query_map([serde_json::Value::from_iter(keys).to_string()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut ranked: Vec<(usize, String)> = found
        .into_iter()
        .filter(|near| near != word)
        .map(|near| (strsim::osa_distance(word, &near), near))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    ranked.sort();
    ranked.truncate(limit);
    Ok(ranked.into_iter().map(|(_, near)| near).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletions_take_each_letter_once() {
        assert_eq!(Vec::from_iter(deletions("book")), ["bok", "boo", "ook"]);
        assert_eq!(Vec::from_iter(deletions("naïf")), ["aïf", "naf", "naï", "nïf"]);
    }

    #[test]
    fn identifiers_are_not_corrected() {
        assert!(is_corrected("postgres"));
        assert!(!is_corrected("ticket4711") && !is_corrected("the"));
    }
}
