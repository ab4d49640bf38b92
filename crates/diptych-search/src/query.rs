//! What a query asks for: a list of concepts, each with the ways a document may speak of it.
//!
//! A concept is one thing the user typed. Its alternatives are the term as typed, the parts of a name,
//! neighbours written as one name ("catch tag" for `catchTag`), synonyms, and, when the documents do
//! not know the word, corrections and completions of it. A document need not have every concept:
//! ranking weighs how many of them it has.

use std::fmt;

use crate::typo::Near;

/// A query, taken apart.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// What it asks for, in the order typed.
    pub concepts: Vec<Concept>,
    /// Words taken for misspellings of others.
    pub corrections: Vec<Correction>,
}

/// One thing a query asks for.
#[derive(Debug, Clone)]
pub struct Concept {
    /// As typed.
    pub typed: String,
    /// How much of its rarity counts: less than 1 for words such as "use" and "example".
    pub weight: f32,
    /// The ways to speak of it, the typed one first.
    pub alternatives: Vec<Alternative>,
}

/// One way to speak of a concept.
#[derive(Debug, Clone)]
pub struct Alternative {
    /// The terms a document must have, all of them.
    pub terms: Vec<String>,
    /// How much finding them counts, 1 being the word itself.
    pub weight: f32,
    /// Where it comes from.
    pub reason: Reason,
}

/// Where an alternative comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The user typed it.
    Typed,
    /// It is a part of a name that the user typed.
    Part,
    /// It is two words of the query, written as one name.
    Joined,
    /// It is a synonym, given as the table spells it.
    Synonym(String),
    /// It is the known word nearest to a misspelt one.
    Corrected(String),
    /// It is a known word that begins with what was typed.
    Completed(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed => formatter.write_str("as typed"),
            Self::Part => formatter.write_str("part of a name"),
            Self::Joined => formatter.write_str("two words as one name"),
            Self::Synonym(text) => write!(formatter, "synonym \"{text}\""),
            Self::Corrected(text) => write!(formatter, "corrected to \"{text}\""),
            Self::Completed(text) => write!(formatter, "completed to \"{text}\""),
        }
    }
}

/// A word taken for a misspelling of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// As typed.
    pub typed: String,
    /// The known word it was taken for.
    pub corrected: String,
}

/// What a query may ask about the words of the documents.
pub trait Vocabulary {
    /// Whether any document has the term.
    fn knows(&self, term: &str) -> bool;
    /// Whether any document has the term as a whole name, such as `effect.all` or `catchtag`.
    fn knows_name(&self, term: &str) -> bool;
    /// The known words that a misspelt or all too rare word may stand for, nearest first.
    fn corrections(&self, word: &str) -> Vec<Near>;
    /// Known words that begin with `word`.
    fn completions(&self, word: &str) -> Vec<String>;
}

/// The vocabulary of someone who has none at hand: every word is taken as typed.
#[derive(Debug, Clone, Copy)]
pub struct AnyWord;

impl Vocabulary for AnyWord {
    fn knows(&self, _term: &str) -> bool {
        true
    }
    fn knows_name(&self, _term: &str) -> bool {
        false
    }
    fn corrections(&self, _word: &str) -> Vec<Near> {
        Vec::new()
    }
    fn completions(&self, _word: &str) -> Vec<String> {
        Vec::new()
    }
}
