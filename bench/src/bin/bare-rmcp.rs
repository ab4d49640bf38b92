//! The server that an author gets who uses rmcp as its documentation shows: macros, `Json<T>`, one of its transports.
//!
//! Without arguments: stdio over `stdio_pipes()`. `--http PORT`: sessions; with `--json` also: stateless JSON answers.

use std::sync::Arc;

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct EchoArguments {
    message: String,
}

#[derive(Serialize, JsonSchema)]
struct Echoed {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct SearchArguments {
    q: String,
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

#[derive(Clone)]
struct Bare {
    records: Arc<Vec<Record>>,
}

#[tool_router]
impl Bare {
    #[tool(description = "Returns the message unchanged")]
    async fn echo(&self, Parameters(arguments): Parameters<EchoArguments>) -> Json<Echoed> {
        Json(Echoed { message: arguments.message })
    }

    #[tool(description = "Returns the first records")]
    async fn search(&self, Parameters(arguments): Parameters<SearchArguments>) -> Json<Found> {
        let hits: Vec<Record> = self.records.iter().take(arguments.limit).cloned().collect();
        Json(Found { query: arguments.q, total: hits.len(), hits })
    }
}

#[tool_handler]
impl ServerHandler for Bare {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Bare { records: Arc::new(serde_json::from_str(bench::RECORDS)?) };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(at) = arguments.iter().position(|word| word == "--http") else {
        server.serve(rmcp::transport::io::stdio_pipes()).await?.waiting().await?;
        return Ok(());
    };
    let port: u16 = arguments.get(at + 1).ok_or("--http needs a port")?.parse()?;
    let mut config = StreamableHttpServerConfig::default();
    if arguments.iter().any(|word| word == "--json") {
        config = config.with_legacy_session_mode(false).with_json_response(true);
    }
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), LocalSessionManager::default().into(), config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    // Without it each answer of a session waits 44 ms for an acknowledgement: a comparison with that would be cheap.
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
