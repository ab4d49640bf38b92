//! What the client's model and the client itself can be asked for, and what they answer.

use serde::Deserialize;
use serde_json::Value;

/// A message that the client's own model is asked to write. The answer is a [`Sampled`].
#[derive(Debug, Clone)]
pub struct Sample {
    pub(crate) prompt: String,
    pub(crate) system: Option<String>,
    pub(crate) max_tokens: u32,
}

impl Sample {
    /// A prompt, and how long the message may be.
    pub fn new(prompt: impl Into<String>, max_tokens: u32) -> Self {
        Sample { prompt: prompt.into(), system: None, max_tokens }
    }

    /// Instructions for the model.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }
}

/// A message that the client's model wrote: what [`Call::answer`](crate::Call::answer) gives for a
/// [`NeedsInput::sample`](crate::NeedsInput::sample).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sampled {
    /// Which model wrote it, if the client says so.
    #[serde(default)]
    pub model: String,
    /// Why it stopped, such as `endTurn` or `maxTokens`.
    #[serde(default)]
    pub stop_reason: Option<String>,
    /// One block, or since 2025-11-25 several.
    content: Value,
}

impl Sampled {
    /// Its words: all text blocks, one below the other.
    pub fn text(&self) -> String {
        let blocks = match &self.content {
            Value::Array(blocks) => blocks.as_slice(),
            block => std::slice::from_ref(block),
        };
        blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Where the client works: what [`Call::answer`](crate::Call::answer) gives for a
/// [`NeedsInput::roots`](crate::NeedsInput::roots).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Roots {
    /// Its folders.
    pub roots: Vec<Root>,
}

/// A folder of the client.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is: a `file://` URI.
    pub uri: String,
    /// What people call it.
    #[serde(default)]
    pub name: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_message_has_one_block_or_several() {
        let one = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris."}});
        assert_eq!(from_value::<Sampled>(one).unwrap().text(), "Paris.");
        let several = json!({"role": "assistant", "model": "m", "stopReason": "endTurn", "content": [
            {"type": "text", "text": "Paris."}, {"type": "image", "data": "", "mimeType": "image/png"},
            {"type": "text", "text": "It is in France."}]});
        let several: Sampled = from_value(several).unwrap();
        assert_eq!(several.text(), "Paris.\nIt is in France.");
        assert_eq!((several.model.as_str(), several.stop_reason.as_deref()), ("m", Some("endTurn")));
    }

    #[test]
    fn folders_may_have_names() {
        let roots = json!({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b", "_meta": {}}]});
        let Roots { roots } = from_value(roots).unwrap();
        assert_eq!(roots[0], Root { uri: "file:///a".to_owned(), name: Some("A".to_owned()) });
        assert_eq!(roots[1].name, None);
    }
}
