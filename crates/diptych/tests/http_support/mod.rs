//! A served server and the requests that tests send it, down to their headers.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::needless_pass_by_value, reason = "`json!({})` reads better than a reference to it")]

use std::net::SocketAddr;

use diptych::{Http, ServeError, Server};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server on a port of its own, which ends with the test.
pub(crate) struct Probe {
    pub(crate) address: SocketAddr,
    url: String,
    client: Client,
    shutdown: Option<oneshot::Sender<()>>,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Probe {
    pub(crate) async fn start(server: &Server, http: Http) -> Probe {
        let bound = server.bind_http("127.0.0.1:0".parse().unwrap(), http).await.unwrap();
        let (address, url) = (bound.local_address(), bound.url());
        let (shutdown, told) = oneshot::channel();
        let serving = tokio::spawn(bound.serve(async {
            // A probe that is dropped shuts its server down.
            let _ = told.await;
        }));
        diptych::tls::prepare();
        let client = Client::builder().no_proxy().build().unwrap();
        Probe { address, url, client, shutdown: Some(shutdown), serving }
    }

    pub(crate) fn post(&self) -> RequestBuilder {
        self.client.post(&self.url)
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("http://{}{path}", self.address))
    }

    pub(crate) fn options(&self, path: &str) -> RequestBuilder {
        self.client.request(reqwest::Method::OPTIONS, format!("http://{}{path}", self.address))
    }

    pub(crate) fn put(&self, path: &str) -> RequestBuilder {
        self.client.put(format!("http://{}{path}", self.address))
    }

    pub(crate) fn delete(&self, path: &str) -> RequestBuilder {
        self.client.delete(format!("http://{}{path}", self.address))
    }

    /// The status and the JSON of an answer, from a stream of events too.
    pub(crate) async fn answer(&self, request: RequestBuilder) -> (u16, Value) {
        let response = request.send().await.unwrap();
        (response.status().as_u16(), json(response).await)
    }

    /// Sends a body in chunks, without saying how long it is, and gives all that comes back.
    pub(crate) async fn chunked(&self, body: &str) -> String {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let mut request = String::from(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        );
        for chunk in body.as_bytes().chunks(100) {
            request.push_str(&format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk)));
        }
        request.push_str("0\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// Opens a session, and gives its id.
    pub(crate) async fn session(&self, token: Option<&str>) -> String {
        self.session_of("2025-11-25", json!({}), token).await
    }

    /// Opens a session of a client that has a version and capabilities, and gives its id.
    pub(crate) async fn session_of(&self, version: &str, capabilities: Value, token: Option<&str>) -> String {
        let authorized = |request: RequestBuilder| match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "probe", "version": "1"}}});
        let response = authorized(body(self.post(), &hello)).send().await.unwrap();
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(json(response).await["result"]["serverInfo"]["name"], "test");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let ready = self.in_session(&session, &ready).header("mcp-protocol-version", version);
        assert_eq!(authorized(ready).send().await.unwrap().status().as_u16(), 202);
        session
    }

    /// A message in a session, without its version.
    pub(crate) fn in_session(&self, session: &str, message: &Value) -> RequestBuilder {
        body(self.post(), message).header("mcp-session-id", session)
    }

    pub(crate) fn shut_down(&mut self) {
        if let Some(shutdown) = self.shutdown.take() {
            shutdown.send(()).unwrap();
        }
    }

    /// Waits until the server says that it is going.
    pub(crate) async fn until_draining(&self) {
        while self.get("/healthz").send().await.unwrap().status().as_u16() != 503 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.serving.is_finished()
    }

    pub(crate) async fn ended(&mut self) -> Result<(), ServeError> {
        (&mut self.serving).await.unwrap()
    }
}

fn body(request: RequestBuilder, message: &Value) -> RequestBuilder {
    request
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_string())
}

/// A call that stands alone, as 2026-07-28 has it.
pub(crate) fn stateless_call(probe: &Probe, tool: &str, arguments: Value) -> RequestBuilder {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"}}}});
    body(probe.post(), &message)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
}

/// A call in a session.
pub(crate) fn legacy_call(probe: &Probe, session: &str, tool: &str, arguments: Value) -> RequestBuilder {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}});
    probe.in_session(session, &message).header("mcp-protocol-version", "2025-11-25")
}

/// The message of an answer: its body, or the last event of its stream.
pub(crate) async fn json(response: Response) -> Value {
    let text = response.text().await.unwrap();
    let event = text.lines().rev().find_map(|line| line.strip_prefix("data:"));
    let message = event.unwrap_or(&text).trim();
    if message.is_empty() { Value::Null } else { serde_json::from_str(message).unwrap() }
}
