//! Request states of 2026-07-28: forged, expired, replayed, bound to the call.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use diptych::{Cx, Field, NeedsInput, Server, Stop, Text, Toolset, tool};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Delete {
    name: String,
}

/// Deletes only what a person has confirmed, and counts how often it did.
async fn delete(cx: Cx<Arc<AtomicUsize>>, delete: Delete) -> Result<Text, Stop> {
    match cx.answer::<bool>("sure") {
        Some(true) => {
            cx.commit();
            cx.state().fetch_add(1, Ordering::SeqCst);
            Ok(Text::new(format!("Deleted {}.", delete.name)))
        }
        Some(false) => Ok(Text::new("Kept.")),
        None => Err(NeedsInput::new("Sure?", "Really?")
            .key("confirm")
            .field(Field::boolean("sure").person_only()))?,
    }
}

fn server(ask_limit: Duration) -> (Server, Arc<AtomicUsize>) {
    let deleted = Arc::new(AtomicUsize::new(0));
    let tools =
        Toolset::new("files", Arc::clone(&deleted)).with(tool("delete", delete).description("Deletes."));
    let server = Server::builder("files", "0").toolset(tools).ask_limit(ask_limit).strict().build().unwrap();
    (server, deleted)
}

/// Sends one stateless request over a connection of its own.
async fn request(server: &Server, client: &str, name: &str, extra: Value) -> Value {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = {
        let server = server.clone();
        tokio::spawn(async move {
            let _ = server.serve_stream(reader, writer).await;
        })
    };
    let (reader, mut writer) = tokio::io::split(ours);
    let mut params = json!({
        "name": "delete",
        "arguments": {"name": name},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": client, "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}
        }
    });
    params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let mut line = String::new();
    let mut reader = BufReader::new(reader);
    tokio::time::timeout(Duration::from_secs(20), reader.read_line(&mut line)).await.unwrap().unwrap();
    drop((reader, writer));
    serving.await.unwrap();
    serde_json::from_str(&line).unwrap()
}

fn yes(state: &Value) -> Value {
    json!({"requestState": state, "inputResponses": {"confirm": {"action": "accept", "content": {"sure": true}}}})
}

#[tokio::test]
async fn a_confirmed_write_happens_once() {
    let (server, deleted) = server(Duration::from_secs(60));
    let asked = request(&server, "ann", "a.txt", json!({})).await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(asked["result"]["inputRequests"]["confirm"]["method"], "elicitation/create");
    let state = &asked["result"]["requestState"];
    let done = request(&server, "ann", "a.txt", yes(state)).await;
    assert_eq!(done["result"]["content"][0]["text"], "Deleted a.txt.");
    let replayed = request(&server, "ann", "a.txt", yes(state)).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_state_is_worth_nothing_to_another_call() {
    let (server, deleted) = server(Duration::from_secs(60));
    let asked = request(&server, "ann", "a.txt", json!({})).await;
    let state = &asked["result"]["requestState"];
    let tampered = json!(format!("{}x", state.as_str().unwrap()));
    for (client, name, state) in
        [("ann", "b.txt", state), ("bob", "a.txt", state), ("ann", "a.txt", &tampered)]
    {
        let refused = request(&server, client, name, yes(state)).await;
        assert_eq!(refused["error"]["code"], -32602, "{client} {name}");
        assert!(!refused.to_string().contains("HMAC"), "{refused}");
    }
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_expired_state_is_asked_for_afresh() {
    let (server, deleted) = server(Duration::from_millis(20));
    let asked = request(&server, "ann", "a.txt", json!({})).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    let again = request(&server, "ann", "a.txt", yes(&asked["result"]["requestState"])).await;
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_was_not_asked_for_is_not_taken_in() {
    let (server, deleted) = server(Duration::from_secs(60));
    let asked = request(&server, "ann", "a.txt", json!({})).await;
    let state = &asked["result"]["requestState"];
    let smuggled = json!({"requestState": state, "inputResponses": {"confirm": {"action": "accept", "content": {"name": "b.txt", "sure": true}}}});
    let done = request(&server, "ann", "a.txt", smuggled).await;
    assert_eq!(done["result"]["content"][0]["text"], "Deleted a.txt.");
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    let malformed = request(&server, "ann", "c.txt", json!({"inputResponses": {"confirm": 7}})).await;
    assert_eq!(malformed["result"]["resultType"], "input_required");
    let declined =
        request(&server, "ann", "c.txt", json!({"inputResponses": {"confirm": {"action": "decline"}}})).await;
    assert_eq!(declined["result"]["structuredContent"]["kind"], "needsInput:v1");
}
