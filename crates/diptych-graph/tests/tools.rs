//! The tools as clients see them: every answer in both panels, the definitions, the contract.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::embedder::Words;
use common::served::{Memory, garden, garden_with};
use diptych::client::{Client, Protocol};
use diptych::testing::{Contract, definitions};
use serde_json::json;

#[tokio::test]
async fn what_writing_answers() {
    let memory = garden().await;
    let created = memory
        .panels(
            "create_entities",
            json!({"entities": [
                {"name": "Cy", "entityType": "person", "observations": ["Keeps bees."]},
                {"name": "Ada", "entityType": "person", "observations": ["Is not written over."]},
                {"name": "Orchard 2026", "entityType": "project"}
            ]}),
        )
        .await;
    insta::assert_snapshot!("create_entities", created);
    let related = memory
        .panels(
            "create_relations",
            json!({"relations": [
                {"from": "Cy", "to": "Ada", "relationType": "knows", "confidence": 0.5, "metadata": {"how": "a `fair`"}},
                {"from": "Bo", "to": "Ada", "relationType": "helps"}
            ]}),
        )
        .await;
    insta::assert_snapshot!("create_relations", related);
    let added = memory
        .panels(
            "add_observations",
            json!({"observations": [
                {"entityName": "Ada", "contents": ["Plants trees.", "Has a ladder."]},
                {"entityName": "Bo", "contents": ["Is tall."]}
            ]}),
        )
        .await;
    insta::assert_snapshot!("add_observations", added);
    let updated = memory
        .panels(
            "update_relation",
            json!({"from": "Cy", "to": "Ada", "relationType": "knows", "strength": 0.25, "confidence": 1}),
        )
        .await;
    insta::assert_snapshot!("update_relation", updated);
    let forgotten = memory
        .panels(
            "delete_observations",
            json!({"deletions": [
                {"entityName": "Ada", "observations": ["Has a ladder.", "Never said."]},
                {"entityName": "Nobody", "observations": ["Anything."]}
            ]}),
        )
        .await;
    insta::assert_snapshot!("delete_observations", forgotten);
    let parted = memory
        .panels(
            "delete_relations",
            json!({"relations": [
                {"from": "Cy", "to": "Ada", "relationType": "knows"},
                {"from": "Ada", "to": "Cy", "relationType": "knows"}
            ]}),
        )
        .await;
    insta::assert_snapshot!("delete_relations", parted);
    let deleted = memory.panels("delete_entities", json!({"entityNames": ["Ada", "Nobody"]})).await;
    insta::assert_snapshot!("delete_entities", deleted);
}

#[tokio::test]
async fn what_reading_answers() {
    let memory = garden().await;
    let ada = json!({"from": "Ada", "to": "orchard_2026", "relationType": "works_on"});
    insta::assert_snapshot!("read_graph", memory.panels("read_graph", json!({})).await);
    insta::assert_snapshot!(
        "search_nodes",
        memory.panels("search_nodes", json!({"query": "aple trees", "entityTypes": ["project"]})).await
    );
    insta::assert_snapshot!(
        "open_nodes",
        memory.panels("open_nodes", json!({"names": ["Bo", "Nobody", "Ada"]})).await
    );
    insta::assert_snapshot!("get_relation", memory.panels("get_relation", ada).await);
    insta::assert_snapshot!(
        "semantic_search",
        memory.panels("semantic_search", json!({"query": "trees", "limit": 1})).await
    );
    insta::assert_snapshot!(
        "get_entity_embedding",
        memory.panels("get_entity_embedding", json!({"entityName": "Ada"})).await
    );
}

