//! The server that the official conformance suite is run against: everything a client can meet, in one place.
//!
//! `cargo run -p diptych --example conformance -- 127.0.0.1:8931` serves it at `/mcp`. What the suite wants is
//! fixed by name: tools that answer (`tools`), tools that ask (`asks`), prompts and resources.

mod asks;
mod media;
mod prompts;
mod resources;
mod tools;

use diptych::{BuildError, Http, Server};

/// The server, for the tests as well.
///
/// # Errors
/// Never: its definitions are checked by a test.
pub(crate) fn server() -> Result<Server, BuildError> {
    Server::builder("conformance", env!("CARGO_PKG_VERSION"))
        .title("Conformance fixtures")
        .instructions(
            "Fixtures of the MCP conformance suite. Each tool does what its name says, and nothing else.",
        )
        .toolset(tools::toolset())
        .toolset(asks::toolset())
        .toolset(prompts::toolset())
        .toolset(resources::toolset())
        .strict()
        .build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::WARN).init();
    let address = std::env::args().nth(1).ok_or("say where to listen, such as 127.0.0.1:8931")?;
    server()?.serve_http(address.parse()?, Http::new().stream_limit(tools::CONNECTION)).await?;
    Ok(())
}
