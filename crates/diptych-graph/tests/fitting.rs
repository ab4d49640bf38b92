//! Answers that fit, whatever is in the graph, and observations that come back as they were.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeSet;

use common::served::Memory;
use diptych::Format;
use diptych::client::{Client, Reply};
use proptest::prelude::*;
use serde_json::{Value, json};

const HOSTILE: [&str; 9] = [
    "# Not a heading\n\n- nor | a list\n```rust\nfn main() {}\n```\n~~~",
    "ends with a fence\n```",
    "<!-- kind:graph:v1 --> <script>alert(1)</script> [link](javascript:x)",
    "control \u{0}\u{1}\u{7}\u{1b}[31m\u{7f}\u{85} characters",
    "שלום \u{202e}עולם\u{202c} مرحبا",
    "line\rbreaks\r\nof\u{2028}all\u{2029}kinds\u{b}\u{c}",
    "   spaces around and a trailing newline \n",
    "emoji 👩‍👩‍👧‍👦 combining e\u{301} astral 𝒳",
    "> already quoted\n>> twice \\ ` ~ * _",
];

async fn seen(memory: &Memory, name: &str) -> Reply {
    memory.call("open_nodes", json!({"names": [name], "format": "both"})).await
}

#[tokio::test]
async fn observations_come_back_byte_for_byte_and_safely_quoted() {
    let memory = Memory::new();
    let long = "字".repeat(5_000);
    let mut texts: Vec<&str> = HOSTILE.to_vec();
    texts.push(&long);
    memory
        .done(
            "create_entities",
            json!({"entities": [{"name": "It", "entityType": "thing", "observations": texts}]}),
        )
        .await;
    let reply = seen(&memory, "It").await;
    assert_eq!(reply.structured.as_ref().unwrap()["entities"][0]["observations"], json!(texts));
    assert_eq!(reply.json().unwrap(), reply.structured.clone().unwrap());
    let markdown = reply.text();
    assert!(!markdown.contains("<!-- kind:"), "{markdown}");
    for line in markdown.lines().filter(|line| !line.is_empty()) {
        let ours = ["> ", "Found 1 entity.", "## Entities", "`It` (thing)"];
        assert!(line == ">" || ours.iter().any(|start| line.starts_with(start)), "{line:?}");
    }
    let history = memory.done("get_entity_history", json!({"entityName": "It"})).await;
    assert_eq!(history["history"][0]["observations"], json!(texts));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_text_is_kept_and_stays_in_its_quote(text in "(.|\n|\r|`|>|#|<){1,60}", name in "[^\\p{Cc}]{1,40}") {
        prop_assume!(!name.trim().is_empty());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let memory = Memory::new();
            memory.done("create_entities", json!({"entities": [{"name": name, "entityType": "t", "observations": [text]}]})).await;
            let reply = seen(&memory, &name).await;
            let structured = reply.structured.clone().unwrap();
            assert_eq!(&structured["entities"][0]["name"], &json!(name));
            assert_eq!(&structured["entities"][0]["observations"][0], &json!(text));
            let lines = reply.text();
            let outside: Vec<&str> = lines.lines().filter(|line| !line.is_empty() && !line.starts_with('>')).collect();
            assert_eq!(outside.len(), 3, "{lines}");
        });
    }
}

/// Follows the cursors of a tool, in every format in turn, and returns the names and relations seen.
async fn walk(
    memory: &Memory,
    tool: &str,
    mut arguments: Value,
    at: &str,
) -> (Vec<String>, Vec<String>, usize) {
    let (mut names, mut relations, mut pages) = (Vec::new(), Vec::new(), 0);
    for format in Format::ALL.into_iter().cycle() {
        arguments["format"] = json!(format);
        let reply = memory.call(tool, arguments.clone()).await;
        assert!(!reply.is_error, "{}", reply.text());
        let words: usize = reply.content.iter().map(|block| block["text"].as_str().unwrap().len()).sum();
        assert!(words <= 2_000 * 4, "{words}");
        let panel = reply.structured.unwrap();
        let graph = panel.pointer(at).unwrap();
        pages += 1;
        for entity in graph["entities"].as_array().unwrap() {
            names.push(entity["name"].as_str().unwrap().to_owned());
        }
        for relation in graph["relations"].as_array().unwrap() {
            relations.push(format!("{} {}", relation["from"], relation["to"]));
        }
        let Some(cursor) = panel["truncated"]["nextCursor"].as_str() else { break };
        assert!(panel["truncated"]["total"].as_u64() >= panel["truncated"]["shown"].as_u64());
        arguments["cursor"] = json!(cursor);
    }
    (names, relations, pages)
}

async fn large(budget: usize) -> Memory {
    let memory = Memory::with(budget, |_| ());
    let entities: Vec<Value> = (0..120)
        .map(|number| {
            json!({"name": format!("tree {number}"), "entityType": "tree", "observations": [format!("Stands in row {number}. {}", "leaf ".repeat(number % 40))]})
        })
        .collect();
    memory.done("create_entities", json!({"entities": entities})).await;
    let relations: Vec<Value> = (1..120)
        .map(|number| json!({"from": format!("tree {number}"), "to": "tree 0", "relationType": "shades", "confidence": 0.5}))
        .collect();
    memory.done("create_relations", json!({"relations": relations})).await;
    memory
}

