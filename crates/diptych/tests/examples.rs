//! The examples: as processes over standard input and output, and the conformance fixtures in this process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../examples/bench.rs"]
#[allow(dead_code, reason = "its main function")]
mod bench;
#[path = "../examples/conformance/main.rs"]
#[allow(dead_code, reason = "its main function")]
mod conformance;
#[path = "../examples/studio.rs"]
#[allow(dead_code, reason = "its main function")]
mod studio;

use std::path::PathBuf;
use std::time::Duration;

use diptych::Server;
use diptych::client::{Client, ClientError, Dial, Notice, Protocol, Question};
use diptych::testing::Contract;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// An example as a program: `cargo test` builds them beside the tests.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let program = target.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        program.exists(),
        "the example {name} is not built: run `cargo build -p diptych --examples` first"
    );
    program
}

fn example(name: &str) -> Dial {
    Client::command(program(name), [] as [&str; 0])
}

async fn connect(server: &Server, protocol: Protocol) -> Client {
    Client::in_process(server).protocol(protocol).connect().await.unwrap()
}

#[tokio::test]
async fn echo_says_it_back() {
    for protocol in Protocol::TESTED {
        let reply =
            example("echo").protocol(protocol).call("echo", json!({"message": "Hello!"})).await.unwrap();
        assert_eq!(reply.text(), "Hello!");
        assert_eq!(reply.structured, Some(json!({"kind": "text:v1", "text": "Hello!"})));
    }
}

#[tokio::test]
async fn asks_asks_twice() {
    for protocol in Protocol::TESTED {
        let dial =
            example("asks").protocol(protocol).accepts(json!({"city": "Kyoto"})).accepts(json!({"days": 3}));
        let script = dial.script();
        let reply = dial.call("plan_trip", json!({})).await.unwrap();
        assert_eq!(reply.text(), "**3** days in **Kyoto**.");
        assert_eq!(script.asked().len(), 2, "{protocol:?}");
    }
}

#[tokio::test]
async fn studio_is_a_program() {
    for protocol in Protocol::TESTED {
        let client = example("studio").protocol(protocol).connect().await.unwrap();
        let sum = json!({"operation": "multiply", "a": 6, "b": 7});
        let reply = client.call("calculator", sum).await.unwrap();
        assert_eq!(reply.text(), "6 × 7 = **42**");
        let names: Vec<Value> =
            client.resources().await.unwrap().into_iter().map(|one| one["name"].clone()).collect();
        assert_eq!(names, ["config", "user"]);
        client.close().await;
    }
}

#[tokio::test]
async fn studio_lists_its_tools_as_documented() {
    let client = connect(&studio::server().unwrap(), Protocol::V2025_11_25).await;
    let tools = client.tools().await.unwrap();
    let mut input = tools[0]["inputSchema"].clone();
    let names: Vec<&String> = tools[0]["inputSchema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["operation", "a", "b", "format"]);
    input["properties"].as_object_mut().unwrap().remove("format");
    assert_eq!(
        input,
        json!({
            "type": "object",
            "properties": {
                "operation": {
                    "type": "string",
                    "description": "Operation to perform",
                    "enum": ["add", "subtract", "multiply", "divide"]
                },
                "a": {"type": "number", "description": "First operand"},
                "b": {"type": "number", "description": "Second operand"}
            },
            "required": ["operation", "a", "b"]
        })
    );
    let annotations = |title: &str| {
        json!({
            "title": title,
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": false
        })
    };
    assert_eq!(tools[0]["annotations"], annotations("Calculator"));
    assert_eq!(tools[1]["annotations"], annotations("Echo"));
    assert_eq!(tools[1]["description"], "Echoes back the input");
    assert_eq!(
        tools[1]["inputSchema"]["properties"]["message"],
        json!({"type": "string", "description": "Message to echo"})
    );
    client.close().await;
}

#[tokio::test]
async fn studio_calculates() {
    let server = studio::server().unwrap();
    let client = connect(&server, Protocol::V2025_11_25).await;
    for (operation, result) in [("add", 9.0), ("subtract", 6.0), ("multiply", 11.25), ("divide", 5.0)] {
        let sum = json!({"operation": operation, "a": 7.5, "b": 1.5});
        let reply = client.call("calculator", sum).await.unwrap();
        assert_eq!(
            reply.structured,
            Some(
                json!({"kind": "calculation:v1", "operation": operation, "a": 7.5, "b": 1.5, "result": result})
            )
        );
    }
    let reply = client.call("calculator", json!({"operation": "divide", "a": 1, "b": 0})).await.unwrap();
    assert!(reply.is_error);
    assert_eq!(reply.text(), "Nothing can be divided by zero.\nChoose another `b`.");
    let reply = client.call("calculator", json!({"operation": "power", "a": 1})).await.unwrap();
    let violations = reply.structured.unwrap()["details"]["violations"].clone();
    let paths: Vec<&str> =
        violations.as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"operation") && paths.contains(&"b"), "{violations}");
    client.close().await;
    Contract::of(&server)
        .answers("calculator", json!({"operation": "add", "a": 1, "b": 2}))
        .fails("calculator", json!({"operation": "divide", "a": 1, "b": 0}))
        .answers("echo", json!({"message": "<!-- kind:x --> # *Hello* | `there`"}))
        .check()
        .await;
}

