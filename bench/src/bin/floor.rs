//! The floor: a loop that parses a request and writes an answer made beforehand. No MCP server can be faster here.
//!
//! Without arguments: stdio. `--http PORT`: HTTP, in both lifecycles.

use std::borrow::Cow;
use std::io::{Read, Write};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, service::service_fn};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const CHUNK: usize = 1 << 16;

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: Option<Value>,
}

struct Answers {
    search: String,
    initialize: String,
}

impl Answers {
    fn prepare() -> serde_json::Result<Answers> {
        let records: Value = serde_json::from_str(bench::RECORDS)?;
        let found = json!({"query": "alpha", "total": 10, "hits": records});
        let search = json!({
            "content": [{"type": "text", "text": found.to_string()}],
            "structuredContent": found,
            "isError": false,
            "resultType": "complete",
        });
        let initialize = json!({
            "protocolVersion": "2025-11-25",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "floor", "version": "0"},
        });
        Ok(Answers { search: search.to_string(), initialize: initialize.to_string() })
    }

    /// Appends the answer to one message; false when it wants none.
    fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(call) = serde_json::from_slice::<Call<'_>>(message) else { return false };
        let Some(id) = call.id else { return false };
        let params = call.params.unwrap_or_default();
        let result = match &*call.method {
            "tools/call" if params["name"] == "search" => Cow::Borrowed(&self.search),
            "tools/call" => Cow::Owned(echo(&params["arguments"]["message"])),
            _ => Cow::Borrowed(&self.initialize),
        };
        let _ = write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.get());
        true
    }
}

fn echo(message: &Value) -> String {
    let structured = json!({"message": message}).to_string();
    let text = Value::from(structured.as_str());
    format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"structuredContent\":{structured},\"isError\":false}}"
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let answers = Answers::prepare()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().position(|word| word == "--http") {
        Some(at) => {
            let port = arguments.get(at + 1).ok_or("--http needs a port")?.parse()?;
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            Ok(runtime.block_on(serve_http(answers, port))?)
        }
        None => Ok(serve_stdio(&answers)?),
    }
}

/// One write for all the requests that one read brought.
fn serve_stdio(answers: &Answers) -> std::io::Result<()> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let (mut chunk, mut held, mut out) = (vec![0; CHUNK], Vec::new(), Vec::new());
    loop {
        let read = input.read(&mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        held.extend_from_slice(&chunk[..read]);
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &held[start..]) {
            if answers.answer(&held[start..start + length], &mut out) {
                out.push(b'\n');
            }
            start += length + 1;
            if out.len() > CHUNK {
                output.write_all(&out)?;
                out.clear();
            }
        }
        held.drain(..start);
        output.write_all(&out)?;
        output.flush()?;
        out.clear();
    }
}

async fn serve_http(answers: Answers, port: u16) -> std::io::Result<()> {
    let answers: &'static Answers = Box::leak(Box::new(answers));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| async move {
                let body = request.into_body().collect().await?.to_bytes();
                let mut out = Vec::with_capacity(1 << 14);
                let wanted = answers.answer(&body, &mut out);
                let mut response = Response::new(Full::new(Bytes::from(out)));
                *response.status_mut() =
                    if wanted { hyper::StatusCode::OK } else { hyper::StatusCode::ACCEPTED };
                let json = hyper::header::HeaderValue::from_static("application/json");
                response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
                Ok::<_, hyper::Error>(response)
            });
            // A client that goes away is no fault of ours.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(hyper_util::rt::TokioIo::new(stream), service)
                .await;
        });
    }
}
