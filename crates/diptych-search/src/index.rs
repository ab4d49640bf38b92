//! The inverted index: which document has which term, in which field, and how strongly.
//!
//! It lives in memory and is rebuilt from the documents whenever they change: the store is the truth.
//! The strength of a term in a field is worked out when the index is built, so that a search only adds
//! up. It follows BM25, field by field: occurrences count with diminishing returns, in a long text less
//! than in a short one, and one mention in a field that is short as a rule (a title) says more than one
//! mention in a field that is long as a rule (a body). The weight of the field scales the result.

use std::borrow::Cow;
use std::ops::Range;

use foldhash::HashMap;

use crate::collect::Collector;
use crate::query::Vocabulary;
use crate::synonyms::Synonyms;
use crate::typo::{Near, Spelling};

/// Strengths are stored as fractions of this.
const FULL: f32 = 65_535.0;

/// What is searched: an id and texts, each for a named field.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) fields: Vec<(&'a str, Cow<'a, str>)>,
}

impl<'a> Document<'a> {
    /// A document without text.
    pub fn new(id: impl Into<Cow<'a, str>>) -> Self {
        Self { id: id.into(), fields: Vec::new() }
    }

    /// Adds text to a field; a field given twice has both texts.
    #[must_use]
    pub fn field(mut self, name: &'a str, text: impl Into<Cow<'a, str>>) -> Self {
        self.fields.push((name, text.into()));
        self
    }
}

/// Why an index cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A document has text for a field that was not declared.
    #[error(
        "document \"{id}\" has text for a field \"{field}\" that the index does not have; declare it with `field`"
    )]
    UnknownField {
        /// The document.
        id: String,
        /// The field.
        field: String,
    },
    /// Two documents have the same id.
    #[error("two documents have the id \"{0}\"; give each its own")]
    DuplicateId(String),
    /// The index has no fields, or more than 255, or one with a weight that is not above zero.
    #[error("an index has between 1 and 255 fields, each with a weight above zero")]
    Fields,
}

/// Declares the fields of an index.
#[derive(Debug, Clone)]
pub struct Builder {
    fields: Vec<(String, f32)>,
    synonyms: Synonyms,
}

impl Builder {
    /// Adds a field. Weights are relative to each other: a word in a field of weight 4 counts up to
    /// four times what it counts in a field of weight 1.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, weight: f32) -> Self {
        self.fields.push((name.into(), weight));
        self
    }

    /// Uses another table of synonyms than the built-in one.
    #[must_use]
    pub fn synonyms(mut self, synonyms: Synonyms) -> Self {
        self.synonyms = synonyms;
        self
    }

    /// Indexes the documents.
    ///
    /// # Errors
    /// When the fields make no sense, a document names an unknown field, or two share an id.
    pub fn build<'a>(self, documents: impl IntoIterator<Item = Document<'a>>) -> Result<Index, BuildError> {
        let heaviest = self.fields.iter().map(|(_, weight)| *weight).fold(0.0, f32::max);
        let sound = |weight: f32| weight.is_finite() && weight > 0.0;
        if self.fields.is_empty() || self.fields.len() > 255 || !self.fields.iter().all(|f| sound(f.1)) {
            return Err(BuildError::Fields);
        }
        let mut collector = Collector::new(self.fields.len());
        for document in documents {
            collector.add(&self.fields, document)?;
        }
        let fields =
            self.fields.into_iter().map(|(name, weight)| Field { name, weight: weight / heaviest }).collect();
        Ok(collector.finish(fields, self.synonyms))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Relative to the heaviest field.
    pub(crate) weight: f32,
}

/// A term in one field of one document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    strength: u16,
    pub(crate) field: u8,
}

impl Posting {
    pub(crate) fn new(document: u32, field: u8, strength: f32) -> Self {
        Self { document, strength: (strength * FULL).clamp(1.0, FULL) as u16, field }
    }

    /// Between 0 and the weight of the field.
    pub(crate) fn strength(self) -> f32 {
        f32::from(self.strength) / FULL
    }
}

