//! What a client reads of a store's error.

use diptych::ToolError;
use serde_json::{Value, json};

use crate::store::StoreError;

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let mut answer = match &error {
            StoreError::Invalid(violations) => {
                let list: Vec<Value> = violations
                    .iter()
                    .map(|violation| json!({"path": violation.path, "problem": violation.problem}))
                    .collect();
                ToolError::client(message).detail("violations", list)
            }
            StoreError::MissingEntities(missing) => {
                let list: Vec<Value> = missing
                    .iter()
                    .map(|missing| json!({"name": missing.name, "nearest": missing.nearest}))
                    .collect();
                ToolError::not_found(message).detail("missing", list)
            }
            StoreError::MissingRelation(_) => ToolError::not_found(message),
            StoreError::BadCursor => ToolError::client(message),
            StoreError::File { .. } => {
                tracing::error!(detail = error.detail(), "{message}");
                ToolError::server(message).retryable(error.is_retryable())
            }
        };
        if let Some(hint) = error.hint() {
            answer = answer.hint(hint);
        }
        answer
    }
}
