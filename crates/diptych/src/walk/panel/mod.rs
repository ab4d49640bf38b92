//! The JSON panel: serialised once, with a table of what stands where in the text.
//!
//! Every answer is checked against its schema. Building a `serde_json::Value` for that would mean
//! a map for every object, and a copy of every name and string. So the table is made while the text is
//! written, by the formatter, and the validator reads the panel where it stands.

mod read;
#[cfg(test)]
mod tests;
mod write;

use jsonschema::types::JsonType;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::Serializer;

pub(crate) use self::read::PanelJson;
use self::read::Place;
use self::write::Recorder;

/// A JSON panel, written.
#[derive(Debug, Clone)]
pub struct Panel {
    text: String,
    entries: Vec<Entry>,
}

/// One value, or one name of an object's member, in the text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    kind: JsonType,
    start: usize,
    end: usize,
    /// The entry after this one and all that is in it.
    next: usize,
    /// Items of an array, members of an object.
    count: usize,
}

/// The members that the toolkit adds to what an author's type serialises to.
#[derive(Serialize)]
struct Whole<'a, T> {
    kind: &'a str,
    #[serde(flatten)]
    members: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<&'a Truncated>,
}

/// What the budget, or the tool itself, left out.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncated {
    pub(crate) shown: usize,
    pub(crate) total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

impl Panel {
    /// The panel of a value that serialises to an object.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn new<T: Serialize>(
        kind: &str,
        members: &T,
        truncated: Option<&Truncated>,
    ) -> Result<Self, String> {
        Panel::write(&Whole { kind, members, truncated })
            .map_err(|error| format!("{kind} does not serialise to an object: {error}"))
    }

    /// The panel of one of the toolkit's own types, which always serialise to objects.
    pub(crate) fn of(kind: &str, members: &impl Serialize) -> Self {
        Panel::new(kind, members, None).unwrap_or_else(|problem| {
            tracing::error!(problem);
            let entry = Entry { kind: JsonType::Object, start: 0, end: 2, next: 1, count: 0 };
            Panel { text: "{}".to_owned(), entries: vec![entry] }
        })
    }

    fn write(value: &impl Serialize) -> serde_json::Result<Self> {
        let mut text = Vec::with_capacity(1024);
        let mut formatter = Recorder::default();
        formatter.entries.reserve(64);
        value.serialize(&mut Serializer::with_formatter(&mut text, &mut formatter))?;
        if formatter.is_opaque {
            // Something in it was JSON already: it is read, and written again as one.
            return Panel::write(&serde_json::from_slice::<Value>(&text)?);
        }
        // What serde_json writes is UTF-8, and nothing is lost where it is not.
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Ok(Panel { text, entries: formatter.entries })
    }

    /// As it is sent to programs.
    pub(crate) fn compact(&self) -> &str {
        &self.text
    }

    /// As a value, for whoever serialises by itself.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// As it is shown: the same, indented.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::with_capacity(self.text.len() * 2);
        if let Some(root) = self.root() {
            root.indent(&mut out, 0);
        }
        out
    }

    /// The whole panel, for the validator.
    pub(crate) fn root(&self) -> Option<Place<'_>> {
        (!self.entries.is_empty()).then_some(Place { panel: self, index: 0 })
    }
}
