//! The resources, their subscriptions, the prompts and what completes them.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::time::Duration;

use common::served::{Memory, garden};
use diptych::client::{Client, ClientError, Notice};
use diptych_graph::{GraphOptions, announce, toolset};
use serde_json::{Value, json};

fn body(read: &Value) -> Value {
    serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn the_graph_and_its_entities_can_be_read() {
    let memory = garden().await;
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    let read = client.read("memory://knowledge-graph").await.unwrap();
    assert_eq!(read["contents"][0]["mimeType"], "application/json");
    let graph = body(&read);
    let answer = memory.done("read_graph", json!({})).await;
    assert_eq!((&graph["entities"], &graph["relations"]), (&answer["entities"], &answer["relations"]));
    let ada = body(&client.read("memory://entities/Ada").await.unwrap());
    assert_eq!(ada["entities"][0], answer["entities"][0]);
    assert_eq!(ada["relations"].as_array().unwrap().len(), 2);
    let error = client.read("memory://entities/orchrd_2026").await.unwrap_err();
    let ClientError::Protocol { message, .. } = error else { panic!("{error}") };
    assert_eq!(message, "Entity with name \"orchrd_2026\" not found. Nearest names: \"orchard_2026\".");
    client.close().await;
}

#[tokio::test]
async fn subscribers_hear_of_every_change_and_of_nothing_else() {
    let memory = garden().await;
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    client.subscribe("memory://knowledge-graph").await.unwrap();
    client.subscribe("memory://entities/new%20%2F%20one").await.unwrap();
    let heard =
        || async { tokio::time::timeout(Duration::from_secs(10), client.notice()).await.unwrap().unwrap() };
    let create = json!({"entities": [{"name": "new / one", "entityType": "t"}]});
    client.call("create_entities", create.clone()).await.unwrap();
    assert_eq!(heard().await, Notice::ResourceUpdated("memory://entities/new%20%2F%20one".into()));
    assert_eq!(heard().await, Notice::ResourceUpdated("memory://knowledge-graph".into()));
    // Neither of these changes anything.
    client.call("create_entities", create).await.unwrap();
    client.call("delete_entities", json!({"entityNames": ["Nobody"]})).await.unwrap();
    client.call("add_observations", json!({"entityName": "Ada", "contents": ["Sings."]})).await.unwrap();
    assert_eq!(heard().await, Notice::ResourceUpdated("memory://knowledge-graph".into()));
    client.call("delete_entities", json!({"entityNames": ["new / one"]})).await.unwrap();
    assert_eq!(heard().await, Notice::ResourceUpdated("memory://entities/new%20%2F%20one".into()));
    assert_eq!(heard().await, Notice::ResourceUpdated("memory://knowledge-graph".into()));
    client.close().await;
}

#[tokio::test]
async fn a_day_tells_what_it_has_changed() {
    let memory = garden().await;
    memory.pass_days(1);
    memory.done("add_observations", json!({"entityName": "Ada", "contents": ["Has a ladder."]})).await;
    memory.done("delete_entities", json!({"entityNames": ["Bo"]})).await;
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    let told = body(&client.read("memory://days/2027-01-16").await.unwrap());
    let expected = json!({
        "date": "2027-01-16",
        "entities": [
            {"name": "Ada", "entityType": "person", "change": "changed", "learnt": ["Has a ladder."], "forgotten": []},
            {"name": "Bo", "entityType": "person", "change": "deleted", "learnt": [], "forgotten": []}
        ],
        "relations": [{"from": "Bo", "to": "Ada", "relationType": "helps", "change": "deleted"}]
    });
    assert_eq!(told, expected);
    let quiet = body(&client.read("memory://days/2027-01-17").await.unwrap());
    assert_eq!(quiet, json!({"date": "2027-01-17", "entities": [], "relations": []}));
    let first = body(&client.read("memory://days/2027-01-15").await.unwrap());
    assert_eq!(first["entities"][0]["change"], "created");
    assert_eq!(first["entities"][0]["learnt"].as_array().unwrap().len(), 2);
    let error = client.read("memory://days/yesterday").await.unwrap_err();
    assert!(error.to_string().contains("\"yesterday\" is not a date."), "{error}");
    let days = client.complete_resource("memory://days/{date}", "date", "2027-01", &[]).await.unwrap();
    assert_eq!(days["values"], json!(["2027-01-16", "2027-01-15"]));
    client.close().await;
}

/// Waits for a notice, for as long as the file is looked at every now and then.
async fn next_notice(client: &Client) -> Notice {
    tokio::time::timeout(Duration::from_secs(20), client.notice()).await.unwrap().unwrap()
}

#[tokio::test]
async fn subscribers_hear_of_what_other_processes_write() {
    let memory = garden().await;
    let source = diptych_graph::Memory::from(memory.options.clone());
    let server = diptych::Server::builder("watched", "0").toolset(toolset(source.clone())).build().unwrap();
    let task = announce(&server, &source);
    let client = Client::in_process(&server).connect().await.unwrap();
    for uri in ["memory://entities/Ada", "memory://entities/Bo", "memory://days/2027-01-15"] {
        client.subscribe(uri).await.unwrap();
    }
    client.subscribe("memory://knowledge-graph").await.unwrap();
    // The watcher has looked once when it has seen every subscription; only then is a change one.
    tokio::time::sleep(Duration::from_millis(1_500)).await;

    // `memory` is another server on the same file.
    memory.done("add_observations", json!({"entityName": "Ada", "contents": ["Swims."]})).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(next_notice(&client).await);
    }
    heard.sort_by_key(|notice| format!("{notice:?}"));
    let expected = ["memory://days/2027-01-15", "memory://entities/Ada", "memory://knowledge-graph"];
    assert_eq!(heard, expected.map(|uri| Notice::ResourceUpdated(uri.into())), "Bo has not changed");

    // Another project is no business of these subscribers; the next change of theirs is what they hear of.
    let kitchen = Memory::with(25_000, |options| {
        options.database = memory.path();
        options.project = "kitchen".into();
    });
    kitchen.done("create_entities", json!({"entities": [{"name": "Ada", "entityType": "cook"}]})).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    memory.done("add_observations", json!({"entityName": "Bo", "contents": ["Dives."]})).await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(next_notice(&client).await);
    }
    assert!(heard.contains(&Notice::ResourceUpdated("memory://entities/Bo".into())), "{heard:?}");
    assert!(!heard.contains(&Notice::ResourceUpdated("memory://entities/Ada".into())), "{heard:?}");
    client.close().await;
    task.abort();
}

