//! The body of a request: read within its limits, and looked at before rmcp sees it, which answers what it
//! cannot read with 415 and plain text.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::reply::{INVALID_REQUEST, NOT_A_MESSAGE, PARSE_ERROR, Refusal, TOO_LARGE};
use crate::protocol::envelope::{Envelope, Kind};

/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_secs(30);

/// A body that is a JSON-RPC message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: Bytes,
    /// The id of a request; notifications and responses have none here.
    pub(super) id: Option<Value>,
    /// Whether it is a request that ends with an answer, unlike one that opens a stream of notifications.
    pub(super) is_call: bool,
    pub(super) kind: Kind,
}

/// Reads the body of a request.
pub(super) async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Message, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if !kind.eq_ignore_ascii_case(b"application/json") {
        let problem = "Content-Type must be application/json.";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, problem));
    }
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limit) {
        return Err(too_large(limit));
    }
    let bytes = match tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large(limit)),
        Ok(Err(_)) => {
            let problem = "The body broke off.";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, problem));
        }
        Err(_) => {
            let problem = "The body took too long to arrive.";
            return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST, problem));
        }
    };
    parse(bytes)
}

fn too_large(limit: usize) -> Refusal {
    let problem = format!("The message is larger than the {limit} bytes that are read.");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE, problem)
}

fn parse(bytes: Bytes) -> Result<Message, Refusal> {
    let unreadable = || Refusal::new(StatusCode::BAD_REQUEST, PARSE_ERROR, "The body is not valid JSON.");
    let text = std::str::from_utf8(&bytes).map_err(|_| unreadable())?;
    let envelope = Envelope::read(text.as_bytes()).map_err(|error| {
        // An array that breaks off is no message either, but first of all it is no JSON.
        if error.is_data() && serde_json::from_str::<IgnoredAny>(text).is_ok() {
            Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, NOT_A_MESSAGE)
        } else {
            unreadable()
        }
    })?;
    let id = envelope.id().and_then(|id| serde_json::to_value(id).ok());
    if !envelope.is_message() {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, NOT_A_MESSAGE).to(id));
    }
    let method = envelope.method();
    let is_call = id.is_some() && method.is_some_and(|method| method != "\"subscriptions/listen\"");
    let kind = envelope.kind();
    Ok(Message { id: id.filter(|_| method.is_some()), is_call, kind, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(body: &[u8]) -> String {
        let bytes = Bytes::copy_from_slice(body);
        match parse(bytes) {
            Ok(message) => format!("{:?} {}", message.id, message.is_call),
            Err(refusal) => {
                let response = refusal.into_response();
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                let status = response.status().as_u16();
                let body = runtime.block_on(response.into_body().collect()).unwrap().to_bytes();
                let body: Value = serde_json::from_slice(&body).unwrap();
                format!("{status} {} {}", body["error"]["code"], body.get("id").unwrap_or(&Value::Null))
            }
        }
    }

    #[test]
    fn messages_are_told_from_what_is_none() {
        let cases: [(&[u8], &str); 17] = [
            (b"", "400 -32700 null"),
            (b"{", "400 -32700 null"),
            (b"[1", "400 -32700 null"),
            (b"{\"jsonrpc\":\"2.0\",}", "400 -32700 null"),
            (b"{\"a\":\"\xff\"}", "400 -32700 null"),
            (b"[]", "400 -32600 null"),
            (b"12", "400 -32600 null"),
            (b"{}", "400 -32600 null"),
            (br#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#, "400 -32600 4"),
            (br#"{"jsonrpc":"2.0","id":4,"method":7}"#, "400 -32600 4"),
            (br#"{"jsonrpc":"2.0","id":{},"meth":"ping"}"#, "400 -32600 null"),
            (br#"{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}"#, "400 -32600 null"),
            (br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, "Some(String(\"a\")) true"),
            (br#" {"method":"tools/call","id":7,"jsonrpc":"2.0"} "#, "Some(Number(7)) true"),
            (br#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen"}"#, "Some(Number(7)) false"),
            (br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "None false"),
            (br#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "None false"),
        ];
        for (body, expected) in cases {
            assert_eq!(told(body), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_told(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = told(&body);
        }
    }
}
