//! What goes wrong between a client and a server: the server says so and keeps serving, and nothing leaks.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use diptych::client::Client;
use diptych::{Cx, Field, NeedsInput, NoArguments, Server, Stop, Text, Toolset, tool};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// A raw connection: bytes in, lines out.
struct Raw {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    serving: tokio::task::JoinHandle<()>,
}

impl Raw {
    fn open(server: &Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let server = server.clone();
        let serving = tokio::spawn(async move {
            let _ = server.serve_stream(reader, writer).await;
        });
        let (reader, writer) = tokio::io::split(ours);
        Raw { reader: BufReader::new(reader), writer, serving }
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    async fn say(&mut self, message: Value) {
        self.send(format!("{message}\n").as_bytes()).await;
    }

    /// The next message, within a bound.
    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(Duration::from_secs(20), self.reader.read_line(&mut line))
            .await
            .unwrap()
            .unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The answer to the request with this id, past whatever else is said.
    async fn hear_answer(&mut self, id: u64) -> Value {
        for _ in 0..1000 {
            let message = self.hear().await;
            if message["id"] == id {
                return message;
            }
        }
        panic!("no answer to {id}");
    }

    async fn greet(&mut self, capabilities: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "0"}
        }}))
        .await;
        self.hear_answer(0).await;
        self.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    fn call(id: u64, tool: &str, arguments: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    }
}

#[derive(Clone, Default)]
struct Watched(Arc<AtomicUsize>);

/// Counts itself while it runs, and is dropped when it is cancelled.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(counter))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn slow(cx: Cx<Watched>, _: NoArguments) -> Result<Text, Stop> {
    let _running = Running::new(&cx.state().0);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    Ok(Text::new("late"))
}

async fn commits(cx: Cx<Watched>, _: NoArguments) -> Result<Text, Stop> {
    let _running = Running::new(&cx.state().0);
    cx.commit();
    tokio::time::sleep(Duration::from_secs(30)).await;
    Ok(Text::new("done"))
}

async fn ping(_cx: Cx<Watched>, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new("pong"))
}

async fn confirm(cx: Cx<Watched>, _: NoArguments) -> Result<Text, Stop> {
    if !cx.asked("sure") {
        Err(NeedsInput::new("Sure?", "Are you sure?").field(Field::boolean("sure").person_only()))?;
    }
    Ok(Text::new(format!("{:?}", cx.answer::<bool>("sure"))))
}

fn server() -> (Server, Watched) {
    let watched = Watched::default();
    let tools = Toolset::new("faults", watched.clone())
        .with(
            tool("slow", slow)
                .description("Takes an hour.")
                .time_limit(Duration::from_secs(7200))
                .read_only(),
        )
        .with(tool("ping", ping).description("Answers.").read_only())
        .with(tool("commits", commits).description("Acts, and takes its time."))
        .with(tool("confirm", confirm).description("Asks."));
    (Server::builder("faults", "0.0.0").toolset(tools).strict().build().unwrap(), watched)
}

async fn until(counter: &AtomicUsize, wanted: usize) {
    for _ in 0..2000 {
        if counter.load(Ordering::SeqCst) == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("still {} and not {wanted}", counter.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_before_it_is_greeted_is_no_fault() {
    let server = Server::builder("t", "0").build().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}});
    // Whether the greeting is already known to be lost when it is sent depends on the threads.
    for _ in 0..100 {
        let (output, nobody) = tokio::io::duplex(1 << 10);
        drop(nobody);
        let input = std::io::Cursor::new(format!("{hello}\n").into_bytes());
        server.serve_stream(input, output).await.unwrap();
    }
}

#[tokio::test]
async fn a_cancelled_call_stops_and_is_not_answered() {
    let (server, watched) = server();
    let mut raw = Raw::open(&server);
    raw.greet(json!({})).await;
    raw.say(Raw::call(1, "slow", json!({}))).await;
    until(&watched.0, 1).await;
    raw.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    until(&watched.0, 0).await;
    raw.say(Raw::call(2, "ping", json!({}))).await;
    assert_eq!(raw.hear().await["id"], 2, "the cancelled call is not answered");
}

