//! Step 6 of the walk: what goes out is what was registered.
//!
//! In tests a violation fails the call; in production it is a warning on stderr and the answer still goes
//! out, because an answer with a flaw serves its reader better than none.

use std::sync::LazyLock;

use jsonschema::Validator;
use jsonschema::json::{Json as _, Node as _, Object as _};
use serde_json::Value;

use super::panel::{Panel, PanelJson};
use crate::schema::{self, JsonObject};

/// A compiled output schema: what a tool answers itself. Asks and errors are the same for all tools.
pub(crate) struct OutputCheck(Validator<PanelJson>);

/// The schema of asks and errors, compiled once for all tools.
static COMMON: LazyLock<Option<Validator<PanelJson>>> = LazyLock::new(|| {
    let compiled = compile(schema::of_common_kinds());
    compiled.inspect_err(|problem| tracing::error!(problem, "asks and errors are not checked")).ok()
});

fn compile(schema: JsonObject) -> Result<Validator<PanelJson>, String> {
    let built = jsonschema::options_for::<PanelJson>().build(&Value::Object(schema));
    built.map_err(|error| error.masked().to_string())
}

impl OutputCheck {
    /// # Errors
    /// Why the schema is not one.
    pub(crate) fn new(schema: &JsonObject) -> Result<Self, String> {
        compile(schema::of_own_kinds(schema)).map(OutputCheck)
    }

    /// What is wrong with the structured panel, if anything.
    pub(crate) fn violation(&self, panel: &Panel) -> Option<String> {
        let root = panel.root()?;
        let kind =
            root.as_object().and_then(|members| members.get(&PanelJson::prepare_key("kind"))?.as_string());
        let is_common = kind.as_deref().is_some_and(schema::is_common_kind);
        let validator = if is_common { COMMON.as_ref()? } else { &self.0 };
        if validator.is_valid(root) {
            return None;
        }
        let errors: Vec<String> = validator
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
