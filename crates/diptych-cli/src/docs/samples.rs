//! What the tools really answer, for the reference: one call each, on a server that starts out empty, at a time that
//! is always the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use diptych::Server;
use diptych::client::Client;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::exit::{Failure, Outcome};
use crate::{connection, toolsets};

/// The calls, in the order in which they are made: later ones lean on what earlier ones left.
const CALLS: &[(&str, &str)] = &[
    ("search_patterns", r#"{"q": "retry with backoff", "limit": 2, "limitCards": 1}"#),
    ("get_pattern", r#"{"id": "effect-all"}"#),
    (
        "create_entities",
        r#"{"entities": [
            {"name": "Checkout", "entityType": "service", "observations": ["Takes payments", "Written in Rust"]},
            {"name": "Ledger", "entityType": "service", "observations": ["Keeps every booking"]}
        ]}"#,
    ),
    (
        "create_relations",
        r#"{"relations": [{"from": "Checkout", "to": "Ledger", "relationType": "writes_to", "confidence": 0.8}]}"#,
    ),
    (
        "add_observations",
        r#"{"observations": [{"entityName": "Ledger", "contents": ["Moves to a new database in March"]}]}"#,
    ),
    (
        "update_relation",
        r#"{"from": "Checkout", "to": "Ledger", "relationType": "writes_to", "confidence": 0.95}"#,
    ),
    ("read_graph", "{}"),
    ("search_nodes", r#"{"query": "booking"}"#),
    ("open_nodes", r#"{"names": ["Ledger", "Warehouse"]}"#),
    ("get_relation", r#"{"from": "Checkout", "to": "Ledger", "relationType": "writes_to"}"#),
    ("semantic_search", r#"{"query": "payments", "limit": 1}"#),
    ("get_entity_embedding", r#"{"entityName": "Ledger"}"#),
    ("get_entity_history", r#"{"entityName": "Ledger"}"#),
    ("get_relation_history", r#"{"from": "Checkout", "to": "Ledger", "relationType": "writes_to"}"#),
    ("get_graph_at_time", r#"{"timestamp": "2026-01-31T09:03:30Z"}"#),
    ("get_decayed_graph", r#"{"referenceTime": "2026-03-02T09:04:00Z"}"#),
    (
        "delete_observations",
        r#"{"deletions": [{"entityName": "Checkout", "observations": ["Written in Rust"]}]}"#,
    ),
    (
        "delete_relations",
        r#"{"relations": [{"from": "Checkout", "to": "Ledger", "relationType": "writes_to"}]}"#,
    ),
    ("delete_entities", r#"{"entityNames": ["Ledger"]}"#),
];

/// Calls that do not lead to an answer, by the kind of what they lead to.
const OTHERS: &[(&str, &str, &str)] = &[
    ("needsInput:v1", "get_pattern", r#"{"id": "effect-al"}"#),
    ("toolError:v1", "search_patterns", r#"{"q": "retry", "limit": 1000, "difficulty": "hard"}"#),
];

/// When the first call is made: 2026-01-31 at nine, UTC. Each further one comes a minute later.
const BEGIN: i64 = 1_769_850_000_000;
const MINUTE: i64 = 60_000;

/// A call and both panels of its answer.
pub(super) struct Sample {
    pub(super) tool: &'static str,
    pub(super) arguments: Map<String, Value>,
    pub(super) markdown: String,
    pub(super) json: Value,
}

/// The samples of a toolset, by tool; and by kind, those that are no answers.
pub(super) type Taken = BTreeMap<String, Sample>;

/// Where a toolset is tried out: its files go away with it, and its clock only moves when we say so.
pub(super) struct Stage {
    _folder: TempDir,
    clock: Arc<AtomicI64>,
}

/// A server of this toolset alone, and what it stands on.
pub(super) fn stage(toolset: &str) -> Outcome<(Server, Stage)> {
    let folder =
        TempDir::new().map_err(|error| Failure::failed(format!("There is no room for files: {error}.")))?;
    let clock = Arc::new(AtomicI64::new(BEGIN));
    let server = toolsets::alone(toolset, folder.path(), &clock)?;
    Ok((server, Stage { _folder: folder, clock }))
}

impl Stage {
    /// Calls each of the tools once.
    pub(super) async fn take(&self, client: &Client, tools: &[Value]) -> Outcome<Taken> {
        let mut taken = Taken::new();
        let served = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        let calls = CALLS.iter().map(|(tool, arguments)| (*tool, *tool, *arguments));
        for (key, tool, arguments) in calls.chain(OTHERS.iter().copied()).filter(|(_, tool, _)| served(tool))
        {
            let arguments: Map<String, Value> = serde_json::from_str(arguments)
                .map_err(|error| Failure::failed(format!("The sample of {tool} is not JSON: {error}.")))?;
            let mut asked = arguments.clone();
            asked.insert("format".to_owned(), json!("both"));
            let reply = client.call(tool, Value::Object(asked)).await;
            let reply = reply.map_err(|error| connection::failed(&error))?;
            self.clock.fetch_add(MINUTE, Ordering::Relaxed);
            let is_json = |block: &&Value| block["_meta"]["mimeType"] == "application/json";
            let markdown = reply.content.iter().filter(|block| !is_json(block));
            let markdown: Vec<&str> = markdown.filter_map(|block| block["text"].as_str()).collect();
            taken.insert(
                key.to_owned(),
                Sample {
                    tool,
                    arguments,
                    markdown: markdown.join("\n\n"),
                    json: reply.json().unwrap_or_default(),
                },
            );
        }
        // What answers from elsewhere answers differently every time.
        let missing = tools.iter().find(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            tool["annotations"]["openWorldHint"] == false && !taken.contains_key(name)
        });
        match missing {
            Some(tool) => Err(Failure::failed(format!("The tool {} has no sample.", tool["name"]))
                .hint("Add a call of it to `CALLS` in crates/diptych-cli/src/docs/samples.rs.")),
            None => Ok(taken),
        }
    }
}
