//! The network, a server for it, and a second client that looks for itself.

use std::sync::Mutex;
use std::time::Duration;

use diptych::Server;
use diptych::client::{Answers, Client, Dial, Question, Reply, Response};
use diptych::resilience::Policy;
use diptych_bluesky::{BlueskyOptions, Secrets, toolset};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// What there is to know about the network.
#[derive(Clone)]
pub(crate) struct Network(pub(crate) Value);

/// The network, if it is there.
pub(crate) fn network() -> Option<Network> {
    let file = std::env::var_os("DIPTYCH_DEVNET")?;
    Some(Network(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()))
}

impl Network {
    pub(crate) fn at(&self, pointer: &str) -> String {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer}")).to_owned()
    }

    pub(crate) fn did(&self, person: &str) -> String {
        self.at(&format!("/people/{person}/did"))
    }

    pub(crate) fn post(&self, name: &str) -> String {
        self.at(&format!("/posts/{name}/uri"))
    }

    /// Asks the network for something besides its protocol.
    pub(crate) async fn control(&self, what: &str, body: Value) -> Value {
        let url = format!("{}/{what}", self.at("/control"));
        let answer = web().post(url).json(&body).send().await.unwrap();
        let status = answer.status();
        let body: Value = answer.json().await.unwrap();
        assert!(status.is_success(), "{what}: {body}");
        body
    }

    /// Waits until the AppView has seen everything.
    pub(crate) async fn settle(&self) {
        self.control("settle", json!({})).await;
    }

    /// A second client: a query, without any of our code.
    pub(crate) async fn query(&self, service: &str, name: &str, query: &[(&str, &str)]) -> Value {
        let url = format!("{}/xrpc/{name}", self.at(service));
        web().get(url).query(query).send().await.unwrap().json().await.unwrap()
    }

    /// A record as the PDS has it.
    pub(crate) async fn record(&self, uri: &str) -> Value {
        let parts: Vec<&str> = uri.strip_prefix("at://").unwrap().split('/').collect();
        let query = [("repo", parts[0]), ("collection", parts[1]), ("rkey", parts[2])];
        self.query("/pds", "com.atproto.repo.getRecord", &query).await
    }

    /// All records of a collection.
    pub(crate) async fn records(&self, person: &str, collection: &str) -> Vec<Value> {
        let did = self.did(person);
        let query = [("repo", did.as_str()), ("collection", collection), ("limit", "100")];
        let list = self.query("/pds", "com.atproto.repo.listRecords", &query).await;
        list["records"].as_array().unwrap().clone()
    }

    /// A session of the second client, with the main password.
    pub(crate) async fn session(&self, person: &str) -> Value {
        let url = format!("{}/xrpc/com.atproto.server.createSession", self.at("/pds"));
        let body = json!({"identifier": self.did(person), "password": self.at(&format!("/people/{person}/password"))});
        web().post(url).json(&body).send().await.unwrap().json().await.unwrap()
    }

    /// A procedure in the name of a session.
    pub(crate) async fn procedure(&self, session: &Value, name: &str, body: Value) -> Value {
        let url = format!("{}/xrpc/{name}", self.at("/pds"));
        let token = session["accessJwt"].as_str().unwrap();
        let answer = web().post(url).bearer_auth(token).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{name}: {}", answer.status());
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default()
    }

    /// What differs from run to run, replaced by what it stands for.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, person) in self.0["people"].as_object().unwrap() {
            text = text.replace(person["did"].as_str().unwrap(), &format!("did:{name}"));
        }
        for (name, key) in [("pds", "/pds"), ("appview", "/appview"), ("plc", "/plc")] {
            text = text.replace(&self.at(key), &format!("http://{name}"));
        }
        // Hashes of content: their own letters, and nothing but them.
        while let Some(start) = text.find("bafk").or_else(|| text.find("bafy")) {
            let length =
                text[start..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len() - start);
            text.replace_range(start..start + length, "CID");
        }
        text
    }
}