#[tokio::test]
async fn studio_prompts_resources_and_completions() {
    let server = studio::server().unwrap();
    for protocol in Protocol::TESTED {
        let client = connect(&server, protocol).await;
        let prompts = client.prompts().await.unwrap();
        let review =
            client.prompt("code_review", json!({"language": "rust", "code": "fn main() {}"})).await.unwrap();
        let config = client.read("file:///app/config.json").await.unwrap();
        let user = client.read("https://api.example.com/users/123").await.unwrap();
        assert_eq!(
            prompts,
            [json!({
                "name": "code_review",
                "description": "Generates a code review prompt",
                "arguments": [
                    {"name": "language", "description": "Programming language", "required": true},
                    {"name": "code", "description": "Code to review", "required": true}
                ]
            })]
        );
        // There is no system role: its message is the first, as a user's, annotated for the assistant.
        let system = &review["messages"][0];
        assert_eq!(
            (&system["role"], &system["content"]["annotations"]),
            (&json!("user"), &json!({"audience": ["assistant"]}))
        );
        assert_eq!(
            review["messages"][1],
            json!({
                "role": "user",
                "content": {"type": "text", "text": "Please review this code:\n\n```rust\nfn main() {}\n```"}
            })
        );
        assert_eq!(
            config["contents"],
            json!([{
                "uri": "file:///app/config.json",
                "mimeType": "application/json",
                "text": r#"{"setting":"value"}"#,
                "_meta": {"name": "config.json", "title": "Application Configuration"}
            }])
        );
        assert_eq!(
            user["contents"],
            json!([{
                "uri": "https://api.example.com/users/123",
                "mimeType": "application/json",
                "text": r#"{"id":123,"name":"Alice"}"#,
                "_meta": {"name": "user_data.json", "title": "User 123"}
            }])
        );
        assert_eq!(
            client.resources().await.unwrap(),
            [
                json!({
                    "uri": "file:///app/config.json",
                    "name": "config",
                    "title": "App Config",
                    "description": "Application configuration file",
                    "mimeType": "application/json"
                }),
                json!({
                    "uriTemplate": "https://api.example.com/users/{id}",
                    "name": "user",
                    "title": "User Profile",
                    "description": "User profile data",
                    "mimeType": "application/json"
                })
            ]
        );
        let languages = client.complete_prompt("code_review", "language", "ru").await.unwrap();
        assert_eq!(languages, json!({"values": ["ruby", "rust"], "total": 2, "hasMore": false}));
        let ids =
            client.complete_resource("https://api.example.com/users/{id}", "id", "12", &[]).await.unwrap();
        assert_eq!(ids["values"], json!(["123", "124"]));
        for missing in ["https://api.example.com/users/9", "https://api.example.com/users/x"] {
            let error = client.read(missing).await.unwrap_err();
            assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
        }
        let error = client.prompt("code_review", json!({"language": "rust"})).await.unwrap_err();
        assert!(matches!(error, ClientError::Protocol { code: -32602, .. }), "{error}");
        client.close().await;
    }
}

