//! Taking a query apart: from the words typed to concepts with alternatives.
//!
//! Each compound becomes one or more units; neighbours that make a name are joined, phrases that have
//! synonyms become one unit, stop words that are part of nothing are dropped, and no term is left to count
//! for two concepts.

use std::collections::HashMap;

use crate::noise::{is_stop_word, is_weak_word};
use crate::query::{Alternative, Concept, Correction, Query, Reason, Vocabulary};
use crate::stem::stem;
use crate::synonyms::Synonyms;
use crate::tokenize::{Compound, compounds, terms};

/// What is read of a query; no question is longer, and a pasted file is not a question.
const LONGEST_QUERY: usize = 2_000;
const MOST_WORDS: usize = 32;
/// How many unknown words of one query are looked up in the whole vocabulary.
const MOST_CORRECTED: usize = 8;

const WEAK: f32 = 0.25;
const NAME_IN_DOTTED: f32 = 0.8;
const WORD_IN_DOTTED: f32 = 0.6;
const STOP_WORD_IN_DOTTED: f32 = 0.15;
const MODULE_OF_DOTTED: f32 = 0.15;
const PARTS_OF_NAME: f32 = 0.5;
const SYNONYM: f32 = 0.65;
const PHRASE: f32 = 0.8;
const WORD_OF_PHRASE: f32 = 0.5;
const COMPLETION: f32 = 0.6;

/// A word of the query on its way to becoming a concept.
struct Unit {
    typed: String,
    /// Lower case, as typed or as corrected: what phrases are made of.
    surface: String,
    stem: String,
    is_name: bool,
    /// A stop word is dropped, unless it is part of something.
    stop: bool,
    /// It has no meaning of its own, only as part of a phrase or a name.
    only_joined: bool,
    alternatives: Vec<Alternative>,
}

impl Query {
    /// Takes a query apart, given what the documents know.
    pub fn parse(text: &str, synonyms: &Synonyms, vocabulary: &dyn Vocabulary) -> Self {
        let mut parser = Parser {
            synonyms,
            vocabulary,
            units: Vec::new(),
            corrections: Vec::new(),
            budget: MOST_CORRECTED,
        };
        let mut end = text.len().min(LONGEST_QUERY);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for compound in compounds(&text[..end]) {
            if parser.units.len() >= MOST_WORDS {
                break;
            }
            parser.read(compound);
        }
        parser.join_neighbours();
        parser.add_synonyms();
        parser.finish()
    }
}

struct Parser<'a> {
    synonyms: &'a Synonyms,
    vocabulary: &'a dyn Vocabulary,
    units: Vec<Unit>,
    corrections: Vec<Correction>,
    budget: usize,
}

