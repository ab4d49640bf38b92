//! Reading the documents into an index.
//!
//! The same words come again and again, so each compound is analysed once and then only counted. How
//! strong a term is depends on average lengths, so strengths are worked out at the end, when all
//! occurrences are sorted by term in one pass.

use foldhash::{HashMap, HashMapExt, HashSet};

use crate::index::{BuildError, Document, Field, Index, Posting, TermEntry, rarity};
use crate::noise::stop_words;
use crate::stem::stem;
use crate::synonyms::Synonyms;
use crate::tokenize::{Kind, compounds, is_plain, terms};
use crate::typo::Spelling;

/// How much the length of a text, against others of the same field, counts.
const LENGTH_EFFECT: f32 = 0.5;

#[derive(Default)]
pub(crate) struct Collector {
    ids: Vec<String>,
    seen: HashSet<String>,
    terms: HashMap<Box<str>, u32>,
    /// Whether each term is a whole name somewhere.
    names: Vec<bool>,
    /// Where the parts of each compound seen so far are.
    analysed: HashMap<Box<str>, (u32, u32)>,
    parts: Vec<(u32, f32)>,
    surfaces: Vec<(Box<str>, u32)>,
    occurrences: Vec<Occurrence>,
    /// Words in each field of each document, field by field.
    lengths: Vec<Vec<u32>>,
    /// Occurrences of each term in the field that is being read, and which terms have any.
    counts: Vec<f32>,
    touched: Vec<u32>,
}

/// A term in one field of one document.
#[derive(Clone, Copy)]
struct Occurrence {
    term: u32,
    document: u32,
    count: f32,
    field: u8,
}

impl Collector {
    pub(crate) fn new(fields: usize) -> Self {
        Self { lengths: vec![Vec::new(); fields], analysed: HashMap::new(), ..Self::default() }
    }

    pub(crate) fn add(&mut self, fields: &[(String, f32)], document: Document<'_>) -> Result<(), BuildError> {
        let id = document.id.into_owned();
        let known = |name: &str| fields.iter().any(|(field, _)| field == name);
        if let Some((name, _)) = document.fields.iter().find(|(name, _)| !known(name)) {
            return Err(BuildError::UnknownField { id, field: (*name).to_owned() });
        }
        if !self.seen.insert(id.clone()) {
            return Err(BuildError::DuplicateId(id));
        }
        let number = self.ids.len() as u32;
        self.ids.push(id);
        for (field, (name, _)) in fields.iter().enumerate() {
            let mut length = 0;
            for (_, text) in document.fields.iter().filter(|(given, _)| given == name) {
                for compound in compounds(text) {
                    length += 1;
                    self.count(compound);
                }
            }
            self.lengths[field].push(length);
            for term in self.touched.drain(..) {
                let count = std::mem::take(&mut self.counts[term as usize]);
                self.occurrences.push(Occurrence { term, document: number, count, field: field as u8 });
            }
        }
        Ok(())
    }

    fn count(&mut self, compound: &str) {
        let (start, end) = match self.analysed.get(compound) {
            Some(range) => *range,
            None => {
                let range = self.analyse(compound);
                self.analysed.insert(compound.into(), range);
                range
            }
        };
        for (term, share) in &self.parts[start as usize..end as usize] {
            let count = &mut self.counts[*term as usize];
            if *count == 0.0 {
                self.touched.push(*term);
            }
            *count += share;
        }
    }

    fn analyse(&mut self, compound: &str) -> (u32, u32) {
        let start = self.parts.len() as u32;
        if is_plain(compound) {
            let surface = compound.to_ascii_lowercase();
            let number = self.number(&stem(&surface));
            self.surfaces.push((surface.into_boxed_str(), number));
            self.parts.push((number, 1.0));
        } else {
            for term in terms(compound) {
                let number = self.number(&term.text);
                self.names[number as usize] |= term.kind == Kind::Name;
                self.surfaces.push((term.surface.into_boxed_str(), number));
                self.parts.push((number, term.share));
            }
        }
        (start, self.parts.len() as u32)
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.terms.get(term) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.terms.insert(term.into(), number);
        self.names.push(false);
        self.counts.push(0.0);
        number
    }

