//! Which panels become content blocks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The format a caller asked for: the argument `format` that every tool takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Format {
    /// One Markdown block, for people and models. The default.
    #[default]
    Markdown,
    /// One JSON block, for programs.
    Json,
    /// The Markdown block, then the JSON block.
    Both,
}

impl Format {
    /// The name of the argument that the toolkit adds to every tool.
    pub const ARGUMENT: &'static str = "format";

    /// Every format, for tests that go through all of them.
    pub const ALL: [Format; 3] = [Format::Markdown, Format::Json, Format::Both];

    /// Whether the Markdown panel becomes a block.
    pub fn has_markdown(self) -> bool {
        self != Format::Json
    }

    /// Whether the JSON panel becomes a block.
    pub fn has_json(self) -> bool {
        self != Format::Markdown
    }

    /// The format as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Both => "both",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == text)
    }

    /// What `_meta.accept` stands for: a MIME type, or several as a list or separated by commas.
    pub(crate) fn accepted(accept: &Value) -> Option<Format> {
        let wanted: Vec<&str> = match accept {
            Value::String(text) => text.split(',').collect(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        let wants = |mime: &str| {
            wanted
                .iter()
                .any(|one| one.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(mime))
        };
        match (wants("text/markdown"), wants("application/json")) {
            (true, true) => Some(Format::Both),
            (true, false) => Some(Format::Markdown),
            (false, true) => Some(Format::Json),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn accept_stands_for_a_format() {
        for (accept, format) in [
            (json!("application/json"), Some(Format::Json)),
            (json!("text/markdown; charset=utf-8"), Some(Format::Markdown)),
            (json!("text/markdown, application/json"), Some(Format::Both)),
            (json!(["Application/JSON"]), Some(Format::Json)),
            (json!("image/png"), None),
            (json!(7), None),
        ] {
            assert_eq!(Format::accepted(&accept), format, "{accept}");
        }
    }
}
