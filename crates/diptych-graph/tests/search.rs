//! What is found, and in which order.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::*;
use diptych_graph::store::*;

fn library() -> TestStore {
    let store = TestStore::new();
    store.make("Auth Service", "service", &["issues tokens for users", "written in Rust"]);
    store.make("TokenValidator", "class", &["checks tokens", "throws on expiry"]);
    store.make("PostgreSQL", "database", &["stores users and sessions"]);
    store.make("Ada Lovelace", "person", &["maintains the auth service", "lives in Zürich"]);
    store.make("東京オフィス", "place", &["新しい認証サービスのチーム"]);
    store
}

#[test]
fn names_come_before_mentions() {
    let store = library();
    assert_eq!(store.found("auth service"), ["Auth Service", "Ada Lovelace"]);
    assert_eq!(store.found("tokens")[0], "TokenValidator");
}

#[test]
fn words_are_found_in_any_form_and_place() {
    let store = library();
    assert_eq!(store.found("token"), ["TokenValidator", "Auth Service"], "stems and camel case");
    assert_eq!(store.found("zurich ada"), ["Ada Lovelace"], "accents, and words from name and text together");
    assert_eq!(store.found("validator"), ["TokenValidator"], "part of a name in camel case");
    assert_eq!(store.found("database"), ["PostgreSQL"], "types");
    assert_eq!(store.found("認証"), ["東京オフィス"], "scripts without spaces");
}

#[test]
fn parts_of_words_are_found() {
    let store = library();
    let page = store.search_for("ostgre", &[], 10);
    assert_eq!((names(&page.entities), page.quality), (vec!["PostgreSQL"], MatchQuality::PartsOfWords));
    assert_eq!(store.found("maint"), ["Ada Lovelace"]);
    assert_eq!(store.found("vali"), ["TokenValidator"]);
}

#[test]
fn misspelt_words_are_mended_and_it_is_said() {
    let store = library();
    for (query, expected) in [
        ("postgrsql", "PostgreSQL"),
        ("postgersql", "PostgreSQL"),
        ("valdator", "TokenValidator"),
        ("lovelase", "Ada Lovelace"),
    ] {
        let page = store.search_for(query, &[], 10);
        assert_eq!(page.quality, MatchQuality::Corrected, "{query}");
        assert_eq!(page.entities[0].name, expected, "{query}");
    }
    let page = store.search_for("auth servcie", &[], 10);
    assert_eq!((page.entities[0].name.as_str(), page.quality), ("Auth Service", MatchQuality::Corrected));
}

#[test]
fn some_of_the_words_are_better_than_nothing() {
    let store = library();
    let page = store.search_for("who stores sessions quickly", &[], 10);
    assert_eq!((page.entities[0].name.as_str(), page.quality), ("PostgreSQL", MatchQuality::SomeWords));
    let page = store.search_for("xylophone", &[], 10);
    assert_eq!((page.entities.len(), page.total, page.quality), (0, 0, MatchQuality::Nothing));
}

#[test]
fn types_restrict_what_is_found() {
    let store = library();
    assert_eq!(names(&store.search_for("tokens", &["Service"], 10).entities), ["Auth Service"]);
    assert_eq!(names(&store.search_for("tokens", &["service", "class"], 10).entities).len(), 2);
    assert!(store.search_for("Auth Service", &["database"], 10).entities.is_empty());
    assert_eq!(
        names(&store.search_for("", &["person", "place"], 10).entities),
        ["Ada Lovelace", "東京オフィス"]
    );
}

#[test]
fn nothing_to_look_for_finds_everything_in_order() {
    let store = library();
    let page = store.search_for("  ", &[], 2);
    assert_eq!(
        (names(&page.entities), page.quality),
        (vec!["Auth Service", "TokenValidator"], MatchQuality::Everything)
    );
    assert!(page.next.is_some());
}

