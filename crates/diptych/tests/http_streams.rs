//! Streams over real sockets that lose their connection: a client comes back and hears the rest.
#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may stop where it stands, and `json!({})` reads better than a reference to it"
)]

mod http_support;

use std::sync::Arc;
use std::time::Duration;

use diptych::{
    Cx, Field, Http, Level, NeedsInput, NoArguments, OrAsk as _, Server, Stop, Text, Toolset, tool,
};
use http_support::Probe;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Lets a test hold calls open.
type Latch = Arc<Semaphore>;

async fn tell(cx: Cx<Latch>, _: NoArguments) -> Result<Text, Stop> {
    cx.log(Level::Info, "first").await;
    cx.state().acquire().await.expect("open").forget();
    cx.log(Level::Info, "second").await;
    cx.state().acquire().await.expect("open").forget();
    Ok(Text::new("the end"))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greeting {
    /// Whom to greet.
    name: Option<String>,
}

async fn greet(_cx: Cx<Latch>, greeting: Greeting) -> Result<Text, Stop> {
    let name = greeting
        .name
        .or_ask(|| NeedsInput::new("Name Needed", "Whom shall I greet?").field(Field::text("name")))?;
    Ok(Text::new(format!("Hello, {name}!")))
}

async fn probe(http: Http) -> (Probe, Latch) {
    let latch = Arc::new(Semaphore::new(0));
    let toolset = Toolset::new("test", Arc::clone(&latch))
        .with(tool("tell", tell).description("Tells in parts.").read_only())
        .with(tool("greet", greet).description("Greets.").read_only());
    let server = Server::builder("test", "0.0.0").toolset(toolset).strict().build().expect("a server");
    (Probe::start(&server, http).await, latch)
}

/// A client of one session, which reads streams event by event.
struct Reader<'a> {
    probe: &'a Probe,
    session: String,
    version: &'a str,
}

impl<'a> Reader<'a> {
    async fn new(probe: &'a Probe, version: &'a str, capabilities: Value) -> Self {
        Reader { probe, session: probe.session_of(version, capabilities, None).await, version }
    }

    async fn send(&self, message: Value) -> Response {
        let request = self.probe.in_session(&self.session, &message);
        request.header("mcp-protocol-version", self.version).send().await.unwrap()
    }

    async fn call(&self, tool: &str) -> Response {
        self.send(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool}})).await
    }

    async fn come_back(&self, last: &str) -> Response {
        let request = self.probe.get("/mcp").header("accept", "text/event-stream");
        let request = request.header("mcp-session-id", &self.session).header("last-event-id", last);
        request.header("mcp-protocol-version", self.version).send().await.unwrap()
    }
}