#[derive(Debug, Clone)]
pub(crate) struct TermEntry {
    /// Where its postings are.
    pub(crate) postings: Range<usize>,
    /// How telling the term is: the rarer, the more.
    pub(crate) rarity: f32,
    /// Whether it is a whole name somewhere.
    pub(crate) is_name: bool,
    /// In how many documents it is.
    pub(crate) documents: u32,
}

/// Documents, ready to be searched.
///
/// ```
/// use diptych_search::{Document, Index};
/// let index = Index::builder().field("title", 5.0).field("body", 1.0).build([
///     Document::new("retry").field("title", "Retry with backoff").field("body", "Use Effect.retry."),
///     Document::new("cache").field("title", "Cache a result").field("body", "Compute it once."),
/// ])?;
/// let matches = index.search("how do I try again after an error?");
/// assert_eq!(matches.hits[0].id, "retry");
/// # Ok::<(), diptych_search::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Index {
    pub(crate) fields: Vec<Field>,
    pub(crate) ids: Vec<String>,
    /// The place of each document in the order of ids.
    pub(crate) places: Vec<u32>,
    pub(crate) terms: HashMap<Box<str>, u32>,
    pub(crate) entries: Vec<TermEntry>,
    /// Term by term, each in the order of the documents.
    pub(crate) postings: Vec<Posting>,
    pub(crate) synonyms: Synonyms,
    pub(crate) spelling: Spelling,
    /// Every spelling with its term, sorted, for completion.
    pub(crate) surfaces: Vec<(Box<str>, u32)>,
}

impl Index {
    /// Starts an index with no fields and the built-in synonyms.
    pub fn builder() -> Builder {
        Builder { fields: Vec::new(), synonyms: Synonyms::builtin() }
    }

    /// How many documents it has.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The ids of the documents, in the order they were given.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    pub(crate) fn entry(&self, term: &str) -> Option<&TermEntry> {
        self.terms.get(term).map(|id| &self.entries[*id as usize])
    }

    /// The postings of a term, in the order of the documents.
    pub(crate) fn postings(&self, entry: &TermEntry) -> &[Posting] {
        &self.postings[entry.postings.clone()]
    }

    /// The rarity of a word that no document has.
    pub(crate) fn greatest_rarity(&self) -> f32 {
        rarity(self.ids.len(), 1.0)
    }
}

pub(crate) fn rarity(total: usize, with_term: f32) -> f32 {
    (1.0 + (total as f32 - with_term + 0.5).max(0.0) / (with_term + 0.5)).ln()
}

/// How many words may complete a typed beginning.
const MOST_COMPLETIONS: usize = 4;
/// How many words with the same beginning are looked at.
const MOST_BEGINNINGS: usize = 200;

impl Vocabulary for Index {
    fn knows(&self, term: &str) -> bool {
        self.terms.contains_key(term)
    }

    fn knows_name(&self, term: &str) -> bool {
        self.entry(term).is_some_and(|entry| entry.is_name)
    }

    fn corrections(&self, word: &str) -> Vec<Near> {
        let known = self.entry(word).or_else(|| self.entry(&crate::stem::stem(word)));
        match known {
            None => self.spelling.nearest(word, 3),
            // A word that next to no document has may be a misspelling that one of them shares.
            Some(entry) if entry.documents as usize <= 1 + self.ids.len() / 500 => {
                let mut near = self.spelling.nearest_other(word, 1);
                near.retain(|near| near.count >= entry.documents * 10 && near.slips == 1);
                near
            }
            Some(_) => Vec::new(),
        }
    }

    fn completions(&self, word: &str) -> Vec<String> {
        if word.chars().count() < 3 {
            return Vec::new();
        }
        let start = self.surfaces.partition_point(|(surface, _)| surface.as_ref() < word);
        let mut found: Vec<(u32, &str)> = self.surfaces[start..]
            .iter()
            .take_while(|(surface, _)| surface.starts_with(word))
            .take(MOST_BEGINNINGS)
            .map(|(surface, term)| (self.entries[*term as usize].documents, surface.as_ref()))
            .collect();
        found.sort_by_key(|(documents, surface)| (std::cmp::Reverse(*documents), surface.len()));
        found.truncate(MOST_COMPLETIONS);
        found.into_iter().map(|(_, surface)| surface.to_owned()).collect()
    }
}
