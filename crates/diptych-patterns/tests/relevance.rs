//! Does the search find what people ask for?
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "relevance/questions.rs"]
mod questions;

use diptych_patterns::Library;
use diptych_search::eval::{Case, Report, run};

/// The share of questions with an answer among the first three. It may rise, never fall.
const FLOOR: f64 = 0.95;

#[test]
fn what_people_ask_for_is_among_the_first_three() {
    let catalogue = Library::embedded().current();
    let mut all = Vec::new();
    for (name, cases) in questions::GROUPS {
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