#[tokio::test]
async fn cancelling_a_call_withdraws_its_dialog() {
    let (server, _) = server();
    let mut raw = Raw::open(&server);
    raw.greet(json!({"elicitation": {}})).await;
    raw.say(Raw::call(1, "confirm", json!({}))).await;
    let dialog = raw.hear().await;
    assert_eq!(dialog["method"], "elicitation/create");
    raw.say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    let withdrawal = raw.hear().await;
    assert_eq!(withdrawal["method"], "notifications/cancelled");
    assert_eq!(withdrawal["params"]["requestId"], dialog["id"]);
}

#[tokio::test]
async fn a_client_that_vanishes_takes_its_calls_with_it() {
    let (server, watched) = server();
    let mut raw = Raw::open(&server);
    raw.greet(json!({})).await;
    for id in 1..=3 {
        raw.say(Raw::call(id, "slow", json!({}))).await;
    }
    until(&watched.0, 3).await;
    let Raw { reader, writer, serving } = raw;
    drop((reader, writer));
    tokio::time::timeout(Duration::from_secs(20), serving).await.unwrap().unwrap();
    until(&watched.0, 0).await;
    assert_eq!(Client::in_process(&server).call("ping", json!({})).await.unwrap().text(), "pong");
}

/// The clock stands still except when everybody waits, so that half a minute is nothing.
#[tokio::test(start_paused = true)]
async fn what_was_begun_for_good_is_finished_and_told_when_the_client_has_nothing_more_to_say() {
    let (server, watched) = server();
    let mut raw = Raw::open(&server);
    raw.greet(json!({})).await;
    raw.say(Raw::call(1, "commits", json!({}))).await;
    raw.say(Raw::call(2, "slow", json!({}))).await;
    until(&watched.0, 2).await;
    raw.writer.shutdown().await.unwrap();
    let mut said = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut raw.reader, &mut said).await.unwrap();
    let said: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(
        (&said[0]["id"], &said[0]["error"]["code"]),
        (&json!(2), &json!(-32800)),
        "it could be stopped"
    );
    assert_eq!(
        (&said[1]["id"], &said[1]["result"]["structuredContent"]["text"]),
        (&json!(1), &json!("done"))
    );
    raw.serving.await.unwrap();
    assert_eq!(watched.0.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_call_that_a_shutdown_stops_is_told_so() {
    let (server, watched) = server();
    let mut raw = Raw::open(&server);
    raw.greet(json!({})).await;
    raw.say(Raw::call(1, "slow", json!({}))).await;
    until(&watched.0, 1).await;
    server.stop(Duration::ZERO).await;
    let answer = raw.hear_answer(1).await;
    assert_eq!(answer["error"]["code"], -32800);
    let message = "The server is shutting down and stopped this call. Try again when it is back.";
    assert_eq!(answer["error"]["message"], message);
    tokio::time::timeout(Duration::from_secs(20), raw.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_without_a_session_hears_what_it_listens_to() {
    let (server, _) = server();
    let mut raw = Raw::open(&server);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    raw.say(json!({"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": {
        "notifications": {"toolsListChanged": true, "resourceSubscriptions": ["notes://1"]}, "_meta": meta
    }}))
    .await;
    let accepted = raw.hear().await;
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    server.resource_updated("notes://2");
    server.prompts_changed();
    server.resource_updated("notes://1");
    server.tools_changed();
    let heard = [raw.hear().await, raw.hear().await];
    assert_eq!(heard[0]["method"], "notifications/resources/updated");
    assert_eq!(heard[0]["params"]["uri"], "notes://1");
    assert_eq!(heard[1]["method"], "notifications/tools/list_changed");
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert!(heard.iter().all(|notice| notice["params"]["_meta"][subscription] == 7), "{heard:?}");
    // Calls are answered beside it.
    raw.say(
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "ping", "_meta": meta}}),
    )
    .await;
    let answer = raw.hear_answer(8).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["content"][0]["mimeType"], "text/markdown");
}