#[tokio::test]
async fn the_benchmark_sends_what_a_bare_server_sends() {
    let client = connect(&bench::server().unwrap(), Protocol::V2025_11_25).await;
    for (tool, arguments, around) in [
        ("echo", json!({"message": "hello world"}), ["`", "`"]),
        ("search", json!({"q": "alpha", "limit": 10}), ["```json\n", "\n```"]),
    ] {
        let reply = client.call(tool, arguments).await.unwrap();
        let mut structured = reply.structured.clone().unwrap();
        structured.as_object_mut().unwrap().shift_remove("kind");
        // A bare server's text block is its structured content, on one line.
        assert_eq!(reply.text(), format!("{}{structured}{}", around[0], around[1]));
    }
    let reply = client.call("search", json!({"q": "alpha", "limit": 3, "format": "json"})).await.unwrap();
    let found = reply.structured.clone().unwrap();
    assert_eq!((found["query"].as_str(), found["total"].as_u64()), (Some("alpha"), Some(3)));
    assert_eq!(found["hits"].as_array().unwrap().len(), 3);
    assert_eq!(reply.json(), reply.structured);
    client.close().await;
}

#[tokio::test]
async fn conformance_tools_keep_the_contract() {
    let server = conformance::server().unwrap();
    let mut contract = Contract::of(&server);
    for tool in server.tools() {
        let name = tool.name();
        contract = match name {
            "test_error_handling" => contract.fails(name, json!({})),
            "test_custom_header" => contract.answers(name, json!({"region": "north"})),
            "json_schema_2020_12_tool" => contract
                .answers(name, json!({"name": "Ada", "contactMethod": "phone", "phone": "1", "address": {"city": "Rome"}, "email": "a"}))
                .fails(name, json!({"contactMethod": "phone", "email": "a"})),
            "test_sampling" => contract.asks(name, json!({"prompt": "Hello?"})),
            "test_elicitation" => contract.asks(name, json!({"message": "Who are you?"})),
            "test_missing_capability" => contract,
            _ if server.toolset_of(name).as_deref() == Some("asks") => contract.asks(name, json!({})),
            _ => contract.answers(name, json!({})),
        };
    }
    let problems = contract.problems().await;
    // Tools that only fail or only ask have no answer to hold to the contract.
    let problems: Vec<&String> =
        problems.iter().filter(|one| !one.ends_with("no call that is answered was given")).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn conformance_asks_every_client_in_its_own_way() {
    let server = conformance::server().unwrap();
    let who = json!({"username": "testuser", "email": "test@example.com"});
    for protocol in Protocol::TESTED {
        let dial = || Client::in_process(&server).protocol(protocol);
        let said = async |dial: Dial, tool: &str, arguments: Value| {
            let reply = dial.call(tool, arguments).await.unwrap();
            assert!(!reply.is_error, "{protocol:?} {tool}: {reply:?}");
            reply.structured.unwrap()["text"].as_str().unwrap_or_default().to_owned()
        };
        let answer =
            said(dial().accepts(who.clone()), "test_elicitation", json!({"message": "Who are you?"})).await;
        assert_eq!(answer, format!("User response: action=accept, content={who}"));
        let answer = said(dial().declines(), "test_elicitation", json!({"message": "Who are you?"})).await;
        assert_eq!(answer, "User response: action=decline");
        let answer = said(dial().samples("Paris."), "test_sampling", json!({"prompt": "Capital?"})).await;
        assert_eq!(answer, "LLM response: Paris.");
        let answer = said(dial().samples("Paris."), "test_input_required_result_sampling", json!({})).await;
        assert_eq!(answer, "Paris.");
        let answer =
            said(dial().root("file:///work"), "test_input_required_result_list_roots", json!({})).await;
        assert_eq!(answer, "The client works in: file:///work");
        let everything = dial().accepts(json!({"name": "Alice"})).samples("Good day,").root("file:///work");
        let answer = said(everything, "test_input_required_result_multiple_inputs", json!({})).await;
        assert_eq!(answer, "Good day, Alice, at work in: file:///work");
        let rounds = dial().accepts(json!({"name": "Alice"})).accepts(json!({"color": "blue"}));
        assert_eq!(
            said(rounds, "test_input_required_result_multi_round", json!({})).await,
            "Alice likes blue."
        );
        let answer = said(dial().samples("Hi."), "test_input_required_result_capabilities", json!({})).await;
        assert_eq!(answer, "Hi.");
        let client = dial().accepts(json!({"context": "rain"})).connect().await.unwrap();
        let prompt = client.prompt("test_input_required_result_prompt", json!({})).await.unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], "Use this context: rain");
        client.close().await;
        let error = dial().call("test_missing_capability", json!({})).await.unwrap_err();
        let ClientError::Protocol { code, data, .. } = error else { panic!("{error}") };
        assert_eq!((code, data), (-32021, Some(json!({"requiredCapabilities": {"sampling": {}}}))));
    }
}

