//! Logging in: both ways, and every way in which it does not come to that.

use diptych::client::Protocol;
use diptych::client::{Client, Question, Response};
use serde_json::{Value, json};

use super::network::{Asked, Network, Page, Person, Sky, accept, network, web};

/// No secret of the login may be in what a client, a log or a state gets to see.
fn assert_no_secrets(sky: &Sky, network: &Network, person: &str, said: &str) {
    let stored = sky.stored().to_string();
    let mut secrets: Vec<String> = Vec::new();
    for account in sky.stored()["accounts"].as_array().unwrap() {
        for name in ["access", "refresh", "key"] {
            secrets.extend(account["login"][name].as_str().map(str::to_owned));
        }
    }
    assert!(secrets.len() >= 2, "{stored}");
    secrets.push(network.at(&format!("/people/{person}/password")));
    secrets.push(network.at(&format!("/people/{person}/appPassword")));
    for secret in secrets {
        assert!(!said.contains(&secret), "a secret is in {said}");
    }
}

#[tokio::test]
async fn with_an_app_password() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let password = network.at("/people/alice/appPassword");
    let reply =
        sky.call("login", json!({"handle": "alice.test", "password": password, "format": "both"})).await;
    let texts: Vec<&str> = reply.content.iter().map(|block| block["text"].as_str().unwrap()).collect();
    let said = texts.join("\n\n=====\n\n");
    insta::assert_snapshot!("login_with_an_app_password", network.masked(&said));
    assert_no_secrets(&sky, &network, "alice", &said);
    assert!(!sky.stored().to_string().contains(&password), "the password itself is not kept");
    // What was written is what is read: another server, the same folder.
    let timeline = sky.done("feed", json!({"limit": 1})).await;
    assert_eq!(timeline["of"], "@alice.test");
}

#[tokio::test]
async fn in_the_browser() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let person = Person::new(&network, "bob", Page::Consent);
    let reply = sky
        .dial()
        .answered_by(Asked(person.clone()))
        .call("login", json!({"handle": "@bob.test"}))
        .await
        .unwrap();
    assert!(!reply.is_error, "{}", reply.text());
    insta::assert_snapshot!("login_in_the_browser", network.masked(&reply.text()));
    let structured = reply.structured.unwrap();
    assert_eq!(
        (&structured["status"], &structured["method"], &structured["storage"]),
        (&json!("loggedIn"), &json!("oauth"), &json!("file"))
    );
    let asked = person.asked.lock().unwrap().clone();
    assert!(matches!(asked.as_slice(), [Question::Page { .. }]), "{asked:?}");
    assert_no_secrets(&sky, &network, "bob", &format!("{structured} {asked:?}"));
    // The tokens are bound to our key, and are good for reading and writing.
    let timeline = sky.done("feed", json!({"limit": 1})).await;
    assert_eq!(timeline["of"], "@bob.test");
}

#[tokio::test]
async fn in_the_browser_for_a_client_without_sessions() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let person = Person::new(&network, "carol", Page::Consent);
    let dial = sky.dial().protocol(Protocol::V2026_07_28).answered_by(Asked(person.clone()));
    let reply = dial.call("login", json!({"handle": "carol.test"})).await.unwrap();
    assert_eq!(reply.structured.unwrap()["status"], "loggedIn");
}

#[tokio::test]
async fn the_handle_is_asked_for_by_form_and_the_rest_happens_in_the_browser() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let person = Person::new(&network, "dave", Page::Consent)
        .answering(accept(json!({"handle": "not a handle"})))
        .answering(accept(json!({"handle": "dave.test"})));
    let first = sky.dial().answered_by(Asked(person.clone())).call("login", json!({})).await.unwrap();
    assert_eq!(first.structured.unwrap()["code"], "CLIENT_ERROR", "what is not a handle is said to be none");
    let reply = sky.dial().answered_by(Asked(person.clone())).call("login", json!({})).await.unwrap();
    assert_eq!(reply.structured.unwrap()["handle"], "dave.test");
    for question in person.asked.lock().unwrap().iter() {
        if let Question::Form { schema, .. } = question {
            assert!(schema["properties"].get("password").is_none(), "no form asks for a secret");
        }
    }
}

