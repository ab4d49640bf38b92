//! Ranking, and the floor below which a document is not a match.
//!
//! **Score.** For each concept the best of its alternatives counts: weight of the alternative × strength
//! in the document, levelled off so that a concept stated in every field is not worth two. Concepts are
//! weighed by rarity and added up; the sum is divided by what it could be at most, so a score lies
//! between 0 and 1 and can be compared across queries. Covering more of what was asked for raises it once
//! more: a document about two of the concepts beats one that repeats the first.
//!
//! **Floor.** A match is a document whose score is at least [`FLOOR`] of the best one's. Since strength
//! depends on the field, a word that is only mentioned in a body is below it as soon as another document
//! has the word in its title, tags or summary; when no document says more, the mentions are the matches.
//! Who asks for several things at once is not helped by what has one of them: the more concepts, the
//! nearer to the best a document must come. A short list is spared that, since it is never too long.
//!
//! **Order.** Score, then id: the same query gives the same order, always.

use std::cmp::Reverse;

use crate::index::{Index, Posting};
use crate::query::{Alternative, Concept, Correction, Query};

/// The part of the best score that a match must reach to be one at all.
pub const FLOOR: f32 = 0.5;
/// The same for those beyond a short list, when one thing is asked for.
const CROWDED_FLOOR: f32 = 0.55;
/// How many of the best need only reach the floor: a short list is never too long.
const SHORT_LIST: usize = 8;
/// The strength at which a concept counts half.
const HALF: f32 = 0.5;
/// The strength from which a concept counts as covered.
const COVERED: f32 = 0.35;
/// What coverage decides of the score.
const COVERAGE: f32 = 0.6;
/// A concept that no document has counts this much of the rarest in what could be reached.
const UNKNOWN: f32 = 0.5;

/// What a search found.
#[derive(Debug, Clone)]
pub struct Matches<'index> {
    /// Every document above the floor, the best first.
    pub hits: Vec<Hit<'index>>,
    /// Words that were taken for misspellings.
    pub corrections: Vec<Correction>,
}

/// A document that matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit<'index> {
    /// Its id.
    pub id: &'index str,
    /// Its place among the documents that the index was built from.
    pub document: usize,
    /// Between 0 and 1: the part of what the query asks for that the document offers.
    pub score: f32,
}

impl Index {
    /// The documents that match, the best first.
    pub fn search(&self, query: &str) -> Matches<'_> {
        let query = Query::parse(query, &self.synonyms, self);
        let hits = self.above_floor(self.rank(&query), self.concepts(&query));
        Matches { hits, corrections: query.corrections }
    }

    /// Every document that has anything of the query, the best first: what a search finds before the
    /// floor is applied. For fusing with another ranking.
    pub fn search_all(&self, query: &str) -> Matches<'_> {
        let query = Query::parse(query, &self.synonyms, self);
        let mut hits = self.rank(&query);
        self.sort(&mut hits);
        Matches { hits, corrections: query.corrections }
    }

    /// How many concepts a query has, counted by importance: one that decides nearly everything is one.
    fn concepts(&self, query: &Query) -> f32 {
        let (sum, squares) = query.concepts.iter().fold((0.0_f32, 0.0_f32), |(sum, squares), concept| {
            let importance = self.importance(concept);
            (sum + importance, squares + importance * importance)
        });
        if squares > 0.0 { sum * sum / squares } else { 1.0 }
    }

    /// The score of every document that has anything of the query, in no order.
    fn rank(&self, query: &Query) -> Vec<Hit<'_>> {
        let mut board = Board::new(self.len());
        let mut possible = 0.0;
        for concept in &query.concepts {
            let importance = self.importance(concept);
            possible += importance;
            for alternative in &concept.alternatives {
                self.collect(alternative, self.factor(alternative, concept), &mut board);
            }
            board.settle(importance);
        }
        board
            .results()
            .map(|(document, points, covered)| Hit {
                id: &self.ids[document],
                document,
                score: score(points, covered, possible),
            })
            .collect()
    }

    /// How much a concept decides: its rarity, or that of what stands in for a word that nobody knows.
    pub(crate) fn importance(&self, concept: &Concept) -> f32 {
        let known = concept.alternatives.iter().find_map(|alternative| self.rarity(alternative));
        known.unwrap_or(self.greatest_rarity() * UNKNOWN) * concept.weight
    }

    /// The weight of an alternative. A commonplace stand-in for a rare word does not get its rarity.
    pub(crate) fn factor(&self, alternative: &Alternative, concept: &Concept) -> f32 {
        let importance = self.importance(concept) / concept.weight;
        let rarity = self.rarity(alternative).unwrap_or(0.0);
        alternative.weight * (rarity / importance.max(f32::EPSILON)).min(1.0)
    }

    /// The rarity of an alternative: its rarest term's, all of which are needed.
    fn rarity(&self, alternative: &Alternative) -> Option<f32> {
        alternative
            .terms
            .iter()
            .map(|term| self.entry(term).map(|entry| entry.rarity))
            .try_fold(0.0_f32, |greatest, rarity| rarity.map(|rarity| greatest.max(rarity)))
    }

    fn collect(&self, alternative: &Alternative, factor: f32, board: &mut Board) {
        let entries: Option<Vec<_>> = alternative.terms.iter().map(|term| self.entry(term)).collect();
        match entries.as_deref() {
            None | Some([]) => {}
            Some([entry]) => {
                for (document, strength) in by_document(self.postings(entry)) {
                    board.offer(document, factor * strength);
                }
            }
            Some(entries) => {
                let mut together: Vec<(usize, f32)> = by_document(self.postings(entries[0])).collect();
                for entry in &entries[1..] {
                    together = meet(&together, by_document(self.postings(entry)));
                }
                for (document, strength) in together {
                    board.offer(document, factor * strength);
                }
            }
        }
    }

    /// The best first, and where two are as good, the one whose id comes first. Thousands can be as good as each
    /// other, so that is decided on numbers.
    fn sort(&self, hits: &mut [Hit<'_>]) {
        // Scores are not negative, and the bits of such numbers are in the numbers' order.
        hits.sort_unstable_by_key(|hit| (Reverse(hit.score.to_bits()), self.places[hit.document]));
    }

    /// The hits that match, in order.
    fn above_floor<'index>(&self, mut hits: Vec<Hit<'index>>, concepts: f32) -> Vec<Hit<'index>> {
        let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        // Most of the documents have something of a query; only those near the best are worth sorting.
        hits.retain(|hit| hit.score >= best * FLOOR);
        self.sort(&mut hits);
        let strict = 1.0 - (1.0 - CROWDED_FLOOR) / concepts.max(1.0);
        let mut place = 0;
        hits.retain(|hit| {
            place += 1;
            let floor = if place <= SHORT_LIST { FLOOR } else { strict };
            hit.score > 0.0 && hit.score >= best * floor
        });
        hits
    }
}

