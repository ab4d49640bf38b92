//! A whole server: `cargo run -p diptych --example echo`, then speak MCP on standard input.

use diptych::{Server, Stop, Text, Toolset, plain, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say back.
    message: String,
}

async fn echo(arguments: Echo) -> Result<Text, Stop> {
    Ok(Text::new(arguments.message))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools =
        Toolset::new("echo", ()).with(tool("echo", plain(echo)).description("Says it back.").read_only());
    Server::builder("echo", "1.0.0").toolset(tools).build()?.serve_stdio().await?;
    Ok(())
}
