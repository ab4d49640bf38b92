//! The toolset itself: what clients see of a library.

mod announce;
mod card;
mod details;
mod get;
mod prompts;
mod resources;
mod results;
mod search;

use diptych::{Cx, Masked as _, Partial, Stop, Toolset, prompt, resource, tool};

pub use announce::announce;

use crate::Library;

/// The toolset `patterns`: `search_patterns` and `get_pattern`, the resources `patterns://catalogue` and
/// `patterns://patterns/{id}`, and the prompts `apply-pattern` and `review-code`.
///
/// The library is read when something is first asked of it, on a thread of its own: no handshake waits for it.
/// [`announce`] tells clients when it changes.
///
/// ```
/// use diptych::Server;
/// use diptych_patterns::{Library, toolset};
///
/// let server = Server::builder("patterns", "1.0.0").toolset(toolset(Library::embedded())).build()?;
/// assert_eq!(server.tools()[0].name(), "search_patterns");
/// # Ok::<(), diptych::BuildError>(())
/// ```
#[must_use]
pub fn toolset(library: Library) -> Toolset<Library> {
    let open = move || {
        let library = library.clone();
        async move {
            let read = move || {
                drop(library.current());
                library
            };
            tokio::task::spawn_blocking(read).await.masked()
        }
    };
    Toolset::lazy("patterns", open)
        .with(
            tool("search_patterns", search::search_patterns)
                .title("Search patterns")
                .description(
                    "Searches the catalogue of code patterns by question, API name or keyword, and returns an \
                     index of all matches with the best ones in full.",
                )
                .reshape(search::drop_blanks)
                .read_only()
                .closed_world(),
        )
        .with(
            tool("get_pattern", get::get_pattern)
                .title("Get a pattern")
                .description(
                    "Returns one pattern by its id: when to use it, examples, notes, anti-patterns and \
                     related patterns.",
                )
                .read_only()
                .closed_world(),
        )
        .with(
            resource(resources::CATALOGUE, resources::catalogue)
                .name("catalogue")
                .title("Pattern catalogue")
                .description("All patterns by category, with their ids and summaries.")
                .mime_type("text/markdown"),
        )
        .with(
            resource(resources::PATTERN, resources::pattern)
                .name("pattern")
                .title("Pattern")
                .description("One pattern in full.")
                .mime_type("text/markdown")
                .complete("id", complete_id),
        )
        .with(
            prompt("apply-pattern", prompts::apply_pattern)
                .title("Apply a pattern")
                .description("Rewrites code so that it follows a pattern of the catalogue.")
                .complete("pattern", complete_id),
        )
        .with(
            prompt("review-code", prompts::review_code)
                .title("Review code")
                .description("Reviews code by the patterns of one category.")
                .complete("category", complete_category),
        )
}

/// Ids that fit what was typed, then the ids of patterns with such a tag.
async fn complete_id(cx: Cx<Library>, typed: Partial) -> Result<Vec<String>, Stop> {
    let catalogue = cx.state().current();
    let mut ids = typed.filter(catalogue.patterns().map(|pattern| &pattern.id));
    for pattern in catalogue.patterns() {
        if !typed.filter(&pattern.tags).is_empty() && !ids.contains(&pattern.id) {
            ids.push(pattern.id.clone());
        }
    }
    Ok(ids)
}

async fn complete_category(cx: Cx<Library>, typed: Partial) -> Result<Vec<String>, Stop> {
    let catalogue = cx.state().current();
    Ok(typed.filter(catalogue.categories().iter().map(|count| &count.of)))
}
