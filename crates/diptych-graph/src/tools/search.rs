//! `search_nodes`, `semantic_search` and `get_entity_embedding`.

use diptych::{Cx, Markdown, More, Present, Stop, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{keep_touching, squeeze};
use super::reading::{is_false, page_from};
use super::resources::missing;
use super::{Graph, ask, draw};
use crate::store::{Cursor, Entity, MatchQuality, PageRequest, Relation, SearchPage, SearchRequest};

/// Why a search by meaning is one by words.
const NO_EMBEDDER: &str = "No embedder is configured, so the query was searched for by its words. minSimilarity, hybridSearch and \
     semanticWeight had no effect, and there are no similarities.";

/// How a search was made.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Mode {
    /// By words.
    Lexical,
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
    let page = ask(&cx, move |graph| {
        let mut page = page_from(arguments.cursor.as_deref())?;
        page.limit = arguments.limit.unwrap_or(page.limit);
        let SearchNodes { query, entity_types, .. } = arguments;
        graph.store.search(&graph.scope, &SearchRequest { query, entity_types, page })
    })
    .await?;
    Ok(NodeSearchResults::of(page, cx.state().room))
}

fn found(markdown: &mut Markdown, count: usize, at_least: bool, quality: MatchQuality) {
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(
    dead_code,
    reason = "admitted and described; without an embedder they have no effect, as the answer says"
)]
pub(super) struct SemanticSearch {
    /// What to look for, in a few words or a sentence.
    #[schemars(length(min = 1))]
    query: String,
    /// The most entities to return.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// The least similarity, 0 to 1.
    #[serde(default = "six_tenths")]
    #[schemars(range(min = 0, max = 1))]
    min_similarity: f64,
    /// Only entities of these types.
    #[serde(default)]
    entity_types: Vec<String>,
    /// Whether words count as well as meaning.
    #[serde(default = "yes")]
    hybrid_search: bool,
    /// How much meaning counts against words, 0 to 1.
    #[serde(default = "six_tenths")]
    #[schemars(range(min = 0, max = 1))]
    semantic_weight: f64,
}

fn ten() -> usize {
    10
}

fn six_tenths() -> f64 {
    0.6
}

fn yes() -> bool {
    true
}

/// What was found by meaning, best first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SemanticResults {
    /// The entities, best first.
    results: Vec<SemanticResult>,
    /// How many there are.
    count: usize,
    /// How the search was made.
    mode: Mode,
    /// Why it was not made by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip)]
    quality: Option<MatchQuality>,
    #[serde(skip)]
    room: usize,
}

/// An entity that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SemanticResult {
    /// The entity.
    entity: Entity,
    /// How similar it is to the query, 0 to 1; absent where that was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
}

impl SemanticResults {
    fn squeeze(&mut self) {
        if let [result] = &mut self.results[..] {
            squeeze(std::slice::from_mut(&mut result.entity), &mut Vec::new(), self.room);
        }
    }
}

impl Present for SemanticResults {
    const KIND: &'static str = "semanticResults:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        if let Some(reason) = &self.reason {
            markdown.text(reason);
        }
        found(markdown, self.count, false, self.quality.unwrap_or(MatchQuality::AllWords));
        for result in &self.results {
            draw::entity(markdown, &result.entity);
        }
    }

    fn records(&self) -> usize {
        self.results.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.results.truncate(keep);
        self.squeeze();
        None
    }
}

pub(super) async fn semantic_search(
    cx: Cx<Graph>,
    arguments: SemanticSearch,
) -> Result<SemanticResults, Stop> {
    let page = ask(&cx, move |graph| {
        let SemanticSearch { query, entity_types, limit, .. } = arguments;
        let page = PageRequest { limit, cursor: None };
        graph.store.search(&graph.scope, &SearchRequest { query, entity_types, page })
    })
    .await?;
    let mut answer = SemanticResults {
        count: page.entities.len(),
        results: page
            .entities
            .into_iter()
            .map(|entity| SemanticResult { entity, similarity: None })
            .collect(),
        mode: Mode::Lexical,
        reason: Some(NO_EMBEDDER.to_owned()),
        quality: Some(page.quality),
        room: cx.state().room,
    };
    answer.squeeze();
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GetEntityEmbedding {
    /// The name of the entity.
    entity_name: String,
}

/// The vector that stands for an entity.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntityEmbedding {
    /// The entity's name.
    entity_name: String,
    /// The model that made the vector.
    model: String,
    /// How many numbers it has.
    dimensions: usize,
    /// The numbers.
    embedding: Vec<f32>,
}

impl Present for EntityEmbedding {
    const KIND: &'static str = "entityEmbedding:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.code(&self.entity_name).literal(": ").text(self.dimensions).literal(" dimensions by ");
            line.code(&self.model).literal(".");
        });
    }
}

pub(super) async fn get_entity_embedding(
    cx: Cx<Graph>,
    arguments: GetEntityEmbedding,
) -> Result<EntityEmbedding, Stop> {
    let name = arguments.entity_name;
    ask(&cx, move |graph| {
        let opened = graph.store.open_nodes(&graph.scope, std::slice::from_ref(&name))?;
        if opened.entities.is_empty() {
            return Err(missing(graph, name)?);
        }
        Ok(())
    })
    .await?;
    Err(ToolError::server("No embedder is configured, so entities have no embeddings.")
        .retryable(false)
        .hint("Use search_nodes to search by words.")
        .into())
}
