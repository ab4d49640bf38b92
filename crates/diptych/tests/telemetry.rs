//! Spans reach a collector, with what is worth knowing of a call and nothing of what it said.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use diptych::client::Client;
use diptych::{Cx, Server, Stop, Telemetry, Text, Toolset, tool};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    message: String,
}

async fn echo(_cx: Cx, arguments: Arguments) -> Result<Text, Stop> {
    Ok(Text::new(arguments.message))
}

/// One request of OTLP over HTTP: its head and its body.
fn collect(listener: &TcpListener) -> (String, Vec<u8>) {
    let (mut connection, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = connection.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if bytes.len() >= end + 4 + length.unwrap_or(0usize) || read == 0 {
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            return (head, bytes.split_off(end + 4));
        }
    }
}

#[test]
fn a_call_is_a_span() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let collecting = std::thread::spawn(move || collect(&listener));
    let telemetry = Telemetry::new("spans", &format!("http://{address}")).unwrap();
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tools = Toolset::new("spans", ()).with(tool("echo", echo).description("Says it back."));
            let server = Server::builder("spans", "1.0.0").toolset(tools).build().unwrap();
            let call = Client::in_process(&server).call("echo", json!({"message": "a secret word"}));
            assert_eq!(call.await.unwrap().text(), "a secret word");
        });
    });
    drop(telemetry);
    let (head, body) = collecting.join().unwrap();
    assert!(head.starts_with("post /v1/traces "), "{head}");
    let body = String::from_utf8_lossy(&body);
    for expected in ["call", "echo", "diptych-client", "2025-11-25", "spans"] {
        assert!(body.contains(expected), "{expected} is not in {body:?}");
    }
    assert!(!body.contains("secret"), "{body:?}");
}
