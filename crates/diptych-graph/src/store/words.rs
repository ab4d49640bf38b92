//! Text to words: what is indexed, what is looked for, and the forms in which near-equal names are equal.
//!
//! SQLite's own tokenizer stems and removes accents. What it cannot do is done before it: names in camel case are
//! also split into their parts, and scripts without spaces are split into characters, so that any part of a
//! sentence is found by looking for its characters in a row.

use std::collections::BTreeSet;

/// More words than this in a query add nothing but time.
const QUERY_WORDS: usize = 16;

/// A run of characters that belong together.
#[derive(Debug, PartialEq, Eq)]
enum Run<'a> {
    /// Letters and digits.
    Word(&'a str),
    /// Characters of a script without spaces.
    Characters(&'a str),
}

fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// An accent that follows its letter; it is part of the word and not of its spelling.
fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

fn runs(text: &str) -> Vec<Run<'_>> {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Word,
        Unspaced,
        Between,
    }
    let mut runs = Vec::new();
    let mut start = 0;
    let mut current = Kind::Between;
    let mut close = |from: usize, to: usize, kind: Kind| match kind {
        Kind::Word => runs.push(Run::Word(&text[from..to])),
        Kind::Unspaced => runs.push(Run::Characters(&text[from..to])),
        Kind::Between => {}
    };
    for (index, character) in text.char_indices() {
        let kind = if is_unspaced(character) {
            Kind::Unspaced
        } else if character.is_alphanumeric() || (is_accent(character) && current == Kind::Word) {
            Kind::Word
        } else {
            Kind::Between
        };
        if kind != current {
            close(start, index, current);
            (start, current) = (index, kind);
        }
    }
    close(start, text.len(), current);
    runs
}

fn lower(word: &str) -> String {
    word.chars().filter(|character| !is_accent(*character)).flat_map(char::to_lowercase).collect()
}

/// The parts of a word in camel case, lower-cased; empty when it has only one.
fn camel_parts(word: &str) -> Vec<String> {
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let mut cuts = vec![0];
    for index in 1..characters.len() {
        let (before, (at, here)) = (characters[index - 1].1, characters[index]);
        let next_is_lower = characters.get(index + 1).is_some_and(|(_, next)| next.is_lowercase());
        let starts_part = here.is_uppercase()
            && (before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && next_is_lower));
        if starts_part {
            cuts.push(at);
        }
    }
    if cuts.len() < 2 {
        return Vec::new();
    }
    cuts.push(word.len());
    cuts.windows(2).map(|pair| lower(&word[pair[0]..pair[1]])).collect()
}

/// The text as the index takes it: words and parts of words, separated by spaces.
pub(crate) fn for_index(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut push = |word: &str| {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    };
    for run in runs(text) {
        match run {
            Run::Word(word) => {
                push(&lower(word));
                camel_parts(word).iter().for_each(|part| push(part));
            }
            Run::Characters(characters) => {
                let mut buffer = [0; 4];
                characters.chars().for_each(|character| push(character.encode_utf8(&mut buffer)));
            }
        }
    }
    out
}

/// A word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryWord {
    /// The word, lower-cased.
    pub(crate) text: String,
    /// The full-text expression that finds it.
    pub(crate) expression: String,
    /// Whether parts and misspellings of it may be looked up in the vocabulary.
    pub(crate) in_vocabulary: bool,
}

/// The words of a query, each once.
pub(crate) fn of_query(query: &str) -> Vec<QueryWord> {
    let mut words: Vec<QueryWord> = Vec::new();
    for run in runs(query) {
        let word = match run {
            Run::Word(word) => {
                let text = lower(word);
                let parts = camel_parts(word);
                let expression = if parts.is_empty() {
                    quote(&text)
                } else {
                    let together = parts.iter().map(|part| quote(part)).collect::<Vec<_>>().join(" AND ");
                    format!("({} OR ({together}))", quote(&text))
                };
                QueryWord { text, expression, in_vocabulary: true }
            }
            Run::Characters(characters) => {
                let spaced = characters.chars().map(String::from).collect::<Vec<_>>().join(" ");
                QueryWord { text: characters.to_owned(), expression: quote(&spaced), in_vocabulary: false }
            }
        };
        if !words.iter().any(|known| known.text == word.text) {
            words.push(word);
        }
    }
    words.truncate(QUERY_WORDS);
    words
}

