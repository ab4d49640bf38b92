//! Searching a small cookbook of code patterns, as its readers would.

use diptych_search::eval::{Case, run};
use diptych_search::{BuildError, Document, Index, Synonyms};

/// Id, title, tags, summary, body, code.
const COOKBOOK: &[[&str; 6]] = &[
    [
        "effect-all",
        "Run Effects in Parallel with Effect.all",
        "Effect.all concurrency",
        "Collect many effects into one and choose how many run at once.",
        "An unbounded run starts everything; a failure interrupts the others.",
        "Effect.all([first, second], { concurrency: 2 })",
    ],
    [
        "retry-backoff",
        "Retry with Exponential Backoff",
        "Effect.retry Schedule.exponential",
        "Repeat a failed request with growing delays and a limit.",
        "Only retry errors that may pass. A service under load needs jitter.",
        "Effect.retry(request, Schedule.exponential(\"100 millis\"))",
    ],
    [
        "catch-tag",
        "Handle One Error with catchTag",
        "Effect.catchTag error-handling",
        "Answer one tagged error and let the others travel on.",
        "The compiler removes the error from the type.",
        "program.pipe(Effect.catchTag(\"NotFound\", () => Effect.succeed(none)))",
    ],
    [
        "accumulate-errors",
        "Accumulate All Errors",
        "Effect.validateAll error-handling validation",
        "Check every item and report all errors instead of the first.",
        "A form should tell everything that is wrong with it at once.",
        "Effect.validateAll(items, check)",
    ],
    [
        "effect-service",
        "Define a Service",
        "Effect.Service dependency-injection",
        "Declare what a program needs as a service with a default layer.",
        "Tests provide another implementation of the same service.",
        "class Users extends Effect.Service<Users>()(\"Users\", { sync: () => ({}) }) {}",
    ],
    [
        "acquire-release",
        "Acquire and Release Resources",
        "Effect.acquireRelease Scope resource-safety",
        "Open a connection and close it whatever happens in between.",
        "The finalizer runs on success, failure and interruption.",
        "Effect.acquireRelease(open, (file) => file.close)",
    ],
    [
        "timeout",
        "Give Up after a While",
        "Effect.timeout",
        "Interrupt an effect that takes longer than its deadline.",
        "The error channel tells that time ran out.",
        "Effect.timeout(request, \"2 seconds\")",
    ],
    [
        "semaphore",
        "Limit Access with a Semaphore",
        "Effect.makeSemaphore concurrency",
        "Let only so many fibers enter a section at a time.",
        "One permit makes a mutual exclusion lock.",
        "semaphore.withPermits(1)(task)",
    ],
    [
        "stream-pages",
        "Read a Paginated API as a Stream",
        "Stream.paginateEffect pagination",
        "Fetch page after page, and only when somebody asks for more.",
        "Back pressure comes for free. Errors end the stream.",
        "Stream.paginateEffect(first, fetchPage)",
    ],
    [
        "schema-decode",
        "Validate Input with a Schema",
        "Schema.decodeUnknown validation",
        "Describe the shape of outside data once and parse it before use.",
        "A decoder stops at the first error by default.",
        "Schema.decodeUnknown(User)(body)",
    ],
    [
        "collect-results",
        "Gather All Results in a List",
        "Stream.runCollect",
        "Run a stream to its end and keep what it emitted.",
        "Fine for small streams.",
        "Stream.runCollect(numbers)",
    ],
    [
        "cache-result",
        "Cache a Result",
        "Effect.cached memoization",
        "Compute once, remember the value for everybody.",
        "A cached effect forgets after its time to live.",
        "Effect.cachedWithTTL(load, \"1 minute\")",
    ],
];

fn documents() -> impl Iterator<Item = Document<'static>> {
    COOKBOOK.iter().map(|[id, title, tags, summary, body, code]| {
        Document::new(*id)
            .field("title", *title)
            .field("tags", *tags)
            .field("summary", *summary)
            .field("body", *body)
            .field("code", *code)
    })
}

fn cookbook() -> Index {
    Index::builder()
        .field("title", 5.0)
        .field("tags", 4.0)
        .field("summary", 3.0)
        .field("body", 1.0)
        .field("code", 0.6)
        .build(documents())
        .expect("the fields are declared and the ids differ")
}