#[test]
fn signs_alone_are_looked_for_as_they_are() {
    let store = library();
    store.make("arrows", "t", &["a -> b"]);
    store.make("🚀", "t", &[]);
    assert_eq!(store.found("->"), ["arrows"]);
    assert_eq!(store.found("🚀"), ["🚀"]);
    for query in ["\"", "*", "^a", "a AND", "NEAR(a b)", "name : x", "-", "{a}", "'", "(", "\0"] {
        store.search_for(query, &[], 5);
    }
}

#[test]
fn what_changes_is_found_as_it_is_now() {
    let store = library();
    store.add_observations(&project(), &[additions("PostgreSQL", &["moved to Frankfurt"])]).unwrap();
    assert_eq!(store.found("frankfurt"), ["PostgreSQL"]);
    store.delete_observations(&project(), &[of("PostgreSQL", &["moved to Frankfurt"])]).unwrap();
    assert!(store.found("frankfurt").is_empty());
    store.delete_entities(&project(), &texts(&["PostgreSQL"])).unwrap();
    assert!(store.found("postgresql").is_empty());
    store.make("PostgreSQL", "database", &["fresh"]);
    assert_eq!(store.found("fresh"), ["PostgreSQL"]);
}

#[test]
fn an_index_that_is_rebuilt_answers_as_before() {
    let store = library();
    let queries = ["tokens", "ostgre", "lovelase", "認証", "auth service"];
    let before: Vec<_> = queries.iter().map(|query| store.found(query)).collect();
    store.rebuild_index().unwrap();
    let after: Vec<_> = queries.iter().map(|query| store.found(query)).collect();
    assert_eq!(before, after);
    assert!(store.check_integrity().unwrap().is_empty());
}

#[test]
fn relations_of_what_is_found_come_along() {
    let store = library();
    store.relate("Ada Lovelace", "maintains", "Auth Service");
    store.relate("Auth Service", "uses", "PostgreSQL");
    let page = store.search_for("PostgreSQL", &[], 10);
    assert_eq!(
        page.relations.iter().map(Relation::key).collect::<Vec<_>>(),
        [key("Auth Service", "uses", "PostgreSQL")]
    );
}

/// Pages of every size, cut anywhere, give each result once: also when there are too many to rank.
#[test]
fn pages_put_together_are_all_results() {
    let store = TestStore::new();
    let batch: Vec<NewEntity> = (0..2_300)
        .map(|index| match index % 3 {
            0 => entity(&format!("common thing {index}"), if index % 2 == 0 { "t" } else { "u" }, &[]),
            1 => entity(&format!("item {index}"), "t", &["a common word"]),
            _ => entity(&format!("rare {index}"), "t", &["another"]),
        })
        .collect();
    store.create_entities(&project(), &batch).unwrap();
    store.make("Common", "t", &["the very name"]);
    for (query, types, limit, expected) in [
        ("common", vec![], 97, 1_535),
        ("common", texts(&["U"]), 50, 383),
        ("rare", vec![], 100, 766),
        ("othe", vec![], 250, 766),
        ("", vec![], 500, 2_301),
        ("", texts(&["u"]), 100, 383),
        ("zz rare", vec![], 333, 766),
    ] {
        let mut request = SearchRequest {
            query: query.into(),
            entity_types: types.clone(),
            page: PageRequest { limit, cursor: None },
        };
        let mut seen = Vec::new();
        loop {
            let page = store.search(&scope(), &request).unwrap();
            let shown = page.entities.len().div_ceil(2);
            seen.extend(page.entities.iter().take(shown).map(|entity| entity.name.clone()));
            request.page.cursor = page.cursor_after(shown).map(|cursor| cursor.to_string().parse().unwrap());
            if request.page.cursor.is_none() {
                break;
            }
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!((seen.len(), distinct.len()), (expected, expected), "{query:?}");
        if query == "common" && types.is_empty() {
            assert_eq!(seen[0], "Common");
            let names_with = seen.iter().take_while(|name| name.to_lowercase().contains("common")).count();
            assert_eq!(names_with, 768, "names first, then mentions");
        }
    }
}
