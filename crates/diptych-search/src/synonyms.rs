//! What people call the same thing: "try again" and retry, "at the same time" and concurrency.
//!
//! The built-in table is about programming in general and says nothing of any one library; a catalogue
//! adds its own words to it. Words and phrases are compared by their stems, so "retries" needs no entry
//! beside "retry".

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use crate::noise::is_stop_word;
use crate::stem::stem;
use crate::tokenize::{Compound, compounds};

/// Longer phrases are not looked for.
const LONGEST_PHRASE: usize = 5;

/// A table of synonyms.
///
/// ```
/// use diptych_search::Synonyms;
/// let synonyms = Synonyms::builtin().group(["fiber", "green thread"]).rewrite("explode", ["fail"]);
/// assert!(synonyms.of("green threads").any(|text| text == "fiber"));
/// assert!(!synonyms.of("fail").any(|text| text == "explode"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Synonyms {
    /// Shared, since most indexes have the same: adding to it makes a copy.
    table: Arc<Table>,
}

#[derive(Debug, Clone, Default)]
struct Table {
    targets: HashMap<String, Vec<Target>>,
    words: BTreeSet<String>,
}

/// What a phrase may also be called.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    /// As written in the table.
    pub(crate) text: String,
    /// Its terms, all of which a document must have.
    pub(crate) terms: Vec<String>,
}

impl Synonyms {
    /// No synonyms at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// The table of general programming vocabulary.
    pub fn builtin() -> Self {
        static BUILTIN: LazyLock<Synonyms> = LazyLock::new(read_builtin);
        BUILTIN.clone()
    }

    /// Adds words and phrases that mean the same: each finds all the others.
    #[must_use]
    pub fn group<'a>(mut self, phrases: impl IntoIterator<Item = &'a str>) -> Self {
        let phrases: Vec<&str> = phrases.into_iter().collect();
        for from in &phrases {
            for to in phrases.iter().filter(|to| *to != from) {
                self.add(from, to);
            }
        }
        self
    }

    /// Adds words that `phrase` also finds, but that do not find it.
    #[must_use]
    pub fn rewrite<'a>(mut self, phrase: &str, to: impl IntoIterator<Item = &'a str>) -> Self {
        for to in to {
            self.add(phrase, to);
        }
        self
    }

    /// The synonyms of a word or phrase, as they are written in the table.
    pub fn of(&self, phrase: &str) -> impl Iterator<Item = &str> {
        self.table.targets.get(&key(phrase)).into_iter().flatten().map(|target| target.text.as_str())
    }

    fn add(&mut self, from: &str, to: &str) {
        let (key, terms) = (key(from), analyse(to));
        if key.is_empty() || terms.is_empty() {
            return;
        }
        let table = Arc::make_mut(&mut self.table);
        for word in compounds(from).filter(|word| word.len() > 3 && !is_stop_word(word)) {
            table.words.insert(word.to_lowercase());
        }
        let targets = table.targets.entry(key).or_default();
        if !targets.iter().any(|target| target.terms == terms) {
            targets.push(Target { text: to.to_owned(), terms });
        }
    }

    /// The targets of a run of stems.
    pub(crate) fn targets(&self, stems: &[&str]) -> &[Target] {
        if stems.is_empty() || stems.len() > LONGEST_PHRASE {
            return &[];
        }
        self.table.targets.get(&stems.join(" ")).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn longest_phrase(&self) -> usize {
        if self.table.targets.is_empty() { 0 } else { LONGEST_PHRASE }
    }

    /// The words that the table knows: a misspelling of one of them is worth correcting.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.table.words.iter().map(String::as_str)
    }
}

fn read_builtin() -> Synonyms {
    let mut synonyms = Synonyms::none();
    for group in GROUPS {
        synonyms = synonyms.group(group.split('|').map(str::trim));
    }
    for rule in REWRITES {
        if let Some((from, to)) = rule.split_once("->") {
            for phrase in from.split('|') {
                synonyms = synonyms.rewrite(phrase.trim(), to.split('|').map(str::trim));
            }
        }
    }
    synonyms
}

fn key(phrase: &str) -> String {
    analyse(phrase).join(" ")
}

