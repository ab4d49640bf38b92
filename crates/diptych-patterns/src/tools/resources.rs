//! The resources: the catalogue as a table of contents, and each pattern as a page.

use diptych::{Contents, Cx, Markdown, NoArguments, Present as _, Stop, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::details::PatternDetails;
use crate::text::shorten;
use crate::{Catalogue, Library};

/// The table of contents.
pub(super) const CATALOGUE: &str = "patterns://catalogue";
/// The pages.
pub(super) const PATTERN: &str = "patterns://patterns/{id}";

/// The URI of a pattern. Ids are safe in URIs as they are.
pub(super) fn pattern_uri(id: &str) -> String {
    format!("patterns://patterns/{id}")
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Page {
    /// The id of the pattern.
    id: String,
}

pub(super) async fn catalogue(cx: Cx<Library>, _: NoArguments) -> Result<Contents, Stop> {
    let catalogue = cx.state().current();
    let mut markdown = Markdown::new();
    draw_catalogue(&mut markdown, &catalogue);
    Ok(Contents::markdown("", markdown.finish()))
}

pub(super) async fn pattern(cx: Cx<Library>, page: Page) -> Result<Contents, Stop> {
    let catalogue = cx.state().current();
    let pattern = catalogue.get(&page.id).ok_or_else(|| unknown(&catalogue, &page.id))?;
    let mut markdown = Markdown::new();
    PatternDetails::new(&catalogue, pattern).markdown(&mut markdown);
    Ok(Contents::markdown("", markdown.finish()).name(&pattern.id).title(&pattern.title))
}

/// The error for an id that is none, with those that come nearest.
pub(super) fn unknown(catalogue: &Catalogue, id: &str) -> ToolError {
    let id = shorten(id.trim(), 100);
    let near = catalogue.near_ids(&id);
    if near.is_empty() {
        ToolError::not_found(format!("There is no pattern \"{id}\"."))
    } else {
        ToolError::not_found(format!("There is no pattern \"{id}\". Did you mean {}?", near.join(", ")))
    }
}

fn draw_catalogue(markdown: &mut Markdown, catalogue: &Catalogue) {
    markdown.heading_with(1, |line| {
        line.text(catalogue.title()).literal(" Patterns");
    });
    markdown.paragraph(|line| {
        line.bold(catalogue.len()).literal(" patterns, version ").text(&catalogue.provenance().version);
        line.literal(". Use a pattern ID with 'get_pattern' for the pattern in full.");
    });
    for category in catalogue.categories() {
        markdown.heading(2, &category.of);
        let mut patterns: Vec<_> =
            catalogue.patterns().filter(|pattern| pattern.category == category.of).collect();
        patterns.sort_by_key(|pattern| pattern.difficulty);
        for pattern in patterns {
            markdown.bullet(|line| {
                line.bold(&pattern.title).literal(" (").code(&pattern.id).literal(", ");
                line.text(pattern.difficulty).literal("): ").text(&pattern.summary);
            });
        }
    }
}