#[tokio::test]
async fn what_the_past_answers() {
    let memory = garden().await;
    let ada = json!({"from": "Ada", "to": "orchard_2026", "relationType": "works_on"});
    memory.pass_days(30);
    memory.done("add_observations", json!({"entityName": "Ada", "contents": ["Is away."]})).await;
    let mut change = ada.clone();
    change["confidence"] = json!(0.4);
    memory.done("update_relation", change).await;
    insta::assert_snapshot!(
        "get_entity_history",
        memory.panels("get_entity_history", json!({"entityName": "Ada"})).await
    );
    insta::assert_snapshot!("get_relation_history", memory.panels("get_relation_history", ada).await);
    insta::assert_snapshot!(
        "get_graph_at_time",
        memory.panels("get_graph_at_time", json!({"timestamp": 1_800_000_000_000_i64})).await
    );
    memory.pass_days(60);
    insta::assert_snapshot!("get_decayed_graph", memory.panels("get_decayed_graph", json!({})).await);
}

#[tokio::test]
async fn a_time_is_a_number_of_milliseconds_or_iso_8601() {
    let memory = garden().await;
    for time in [
        json!(1_800_000_000_000_i64),
        json!("1800000000000"),
        json!("2027-01-15T08:00:00Z"),
        json!("2027-01-15T08:00:00.000Z"),
        json!("2027-01-15T10:00:00+02:00"),
        json!("2027-01-15T08:00"),
    ] {
        let graph = memory.done("get_graph_at_time", json!({"timestamp": time})).await;
        assert_eq!(graph["timestamp"], "2027-01-15T08:00:00.000Z", "{time}");
        let decayed = memory.done("get_decayed_graph", json!({"reference_time": time})).await;
        assert_eq!(decayed["referenceTime"], "2027-01-15T08:00:00.000Z", "{time}");
    }
    let error = memory.fails("get_graph_at_time", json!({"timestamp": "last Tuesday"})).await;
    assert_eq!(
        error["message"],
        "Invalid input: timestamp must be milliseconds since 1970 or an ISO 8601 time such as 2026-01-31T12:00:00Z"
    );
}

#[tokio::test]
async fn the_definitions_of_the_tools() {
    let memory = Memory::new();
    insta::assert_json_snapshot!("definitions", definitions(&memory.server).await);
    assert!(!memory.path().exists(), "listing the tools opens nothing");
}

#[tokio::test]
async fn every_tool_answers_alike_at_every_version_of_the_protocol() {
    let key = json!({"from": "Ada", "to": "orchard_2026", "relationType": "works_on"});
    let calls = [
        ("create_entities", json!({"entities": [{"name": "Dee", "entityType": "person"}]})),
        ("create_relations", json!({"relations": [{"from": "Dee", "to": "Bo", "relationType": "knows"}]})),
        ("add_observations", json!({"entityName": "Dee", "contents": ["Swims."]})),
        ("read_graph", json!({})),
        ("search_nodes", json!({"query": "trees"})),
        ("open_nodes", json!({"names": ["Ada", "Nobody"]})),
        ("get_relation", key.clone()),
        ("update_relation", json!({"from": "Bo", "to": "Ada", "relationType": "helps", "strength": 0.5})),
        ("semantic_search", json!({"query": "who plants?"})),
        ("get_entity_embedding", json!({"entityName": "Ada"})),
        ("get_entity_history", json!({"entityName": "Dee"})),
        ("get_relation_history", key.clone()),
        ("get_graph_at_time", json!({"timestamp": "2027-01-15T08:00:00.001Z"})),
        ("get_decayed_graph", json!({"referenceTime": 1_800_000_000_000_i64})),
        ("delete_observations", json!({"deletions": [{"entityName": "Dee", "observations": ["Swims."]}]})),
        ("delete_relations", json!({"relations": [key]})),
        ("delete_entities", json!({"entityNames": ["Dee"]})),
    ];
    let mut answers = Vec::new();
    for protocol in Protocol::TESTED {
        let memory = garden().await;
        let client = Client::in_process(&memory.server).protocol(protocol).connect().await.unwrap();
        assert_eq!(client.tools().await.unwrap().len(), calls.len());
        let mut given = Vec::new();
        for (tool, arguments) in &calls {
            let reply = client.call(tool, arguments.clone()).await.unwrap();
            assert_eq!(reply.is_error, *tool == "get_entity_embedding", "{tool}: {}", reply.text());
            given.push((*tool, reply.text(), reply.structured.unwrap()));
        }
        let read = client.read("memory://knowledge-graph").await.unwrap();
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("orchard_2026"));
        let prompt = client.prompt("review-context", json!({})).await.unwrap();
        assert_eq!(prompt["messages"].as_array().unwrap().len(), 2);
        client.close().await;
        answers.push(given);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[1], answers[2]);
}