/// The terms of a phrase: one for a dotted name, one for each word otherwise.
fn analyse(phrase: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for compound in compounds(phrase) {
        let compound = Compound::parse(compound);
        let dotted = compound.dotted();
        if dotted.is_empty() {
            terms.extend(compound.segments.iter().flatten().map(|word| stem(&word.whole).into_owned()));
        } else {
            terms.extend(dotted);
        }
    }
    terms
}

/// Words that stand for each other.
const GROUPS: &[&str] = &[
    // Running
    "parallel | concurrency | concurrent | parallelism | simultaneous | at the same time | all at once",
    "sequential | sequence | serial | one after another | one after the other | one by one | in order",
    "run | execute",
    "asynchronous | async",
    "promise | future",
    "fork | spawn | background | fire and forget",
    "fiber | coroutine | lightweight thread | green thread",
    "cancel | cancellation | interrupt | interruption | abort | stop | kill",
    "race | first to finish | whichever finishes first | fastest",
    "lock | mutex | semaphore | mutual exclusion",
    "rate limit | throttle",
    "queue | producer consumer | work queue",
    "publish subscribe | pub sub | pubsub | broadcast | event bus",
    "background job | worker | task",
    "delay | sleep | wait | pause",
    "timeout | deadline | time out | time limit",
    "schedule | cron | periodic | recurring | interval | at regular intervals",
    "repeat | loop | polling",
    "iterate | loop | for each | traverse",
    "shutdown | shut down | terminate | exit",
    "latch | gate | barrier | rendezvous",
    "poll | polling | check repeatedly | until ready",
    "lazy | on demand | only when needed",
    "jitter | random delay | random delays",
    "limit | bound | cap | maximum | at most",
    "pool | reuse connections",
    "callback | listener | event handler",
    "subscribe | listen | observe",
    // Failing
    "error | failure | exception",
    "fail | throw | raise",
    "recover | recovery | fallback | rescue",
    "catch | recover | rescue",
    "retry | try again | reattempt | re-run after failure",
    "backoff | back off | exponential | increasing delays",
    "defect | crash | bug | panic | unexpected error | unrecoverable",
    "accumulate | collect | gather | aggregate",
    "cause | stack trace | root cause",
    "resilience | fault tolerance | reliability",
    // Building
    "dependency injection | inversion of control | DI | service | inject",
    "dependency | service",
    "layer | wiring | module",
    "resource | connection | file handle",
    "cleanup | clean up | release | finalizer | teardown | dispose | close",
    "interop | adapt | wrap | legacy code | existing code | third party",
    "override | replace | swap",
    "interface | contract | abstraction",
    "middleware | interceptor | wrapper",
    "config | configuration | setting | environment variable | env",
    "secret | redacted | sensitive | password | credential",
    "test | mock | stub | fake",
    "compose | composition | combine",
    "combine | merge | zip | join",
    "chain | sequence | flatMap | then",
    "pipe | pipeline | chain",
    "generator | gen | yield",
    "entry point | main",
    "getting started | hello world | introduction | beginner | first program",
    "project | setup | scaffold | bootstrap",
    "command line | cli | terminal | console",
    // Data
    "validate | validation | verify | check | sanitize",
    "parse | decode | deserialize | unmarshal",
    "encode | serialize | marshal | stringify",
    "transform | convert | map",
    "reduce | fold | aggregate",
    "filter | select | keep only",
    "batch | bulk | chunk",
    "group | partition | bucket",
    "deduplicate | dedupe | unique | duplicate | distinct",
    "optional | nullable | maybe | option",
    "null | undefined | missing | absent | nothing",
    "default value | fallback | default",
    "brand | nominal type | newtype | opaque type",
    "union | variant | sum type | tagged union | discriminated union",
    "pattern matching | match | switch",
    "conditional | branch | if else",
    "state | mutable | ref | variable",
    "atomic | transaction | stm",
    "immutable | readonly | frozen",
    "equality | equal | compare",
    "recursive | nested | tree",
    "refine | narrow | type guard | predicate",
    "literal | enum | constant",
    "pair | tuple | both results",
    "concatenate | concat | append",
    "expire | expiry | ttl | time to live",
    "split | partition | divide",
    "array | list | collection",
    "dictionary | hash map | hashmap | record",
    "date | timestamp | datetime",
    "random | nondeterministic",
    "identifier | id | uuid",
    "stream | async iterator | sequence of values",
    "infinite | endless | unbounded",
    "pagination | paginate | paging | paginated",
    "sort | order | ordering",
    // Forms of one word that stemming leaves apart
    "reuse | reusable | shared",
    "recursion | recursive",
    "subscribe | subscription | subscriber",
    "decode | decoder",
    // The outside
    "http | rest api | web | fetch",
    "endpoint | route | handler | url",
    "request | call",
    "file | filesystem | disk",
    "directory | folder",
    "database | db | sql",
    "authentication | auth | login | sign in",
    "authorization | permission | access control",
    "log | logging | print",
    "trace | tracing | span | telemetry | observability",
    "metric | counter | gauge | measure | monitoring",
    "cache | memoize | memoization | remember results",
    "performance | optimize | speed | fast",
    "subprocess | child process | shell command",
    "event | notification | signal",
    "llm | language model",
];

