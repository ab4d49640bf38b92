//! A tool's answer on the terminal, in a pipe, or as JSON.

use diptych::Format;
use diptych::client::Reply;
use serde_json::Value;

use super::fields::ToolCommand;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{self, tame};
use crate::render;

/// Prints an answer and says how the call ended.
pub(crate) fn reply(reply: &Reply, format: Format, command: &ToolCommand) -> Outcome {
    let exit = ending(reply);
    // A failure's text is no result: in a pipe nobody should take it for one.
    if exit == Exit::Failed || exit == Exit::Usage {
        if format == Format::Json {
            output::line(&machine(reply))?;
            return Err(Failure::quiet(exit));
        }
        return Err(Failure::new(exit, tame(reply.text().trim())));
    }
    let text = text(reply);
    let printed = match format {
        Format::Json => machine(reply),
        Format::Markdown if text.is_empty() => machine(reply),
        Format::Markdown => text,
        Format::Both if text.is_empty() => machine(reply),
        Format::Both => format!("{text}\n\n{}", machine(reply)),
    };
    output::line(&printed)?;
    if exit == Exit::NeedsInput {
        return Err(Failure::new(exit, "The tool needs more to go on.").maybe_hint(missing(reply, command)));
    }
    Ok(exit)
}

/// How the call ended.
fn ending(reply: &Reply) -> Exit {
    let panel = reply.json();
    let kind = reply.kind();
    if kind.as_deref() == Some("needsInput:v1") {
        return Exit::NeedsInput;
    }
    let refused = panel.is_some_and(|panel| panel["details"]["violations"].is_array());
    match (reply.is_error, refused) {
        (true, true) => Exit::Usage,
        (true, false) => Exit::Failed,
        (false, _) => Exit::Done,
    }
}

/// What to add to the command line.
fn missing(reply: &Reply, command: &ToolCommand) -> Option<String> {
    let panel = reply.json()?;
    let fields = panel["needsInput"]["fields"].as_array()?;
    let flags: Vec<String> = fields
        .iter()
        .filter_map(|field| command.flag_of(field.as_str()?))
        .map(|flag| format!("--{flag}"))
        .collect();
    if flags.is_empty() {
        return Some("Call it at a terminal to be asked.".to_owned());
    }
    Some(format!("Give {}, or call it at a terminal to be asked.", flags.join(" or ")))
}

/// The machine panel; what came, where there is none.
fn machine(reply: &Reply) -> String {
    let panel = reply.json().unwrap_or_else(|| Value::Array(reply.content.clone()));
    format!("{panel:#}")
}

/// Everything but the machine panel, for people.
fn text(reply: &Reply) -> String {
    let blocks = reply.content.iter().filter(|block| block["_meta"]["mimeType"] != "application/json");
    let texts: Vec<String> = blocks.filter_map(block).collect();
    let text = texts.join("\n\n");
    if output::is_terminal() { render::terminal(&text) } else { text }
}

/// One block as text; what is not text is named.
fn block(block: &Value) -> Option<String> {
    let about = |what: &str| {
        let kind = block["mimeType"].as_str().unwrap_or("unknown type");
        let bytes = block["data"].as_str().map_or(0, |data| data.len() / 4 * 3);
        format!("({what}: {kind}, about {bytes} bytes; `--format json` has it)")
    };
    match block["type"].as_str()? {
        "text" => block["text"].as_str().map(str::to_owned),
        "image" => Some(about("image")),
        "audio" => Some(about("audio")),
        "resource_link" => Some(format!("{} <{}>", block["name"].as_str()?, block["uri"].as_str()?)),
        "resource" => {
            let resource = &block["resource"];
            let named = || format!("(resource: {})", resource["uri"].as_str().unwrap_or_default());
            Some(resource["text"].as_str().map_or_else(named, str::to_owned))
        }
        other => Some(format!("({other})")),
    }
}