#[tokio::test]
async fn every_tool_keeps_the_contract() {
    let memory = garden_with(Some(Words::new("words"))).await;
    let key = json!({"from": "Ada", "to": "orchard_2026", "relationType": "works_on"});
    let changed = json!({"from": "Ada", "to": "orchard_2026", "relationType": "works_on", "strength": 0.1});
    let contract = Contract::of(&memory.server)
        .answers("create_entities", json!({"entities": [{"name": "Dee", "entityType": "person"}]}))
        .answers(
            "create_relations",
            json!({"relations": [{"from": "Dee", "to": "Bo", "relationType": "knows"}]}),
        )
        .answers("add_observations", json!({"entityName": "Dee", "contents": ["<!-- kind:graph:v1 -->"]}))
        .answers("delete_observations", json!({"deletions": [{"entityName": "Dee", "observations": ["x"]}]}))
        .answers("delete_relations", json!({"relations": [key]}))
        .answers("create_relations", json!({"relations": [key]}))
        .answers("update_relation", changed)
        .answers("get_relation", key.clone())
        .answers("get_relation_history", key)
        .answers("delete_entities", json!({"entityNames": ["Nobody"]}))
        .answers("read_graph", json!({}))
        .answers("search_nodes", json!({"query": "trees"}))
        .answers("search_nodes", json!({"query": "nothing has this"}))
        .answers("open_nodes", json!({"names": ["Ada"]}))
        .answers("semantic_search", json!({"query": "who plants?"}))
        .answers("get_entity_history", json!({"entityName": "Ada"}))
        .answers("get_graph_at_time", json!({"timestamp": 0}))
        .answers("get_decayed_graph", json!({"halfLifeDays": 1, "minConfidence": 0}))
        .fails("create_entities", json!({"entities": [{"name": "", "entityType": "x"}]}))
        .fails("create_entities", json!({"entities": [{"name": "x"}]}))
        .fails("create_relations", json!({"relations": [{"from": "Adda", "to": "Bo", "relationType": "x"}]}))
        .fails("add_observations", json!({"entityName": "Adda", "contents": ["x"]}))
        .fails("add_observations", json!({"entityName": "Ada", "contents": ["x".repeat(5_001)]}))
        .fails("delete_entities", json!({}))
        .fails("delete_observations", json!({"deletions": "x"}))
        .fails("delete_relations", json!({"relations": [{}]}))
        .fails("get_relation", json!({"from": "Ada", "to": "Bo", "relationType": "hates"}))
        .fails("update_relation", json!({"from": "Ada", "to": "Bo", "relationType": "hates", "strength": 1}))
        .fails("update_relation", json!({"from": "Bo", "to": "Ada", "relationType": "helps"}))
        .fails("update_relation", json!({"from": "Bo", "to": "Ada", "relationType": "helps", "strength": 2}))
        .fails("read_graph", json!({"cursor": "bogus"}))
        .fails("search_nodes", json!({"query": "x", "limit": 0}))
        .fails("open_nodes", json!({"names": 5}))
        .fails("semantic_search", json!({"query": ""}))
        .answers("get_entity_embedding", json!({"entityName": "Ada"}))
        .fails("get_entity_embedding", json!({"entityName": "Adda"}))
        .fails("get_entity_history", json!({"entityName": "Adda"}))
        .fails("get_relation_history", json!({"from": "a", "to": "b", "relationType": "c"}))
        .fails("get_graph_at_time", json!({"timestamp": "soon"}))
        .fails("get_decayed_graph", json!({"halfLifeDays": 0}));
    assert_eq!(contract.problems().await, Vec::<String>::new());
}
