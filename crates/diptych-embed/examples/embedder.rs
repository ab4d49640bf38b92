//! A service for tests: it has the endpoint of an embedder and behaves as its first argument says.
//!
//! It listens on a free port of this machine, writes the port to standard output, and ends with its standard input.
//! `/seen` says how many requests came, and whether the last one had the key `secret`.
//!
//! Behaviours: `well`, `busy` (429 with `Retry-After: 1`, once, then well), `failing` (500), `hanging`, `uneven` (other
//! dimensions from the second answer on), `garbage`, `picky` (400 for texts with the word "forbidden"), `key` (401 without
//! the key).
#![allow(clippy::print_stdout, reason = "the port goes to whoever started it")]

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

struct Service {
    behaviour: String,
    requests: AtomicUsize,
    key: AtomicBool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let behaviour = std::env::args().nth(1).unwrap_or_else(|| "well".to_owned());
    let service = Arc::new(Service { behaviour, requests: AtomicUsize::new(0), key: AtomicBool::new(false) });
    let router =
        Router::new().route("/v1/embeddings", post(embeddings)).route("/seen", get(seen)).with_state(service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    // Whoever started us holds the other end.
    let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    tokio::select! {
        served = axum::serve(listener, router) => served?,
        _ = ended => {}
    }
    std::process::exit(0)
}

async fn seen(State(service): State<Arc<Service>>) -> String {
    let (requests, key) = (service.requests.load(Ordering::SeqCst), service.key.load(Ordering::SeqCst));
    json!({"requests": requests, "key": key}).to_string()
}

async fn embeddings(State(service): State<Arc<Service>>, headers: HeaderMap, body: String) -> Response {
    let number = service.requests.fetch_add(1, Ordering::SeqCst) + 1;
    let has_key = headers.get(header::AUTHORIZATION).is_some_and(|value| value == "Bearer secret");
    service.key.store(has_key, Ordering::SeqCst);
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    let Some(texts) = body["input"].as_array() else { return StatusCode::BAD_REQUEST.into_response() };
    let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
    match service.behaviour.as_str() {
        "busy" if number == 1 => {
            (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")]).into_response()
        }
        "failing" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "hanging" => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            StatusCode::OK.into_response()
        }
        "garbage" => "<html>What embeddings?</html>".into_response(),
        "picky" if texts.iter().any(|text| text.contains("forbidden")) => {
            StatusCode::BAD_REQUEST.into_response()
        }
        "key" if !has_key => StatusCode::UNAUTHORIZED.into_response(),
        behaviour => {
            let dimensions = if behaviour == "uneven" && number > 1 { 3 } else { 64 };
            let data: Vec<Value> = texts
                .iter()
                .enumerate()
                .map(|(index, text)| json!({"index": index, "embedding": vector(text, dimensions)}))
                .collect();
            json!({"object": "list", "model": body["model"], "data": data}).to_string().into_response()
        }
    }
}

/// A vector by which texts with the same words lie together.
fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.01; dimensions];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash =
            word.to_lowercase().bytes().fold(7_usize, |hash, byte| hash * 31 % 65_521 + usize::from(byte));
        vector[hash % dimensions] += 1.0;
    }
    vector
}