/// Reads up to the end of an event, and gives its fields.
async fn event(response: &mut Response) -> Event {
    let mut text = String::new();
    // The server writes each event at once, in a chunk of its own.
    while !text.ends_with("\n\n") {
        let chunk = response.chunk().await.unwrap().expect("an event before the end");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    let data = field("data").unwrap();
    Event {
        id: field("id"),
        retry: field("retry"),
        message: if data.is_empty() { Value::Null } else { serde_json::from_str(&data).unwrap() },
    }
}

#[derive(Debug)]
struct Event {
    id: Option<String>,
    retry: Option<String>,
    message: Value,
}

impl Event {
    fn id(&self) -> &str {
        self.id.as_deref().expect("an id")
    }
}

#[tokio::test]
async fn a_client_that_lost_its_connection_hears_the_rest() {
    let (probe, latch) = probe(Http::new()).await;
    let reader = Reader::new(&probe, "2025-11-25", json!({})).await;
    let mut stream = reader.call("tell").await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let empty = event(&mut stream).await;
    assert_eq!((&empty.message, empty.retry.as_deref()), (&Value::Null, Some("1000")));
    let first = event(&mut stream).await;
    assert_eq!(first.message["params"]["data"], "first");
    drop(stream);
    latch.add_permits(2);
    // As often as it likes, and from wherever it was.
    for _ in 0..2 {
        let mut stream = reader.come_back(first.id()).await;
        assert_eq!(event(&mut stream).await.message["params"]["data"], "second");
        assert_eq!(event(&mut stream).await.message["result"]["structuredContent"]["text"], "the end");
        assert!(stream.chunk().await.unwrap().is_none(), "nothing comes after the answer");
    }
    let mut stream = reader.come_back(empty.id()).await;
    assert_eq!(event(&mut stream).await.message["params"]["data"], "first");
}

#[tokio::test]
async fn only_the_last_connection_is_served() {
    let (probe, latch) = probe(Http::new()).await;
    let reader = Reader::new(&probe, "2025-11-25", json!({})).await;
    let mut old = reader.call("tell").await;
    let empty = event(&mut old).await;
    event(&mut old).await;
    let mut new = reader.come_back(empty.id()).await;
    assert!(old.chunk().await.unwrap().is_none(), "the old connection is closed");
    latch.add_permits(2);
    for expected in ["first", "second"] {
        assert_eq!(event(&mut new).await.message["params"]["data"], expected);
    }
    assert_eq!(event(&mut new).await.message["id"], 7);
}

#[tokio::test]
async fn an_ask_is_heard_again() {
    let (probe, _latch) = probe(Http::new()).await;
    let reader = Reader::new(&probe, "2025-11-25", json!({"elicitation": {}})).await;
    let mut stream = reader.call("greet").await;
    let empty = event(&mut stream).await;
    drop(stream);
    let mut stream = reader.come_back(empty.id()).await;
    let ask = event(&mut stream).await.message;
    assert_eq!(ask["method"], "elicitation/create");
    let answer = json!({"jsonrpc": "2.0", "id": ask["id"], "result": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(reader.send(answer).await.status(), StatusCode::ACCEPTED);
    assert_eq!(event(&mut stream).await.message["result"]["structuredContent"]["text"], "Hello, Ada!");
}

#[tokio::test]
async fn connections_that_last_too_long_are_closed_where_the_client_knows_how_to_come_back() {
    let (probe, latch) = probe(Http::new().stream_limit(Duration::from_millis(50))).await;
    let reader = Reader::new(&probe, "2025-11-25", json!({})).await;
    let mut stream = reader.call("tell").await;
    event(&mut stream).await;
    let first = event(&mut stream).await;
    assert!(stream.chunk().await.unwrap().is_none(), "closed before the answer");
    latch.add_permits(2);
    let mut stream = reader.come_back(first.id()).await;
    assert_eq!(event(&mut stream).await.message["params"]["data"], "second");
    let older = Reader::new(&probe, "2025-06-18", json!({})).await;
    let mut stream = older.call("tell").await;
    let first = event(&mut stream).await;
    assert_eq!(first.message["params"]["data"], "first", "an older client cannot read an empty event");
    tokio::time::sleep(Duration::from_millis(100)).await;
    latch.add_permits(2);
    assert_eq!(event(&mut stream).await.message["params"]["data"], "second");
    assert_eq!(event(&mut stream).await.message["id"], 7);
}

#[tokio::test]
async fn streams_are_kept_from_others_and_gone_with_their_session() {
    let (probe, latch) = probe(Http::new()).await;
    let reader = Reader::new(&probe, "2025-11-25", json!({})).await;
    let mut stream = reader.call("tell").await;
    let empty = event(&mut stream).await;
    let other = Reader::new(&probe, "2025-11-25", json!({})).await;
    assert_eq!(other.come_back(empty.id()).await.text().await.unwrap(), "", "another session hears nothing");
    for unknown in ["9-0", "1-", "-", "one", "18446744073709551616-0"] {
        assert_eq!(reader.come_back(unknown).await.text().await.unwrap(), "", "{unknown}");
    }
    latch.add_permits(2);
    let ended = probe.delete("/mcp").header("mcp-session-id", &reader.session).send().await.unwrap();
    assert!(ended.status().is_success());
    assert_eq!(reader.come_back(empty.id()).await.status(), StatusCode::NOT_FOUND);
}
