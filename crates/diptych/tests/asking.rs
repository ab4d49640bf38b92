//! Asks beyond a simple form: pages, secrets, the model, the roots, required arguments, refusals with words.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use diptych::client::{Answers, Client, Protocol, Question, Response};
use diptych::{
    Cx, Field, Markdown, NeedsInput, NoArguments, Present, Roots, Sample, Sampled, Server, Stop, Structured,
    Text, Toolset, tool,
};
use serde_json::{Map, json};
use tokio::sync::watch;

/// Flows that pages finish: by key, whether they have.
#[derive(Default)]
struct Flows(Mutex<HashMap<String, watch::Sender<bool>>>);

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Login {
    message: String,
}

impl Present for Login {
    const KIND: &'static str = "login:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.text(&self.message);
    }
}

fn login_answer(message: &str) -> Login {
    Login { message: message.to_owned() }
}

async fn login(cx: Cx<Flows>, _: NoArguments) -> Result<Login, Stop> {
    let mut flows = cx.state().0.lock().unwrap();
    if let Some(flow) = cx.flow()
        && let Some(finished) = flows.get(flow)
        && *finished.borrow()
    {
        return Ok(login_answer("Logged in."));
    }
    let key = cx.flow().unwrap_or("flow-1").to_owned();
    let finished = flows.entry(key.clone()).or_insert_with(|| watch::channel(false).0);
    let mut finished = finished.subscribe();
    Err(NeedsInput::new("Log In", "Log in in the browser.")
        .visit("https://auth.example/login", key, async move {
            let _ = finished.wait_for(|finished| *finished).await;
        })
        .person()
        .as_error()
        .declined(login_answer("You declined to log in."))
        .cancelled(login_answer("The login was cancelled.")))?
}

async fn secret(cx: Cx<Flows>, _: NoArguments) -> Result<Text, Stop> {
    match cx.answer::<String>("password") {
        Some(password) => Ok(Text::new(format!("{} characters", password.len()))),
        None => Err(NeedsInput::new("Password", "Which password?").field(Field::text("password").secret()))?,
    }
}

async fn others(cx: Cx<Flows>, _: NoArguments) -> Result<Text, Stop> {
    let (Some(greeting), Some(roots)) = (cx.answer::<Sampled>("greeting"), cx.answer::<Roots>("roots"))
    else {
        return Err(NeedsInput::new("Others", "The model and the roots are needed.")
            .sample("greeting", Sample::new("Greet me.", 20).system("Be kind."))
            .roots("roots"))?;
    };
    Ok(Text::new(format!("{} in {}", greeting.text(), roots.roots[0].uri)))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Account {
    account: String,
}

async fn profile(_cx: Cx<Flows>, account: Account) -> Result<Text, Stop> {
    Ok(Text::new(account.account))
}

fn server() -> (Server, Arc<Mutex<Option<watch::Sender<bool>>>>) {
    let flows = Flows::default();
    let (sender, _) = watch::channel(false);
    flows.0.lock().unwrap().insert("flow-1".to_owned(), sender.clone());
    let tools = Toolset::new("asking", flows)
        .with(tool("login", login).description("Logs in."))
        .with(tool("secret", secret).description("Wants a secret."))
        .with(tool("others", others).description("Asks the model."))
        .with(tool("profile", profile).description("Shows.").read_only().when_missing("account", || {
            NeedsInput::new("Account Needed", "Whose profile?").field(Field::text("account"))
        }));
    let server = Server::builder("asking", "0")
        .toolset(tools)
        .structured(Structured::Always)
        .strict()
        .build()
        .unwrap();
    (server, Arc::new(Mutex::new(Some(sender))))
}

/// Accepts every page, and finishes the flow behind it only afterwards.
struct Visitor(Arc<Mutex<Option<watch::Sender<bool>>>>);

impl Answers for Visitor {
    fn answer(&self, question: Question) -> futures_util::future::BoxFuture<'_, Response> {
        assert!(
            matches!(&question, Question::Page { url, .. } if url == "https://auth.example/login"),
            "{question:?}"
        );
        let sender = self.0.lock().unwrap().take();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            sender.unwrap().send(true).unwrap();
        });
        Box::pin(std::future::ready(Response::Accept(Map::new())))
    }
}

#[tokio::test]
async fn accepting_a_page_is_consent_and_the_flow_is_waited_for() {
    for protocol in [Protocol::V2025_11_25, Protocol::V2026_07_28] {
        let (server, sender) = server();
        let dial = Client::in_process(&server).protocol(protocol).answered_by(Visitor(sender));
        let reply = dial.call("login", json!({})).await.unwrap();
        assert_eq!(reply.text(), "Logged in.", "{protocol:?}");
    }
}

/// Accepts every page, counting, and takes more than a minute in the browser.
struct Dawdler(Arc<Mutex<Option<watch::Sender<bool>>>>, Arc<Mutex<usize>>);