fn ids(index: &Index, query: &str) -> Vec<String> {
    index.search(query).hits.iter().map(|hit| hit.id.to_owned()).collect()
}

#[test]
fn readers_find_what_they_mean() {
    let cases = [
        // Names
        Case { query: "Effect.all", acceptable: &["effect-all"] },
        Case { query: "effect all", acceptable: &["effect-all"] },
        Case { query: "effect-all", acceptable: &["effect-all"] },
        Case { query: "catchTag", acceptable: &["catch-tag"] },
        Case { query: "catch tag", acceptable: &["catch-tag"] },
        Case { query: "Schedule.exponential", acceptable: &["retry-backoff"] },
        Case { query: "acquirerelease", acceptable: &["acquire-release"] },
        Case { query: "Stream.runCollect", acceptable: &["collect-results"] },
        // Questions
        Case { query: "how do I run things at the same time?", acceptable: &["effect-all"] },
        Case { query: "how can I retry a failed request", acceptable: &["retry-backoff"] },
        Case { query: "how do I make sure a file gets closed", acceptable: &["acquire-release"] },
        Case { query: "what should I do to check user input", acceptable: &["schema-decode"] },
        Case { query: "how do I get all the pages of an API", acceptable: &["stream-pages"] },
        Case { query: "can I report all errors and not only the first", acceptable: &["accumulate-errors"] },
        // Misspellings
        Case { query: "retyr", acceptable: &["retry-backoff"] },
        Case { query: "semaphor", acceptable: &["semaphore"] },
        Case { query: "dependancy injecton", acceptable: &["effect-service"] },
        Case { query: "Efect.catchTga", acceptable: &["catch-tag"] },
        Case { query: "paralel efects", acceptable: &["effect-all"] },
        // Synonyms
        Case { query: "try again", acceptable: &["retry-backoff"] },
        Case { query: "mutex", acceptable: &["semaphore"] },
        Case { query: "deadline", acceptable: &["timeout"] },
        Case { query: "cleanup", acceptable: &["acquire-release"] },
        Case { query: "memoize", acceptable: &["cache-result"] },
        Case { query: "simultaneously", acceptable: &["effect-all", "semaphore"] },
        // The beginning of a word
        Case { query: "pagin", acceptable: &["stream-pages"] },
        Case { query: "expon", acceptable: &["retry-backoff"] },
    ];
    let index = cookbook();
    let report = run(&cases, |query| ids(&index, query));
    assert_eq!(report.hit_at(3), 1.0, "{report}");
    assert!(report.mean_reciprocal_rank() > 0.95, "{report}");
}

#[test]
fn a_name_is_not_lost_to_a_stop_word() {
    let found = ids(&cookbook(), "Effect.all");
    assert_eq!(found[0], "effect-all");
    assert!(!found.contains(&"collect-results".to_owned()), "\"all\" alone is not Effect.all: {found:?}");
}

#[test]
fn a_mention_in_a_body_is_no_match_where_others_state_the_word() {
    let index = cookbook();
    // The bodies of retry, timeout, pages and decode mention errors.
    let mut errors = ids(&index, "error");
    errors.sort();
    assert_eq!(errors, ["accumulate-errors", "catch-tag"]);
    assert_eq!(ids(&index, "service"), ["effect-service"]);
    // "Jitter" is nowhere but in a body: then the mention is the match.
    assert_eq!(ids(&index, "jitter"), ["retry-backoff"]);
}

#[test]
fn a_word_that_everything_is_about_matches_broadly() {
    assert!(cookbook().search("effect").hits.len() > COOKBOOK.len() / 2);
}

#[test]
fn nothing_is_found_where_nothing_is_meant() {
    let index = cookbook();
    for query in ["", "   ", "?!", "kubernetes", "zzzzzz qqqq"] {
        assert!(index.search(query).hits.is_empty(), "{query:?}");
    }
    assert!(Index::builder().field("title", 1.0).build([]).unwrap().search("retry").hits.is_empty());
}

#[test]
fn a_stop_word_alone_may_be_a_name_and_several_say_nothing() {
    assert!(ids(&cookbook(), "all").contains(&"effect-all".to_owned()));
    assert_eq!(ids(&cookbook(), "what is this"), Vec::<String>::new());
    assert_eq!(ids(&cookbook(), "how do I do that"), Vec::<String>::new());
}

