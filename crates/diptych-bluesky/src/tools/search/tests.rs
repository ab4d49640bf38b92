//! The tool, called by a client, against services on loopback that serve synthetic repositories and misbehave on request.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use diptych::Server;
use diptych::client::{Client, Notice, Reply};
use diptych::resilience::Policy;
use diptych::testing::Contract;
use serde_json::{Value, json};

use crate::history::synthetic::{self, Author, PostExtras, Repository};
use crate::reference::POST;
use crate::{BlueskyOptions, toolset};

const ALICE: &str = "did:plc:aliceaaaaaaaaaaaaaaaaaaa";
const BOB: &str = "did:plc:bobbbbbbbbbbbbbbbbbbbbbb";

/// What the services do and what they were asked.
#[derive(Default)]
struct World {
    /// All states of the repository, the current one last.
    states: Vec<Repository>,
    /// The export is cut off after so many bytes.
    cut: Option<usize>,
    /// The identity names another key.
    wrong_key: bool,
    /// Nothing answers for anything.
    dead: bool,
    /// The AppView does not answer.
    blind: bool,
    asked: Vec<String>,
}

type Shared = Arc<Mutex<World>>;

struct Network {
    world: Shared,
    server: Server,
    task: tokio::task::JoinHandle<()>,
    cache: tempfile::TempDir,
    address: String,
}

impl Drop for Network {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Network {
    async fn of(repository: Repository) -> Self {
        Self::with(|_| repository).await
    }

    /// A network of which the repository knows the port.
    async fn with(repository: impl FnOnce(u16) -> Repository) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let repository = repository(listener.local_addr().unwrap().port());
        let world: Shared = Arc::new(Mutex::new(World { states: vec![repository], ..World::default() }));
        let address = format!("http://{}", listener.local_addr().unwrap());
        let state = (Arc::clone(&world), address.clone());
        let router = axum::Router::new().fallback(answer).with_state(state);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let cache = tempfile::tempdir().unwrap();
        let server = server(&address, &cache);
        Network { world, server, task, cache, address }
    }

    /// Another process with the same cache.
    fn restart(&mut self) {
        self.server = server(&self.address, &self.cache);
    }

    fn set(&self, change: impl FnOnce(&mut World)) {
        change(&mut self.world.lock().unwrap());
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.world.lock().unwrap().asked)
    }

    async fn search(&self, arguments: Value) -> Reply {
        let client = Client::in_process(&self.server).connect().await.unwrap();
        let reply = client.call("search", arguments).await.unwrap();
        client.close().await;
        reply
    }

    /// The structured panel of a search in Alice's history.
    async fn find(&self, query: &str) -> Value {
        let reply = self.search(json!({"account": "alice.test", "query": query})).await;
        reply.json().unwrap()
    }
}

fn server(address: &str, cache: &tempfile::TempDir) -> Server {
    let mut options = BlueskyOptions::new(cache.path().join("data"), cache.path());
    for host in [&mut options.appview, &mut options.plc, &mut options.service, &mut options.well_known] {
        address.clone_into(host);
    }
    options.dns = String::new();
    let quick = Duration::from_millis(1);
    options.policy = Policy {
        attempts: 2,
        first_wait: quick,
        jitter: quick,
        timeout: Duration::from_secs(20),
        failures_to_open: 1000,
        ..Policy::default()
    };
    Server::builder("test", "0.0.0").toolset(toolset(options)).build().unwrap()
}

