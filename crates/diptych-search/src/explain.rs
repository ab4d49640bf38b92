//! Why a document is where it is: what the query was taken to mean, and what each hit earned by it.
//!
//! An explanation is made of plain data and can be printed; it recomputes the ranking from the same
//! parts, so it cannot tell another story than the search.

use std::fmt;

use crate::index::Index;
use crate::query::{Alternative, Concept, Correction, Query, Reason};
use crate::rank::{Hit, by_document, level};

/// The explanation of a search.
#[derive(Debug, Clone)]
pub struct Explanation<'index> {
    /// What the query was taken to ask for.
    pub concepts: Vec<ConceptMeaning>,
    /// Words that were taken for misspellings.
    pub corrections: Vec<Correction>,
    /// How many documents match.
    pub total: usize,
    /// What the best of them earned.
    pub hits: Vec<ExplainedHit<'index>>,
}

/// What a concept of the query was taken to mean.
#[derive(Debug, Clone)]
pub struct ConceptMeaning {
    /// As typed.
    pub typed: String,
    /// How much of the score it decides, all concepts together making 1.
    pub importance: f32,
    /// The ways to speak of it that some document uses.
    pub alternatives: Vec<Alternative>,
}

/// A hit and what it earned.
#[derive(Debug, Clone)]
pub struct ExplainedHit<'index> {
    /// The hit.
    pub hit: Hit<'index>,
    /// One entry for each concept that the document has.
    pub evidence: Vec<Evidence<'index>>,
}

/// How a document has a concept.
#[derive(Debug, Clone)]
pub struct Evidence<'index> {
    /// The concept, as typed.
    pub typed: String,
    /// The terms that were found.
    pub terms: Vec<String>,
    /// Why they count for the concept.
    pub reason: Reason,
    /// What the alternative is worth, 1 being the word itself.
    pub factor: f32,
    /// The strength of the terms in each field that has them.
    pub fields: Vec<(&'index str, f32)>,
    /// What it adds to the score, before coverage is reckoned.
    pub points: f32,
}

impl Index {
    /// Explains a search: what the query was taken to mean, and its first `limit` hits.
    pub fn explain(&self, query: &str, limit: usize) -> Explanation<'_> {
        let matches = self.search(query);
        let query = Query::parse(query, &self.synonyms, self);
        let possible: f32 = query.concepts.iter().map(|concept| self.importance(concept)).sum();
        let share = |concept: &Concept| self.importance(concept) / possible.max(f32::EPSILON);
        let hits = matches
            .hits
            .iter()
            .take(limit)
            .map(|hit| ExplainedHit {
                hit: *hit,
                evidence: query
                    .concepts
                    .iter()
                    .filter_map(|concept| self.evidence(concept, hit.document, share(concept)))
                    .collect(),
            })
            .collect();
        let concepts = query
            .concepts
            .iter()
            .map(|concept| ConceptMeaning {
                typed: concept.typed.clone(),
                importance: share(concept),
                alternatives: concept
                    .alternatives
                    .iter()
                    .filter(|alternative| alternative.terms.iter().all(|term| self.entry(term).is_some()))
                    .cloned()
                    .collect(),
            })
            .collect();
        Explanation { concepts, corrections: matches.corrections, total: matches.hits.len(), hits }
    }

    /// The alternative that counts for a concept in a document: the strongest, as in ranking.
    fn evidence(&self, concept: &Concept, document: usize, share: f32) -> Option<Evidence<'_>> {
        let strength = |alternative: &Alternative| {
            let factor = self.factor(alternative, concept);
            let weakest = alternative
                .terms
                .iter()
                .map(|term| self.strength(term, document))
                .reduce(f32::min)
                .unwrap_or(0.0);
            factor * weakest
        };
        let (alternative, best) = concept
            .alternatives
            .iter()
            .map(|alternative| (alternative, strength(alternative)))
            .filter(|(_, strength)| *strength > 0.0)
            .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        let mut fields: Vec<(&str, f32)> = Vec::new();
        for posting in alternative
            .terms
            .iter()
            .filter_map(|term| self.entry(term))
            .flat_map(|entry| self.postings(entry))
        {
            if posting.document as usize == document {
                let name = self.fields[usize::from(posting.field)].name.as_str();
                match fields.iter_mut().find(|(field, _)| *field == name) {
                    Some((_, sum)) => *sum += posting.strength(),
                    None => fields.push((name, posting.strength())),
                }
            }
        }
        Some(Evidence {
            typed: concept.typed.clone(),
            terms: alternative.terms.clone(),
            reason: alternative.reason.clone(),
            factor: self.factor(alternative, concept),
            fields,
            points: share * level(best),
        })
    }

    fn strength(&self, term: &str, document: usize) -> f32 {
        let postings = self.entry(term).map_or(&[][..], |entry| self.postings(entry));
        by_document(postings).find(|(found, _)| *found == document).map_or(0.0, |(_, strength)| strength)
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for concept in &self.concepts {
            write!(formatter, "\"{}\" decides {:.0}%", concept.typed, concept.importance * 100.0)?;
            if concept.alternatives.is_empty() {
                write!(formatter, "; no document has it")?;
            }
            for alternative in &concept.alternatives {
                let terms = alternative.terms.join(" + ");
                write!(formatter, "; {terms} ×{:.2} ({})", alternative.weight, alternative.reason)?;
            }
            writeln!(formatter)?;
        }
        let matches = if self.total == 1 { "document matches" } else { "documents match" };
        writeln!(formatter, "{} {matches}", self.total)?;
        for (place, explained) in self.hits.iter().enumerate() {
            writeln!(formatter, "{}. {} {:.3}", place + 1, explained.hit.id, explained.hit.score)?;
            for evidence in &explained.evidence {
                write!(
                    formatter,
                    "   {:.3} \"{}\": {} ×{:.2} ({}) in",
                    evidence.points,
                    evidence.typed,
                    evidence.terms.join(" + "),
                    evidence.factor,
                    evidence.reason
                )?;
                for (field, strength) in &evidence.fields {
                    write!(formatter, " {field} {strength:.2}")?;
                }
                writeln!(formatter)?;
            }
        }
        Ok(())
    }
}
