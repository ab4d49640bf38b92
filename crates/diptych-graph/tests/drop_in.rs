//! What clients of other graph memories send is understood, and they find what they look for in the answers.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::served::{Memory, garden};
use serde_json::{Value, json};

/// Of an answer, what the other server's schema names.
fn only(value: &Value, fields: &[&str]) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| only(item, fields)).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| fields.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    }
}

const ENTITY: [&str; 3] = ["name", "entityType", "observations"];
const RELATION: [&str; 3] = ["from", "to", "relationType"];

#[tokio::test]
async fn the_nine_shared_tools_answer_with_at_least_the_same_fields() {
    let memory = Memory::new();
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["Plants trees."]});
    let bo = json!({"name": "Bo", "entityType": "person", "observations": []});
    let helps = json!({"from": "Bo", "to": "Ada", "relationType": "helps"});

    let made = memory.done("create_entities", json!({"entities": [ada, bo]})).await;
    assert_eq!(only(&made["entities"], &ENTITY), json!([ada, bo]));
    let again = memory.done("create_entities", json!({"entities": [ada]})).await;
    assert_eq!(again["entities"], json!([]));

    let related = memory.done("create_relations", json!({"relations": [helps]})).await;
    assert_eq!(only(&related["relations"], &RELATION), json!([helps]));

    let added = memory
        .done(
            "add_observations",
            json!({"observations": [{"entityName": "Ada", "contents": ["Plants trees.", "Sings."]}]}),
        )
        .await;
    assert_eq!(added["results"], json!([{"entityName": "Ada", "addedObservations": ["Sings."]}]));

    for (tool, arguments) in [
        ("read_graph", json!({})),
        ("search_nodes", json!({"query": "person"})),
        ("open_nodes", json!({"names": ["Ada", "Bo"]})),
    ] {
        let graph = memory.done(tool, arguments).await;
        let entities = only(&graph["entities"], &ENTITY);
        let names: Vec<&str> =
            entities.as_array().unwrap().iter().map(|entity| entity["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"Ada") && names.contains(&"Bo") && names.len() == 2, "{tool}");
        assert_eq!(only(&graph["relations"], &RELATION), json!([helps]), "{tool}");
    }

    for (tool, arguments, message) in [
        (
            "delete_observations",
            json!({"deletions": [{"entityName": "Ada", "observations": ["Sings."]}]}),
            "Observations deleted successfully",
        ),
        ("delete_relations", json!({"relations": [helps]}), "Relations deleted successfully"),
        ("delete_entities", json!({"entityNames": ["Ada"]}), "Entities deleted successfully"),
    ] {
        let gone = memory.done(tool, arguments).await;
        assert_eq!(only(&gone, &["success", "message"]), json!({"success": true, "message": message}));
        assert_eq!(gone["deleted"], 1);
    }
    let gone = memory.done("delete_entities", json!({"entityNames": ["Ada"]})).await;
    assert_eq!(
        only(&gone, &["success", "message"]),
        json!({"success": true, "message": "Entities deleted successfully"})
    );
    assert_eq!(
        (&gone["deleted"], &gone["missing"]),
        (&json!(0), &json!(["Ada"])),
        "but the counts tell the truth"
    );
}

#[tokio::test]
async fn a_relation_needs_both_its_ends_and_the_error_names_the_nearest() {
    let memory = garden().await;
    let error = memory
        .fails(
            "create_relations",
            json!({"relations": [{"from": "Ada", "to": "orchard_2027", "relationType": "x"}]}),
        )
        .await;
    insta::assert_json_snapshot!("missing_ends", error);
    let graph = memory.done("read_graph", json!({})).await;
    assert_eq!(graph["relations"].as_array().unwrap().len(), 2, "the batch is atomic");
}

#[tokio::test]
async fn other_spellings_of_the_arguments_are_understood() {
    let memory = garden().await;
    let made = memory
        .done("create_entities", json!({"entities": "[{\"name\": \"Cy\", \"entity_type\": \"person\", \"observations\": [\"Hums.\"]}]"}))
        .await;
    assert_eq!(made["entities"][0]["entityType"], "person");
    for arguments in [
        json!({"entityName": "Cy", "contents": ["One."]}),
        json!({"entity_name": "Cy", "contents": ["Two."]}),
        json!({"observations": [{"entity_name": "Cy", "contents": ["Three."]}]}),
        json!({"entityName": "Cy", "contents": "Four."}),
    ] {
        assert_eq!(memory.done("add_observations", arguments).await["added"], 1);
    }
    let related = memory
        .done("create_relations", json!({"relations": [{"from": "Cy", "to": "Ada", "relation_type": "knows", "metadata": {"seen_at": "noon"}}]}))
        .await;
    assert_eq!(related["relations"][0]["metadata"], json!({"seen_at": "noon"}));
    let updated = memory
        .done(
            "update_relation",
            json!({"relation": {"from": "Cy", "to": "Ada", "relation_type": "knows", "strength": 0.5}}),
        )
        .await;
    assert_eq!((&updated["strength"], &updated["version"]), (&json!(0.5), &json!(2)));
    let found = memory
        .done(
            "semantic_search",
            json!({"query": "hums", "min_similarity": 0.1, "entity_types": ["person"], "hybrid_search": false, "semantic_weight": 1}),
        )
        .await;
    assert_eq!((&found["count"], &found["mode"]), (&json!(1), &json!("lexical")));
    let decayed = memory.done("get_decayed_graph", json!({"half_life_days": "7", "min_confidence": 0})).await;
    assert_eq!(decayed["halfLifeDays"], 7.0);
    let error = memory.fails("search_nodes", json!({"query": "x", "entityTyps": []})).await;
    assert_eq!(error["details"]["violations"][0]["suggestion"], "Did you mean `entityTypes`?");
}

#[tokio::test]
async fn every_violation_of_a_batch_is_named_with_its_place() {
    let memory = Memory::new();
    let error = memory
        .fails(
            "create_entities",
            json!({"entities": [{"name": " ", "entityType": "t"}, {"name": "a\nb", "entityType": "\u{7}"}]}),
        )
        .await;
    insta::assert_json_snapshot!("violations", error);
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_a_clear_error_and_the_server_goes_on() {
    let memory = Memory::new();
    std::fs::create_dir_all(memory.path().parent().unwrap()).unwrap();
    std::fs::write(memory.path(), "not a store, but somebody's letter").unwrap();
    let reply = memory.call("read_graph", json!({})).await;
    assert!(reply.is_error);
    assert_eq!(reply.text(), "The file is not a graph store.\nChoose another file for the store.");
    assert_eq!(reply.structured.unwrap()["retryable"], false);
    std::fs::remove_file(memory.path()).unwrap();
    assert_eq!(
        memory.done("read_graph", json!({})).await["summary"]["entities"],
        0,
        "the next call tries again"
    );
}

/// A way to spoil a store's file.
type Spoil = fn(&std::path::Path);

#[tokio::test]
async fn whatever_is_wrong_with_the_file_the_client_reads_a_clear_error_without_a_word_about_where_it_is() {
    let spoilt: [(&str, Spoil); 4] = [
        ("The store cannot be written: its file or folder is read-only.", |path| {
            let mut permissions = std::fs::metadata(path).unwrap().permissions();
            permissions.set_readonly(true);
            std::fs::set_permissions(path, permissions).unwrap();
        }),
        ("The store was written by a newer version of this program", |path| {
            rusqlite::Connection::open(path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        }),
        ("The store's file is damaged.", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes[4_096..].fill(0xa5);
            std::fs::write(path, bytes).unwrap();
        }),
        ("The file is not a graph store.", |path| std::fs::write(path, "dear diary, ".repeat(500)).unwrap()),
    ];
    for (message, spoil) in spoilt {
        let memory = garden().await;
        // A store of its own, with nothing left in the log beside it.
        let copy = memory.folder.path().join("copy.db");
        diptych_graph::Store::open(&memory.path(), diptych_graph::StoreOptions::default())
            .unwrap()
            .backup(&copy)
            .unwrap();
        spoil(&copy);
        let server = Memory::with(25_000, |options| options.database = copy.clone());
        for (tool, arguments) in [
            ("create_entities", json!({"entities": [{"name": "secret-name", "entityType": "secret-type"}]})),
            ("search_nodes", json!({"query": "secret-query"})),
            ("open_nodes", json!({"names": ["secret-name"]})),
        ] {
            let reply = server.call(tool, arguments).await;
            assert!(reply.is_error, "{tool}: {}", reply.text());
            let said = format!("{}{}", reply.text(), reply.structured.clone().unwrap());
            assert!(reply.text().starts_with(message), "{tool}: {said}");
            let folder = memory.folder.path().to_str().unwrap();
            for hidden in ["copy.db", folder, "secret-", "SELECT", "INSERT", "sqlite", "SQL", "panicked"] {
                assert!(!said.contains(hidden), "{hidden} in {said}");
            }
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_costs_nothing_that_was_acknowledged() {
    let memory = Memory::with(25_000, |options| options.store.max_bytes = Some(300_000));
    let mut kept = 0;
    let error = loop {
        assert!(kept < 1_000, "the store has a limit");
        let entity =
            json!({"name": format!("n{kept}"), "entityType": "t", "observations": ["word ".repeat(200)]});
        let reply = memory.call("create_entities", json!({"entities": [entity]})).await;
        if reply.is_error {
            break reply;
        }
        kept += 1;
    };
    assert!(error.text().starts_with("The disk is full, so nothing was stored."), "{}", error.text());
    let error = error.structured.unwrap();
    assert_eq!((&error["code"], &error["retryable"]), (&json!("SERVER_ERROR"), &json!(true)));
    assert_eq!(memory.done("read_graph", json!({})).await["summary"]["entities"], kept);
}

#[tokio::test]
async fn projects_are_kept_apart_unless_the_toolset_looks_across() {
    let garden = garden().await;
    let path = garden.path();
    let other = Memory::with(25_000, |options| {
        options.database = path.clone();
        options.project = "kitchen".into();
    });
    other.done("create_entities", json!({"entities": [{"name": "Ada", "entityType": "cook"}]})).await;
    assert_eq!(other.done("read_graph", json!({})).await["summary"]["entities"], 1);
    assert_eq!(garden.done("read_graph", json!({})).await["summary"]["entities"], 3);
    let across = Memory::with(25_000, |options| {
        options.database = path.clone();
        options.project = "kitchen".into();
        options.across_projects = true;
    });
    let both = across.done("open_nodes", json!({"names": ["Ada"]})).await;
    let projects: Vec<&Value> =
        both["entities"].as_array().unwrap().iter().map(|entity| &entity["project"]).collect();
    assert_eq!(projects, [&json!("garden"), &json!("kitchen")]);
}