impl Parser<'_> {
    fn read(&mut self, compound: &str) {
        let parsed = Compound::parse(compound);
        if !parsed.dotted().is_empty() {
            self.read_dotted(compound, &parsed);
        } else if compound.is_ascii() || terms(compound).len() <= 1 {
            let words: Vec<_> = parsed.segments.into_iter().flatten().collect();
            let joined = words.len() > 1;
            for word in words {
                if word.parts.is_empty() {
                    self.read_word(&word.whole, joined);
                } else {
                    self.read_name(&word.whole, &word.parts);
                }
            }
        } else {
            for term in terms(compound) {
                self.read_word(&term.surface, true);
            }
        }
    }

    fn read_word(&mut self, word: &str, part_of_compound: bool) {
        let term = stem(word).into_owned();
        let stop = is_stop_word(word) && !part_of_compound;
        let mut unit = Unit {
            typed: word.to_owned(),
            surface: word.to_owned(),
            stem: term.clone(),
            is_name: false,
            stop,
            only_joined: false,
            alternatives: vec![typed(term.clone())],
        };
        if !stop {
            let known = self.vocabulary.knows(&term);
            self.correct(&mut unit, known);
            if !known {
                for completed in self.vocabulary.completions(word) {
                    unit.alternatives.push(Alternative {
                        terms: vec![stem(&completed).into_owned()],
                        weight: COMPLETION,
                        reason: Reason::Completed(completed),
                    });
                }
                self.split(&mut unit);
            }
        }
        self.units.push(unit);
    }

    /// `errorhandling`: two known words, written as one.
    fn split(&self, unit: &mut Unit) {
        if unit.typed.len() < 8 || !unit.typed.is_ascii() {
            return;
        }
        for at in 3..=unit.typed.len() - 3 {
            let (left, right) = unit.typed.split_at(at);
            let terms = vec![stem(left).into_owned(), stem(right).into_owned()];
            if terms.iter().all(|term| self.vocabulary.knows(term)) {
                unit.alternatives.push(Alternative { terms, weight: PARTS_OF_NAME, reason: Reason::Part });
            }
        }
    }

    /// Adds the nearest known words; an unknown word then stands for the nearest in phrases too.
    fn correct(&mut self, unit: &mut Unit, known: bool) {
        if self.budget == 0 {
            return;
        }
        let near = self.vocabulary.corrections(&unit.surface);
        self.budget -= usize::from(!near.is_empty() || !known);
        if let Some(near) = near.first().filter(|near| !known && is_stop_word(&near.word)) {
            unit.stop = true;
            unit.stem = stem(&near.word).into_owned();
            unit.surface.clone_from(&near.word);
            return;
        }
        for (index, near) in near.into_iter().enumerate() {
            unit.alternatives.push(Alternative {
                terms: vec![if near.word.contains('.') {
                    near.word.clone()
                } else {
                    stem(&near.word).into_owned()
                }],
                weight: if near.slips > 1 { 0.65 } else { 0.85 },
                reason: Reason::Corrected(near.word.clone()),
            });
            if index == 0 && !known {
                self.corrections.push(Correction { typed: unit.typed.clone(), corrected: near.word.clone() });
                unit.stem = stem(&near.word).into_owned();
                unit.surface = near.word;
            }
        }
    }

    fn read_name(&mut self, whole: &str, parts: &[String]) {
        let term = stem(whole).into_owned();
        let mut unit = Unit {
            typed: whole.to_owned(),
            surface: whole.to_owned(),
            stem: term.clone(),
            is_name: true,
            stop: false,
            only_joined: false,
            alternatives: vec![typed(term.clone())],
        };
        let known = self.vocabulary.knows(&term);
        if !known {
            self.correct(&mut unit, known);
        }
        unit.alternatives.push(parts_together(parts));
        self.units.push(unit);
    }

    fn read_dotted(&mut self, compound: &str, parsed: &Compound) {
        let mut names = parsed.dotted();
        names.reverse();
        let surface = names[0].clone();
        let known = names.iter().any(|name| self.vocabulary.knows(name));
        let mut unit = Unit {
            typed: compound.to_owned(),
            stem: surface.clone(),
            surface,
            is_name: true,
            stop: false,
            only_joined: false,
            alternatives: names.into_iter().map(typed).collect(),
        };
        if !known {
            self.correct(&mut unit, known);
        }
        if let Some((last, modules)) = parsed.segments.split_last() {
            for word in last {
                let weight = match (word.parts.is_empty(), is_stop_word(&word.whole)) {
                    (false, _) => NAME_IN_DOTTED,
                    (true, false) => WORD_IN_DOTTED,
                    (true, true) => STOP_WORD_IN_DOTTED,
                };
                let term = stem(&word.whole).into_owned();
                if !known && !self.vocabulary.knows(&term) {
                    self.read_part_corrections(&mut unit, &word.whole, weight);
                }
                unit.alternatives.push(Alternative { terms: vec![term], weight, reason: Reason::Part });
                if !word.parts.is_empty() {
                    unit.alternatives.push(parts_together(&word.parts));
                }
            }
            for word in modules.iter().flatten().filter(|word| !is_stop_word(&word.whole)) {
                unit.alternatives.push(Alternative {
                    terms: vec![stem(&word.whole).into_owned()],
                    weight: MODULE_OF_DOTTED,
                    reason: Reason::Part,
                });
            }
        }
        self.units.push(unit);
    }

    fn read_part_corrections(&mut self, unit: &mut Unit, word: &str, weight: f32) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        for near in self.vocabulary.corrections(word) {
            unit.alternatives.push(Alternative {
                terms: vec![stem(&near.word).into_owned()],
                weight: weight * 0.85,
                reason: Reason::Corrected(near.word),
            });
        }
    }

    /// "effect all" and "catch tag" are names when the documents have such a name.
    fn join_neighbours(&mut self) {
        for index in 1..self.units.len() {
            let (left, right) = (&self.units[index - 1], &self.units[index]);
            if left.is_name || right.is_name {
                continue;
            }
            let names = [
                format!("{}.{}", left.surface, right.surface),
                stem(&format!("{}{}", left.surface, right.surface)).into_owned(),
            ];
            // `Effect.all` said as "effect all" is about its second word. In `withDelay` the stop word is
            // just that, and "delay" alone says what is meant.
            let both = left.stop == right.stop;
            for name in names.into_iter().filter(|name| self.vocabulary.knows_name(name)) {
                for unit in &mut self.units[index - 1..=index] {
                    if unit.stop && !both && !name.contains('.') {
                        continue;
                    }
                    unit.only_joined |= unit.stop;
                    unit.stop = false;
                    unit.alternatives.push(Alternative {
                        terms: vec![name.clone()],
                        weight: 1.0,
                        reason: Reason::Joined,
                    });
                }
            }
        }
    }

    /// Every run of words that the table knows, whatever stop words are in it. The longest run wins, and
    /// becomes one concept: what a phrase means is not the sum of its words.
    fn add_synonyms(&mut self) {
        let mut units: Vec<Unit> = Vec::with_capacity(self.units.len());
        let mut rest = std::mem::take(&mut self.units);
        while !rest.is_empty() {
            let longest = self.synonyms.longest_phrase().min(rest.len());
            let found = (1..=longest).rev().find_map(|length| {
                let stems: Vec<&str> = rest[..length].iter().map(|unit| unit.stem.as_str()).collect();
                let targets = self.synonyms.targets(&stems);
                (!targets.is_empty() && (length > 1 || !rest[0].stop)).then_some((length, targets))
            });
            let (length, targets) = found.unwrap_or((1, &[]));
            let mut words: Vec<Unit> = rest.drain(..length).collect();
            let weight = if length > 1 { PHRASE } else { SYNONYM };
            let mut unit = if length > 1 { phrase(words) } else { words.remove(0) };
            unit.alternatives.extend(targets.iter().map(|target| Alternative {
                terms: target.terms.clone(),
                weight,
                reason: Reason::Synonym(target.text.clone()),
            }));
            units.push(unit);
        }
        self.units = units;
    }

    fn finish(self) -> Query {
        // "all" alone may be meant as a name; "what is this" means nothing.
        let nothing_else = self.units.len() == 1;
        let mut concepts: Vec<Concept> = Vec::new();
        for mut unit in self.units {
            if unit.stop && !nothing_else {
                continue;
            }
            if unit.only_joined {
                unit.alternatives.remove(0);
            }
            let repeated = concepts.iter().any(|concept| {
                concept.alternatives.first().map(|first| &first.terms)
                    == unit.alternatives.first().map(|first| &first.terms)
            });
            if repeated {
                continue;
            }
            let weak = is_weak_word(&unit.surface) || (is_stop_word(&unit.surface) && !nothing_else);
            concepts.push(Concept {
                typed: unit.typed,
                weight: if weak { WEAK } else { 1.0 },
                alternatives: unit.alternatives,
            });
        }
        claim(&mut concepts);
        Query { concepts, corrections: self.corrections }
    }
}

