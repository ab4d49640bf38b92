//! Whatever the documents and the query, a search ends soon, in order and with sensible scores.

use diptych_search::{AnyWord, Document, Index, NEAR_FLOOR, Query, Synonyms, compounds, near, terms};
use proptest::prelude::*;

/// Anything at all, and things that look like the real ones.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-zA-Z.\\-_' ]{0,80}",
        "(Effect|Stream|how do I|retry|error)([. -](all|map|catchTag|try again|时|é)){0,6}",
    ]
}

fn index(texts: &[String]) -> Index {
    Index::builder()
        .field("title", 5.0)
        .field("body", 1.0)
        .build(texts.iter().enumerate().map(|(number, text)| {
            Document::new(format!("document-{number}"))
                .field("title", text.as_str())
                .field("body", text.as_str())
        }))
        .expect("the fields are declared and the ids differ")
}

proptest! {
    #[test]
    fn any_query_over_any_documents(texts in prop::collection::vec(text(), 0..8), query in text()) {
        let index = index(&texts);
        let matches = index.search(&query);
        for pair in matches.hits.windows(2) {
            prop_assert!((-pair[0].score, pair[0].id) < (-pair[1].score, pair[1].id));
        }
        for hit in &matches.hits {
            prop_assert!(hit.score > 0.0 && hit.score <= 1.0);
            prop_assert_eq!(hit.id, format!("document-{}", hit.document));
        }
        prop_assert!(index.search_all(&query).hits.len() >= matches.hits.len());
        let explained = index.explain(&query, 3);
        prop_assert_eq!(explained.total, matches.hits.len());
        prop_assert!(explained.hits.iter().all(|hit| !hit.evidence.is_empty()));
        let _ = explained.to_string();
    }

    #[test]
    fn a_document_is_found_by_its_own_name(parts in prop::collection::vec("[a-z]{4,8}", 2..4)) {
        let name = parts.join(".");
        let index = index(&[name.clone(), "something else entirely".to_owned()]);
        prop_assert_eq!(index.search(&name).hits[0].id, "document-0");
    }

    #[test]
    fn terms_are_lower_case_and_never_empty(text in text()) {
        for term in compounds(&text).flat_map(terms) {
            prop_assert!(!term.text.is_empty() && term.share > 0.0 && term.share <= 1.0);
            prop_assert_eq!(term.surface.to_lowercase(), term.surface);
        }
    }

    #[test]
    fn any_query_can_be_taken_apart(text in text()) {
        let query = Query::parse(&text, &Synonyms::builtin(), &AnyWord);
        prop_assert!(query.concepts.iter().all(|concept| !concept.alternatives.is_empty()));
    }

    #[test]
    fn near_ids_are_similar_and_in_order(id in text(), candidates in prop::collection::vec(text(), 0..8)) {
        let found = near(&id, candidates.iter().map(String::as_str), NEAR_FLOOR);
        prop_assert!(found.iter().all(|near| (NEAR_FLOOR..=1.0).contains(&near.similarity)));
        prop_assert!(found.windows(2).all(|pair| pair[0].similarity >= pair[1].similarity));
    }
}

#[test]
fn a_pasted_file_is_not_a_question_but_is_answered() {
    let index = index(&["Retry a request".to_owned(), "Cache a result".to_owned()]);
    for query in [
        "retry ".repeat(200_000),
        format!("retry {}", "x".repeat(1_000_000)),
        format!("retry {}", (0..100_000).map(|n| format!("unknown{n} ")).collect::<String>()),
        format!("retry{}", ".a".repeat(100_000)),
        format!("retry {}", "时".repeat(100_000)),
    ] {
        assert!(index.search(&query).hits.len() <= 2);
    }
    assert_eq!(index.search(&"retry ".repeat(200_000)).hits[0].id, "document-0");
}

#[test]
fn a_document_of_noise_is_indexed() {
    let noise = format!("{} {} {}", "a.".repeat(100_000), "x".repeat(1_000_000), "-_'".repeat(100_000));
    let index = index(&[noise, "Retry".to_owned()]);
    assert_eq!(index.search("retry").hits[0].id, "document-1");
}
