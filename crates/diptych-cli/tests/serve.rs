//! The real binary as a server, over both transports.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};

use diptych::client::{Client, ClientError, Protocol};
use serde_json::json;
use support::{Listening, Machine};

#[tokio::test]
async fn it_serves_over_stdio_at_every_protocol() {
    let machine = Machine::new();
    for protocol in Protocol::TESTED {
        for arguments in [&[][..], &["serve"]] {
            let (program, words) = machine.words(arguments);
            let client = Client::command(program, words).protocol(protocol).connect().await.unwrap();
            let tools = client.tools().await.unwrap();
            assert!(tools.iter().any(|tool| tool["name"] == "search_patterns"), "{protocol:?}");
            let reply = client.call("search_patterns", json!({"q": "retry"})).await.unwrap();
            assert_eq!(reply.kind().as_deref(), Some("patternSearchResults:v1"));
            client.close().await;
        }
    }
}

#[tokio::test]
async fn settings_shape_the_server() {
    let machine = Machine::new();
    let (program, words) = machine.words(&["serve", "--structured", "never", "--budget", "300"]);
    let reply = Client::command(program, words).call("search_patterns", json!({"q": "retry"})).await.unwrap();
    assert_eq!(reply.structured, None);
    assert!(reply.text().len() < 1_600, "{}", reply.text().len());
}

#[test]
fn it_ends_when_its_client_goes_away() {
    let ended = Machine::new().run(&["serve"]);
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
}

#[tokio::test]
async fn it_serves_over_http_at_every_protocol() {
    let listening = Listening::start(&[], &[]);
    for protocol in Protocol::TESTED {
        let dial = Client::url(&listening.url).protocol(protocol);
        let reply = dial.call("get_pattern", json!({"id": "effect-all"})).await.unwrap();
        assert_eq!(reply.kind().as_deref(), Some("patternDetails:v1"), "{protocol:?}");
    }
}

#[tokio::test]
async fn http_clients_present_the_token() {
    let listening = Listening::start(&[], &[("DIPTYCH_HTTP_TOKEN", "a-long-secret")]);
    let refused = Client::url(&listening.url).connect().await;
    assert!(matches!(refused, Err(ClientError::Unauthorized)), "{refused:?}");
    Client::url(&listening.url).token("a-long-secret").connect().await.unwrap().close().await;
    let machine = Machine::new();
    let call =
        |variables: &[(&str, &str)]| machine.run_with(&["tools", "--server", &listening.url], variables, "");
    let ended = call(&[]);
    assert_eq!(ended.code, 4);
    assert!(ended.err.contains("it asks for a token"), "{}", ended.err);
    assert!(ended.err.contains("DIPTYCH_SERVER_TOKEN"), "{}", ended.err);
    let ended = call(&[("DIPTYCH_SERVER_TOKEN", "a-long-secret")]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("search_patterns"));
}

#[test]
fn a_busy_port_is_said_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = Machine::new().run(&["serve", "--http", &address]);
    assert_eq!(ended.code, 4);
    insta::assert_snapshot!(ended.err.replace(&address, "[address]"), @r"
    error: Cannot listen on [address]: address already in use.
    hint: Another program may be using it. Choose another port, or port 0 for any that is free.
    ");
}

#[test]
fn other_machines_are_not_served_without_a_token() {
    let ended = Machine::new().run(&["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(ended.code, 2);
    insta::assert_snapshot!(ended.err, @r"
    error: Other machines can reach 0.0.0.0:0, and nothing would ask them for a token.
    hint: Set DIPTYCH_HTTP_TOKEN, serve at 127.0.0.1, or say `--http-open` if something else guards it.
    ");
}

#[test]
fn an_issuer_needs_an_audience() {
    let ended = Machine::new().run(&["serve", "--http", "0", "--http-issuer", "https://login.example.com"]);
    assert_eq!(ended.code, 2);
    insta::assert_snapshot!(ended.err, @r"
    error: `--http-issuer` is set, but not what its tokens must be made for.
    hint: Set `--http-audience` to the URL under which clients know this server.
    ");
}

#[tokio::test]
async fn an_issuers_tokens_are_asked_for() {
    let issuer =
        ["--http-issuer", "https://login.example.com", "--http-audience", "https://mcp.example.com/mcp"];
    let listening = Listening::start(&issuer, &[]);
    let refused = Client::url(&listening.url).connect().await;
    assert!(matches!(refused, Err(ClientError::Unauthorized)), "{refused:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn it_ends_when_it_is_told_to() {
    let mut listening = Listening::start(&[], &[]);
    let client = Client::url(&listening.url).connect().await.unwrap();
    let id = listening.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = tokio::task::spawn_blocking(move || listening.child.wait().unwrap()).await.unwrap();
    assert_eq!(status.code(), Some(0));
    drop(client);
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// Says hello to a server on its standard input, and waits for its answer.
fn greet(child: &mut Child) -> String {
    writeln!(child.stdin.as_mut().unwrap(), "{HELLO}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    answer
}

#[cfg(unix)]
#[test]
fn on_stdio_it_ends_when_it_is_told_to_although_its_client_is_still_there() {
    let machine = Machine::new();
    let mut command = machine.command(&["serve"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    assert!(greet(&mut child).contains("\"serverInfo\""));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
}

#[test]
fn it_ends_when_nobody_reads_its_answers_any_more() {
    let machine = Machine::new();
    let mut command = machine.command(&["serve", "--log", "off"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    writeln!(child.stdin.as_mut().unwrap(), "{HELLO}").unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[tokio::test]
async fn one_server_on_both_transports() {
    let machine = Machine::new();
    let mut command = machine.command(&["serve", "--http", "0"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("Serving at ").expect(&line).to_owned();
    assert!(greet(&mut child).contains("\"serverInfo\""));
    // The one that came by standard input leaves; the others stay.
    drop(child.stdin.take());
    let reply = Client::url(&url).call("get_pattern", json!({"id": "effect-all"})).await.unwrap();
    assert!(!reply.is_error);
    child.kill().unwrap();
    child.wait().unwrap();
}