impl Answers for Dawdler {
    fn answer(&self, _question: Question) -> futures_util::future::BoxFuture<'_, Response> {
        *self.1.lock().unwrap() += 1;
        if let Some(sender) = self.0.lock().unwrap().take() {
            tokio::spawn(async move {
                tokio::time::sleep(std::time::Duration::from_secs(70)).await;
                sender.send(true).unwrap();
            });
        }
        Box::pin(std::future::ready(Response::Accept(Map::new())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stands_alone_does_not_stay_open_while_a_person_takes_their_time() {
    for (protocol, expected) in [(Protocol::V2025_11_25, 1), (Protocol::V2026_07_28, 3)] {
        let (server, sender) = server();
        let asked = Arc::default();
        let dial = Client::in_process(&server).protocol(protocol);
        let reply =
            dial.answered_by(Dawdler(sender, Arc::clone(&asked))).call("login", json!({})).await.unwrap();
        assert_eq!(reply.text(), "Logged in.", "{protocol:?}");
        assert_eq!(*asked.lock().unwrap(), expected, "{protocol:?}");
    }
}

#[tokio::test]
async fn what_a_refusal_gives_is_a_property_of_the_ask() {
    for protocol in [Protocol::V2025_11_25, Protocol::V2026_07_28] {
        let (server, _) = server();
        let dial = || Client::in_process(&server).protocol(protocol).opens_pages();
        let reply = dial().declines().call("login", json!({})).await.unwrap();
        assert_eq!(
            (reply.kind().as_deref(), reply.text().as_str()),
            (Some("login:v1"), "You declined to log in.")
        );
        let reply = dial().cancels().call("login", json!({"format": "json"})).await.unwrap();
        assert_eq!(reply.json().unwrap(), json!({"kind": "login:v1", "message": "The login was cancelled."}));
        let reply = Client::in_process(&server).protocol(protocol).call("login", json!({})).await.unwrap();
        assert!(reply.is_error, "the payload of this ask is an error");
        assert_eq!(
            reply.text(),
            "## Log In\n\nLog in in the browser.\n\n[https://auth.example/login](https://auth.example/login)"
        );
    }
}

struct Typist;

impl Answers for Typist {
    fn answer(&self, question: Question) -> futures_util::future::BoxFuture<'_, Response> {
        let Question::Form { secrets, .. } = question else { panic!("{question:?}") };
        assert_eq!(secrets, ["password"]);
        let content = Map::from_iter([("password".to_owned(), json!("hunter2"))]);
        Box::pin(std::future::ready(Response::Accept(content)))
    }
}

#[tokio::test]
async fn a_secret_is_only_asked_for_where_it_is_hidden() {
    let (server, _) = server();
    let reply = Client::in_process(&server).answered_by(Typist).call("secret", json!({})).await.unwrap();
    assert_eq!(reply.text(), "7 characters");
    let newest = Client::in_process(&server).protocol(Protocol::V2026_07_28).answered_by(Typist);
    let reply = newest.call("secret", json!({})).await.unwrap();
    assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"), "a secret never travels in a request state");
    for protocol in Protocol::TESTED {
        let dial = Client::in_process(&server).protocol(protocol).accepts(json!({"password": "hunter2"}));
        let script = dial.script();
        let reply = dial.call("secret", json!({"password": "hunter2"})).await.unwrap();
        assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"), "neither a form nor an argument will do");
        assert!(script.asked().is_empty());
    }
}

async fn sure(cx: Cx<Flows>, _: NoArguments) -> Result<Text, Stop> {
    match cx.answer::<bool>("sure") {
        Some(sure) => Ok(Text::new(sure.to_string())),
        None => Err(NeedsInput::new("Sure?", "Are you sure?").field(Field::boolean("sure").person_only()))?,
    }
}

#[tokio::test]
async fn a_person_s_answer_is_checked_against_the_form() {
    let tools = Toolset::new("sure", Flows::default()).with(tool("sure", sure).description("Asks."));
    let server = Server::builder("sure", "0").toolset(tools).strict().build().unwrap();
    for protocol in Protocol::TESTED {
        let dial = Client::in_process(&server)
            .protocol(protocol)
            .accepts(json!({"sure": "perhaps"}))
            .accepts(json!({"sure": "true"}));
        let script = dial.script();
        assert_eq!(dial.call("sure", json!({"sure": false})).await.unwrap().text(), "true", "{protocol:?}");
        let again = "Are you sure?\n\nThe last answer did not fit: sure must be true or false.";
        assert_eq!(script.asked()[1].message(), again);
    }
}

#[tokio::test]
async fn the_model_and_the_roots_are_asked_on_both_lifecycles() {
    let (server, _) = server();
    for protocol in Protocol::TESTED {
        let dial = || Client::in_process(&server).protocol(protocol);
        let reply = dial().samples("Hello!").root("file:///work").call("others", json!({})).await.unwrap();
        assert_eq!(reply.text(), "Hello! in file:///work", "{protocol:?}");
        let reply = dial()
            .samples("Hello!")
            .root("file:///work")
            .call("others", json!({"format": "json"}))
            .await
            .unwrap();
        assert_eq!(reply.kind().as_deref(), Some("text:v1"), "programs have a model and roots too");
        let reply = dial().samples("Hello!").call("others", json!({})).await.unwrap();
        assert_eq!(
            reply.kind().as_deref(),
            Some("needsInput:v1"),
            "without roots there is no point in asking"
        );
    }
}

#[tokio::test]
async fn a_missing_required_argument_is_asked_for() {
    let (server, _) = server();
    for protocol in Protocol::TESTED {
        let dial = Client::in_process(&server).protocol(protocol).accepts(json!({"account": "ann"}));
        assert_eq!(dial.call("profile", json!({})).await.unwrap().text(), "ann");
    }
    let reply = Client::in_process(&server).call("profile", json!({})).await.unwrap();
    assert_eq!(reply.text(), "## Account Needed\n\nWhose profile?");
}