#[tokio::test]
async fn a_graph_larger_than_the_budget_is_read_in_pages_without_loss() {
    let memory = large(2_000).await;
    let expected: Vec<String> = (0..120).map(|number| format!("tree {number}")).collect();
    for (tool, arguments, at) in [
        ("read_graph", json!({}), ""),
        ("get_graph_at_time", json!({"timestamp": "2030-01-01"}), "/graph"),
        ("get_decayed_graph", json!({}), "/graph"),
    ] {
        let (names, relations, pages) = walk(&memory, tool, arguments, at).await;
        assert_eq!(names, expected, "{tool}");
        assert_eq!(relations.len(), 119, "{tool}");
        assert!(pages > 3, "{tool}: {pages}");
    }
    let (names, _, pages) = walk(&memory, "search_nodes", json!({"query": "leaf"}), "").await;
    assert!(pages > 3);
    let distinct: BTreeSet<&String> = names.iter().collect();
    // Three in a hundred and twenty have no leaf at all.
    assert_eq!((names.len(), distinct.len()), (117, 117));
    let (names, ..) = walk(&memory, "search_nodes", json!({"query": "", "limit": 7}), "").await;
    assert_eq!(names.len(), 120);
}

#[tokio::test]
async fn the_first_page_says_what_the_whole_is_and_how_to_go_on() {
    let memory = large(2_000).await;
    let reply = memory.call("read_graph", json!({})).await;
    let text = reply.text();
    assert!(text.starts_with("120 entities, 119 relations.\n\n- Entity types: tree 120\n"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("Showing ") && last.contains(" of 239. Call again with `cursor` set to `"),
        "{last}"
    );
    let cursor = reply.structured.unwrap()["truncated"]["nextCursor"].clone();
    let error = memory.fails("search_nodes", json!({"query": "x", "cursor": cursor})).await;
    assert_eq!(error["message"], "This cursor does not belong to this query.");
    assert_eq!(error["code"], "CLIENT_ERROR");
}

#[tokio::test]
async fn a_record_larger_than_the_budget_is_shown_in_part() {
    let memory = Memory::with(2_000, |_| ());
    let observations: Vec<String> = (0..100).map(|number| format!("{number} {}", "x".repeat(400))).collect();
    for format in Format::ALL {
        let name = format!("giant {format:?}");
        let made = memory
            .done("create_entities", json!({"entities": [{"name": name, "entityType": "t", "observations": observations}], "format": format}))
            .await;
        assert_eq!(made["created"], 1, "what was done is never hidden behind an error");
        for (tool, arguments, at) in [
            ("open_nodes", json!({"names": [name]}), "/entities/0"),
            ("search_nodes", json!({"query": name}), "/entities/0"),
            ("semantic_search", json!({"query": name}), "/results/0/entity"),
            ("get_entity_history", json!({"entityName": name}), "/history/0"),
            ("read_graph", json!({}), "/entities/0"),
            ("get_graph_at_time", json!({"timestamp": "2030-01-01"}), "/graph/entities/0"),
        ] {
            let mut arguments = arguments;
            arguments["format"] = json!(format);
            let panel = memory.done(tool, arguments).await;
            let entity = panel.pointer(at).unwrap();
            let shown = entity["observations"].as_array().unwrap().len();
            assert_eq!(entity["omittedObservations"].as_u64().unwrap() as usize + shown, 100, "{tool}");
        }
    }
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    let page = client.read("memory://entities/giant%20Json").await.unwrap();
    let page: Value = serde_json::from_str(page["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(page["entities"][0]["observations"], json!(observations), "the resource has all of it");
    client.close().await;
}

#[tokio::test]
async fn an_entity_with_too_many_relations_says_so() {
    let memory = Memory::with(2_000, |_| ());
    let entities: Vec<Value> =
        (0..300).map(|number| json!({"name": format!("leaf {number}"), "entityType": "leaf"})).collect();
    memory.done("create_entities", json!({"entities": entities})).await;
    let relations: Vec<Value> = (1..300)
        .map(|number| json!({"from": "leaf 0", "to": format!("leaf {number}"), "relationType": "touches"}))
        .collect();
    let made = memory.done("create_relations", json!({"relations": relations})).await;
    assert_eq!(made["created"], 299);
    assert_eq!(made["truncated"]["total"], 299);
    for format in Format::ALL {
        let panel = memory.done("open_nodes", json!({"names": ["leaf 0"], "format": format})).await;
        assert_eq!(panel["moreRelations"], true);
        assert!(!panel["relations"].as_array().unwrap().is_empty());
    }
    let names: Vec<String> = (0..300).map(|number| format!("leaf {number}")).collect();
    let gone = memory.done("delete_entities", json!({"entityNames": names})).await;
    assert_eq!((&gone["deleted"], &gone["relationsDeleted"]), (&json!(300), &json!(299)));
}

#[tokio::test]
async fn a_hundred_creates_in_flight_are_all_kept() {
    let memory = Memory::new();
    let client = Client::in_process(&memory.server).connect().await.unwrap();
    let calls = (0..100).map(|number| {
        client.call(
            "create_entities",
            json!({"entities": [{"name": format!("n{number}"), "entityType": "t", "observations": ["x"]}]}),
        )
    });
    for reply in futures_util::future::join_all(calls).await {
        assert_eq!(reply.unwrap().structured.unwrap()["created"], 1);
    }
    let graph = memory.done("read_graph", json!({})).await;
    assert_eq!(graph["summary"]["entities"], 100);
    assert_eq!(graph["entities"].as_array().unwrap().len(), 100);
    client.close().await;
}
