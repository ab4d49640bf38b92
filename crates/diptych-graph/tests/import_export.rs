//! Files of server-memory, in and out.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::*;
use diptych_graph::store::*;

fn import(store: &Store, text: &str) -> ImportReport {
    store.import(&project(), text.as_bytes()).unwrap()
}

const PLAIN: &str = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes engines","wrote \"notes\"\n"]}
{"type":"entity","name":"Engine","entityType":"machine","observations":[]}
{"type":"relation","from":"Ada","to":"Engine","relationType":"programs"}
"#;

#[test]
fn a_file_comes_out_as_it_went_in() {
    let store = TestStore::new();
    let report = import(&store, PLAIN);
    assert_eq!((report.entities_created, report.relations_created, report.problems.len()), (2, 1, 0));
    let mut out = Vec::new();
    assert_eq!(store.export(&project(), &mut out).unwrap(), 3);
    assert_eq!(String::from_utf8(out).unwrap(), PLAIN);
}

#[test]
fn importing_again_changes_nothing() {
    let store = TestStore::new();
    import(&store, PLAIN);
    let (before, change) = (store.all(), store.last_change().unwrap());
    let report = import(&store, PLAIN);
    assert_eq!((report.entities_existing, report.relations_existing), (2, 1));
    assert_eq!((report.entities_created, report.observations_added, report.relations_created), (0, 0, 0));
    assert_eq!((store.all(), store.last_change().unwrap()), (before, change));
}

#[test]
fn whatever_can_be_read_is_taken_and_the_rest_is_reported() {
    let store = TestStore::new();
    let long = "x".repeat(6_000);
    let lines = [
        "\u{feff}{\"type\":\"relation\",\"from\":\"Late\",\"to\":\"One\",\"relationType\":\"precedes\"}".to_owned(),
        r#"{"type":"entity","name":"One","entityType":"t","observations":["a"]}{"type":"entity","name":"Two","entityType":"t","observations":["b", 5]}"#.to_owned(),
        String::new(),
        r#"{"type":"entity","name":"One","entityType":"other","observations":["a","c"]}"#.to_owned(),
        r#"{"type":"entity","name":"Three","entityType":"t","observations":["#.to_owned(),
        r#"{"type":"relation","from":"One","to":"Gone","relationType":"knows"}"#.to_owned(),
        r#"{"type":"relation","from":"One","to":"One","relationType":"is"}"#.to_owned(),
        r#"{"type":"entity","name":"bad\nname","entityType":"t","observations":[]}"#.to_owned(),
        r#"{"type":"wish","name":"x"}"#.to_owned(),
        "[1, 2]".to_owned(),
        r#"{"type":"relation","from":"One","to":"Two","relationType":"r","strength":7,"metadata":{"a":1}}"#.to_owned(),
        format!(r#"{{"type":"entity","name":"Long","entityType":"t","observations":["{long}"]}}"#),
        r#"{"type":"entity","name":"Late","entityType":"t","observations":[]}{"type":"entity","name":"cut"#.to_owned(),
    ];
    let text = lines.join("\n");
    let report = import(&store, &text);
    let problems: Vec<_> =
        report.problems.iter().map(|problem| format!("{}: {}", problem.line, problem.problem)).collect();
    insta::assert_snapshot!(problems.join("\n"), @r#"
    2: has an observation of "Two" that is no text, which was left out
    4: has the entity "One" once more; its observations were put together, and it stays "t"
    5: is not complete JSON; what could be read of it was kept
    6: has a relation with "Gone", which does not exist; it was left out
    7: has a relation from "One" to itself, which was kept
    8: has an entity whose name must not contain line breaks or other control characters; it was left out
    9: holds something that is neither an entity nor a relation, which was left out
    10: holds something that is neither an entity nor a relation, which was left out
    11: has a relation whose strength or confidence is not from 0 to 1; it was taken without
    13: is not complete JSON; what could be read of it was kept
    "#);
    let all = store.all();
    assert_eq!(names(&all.entities), ["One", "Two", "Long", "Late"]);
    assert_eq!(all.entities[0].observations, ["a", "c"]);
    assert_eq!(all.entities[2].observations[0].len(), 6_000);
    let keys: Vec<_> = all.relations.iter().map(Relation::key).collect();
    assert_eq!(keys, [key("Late", "precedes", "One"), key("One", "is", "One"), key("One", "r", "Two")]);
    assert_eq!((all.relations[2].strength, all.relations[2].metadata.is_some()), (None, true));

    let again = import(&store, &text);
    assert_eq!((again.entities_created, again.observations_added, again.relations_created), (0, 0, 0));
    assert_eq!(store.all(), all);
}

#[test]
fn bytes_that_are_no_text_cost_one_line() {
    let store = TestStore::new();
    let mut bytes = PLAIN.as_bytes().to_vec();
    bytes.extend_from_slice(b"\xff\xfe\n{\"type\":\"entity\",\"name\":\"After\",\"entityType\":\"t\"}");
    let report = store.import(&project(), &*bytes).unwrap();
    assert_eq!(report.problems, [ImportProblem { line: 4, problem: "is not UTF-8 and was left out".into() }]);
    assert_eq!(report.entities_created, 3);
}

#[test]
fn what_server_memory_does_not_know_survives_the_journey() {
    let store = TestStore::new();
    store.make("a", "t", &["one", "one"]);
    store.make("b", "t", &[]);
    let facts = RelationFacts {
        strength: Some(0.25),
        confidence: Some(1.0),
        metadata: serde_json::json!({"z": 1, "a": [true]}).as_object().cloned(),
    };
    store.create_relations(&project(), &[NewRelation { facts, ..relation("a", "r", "b") }]).unwrap();
    let mut out = Vec::new();
    store.export(&project(), &mut out).unwrap();
    let last = String::from_utf8(out.clone()).unwrap().lines().last().unwrap().to_owned();
    assert_eq!(
        last,
        r#"{"type":"relation","from":"a","to":"b","relationType":"r","strength":0.25,"confidence":1.0,"metadata":{"z":1,"a":[true]}}"#
    );
    let other = TestStore::new();
    other.import(&project(), &*out).unwrap();
    let (one, two) = (store.all(), other.all());
    assert_eq!(one.entities[0].observations, two.entities[0].observations);
    assert_eq!(
        (two.relations[0].strength, two.relations[0].confidence, &two.relations[0].metadata),
        (Some(0.25), Some(1.0), &one.relations[0].metadata)
    );
}

#[test]
fn a_long_file_is_taken_in_several_steps() {
    let store = TestStore::new();
    let mut text = String::new();
    for index in 0..1_234 {
        text.push_str(&format!(
            "{{\"type\":\"entity\",\"name\":\"e{index}\",\"entityType\":\"t\",\"observations\":[\"o\"]}}\n"
        ));
        text.push_str(&format!(
            "{{\"type\":\"relation\",\"from\":\"e{index}\",\"to\":\"e{}\",\"relationType\":\"r\"}}\n",
            index / 2
        ));
    }
    let report = import(&store, &text);
    assert_eq!((report.entities_created, report.relations_created, report.problems.len()), (1_234, 1_234, 1));
    let mut out = Vec::new();
    assert_eq!(store.export(&project(), &mut out).unwrap(), 2_468);
}
