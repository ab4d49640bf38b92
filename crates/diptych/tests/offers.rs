//! Prompts, resources, completion, paging and subscriptions, on every lifecycle.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

use std::time::Duration;

use diptych::client::{Client, ClientError, Notice, Protocol};
use diptych::{
    Contents, Cx, Field, Messages, NeedsInput, NoArguments, OrAsk as _, Partial, Server, Stop, Text,
    ToolError, Toolset, prompt, resource, tool,
};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// Programming language
    language: String,
    /// Code to review
    code: String,
    /// How many findings at most
    most: Option<u8>,
}

async fn review(_cx: Cx, review: Review) -> Result<Messages, Stop> {
    Ok(Messages::new()
        .user(format!("{}: {} ({})", review.language, review.code, review.most.unwrap_or(3)))
        .assistant("Gladly.")
        .system("You review code."))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Topic {
    topic: Option<String>,
}

async fn asking(_cx: Cx, topic: Topic) -> Result<Messages, Stop> {
    let topic = topic.topic.or_ask(|| NeedsInput::new("Topic", "About what?").field(Field::text("topic")))?;
    Ok(Messages::new().user(topic))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct User {
    id: u32,
    detail: Option<String>,
}

async fn user(_cx: Cx, user: User) -> Result<Contents, Stop> {
    match user.id {
        404 => Err(ToolError::not_found("There is no user 404."))?,
        503 => Err(ToolError::network("The directory is down."))?,
        id => Ok(Contents::json("", &json!({"id": id, "detail": user.detail}))
            .name("user.json")
            .title("A user")),
    }
}

async fn config(_cx: Cx, _: NoArguments) -> Result<Vec<Contents>, Stop> {
    Ok(vec![
        Contents::text("", "a = 1").mime_type("application/toml"),
        Contents::blob("config://icon", b"\x89PNG"),
    ])
}

async fn languages(_cx: Cx, partial: Partial) -> Result<Vec<String>, Stop> {
    Ok(partial.filter(["rust", "ruby", "typescript"]))
}

async fn many(_cx: Cx, partial: Partial) -> Result<Vec<String>, Stop> {
    let suffix = partial.others.get("detail").cloned().unwrap_or_default();
    Ok((0..250).map(|id| format!("{id}{suffix}")).collect())
}

async fn nothing(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new(""))
}

fn server() -> Server {
    let mut toolset = Toolset::new("offers", ())
        .with(
            prompt("code_review", review)
                .description("Generates a code review prompt")
                .complete("language", languages),
        )
        .with(prompt("asking", asking).description("Asks for its topic."))
        .with(
            resource("config://app", config).name("config").title("App Config").mime_type("application/json"),
        )
        .with(resource("users://{id}{?detail}", user).name("user").complete("id", many));
    for number in 0..7 {
        toolset =
            toolset.with(tool(format!("tool_{number}"), nothing).description("Does nothing.").read_only());
    }
    Server::builder("offers", "1.0.0").toolset(toolset).page_size(3).strict().build().unwrap()
}

fn code(error: ClientError) -> (i32, String) {
    match error {
        ClientError::Protocol { code, message, .. } => (code, message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn every_list_pages_and_clients_see_all_of_it() {
    let server = server();
    for protocol in Protocol::TESTED {
        let client = Client::in_process(&server).protocol(protocol).connect().await.unwrap();
        let names: Vec<Value> =
            client.tools().await.unwrap().into_iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, (0..7).map(|number| json!(format!("tool_{number}"))).collect::<Vec<_>>());
        assert_eq!(client.prompts().await.unwrap().len(), 2);
        assert_eq!(client.resources().await.unwrap().len(), 2);
        client.close().await;
    }
}

#[tokio::test]
async fn prompts_take_typed_arguments_and_put_system_messages_first() {
    let server = server();
    let client = Client::in_process(&server).connect().await.unwrap();
    let definition = client.prompts().await.unwrap().remove(0);
    insta::assert_json_snapshot!(definition["arguments"], @r#"
    [
      {
        "name": "language",
        "description": "Programming language",
        "required": true
      },
      {
        "name": "code",
        "description": "Code to review",
        "required": true
      },
      {
        "name": "most",
        "description": "How many findings at most",
        "required": false
      }
    ]
    "#);
    let got =
        client.prompt("code_review", json!({"language": "rust", "code": "x", "most": "7"})).await.unwrap();
    insta::assert_json_snapshot!(got["messages"], @r#"
    [
      {
        "role": "user",
        "content": {
          "type": "text",
          "text": "You review code.",
          "annotations": {
            "audience": [
              "assistant"
            ]
          }
        }
      },
      {
        "role": "user",
        "content": {
          "type": "text",
          "text": "rust: x (7)"
        }
      },
      {
        "role": "assistant",
        "content": {
          "type": "text",
          "text": "Gladly."
        }
      }
    ]
    "#);
    let missing = client.prompt("code_review", json!({"language": "rust"})).await.unwrap_err();
    assert_eq!(code(missing), (-32602, "Invalid input: code is missing.".to_owned()));
    let unknown = client.prompt("code_revue", json!({})).await.unwrap_err();
    assert_eq!(code(unknown), (-32602, "Unknown prompt: code_revue. Did you mean code_review?".to_owned()));
    client.close().await;
}

#[tokio::test]
async fn prompts_ask_like_tools() {
    let server = server();
    for protocol in Protocol::TESTED {
        let client = Client::in_process(&server)
            .protocol(protocol)
            .accepts(json!({"topic": "boats"}))
            .connect()
            .await
            .unwrap();
        let got = client.prompt("asking", json!({})).await.unwrap();
        assert_eq!(got["messages"][0]["content"]["text"], "boats", "{protocol:?}");
        client.close().await;
    }
    let client = Client::in_process(&server).connect().await.unwrap();
    assert_eq!(
        code(client.prompt("asking", json!({})).await.unwrap_err()),
        (-32602, "About what?".to_owned())
    );
    client.close().await;
}

#[tokio::test]
async fn resources_are_read_by_uri_and_by_template() {
    let server = server();
    let client = Client::in_process(&server).connect().await.unwrap();
    insta::assert_json_snapshot!(client.read("config://app").await.unwrap()["contents"], @r#"
    [
      {
        "uri": "config://app",
        "mimeType": "application/toml",
        "text": "a = 1"
      },
      {
        "uri": "config://icon",
        "mimeType": "application/json",
        "blob": "iVBORw=="
      }
    ]
    "#);
    insta::assert_json_snapshot!(client.read("users://7?detail=all%20of%20it").await.unwrap()["contents"], @r#"
    [
      {
        "uri": "users://7?detail=all%20of%20it",
        "mimeType": "application/json",
        "text": "{\"id\":7,\"detail\":\"all of it\"}",
        "_meta": {
          "name": "user.json",
          "title": "A user"
        }
      }
    ]
    "#);
    for (uri, expected) in [
        ("users://404", (-32002, "There is no user 404.")),
        ("users://503", (-32802, "The directory is down.")),
        ("users://me", (-32002, "Invalid input: id must be a whole number.")),
        ("nowhere://x", (-32002, "Unknown resource: nowhere://x")),
    ] {
        let (code, message) = code(client.read(uri).await.unwrap_err());
        assert_eq!((code, message.as_str()), expected, "{uri}");
    }
    client.close().await;
    let newest = Client::in_process(&server).protocol(Protocol::V2026_07_28).connect().await.unwrap();
    assert_eq!(
        code(newest.read("nowhere://x").await.unwrap_err()).0,
        -32602,
        "the code that 2026-07-28 has for it"
    );
    newest.close().await;
}

#[tokio::test]
async fn completion_is_bounded_and_knows_the_other_arguments() {
    let server = server();
    let client = Client::in_process(&server).connect().await.unwrap();
    let values = client.complete_prompt("code_review", "language", "ru").await.unwrap();
    assert_eq!(values, json!({"values": ["rust", "ruby"], "total": 2, "hasMore": false}));
    let values =
        client.complete_resource("users://{id}{?detail}", "id", "", &[("detail", "!")]).await.unwrap();
    assert_eq!(values["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&values["values"][0], &values["total"], &values["hasMore"]),
        (&json!("0!"), &json!(250), &json!(true))
    );
    let values = client.complete_prompt("code_review", "code", "").await.unwrap();
    assert_eq!(values["values"], json!([]), "an argument without completion completes to nothing");
    assert_eq!(code(client.complete_prompt("nope", "x", "").await.unwrap_err()).0, -32602);
    client.close().await;
}

#[tokio::test]
async fn a_session_hears_of_the_resources_it_subscribed_to() {
    let server = server();
    let client = Client::in_process(&server).connect().await.unwrap();
    client.subscribe("users://7").await.unwrap();
    server.resource_updated("users://8");
    server.resource_updated("users://7");
    server.prompts_changed();
    let mut heard = Vec::new();
    for _ in 0..2 {
        heard.push(tokio::time::timeout(Duration::from_secs(5), client.notice()).await.unwrap().unwrap());
    }
    assert_eq!(heard, [Notice::ResourceUpdated("users://7".to_owned()), Notice::PromptsChanged]);
    assert_eq!(code(client.subscribe("nowhere://x").await.unwrap_err()).0, -32002);
    client.close().await;
}

#[tokio::test]
async fn a_server_knows_what_is_subscribed_to_while_it_is() {
    let server = server();
    let mut subscriptions = server.subscriptions();
    assert!(subscriptions.current().is_empty());
    let one = Client::in_process(&server).connect().await.unwrap();
    let other = Client::in_process(&server).connect().await.unwrap();
    for client in [&one, &one, &other] {
        client.subscribe("users://7").await.unwrap();
    }
    assert!(subscriptions.changed().await);
    assert_eq!(subscriptions.current(), ["users://7"]);
    one.close().await;
    assert_eq!(subscriptions.current(), ["users://7"], "the other client still is");
    other.close().await;
    let gone = async {
        while !subscriptions.current().is_empty() {
            subscriptions.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
}