    pub(crate) fn finish(self, fields: Vec<Field>, synonyms: Synonyms) -> Index {
        let total = self.ids.len();
        let (postings, ends) = self.postings(&fields);
        let mut entries: Vec<TermEntry> = Vec::with_capacity(ends.len());
        let mut start = 0;
        for (end, is_name) in ends.into_iter().zip(&self.names) {
            let (documents, stated) = spread(&postings[start..end]);
            entries.push(TermEntry {
                postings: start..end,
                // A word that many bodies mention in passing is rarer than one that as many titles state,
                // but not as rare as if they did not mention it: halfway, on a log scale.
                rarity: rarity(total, (documents as f32 * stated.max(1.0)).sqrt()),
                is_name: *is_name,
                documents,
            });
            start = end;
        }
        let mut surfaces = self.surfaces;
        surfaces.sort_unstable();
        surfaces.dedup();
        let mut spelling = Spelling::default();
        for (surface, term) in surfaces.iter().filter(|(surface, _)| surface.len() > 2) {
            spelling.add(surface, entries[*term as usize].documents);
        }
        let unseen =
            |word: &str| surfaces.binary_search_by(|(surface, _)| surface.as_ref().cmp(word)).is_err();
        for word in synonyms.words().chain(stop_words().iter().copied()).filter(|word| unseen(word)) {
            spelling.add(word, 0);
        }
        let places = places(&self.ids);
        let Collector { ids, terms, .. } = self;
        Index { fields, ids, places, terms, entries, postings, synonyms, spelling, surfaces }
    }

    /// All postings by term, and where those of each term end. Documents were read in order, so placing
    /// each occurrence behind the last of its term keeps that order.
    fn postings(&self, fields: &[Field]) -> (Vec<Posting>, Vec<usize>) {
        let averages: Vec<f32> = self.lengths.iter().map(|lengths| average(lengths)).collect();
        // How many mentions make half of a full statement: few in a title, several in a body.
        let halves: Vec<f32> =
            averages.iter().map(|average| 0.3 + 0.4 * (1.0 + average / 10.0).ln()).collect();
        let mut ends = vec![0_usize; self.names.len()];
        for occurrence in &self.occurrences {
            ends[occurrence.term as usize] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        let mut postings = vec![Posting::new(0, 0, 0.0); self.occurrences.len()];
        for Occurrence { term, document, count, field } in &self.occurrences {
            let number = usize::from(*field);
            let length = self.lengths[number][*document as usize] as f32 / averages[number];
            let half = halves[number] * (1.0 - LENGTH_EFFECT + LENGTH_EFFECT * length);
            let strength = fields[number].weight * count / (count + half);
            let place = &mut ends[*term as usize];
            postings[*place] = Posting::new(*document, *field, strength);
            *place += 1;
        }
        (postings, ends)
    }
}

/// The place of each id in their order.
fn places(ids: &[String]) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..ids.len() as u32).collect();
    sorted.sort_unstable_by_key(|document| ids[*document as usize].as_str());
    let mut places = vec![0; ids.len()];
    for (place, document) in sorted.into_iter().enumerate() {
        places[document as usize] = place as u32;
    }
    places
}

/// The average length of the texts of a field, over the documents that have it.
fn average(lengths: &[u32]) -> f32 {
    let filled = lengths.iter().filter(|length| **length > 0).count().max(1);
    (lengths.iter().sum::<u32>() as f32 / filled as f32).max(1.0)
}

/// In how many documents a term is, and how strongly in all of them together.
fn spread(postings: &[Posting]) -> (u32, f32) {
    let documents = postings.chunk_by(|a, b| a.document == b.document);
    documents.fold((0, 0.0), |(count, stated), postings| {
        let strength: f32 = postings.iter().map(|posting| posting.strength()).sum();
        (count + 1, stated + strength.min(1.0))
    })
}