#[test]
fn corrections_are_told() {
    let index = cookbook();
    let told: Vec<(String, String)> = index
        .search("retyr with bakcoff")
        .corrections
        .into_iter()
        .map(|correction| (correction.typed, correction.corrected))
        .collect();
    assert_eq!(told, [("retyr".into(), "retry".into()), ("bakcoff".into(), "backoff".into())]);
    assert!(index.search("retry with backoff").corrections.is_empty());
}

#[test]
fn a_catalogue_adds_its_own_synonyms() {
    let builder = Index::builder().field("title", 1.0);
    let titles = || COOKBOOK.iter().map(|row| Document::new(row[0]).field("title", row[1]));
    let plain = builder.clone().build(titles()).unwrap();
    assert!(ids(&plain, "bouncer").is_empty());
    let own = builder.synonyms(Synonyms::builtin().group(["bouncer", "semaphore"])).build(titles()).unwrap();
    assert_eq!(ids(&own, "bouncers"), ["semaphore"]);
    assert_eq!(ids(&own, "deadlok semaphore")[0], "semaphore");
}

#[test]
fn equals_come_in_the_order_of_their_ids() {
    let twins = ["b", "a", "c"].map(|id| Document::new(id).field("title", "The same title"));
    let index = Index::builder().field("title", 1.0).build(twins).unwrap();
    assert_eq!(ids(&index, "title"), ["a", "b", "c"]);
}

#[test]
fn other_languages_are_searched_too() {
    let index = Index::builder()
        .field("title", 1.0)
        .build([
            Document::new("zh").field("title", "错误处理与重试"),
            Document::new("fr").field("title", "Gérer une coupure de réseau"),
            Document::new("ru").field("title", "Повтор после ошибки"),
        ])
        .unwrap();
    assert_eq!(ids(&index, "重试"), ["zh"]);
    assert_eq!(ids(&index, "reseau"), ["fr"]);
    assert_eq!(ids(&index, "ОШИБКИ"), ["ru"]);
    assert_eq!(ids(&index, "ошибкк"), ["ru"]);
}

#[test]
fn a_search_explains_itself() {
    let index = cookbook();
    let explanation = index.explain("how do I try agian with exponental backoff", 1);
    insta::assert_snapshot!(explanation.to_string(), @r#"
    "try agian" decides 33%; retri ×0.80 (synonym "retry")
    "exponental" decides 33%; exponenti ×0.85 (corrected to "exponential")
    "backoff" decides 33%; backoff ×1.00 (as typed)
    1 document matches
    1. retry-backoff 0.655
       0.231 "try agian": retri ×0.80 (synonym "retry") in title 0.70 tags 0.52 body 0.12 code 0.07
       0.229 "exponental": exponenti ×0.85 (corrected to "exponential") in title 0.70 tags 0.52 code 0.07
       0.195 "backoff": backoff ×1.00 (as typed) in title 0.70
    "#);
}

#[test]
fn an_explanation_tells_the_same_story_as_the_search() {
    let index = cookbook();
    for query in
        ["error handling", "paralel efects", "Effect.catchTag", "how do I limit how many run at once"]
    {
        let (matches, explanation) = (index.search(query), index.explain(query, usize::MAX));
        let explained: Vec<_> = explanation.hits.iter().map(|explained| explained.hit).collect();
        assert_eq!(explained, matches.hits);
        for hit in &explanation.hits {
            let points: f32 = hit.evidence.iter().map(|evidence| evidence.points).sum();
            assert!(hit.hit.score <= points + 1e-4, "{query}: {hit:?}");
        }
    }
}

#[test]
fn an_index_that_makes_no_sense_is_refused() {
    let build = |field: &'static str| {
        Index::builder().field("title", 1.0).build([Document::new("a").field(field, "text")])
    };
    assert!(build("title").is_ok());
    let error = build("titel").unwrap_err();
    insta::assert_snapshot!(
        error,
        @r#"document "a" has text for a field "titel" that the index does not have; declare it with `field`"#
    );
    let twice = Index::builder().field("title", 1.0).build([Document::new("a"), Document::new("a")]);
    assert_eq!(twice.unwrap_err(), BuildError::DuplicateId("a".into()));
    for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(Index::builder().field("title", weight).build([]).unwrap_err(), BuildError::Fields);
    }
    assert_eq!(Index::builder().build([]).unwrap_err(), BuildError::Fields);
}