#[tokio::test]
async fn known_methods_with_wrong_params_and_unknown_methods_are_told_apart() {
    let (server, _) = server();
    let mut raw = Raw::open(&server);
    raw.greet(json!({})).await;
    let cases = [
        (json!({"method": "tools/call", "params": {"name": "ping", "arguments": [1]}}), -32602),
        (json!({"method": "tools/call", "params": {"arguments": {}}}), -32602),
        (json!({"method": "tools/call", "params": {"name": "pong"}}), -32602),
        (json!({"method": "prompts/get", "params": {"name": 5}}), -32602),
        (json!({"method": "resources/read", "params": {}}), -32602),
        (json!({"method": "tools/list", "params": {"cursor": "bogus"}}), -32602),
        (json!({"method": "no/such/method"}), -32601),
    ];
    for (position, (mut message, code)) in cases.into_iter().enumerate() {
        let id = 10 + position as u64;
        message["jsonrpc"] = json!("2.0");
        message["id"] = json!(id);
        raw.say(message.clone()).await;
        assert_eq!(raw.hear_answer(id).await["error"]["code"], code, "{message}");
    }
    raw.say(Raw::call(99, "ping", json!({}))).await;
    assert_eq!(raw.hear_answer(99).await["result"]["content"][0]["mimeType"], "text/markdown");
}

fn malformed() -> impl Strategy<Value = Vec<u8>> {
    let request = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "ping", "arguments": {}}});
    let bytes = request.to_string().into_bytes();
    prop_oneof![
        prop::collection::vec(any::<u8>().prop_filter("one line", |byte| *byte != b'\n'), 0..200),
        // A real request, cut short or with bytes exchanged.
        (0..bytes.len()).prop_map({
            let bytes = bytes.clone();
            move |end| bytes[..end].to_vec()
        }),
        (0..bytes.len(), any::<u8>().prop_filter("one line", |byte| *byte != b'\n')).prop_map({
            let bytes = bytes.clone();
            move |(at, byte)| {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                bytes
            }
        }),
        // Well-formed JSON of the wrong shape.
        (
            "id|method|params|jsonrpc",
            prop_oneof![
                Just(Value::Null),
                Just(json!([])),
                Just(json!({})),
                Just(json!(1.5)),
                Just(json!("x"))
            ]
        )
            .prop_map(move |(member, value)| {
                let mut request = request.clone();
                request[member] = value;
                request.to_string().into_bytes()
            }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    /// 20 connections with 50 malformed messages each: a thousand.
    #[test]
    fn a_thousand_malformed_messages_do_not_stop_the_server(messages in prop::collection::vec(malformed(), 50)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, _) = server();
            let mut raw = Raw::open(&server);
            raw.greet(json!({})).await;
            for message in messages {
                raw.send(&message).await;
                raw.send(b"\n").await;
            }
            raw.say(Raw::call(4711, "ping", json!({}))).await;
            let answer = raw.hear_answer(4711).await;
            assert_eq!(answer["result"]["content"][0]["text"], "pong");
        });
    }

    /// Arguments of every wrong type are tool errors, never faults of the protocol.
    #[test]
    fn arguments_of_every_type_are_answered(value in prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), any::<i64>().prop_map(Value::from), any::<f64>().prop_map(Value::from), ".{0,20}".prop_map(Value::from), Just(json!([1])), Just(json!({"a": 1}))], name in "format|cursor|[a-z]{1,8}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, _) = server();
            let mut arguments = serde_json::Map::new();
            arguments.insert(name, value);
            let reply = Client::in_process(&server).call("ping", Value::Object(arguments)).await.unwrap();
            assert!(!reply.content.is_empty());
        });
    }
}
