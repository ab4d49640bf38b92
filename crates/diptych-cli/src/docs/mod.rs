//! `diptych docs`: what is written about the binary, made from the definitions that it runs on.
//!
//! The command is hidden from people. It prints everything as one JSON object: `files` to be written as they are, and
//! `sections` of files that people write. `cargo xtask docs` puts them into the tree, and `cargo xtask test docs`
//! says when they are not what is there.

mod commands;
mod packaging;
mod samples;
mod schema;
mod settings;
mod tools;

use diptych::client::Client;
use serde_json::{Map, Value, json};

use self::samples::Taken;
use crate::exit::{Exit, Outcome};
use crate::{connection, output, toolsets};

/// The first line of every generated page.
const GENERATED: &str =
    "<!-- Made by `cargo xtask docs` from the definitions; what is changed by hand is lost. -->\n";

/// A toolset as its clients see it, and what its tools answer.
struct Documented {
    name: &'static str,
    tools: Vec<Value>,
    prompts: Vec<Value>,
    resources: Vec<Value>,
    samples: Taken,
}

/// Prints everything.
pub(crate) async fn docs() -> Outcome {
    let mut toolsets = Vec::new();
    for name in toolsets::NAMES {
        toolsets.push(document(name).await?);
    }
    let mut files = Map::new();
    let mut file = |path: &str, text: String| files.insert(path.to_owned(), Value::String(text));
    file("docs/tools.md", tools::index(&toolsets));
    for toolset in &toolsets {
        file(&format!("docs/tools/{}.md", toolset.name), tools::page(toolset));
    }
    file("docs/settings.md", settings::page());
    file("docs/commands.md", commands::page());
    file("Containerfile", packaging::container_file());
    file("packaging/manifest.json", packaging::bundle(&toolsets));
    file("packaging/server.json", packaging::server());
    let sections = json!({"README.md": {"settings": settings::table(), "commands": commands::table()}});
    output::line(&json!({"files": files, "sections": sections}).to_string())?;
    Ok(Exit::Done)
}

async fn document(name: &'static str) -> Outcome<Documented> {
    let (server, stage) = samples::stage(name)?;
    let client = Client::in_process(&server).connect().await;
    let client = client.map_err(|error| connection::failed(&error))?;
    let failed = |error| connection::failed(&error);
    let tools = client.tools().await.map_err(failed)?;
    let documented = Documented {
        name,
        prompts: if server.prompts().is_empty() {
            Vec::new()
        } else {
            client.prompts().await.map_err(failed)?
        },
        resources: if server.resources().is_empty() {
            Vec::new()
        } else {
            client.resources().await.map_err(failed)?
        },
        samples: stage.take(&client, &tools).await?,
        tools,
    };
    client.close().await;
    Ok(documented)
}

/// A text as the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A text of a definition.
fn text<'a>(definition: &'a Value, key: &str) -> &'a str {
    definition[key].as_str().unwrap_or_default()
}

/// A block of text that is shown as it is, whatever fences it has itself.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_within() {
        assert_eq!(fenced("json", "{}\n"), "```json\n{}\n```\n");
        assert_eq!(fenced("markdown", "a\n````ts\n````"), "`````markdown\na\n````ts\n````\n`````\n");
    }
}
