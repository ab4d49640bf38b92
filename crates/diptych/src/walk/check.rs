//! Step 6 of the walk: what goes out is what was registered.
//!
//! In tests a violation fails the call; in production it is a warning on stderr and the answer still goes
//! out, because an answer with a flaw serves its reader better than none.

use jsonschema::Validator;
use jsonschema::json::{Json as _, Node as _, Object as _};
use serde_json::Value;

use super::panel::{Panel, PanelJson};
use crate::schema::JsonObject;

/// A compiled output schema.
pub(crate) struct OutputCheck(Validator<PanelJson>);

impl OutputCheck {
    /// # Errors
    /// Why the schema is not one.
    pub(crate) fn new(schema: &JsonObject) -> Result<Self, String> {
        let schema = Value::Object(schema.clone());
        let built = jsonschema::options_for::<PanelJson>().build(&schema);
        built.map(OutputCheck).map_err(|error| error.masked().to_string())
    }

    /// What is wrong with the structured panel, if anything.
    pub(crate) fn violation(&self, panel: &Panel) -> Option<String> {
        let root = panel.root()?;
        if self.0.is_valid(root) {
            return None;
        }
        let kind =
            root.as_object().and_then(|members| members.get(&PanelJson::prepare_key("kind"))?.as_string());
        let errors: Vec<String> = self
            .0
            .iter_errors(root)
            .map(|error| format!("{} at {}", error.masked(), error.instance_path()))
            .collect();
        Some(format!(
            "the answer ({}) does not match the tool's output schema: {}",
            kind.as_deref().unwrap_or("no kind"),
            errors.join("; ")
        ))
    }
}