/// A server with the toolset, and a folder of its own.
pub(crate) struct Sky {
    pub(crate) network: Network,
    pub(crate) folder: TempDir,
    pub(crate) server: Server,
    options: BlueskyOptions,
}

/// Quick to give up, for tests that make things fail.
pub(crate) fn policy() -> Policy {
    Policy {
        timeout: Duration::from_secs(10),
        attempts: 2,
        first_wait: Duration::from_millis(10),
        jitter: Duration::ZERO,
        ..Policy::default()
    }
}

impl Sky {
    pub(crate) fn new(network: &Network) -> Self {
        Self::with(network, |_| ())
    }

    pub(crate) fn with(network: &Network, change: impl FnOnce(&mut BlueskyOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = BlueskyOptions::new(folder.path().join("data"), folder.path().join("cache"));
        options.appview = network.at("/appview");
        options.plc = network.at("/plc");
        options.service = network.at("/pds");
        options.well_known = network.at("/pds");
        options.dns = String::new();
        options.policy = policy();
        // Nothing of a test belongs into the keyring of whoever runs it.
        options.secrets = Secrets::File;
        change(&mut options);
        Sky { network: network.clone(), folder, server: server(&options), options }
    }

    /// Another process, with the same folders.
    pub(crate) fn restart(&mut self) {
        self.server = server(&self.options);
    }

    /// A service of one's own, which may be killed, and a server that is logged in there.
    pub(crate) async fn alone(network: &Network) -> (Self, Own) {
        let own = Own(network.clone(), network.control("startService", json!({})).await);
        let sky = Self::with(network, |options| {
            options.service = own.at("pds");
            options.well_known = own.at("pds");
            options.policy.open_for = Duration::from_millis(50);
        });
        sky.done("login", json!({"handle": own.at("handle"), "password": own.at("appPassword")})).await;
        (sky, own)
    }

    /// A server on which somebody is logged in.
    pub(crate) async fn of(network: &Network, person: &str) -> Self {
        let sky = Self::new(network);
        sky.log_in(person).await;
        sky
    }

    pub(crate) async fn log_in(&self, person: &str) -> Value {
        let password = self.network.at(&format!("/people/{person}/appPassword"));
        self.done("login", json!({"handle": format!("{person}.test"), "password": password})).await
    }

    /// A word that no other run has used.
    pub(crate) fn mark(&self) -> String {
        self.folder.path().file_name().unwrap().to_string_lossy().replace('.', "")
    }

    pub(crate) fn dial(&self) -> Dial {
        Client::in_process(&self.server)
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.dial().call(tool, arguments).await.unwrap()
    }

    /// The structured panel of a call that must succeed.
    pub(crate) async fn done(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments).await;
        assert!(!reply.is_error, "{}", reply.text());
        reply.structured.unwrap()
    }

