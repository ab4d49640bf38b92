//! The reference of the tools, prompts and resources.

use std::fmt::Write as _;

use serde_json::Value;

use super::samples::Sample;
use super::{Documented, GENERATED, cell, fenced, schema, text};
use crate::call::first_sentence;

/// The kinds that every tool can answer with.
const COMMON: [&str; 2] = ["needsInput:v1", "toolError:v1"];

/// What all toolsets have in common, and what there is.
pub(super) fn index(toolsets: &[Documented]) -> String {
    let mut out = format!(
        "{GENERATED}\n# Tools\n\n\
         Every tool takes `format`: `markdown` (the default) answers with a Markdown block, `json` with a JSON block, \
         `both` with both. `structuredContent` holds the JSON panel in every format and is valid against the tool's \
         `outputSchema`, asks and errors included; `kind` says what it is. A field that is not there is left out, \
         never `null`.\n\n\
         An answer over the budget is cut at a record and says so in `truncated`: how many are `shown`, of what \
         `total`, and where there is more, the `nextCursor` to pass as `cursor`.\n"
    );
    for toolset in toolsets {
        let _ = writeln!(out, "\n## [`{0}`](tools/{0}.md)\n", toolset.name);
        out.push_str(&table(toolset));
    }
    out.push_str("\n## What every tool can answer\n");
    let first = toolsets.iter().flat_map(|toolset| &toolset.tools).next();
    for name in COMMON {
        if let Some(schema) = first.and_then(|tool| kinds(tool).find(|kind| kind_name(kind) == name)) {
            out.push_str(&kind("###", schema));
        }
        if let Some(sample) = toolsets.iter().find_map(|toolset| toolset.samples.get(name)) {
            out.push_str(&shown("####", sample));
        }
    }
    out
}

/// The page of a toolset.
pub(super) fn page(toolset: &Documented) -> String {
    let mut out = format!("{GENERATED}\n# The toolset `{}`\n\n", toolset.name);
    out.push_str(&table(toolset));
    out.push_str("\nWhat all tools have in common is on the page [Tools](../tools.md).\n");
    for definition in &toolset.tools {
        out.push_str(&tool(definition, toolset.samples.get(text(definition, "name"))));
    }
    if !toolset.prompts.is_empty() {
        out.push_str("\n## Prompts\n\n| prompt | arguments | what it does |\n|---|---|---|\n");
        for prompt in &toolset.prompts {
            let arguments = prompt["arguments"].as_array().into_iter().flatten().map(|argument| {
                let optional = if argument["required"] == true { "" } else { " (optional)" };
                format!("`{}`{optional}: {}", text(argument, "name"), text(argument, "description"))
            });
            let arguments = arguments.collect::<Vec<_>>().join("<br>");
            let about = cell(text(prompt, "description"));
            let _ = writeln!(out, "| `{}` | {} | {about} |", text(prompt, "name"), cell(&arguments));
        }
    }
    if !toolset.resources.is_empty() {
        out.push_str("\n## Resources\n\n| URI | type | what it is |\n|---|---|---|\n");
        for resource in &toolset.resources {
            let uri = if resource["uri"].is_string() { "uri" } else { "uriTemplate" };
            let about = cell(text(resource, "description"));
            let _ =
                writeln!(out, "| `{}` | `{}` | {about} |", text(resource, uri), text(resource, "mimeType"));
        }
    }
    out
}

fn table(toolset: &Documented) -> String {
    let mut out = String::from("| tool | changes something | what it does |\n|---|---|---|\n");
    for tool in &toolset.tools {
        let writes = if tool["annotations"]["readOnlyHint"] == true { "no" } else { "yes" };
        let about = cell(&first_sentence(text(tool, "description")));
        let _ = writeln!(out, "| `{}` | {writes} | {about} |", text(tool, "name"));
    }
    out
}

fn tool(definition: &Value, sample: Option<&Sample>) -> String {
    let name = text(definition, "name");
    let mut out = format!(
        "\n## `{name}`\n\n{}\n\n{}\n\n### Arguments\n\n{}\n### Answers\n",
        text(definition, "description"),
        annotations(&definition["annotations"]),
        schema::arguments(&definition["inputSchema"])
    );
    for schema in kinds(definition).filter(|schema| !COMMON.contains(&kind_name(schema))) {
        out.push_str(&kind("####", schema));
    }
    let common = COMMON.map(|name| format!("[`{name}`](../tools.md#{})", anchor(name))).join(" and ");
    let _ = writeln!(out, "\nLike every tool, it can also answer with {common}.");
    match sample {
        Some(sample) => out.push_str(&shown("###", sample)),
        None => out.push_str("\nIts answers come from the network, so there is no sample of them here.\n"),
    }
    out
}

/// The hints that clients get, in words.
fn annotations(hints: &Value) -> String {
    let mut words = Vec::new();
    if hints["readOnlyHint"] == true {
        words.push("Changes nothing.");
    } else {
        words.push(match hints["destructiveHint"] == false {
            true => "Only adds.",
            false => "Changes or deletes what is there.",
        });
        if hints["idempotentHint"] == true {
            words.push("The same call again changes nothing more.");
        }
    }
    words.push(match hints["openWorldHint"] == false {
        true => "Stays on this machine.",
        false => "Goes to the network.",
    });
    let named: Vec<String> = hints
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.is_boolean())
        .map(|(name, value)| format!("`{name}: {value}`"))
        .collect();
    format!("{} ({})", words.join(" "), named.join(", "))
}

fn kinds(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["outputSchema"]["oneOf"].as_array().into_iter().flatten()
}

fn kind_name(schema: &Value) -> &str {
    text(&schema["properties"]["kind"], "const")
}

fn kind(heading: &str, schema: &Value) -> String {
    let about = text(schema, "description");
    format!("\n{heading} `{}`\n\n{about}\n\n{}", kind_name(schema), schema::kind(schema))
}

/// The anchor that Markdown viewers give a heading.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || *c == '-').collect()
}

fn shown(heading: &str, sample: &Sample) -> String {
    let arguments = Value::Object(sample.arguments.clone()).to_string();
    let call =
        format!("diptych call {} --json '{}' --format both", sample.tool, arguments.replace('\'', r"'\''"));
    format!(
        "\n{heading} Sample\n\n{}\nThe Markdown panel:\n\n{}\nThe JSON panel:\n\n{}",
        fenced("sh", &call),
        fenced("markdown", &sample.markdown),
        fenced("json", &format!("{:#}", sample.json))
    )
}
