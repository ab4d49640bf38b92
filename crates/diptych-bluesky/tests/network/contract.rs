//! Every tool held to the contract, and what of the tools does not need a network.

use diptych::Server;
use diptych::client::Client;
use diptych::testing::{Contract, definitions};
use diptych_bluesky::{BlueskyOptions, toolset};
use serde_json::json;

use super::network::{Sky, network};

#[tokio::test]
async fn the_definitions_of_the_tools() {
    let folder = tempfile::tempdir().unwrap();
    let options = BlueskyOptions::new(folder.path().join("data"), folder.path().join("cache"));
    let server = Server::builder("sky", "0.0.0").toolset(toolset(options.clone())).strict().build().unwrap();
    let definitions = definitions(&server).await;
    let text = serde_json::to_string(&definitions).unwrap();
    let retired = ["prompt", "id"].join("_");
    assert!(!text.contains(&retired));
    insta::assert_json_snapshot!("definitions", definitions);
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "listing the tools opens nothing");
}

#[tokio::test]
async fn a_server_that_changes_nothing_still_says_who_is_logged_in() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = BlueskyOptions::new(folder.path().join("data"), folder.path().join("cache"));
    let build = |options: &BlueskyOptions| {
        let builder = Server::builder("sky", "0.0.0").toolset(toolset(options.clone()));
        builder.read_only(true).strict().build().unwrap()
    };
    let names = |server: &Server| {
        let mut names: Vec<String> = server.tools().iter().map(|tool| tool.name().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&build(&options)), ["feed", "profile", "search", "thread"]);
    options.read_only = true;
    let server = build(&options);
    assert_eq!(names(&server), ["feed", "login", "profile", "search", "thread"]);
    let problems = Contract::of(&server)
        .answers("login", json!({"command": "list"}))
        .fails("login", json!({"command": "delete", "handle": "alice.test"}))
        .fails("login", json!({"command": "default", "handle": "alice.test"}))
        .fails("login", json!({"handle": "alice.test", "password": "x"}))
        .problems()
        .await;
    // The others need a network.
    let problems: Vec<&String> = problems.iter().filter(|problem| problem.starts_with("login")).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "reading makes no file");
}

#[tokio::test]
async fn the_list_of_accounts_says_where_each_login_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let account = |letter: &str, login: serde_json::Value| {
        json!({
            "did": format!("did:plc:{}", letter.repeat(24)), "handle": format!("{letter}.test"),
            "service": "https://pds.example.com", "login": login,
        })
    };
    let kept = json!({"accounts": [
        account("a", json!({"method": "oAuth", "keyring": "the name of an item"})),
        account("b", json!({"method": "appPassword", "access": "x", "refresh": "y"})),
    ]});
    std::fs::write(folder.path().join("accounts.json"), kept.to_string()).unwrap();
    let options = BlueskyOptions::new(folder.path(), folder.path().join("cache"));
    let server = Server::builder("sky", "0.0.0").toolset(toolset(options)).strict().build().unwrap();
    let reply = Client::in_process(&server).call("login", json!({"command": "list"})).await.unwrap();
    insta::assert_snapshot!(reply.text());
    let accounts = &reply.structured.unwrap()["accounts"];
    let storage = |place: usize| (accounts[place]["storage"].clone(), accounts[place]["method"].clone());
    assert_eq!(storage(0), (json!("keyring"), json!("oauth")));
    assert_eq!(storage(1), (json!("file"), json!("appPassword")));
}

#[tokio::test]
async fn every_tool_keeps_the_contract() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    sky.log_in("frank").await;
    let own = sky.done("post", json!({"text": "Something to react to"})).await["posts"][0]["uri"].clone();
    network.settle().await;
    let problems = Contract::of(&sky.server)
        .answers("login", json!({"command": "list"}))
        .answers("login", json!({"command": "default", "handle": "erin.test"}))
        .asks("login", json!({}))
        .asks("login", json!({"handle": "erin.test"}))
        .asks("login", json!({"handle": "erin.test", "password": ""}))
        .asks("login", json!({"command": "default"}))
        .fails("login", json!({"handle": "erin.test", "password": "wrong"}))
        .fails("login", json!({"handle": "not a handle"}))
        .fails("login", json!({"handle": "erin.test", "service": "http://10.0.0.1"}))
        .answers("accounts", json!({"action": "list"}))
        .fails("accounts", json!({"action": "sing"}))
        .fails("logout", json!({"handle": "alice.test"}))
        .answers("profile", json!({"account": "alice.test"}))
        .asks("profile", json!({}))
        .fails("profile", json!({"account": "nobody.test"}))
        .answers("thread", json!({"post": network.post("nasty")}))
        .answers("thread", json!({"post": network.post("orphan")}))
        .asks("thread", json!({}))
        .asks("thread", json!({"post": "@a/…zzzz"}))
        .fails("thread", json!({"post": "https://example.com/x"}))
        .answers("search", json!({"account": "alice.test", "query": "markdown"}))
        .answers("search", json!({"account": "everyone", "query": "LLM"}))
        .fails("search", json!({"account": "nobody.test", "query": "x"}))
        .answers("feed", json!({}))
        .answers("feed", json!({"feed": "bob.test"}))
        .answers("feed", json!({"feed": network.at("/feed")}))
        .fails("feed", json!({"limit": 0}))
        .fails("feed", json!({"feed": "nothing goes by this name"}))
        .answers("post", json!({"text": "The contract is kept"}))
        .fails("post", json!({"text": ""}))
        .fails("post", json!({}))
        .answers("react", json!({"like": [own]}))
        .asks("react", json!({"delete": [own]}))
        .fails("react", json!({}))
        .answers("logout", json!({"handle": "frank.test"}))
        .problems()
        .await;
    // Logging out works once, and the check calls in three formats.
    let repeated = "logout {\"handle\":\"frank.test\"";
    let problems: Vec<&String> = problems.iter().filter(|problem| !problem.starts_with(repeated)).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}
