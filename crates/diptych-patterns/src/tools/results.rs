//! `patternSearchResults:v1`: an index of all matches, and the first of them as cards.

use std::collections::BTreeMap;
use std::sync::Arc;

use diptych::{Drawn, Format, Markdown, More, Present};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::card::{CARD, draw_card};
use crate::{Count, Difficulty, Pattern, Provenance};

/// The marker of the index.
const INDEX: &str = "pattern-index:v1";

/// What a search found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(description = "The patterns that match a query.")]
pub(super) struct SearchResults {
    pub(super) query: QueryEcho,
    pub(super) metadata: Metadata,
    /// All matches, best first; up to `limit` of them where one was given.
    #[serde(serialize_with = "entries")]
    #[schemars(with = "Vec<Entry<'static>>")]
    pub(super) patterns: Vec<Arc<Pattern>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provenance: Option<Provenance>,
    /// What the Markdown needs besides.
    #[serde(skip)]
    pub(super) drawing: Drawing,
}

/// What only the Markdown shows, or does not even show.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// The catalogue's title.
    pub(super) title: String,
    /// The most cards.
    pub(super) cards: usize,
    /// How many matches come before the first of `patterns`.
    pub(super) offset: usize,
    /// Patterns to look at where nothing was found.
    pub(super) nearest: Vec<Arc<Pattern>>,
    /// Categories to look in where nothing was found.
    pub(super) categories: Vec<String>,
}

/// The query as it was understood: what was given, and the format.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct QueryEcho {
    pub(super) q: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) difficulty: Option<Difficulty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<usize>,
    pub(super) format: Format,
}

/// Counts of all matches, and what was drawn of them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct Metadata {
    /// How many patterns match.
    pub(super) total_count: usize,
    /// Matches by category.
    #[serde(serialize_with = "counts")]
    #[schemars(with = "BTreeMap<String, usize>")]
    pub(super) categories: Vec<Count<String>>,
    /// Matches by difficulty.
    #[serde(serialize_with = "counts")]
    #[schemars(with = "BTreeMap<String, usize>")]
    pub(super) difficulties: Vec<Count<Difficulty>>,
    /// How many patterns the Markdown draws as cards.
    pub(super) rendered_cards: usize,
    /// Their ids: the first of `patterns`.
    pub(super) rendered_card_ids: Vec<String>,
    pub(super) contract_markers: ContractMarkers,
}

/// How often each marker stands in the Markdown.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ContractMarkers {
    pub(super) index: usize,
    pub(super) cards: usize,
    #[schemars(extend("const" = "v1"))]
    pub(super) version: &'static str,
}

/// A pattern as a search lists it.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Entry<'a> {
    id: &'a str,
    title: &'a str,
    category: &'a str,
    difficulty: Difficulty,
    description: &'a str,
    tags: &'a [String],
}

fn entries<S: Serializer>(patterns: &[Arc<Pattern>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(patterns.iter().map(|pattern| Entry {
        id: &pattern.id,
        title: &pattern.title,
        category: &pattern.category,
        difficulty: pattern.difficulty,
        description: &pattern.summary,
        tags: &pattern.tags,
    }))
}

fn counts<T: Serialize, S: Serializer>(counts: &[Count<T>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|count| (&count.of, count.patterns)))
}

impl Present for SearchResults {
    const KIND: &'static str = "patternSearchResults:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(2, |line| {
            line.text(&self.drawing.title);
            line.literal(" Pattern Search Results for \"").text(&self.query.q).literal("\"");
        });
        if self.patterns.is_empty() {
            self.draw_nothing_found(markdown);
        } else {
            self.draw_index(markdown);
            self.draw_cards(markdown);
        }
        if let Some(provenance) = &self.provenance {
            draw_provenance(markdown, provenance);
        }
    }

    fn settle(&mut self, drawn: &Drawn) {
        let cards = drawn.markers(CARD);
        self.metadata.rendered_cards = cards;
        self.metadata.rendered_card_ids =
            self.patterns.iter().take(cards).map(|pattern| pattern.id.clone()).collect();
        self.metadata.contract_markers =
            ContractMarkers { index: drawn.markers(INDEX), cards, version: "v1" };
    }

    fn records(&self) -> usize {
        self.patterns.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.patterns.truncate(keep);
        self.more()?.next_cursor
    }

    fn more(&self) -> Option<More> {
        let end = self.drawing.offset + self.patterns.len();
        let total = self.metadata.total_count;
        (end < total).then(|| More { total, next_cursor: Some(end.to_string()) })
    }
}

impl SearchResults {
    fn draw_index(&self, markdown: &mut Markdown) {
        let total = self.metadata.total_count;
        markdown.paragraph(|line| {
            line.literal("Found ").bold(total);
            line.literal(if total == 1 { " matching pattern. " } else { " matching patterns. " });
            line.literal("Detailed documentation for the top results follows. ");
            line.literal("Use pattern IDs from the Index with 'get_pattern' for additional deep-dives.");
        });
        markdown.heading(2, "Index").marker(INDEX).table(
            &["Pattern", "Category", "Difficulty", "Tags"],
            |table| {
                for pattern in &self.patterns {
                    table.row(|row| {
                        row.cell(|line| {
                            line.bold(&pattern.title).literal(" (").code(&pattern.id).literal(")");
                        });
                        row.text(&pattern.category).text(pattern.difficulty).text(pattern.tags.join(", "));
                    });
                }
            },
        );
    }

    fn draw_cards(&self, markdown: &mut Markdown) {
        let cards = self.drawing.cards.min(self.patterns.len());
        markdown.heading_with(2, |line| {
            line.literal("Top ").text(cards).literal(if cards == 1 { " Pattern" } else { " Patterns" });
        });
        for pattern in self.patterns.iter().take(cards) {
            draw_card(markdown, pattern);
        }
    }

    fn draw_nothing_found(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Found **0** matching patterns. Search again in other words, ");
            line.literal("or use a pattern ID with 'get_pattern'.");
        });
        if !self.drawing.nearest.is_empty() {
            markdown.paragraph(|line| {
                line.literal("**Nearest patterns:**");
            });
            markdown.tight();
            for pattern in &self.drawing.nearest {
                markdown.bullet(|line| {
                    line.bold(&pattern.title).literal(" (").code(&pattern.id).literal(")");
                });
            }
        }
        markdown.paragraph(|line| {
            line.literal("**Categories:** ").text(self.drawing.categories.join(", "));
        });
    }
}

fn draw_provenance(markdown: &mut Markdown, provenance: &Provenance) {
    markdown.heading(2, "Provenance");
    for (label, value) in [
        ("**Source:** ", &provenance.source),
        ("**Version:** ", &provenance.version),
        ("**Timestamp:** ", &provenance.timestamp),
    ] {
        markdown.bullet(|line| {
            line.literal(label).text(value);
        });
    }
}