/// A word as a full-text string. Words are letters and digits only, so there is nothing to escape.
pub(crate) fn quote(word: &str) -> String {
    format!("\"{word}\"")
}

/// Letters and digits alone, lower-cased: equal for names that differ in case, spaces and punctuation.
pub(crate) fn folded(name: &str) -> String {
    whole_words(name).concat()
}

/// The words of a name as they are written, lower-cased.
fn whole_words(name: &str) -> Vec<String> {
    runs(name)
        .into_iter()
        .map(|run| match run {
            Run::Word(text) | Run::Characters(text) => lower(text),
        })
        .collect()
}

/// The ways to take a name as words: whole, and with camel case split where that makes a difference.
pub(crate) fn readings(name: &str) -> Vec<Vec<String>> {
    let mut readings = vec![whole_words(name), name_words(name)];
    readings.dedup();
    readings
}

/// The words of a name, with those in camel case split.
pub(crate) fn name_words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in runs(name) {
        match run {
            Run::Characters(text) => words.push(text.to_owned()),
            Run::Word(word) => {
                let parts = camel_parts(word);
                if parts.is_empty() { words.push(lower(word)) } else { words.extend(parts) }
            }
        }
    }
    words
}

/// The words in alphabetical order: equal for names with the same words.
pub(crate) fn sorted_key(mut words: Vec<String>) -> String {
    words.sort_unstable();
    words.join(" ")
}

/// The forms under which a name is filed to be found by its near-duplicates.
pub(crate) fn name_keys(name: &str) -> BTreeSet<String> {
    let by_words = readings(name).into_iter().map(sorted_key);
    by_words.chain([folded(name)]).filter(|key| !key.is_empty()).collect()
}

/// The token that stands for a type in the index, so that a type can be asked for exactly.
pub(crate) fn type_tag(entity_type: &str) -> String {
    format!("k{}", fingerprint(&[&entity_type.to_lowercase()]))
}

/// A number for a list of texts that is the same on every machine and in every version (FNV-1a).
pub(crate) fn fingerprint(texts: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_is_indexed_whole_and_in_parts() {
        assert_eq!(
            for_index("AuthService uses HTTPServer2, ok?"),
            "authservice auth service uses httpserver2 http server2 ok"
        );
        assert_eq!(for_index("snake_case kebab-case"), "snake case kebab case");
    }

    #[test]
    fn scripts_without_spaces_are_indexed_by_character() {
        assert_eq!(for_index("東京タワー and iPhone手机"), "東 京 タ ワ ー and iphone i phone 手 机");
        assert_eq!(of_query("東京")[0].expression, "\"東 京\"");
    }

    #[test]
    fn near_equal_names_share_a_key() {
        for pair in [
            ("Auth Service", "auth-service"),
            ("AuthService", "auth_service"),
            ("Ada Lovelace", "Lovelace, Ada"),
            ("authservice", "Auth Service"),
        ] {
            let (one, other) = (name_keys(pair.0), name_keys(pair.1));
            assert!(one.intersection(&other).next().is_some(), "{pair:?}: {one:?} {other:?}");
        }
        assert!(name_keys("?!").is_empty());
    }

    #[test]
    fn an_accent_written_apart_stays_in_its_word() {
        assert_eq!(for_index("re\u{301}sume\u{301}"), "resume");
    }

    #[test]
    fn the_fingerprint_never_changes() {
        assert_eq!(fingerprint(&[""]), 12_638_352_127_299_873_646);
        assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["ab"]));
    }
}
