//! Finding posts in an [`Index`].
//!
//! Every word must be there: as typed, or, where no post has it, as the nearest known spelling or a longer word that begins with
//! it. Only when no post has all words do those with some of them count, and the answer says so. Words rank by rarity, by how
//! much of the post they are, and a little by how new the post is; a search without words lists the newest
//! first. The same index and the same query give the same order, always.

use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use diptych_search::{Kind, Term as Word, compounds, is_stop_word, terms};
use foldhash::HashMap;
use regex::Regex;

use super::expression::Expression;
use super::index::Index;
use super::query::{Clause, Query};

/// How long expressions may take in all. They run in linear time, but a long way is still long.
const PATIENCE: Duration = Duration::from_secs(4);
/// From how many posts on looking at texts is shared among cores, and among how many.
const WORTH_SHARING: usize = 4_000;
const MOST_CORES: usize = 4;
/// How many posts an expression looks at before the time is checked.
const GROUP: usize = 512;
/// How many it looks at together where it is only asked whether there is anything.
const TOGETHER: usize = 16;
/// What is said beyond so many words does not narrow a search any more.
const MOST_CONCEPTS: usize = 100;
const SPELLINGS: usize = 3;
const COMPLETIONS: usize = 4;
const PARTS_OF_NAME: f32 = 0.6;
const ONE_SLIP: f32 = 0.8;
const MORE_SLIPS: f32 = 0.6;
const COMPLETED: f32 = 0.6;
const SHARED_SLIP: f32 = 0.3;
const PHRASE: f32 = 1.5;
/// How much of the score depends on how new a post is.
const NEWNESS: f32 = 0.15;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The posts, best first, from the one that was asked for on.
    pub hits: Vec<Hit>,
    /// How many there are in all.
    pub total: usize,
    /// How well they match.
    pub quality: Quality,
    /// Words that were taken for misspellings, with the spelling that was used.
    pub corrections: Vec<(String, String)>,
    /// Expressions took too long: not all posts were looked at.
    pub gave_up: bool,
}

/// A post that was found: its number in the index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub(crate) post: u32,
    pub(crate) score: f32,
}

/// How well the posts match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// Everything that was asked for.
    Everything,
    /// Everything, some words in another spelling.
    Corrected,
    /// Some of the words only.
    SomeWords,
}

/// The accounts that a query names, by the name it uses, with their DIDs; those that could not be resolved are missing.
pub type People = HashMap<String, String>;

impl Index {
    /// Finds posts. Likes are not in a repository: `likes:` is for the caller to judge.
    pub fn search(&self, query: &Query, people: &People, skip: usize, take: usize) -> Found {
        self.search_within(query, people, skip, take, PATIENCE)
    }

    /// The same with another limit to how long expressions may take.
    pub(crate) fn search_within(
        &self,
        query: &Query,
        people: &People,
        skip: usize,
        take: usize,
        patience: Duration,
    ) -> Found {
        let mut search = Search::new(self, query, people, patience);
        let mut hits = search.run(true);
        let mut quality =
            if search.corrections.is_empty() { Quality::Everything } else { Quality::Corrected };
        if hits.is_empty() && search.concepts.len() > 1 {
            hits = search.run(false);
            quality = if hits.is_empty() { quality } else { Quality::SomeWords };
        }
        let total = hits.len();
        let end = skip.saturating_add(take);
        let order = |left: &Hit, right: &Hit| self.order(left, right);
        if end < hits.len() {
            hits.select_nth_unstable_by(end, order);
            hits.truncate(end);
        }
        hits.sort_unstable_by(order);
        hits.drain(..skip.min(hits.len()));
        Found { hits, total, quality, corrections: search.corrections, gave_up: search.gave_up }
    }

    /// Better first, then newer first.
    fn order(&self, left: &Hit, right: &Hit) -> Ordering {
        let created = |hit: &Hit| self.rows[hit.post as usize].created;
        right
            .score
            .total_cmp(&left.score)
            .then_with(|| created(right).cmp(&created(left)))
            .then_with(|| right.post.cmp(&left.post))
    }
}

/// Something that a post must say, in one of several ways.
struct Concept {
    alternatives: Vec<Alternative>,
    /// Posts need not say it: a word like "the" beside others.
    optional: bool,
}