/// Words that lead to others but are not what those are called.
const REWRITES: &[&str] = &[
    "leak -> release | resource | scope",
    "always closed | gets closed | closed properly -> release | resource",
    "flaky | unreliable | transient | intermittent -> retry",
    "takes too long | too slow | hang | stuck -> timeout",
    "several times | multiple times -> retry | repeat",
    "every minute | every hour | every second | every day | every few seconds -> schedule | repeat | interval",
    "limit how many | limit the number | max number -> concurrency | limit | semaphore",
    "too many requests -> rate limit | throttle | semaphore",
    "overwhelm | overload -> backpressure | throttle | concurrency",
    "thread -> fiber | concurrency",
    "async await -> generator | promise",
    "callback -> async",
    "try catch -> catch | error | try",
    "swap implementation | different implementations -> layer | service | mock",
    "unit test -> test | mock",
    "global | singleton | share instance -> service | layer | shared",
    "share | shared -> state | ref",
    "counter -> ref | state",
    "exception -> throw | try",
    "attempt -> retry | try",
    "invalid | malformed -> validation",
    "framework | component -> interop | runtime",
    "fake time | mock time | control time | fake clock -> clock | test clock",
    "all or nothing -> atomic | transaction",
    "one failed | any fails | some fail -> error | partial",
    "all errors | every error | multiple errors -> accumulate | collect",
    "ignore | swallow | suppress -> ignore | recover",
    "money | email | phone -> brand | validation",
    "untrusted | user input | form | payload | request body -> validation | decode",
    "json -> decode | parse",
    "big file | large file | huge file | line by line -> stream | file",
    "out of memory | fit in memory -> stream | chunk",
    "debug -> log | trace | inspect",
    "measure time | how long -> duration | metric | timing",
    "ctrl c | sigterm | sigint -> shutdown | interrupt",
    "early return | short circuit -> fail | conditional",
    "type safe | type safety -> typed | type",
    "environment -> config | context",
    "context -> service | dependency",
    "websocket | realtime | real time -> stream | subscription",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_works_both_ways_and_by_stem() {
        let synonyms = Synonyms::builtin();
        assert!(synonyms.of("parallel").any(|text| text == "concurrency"));
        assert!(synonyms.of("concurrency").any(|text| text == "parallel"));
        assert!(synonyms.of("tries again").any(|text| text == "retry"));
        assert!(synonyms.of("timeouts").any(|text| text == "deadline"));
        assert!(synonyms.of("dependency injection").any(|text| text == "service"));
        assert!(synonyms.of("finalizers").any(|text| text == "cleanup"));
    }

    #[test]
    fn a_rewrite_works_one_way() {
        let synonyms = Synonyms::builtin();
        assert!(synonyms.of("flaky").any(|text| text == "retry"));
        assert!(!synonyms.of("retry").any(|text| text == "flaky"));
    }

    #[test]
    fn empty_entries_add_nothing() {
        let synonyms = Synonyms::none().group(["", "a"]).rewrite("...", ["b"]);
        assert_eq!(synonyms.of("a").count() + synonyms.of("").count(), 0);
    }
}
