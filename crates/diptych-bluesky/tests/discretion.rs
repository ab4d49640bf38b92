//! Secrets stay where they belong: a full login, each way, with everything that anybody gets to see looked through.
//!
//! Its own program, because it reads its own log, at the most talkative level. Needs the network on loopback, as the tests in
//! `network/` do.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, missing_docs, reason = "tests")]

#[allow(dead_code, reason = "shared with the other tests, which use more of it")]
#[path = "network/network.rs"]
mod network;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use network::{Network, Sky, fill_in, network};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tracing_subscriber::filter::{FilterFn, LevelFilter};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// As the binary logs when it is asked to log all it can.
    fn start() -> Self {
        let log = Log::default();
        let writer = log.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .with_filter(FilterFn::new(diptych::is_discreet))
            .with_filter(LevelFilter::TRACE);
        tracing_subscriber::registry().with(layer).init();
        log
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// A client that keeps every byte that the server says.
struct Wire {
    writer: WriteHalf<DuplexStream>,
    reader: BufReader<ReadHalf<DuplexStream>>,
    said: String,
    id: u64,
}

/// What somebody does on the page that they are sent to. The codes that come of it are kept.
#[derive(Clone)]
enum Visit {
    Consent(Network, &'static str, Arc<Mutex<Vec<String>>>),
    Type(Vec<String>),
}

impl Visit {
    fn begin(&self, url: &str) {
        let (visit, url) = (self.clone(), url.to_owned());
        tokio::spawn(async move {
            match visit {
                Visit::Type(words) => drop(fill_in(&url, &words).await),
                Visit::Consent(network, person, codes) => {
                    let about = |what: &str| network.at(&format!("/people/{person}/{what}"));
                    let body = json!({"url": url, "handle": about("handle"), "password": about("password")});
                    let done = network.control("consent", body).await;
                    codes.lock().unwrap().push(done["code"].as_str().unwrap().to_owned());
                }
            }
        });
    }
}

impl Wire {
    fn open(sky: &Sky) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let server = sky.server.clone();
        tokio::spawn(async move { server.serve_stream(reader, writer).await });
        let (reader, writer) = tokio::io::split(ours);
        Wire { writer, reader: BufReader::new(reader), said: String::new(), id: 0 }
    }

    async fn send(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        let heard = tokio::time::timeout(Duration::from_secs(60), self.reader.read_line(&mut line)).await;
        heard.unwrap().unwrap();
        self.said += &line;
        serde_json::from_str(&line).unwrap()
    }

    /// A request, and what is answered to it; pages are visited meanwhile.
    async fn request(&mut self, method: &str, params: Value, visit: Option<&Visit>) -> Value {
        self.id += 1;
        let id = self.id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let heard = self.hear().await;
            if heard["method"] == "elicitation/create" {
                visit.unwrap().begin(heard["params"]["url"].as_str().unwrap());
                self.send(json!({"jsonrpc": "2.0", "id": heard["id"], "result": {"action": "accept"}})).await;
            } else if heard["id"] == id {
                return heard["result"].clone();
            }
        }
    }

    async fn greet(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25", "clientInfo": {"name": "discretion", "version": "0"},
            "capabilities": {"elicitation": {"form": {}, "url": {}}},
        });
        self.request("initialize", params, None).await;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        self.request("logging/setLevel", json!({"level": "debug"}), None).await;
        self.request("tools/list", json!({}), None).await;
    }

    async fn call(&mut self, tool: &str, arguments: Value, visit: Option<&Visit>) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": tool}});
        self.request("tools/call", params, visit).await["structuredContent"].clone()
    }

    /// A call of a client without sessions. What its states say is kept as if it had been said.
    async fn call_alone(&mut self, tool: &str, arguments: Value, visit: &Visit) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "discretion", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
        }});
        for states in 0..5 {
            let result = self.request("tools/call", params.clone(), None).await;
            let Some(state) = result["requestState"].as_str() else {
                assert!(states > 0, "{result}");
                return result["structuredContent"].clone();
            };
            let read: Vec<Vec<u8>> = state.split('.').filter_map(|part| BASE64.decode(part).ok()).collect();
            assert!(!read.is_empty(), "a state that cannot be looked into: {state}");
            for part in read {
                self.said += &String::from_utf8_lossy(&part);
            }
            params["requestState"] = json!(state);
            for (key, asked) in result["inputRequests"].as_object().unwrap() {
                visit.begin(asked["params"]["url"].as_str().unwrap());
                params["inputResponses"][key] = json!({"action": "accept"});
            }
        }
        panic!("it never ends");
    }
}