/// One way to say it: all of these terms.
struct Alternative {
    terms: Vec<u32>,
    weight: f32,
}

/// What is asked of a post beside its words.
enum Condition<'query> {
    /// Nothing fulfils it.
    Never,
    Media(super::query::Media),
    Before(i64),
    From(i64),
    Person {
        number: Option<u32>,
        name: Option<Regex>,
    },
    Term(Vec<Alternative>),
    Phrase(Regex),
    Expression(&'query Expression),
}

struct Search<'index, 'query> {
    index: &'index Index,
    concepts: Vec<Concept>,
    /// Conditions, each with whether it is turned around; the cheap ones first.
    conditions: Vec<(bool, Condition<'query>)>,
    corrections: Vec<(String, String)>,
    patience: Duration,
    gave_up: bool,
}

impl<'index, 'query> Search<'index, 'query> {
    fn new(index: &'index Index, query: &'query Query, people: &People, patience: Duration) -> Self {
        let mut search = Search {
            index,
            concepts: Vec::new(),
            conditions: Vec::new(),
            corrections: Vec::new(),
            patience,
            gave_up: false,
        };
        for term in &query.terms {
            let condition = match &term.clause {
                Clause::Word(word) => {
                    search.word(word, term.negated);
                    continue;
                }
                Clause::Phrase(phrase) => {
                    if !term.negated {
                        search.phrase_words(phrase);
                    }
                    Condition::Phrase(phrase_expression(phrase))
                }
                Clause::Expression(expression) => Condition::Expression(expression),
                Clause::From(name) => {
                    let did = people.get(name).map_or(name.as_str(), String::as_str);
                    if (did == index.commit.did) != term.negated {
                        continue;
                    }
                    search.conditions.push((false, Condition::Never));
                    continue;
                }
                Clause::To(name) => {
                    let did = people.get(name).map_or(name.as_str(), String::as_str);
                    // Without a DID the mention in the text is all there is to go by.
                    let name = (!did.starts_with("did:")).then(|| phrase_expression(&format!("@{name}")));
                    Condition::Person { number: index.person(did), name }
                }
                Clause::Has(media) => Condition::Media(*media),
                Clause::Before(moment) => Condition::Before(moment.millis),
                Clause::After(moment) => Condition::From(moment.millis),
                Clause::Likes(_) => continue,
            };
            search.conditions.push((term.negated, condition));
        }
        search.conditions.sort_by_key(|(_, condition)| match condition {
            Condition::Never => 0,
            Condition::Media(_) | Condition::Before(_) | Condition::From(_) => 1,
            Condition::Term(_) => 2,
            Condition::Person { .. } => 3,
            Condition::Phrase(_) => 4,
            Condition::Expression(_) => 5,
        });
        // "the" alone is looked for; beside other words it decides nothing.
        if search.concepts.iter().all(|concept| concept.optional) {
            search.concepts.iter_mut().for_each(|concept| concept.optional = false);
        }
        search
    }

    fn word(&mut self, word: &str, negated: bool) {
        // Texts show links without it.
        let word = word.strip_prefix("https://").or_else(|| word.strip_prefix("http://")).unwrap_or(word);
        let mut any = false;
        for compound in compounds(word) {
            any = true;
            let words = terms(compound);
            let mut alternatives = self.typed(&words);
            if negated {
                self.conditions.push((true, Condition::Term(alternatives)));
                continue;
            }
            let surface = words.first().map(|word| word.surface.clone()).unwrap_or_default();
            if alternatives.is_empty() {
                alternatives = self.nearest(&surface);
            } else {
                alternatives.extend(self.meant(&surface));
            }
            if self.concepts.len() < MOST_CONCEPTS {
                self.concepts.push(Concept { alternatives, optional: is_stop_word(&surface) });
            }
        }
        // An emoji is no word; it is looked for as it is.
        if !any {
            self.conditions.push((negated, Condition::Phrase(phrase_expression(word))));
        }
    }