/// The documents of two lists in order of document, each with the lesser strength.
fn meet(left: &[(usize, f32)], right: impl Iterator<Item = (usize, f32)>) -> Vec<(usize, f32)> {
    let mut left = left.iter().copied().peekable();
    let mut both = Vec::new();
    for (document, strength) in right {
        while left.next_if(|(other, _)| *other < document).is_some() {}
        if let Some((_, other)) = left.next_if(|(other, _)| *other == document) {
            both.push((document, strength.min(other)));
        }
    }
    both
}

/// The strength of a term in each document, over all fields.
pub(crate) fn by_document(postings: &[Posting]) -> impl Iterator<Item = (usize, f32)> + '_ {
    postings.chunk_by(|a, b| a.document == b.document).map(|postings| {
        (postings[0].document as usize, postings.iter().map(|posting| posting.strength()).sum())
    })
}

/// What a strength is worth: diminishing, always below 1.
pub(crate) fn level(strength: f32) -> f32 {
    strength / (strength + HALF)
}

pub(crate) fn score(points: f32, covered: f32, possible: f32) -> f32 {
    if possible <= 0.0 {
        return 0.0;
    }
    (points / possible) * (1.0 - COVERAGE + COVERAGE * (covered / possible).min(1.0))
}

/// Running totals, one place for each document.
struct Board {
    points: Vec<f32>,
    covered: Vec<f32>,
    best: Vec<f32>,
    touched: Vec<u32>,
}

impl Board {
    fn new(documents: usize) -> Self {
        Self {
            points: vec![0.0; documents],
            covered: vec![0.0; documents],
            best: vec![0.0; documents],
            touched: Vec::new(),
        }
    }

    fn offer(&mut self, document: usize, strength: f32) {
        let best = &mut self.best[document];
        if *best == 0.0 && strength > 0.0 {
            self.touched.push(document as u32);
        }
        *best = best.max(strength);
    }

    /// Ends a concept: its best strengths become points.
    fn settle(&mut self, importance: f32) {
        for document in self.touched.drain(..) {
            let document = document as usize;
            let strength = std::mem::take(&mut self.best[document]);
            self.points[document] += importance * level(strength);
            self.covered[document] += importance * (strength / COVERED).min(1.0);
        }
    }

    fn results(self) -> impl Iterator<Item = (usize, f32, f32)> {
        self.points
            .into_iter()
            .zip(self.covered)
            .enumerate()
            .filter(|(_, (points, _))| *points > 0.0)
            .map(|(document, (points, covered))| (document, points, covered))
    }
}
