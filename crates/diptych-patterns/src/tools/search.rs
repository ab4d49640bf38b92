//! The tool `search_patterns`: what it takes, when it asks, and what it finds.

use std::sync::Arc;
use std::time::Duration;

use diptych::{Choice, Cx, Field, JsonObject, NeedsInput, Stop, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::results::{ContractMarkers, Drawing, Metadata, QueryEcho, SearchResults};
use crate::text::shorten;
use crate::{Catalogue, Difficulty, Found, Library};

/// More matches than this without a filter, and the search asks for one.
const TOO_BROAD: usize = 20;

/// How long an answer waits for an embedder.
const PATIENCE: Duration = Duration::from_secs(1);

/// The most patterns named where nothing was found.
const MOST_NEAREST: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Search {
    /// What to look for: a question, an API name or keywords.
    q: Option<String>,
    /// Only patterns of this category.
    category: Option<String>,
    /// Only patterns of this difficulty.
    difficulty: Option<Difficulty>,
    /// The most patterns to return. Without it, all matches.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// The most patterns to draw in full in the Markdown.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 10))]
    limit_cards: usize,
    /// Whether to say where the catalogue comes from.
    #[serde(default)]
    include_provenance_panel: bool,
    /// Where to go on, as the last answer's `truncated.nextCursor` said.
    cursor: Option<String>,
}

fn three() -> usize {
    3
}

/// Some clients fill in every argument: a blank filter is none.
pub(super) fn drop_blanks(arguments: &mut JsonObject) {
    for name in ["category", "difficulty", "cursor"] {
        if arguments.get(name).and_then(Value::as_str).is_some_and(|text| text.trim().is_empty()) {
            arguments.remove(name);
        }
    }
}

pub(super) async fn search_patterns(cx: Cx<Library>, search: Search) -> Result<SearchResults, Stop> {
    let catalogue = cx.state().current();
    let q = search.q.as_deref().map(str::trim).unwrap_or_default();
    if q.is_empty() {
        return Err(needs_query(&catalogue).into());
    }
    let category = match &search.category {
        Some(name) => Some(catalogue.category(name).ok_or_else(|| needs_known_category(&catalogue, name))?),
        None => None,
    };
    let found = match by_meaning(&cx, &catalogue, q).await {
        Some(near) => catalogue.find_fused(q, category, search.difficulty, &near),
        None => catalogue.find(q, category, search.difficulty),
    };
    let total = found.matches.len();
    let filtered = category.is_some() || search.difficulty.is_some();
    // Someone who was asked and wants no filter, or is on the next page already, is not asked again.
    let settled = cx.asked("category") || cx.asked("difficulty") || search.cursor.is_some();
    if total > TOO_BROAD && !filtered && !settled {
        return Err(needs_filter(&catalogue, &found).into());
    }
    let offset = match &search.cursor {
        Some(cursor) => cursor.trim().parse().ok().filter(|at| *at < total).ok_or_else(bad_cursor)?,
        None => 0,
    };
    let metadata = Metadata {
        total_count: total,
        categories: found.categories(&catalogue),
        difficulties: found.difficulties(),
        rendered_cards: 0,
        rendered_card_ids: Vec::new(),
        contract_markers: ContractMarkers::default(),
    };
    let mut drawing = Drawing {
        title: catalogue.title().to_owned(),
        cards: search.limit_cards,
        offset,
        ..Drawing::default()
    };
    if total == 0 {
        drawing.nearest = nearest(&catalogue, q);
        drawing.categories = catalogue.categories().iter().map(|count| count.of.clone()).collect();
    }
    let most = search.limit.unwrap_or(usize::MAX);
    Ok(SearchResults {
        query: QueryEcho {
            q: q.to_owned(),
            category: category.map(str::to_owned),
            difficulty: search.difficulty,
            limit: search.limit,
            format: cx.format(),
        },
        metadata,
        patterns: found.matches.into_iter().skip(offset).take(most).map(|found| found.pattern).collect(),
        provenance: search.include_provenance_panel.then(|| catalogue.provenance().clone()),
        drawing,
    })
}

/// The patterns nearest in meaning, if an embedder knows them at once.
async fn by_meaning(cx: &Cx<Library>, catalogue: &Arc<Catalogue>, q: &str) -> Option<Vec<(usize, f32)>> {
    let meaning = cx.state().meaning()?.clone();
    let (catalogue, q) = (Arc::clone(catalogue), q.to_owned());
    let nearest = cx.blocking(move || meaning.nearest(&catalogue, &q));
    tokio::time::timeout(PATIENCE, nearest).await.ok()?.ok()?
}

/// What comes nearest where nothing was found: matches that the filters kept out, else ids that look alike.
fn nearest(catalogue: &Catalogue, q: &str) -> Vec<Arc<crate::Pattern>> {
    let outside = catalogue.find(q, None, None).matches;
    if !outside.is_empty() {
        return outside.into_iter().take(MOST_NEAREST).map(|found| found.pattern).collect();
    }
    let near: Vec<_> = catalogue.near_ids(q).into_iter().filter_map(|id| catalogue.get(id)).collect();
    let near = if near.is_empty() { catalogue.least_unlike(q) } else { near };
    near.into_iter().cloned().collect()
}

fn needs_query(catalogue: &Catalogue) -> NeedsInput {
    NeedsInput::new("Search Query Needed", "What pattern are you looking for? Please provide a search query.")
        .reason("Search query is required to find relevant patterns")
        .field(Field::text("q").suggest(catalogue.queries()))
}

fn needs_known_category(catalogue: &Catalogue, name: &str) -> NeedsInput {
    let name = shorten(name.trim(), 100);
    let categories: Vec<String> = catalogue.categories().iter().map(|count| count.of.clone()).collect();
    NeedsInput::new(
        "Unknown Category",
        format!("Category \"{name}\" not found. Please choose one of the catalogue's categories."),
    )
    .reason(format!("Category \"{name}\" does not exist in the catalogue"))
    .field(category_field(&categories))
    .details(move |markdown| draw_filters(markdown, &categories, &[]))
}

fn needs_filter(catalogue: &Catalogue, found: &Found) -> NeedsInput {
    let total = found.matches.len();
    let categories: Vec<String> = found.categories(catalogue).into_iter().map(|count| count.of).collect();
    let difficulties: Vec<&'static str> =
        found.difficulties().into_iter().map(|count| count.of.as_str()).collect();
    let choices = difficulties
        .iter()
        .map(|name| Choice::new(*name).description(format!("Filter by {name} difficulty")));
    NeedsInput::new(
        "Narrow Your Search",
        format!("Found {total} patterns. Would you like to narrow your search by category or difficulty?"),
    )
    .reason(format!("Too many results ({total}). Narrowing filters will help find the right pattern."))
    .field(category_field(&categories).optional())
    .field(Field::choice("difficulty", choices).optional())
    .details(move |markdown| draw_filters(markdown, &categories, &difficulties))
}

fn category_field(categories: &[String]) -> Field {
    let choices =
        categories.iter().map(|name| Choice::new(name).description(format!("Filter by {name} category")));
    Field::choice("category", choices)
}

fn draw_filters(markdown: &mut diptych::Markdown, categories: &[String], difficulties: &[&str]) {
    markdown.paragraph(|line| {
        line.literal("**Available filters:**");
    });
    markdown.tight().bullet(|line| {
        line.literal("Category: ").text(categories.join(", "));
    });
    if !difficulties.is_empty() {
        markdown.bullet(|line| {
            line.literal("Difficulty: ").text(difficulties.join(", "));
        });
    }
}

fn bad_cursor() -> ToolError {
    let problem = "is not a cursor of this search";
    ToolError::client(format!("Invalid input: cursor {problem}."))
        .hint("Leave it out to begin with the first match.")
        .detail("violations", json!([{"path": "cursor", "problem": problem}]))
}