    /// A compound as it was typed: as a whole name, or all its words.
    fn typed(&self, words: &[Word]) -> Vec<Alternative> {
        let (names, parts): (Vec<&Word>, Vec<&Word>) = words.iter().partition(|word| word.kind == Kind::Name);
        let mut alternatives: Vec<Alternative> = Vec::new();
        for name in &names {
            if let Some(term) = self.index.words.term(&name.text) {
                alternatives.push(Alternative { terms: vec![term], weight: 1.0 });
            }
        }
        let known: Option<Vec<u32>> = parts.iter().map(|part| self.index.words.term(&part.text)).collect();
        if let Some(terms) = known.filter(|terms| !terms.is_empty()) {
            alternatives
                .push(Alternative { terms, weight: if names.is_empty() { 1.0 } else { PARTS_OF_NAME } });
        }
        alternatives
    }

    /// What an unknown word may have been meant for.
    fn nearest(&mut self, surface: &str) -> Vec<Alternative> {
        let words = &self.index.words;
        let mut alternatives = Vec::new();
        let near = words.spelling.nearest(surface, SPELLINGS);
        if let Some(first) = near.first() {
            self.corrections.push((surface.to_owned(), first.word.clone()));
        }
        for near in near {
            let stemmed = diptych_search::stem(&near.word);
            if let Some(term) = words.term(&stemmed).or_else(|| words.term(&near.word)) {
                let weight = if near.slips > 1 { MORE_SLIPS } else { ONE_SLIP };
                alternatives.push(Alternative { terms: vec![term], weight });
            }
        }
        if surface.chars().count() >= 3 {
            for (completed, term) in words.completions(surface, COMPLETIONS) {
                if alternatives.is_empty() {
                    self.corrections.push((surface.to_owned(), completed.to_owned()));
                }
                alternatives.push(Alternative { terms: vec![term], weight: COMPLETED });
            }
        }
        alternatives
    }

    /// A word that hardly any post has may be a slip that one of them shares: then the common word counts too, for less.
    fn meant(&self, surface: &str) -> Option<Alternative> {
        let words = &self.index.words;
        let count = words.term(&diptych_search::stem(surface)).map_or(0, |term| words.count(term));
        if surface.chars().count() < 6 || count > 1 + self.index.len() / 2000 {
            return None;
        }
        let near = words.spelling.nearest_other(surface, 1).into_iter().next()?;
        let term = words.term(&diptych_search::stem(&near.word))?;
        (near.slips == 1 && words.count(term) >= 10 * count)
            .then(|| Alternative { terms: vec![term], weight: SHARED_SLIP })
    }

    /// The words of a phrase narrow down where it can be. In lower case, since a phrase is found whatever its case while
    /// `catchTag` and `catchtag` have different parts.
    fn phrase_words(&mut self, phrase: &str) {
        let lower = phrase.to_lowercase();
        let mut wanted = Vec::new();
        for compound in compounds(&lower) {
            // One letter of a run of Chinese is part of pairs, not a word.
            if !compound.is_ascii() && compound.chars().count() == 1 {
                continue;
            }
            for word in terms(compound).iter().filter(|word| word.kind != Kind::Name) {
                match self.index.words.term(&word.text) {
                    Some(term) => wanted.push(term),
                    None => {
                        self.conditions.push((false, Condition::Never));
                        return;
                    }
                }
            }
        }
        if !wanted.is_empty() && self.concepts.len() < MOST_CONCEPTS {
            let alternatives = vec![Alternative { terms: wanted, weight: PHRASE }];
            self.concepts.push(Concept { alternatives, optional: false });
        }
    }

    /// All posts that fulfil the conditions and say every concept, or, unless `all`, any of them.
    fn run(&mut self, all: bool) -> Vec<Hit> {
        if matches!(self.conditions.first(), Some((false, Condition::Never))) {
            return Vec::new();
        }
        let index = self.index;
        let count = index.len();
        let newness = |post: usize| 1.0 - NEWNESS + NEWNESS * (post + 1) as f32 / count as f32;
        let mut hits: Vec<Hit> = if self.concepts.is_empty() {
            (0..count as u32).map(|post| Hit { post, score: 0.0 }).collect()
        } else {
            let mut board = Board::new(count);
            for concept in &self.concepts {
                board.add(index, concept);
            }
            let needed = self.concepts.iter().filter(|concept| !concept.optional).count();
            let enough = |said: u8| if all { usize::from(said) == needed } else { said > 0 };
            let said = board.said.iter().zip(&board.scores).enumerate();
            said.filter(|(_, (said, _))| enough(**said))
                .map(|(post, (_, score))| Hit { post: post as u32, score: score * newness(post) })
                .collect()
        };
        for at in 0..self.conditions.len() {
            self.filter(at, &mut hits);
        }
        hits
    }

