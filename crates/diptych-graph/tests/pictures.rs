//! Pictures of a graph whose names are whatever somebody stored: each format is read back as its reader would.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::*;
use diptych_graph::store::GraphPart;
use diptych_graph::{PictureFormat, picture};
use proptest::prelude::*;
use serde_json::{Value, json};

const BLOCK: (&str, &str) = ("<script type=\"application/json\" id=\"data\">", "</script>");

/// A graph with these names, each related to the next in this way.
fn part(names: &[String], kind: &str, link: &str, observation: &str) -> GraphPart {
    let store = TestStore::new();
    for name in names {
        store.make(name, kind, &[observation]);
    }
    for pair in names.windows(2) {
        store.relate(&pair[0], link, &pair[1]);
    }
    store.most_connected(&project(), 100).unwrap()
}

/// Reads a string of Graphviz from behind its opening quote: what it says, and what comes after it.
fn dot_string(text: &str) -> (String, &str) {
    let mut said = String::new();
    let mut rest = text.chars();
    loop {
        match rest.next().expect("a string ends") {
            '"' => return (said.replace("&amp;", "&"), rest.as_str()),
            '\\' => match rest.next().expect("an escape is complete") {
                'n' => said.push('\n'),
                escaped @ ('"' | '\\') => said.push(escaped),
                other => panic!("\\{other} means something to Graphviz"),
            },
            other => said.push(other),
        }
    }
}

/// Reads a label of Mermaid: letters, digits, spaces, and numbers for everything else.
fn mermaid_text(text: &str) -> String {
    let mut said = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '#' {
            let (number, after) = rest.split_once(';').expect("a number ends");
            said.push(char::from_u32(number.parse().unwrap()).unwrap());
            rest = after;
        } else {
            assert!(
                character.is_alphanumeric() || matches!(character, ' ' | '_'),
                "{character:?} in {text:?}"
            );
            said.push(character);
        }
    }
    said
}

/// The data of a page, and the page around them.
fn data(page: &str) -> (Value, String) {
    let (before, rest) = page.split_once(BLOCK.0).unwrap();
    let (inside, after) = rest.split_once(BLOCK.1).unwrap();
    assert!(!inside.contains(['<', '>', '&']), "{inside}");
    (serde_json::from_str(inside).unwrap(), format!("{before}{after}"))
}

fn check(names: &[String], kind: &str, link: &str, observation: &str) {
    let part = part(names, kind, link, observation);
    let places: Vec<usize> =
        names.iter().map(|name| part.entities.iter().position(|e| e.name == *name).unwrap()).collect();

    let dot = picture(&part, "t", PictureFormat::Dot);
    let lines: Vec<&str> = dot.lines().collect();
    assert_eq!(lines.len(), 3 + part.entities.len() + part.relations.len() + 1, "{dot}");
    for (place, entity) in part.entities.iter().enumerate() {
        let line = lines[3 + place].strip_prefix(&format!("  n{place} [label=\"")).unwrap();
        assert_eq!(dot_string(line), (format!("{}\n({kind})", entity.name), "];"));
    }
    for (line, ends) in lines[3 + part.entities.len()..].iter().zip(places.windows(2)) {
        let line = line.strip_prefix(&format!("  n{} -> n{} [label=\"", ends[0], ends[1])).unwrap();
        assert_eq!(dot_string(line), (link.to_owned(), "];"));
    }

    let mermaid = picture(&part, "t", PictureFormat::Mermaid);
    let lines: Vec<&str> = mermaid.lines().collect();
    assert_eq!(lines.len(), 1 + part.entities.len() + part.relations.len(), "{mermaid}");
    for (place, entity) in part.entities.iter().enumerate() {
        let label = lines[1 + place].strip_prefix(&format!("  n{place}[\"")).unwrap();
        let (name, of_type) = label.strip_suffix(")\"]").unwrap().split_once("<br/>(").unwrap();
        assert_eq!((mermaid_text(name), mermaid_text(of_type)), (entity.name.clone(), kind.to_owned()));
    }
    for (line, ends) in lines[1 + part.entities.len()..].iter().zip(places.windows(2)) {
        let line = line.strip_prefix(&format!("  n{} -->|\"", ends[0])).unwrap();
        assert_eq!(mermaid_text(line.strip_suffix(&format!("\"| n{}", ends[1])).unwrap()), link);
    }

    let (drawn, around) = data(&picture(&part, &names[0], PictureFormat::Html));
    let (_, empty) = data(&picture(&GraphPart::default(), "", PictureFormat::Html));
    assert_eq!(around, empty, "what is stored changes nothing but the data");
    assert_eq!(drawn["title"], names[0].as_str());
    for (node, entity) in drawn["nodes"].as_array().unwrap().iter().zip(&part.entities) {
        assert_eq!(
            (&node["name"], &node["type"], &node["observations"]),
            (&json!(entity.name), &json!(kind), &json!([observation]))
        );
    }
    assert_eq!(drawn["links"].as_array().unwrap().len(), part.relations.len());
}

