//! What the HTTP layer itself answers: JSON-RPC errors with a status, and rmcp's texts turned into them.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const INTERNAL: i32 = -32603;
pub(super) const SHUTDOWN: i32 = -32800;
pub(super) const TOO_LARGE: i32 = -32801;

pub(super) const NOT_A_MESSAGE: &str =
    "The body is not a JSON-RPC 2.0 request, notification or response. Batches are not supported.";

/// A refusal: a status and a JSON-RPC error that says why. The id is left out where the request was not read.
#[derive(Debug)]
pub(super) struct Refusal(Box<Inner>);

#[derive(Debug)]
struct Inner {
    status: StatusCode,
    code: i32,
    message: String,
    id: Option<Value>,
    headers: HeaderMap,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        let headers =
            HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        Refusal(Box::new(Inner { status, code, message: message.into(), id: None, headers }))
    }

    /// Names the request that is refused.
    pub(super) fn to(mut self, id: Option<Value>) -> Self {
        self.0.id = id;
        self
    }

    pub(super) fn header(mut self, name: header::HeaderName, value: &str) -> Self {
        // What is not a header's text is our own mistake, and no reason to fail the refusal.
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers.insert(name, value);
        }
        self
    }

    /// Says when to come back: whole seconds, rounded up, as HTTP has it.
    pub(super) fn retry_after(self, wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.header(header::RETRY_AFTER, &seconds.max(1).to_string())
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let Inner { status, code, message, id, headers } = *self.0;
        let mut answer = json!({"jsonrpc": "2.0"});
        if let Some(id) = id {
            answer["id"] = id;
        }
        answer["error"] = json!({"code": code, "message": message});
        let mut response = Response::new(Body::from(answer.to_string()));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// Makes rmcp's refusals ours: a JSON-RPC error instead of plain text, and nothing of our insides in it.
pub(super) async fn refined(
    response: Response<BoxBody<Bytes, Infallible>>,
    id: Option<Value>,
) -> Response<Body> {
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || !(status.is_client_error() || status.is_server_error()) {
        return response.map(Body::new);
    }
    let (parts, body) = response.into_parts();
    let refusal = if status.is_server_error() {
        Refusal::new(status, INTERNAL, "The server could not handle the request.")
    } else {
        let Ok(text) = body.collect().await;
        let text = text.to_bytes();
        // What was JSON and is still no message to rmcp: it says so with 415.
        if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, NOT_A_MESSAGE)
        } else {
            let text = String::from_utf8_lossy(&text);
            let text = text.split_once(": ").map_or(&*text, |(_, reason)| reason);
            Refusal::new(status, INVALID_REQUEST, format!("{text}."))
        }
    };
    let mut response = refusal.to(id).into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allow.clone());
    }
    response
}
