//! Step 6 of the walk: what goes out is what was registered.
//!
//! In tests a violation fails the call; in production it is a warning on stderr and the answer still goes
//! out, because an answer with a flaw serves its reader better than none.

use jsonschema::Validator;
use serde_json::Value;

use crate::schema::JsonObject;

/// A compiled output schema.
pub(crate) struct OutputCheck(Validator);

impl OutputCheck {
    /// # Errors
    /// Why the schema is not one.
    pub(crate) fn new(schema: &JsonObject) -> Result<Self, String> {
        let schema = Value::Object(schema.clone());
        jsonschema::validator_for(&schema).map(OutputCheck).map_err(|error| error.masked().to_string())
    }

    /// What is wrong with the structured panel, if anything.
    pub(crate) fn violation(&self, structured: &Value) -> Option<String> {
        if self.0.is_valid(structured) {
            return None;
        }
        let kind = structured.get("kind").and_then(Value::as_str).unwrap_or("no kind");
        let errors: Vec<String> = self
            .0
            .iter_errors(structured)
            .map(|error| format!("{} at {}", error.masked(), error.instance_path()))
            .collect();
        Some(format!("the answer ({kind}) does not match the tool's output schema: {}", errors.join("; ")))
    }
}
