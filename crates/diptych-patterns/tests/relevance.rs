//! Does the search find what people ask for? The embedded catalogue, asked by API names, in plain language,
//! with typos and in other words. The queries were written from the catalogue's table of contents, not from
//! what the search finds; when one fails, the search or the catalogue is mended, not the query.

use diptych_patterns::Library;

/// A question and the ids that answer it.
type Case = (&'static str, &'static [&'static str]);

const API_NAMES: &[Case] = &[
    ("Effect.all", &["effect-all"]),
    ("Effect.forEach", &["effect-forEach"]),
    ("forEach", &["effect-forEach"]),
    ("catchTag", &["error-handling-catch-tag"]),
    ("Effect.catchTags", &["error-handling-catch-tag"]),
    ("Effect.Service", &["effect-service"]),
    ("Context.Tag", &["context-tag"]),
    ("Layer.provideMerge", &["merge-or-provide"]),
    ("acquireRelease", &["acquire-release", "stream-resource", "acquire-use-release"]),
    ("Effect.acquireUseRelease", &["acquire-use-release"]),
    ("Schema.Class", &["schema-class"]),
    ("Schema.transformOrFail", &["schema-transformations", "effectful-validation"]),
    ("decodeUnknown", &["validation-schema", "validation-errors", "effectful-validation"]),
    ("Effect.gen", &["effect-gen"]),
    ("Stream.mapEffect", &["stream-map-effect"]),
    ("groupedWithin", &["stream-chunking"]),
    ("PubSub", &["pubsub-subscribers"]),
    ("Deferred", &["deferred-handoff"]),
    ("makeSemaphore", &["semaphore-permits"]),
    ("Data.TaggedError", &["tagged-error"]),
    ("tryPromise", &["wrap-promise", "abort-signal-promise"]),
    ("FiberRef", &["fiber-ref-context"]),
    ("ManagedRuntime", &["managed-runtime"]),
    ("Effect.cachedWithTTL", &["cached-effect"]),
    (
        "Schedule.exponential",
        &["exponential-backoff", "error-recovery", "stream-retry", "retry-with-schedule"],
    ),
    ("Effect.match", &["error-handling-match"]),
];

const QUESTIONS: &[Case] = &[
    ("how do I run several effects in parallel", &["effect-all", "effect-forEach"]),
    ("limit how many requests run at the same time", &["effect-forEach", "semaphore-permits", "effect-all"]),
    (
        "retry a failed request with backoff",
        &["error-recovery", "exponential-backoff", "retry-with-schedule", "stream-retry"],
    ),
    ("what is the difference between a defect and a failure", &["defects-and-failures"]),
    (
        "close the database connection when the program ends",
        &["scoped-layer", "layer-scoped-resource", "acquire-release"],
    ),
    ("how to mock a service in tests", &["test-double-layer"]),
    (
        "collect all validation errors instead of the first one",
        &["validation-errors", "accumulate-errors", "schema-filters"],
    ),
    ("turn a callback api into a stream", &["stream-async-callback"]),
    ("fetch all pages of a paginated api", &["stream-paginate"]),
    ("wait until another fiber has set a value", &["deferred-handoff", "latch-gate"]),
    ("how can I share mutable state between fibers", &["synchronized-ref", "stm-transfer"]),
    ("log an error without handling it", &["tap-error-logging"]),
    ("use the first source that answers", &["fallback-chain", "race-first-success"]),
    ("read settings from environment variables", &["config-driven-layer", "config-validation"]),
    ("keep a pool of database connections", &["pool-of-connections"]),
    ("stop a running server gracefully", &["graceful-shutdown"]),
    ("give a default value to a missing field", &["optional-fields-defaults"]),
    ("pass a request id through all calls", &["fiber-ref-context"]),
    ("cancel a fetch when the timeout is reached", &["abort-signal-promise"]),
    ("how do I make sure that two ids of different kinds are not mixed up", &["branded-types"]),
    ("batch many lookups into one query", &["request-batching"]),
    ("control the clock in a test", &["default-services"]),
    ("send an error over the network and read it back", &["schema-tagged-error"]),
    ("compute something once and share the result", &["cached-effect"]),
    ("run effects from a framework's event handlers", &["managed-runtime"]),
    ("transfer money between accounts atomically", &["stm-transfer"]),
    ("read a file line by line", &["stream-decode-lines"]),
    ("validate that two passwords are equal", &["schema-filters"]),
];

const TYPOS: &[Case] = &[
    ("catchtagg", &["error-handling-catch-tag"]),
    ("semaphor", &["semaphore-permits"]),
    ("Efect.al", &["effect-all"]),
    ("aquireRelease", &["acquire-release", "stream-resource", "acquire-use-release"]),
    ("debouce", &["stream-debounce-throttle"]),
    ("dependancy injection", &["effect-service", "context-tag", "service-layer"]),
    ("interuption", &["interruption-mask", "abort-signal-promise"]),
    ("recusive schema", &["recursive-schemas"]),
    ("pagniation", &["stream-paginate"]),
    ("discriminated unoin", &["schema-unions"]),
];

const OTHER_WORDS: &[Case] = &[
    ("mutex", &["semaphore-permits"]),
    ("memoize", &["cached-effect"]),
    ("rate limit events", &["stream-debounce-throttle", "rate-limiting", "semaphore-permits"]),
    ("connection pooling", &["pool-of-connections"]),
    ("try finally", &["acquire-use-release", "acquire-release", "finalizer-by-exit"]),
    ("Promise.all", &["effect-all"]),
    ("event emitter", &["stream-async-callback", "pubsub-subscribers"]),
    ("background job", &["fiber-map-jobs", "fiber-lifetimes", "fork-and-join"]),
    ("nominal types", &["branded-types"]),
    ("fan out to several consumers", &["stream-broadcast", "pubsub-subscribers"]),
    ("producer consumer", &["queue-workers", "stream-buffer"]),
    ("async await style", &["effect-gen"]),
    ("serialize and deserialize", &["round-trip-encoding", "schema-transformations", "schema-tagged-error"]),
    ("singleton with cleanup", &["scoped-layer", "layer-scoped-resource"]),
];

struct Score {
    asked: usize,
    found: usize,
    reciprocal: f64,
    missed: Vec<String>,
}

fn ask(cases: &[Case]) -> Score {
    let catalogue = Library::embedded().current();
    let mut score = Score { asked: 0, found: 0, reciprocal: 0.0, missed: Vec::new() };
    for (query, wanted) in cases {
        assert!(wanted.iter().any(|id| catalogue.get(id).is_some()), "no answer to \"{query}\" exists");
        let found = catalogue.find(query, None, None).matches;
        let rank = found.iter().position(|found| wanted.contains(&found.pattern.id.as_str()));
        score.asked += 1;
        if let Some(rank) = rank {
            score.reciprocal += 1.0 / (rank + 1) as f64;
        }
        if rank.is_some_and(|rank| rank < 3) {
            score.found += 1;
        } else {
            let top: Vec<&str> = found.iter().take(4).map(|found| found.pattern.id.as_str()).collect();
            score.missed.push(format!("\"{query}\": wanted {wanted:?} (rank {rank:?}), found {top:?}"));
        }
    }
    score
}

#[test]
fn what_people_ask_for_is_among_the_first_three() {
    let mut total = Score { asked: 0, found: 0, reciprocal: 0.0, missed: Vec::new() };
    for (name, cases) in
        [("API names", API_NAMES), ("questions", QUESTIONS), ("typos", TYPOS), ("other words", OTHER_WORDS)]
    {
        let score = ask(cases);
        println!(
            "{name}: hit@3 {}/{}, MRR {:.3}",
            score.found,
            score.asked,
            score.reciprocal / score.asked as f64
        );
        total.asked += score.asked;
        total.found += score.found;
        total.reciprocal += score.reciprocal;
        total.missed.extend(score.missed);
    }
    let hits = total.found as f64 / total.asked as f64;
    println!("all: hit@3 {hits:.3} of {}, MRR {:.3}", total.asked, total.reciprocal / total.asked as f64);
    println!("{}", total.missed.join("\n"));
    assert!(total.asked >= 60);
    assert!(hits >= 0.95, "hit@3 is {hits:.3}:\n{}", total.missed.join("\n"));
}

#[test]
fn only_broad_queries_are_broad() {
    let catalogue = Library::embedded().current();
    let count = |query: &str| catalogue.find(query, None, None).matches.len();
    for query in ["error", "service", "concurrency"] {
        let found = count(query);
        assert!((3..=20).contains(&found), "\"{query}\" finds {found}");
    }
    assert!(count("effect") > 20, "\"effect\" finds {}", count("effect"));
}

#[test]
fn what_is_not_there_is_not_found() {
    let catalogue = Library::embedded().current();
    for query in ["kubernetes ingress", "zzqqxx", "???", ""] {
        let found: Vec<_> =
            catalogue.find(query, None, None).matches.iter().map(|m| m.pattern.id.clone()).collect();
        assert_eq!(found, Vec::<String>::new(), "{query}");
    }
}

#[test]
fn filters_narrow_what_is_found() {
    let catalogue = Library::embedded().current();
    let all = catalogue.find("effect", None, None);
    let some = catalogue.find("effect", Some("streams"), None);
    assert!(!some.matches.is_empty() && some.matches.len() < all.matches.len());
    assert!(some.matches.iter().all(|found| found.pattern.category == "streams"));
    let counted = all.categories(&catalogue);
    assert!(counted.iter().any(|count| count.of == "streams" && count.patterns == some.matches.len()));
    let easy = catalogue.find("effect", None, Some("beginner".parse().unwrap()));
    assert!(all.difficulties().iter().any(|count| count.patterns == easy.matches.len()));
}
