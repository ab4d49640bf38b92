//! The tool `get_pattern`: a pattern by its id, or the ids that come nearest.

use diptych::{Choice, Cx, Field, NeedsInput, Stop};
use schemars::JsonSchema;
use serde::Deserialize;

use super::details::PatternDetails;
use crate::text::shorten;
use crate::{Catalogue, Library};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Get {
    /// The id of the pattern, as `search_patterns` lists it.
    id: Option<String>,
}

pub(super) async fn get_pattern(cx: Cx<Library>, get: Get) -> Result<PatternDetails, Stop> {
    let catalogue = cx.state().current();
    let id = get.id.as_deref().map(str::trim).unwrap_or_default();
    match catalogue.get(id) {
        Some(pattern) => Ok(PatternDetails::new(&catalogue, pattern)),
        None => Err(needs_id(&catalogue, id).into()),
    }
}

fn needs_id(catalogue: &Catalogue, id: &str) -> NeedsInput {
    let near: Vec<String> = catalogue.near_ids(id).into_iter().map(str::to_owned).collect();
    let ask = if id.is_empty() {
        NeedsInput::new("Pattern ID Needed", "Which pattern do you want? Please provide a pattern ID.")
            .reason("Pattern ID is required to get a pattern")
    } else {
        let id = shorten(id, 100);
        NeedsInput::new(
            "Pattern Not Found",
            format!("Pattern \"{id}\" not found. Please provide a valid pattern ID."),
        )
        .reason(format!("Pattern ID \"{id}\" is invalid or does not exist"))
    };
    let choices = near.iter().map(|id| Choice::new(id).description(format!("Pattern ID: {id}")));
    ask.field(Field::text("id").offer(choices)).details(move |markdown| {
        if near.is_empty() {
            return;
        }
        markdown.paragraph(|line| {
            line.literal("**Did you mean:**");
        });
        markdown.tight();
        for id in &near {
            markdown.bullet(|line| {
                line.code(id);
            });
        }
    })
}