#[tokio::test]
async fn refusals_are_answers() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    for (dial, status) in [(sky.dial().declines(), "declined"), (sky.dial().cancels(), "cancelled")] {
        let reply = dial.call("login", json!({})).await.unwrap();
        let structured = reply.structured.clone().unwrap();
        assert_eq!(
            (reply.is_error, &structured["kind"], &structured["status"]),
            (false, &json!("login:v1"), &json!(status))
        );
    }
    for (page, status) in [(Page::Decline, "declined"), (Page::Cancel, "cancelled"), (Page::Deny, "denied")] {
        let person = Person::new(&network, "erin", page);
        let reply = sky
            .dial()
            .answered_by(Asked(person))
            .call("login", json!({"handle": "erin.test"}))
            .await
            .unwrap();
        let structured = reply.structured.clone().unwrap();
        assert_eq!(
            (&structured["kind"], &structured["status"]),
            (&json!("login:v1"), &json!(status)),
            "{}",
            reply.text()
        );
    }
    assert!(sky.done("login", json!({"command": "list"})).await["accounts"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn a_client_that_cannot_ask_gets_the_link() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let missing = sky.call("login", json!({})).await;
    assert!(missing.is_error);
    assert_eq!(missing.kind().unwrap(), "needsInput:v1");
    insta::assert_snapshot!("login_without_a_handle", missing.text());
    let reply = sky.call("login", json!({"handle": "erin.test"})).await;
    assert!(reply.is_error);
    assert_eq!(reply.kind().unwrap(), "needsInput:v1");
    let message = reply.structured.unwrap()["message"].as_str().unwrap().to_owned();
    let url = message.split(' ').next_back().unwrap().to_owned();
    // The same login, as long as it is under way.
    let again = sky.fails("login", json!({"handle": "erin.test"})).await;
    assert!(again["message"].as_str().unwrap().ends_with(&url));
    let body = json!({"url": url, "handle": "erin.test", "password": network.at("/people/erin/password")});
    let arrived = network.control("consent", body).await;
    assert!(arrived["page"].as_str().unwrap().contains("You are logged in as @erin.test"), "{arrived}");
    let list = sky.done("login", json!({"command": "list"})).await;
    assert_eq!(list["accounts"][0]["handle"], "erin.test");
}

#[tokio::test]
async fn somebody_else_signs_in_on_the_page() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let person = Person::new(&network, "bob", Page::Consent);
    let reply =
        sky.dial().answered_by(Asked(person)).call("login", json!({"handle": "alice.test"})).await.unwrap();
    let error = reply.structured.unwrap();
    assert_eq!(error["code"], "AUTHENTICATION_ERROR", "{error}");
    assert!(sky.done("login", json!({"command": "list"})).await["accounts"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn wrong_and_main_passwords() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let wrong = sky.fails("login", json!({"handle": "alice.test", "password": "aaaa-bbbb-cccc-dddd"})).await;
    assert_eq!((&wrong["code"], &wrong["retryable"]), (&json!("AUTHENTICATION_ERROR"), &json!(false)));
    assert!(!wrong.to_string().contains("aaaa-bbbb"));
    assert!(wrong["details"]["hint"].as_str().unwrap().contains("Never use your main password"));
    let main = network.at("/people/alice/password");
    let refused = sky.fails("login", json!({"handle": "alice.test", "password": main})).await;
    assert_eq!(refused["code"], "AUTHENTICATION_ERROR");
    assert!(refused["message"].as_str().unwrap().contains("main password"), "{refused}");
    assert!(sky.done("login", json!({"command": "list"})).await["accounts"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn the_app_password_is_asked_for_in_private() {
    let Some(network) = network() else { return };
    let password = network.at("/people/frank/appPassword");
    let arguments = json!({"handle": "frank.test", "password": ""});
    // A terminal, which hides what is typed.
    let sky = Sky::new(&network);
    let person = Person::new(&network, "frank", Page::Fail).answering(accept(json!({"password": password})));
    let reply = sky.dial().answered_by(Asked(person.clone())).call("login", arguments.clone()).await.unwrap();
    assert_eq!(reply.structured.unwrap()["method"], "appPassword");
    let asked = person.asked.lock().unwrap().clone();
    let [Question::Form { secrets, message, .. }] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(secrets, &["password"]);
    assert!(message.contains("Do not use your main password"), "{message}");
    // A client of pages: a page of ours, where a typing error is put right without the conversation hearing of it.
    let sky = Sky::new(&network);
    let reply = paged(&sky, &network, Page::Type(vec!["wrong".to_owned(), password.clone()])).await;
    assert_eq!(reply["method"], "appPassword", "{reply}");
    let sky = Sky::new(&network);
    let reply = paged(&sky, &network, Page::Type(vec![String::new()])).await;
    assert_eq!(reply["status"], "denied", "{reply}");
    // A client of forms only is not asked: MCP forbids it.
    let sky = Sky::new(&network);
    let dial = sky.dial().accepts(json!({"password": password}));
    let script = dial.script();
    let reply = dial.call("login", arguments.clone()).await.unwrap();
    assert!(reply.is_error && script.asked().is_empty());
    insta::assert_snapshot!("login_without_a_private_way", reply.text());
    // Unless the setting says otherwise.
    let sky = Sky::with(&network, |options| options.password_form = true);
    let reply = sky.dial().accepts(json!({"password": password})).call("login", arguments).await.unwrap();
    assert_eq!(reply.structured.unwrap()["method"], "appPassword");
}

/// A client that opens pages but has no forms for secrets.
async fn paged(sky: &Sky, network: &Network, page: Page) -> Value {
    let person = Person::new(network, "frank", page);
    let client = sky.dial().protocol(Protocol::V2026_07_28).answered_by(Asked(person));
    client.call("login", json!({"handle": "frank.test", "password": ""})).await.unwrap().structured.unwrap()
}

#[tokio::test]
async fn transport_faults_fall_back_to_the_payload() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let at_the_handle = sky.dial().fails().call("login", json!({})).await.unwrap();
    assert!(at_the_handle.is_error);
    assert_eq!(at_the_handle.kind().unwrap(), "needsInput:v1");
    let person = Person::new(&network, "frank", Page::Fail).answering(Response::Fail);
    let arguments = json!({"handle": "frank.test", "password": ""});
    let at_the_secret = sky.dial().answered_by(Asked(person)).call("login", arguments).await.unwrap();
    assert!(at_the_secret.is_error);
    assert_eq!(at_the_secret.kind().unwrap(), "needsInput:v1");
    assert!(at_the_secret.text().contains("Do not use your main password"), "{}", at_the_secret.text());
    let person = Person::new(&network, "frank", Page::Fail);
    let at_the_page =
        sky.dial().answered_by(Asked(person)).call("login", json!({"handle": "frank.test"})).await.unwrap();
    assert!(
        at_the_page.is_error && at_the_page.text().contains("/oauth/authorize"),
        "{}",
        at_the_page.text()
    );
}

#[tokio::test]
async fn expired_tokens_are_renewed_and_rotated() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let before = sky.stored();
    let expired = network.control("expired", json!({"did": network.did("erin")})).await;
    tamper(&sky, "access", expired["token"].as_str().unwrap());
    assert_eq!(sky.done("feed", json!({"limit": 1})).await["of"], "@erin.test");
    let after = sky.stored();
    let tokens = |stored: &Value| stored["accounts"][0]["login"].clone();
    assert_ne!(tokens(&before)["refresh"], tokens(&after)["refresh"], "the token that renews was rotated");
    assert_ne!(tokens(&after)["access"], expired["token"]);

    // OAuth: a token that the service does not take is renewed too, many at once and only once.
    let sky = Sky::new(&network);
    let person = Person::new(&network, "erin", Page::Consent);
    sky.dial().answered_by(Asked(person)).call("login", json!({"handle": "erin.test"})).await.unwrap();
    let before = sky.stored();
    let broken = tokens(&before)["access"].as_str().unwrap().to_owned() + "x";
    tamper(&sky, "access", &broken);
    let calls = (0..5).map(|_| sky.done("feed", json!({"limit": 1})));
    for timeline in futures_util::future::join_all(calls).await {
        assert_eq!(timeline["of"], "@erin.test");
    }
    let after = sky.stored();
    assert_ne!(tokens(&before)["refresh"], tokens(&after)["refresh"]);
    assert_eq!(tokens(&before)["key"], tokens(&after)["key"], "the key stays");
}

/// Changes a secret in the store, as time would.
fn tamper(sky: &Sky, name: &str, value: &str) {
    let mut stored = sky.stored();
    stored["accounts"][0]["login"][name] = json!(value);
    std::fs::write(sky.folder.path().join("data/accounts.json"), stored.to_string()).unwrap();
}

#[tokio::test]
async fn revoked_logins_say_so() {
    let Some(network) = network() else { return };
    // An app password that is taken back.
    let session = network.session("frank").await;
    let made = network
        .procedure(&session, "com.atproto.server.createAppPassword", json!({"name": "short-lived"}))
        .await;
    let sky = Sky::new(&network);
    sky.done("login", json!({"handle": "frank.test", "password": made["password"]})).await;
    network.procedure(&session, "com.atproto.server.revokeAppPassword", json!({"name": "short-lived"})).await;
    let expired = network.control("expired", json!({"did": network.did("frank")})).await;
    tamper(&sky, "access", expired["token"].as_str().unwrap());
    let error = sky.fails("feed", json!({})).await;
    assert_eq!((&error["code"], &error["retryable"]), (&json!("AUTHENTICATION_ERROR"), &json!(false)));
    assert!(error["details"]["hint"].as_str().unwrap().contains("login again"), "{error}");
    // A grant whose tokens are used up.
    let sky = Sky::new(&network);
    let person = Person::new(&network, "frank", Page::Consent);
    sky.dial().answered_by(Asked(person)).call("login", json!({"handle": "frank.test"})).await.unwrap();
    let login = sky.stored()["accounts"][0]["login"].clone();
    tamper(&sky, "access", &format!("{}x", login["access"].as_str().unwrap()));
    tamper_refresh(&sky);
    assert_eq!(sky.fails("feed", json!({})).await["code"], "AUTHENTICATION_ERROR");
}

fn tamper_refresh(sky: &Sky) {
    let refresh = sky.stored()["accounts"][0]["login"]["refresh"].as_str().unwrap().to_owned();
    tamper(sky, "refresh", &format!("{}x", &refresh[..refresh.len() - 1]));
}

#[tokio::test]
async fn two_accounts() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "alice").await;
    sky.log_in("carol").await;
    insta::assert_snapshot!("accounts", sky.panels("login", json!({"command": "list"})).await);
    assert_eq!(sky.done("feed", json!({"limit": 1})).await["of"], "@alice.test");
    assert_eq!(sky.done("feed", json!({"limit": 1, "account": "carol.test"})).await["of"], "@carol.test");
    assert_eq!(sky.fails("feed", json!({"account": "bob.test"})).await["code"], "AUTHENTICATION_ERROR");
    let asked = sky.call("login", json!({"command": "default"})).await;
    assert_eq!((asked.is_error, asked.kind().unwrap().as_str()), (true, "needsInput:v1"));
    sky.done("login", json!({"command": "default", "handle": "@carol.test"})).await;
    assert_eq!(sky.done("feed", json!({"limit": 1})).await["of"], "@carol.test");
    let refresh = sky.stored()["accounts"][1]["login"]["refresh"].as_str().unwrap().to_owned();
    let left = sky.done("login", json!({"command": "delete", "handle": "carol.test"})).await;
    assert_eq!(
        (&left["removed"], &left["accounts"][0]["handle"]),
        (&json!("carol.test"), &json!("alice.test"))
    );
    // The service was told: the token that renews is no longer good.
    let url = format!("{}/xrpc/com.atproto.server.refreshSession", network.at("/pds"));
    let answer = web().post(url).bearer_auth(refresh).send().await.unwrap();
    assert!(!answer.status().is_success());
    // The old names still work.
    assert_eq!(sky.done("accounts", json!({"action": "list"})).await["kind"], "accounts:v1");
    sky.done("accounts", json!({"action": "set-default", "handle": "alice.test"})).await;
    assert_eq!(sky.done("logout", json!({})).await["removed"], "alice.test");
    assert_eq!(sky.fails("logout", json!({})).await["code"], "AUTHENTICATION_ERROR");
}

#[tokio::test]
async fn nothing_of_a_login_has_the_retired_argument() {
    let Some(network) = network() else { return };
    let sky = Sky::new(&network);
    let person =
        Person::new(&network, "alice", Page::Consent).answering(accept(json!({"handle": "alice.test"})));
    let client = Client::in_process(&sky.server).answered_by(Asked(person.clone())).connect().await.unwrap();
    let retired = ["prompt", "id"].join("_");
    let mut said = format!("{:?}", client.tools().await.unwrap());
    let reply = client.call("login", json!({ retired.clone(): "x" })).await.unwrap();
    assert!(!reply.is_error, "one that an old client sends is dropped: {}", reply.text());
    said += &format!("{reply:?} {:?}", person.asked.lock().unwrap());
    said += &format!("{:?}", sky.call("login", json!({})).await);
    assert!(!said.contains(&retired));
    client.close().await;
}
