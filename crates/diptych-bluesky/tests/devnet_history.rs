//! The history of accounts on a real network: repositories that a PDS wrote, changed by a second client.
//!
//! Runs where `DIPTYCH_DEVNET` names the file in which the network on loopback describes itself; the test command's step `bluesky`
//! starts one. Without it there is nothing to test against.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::sync::Mutex;
use std::time::Duration;

use diptych::client::{Client, Reply};
use diptych::resilience::Policy;
use diptych::{Server, ToolError};
use diptych_bluesky::history::{DEFAULT_LIMIT, Export, Histories, Origin, SigningKey};
use diptych_bluesky::{BlueskyOptions, toolset};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

/// The network, as it describes itself.
fn devnet() -> Option<Value> {
    let file = std::env::var_os("DIPTYCH_DEVNET")?;
    Some(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
}

fn server(hosts: &Value, cache: &tempfile::TempDir) -> Server {
    let mut options = BlueskyOptions::new(cache.path().join("data"), cache.path());
    let host = |name: &str| hosts[name].as_str().unwrap().to_owned();
    (options.appview, options.plc, options.service) = (host("appview"), host("plc"), host("pds"));
    (options.well_known, options.dns) = (host("pds"), String::new());
    let quick = Duration::from_millis(10);
    options.policy = Policy { first_wait: quick, jitter: quick, ..Policy::default() };
    Server::builder("sky", "0.0.0").toolset(toolset(options)).build().unwrap()
}

async fn search(server: &Server, account: &str, query: &str) -> Reply {
    let client = Client::in_process(server).connect().await.unwrap();
    let reply = client.call("search", json!({"account": account, "query": query})).await.unwrap();
    client.close().await;
    reply
}

async fn texts(server: &Server, account: &str, query: &str) -> Vec<String> {
    let reply = search(server, account, query).await;
    let answer = reply.json().unwrap();
    assert!(!reply.is_error, "{answer}");
    assert!(answer.get("notices").is_none(), "{answer}");
    let posts = answer["posts"].as_array().unwrap().iter();
    posts.map(|post| post["text"].as_str().unwrap().to_owned()).collect()
}

/// A second client: someone who posts without us.
struct Someone {
    http: reqwest::Client,
    pds: String,
    token: String,
    did: String,
    handle: String,
}

impl Someone {
    async fn new(hosts: &Value) -> Self {
        let pds = hosts["pds"].as_str().unwrap().to_owned();
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
        let handle = format!("h{}.test", nanos % 1_000_000_000_000);
        diptych::tls::prepare();
        let http = reqwest::Client::new();
        let account =
            json!({"handle": handle, "email": format!("{handle}@example.com"), "password": "devnet-only"});
        let address = format!("{pds}/xrpc/com.atproto.server.createAccount");
        let created: Value = http.post(address).json(&account).send().await.unwrap().json().await.unwrap();
        let field = |name: &str| created[name].as_str().unwrap_or_else(|| panic!("{created}")).to_owned();
        Someone { token: field("accessJwt"), did: field("did"), http, pds, handle }
    }

    async fn call(&self, method: &str, mut body: Value) -> Value {
        body["repo"] = self.did.as_str().into();
        body["collection"] = "app.bsky.feed.post".into();
        let address = format!("{}/xrpc/com.atproto.repo.{method}", self.pds);
        let response = self.http.post(address).bearer_auth(&self.token).json(&body).send().await.unwrap();
        let status = response.status();
        let answer: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{method}: {answer}");
        answer
    }

    async fn post(&self, text: &str) -> String {
        let record =
            json!({"$type": "app.bsky.feed.post", "text": text, "createdAt": "2024-05-01T10:00:00.000Z"});
        let written = self.call("createRecord", json!({"record": record})).await;
        written["uri"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
    }

    async fn delete(&self, key: &str) {
        self.call("deleteRecord", json!({"rkey": key})).await;
    }
}

#[tokio::test]
async fn what_is_posted_is_found_and_what_is_deleted_is_forgotten() {
    let Some(hosts) = devnet() else { return };
    let cache = tempfile::tempdir().unwrap();
    let sky = server(&hosts, &cache);
    let someone = Someone::new(&hosts).await;
    // Enough to make a tree of several layers.
    let mut keys = Vec::new();
    for number in 0..30 {
        keys.push(someone.post(&format!("loaf number {number}")).await);
    }
    assert_eq!(search(&sky, &someone.handle, "loaf").await.json().unwrap()["total"], 30);
    // From here on only changes are fetched, and they are proven.
    let zeppelin = someone.post("a zeppelin over the bakery").await;
    assert_eq!(texts(&sky, &someone.handle, "zepelin").await, ["a zeppelin over the bakery"]);
    for key in keys.iter().step_by(2) {
        someone.delete(key).await;
    }
    assert_eq!(texts(&sky, &someone.did, "\"number 4\"").await, Vec::<String>::new());
    assert_eq!(texts(&sky, &someone.did, "\"number 5\"").await, ["loaf number 5"]);
    assert_eq!(search(&sky, &someone.handle, "").await.json().unwrap()["total"], 16);
    someone.delete(&zeppelin).await;
    assert_eq!(texts(&sky, &someone.handle, "zeppelin").await, Vec::<String>::new());
    // Another process starts from the cache, and one without a network answers from it.
    assert_eq!(search(&server(&hosts, &cache), &someone.handle, "loaf").await.json().unwrap()["total"], 15);
    let nowhere = "http://127.0.0.1:9";
    let offline = server(&json!({"appview": nowhere, "plc": nowhere, "pds": nowhere}), &cache);
    let answer = search(&offline, &someone.handle, "loaf").await.json().unwrap();
    assert_eq!(answer["total"], 15, "{answer}");
    assert!(answer["notices"][0].as_str().unwrap().starts_with("Not up to date: "), "{answer}");
}

#[tokio::test]
async fn histories_of_people_on_the_network() {
    let Some(hosts) = devnet() else { return };
    let cache = tempfile::tempdir().unwrap();
    let sky = server(&hosts, &cache);
    for (_, person) in hosts["people"].as_object().unwrap() {
        let handle = person["handle"].as_str().unwrap();
        let reply = search(&sky, handle, "").await;
        assert!(!reply.is_error, "{handle}: {}", reply.text());
    }
}

/// The PDS, keeping count of what it was asked for.
struct Counting<'a> {
    someone: &'a Someone,
    plc: String,
    exports: Mutex<Vec<&'static str>>,
}

impl Counting<'_> {
    async fn get(&self, address: String) -> reqwest::Response {
        self.someone.http.get(address).send().await.unwrap().error_for_status().unwrap()
    }
}

