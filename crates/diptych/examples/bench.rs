//! What the benchmark measures: a small and a large answer, with everything that the toolkit does on the way.
//!
//! The same tools as `bench/src/bin/bare-rmcp.rs`. That server sends its JSON twice, as text and as structured
//! content; so the Markdown panel here is that JSON too, and both send about as many bytes.
//! Without arguments: stdio. `--http PORT`: HTTP on 127.0.0.1.

use std::net::{Ipv4Addr, SocketAddr};

use diptych::{Cx, Http, Markdown, Present, Server, Stop, Toolset, plain, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const RECORDS: &str = include_str!("../../../bench/records.json");

#[derive(Deserialize, JsonSchema)]
struct EchoArguments {
    /// What to say back.
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct Echoed {
    message: String,
}

impl Present for Echoed {
    const KIND: &'static str = "echo:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.code(as_json(self));
        });
    }
}

#[derive(Deserialize, JsonSchema)]
struct SearchArguments {
    /// What to look for.
    q: String,
    /// How many records at most.
    limit: usize,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Record {
    id: String,
    title: String,
    url: String,
    score: f64,
    views: u64,
    tags: Vec<String>,
    published: bool,
    snippet: String,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    query: String,
    total: usize,
    hits: Vec<Record>,
}

impl Present for Found {
    const KIND: &'static str = "found:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.fence("json", &as_json(self));
    }

    fn records(&self) -> usize {
        self.hits.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.hits.truncate(keep);
        None
    }
}

/// What cannot be written as JSON is empty here, and an error in the JSON panel.
fn as_json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

async fn echo(arguments: EchoArguments) -> Result<Echoed, Stop> {
    Ok(Echoed { message: arguments.message })
}

async fn search(cx: Cx<Vec<Record>>, arguments: SearchArguments) -> Result<Found, Stop> {
    let hits: Vec<Record> = cx.state().iter().take(arguments.limit).cloned().collect();
    Ok(Found { query: arguments.q, total: hits.len(), hits })
}

/// The server, for the tests as well.
///
/// # Errors
/// Never: its definitions and records are checked by a test.
pub(crate) fn server() -> Result<Server, Box<dyn std::error::Error>> {
    let records: Vec<Record> = serde_json::from_str(RECORDS)?;
    let tools = Toolset::new("bench", records)
        .with(
            tool("echo", plain(echo)).description("Returns the message unchanged").read_only().closed_world(),
        )
        .with(tool("search", search).description("Returns the first records").read_only().closed_world());
    Ok(Server::builder("bench", "1.0.0").toolset(tools).build()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).init();
    let server = server()?;
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        None => server.serve_stdio().await?,
        Some("--http") => {
            let port = words.next().ok_or("--http needs a port")?.parse()?;
            server.serve_http(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), Http::new()).await?;
        }
        Some(_) => return Err("say nothing for stdio, or --http PORT".into()),
    }
    Ok(())
}