async fn answer(State((world, address)): State<(Shared, String)>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let pairs = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    let parameters: Vec<(String, String)> = pairs.into_owned().collect();
    let mut world = world.lock().unwrap();
    let parameter =
        |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let since =
        parameter("since").and_then(|since| world.states.iter().position(|state| state.rev() == since));
    world.asked.push(format!(
        "{}{}",
        path.trim_start_matches("/xrpc/"),
        if since.is_some() { " since" } else { "" }
    ));
    let gone = || axum::http::StatusCode::SERVICE_UNAVAILABLE.into_response();
    if world.dead || (world.blind && path.contains("app.bsky")) {
        return gone();
    }
    let current = world.states.last().unwrap();
    let json = |value: Value| axum::Json(value).into_response();
    match path.as_str() {
        "/xrpc/com.atproto.identity.resolveHandle" => match parameter("handle") {
            Some("alice.test") => json(json!({"did": ALICE})),
            Some("bob.test") => json(json!({"did": BOB})),
            Some("walter.test") => json(json!({"did": current.author.did})),
            _ => (axum::http::StatusCode::BAD_REQUEST, axum::Json(json!({"error": "HandleNotFound"})))
                .into_response(),
        },
        "/xrpc/com.atproto.sync.getLatestCommit" => json(json!({"cid": "bafy", "rev": current.rev()})),
        "/xrpc/com.atproto.sync.getRepo" => {
            let mut bytes = match since {
                Some(since) => current.changes_since(&world.states[since]).bytes(),
                None => current.export().bytes(),
            };
            bytes.truncate(world.cut.unwrap_or(bytes.len()));
            Body::from(bytes).into_response()
        }
        "/xrpc/app.bsky.feed.getPosts" => {
            let uris = parameters.iter().filter(|(name, _)| name == "uris").map(|(_, uri)| uri);
            json(json!({"posts": uris.filter_map(|uri| view(current, uri)).collect::<Vec<_>>()}))
        }
        "/xrpc/app.bsky.actor.getProfiles" => json(json!({"profiles": [{"did": BOB, "handle": "bob.test"}]})),
        "/xrpc/app.bsky.feed.searchPosts" => {
            let words = parameter("q").unwrap_or_default().to_lowercase();
            let from: usize = parameter("cursor").and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
            let limit: usize = parameter("limit").unwrap().parse().unwrap();
            let uris = current.records.keys().map(|key| format!("at://{ALICE}/{key}"));
            let all: Vec<Value> = uris.filter_map(|uri| view(current, &uri)).collect();
            let says = |post: &&Value| {
                let text = post["record"]["text"].as_str().unwrap().to_lowercase();
                words == "*" || words.split(' ').all(|word| text.contains(word.trim_matches('"')))
            };
            let found: Vec<&Value> = all.iter().filter(says).collect();
            let page: Vec<&&Value> = found.iter().skip(from).take(limit).collect();
            let mut answer = json!({"posts": page});
            if from + limit < found.len() {
                answer["cursor"] = json!((from + limit).to_string());
            }
            json(answer)
        }
        path if path.ends_with(ALICE) => {
            let author = if world.wrong_key { Author::secp256k1(ALICE, 99) } else { current.author.clone() };
            json(json!({
                "id": ALICE,
                "alsoKnownAs": ["at://alice.test"],
                "verificationMethod": [{"id": format!("{ALICE}#atproto"), "publicKeyMultibase": author.public_key()}],
                "service": [{"id": "#atproto_pds", "serviceEndpoint": address}],
            }))
        }
        "/.well-known/did.json" => {
            let id = &current.author.did;
            json(json!({
                "id": id,
                "alsoKnownAs": ["at://walter.test"],
                "verificationMethod": [{"id": "#atproto", "publicKeyMultibase": current.author.public_key()}],
                "service": [{"id": "#atproto_pds", "serviceEndpoint": address}],
            }))
        }
        path if path.ends_with(BOB) => json(json!({"id": BOB, "alsoKnownAs": ["at://bob.test"]})),
        _ => axum::http::StatusCode::NOT_FOUND.into_response(),
    }
}

/// A post as an AppView has it; it likes a post as often as its text is long.
fn view(repository: &Repository, uri: &str) -> Option<Value> {
    let key = uri.strip_prefix(&format!("at://{ALICE}/"))?;
    let record = repository.records.get(key).filter(|_| key.starts_with(POST))?;
    let record = synthetic::json(record);
    Some(json!({
        "uri": uri,
        "cid": "bafyreib2rxk3rh6kzwq",
        "author": {"did": ALICE, "handle": "alice.test", "displayName": "Alice"},
        "likeCount": record["text"].as_str()?.len(),
        "indexedAt": "2024-01-01T00:00:00.000Z",
        "record": record,
    }))
}