    fn filter(&mut self, at: usize, hits: &mut Vec<Hit>) {
        let index = self.index;
        let (negated, condition) = &self.conditions[at];
        let negated = *negated;
        let created = |post: u32| index.rows[post as usize].created;
        match condition {
            Condition::Never => hits.retain(|_| negated),
            Condition::Media(media) => hits.retain(|hit| index.has(hit.post, *media) != negated),
            Condition::Before(moment) => hits.retain(|hit| (created(hit.post) < *moment) != negated),
            Condition::From(moment) => hits.retain(|hit| (created(hit.post) >= *moment) != negated),
            Condition::Person { number, name } => hits.retain(|hit| {
                let is_named = || name.as_ref().is_some_and(|name| name.is_match(index.text(hit.post)));
                (number.is_some_and(|number| index.people(hit.post).contains(&number)) || is_named())
                    != negated
            }),
            Condition::Term(alternatives) => hits.retain(|hit| {
                let says = |alternative: &Alternative| {
                    alternative.terms.iter().all(|term| index.words.posting(*term, hit.post).is_some())
                };
                alternatives.iter().any(says) != negated
            }),
            Condition::Phrase(expression) => share(hits, |part| {
                let expression = expression.clone();
                let says = |hit: &Hit| says_phrase(&expression, index.searchable(hit.post));
                part.iter().copied().filter(|hit| says(hit) != negated).collect()
            }),
            Condition::Expression(expression) => {
                let end = Instant::now() + self.patience;
                let late = AtomicBool::new(self.gave_up);
                share(hits, |part| {
                    let expression = (*expression).clone();
                    let mut kept = Vec::new();
                    for group in part.chunks(GROUP) {
                        if late.load(Relaxed) || Instant::now() >= end {
                            late.store(true, Relaxed);
                            break;
                        }
                        matching(index, &expression, group, |hit, matches| {
                            if matches != negated {
                                kept.push(hit);
                            }
                        });
                    }
                    kept
                });
                self.gave_up = late.into_inner();
            }
        }
    }
}

/// Does work that takes its time on as many cores as there are. Expressions need room to work in, and sharing it costs more
/// than having it twice: each part clones its own.
fn share(hits: &mut Vec<Hit>, work: impl Fn(&[Hit]) -> Vec<Hit> + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_CORES);
    if hits.len() < WORTH_SHARING || cores == 1 {
        *hits = work(hits);
        return;
    }
    let kept: Vec<Vec<Hit>> = std::thread::scope(|scope| {
        let parts = hits.chunks(hits.len().div_ceil(cores));
        let workers: Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
        let joined = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|kept| kept.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    *hits = kept.concat();
}

/// Says of each of some posts, given in their order, whether an expression matches it. Where they lie close together, their
/// texts are looked at as one, since most often there is nothing in most of them: beginning a search a hundred
/// thousand times takes longer than the searches.
fn matching(index: &Index, expression: &Expression, group: &[Hit], mut say: impl FnMut(Hit, bool)) {
    // As measured: stepping from find to find takes a third less for expressions with edges, and more than twice as long
    // for those that are a shape.
    let size = if expression.has_edges() { GROUP } else { TOGETHER };
    for group in group.chunks(size) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let is_dense = ((last.post - first.post) as usize) < 2 * group.len();
        let texts = &index.texts()[..index.span(last.post).end];
        match expression.sieve().filter(|_| is_dense) {
            Some(sieve) if expression.has_edges() => stepping(index, expression, sieve, group, &mut say),
            Some(sieve) if !sieve.is_match(&texts[index.span(first.post).start..]) => {
                group.iter().for_each(|hit| say(*hit, false));
            }
            _ => group.iter().for_each(|hit| say(*hit, expression.is_match(index.searchable(hit.post)))),
        }
    }
}

/// The same, from one text in which the sieve finds something to the next.
fn stepping(
    index: &Index,
    expression: &Expression,
    sieve: &Regex,
    group: &[Hit],
    say: &mut impl FnMut(Hit, bool),
) {
    let texts = &index.texts()[..group.last().map_or(0, |last| index.span(last.post).end)];
    let mut rest = group;
    while let Some(next) = rest.first() {
        // Where the first match there is ends: whatever ends before it has none.
        let end = sieve.shortest_match_at(texts, index.span(next.post).start);
        let passed = end.map_or(rest.len(), |end| rest.partition_point(|hit| index.span(hit.post).end < end));
        let (without, others) = rest.split_at(passed);
        without.iter().for_each(|hit| say(*hit, false));
        // It may have begun before this text, or be in what lies between two of them.
        if let Some(hit) = others.first() {
            say(*hit, expression.is_match(index.searchable(hit.post)));
        }
        rest = others.get(1..).unwrap_or_default();
    }
}

/// The words of a phrase with any space between them, whatever their case.
fn phrase_expression(phrase: &str) -> Regex {
    let words: Vec<String> = phrase.split_whitespace().map(regex::escape).collect();
    let expression =
        regex::RegexBuilder::new(&words.join(r"\s+")).case_insensitive(true).size_limit(1 << 24).build();
    expression
        .unwrap_or_else(|_| unreachable!("an escaped text is a valid expression, and queries are short"))
}

/// Whether the text has the phrase as whole words.
fn says_phrase(phrase: &Regex, text: &str) -> bool {
    let mut from = 0;
    while let Some(found) = phrase.find_at(text, from) {
        let first = found.as_str().chars().next();
        let last = found.as_str().chars().next_back();
        let before = text[..found.start()].chars().next_back();
        let after = text[found.end()..].chars().next();
        if !(is_inside(before, first) || is_inside(last, after)) {
            return true;
        }
        from = found.start() + first.map_or(1, char::len_utf8);
        if from > text.len() {
            break;
        }
    }
    false
}

/// Whether two neighbouring characters belong to one word.
fn is_inside(left: Option<char>, right: Option<char>) -> bool {
    let of_word =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    // Scripts without spaces have no whole words to speak of.
    let unspaced = |letter: Option<char>| {
        letter.is_some_and(|letter| matches!(letter, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}'))
    };
    of_word(left) && of_word(right) && !unspaced(left) && !unspaced(right)
}

/// What is known of each post while concepts are added up.
struct Board {
    scores: Vec<f32>,
    /// How many of the needed concepts it says.
    said: Vec<u8>,
    /// The best alternative of the concept at hand.
    best: Vec<f32>,
    touched: Vec<u32>,
}

impl Board {
    fn new(posts: usize) -> Self {
        Board { scores: vec![0.0; posts], said: vec![0; posts], best: vec![0.0; posts], touched: Vec::new() }
    }

    fn add(&mut self, index: &Index, concept: &Concept) {
        let words = &index.words;
        for alternative in &concept.alternatives {
            let Some(rarest) = alternative.terms.iter().copied().min_by_key(|term| words.count(*term)) else {
                continue;
            };
            let weight = alternative.weight * rarity(index.len(), words.count(rarest));
            for posting in words.postings(rarest) {
                let post = posting.post();
                let mut strength = posting.strength();
                let others = alternative.terms.iter().filter(|term| **term != rarest);
                let together = others.fold(true, |together, term| {
                    let other = if together { words.posting(*term, post) } else { None };
                    strength = strength.min(other.map_or(0.0, super::index::Posting::strength));
                    other.is_some()
                });
                if together {
                    let best = &mut self.best[post as usize];
                    if *best == 0.0 {
                        self.touched.push(post);
                    }
                    *best = best.max(weight * strength);
                }
            }
        }
        for post in self.touched.drain(..) {
            let post = post as usize;
            self.scores[post] += self.best[post] * if concept.optional { 0.1 } else { 1.0 };
            self.said[post] += u8::from(!concept.optional);
            self.best[post] = 0.0;
        }
    }
}

/// The rarer a word, the more it says.
fn rarity(posts: usize, with_word: usize) -> f32 {
    (1.0 + (posts as f32 - with_word as f32 + 0.5) / (with_word as f32 + 0.5)).ln()
}