    /// The structured panel of a call that must fail.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments).await;
        assert!(reply.is_error, "{}", reply.text());
        reply.structured.unwrap()
    }

    /// Both panels of a call, byte for byte, with only what differs from run to run replaced.
    pub(crate) async fn panels(&self, tool: &str, mut arguments: Value) -> String {
        arguments["format"] = json!("both");
        let reply = self.call(tool, arguments).await;
        let texts: Vec<&str> = reply.content.iter().map(|block| block["text"].as_str().unwrap()).collect();
        self.network.masked(&texts.join("\n\n=====\n\n"))
    }

    /// Everything that is written in the folder, for secrets to be looked for.
    pub(crate) fn stored(&self) -> Value {
        let bytes = std::fs::read(self.folder.path().join("data/accounts.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }
}

fn server(options: &BlueskyOptions) -> Server {
    Server::builder("sky", "0.0.0").toolset(toolset(options.clone())).strict().build().unwrap()
}

/// A PDS in a process of its own, with one account on it and an AppView that is not there.
pub(crate) struct Own(Network, Value);

impl Own {
    pub(crate) fn at(&self, name: &str) -> String {
        self.1[name].as_str().unwrap().to_owned()
    }

    pub(crate) async fn signal(&self, signal: &str) {
        self.0.control("signalService", json!({"id": self.1["id"], "signal": signal})).await;
    }

    /// Starts it again after it was killed: the same service at the same address.
    pub(crate) async fn revive(&self) {
        let again = self.0.control("startService", json!({"id": self.1["id"]})).await;
        assert_eq!(again, self.1);
    }

    /// The posts that it has, for a second client.
    pub(crate) async fn posts(&self) -> Vec<Value> {
        let url = format!("{}/xrpc/com.atproto.repo.listRecords", self.at("pds"));
        let did = self.at("did");
        let query = [("repo", did.as_str()), ("collection", "app.bsky.feed.post")];
        let list: Value = web().get(url).query(&query).send().await.unwrap().json().await.unwrap();
        list["records"].as_array().unwrap().clone()
    }
}

/// Someone who answers forms from a list, and goes to pages with a browser.
pub(crate) struct Person {
    pub(crate) network: Network,
    pub(crate) name: &'static str,
    pub(crate) forms: Mutex<Vec<Response>>,
    pub(crate) page: Page,
    pub(crate) asked: Mutex<Vec<Question>>,
}

/// What they do with a page.
#[derive(Clone)]
pub(crate) enum Page {
    Consent,
    Deny,
    Decline,
    Cancel,
    Fail,
    /// Fill in the form of a page of ours.
    Type(Vec<String>),
}

impl Person {
    pub(crate) fn new(network: &Network, name: &'static str, page: Page) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Person {
            network: network.clone(),
            name,
            forms: Mutex::default(),
            page,
            asked: Mutex::default(),
        })
    }

    pub(crate) fn answering(self: std::sync::Arc<Self>, response: Response) -> std::sync::Arc<Self> {
        self.forms.lock().unwrap().push(response);
        self
    }
}

pub(crate) fn accept(content: Value) -> Response {
    let Value::Object(content) = content else { panic!("not an object") };
    Response::Accept(content)
}

pub(crate) struct Asked(pub(crate) std::sync::Arc<Person>);

impl Answers for Asked {
    fn answer(&self, question: Question) -> BoxFuture<'_, Response> {
        let person = std::sync::Arc::clone(&self.0);
        person.asked.lock().unwrap().push(question.clone());
        Box::pin(async move {
            let Question::Page { url, .. } = question else {
                let mut forms = person.forms.lock().unwrap();
                return if forms.is_empty() { Response::Fail } else { forms.remove(0) };
            };
            let deny = match &person.page {
                Page::Decline => return Response::Decline,
                Page::Cancel => return Response::Cancel,
                Page::Fail => return Response::Fail,
                Page::Consent => false,
                Page::Deny => true,
                Page::Type(words) => {
                    let words = words.clone();
                    tokio::spawn(async move { fill_in(&url, &words).await });
                    return Response::Accept(Map::new());
                }
            };
            // Accepting is only the consent to go there; what happens there takes its time.
            tokio::spawn(async move {
                let body = json!({
                    "url": url, "deny": deny,
                    "handle": person.network.at(&format!("/people/{}/handle", person.name)),
                    "password": person.network.at(&format!("/people/{}/password", person.name)),
                });
                person.network.control("consent", body).await;
            });
            Response::Accept(Map::new())
        })
    }
}

/// Types passwords into a page of ours, one after the other, as a browser would send them.
pub(crate) async fn fill_in(url: &str, words: &[String]) -> String {
    let client = web();
    let mut page = client.get(url).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("Do not use your main password"), "{page}");
    for word in words {
        let form = if word.is_empty() { [("action", "cancel")] } else { [("password", word.as_str())] };
        page = client.post(url).form(&form).send().await.unwrap().text().await.unwrap();
    }
    page
}

/// A client of the network besides the one that is tested.
pub(crate) fn web() -> reqwest::Client {
    diptych::tls::prepare();
    reqwest::Client::new()
}
