//! From text to terms, for prose and code alike.
//!
//! Text is first cut into *compounds*: runs of letters and digits, together with the dots, hyphens and
//! apostrophes inside them. A compound is then analysed into *terms*. An API name is a term of its own
//! and also gives its parts, which count for less:
//!
//! | compound | terms |
//! |---|---|
//! | `Effect.all` | `effect.all`, `all`, `effect` |
//! | `catchTag` | `catchtag`, `catch`, `tag` |
//! | `error-handling` | `error`, `handl`, `errorhandling` |
//! | `retries` | `retri` |
//!
//! No term is ever dropped here: stop words are a matter of queries, and `Effect.all` must not lose its
//! second half to one. Chinese and Japanese have no spaces, so their runs become overlapping pairs.

use unicode_normalization::UnicodeNormalization;

use crate::stem::stem;

/// Longer compounds are cut: what is that long is a hash or an encoded blob, not a word.
const LONGEST_COMPOUND: usize = 96;
/// A name with more parts than this is data.
const MOST_PARTS: usize = 12;

/// What a term stands for in the compound it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word of prose.
    Word,
    /// A whole name: `effect.all`, `catchtag`.
    Name,
    /// A piece of a name.
    Part,
}

/// One term of a compound.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// What is indexed: lower case, stemmed unless it is a dotted name.
    pub text: String,
    /// The lower-case spelling it was made from.
    pub surface: String,
    /// How much an occurrence counts, 1 being a whole word.
    pub share: f32,
    /// Word, name or part of a name.
    pub kind: Kind,
}

/// The compounds of a text, in order.
pub fn compounds(text: &str) -> impl Iterator<Item = &str> {
    Compounds { text, at: 0 }
}

struct Compounds<'text> {
    text: &'text str,
    at: usize,
}

#[derive(PartialEq, Clone, Copy)]
enum Class {
    Letter,
    /// A script written without spaces.
    Unspaced,
    /// Joins two letters: `.`, `-`, an apostrophe.
    Joiner,
    Other,
}

fn class_of(letter: char) -> Class {
    match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => Class::Letter,
        '.' | '-' | '\'' | '’' => Class::Joiner,
        _ if letter.is_ascii() => Class::Other,
        _ if is_unspaced(letter) => Class::Unspaced,
        _ if letter.is_alphanumeric() || is_accent(letter) => Class::Letter,
        _ => Class::Other,
    }
}

/// The accents of the Latin, Greek and Cyrillic scripts. The marks of other scripts are letters in their
/// own right and stay.
fn is_accent(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}')
}

fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{0e00}'..='\u{0e7f}')
}

impl<'text> Iterator for Compounds<'text> {
    type Item = &'text str;

    fn next(&mut self) -> Option<&'text str> {
        let rest = &self.text[self.at..];
        let (offset, class) = rest.char_indices().find_map(|(offset, letter)| match class_of(letter) {
            class @ (Class::Letter | Class::Unspaced) => Some((offset, class)),
            _ => None,
        })?;
        let start = self.at + offset;
        let mut end = start;
        let mut letters = self.text[start..].chars();
        while let Some(letter) = letters.next() {
            let found = class_of(letter);
            if found == class {
                end += letter.len_utf8();
            } else if class == Class::Letter && found == Class::Joiner {
                if letters.clone().next().map(class_of) != Some(Class::Letter) {
                    break;
                }
                end += letter.len_utf8();
            } else if class == Class::Letter && letter == ':' {
                // `tokio::spawn` is one name, `key: value` is not.
                let mut ahead = letters.clone();
                if ahead.next() != Some(':') || ahead.next().map(class_of) != Some(Class::Letter) {
                    break;
                }
                letters.next();
                end += 2;
            } else {
                break;
            }
        }
        self.at = end;
        let mut cut = end.min(start + LONGEST_COMPOUND);
        while !self.text.is_char_boundary(cut) {
            cut -= 1;
        }
        Some(&self.text[start..cut])
    }
}

