//! Step 6 of the walk: what goes out is what was registered.
//!
//! In tests a violation fails the call; in production it is a warning on stderr and the answer still goes
//! out, because an answer with a flaw serves its reader better than none.

use std::sync::{Arc, LazyLock, OnceLock};

use jsonschema::Validator;
use jsonschema::json::{Json as _, Node as _, Object as _};
use serde_json::Value;

use super::panel::{Panel, PanelJson};
use crate::schema::{self, JsonObject};

/// What a tool answers itself; asks and errors are the same for all tools. The schema is compiled when the tool first
/// answers: of the many tools that are served few are called, and a start should not wait for the rest.
pub(crate) struct OutputCheck {
    schema: Arc<JsonObject>,
    compiled: OnceLock<Compiled>,
}

type Compiled = Result<Validator<PanelJson>, String>;

/// The schema of asks and errors.
static COMMON: LazyLock<Compiled> = LazyLock::new(|| compile(schema::of_common_kinds()));

fn compile(schema: JsonObject) -> Compiled {
    let built = jsonschema::options_for::<PanelJson>().build(&Value::Object(schema));
    built.map_err(|error| error.masked().to_string())
}

impl OutputCheck {
    pub(crate) fn new(schema: Arc<JsonObject>) -> Self {
        OutputCheck { schema, compiled: OnceLock::new() }
    }

    /// What is wrong with the structured panel, if anything.
    pub(crate) fn violation(&self, panel: &Panel) -> Option<String> {
        let root = panel.root()?;
        let kind =
            root.as_object().and_then(|members| members.get(&PanelJson::prepare_key("kind"))?.as_string());
        let compiled = if kind.as_deref().is_some_and(schema::is_common_kind) {
            &*COMMON
        } else {
            self.compiled.get_or_init(|| compile(schema::of_own_kinds(&self.schema)))
        };
        let validator = match compiled {
            Ok(validator) => validator,
            Err(why) => return Some(format!("the tool's output schema is not one: {why}")),
        };
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