/// One unit of the words of a phrase. Single words of it count half: they mean something else alone.
fn phrase(words: Vec<Unit>) -> Unit {
    let typed: Vec<&str> = words.iter().map(|word| word.typed.as_str()).collect();
    let content: Vec<&Unit> = words.iter().filter(|word| !word.stop).collect();
    let mut together: Vec<String> = content.iter().map(|word| word.stem.clone()).collect();
    together.dedup();
    let mut unit = Unit {
        typed: typed.join(" "),
        surface: typed.join(" "),
        stem: String::new(),
        is_name: false,
        stop: false,
        only_joined: false,
        alternatives: Vec::new(),
    };
    if together.len() > 1 {
        unit.alternatives.push(Alternative { terms: together, weight: 1.0, reason: Reason::Typed });
    }
    for word in words.into_iter().filter(|word| !word.stop) {
        let skip = usize::from(word.only_joined);
        unit.alternatives.extend(word.alternatives.into_iter().skip(skip).map(|mut alternative| {
            if alternative.reason != Reason::Joined {
                alternative.weight *= WORD_OF_PHRASE;
            }
            alternative
        }));
    }
    unit
}

/// A term counts for one concept only, the one that typed it if there is one: otherwise "large file line
/// by line" would find everything about streams three times over.
fn claim(concepts: &mut [Concept]) {
    let mut claimed: HashMap<Vec<String>, usize> = HashMap::new();
    for (index, concept) in concepts.iter().enumerate() {
        let own = |reason: &Reason| matches!(reason, Reason::Typed | Reason::Corrected(_));
        for alternative in concept.alternatives.iter().filter(|alternative| own(&alternative.reason)) {
            claimed.entry(alternative.terms.clone()).or_insert(index);
        }
    }
    for (index, concept) in concepts.iter_mut().enumerate() {
        concept.alternatives.retain(|alternative| match alternative.reason {
            Reason::Synonym(_) | Reason::Completed(_) => {
                *claimed.entry(alternative.terms.clone()).or_insert(index) == index
            }
            _ => true,
        });
    }
}

fn typed(term: String) -> Alternative {
    Alternative { terms: vec![term], weight: 1.0, reason: Reason::Typed }
}

fn parts_together(parts: &[String]) -> Alternative {
    Alternative {
        terms: parts.iter().map(|part| stem(part).into_owned()).collect(),
        weight: PARTS_OF_NAME,
        reason: Reason::Part,
    }
}