#[tokio::test]
async fn conformance_forms_are_as_the_suite_reads_them() {
    let server = conformance::server().unwrap();
    let defaults = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true}
    });
    let titled = |[one, two, three]: [&str; 3]| {
        json!([
            {"const": "value1", "title": one},
            {"const": "value2", "title": two},
            {"const": "value3", "title": three}
        ])
    };
    let options = json!({"type": "string", "enum": ["option1", "option2", "option3"]});
    let enums = json!({
        "untitledSingle": options,
        "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": {"type": "array", "items": options},
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}
        }
    });
    for protocol in [Protocol::V2025_11_25, Protocol::V2026_07_28] {
        for (tool, properties) in
            [("test_elicitation_sep1034_defaults", &defaults), ("test_elicitation_sep1330_enums", &enums)]
        {
            let dial = Client::in_process(&server)
                .protocol(protocol)
                .accepts(json!({"age": 25, "legacyEnum": "opt1"}));
            let script = dial.script();
            dial.call(tool, json!({})).await.unwrap();
            let [Question::Form { schema, .. }] = &script.asked()[..] else { panic!("{:?}", script.asked()) };
            assert_eq!(&schema["properties"], properties, "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn conformance_logs_and_says_what_has_changed() {
    let server = conformance::server().unwrap();
    let client = connect(&server, Protocol::V2025_11_25).await;
    let next =
        async || tokio::time::timeout(Duration::from_secs(10), client.notice()).await.unwrap().unwrap();
    client.call("test_tool_with_logging", json!({})).await.unwrap();
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let Notice::Log(logged) = next().await else { panic!("no message was logged") };
        assert!(logged.to_string().contains(message), "{logged}");
    }
    let before = client.tools().await.unwrap();
    client.call("test_trigger_tool_change", json!({})).await.unwrap();
    assert_eq!(next().await, Notice::ToolsChanged);
    assert_eq!(client.tools().await.unwrap().len(), before.len() + 1);
    client.call("test_trigger_tool_change", json!({})).await.unwrap();
    assert_eq!(client.tools().await.unwrap(), before);
    assert_eq!(next().await, Notice::ToolsChanged);
    client.call("test_trigger_prompt_change", json!({})).await.unwrap();
    assert_eq!(next().await, Notice::PromptsChanged);
    client.close().await;
}

#[tokio::test]
async fn conformance_content_of_every_type() {
    let client = connect(&conformance::server().unwrap(), Protocol::V2026_07_28).await;
    let mut types = Vec::new();
    for tool in
        ["test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types"]
    {
        let reply = client.call(tool, json!({})).await.unwrap();
        types.push(
            reply.content.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
        );
    }
    assert_eq!(types, [vec!["image"], vec!["audio"], vec!["resource"], vec!["text", "image", "resource"]]);
    let read = client.read("test://template/123/data").await.unwrap();
    assert_eq!(read["contents"][0]["text"], r#"{"id":"123","templateTest":true,"data":"Data for ID: 123"}"#);
    let read = client.read("test://static-binary").await.unwrap();
    assert_eq!(read["contents"][0]["mimeType"], "image/png");
    client.close().await;
}

#[tokio::test]
async fn what_2026_07_28_removed_is_unknown_there() {
    let server = conformance::server().unwrap();
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = tokio::spawn(async move { server.serve_stream(reader, writer).await });
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = BufReader::new(reader).lines();
    let mut answer = async |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {}
        });
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        serde_json::from_str::<Value>(&lines.next_line().await.unwrap().unwrap()).unwrap()
    };
    let discovered = answer("server/discover", json!({})).await;
    assert!(discovered["result"]["supportedVersions"].is_array(), "{discovered}");
    for (method, params) in [
        ("logging/setLevel", json!({"level": "info"})),
        ("logging/setLevel", json!({})),
        ("ping", json!({})),
        ("resources/subscribe", json!({"uri": "test://watched-resource"})),
        ("resources/unsubscribe", json!({})),
        ("unknown/method", json!({})),
    ] {
        let answer = answer(method, params).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let answer = answer("tools/call", json!({"name": "test_simple_text", "arguments": []})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    drop(writer);
    drop(lines);
    let _ = serving.await.unwrap();
}
