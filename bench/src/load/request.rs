//! Requests as bytes: made once, with a gap for the id, so that writing one costs next to nothing.

use std::io::Write;

use serde_json::{Value, json};

use super::Options;

/// The version that the handshake negotiates.
pub(super) const HANDSHAKE_VERSION: &str = "2025-11-25";
/// The version without a handshake.
pub(super) const STATELESS_VERSION: &str = "2026-07-28";

/// A request without its id.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// The method, which stateless HTTP repeats in a header.
    pub(super) method: &'static str,
    /// The tool's name, likewise.
    pub(super) name: Option<String>,
    after_id: String,
}

impl Request {
    /// The first request: `initialize`, or `server/discover` where there is no handshake.
    pub(super) fn first(options: &Options) -> Request {
        if options.stateless {
            Request::new(options, "server/discover", None, json!({}))
        } else {
            let params = json!({"protocolVersion": HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": client_info()});
            Request::new(options, "initialize", None, params)
        }
    }

    /// The call that is measured.
    pub(super) fn call(options: &Options) -> Request {
        let params = json!({"name": options.tool, "arguments": options.arguments});
        Request::new(options, "tools/call", Some(options.tool.clone()), params)
    }

    fn new(options: &Options, method: &'static str, name: Option<String>, mut params: Value) -> Request {
        if options.stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION,
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        Request { method, name, after_id: format!(",\"method\":\"{method}\",\"params\":{params}}}") }
    }

    /// Appends the request with its id.
    pub(super) fn write(&self, id: u64, out: &mut Vec<u8>) {
        let _ = write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id}{}", self.after_id);
    }
}

fn client_info() -> Value {
    json!({"name": "load", "version": "1.0.0"})
}

/// The id of a response, found without parsing it: servers write it first or last.
pub(super) fn response_id(line: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"id\":";
    let digits = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).ok()?.parse().ok()
    };
    let head = &line[..line.len().min(64)];
    let tail = &line[line.len().saturating_sub(32)..];
    let in_head = memchr::memmem::find(head, KEY).and_then(|at| digits(&line[at + KEY.len()..]));
    in_head.or_else(|| memchr::memmem::rfind(tail, KEY).and_then(|at| digits(&tail[at + KEY.len()..])))
}

/// Whether a response is an error, of the protocol or of the tool, by a look at its bytes.
pub(super) fn is_error(line: &[u8]) -> bool {
    let head = &line[..line.len().min(64)];
    memchr::memmem::find(head, b"\"error\":").is_some()
        || memchr::memmem::find(line, b"\"isError\":true").is_some()
}

/// Parses a response in full: the JSON in its last text block, fenced or not, must equal its structured content. The
/// `kind` that one server adds to the latter does not count.
pub(super) fn verify(line: &[u8]) -> Result<(), String> {
    let response: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let result = response.get("result").ok_or("no result")?;
    let mut structured = result.get("structuredContent").ok_or("no structuredContent")?.clone();
    if let Some(members) = structured.as_object_mut() {
        members.remove("kind");
    }
    let blocks = result["content"].as_array().ok_or("no content")?;
    let text = blocks.iter().rev().find_map(|block| block["text"].as_str()).ok_or("no text block")?;
    let (from, to) =
        (text.find('{').ok_or("no JSON in the text block")?, text.rfind('}').map_or(0, |at| at + 1));
    let panel: Value = serde_json::from_str(&text[from..to.max(from)]).map_err(|error| error.to_string())?;
    if panel == structured { Ok(()) } else { Err("the text block differs from structuredContent".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_at_both_ends() {
        assert_eq!(response_id(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#), Some(17));
        let long = format!(r#"{{"result":{{"text":"{}"}},"jsonrpc":"2.0","id":9}}"#, "x".repeat(100));
        assert_eq!(response_id(long.as_bytes()), Some(9));
        assert_eq!(response_id(br#"{"jsonrpc":"2.0","method":"notifications/message"}"#), None);
    }

    #[test]
    fn the_panels_are_compared() {
        assert!(verify(br#"{"id":1,"result":{"content":[{"type":"text","text":"{\"a\": 1}"}],"structuredContent":{"a":1}}}"#).is_ok());
        assert!(verify(br#"{"id":1,"result":{"content":[{"type":"text","text":"```json\n{\"a\": 1}\n```"}],"structuredContent":{"kind":"a:v1","a":1}}}"#).is_ok());
        assert!(
            verify(
                br#"{"id":1,"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{"a":1}}}"#
            )
            .is_err()
        );
        assert!(is_error(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#));
    }
}
