//! Does the search find what people ask for? The embedded catalogue, asked by API names, in plain language,
//! with typos and in other words. The queries were written from the catalogue's table of contents, not from
//! what the search finds; when one fails, the search or the catalogue is mended, not the query.

use diptych_patterns::Library;
use diptych_search::eval::{Case, Report, run};

/// The share of questions with an answer among the first three. It may rise, never fall.
const FLOOR: f64 = 0.95;

/// A question and the ids that answer it.
type Question = (&'static str, &'static [&'static str]);

const API_NAMES: &[Question] = &[
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
    ("Schedule.exponential", &["retry-exponential-jitter", "error-recovery", "stream-retry"]),
    ("Effect.match", &["error-handling-match"]),
    ("Schedule.spaced", &["spaced-or-fixed"]),
    ("Schedule.intersect", &["schedule-compose", "retry-exponential-jitter"]),
    ("Effect.timeoutFail", &["timeout-and-deadline", "poll-until-ready"]),
    ("TestClock", &["test-clock", "default-services"]),
    ("Match.exhaustive", &["match-module"]),
    ("Effect.fn", &["effect-fn"]),
    ("Effect.tap", &["tap-side-effects"]),
];

const QUESTIONS: &[Question] = &[
    ("how do I run several effects in parallel", &["effect-all", "effect-forEach"]),
    ("limit how many requests run at the same time", &["effect-forEach", "semaphore-permits", "effect-all"]),
    ("retry a failed request with backoff", &["error-recovery", "retry-exponential-jitter"]),
    ("what is the difference between a defect and a failure", &["defects-and-failures"]),
    ("close the database connection when the program ends", &["layer-scoped-resource", "acquire-release"]),
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
    ("run a job every night at three", &["cron-schedule"]),
    ("repeat something every five seconds", &["spaced-or-fixed", "schedule-recurs", "repeat-until"]),
    ("wait until a job is done by asking for its state", &["poll-until-ready", "repeat-until"]),
    ("give up when an operation takes too long", &["timeout-and-deadline"]),
    ("do not retry errors that will never go away", &["retry-while"]),
    ("how can I test code that sleeps without waiting", &["test-clock"]),
    ("stay below the request quota of an api", &["rate-limiter"]),
    (
        "handle a value that may be missing",
        &["option-composition", "optional-dependency", "optional-fields-defaults"],
    ),
    ("look at a value in the middle of a pipeline", &["tap-side-effects"]),
];

const TYPOS: &[Question] = &[
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
    ("exponental backof", &["retry-exponential-jitter", "error-recovery"]),
    ("timout", &["timeout-and-deadline"]),
];

const OTHER_WORDS: &[Question] = &[
    ("mutex", &["semaphore-permits"]),
    ("memoize", &["cached-effect"]),
    ("rate limit events", &["stream-debounce-throttle", "rate-limiter", "semaphore-permits"]),
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
    ("setInterval", &["spaced-or-fixed", "schedule-recurs", "repeat-until"]),
    ("switch case", &["match-module"]),
    ("maybe type", &["option-composition"]),
    ("singleton with cleanup", &["layer-scoped-resource"]),
];

#[test]
fn what_people_ask_for_is_among_the_first_three() {
    let catalogue = Library::embedded().current();
    let mut all = Vec::new();
    for (name, cases) in
        [("API names", API_NAMES), ("questions", QUESTIONS), ("typos", TYPOS), ("other words", OTHER_WORDS)]
    {
        let cases: Vec<Case<'_>> =
            cases.iter().map(|(query, acceptable)| Case { query, acceptable }).collect();
        for case in &cases {
            let query = case.query;
            assert!(
                case.acceptable.iter().all(|id| catalogue.get(id).is_some()),
                "an answer to \"{query}\" is missing"
            );
        }
        let report = run(&cases, |query| {
            catalogue.find(query, None, None).matches.iter().map(|found| found.pattern.id.clone()).collect()
        });
        println!("{name}: {report}");
        all.extend(report.outcomes);
    }
    let all = Report { outcomes: all };
    println!("all: {all}");
    assert!(all.outcomes.len() >= 60);
    assert!(all.hit_at(3) >= FLOOR, "{all}");
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
    for query in ["kubernetes ingress", "zzqqxx", "what is this", "???", ""] {
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