/// A compound taken apart: segments between dots, each of words between hyphens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compound {
    pub(crate) segments: Vec<Vec<Word>>,
}

/// One word of a compound: `catchTag` is one word with two parts, `retry` a word with none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    /// Lower case, without underscores or apostrophes.
    pub(crate) whole: String,
    /// Lower-case parts, empty unless there are at least two.
    pub(crate) parts: Vec<String>,
}

impl Compound {
    pub(crate) fn parse(compound: &str) -> Self {
        let folded: String;
        let text = if compound.is_ascii() {
            compound
        } else {
            folded = compound.nfkd().filter(|letter| !is_accent(*letter)).nfc().collect();
            &folded
        };
        let mut segments = Vec::new();
        for segment in text.split(['.', ':']).filter(|segment| !segment.is_empty()).take(MOST_PARTS) {
            let words: Vec<Word> = segment.split('-').take(MOST_PARTS).filter_map(Word::parse).collect();
            if !words.is_empty() {
                segments.push(words);
            }
        }
        Self { segments }
    }

    /// Two neighbouring segments as one dotted name, unless either is hyphenated.
    pub(crate) fn dotted(&self) -> Vec<String> {
        self.segments
            .windows(2)
            .filter_map(|pair| match (pair[0].as_slice(), pair[1].as_slice()) {
                ([left], [right]) => Some(format!("{}.{}", left.whole, right.whole)),
                _ => None,
            })
            .collect()
    }
}

impl Word {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s")).unwrap_or(text);
        let clean: String = text.chars().filter(|letter| !matches!(letter, '\'' | '’')).collect();
        let parts = parts(&clean);
        let whole = parts.concat();
        if whole.is_empty() {
            return None;
        }
        Some(Self { whole, parts: if parts.len() > 1 { parts } else { Vec::new() } })
    }
}