#[test]
fn names_that_want_to_break_out_stay_inside() {
    let names = texts(&[
        "</script><script>alert(1)</script>",
        "\"]; n0 -> n1 [label=\"forged",
        "ends with a backslash \\",
        "%%{init: {\"theme\": \"dark\"}}%%",
        "`**bold**` #quot; &lt; &#34;",
        "<!-- --> ]]> <img src=x onerror=alert(1)>",
        "line\u{2028}and\u{2029}paragraph \u{202e}turned",
        "\\N \\G \\l",
    ]);
    check(&names, "a \"type\" | <b>", "-->|\"x\"| n7", "</script> {\"data\": null} \u{0} & \"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_names_can_be_drawn(
        names in proptest::collection::btree_set("[^\\p{Cc}]{1,30}|[\"\\\\#<>&;%`|{}\\[\\]n0-9 ]{1,30}", 1..5),
        kind in "[^\\p{Cc}]{1,12}",
        link in "[^\\p{Cc}]{1,12}",
        observation in "(.|\n){1,40}",
    ) {
        prop_assume!(names.iter().chain([&kind, &link, &observation]).all(|text| !text.trim().is_empty()));
        // What Graphviz's reader in this test undoes last cannot be told apart from an entity that was there before.
        prop_assume!(names.iter().chain([&kind, &link]).all(|text| !text.contains("&amp;")));
        let names: Vec<String> = names.into_iter().collect();
        check(&names, &kind, &link, &observation);
    }
}

#[test]
fn a_page_needs_nothing_but_itself() {
    let page = picture(&part(&texts(&["a", "b"]), "t", "r", "o"), "a", PictureFormat::Html);
    assert!(page.contains("content=\"default-src 'none'; "), "nothing may be fetched");
    for outside in
        ["http:", "https:", "src=", "href=", "@import", "url(", "innerHTML", "insertAdjacentHTML", "eval("]
    {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_part_has_the_most_connected_and_all_relations_between_them() {
    let store = TestStore::new();
    for name in ["a", "b", "c", "hub"] {
        store.make(name, "t", &[]);
    }
    for name in ["a", "b", "c"] {
        store.relate(name, "near", "hub");
    }
    store.relate("b", "knows", "c");
    store.relate("hub", "is", "hub");
    let all = store.most_connected(&project(), 10).unwrap();
    assert_eq!((names(&all.entities), all.relations.len(), all.more), (vec!["hub", "b", "c", "a"], 5, false));
    let some = store.most_connected(&project(), 2).unwrap();
    assert_eq!((names(&some.entities), some.more), (vec!["hub", "b"], true));
    let keys: Vec<_> = some.relations.iter().map(diptych_graph::store::Relation::key).collect();
    assert_eq!(keys, [key("b", "near", "hub"), key("hub", "is", "hub")]);
    let around = store.neighbourhood(&project(), "a", 1, 10).unwrap();
    assert_eq!((names(&around.entities), around.relations.len(), around.more), (vec!["a", "hub"], 2, false));
    assert!(store.neighbourhood(&project(), "a", 2, 3).unwrap().more);
}