#[tokio::test]
async fn nothing_is_opened_while_nobody_is_subscribed() {
    let folder = tempfile::tempdir().unwrap();
    let source = diptych_graph::Memory::from(GraphOptions::new(folder.path().join("graph.db"), "garden"));
    let server = diptych::Server::builder("watched", "0").toolset(toolset(source.clone())).build().unwrap();
    let task = announce(&server, &source);
    let client = Client::in_process(&server).connect().await.unwrap();
    client.tools().await.unwrap();
    assert!(!folder.path().join("graph.db").exists());
    client.subscribe("memory://knowledge-graph").await.unwrap();
    let opened = async {
        while !folder.path().join("graph.db").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), opened).await.unwrap();
    client.close().await;
    task.abort();
}

#[tokio::test]
async fn names_and_types_are_completed() {
    let memory = garden().await;
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    let names = client.complete_resource("memory://entities/{name}", "name", "OR", &[]).await.unwrap();
    assert_eq!(names["values"], json!(["orchard_2026"]));
    let names = client.complete_prompt("remember-work", "about", "a").await.unwrap();
    assert_eq!(names["values"], json!(["Ada"]));
    let types = client.complete_prompt("get-context", "entityType", "p").await.unwrap();
    assert_eq!(types["values"], json!(["person", "project"]));
    client.close().await;
}

#[tokio::test]
async fn the_prompts_look_into_the_graph() {
    let memory = garden().await;
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    for (name, arguments) in [
        ("init-project", json!({"name": "orchard", "goal": "Apples for all.\n# And pears"})),
        ("get-context", json!({"topic": "apple trees", "entityType": "project"})),
        ("remember-work", json!({"work": "Ada planted ten trees.", "about": "Ada"})),
        ("review-context", json!({})),
    ] {
        let prompt = client.prompt(name, arguments).await.unwrap();
        let messages = prompt["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "instructions and what is known");
        insta::assert_snapshot!(name, messages[1]["content"]["text"].as_str().unwrap());
    }
    let error = client.prompt("review-context", json!({"about": "orchrd_2026"})).await.unwrap_err();
    assert!(error.to_string().contains("Nearest names: \"orchard_2026\""), "{error}");
    client.close().await;
}

#[tokio::test]
async fn the_prompts_of_an_empty_graph() {
    let memory = Memory::new();
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    let prompt = client.prompt("get-context", json!({"topic": "anything"})).await.unwrap();
    assert_eq!(
        prompt["messages"][1]["content"]["text"],
        "What is remembered about this?\n> anything\n\nNothing that matches.\n\n## The graph\n\n0 entities, 0 relations."
    );
    client.close().await;
}