impl Origin for Counting<'_> {
    async fn key(&self, _fresh: bool) -> Result<SigningKey, ToolError> {
        let document: Value =
            self.get(format!("{}/{}", self.plc, self.someone.did)).await.json().await.unwrap();
        let key = document["verificationMethod"][0]["publicKeyMultibase"].as_str().unwrap();
        Ok(SigningKey::parse(key)?)
    }

    async fn latest(&self) -> Result<String, ToolError> {
        let Someone { pds, did, .. } = self.someone;
        let address = format!("{pds}/xrpc/com.atproto.sync.getLatestCommit?did={did}");
        let latest: Value = self.get(address).await.json().await.unwrap();
        Ok(latest["rev"].as_str().unwrap().to_owned())
    }

    async fn export(&self, since: Option<&str>) -> Result<Export, ToolError> {
        self.exports.lock().unwrap().push(if since.is_some() { "changes" } else { "everything" });
        let Someone { pds, did, .. } = self.someone;
        let since = since.map(|since| format!("&since={since}")).unwrap_or_default();
        let response = self.get(format!("{pds}/xrpc/com.atproto.sync.getRepo?did={did}{since}")).await;
        let pieces = response.bytes_stream().map(|piece| Ok(Vec::from(piece.unwrap())));
        Ok(Export { total: None, pieces: pieces.boxed() })
    }
}

#[tokio::test]
async fn the_changes_that_a_server_sends_are_enough() {
    let Some(hosts) = devnet() else { return };
    let folder = tempfile::tempdir().unwrap();
    let someone = Someone::new(&hosts).await;
    let plc = hosts["plc"].as_str().unwrap().to_owned();
    let origin = Counting { someone: &someone, plc, exports: Mutex::default() };
    let histories = Histories::new(folder.path(), DEFAULT_LIMIT);
    let mut keys = Vec::new();
    for round in 0..6 {
        // Later rounds delete, some of it in the same stretch in which it was written.
        for number in 0..5 {
            keys.push(someone.post(&format!("round {round}, post {number}")).await);
        }
        if round > 1 {
            for _ in 0..round {
                someone.delete(&keys.remove(keys.len() / 2)).await;
            }
        }
        let history = histories.current(&someone.did, &origin, &|_, _| Box::pin(async {})).await.unwrap();
        assert!(history.behind.is_none());
        assert_eq!(history.index.len(), keys.len(), "round {round}");
    }
    let exports = origin.exports.into_inner().unwrap();
    assert_eq!(exports, ["everything", "changes", "changes", "changes", "changes", "changes"]);
}