/// The lower-case parts of a camelCase or snake_case name.
fn parts(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    // `APIs` and `URLs` are plurals, not names of two parts.
    let plural = letters.len() > 2
        && letters[letters.len() - 1] == 's'
        && letters[..letters.len() - 1].iter().all(|letter| letter.is_uppercase());
    let mut parts: Vec<String> = vec![String::new()];
    for (index, letter) in letters.iter().enumerate() {
        if *letter == '_' {
            parts.push(String::new());
            continue;
        }
        let before = index.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(index + 1);
        let starts = letter.is_uppercase()
            && !plural
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if starts {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.truncate(MOST_PARTS);
    parts
}

/// Whether a compound is one ASCII word that [`terms`] would only put into lower case and stem: most are.
pub(crate) fn is_plain(compound: &str) -> bool {
    let mut bytes = compound.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// The terms of one compound, as they are indexed.
///
/// ```
/// let terms = diptych_search::terms("Effect.catchTag");
/// let texts: Vec<&str> = terms.iter().map(|term| term.text.as_str()).collect();
/// assert_eq!(texts, ["effect.catchtag", "effect", "catchtag", "catch", "tag"]);
/// ```
pub fn terms(compound: &str) -> Vec<Term> {
    if compound.chars().next().is_some_and(is_unspaced) {
        return unspaced(compound);
    }
    let compound = Compound::parse(compound);
    let mut terms: Vec<Term> = compound
        .dotted()
        .into_iter()
        .map(|name| Term { text: name.clone(), surface: name, share: 1.0, kind: Kind::Name })
        .collect();
    let dotted = compound.segments.len() > 1;
    for (index, words) in compound.segments.iter().enumerate() {
        let share = match (dotted, index + 1 == compound.segments.len()) {
            (false, _) => 1.0,
            (true, true) => LAST_SEGMENT,
            (true, false) => OTHER_SEGMENT,
        };
        for word in words {
            let kind = match (word.parts.is_empty(), dotted) {
                (false, _) => Kind::Name,
                (true, true) => Kind::Part,
                (true, false) => Kind::Word,
            };
            terms.push(term(&word.whole, share, kind));
            terms.extend(word.parts.iter().map(|part| term(part, share * CAMEL_PART, Kind::Part)));
        }
        if let [left, right] = words.as_slice() {
            terms.push(term(&format!("{}{}", left.whole, right.whole), share, Kind::Name));
        }
    }
    terms
}

/// What the last segment of a dotted name counts for: `all` in `Effect.all`.
const LAST_SEGMENT: f32 = 0.7;
/// What the others count for: the module is said by every one of its functions.
const OTHER_SEGMENT: f32 = 0.3;
/// What a part of a camelCase name counts for.
const CAMEL_PART: f32 = 0.5;

fn term(surface: &str, share: f32, kind: Kind) -> Term {
    Term { text: stem(surface).into_owned(), surface: surface.to_owned(), share, kind }
}

/// Overlapping pairs of letters; a single letter is its own term.
fn unspaced(run: &str) -> Vec<Term> {
    let letters: Vec<char> = run.nfkc().collect();
    let word = |text: String| Term { surface: text.clone(), text, share: 1.0, kind: Kind::Word };
    if letters.len() == 1 {
        return vec![word(letters.iter().collect())];
    }
    letters.windows(2).map(|pair| word(pair.iter().collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(compound: &str) -> Vec<String> {
        terms(compound).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn text_is_cut_into_compounds() {
        let cut = |text| compounds(text).collect::<Vec<_>>();
        assert_eq!(cut("Use `Effect.all`, then stop."), ["Use", "Effect.all", "then", "stop"]);
        assert_eq!(cut("error-handling - don't"), ["error-handling", "don't"]);
        assert_eq!(cut("tokio::spawn a: b c::"), ["tokio::spawn", "a", "b", "c"]);
        assert_eq!(cut("Effect.gen(function* () {"), ["Effect.gen", "function"]);
        assert_eq!(cut("使用Effect重试"), ["使用", "Effect", "重试"]);
        assert_eq!(cut("...---'"), Vec::<&str>::new());
    }

    #[test]
    fn names_give_themselves_and_their_parts() {
        assert_eq!(texts("Effect.all"), ["effect.all", "effect", "all"]);
        assert_eq!(texts("catchTag"), ["catchtag", "catch", "tag"]);
        assert_eq!(texts("HTTPServer"), ["httpserver", "http", "server"]);
        assert_eq!(texts("APIs"), ["api"]);
        assert_eq!(texts("_tag"), ["tag"]);
        assert_eq!(texts("retry_count"), ["retrycount", "retri", "count"]);
        assert_eq!(texts("Schema.String.pipe")[..2], ["schema.string", "string.pipe"]);
        assert_eq!(texts("tokio::spawn"), ["tokio.spawn", "tokio", "spawn"]);
    }

    proptest::proptest! {
        #[test]
        fn a_plain_compound_is_one_word(compound in "[A-Za-z0-9][a-z0-9_.-]{0,10}") {
            if is_plain(&compound) {
                let surface = compound.to_ascii_lowercase();
                let text = stem(&surface).into_owned();
                proptest::prop_assert_eq!(terms(&compound), [Term { text, surface, share: 1.0, kind: Kind::Word }]);
            }
        }
    }

    #[test]
    fn words_fold_case_accents_and_apostrophes() {
        assert_eq!(texts("Café"), ["cafe"]);
        assert_eq!(texts("Effect's"), ["effect"]);
        assert_eq!(texts("don’t"), ["dont"]);
        assert_eq!(texts("error-handling"), ["error", "handl", "errorhandl"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(texts("错误处理"), ["错误", "误处", "处理"]);
        assert_eq!(texts("错"), ["错"]);
    }

    #[test]
    fn a_blob_is_cut() {
        let blob = "é".repeat(10_000);
        assert!(compounds(&blob).all(|compound| compound.len() <= LONGEST_COMPOUND));
        assert_eq!(compounds(&blob).count(), 1);
    }
}