fn alice() -> Repository {
    let mut repository = Repository::new(Author::p256(ALICE, 3));
    let mut add = |number: u64, text: &str, extras: PostExtras| {
        let time = format!("2024-03-{:02}T09:30:00Z", number + 1).parse().unwrap();
        let record = synthetic::rich_post(text, time, &extras);
        repository.records.insert(format!("{POST}/{}", synthetic::key_of(number + 350_000)), record);
    };
    let with = PostExtras::default;
    add(0, "Sourdough needs patience", with());
    add(
        1,
        "The crumb\n# of this loaf\nResults: 99",
        PostExtras { images: vec!["a loaf ](x) <b>".to_owned()], ..with() },
    );
    add(2, "Rye, @bob.test", PostExtras { mention: Some(BOB.to_owned()), ..with() });
    add(
        3,
        "You are right",
        PostExtras { parent: Some(format!("at://{BOB}/{POST}/3kaaaaaaaaaaa")), ..with() },
    );
    add(
        4,
        "Sourdough again, and a recipe",
        PostExtras { link: Some("https://example.com".to_owned()), ..with() },
    );
    repository
}

fn texts(answer: &Value) -> Vec<&str> {
    answer["posts"].as_array().unwrap().iter().map(|post| post["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_history_is_searched_and_drawn() {
    let network = Network::of(alice()).await;
    let both = network.search(json!({"account": "@alice.test", "query": "", "format": "both"})).await;
    let settled = |text: &str| text.replace(&network.address, "https://pds.example.com");
    insta::assert_snapshot!(settled(&both.text()));
    let mut json: Value = serde_json::from_str(&settled(&both.json().unwrap().to_string())).unwrap();
    json["asOf"] = "now".into();
    insta::assert_json_snapshot!(json);
    assert_eq!(
        network.asked().iter().filter(|asked| asked.starts_with("com.atproto.sync")).collect::<Vec<_>>(),
        ["com.atproto.sync.getLatestCommit", "com.atproto.sync.getRepo"]
    );
}

#[tokio::test]
async fn every_operator_finds_its_posts() {
    let network = Network::of(alice()).await;
    for (query, expected) in [
        ("sourdough", vec!["Sourdough needs patience", "Sourdough again, and a recipe"]),
        ("sourdogh patience", vec!["Sourdough needs patience"]),
        ("to:bob.test", vec!["You are right", "Rye, @bob.test"]),
        ("from:alice \"needs patience\"", vec!["Sourdough needs patience"]),
        ("from:alice.test has:link", vec!["Sourdough again, and a recipe"]),
        ("/ri?ght$/", vec!["You are right"]),
        ("\"needs patience\" before:2024-03-02", vec!["Sourdough needs patience"]),
        ("likes:>25 -has:image", vec!["Sourdough again, and a recipe"]),
        ("-likes:15 rye", vec!["Rye, @bob.test"]),
    ] {
        let answer = network.find(query).await;
        let mut found = texts(&answer);
        found.sort_unstable();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}: {answer}");
        assert_eq!(answer["total"], expected.len(), "{query}");
    }
    let other = network.find("from:bob.test").await;
    assert_eq!(other["total"], 0);
    assert!(other["notices"][0].as_str().unwrap().contains("history of alice.test alone"), "{other}");
    let unknown = network.find("to:carol.test").await;
    assert!(unknown["notices"][0].as_str().unwrap().contains("carol.test"), "{unknown}");
}

#[tokio::test]
async fn problems_of_a_query_are_violations() {
    let network = Network::of(alice()).await;
    let reply = network.search(json!({"account": "alice.test", "query": "form:bob /(/"})).await;
    assert!(reply.is_error);
    insta::assert_json_snapshot!(reply.json().unwrap());
    let reply = network.search(json!({"account": "not an account", "query": "x"})).await;
    assert!(reply.text().starts_with("Invalid input: account must be"), "{}", reply.text());
    let reply = network.search(json!({"account": "nobody.test", "query": "x"})).await;
    assert_eq!(reply.json().unwrap()["code"], "NOT_FOUND");
}

#[tokio::test]
async fn new_posts_are_found_and_deleted_ones_forgotten() {
    let network = Network::of(alice()).await;
    network.find("sourdough").await;
    network.asked();
    network.set(|world| {
        let mut next = world.states[0].clone();
        next.post(360_000, "A zeppelin over the bakery");
        let first = next.records.keys().next().unwrap().clone();
        next.delete(&first);
        world.states.push(next);
    });
    assert_eq!(texts(&network.find("zeppelin").await), ["A zeppelin over the bakery"]);
    assert_eq!(network.find("patience").await["total"], 0);
    let asked = network.asked();
    assert!(asked.contains(&"com.atproto.sync.getRepo since".to_owned()), "{asked:?}");
    assert!(!asked.contains(&"com.atproto.sync.getRepo".to_owned()), "{asked:?}");
}

#[tokio::test]
async fn a_dead_network_is_answered_from_what_is_known() {
    let mut network = Network::of(alice()).await;
    network.set(|world| world.dead = true);
    let reply = network.search(json!({"account": "alice.test", "query": "rye"})).await;
    assert!(reply.is_error);
    network.set(|world| world.dead = false);
    network.find("rye").await;
    network.set(|world| world.dead = true);
    // The process that knows it, and one that starts without a network.
    for _ in 0..2 {
        let answer = network.find("rye").await;
        assert_eq!(texts(&answer), ["Rye, @bob.test"]);
        let notice = answer["notices"][0].as_str().unwrap();
        assert!(
            notice.starts_with("Not up to date: The service is out of order. Known as of 20"),
            "{notice}"
        );
        assert!(answer["posts"][0].get("likes").is_none());
        let likes = network.search(json!({"account": "alice.test", "query": "likes:3"})).await;
        assert!(likes.text().starts_with("Likes are counted by the network"), "{}", likes.text());
        network.restart();
    }
    // Without an AppView alone, the history is current and the counts are missing.
    network.set(|world| (world.dead, world.blind) = (false, true));
    let answer = network.find("rye").await;
    assert!(answer["notices"][0].as_str().unwrap().starts_with("Likes, reposts and replies are not counted"));
}

#[tokio::test]
async fn what_cannot_be_trusted_is_refused() {
    let size = alice().export().bytes().len();
    for (change, message) in [
        (
            Box::new(move |world: &mut World| world.cut = Some(size / 2)) as Box<dyn FnOnce(&mut World)>,
            "cut short",
        ),
        (Box::new(|world: &mut World| world.wrong_key = true), "signature does not match"),
        (
            Box::new(|world: &mut World| world.states[0].author = Author::p256(BOB, 3)),
            "the repository of another account",
        ),
    ] {
        let network = Network::of(alice()).await;
        network.set(change);
        let reply = network.search(json!({"account": "alice.test", "query": "rye"})).await;
        assert!(reply.is_error);
        assert!(reply.text().contains(message), "{}", reply.text());
        // Nothing of it was kept.
        network.set(|world| *world = World { states: vec![alice()], ..World::default() });
        network.asked();
    }
}

#[tokio::test]
async fn a_key_that_changed_is_looked_up_again() {
    let network = Network::of(alice()).await;
    network.find("rye").await;
    network.set(|world| {
        let mut next = world.states[0].clone();
        next.author = Author::secp256k1(ALICE, 77);
        next.post(360_000, "signed anew");
        world.states.push(next);
    });
    assert_eq!(texts(&network.find("anew").await), ["signed anew"]);
}

#[tokio::test]
async fn pages_follow_each_other() {
    let mut repository = Repository::new(Author::secp256k1(ALICE, 3));
    for number in 0..130 {
        repository.post(number, &format!("loaf number {number}"));
    }
    let network = Network::of(repository).await;
    for account in ["alice.test", "everyone"] {
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..10 {
            let mut arguments = json!({"account": account, "query": "loaf -17", "limit": 40});
            if let Some(cursor) = &cursor {
                arguments["cursor"] = cursor.as_str().into();
            }
            let answer = network.search(arguments).await.json().unwrap();
            seen.extend(texts(&answer).into_iter().map(str::to_owned));
            cursor = answer["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 129, "{account}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 129, "{account}");
    }
    let foreign = json!({"account": "alice.test", "query": "other", "cursor": "3kaaaaaaaaaaa-3-1"});
    assert_eq!(
        network.search(foreign).await.text().lines().next(),
        Some("This cursor does not belong to this search.")
    );
}

#[tokio::test]
async fn the_network_is_searched_with_the_same_language() {
    let network = Network::of(alice()).await;
    for (query, expected) in [
        ("sourdough", 2),
        ("sourdough -recipe", 1),
        ("has:image", 1),
        ("/ri?ght$/", 1),
        ("from:alice.test rye", 1),
        ("from:bob.test", 0),
        (&format!("to:{BOB}"), 2),
        ("to:bob.test", 2),
        ("to:carol.test", 0),
        ("likes:>25", 2),
        ("after:2024-03-05", 1),
        ("\"a recipe\"", 1),
    ] {
        let reply = network.search(json!({"account": "everyone", "query": query})).await;
        let answer = reply.json().unwrap();
        assert_eq!(answer["total"], expected, "{query}: {answer}");
        assert!(reply.text().ends_with(&format!("Results: {expected}")), "{}", reply.text());
    }
    let nothing = network.search(json!({"account": "everyone", "query": " "})).await;
    assert_eq!(nothing.kind().as_deref(), Some("needsInput:v1"));
}

#[tokio::test]
async fn the_contract_is_kept() {
    let network = Network::of(alice()).await;
    let problems = Contract::of(&network.server)
        .answers("search", json!({"account": "alice.test", "query": ""}))
        .answers("search", json!({"account": "everyone", "query": "sourdough"}))
        .asks("search", json!({"account": "everyone", "query": ""}))
        .fails("search", json!({"account": "alice.test", "query": "hass:image"}))
        .problems()
        .await;
    let own: Vec<String> = problems.into_iter().filter(|problem| problem.starts_with("search")).collect();
    assert_eq!(own, Vec::<String>::new());
}

#[tokio::test]
async fn an_account_on_the_web_has_a_history_too() {
    let network = Network::with(|port| {
        let mut repository = Repository::new(Author::secp256k1(&format!("did:web:localhost%3A{port}"), 5));
        repository.post(1, "Baked on a site of my own");
        repository
    })
    .await;
    let did = network.world.lock().unwrap().states[0].author.did.clone();
    for account in [did.as_str(), "@walter.test"] {
        let reply = network.search(json!({"account": account, "query": "baked"})).await;
        assert!(!reply.is_error, "{}", reply.text());
        let answer = reply.json().unwrap();
        assert_eq!(texts(&answer), ["Baked on a site of my own"], "{answer}");
        assert_eq!(answer["posts"][0]["uri"].as_str().unwrap().split('/').nth(2), Some(did.as_str()));
    }
    assert!(network.asked().contains(&"/.well-known/did.json".to_owned()));
}

#[tokio::test]
async fn fetching_a_history_says_how_far_it_is() {
    let mut repository = Repository::new(Author::p256(ALICE, 3));
    for number in 0..4_000 {
        repository.post(number, "Sourdough needs patience, and patience needs sourdough");
    }
    let network = Network::of(repository).await;
    let client = Client::in_process(&network.server).connect().await.unwrap();
    let reply = client.call("search", json!({"account": "alice.test", "query": "sourdough"})).await.unwrap();
    assert!(!reply.is_error, "{}", reply.text());
    let mut heard = Vec::new();
    // All of it was sent before the answer; what else might come is not waited for.
    while let Ok(Some(notice)) = tokio::time::timeout(Duration::from_millis(300), client.notice()).await {
        if let Notice::Progress { done, total, message } = notice {
            assert_eq!(message.as_deref(), Some("Fetching everything that alice.test posted"));
            heard.push((done, total));
        }
    }
    client.close().await;
    assert!(heard.len() >= 3, "{heard:?}");
    assert!(heard.is_sorted_by(|one, next| one.0 < next.0), "it only goes on: {heard:?}");
    let (last, total) = heard[heard.len() - 1];
    assert_eq!(Some(last), total, "it ends where it said it would: {heard:?}");
}
