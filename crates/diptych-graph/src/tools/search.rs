//! `search_nodes`.

use diptych::{Cx, Markdown, More, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{keep_touching, room, squeeze};
use super::reading::{is_false, page_from};
use super::{Graph, ask, draw};
use crate::store::{Cursor, Entity, MatchQuality, Relation, SearchPage, SearchRequest};

/// How a search was made.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Mode {
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
    /// By both.
    Hybrid,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchNodes {
    /// Words to look for in names, types and observations. Empty finds everything.
    query: String,
    /// Only entities of these types.
    #[serde(default)]
    entity_types: Vec<String>,
    /// The most entities to return; as many as fit without it.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

/// The entities that were found, best first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeSearchResults {
    /// The entities, best first.
    entities: Vec<Entity>,
    /// The relations that start or end at them.
    relations: Vec<Relation>,
    /// How many entities were found in all.
    count: usize,
    /// Present when there may be more than `count`: what matches very many entities is not counted to the end.
    #[serde(skip_serializing_if = "is_false")]
    count_is_at_least: bool,
    /// How the search was made.
    mode: Mode,
    /// How well the best results match.
    quality: MatchQuality,
    /// Present when they have more relations than are given here.
    #[serde(skip_serializing_if = "is_false")]
    more_relations: bool,
    #[serde(skip)]
    next: Option<Cursor>,
    #[serde(skip)]
    page: Places,
    #[serde(skip)]
    room: usize,
}

/// Where to go on after each entity of the page.
#[derive(Debug, Default)]
struct Places(Vec<Option<Cursor>>);

impl NodeSearchResults {
    fn of(page: SearchPage, room: usize) -> Self {
        let places = Places((0..=page.entities.len()).map(|shown| page.cursor_after(shown)).collect());
        let mut results = NodeSearchResults {
            entities: page.entities,
            relations: page.relations,
            count: page.total,
            count_is_at_least: !page.total_is_exact,
            mode: Mode::Lexical,
            quality: page.quality,
            more_relations: page.more_relations,
            next: page.next,
            page: places,
            room,
        };
        results.squeeze();
        results
    }

    fn squeeze(&mut self) {
        if self.entities.len() == 1 {
            self.more_relations |= squeeze(&mut self.entities, &mut self.relations, self.room);
        }
    }
}

impl Present for NodeSearchResults {
    const KIND: &'static str = "nodeSearchResults:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        found(markdown, self.count, self.count_is_at_least, self.quality);
        draw::entities(markdown, 2, &self.entities);
        draw::relations(markdown, 2, &self.relations, self.more_relations);
    }

    fn records(&self) -> usize {
        self.entities.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.entities.truncate(keep);
        keep_touching(&self.entities, &mut self.relations);
        self.squeeze();
        self.next = self.page.0.get(keep).cloned().flatten();
        self.next.as_ref().map(ToString::to_string)
    }

    fn more(&self) -> Option<More> {
        let next = self.next.as_ref()?;
        Some(More { total: self.count, next_cursor: Some(next.to_string()) })
    }
}

pub(super) async fn search_nodes(cx: Cx<Graph>, arguments: SearchNodes) -> Result<NodeSearchResults, Stop> {
    let budget = cx.budget();
    let page = ask(&cx, move |graph| {
        let mut page = page_from(arguments.cursor.as_deref())?;
        page.limit = arguments.limit.unwrap_or(page.limit);
        let SearchNodes { query, entity_types, .. } = arguments;
        graph.store.search_within(&graph.scope, &SearchRequest { query, entity_types, page }, budget)
    })
    .await?;
    Ok(NodeSearchResults::of(page, room(&cx)))
}

pub(super) fn found(markdown: &mut Markdown, count: usize, at_least: bool, quality: MatchQuality) {
    markdown.paragraph(|line| {
        line.literal(if at_least { "Found at least " } else { "Found " });
        line.text(draw::count(count, "entity", "entities"));
        line.literal(match quality {
            MatchQuality::AllWords | MatchQuality::Nothing => ".",
            MatchQuality::PartsOfWords => "; some have the words only as parts of longer ones.",
            MatchQuality::Corrected => " for the nearest spelling.",
            MatchQuality::SomeWords => " with some of the words; none has all of them.",
            MatchQuality::Everything => ": all there are.",
        });
    });
}
