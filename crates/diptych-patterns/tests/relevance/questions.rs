//! What people ask a catalogue, and the patterns that answer it: by API names, in plain language, with typos and in other
//! words. The queries were written from the catalogue's table of contents, not from what the search finds; when one
//! fails, the search or the catalogue is mended, not the query.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses a part of it")]

use diptych_patterns::Catalogue;
use diptych_search::{Embedder, Purpose};

/// A question and the ids that answer it.
pub type Question = (&'static str, &'static [&'static str]);

pub const API_NAMES: &[Question] = &[
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

pub const QUESTIONS: &[Question] = &[
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

pub const TYPOS: &[Question] = &[
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

pub const OTHER_WORDS: &[Question] = &[
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

pub const GROUPS: [(&str, &[Question]); 4] =
    [("API names", API_NAMES), ("questions", QUESTIONS), ("typos", TYPOS), ("other words", OTHER_WORDS)];

/// A ranking of the whole catalogue by a model, made without any of the library's machinery.
pub fn ranking<'a>(
    catalogue: &'a Catalogue,
    model: &'a dyn Embedder,
) -> impl Fn(&str) -> Vec<(usize, f32)> + 'a {
    let texts: Vec<String> = catalogue.patterns().map(|pattern| pattern.embedded_text()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = model.embed(&texts, Purpose::Bulk).unwrap();
    move |query| {
        let asked = model.embed(&[query], Purpose::Query).unwrap().remove(0);
        let cosine = |vector: &[f32]| vector.iter().zip(&asked).map(|(a, b)| a * b).sum::<f32>();
        let mut near: Vec<(usize, f32)> = vectors.iter().map(|vector| cosine(vector)).enumerate().collect();
        near.sort_by(|a, b| b.1.total_cmp(&a.1));
        near.truncate(30);
        near
    }
}