/// The secrets that are kept of all logins.
fn kept(sky: &Sky, secrets: &mut BTreeSet<String>) {
    for account in sky.stored()["accounts"].as_array().unwrap() {
        for name in ["access", "refresh", "key"] {
            secrets.extend(account["login"][name].as_str().map(str::to_owned));
        }
    }
}

#[tokio::test]
async fn no_secret_of_a_login_is_ever_said() {
    let Some(network) = network() else { return };
    let log = Log::start();
    let sky = Sky::new(&network);
    let codes = Arc::new(Mutex::new(Vec::new()));
    let consent = |person| Visit::Consent(network.clone(), person, Arc::clone(&codes));
    let mut secrets = BTreeSet::new();
    let mut session = Wire::open(&sky);
    session.greet().await;
    let mut alone = Wire::open(&sky);

    // Each way to log in: in the browser, in a session and without one; by argument; on a page, with a typing error.
    let done = session.call("login", json!({"handle": "alice.test"}), Some(&consent("alice"))).await;
    assert_eq!((&done["status"], &done["method"]), (&json!("loggedIn"), &json!("oauth")), "{done}");
    let done = alone.call_alone("login", json!({"handle": "bob.test"}), &consent("bob")).await;
    assert_eq!(done["status"], "loggedIn", "{done}");
    let password = |person: &str| network.at(&format!("/people/{person}/appPassword"));
    let arguments = json!({"handle": "carol.test", "password": password("carol")});
    assert_eq!(session.call("login", arguments, None).await["method"], "appPassword");
    let typed = Visit::Type(vec!["mistyped-secret".to_owned(), password("dave")]);
    let arguments = json!({"handle": "dave.test", "password": ""});
    assert_eq!(session.call("login", arguments, Some(&typed)).await["method"], "appPassword");
    // And ways that do not get there.
    let arguments = json!({"handle": "erin.test", "password": network.at("/people/erin/password")});
    assert_eq!(session.call("login", arguments, None).await["code"], "AUTHENTICATION_ERROR");
    let arguments = json!({"handle": "erin.test", "password": "wrong-wrong-wrong"});
    assert_eq!(session.call("login", arguments, None).await["code"], "AUTHENTICATION_ERROR");
    kept(&sky, &mut secrets);
    assert_eq!(secrets.len(), 10, "two of each app password, three of each grant");

    // The logins are used, renewed both ways, and ended.
    let mut stored = sky.stored();
    for account in stored["accounts"].as_array_mut().unwrap() {
        let expired = network.control("expired", json!({"did": account["did"]})).await["token"].clone();
        let is_oauth = account["login"].get("key").is_some();
        let spoilt = format!("{}x", account["login"]["access"].as_str().unwrap());
        account["login"]["access"] = if is_oauth { json!(spoilt) } else { expired };
    }
    std::fs::write(sky.folder.path().join("data/accounts.json"), stored.to_string()).unwrap();
    kept(&sky, &mut secrets);
    for person in ["alice", "bob", "carol", "dave"] {
        let arguments = json!({"account": format!("{person}.test"), "limit": 1});
        assert_eq!(session.call("feed", arguments, None).await["kind"], "feed:v1", "{person}");
    }
    let before = secrets.len();
    kept(&sky, &mut secrets);
    assert_eq!(secrets.len(), before + 8, "every token was renewed");
    session.call("login", json!({"command": "list"}), None).await;
    for person in ["alice", "carol"] {
        let arguments = json!({"command": "delete", "handle": format!("{person}.test")});
        assert_eq!(session.call("login", arguments, None).await["removed"], format!("{person}.test"));
    }

    // What must not be anywhere.
    secrets.extend(["mistyped-secret", "wrong-wrong-wrong"].map(str::to_owned));
    for person in ["alice", "bob", "carol", "dave", "erin"] {
        secrets.insert(network.at(&format!("/people/{person}/password")));
        secrets.insert(password(person));
    }
    let codes = codes.lock().unwrap().clone();
    assert!(codes.len() == 2 && codes.iter().all(|code| code.len() > 10), "{}", codes.len());
    secrets.extend(codes);
    let log = log.text();
    let said = [session.said.as_str(), alone.said.as_str()].concat();
    assert!(log.contains("TRACE") && log.contains("DEBUG"), "the log was as talkative as it can be");
    assert!(said.contains("/oauth/authorize") && said.contains("alice.test"));
    let retired = ["prompt", "id"].join("_");
    for (place, text) in [("log", &log), ("messages", &said)] {
        let found = secrets.iter().filter(|secret| text.contains(secret.as_str())).count();
        assert_eq!(found, 0, "secrets in the {place}");
        assert!(!text.contains(&retired), "in the {place}");
    }
    // Whatever is signed or encoded as tokens are.
    assert!(!log.contains("eyJ"), "something like a token is in the log");
}
