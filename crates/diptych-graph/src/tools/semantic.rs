//! `semantic_search` and `get_entity_embedding`.

use std::collections::HashMap;

use diptych::{Cx, Markdown, Present, Stop, ToolError};
use diptych_search::{Document, Index, Purpose, cosine, fuse, similarity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{room, squeeze};
use super::resources::missing;
use super::search::{Mode, found};
use super::{Graph, ask, draw};
use crate::meaning::Worker;
use crate::store::embeddings::text_of;
use crate::store::{Entity, MatchQuality, StoreError};

/// How many of each ranking are fused: those further down cannot come to the top.
const CANDIDATES: usize = 60;

/// The score by words below which they say nothing, and that from which they say everything.
const WORDS_COUNT: (f32, f32) = (0.3, 0.7);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SemanticSearch {
    /// What to look for, in a few words or a sentence.
    #[schemars(length(min = 1))]
    query: String,
    /// The most entities to return.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// The least similarity, 0 to 1; 0.5 is that of things that have nothing to do with each other.
    #[serde(default = "six_tenths")]
    #[schemars(range(min = 0, max = 1))]
    min_similarity: f32,
    /// Only entities of these types.
    #[serde(default)]
    entity_types: Vec<String>,
    /// Whether words count as well as meaning.
    #[serde(default = "yes")]
    hybrid_search: bool,
    /// How much meaning counts against words, 0 to 1.
    #[serde(default = "six_tenths")]
    #[schemars(range(min = 0, max = 1))]
    semantic_weight: f32,
}

fn ten() -> usize {
    10
}

fn six_tenths() -> f32 {
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
    /// Why it was not made as it was asked for, or not over everything.
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

impl SemanticResult {
    fn new(entity: Entity, cosine: Option<f32>) -> Self {
        // Four digits are more than were kept.
        let rounded = |cosine| (f64::from(similarity(cosine)) * 10_000.0).round() / 10_000.0;
        Self { entity, similarity: cosine.map(rounded) }
    }
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
        match self.mode {
            Mode::Lexical => {
                found(markdown, self.count, false, self.quality.unwrap_or(MatchQuality::AllWords));
            }
            mode => {
                markdown.paragraph(|line| {
                    line.literal("Found ").text(draw::count(self.count, "entity", "entities"));
                    line.literal(if matches!(mode, Mode::Semantic) {
                        " by meaning."
                    } else {
                        " by meaning and words."
                    });
                });
            }
        }
        for result in &self.results {
            draw::entity(markdown, &result.entity);
            if let Some(similarity) = result.similarity {
                markdown.paragraph(|line| {
                    line.literal("Similarity ").text(format!("{similarity:.2}"));
                });
            }
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
    let room = room(&cx);
    let mut answer = ask(&cx, move |graph| search(graph, &arguments, room)).await?;
    answer.squeeze();
    Ok(answer)
}

fn search(graph: &Graph, asked: &SemanticSearch, room: usize) -> Result<SemanticResults, StoreError> {
    match by_meaning(graph, asked, room)? {
        Ok(results) => Ok(results),
        Err(why) => by_words(graph, asked, &why, room),
    }
}

/// The search that was asked for, or a sentence that says why it cannot be made.
fn by_meaning(
    graph: &Graph,
    asked: &SemanticSearch,
    room: usize,
) -> Result<Result<SemanticResults, String>, StoreError> {
    let Some(meaning) = &graph.meaning else { return Ok(Err("No embedder is configured.".to_owned())) };
    let embedder = meaning.embedder();
    let embedded =
        embedder.model().and_then(|model| Ok((model, embedder.embed(&[&asked.query], Purpose::Query)?)));
    let (model, vector) = match embedded {
        Ok((model, mut vectors)) if vectors.len() == 1 => (model, vectors.remove(0)),
        Ok(_) => return Ok(Err("The embedder made no vector.".to_owned())),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let least = cosine(asked.min_similarity);
    let most = asked.limit.max(CANDIDATES);
    let near = graph.store.nearest_entities(&graph.scope, &asked.entity_types, &vector, most, least)?;
    let problem = graph.worker.as_deref().and_then(Worker::problem);
    let is_ours = near.model.as_ref().is_none_or(|kept| *kept == model);
    if !is_ours || (near.made > 0 && near.dimensions != vector.len()) {
        let why = "The embeddings in the store are another model's and have to be made anew.";
        return Ok(Err(problem.unwrap_or_else(|| why.to_owned())));
    }
    if near.made == 0 && near.waiting > 0 {
        return Ok(Err(problem.unwrap_or_else(|| "The embeddings are still being made.".to_owned())));
    }
    let reason = (near.waiting > 0).then(|| {
        let waiting = draw::count(near.waiting, "entity has", "entities have");
        let why = problem.map_or_else(String::new, |problem| format!(" {problem}"));
        format!("{waiting} no up-to-date embedding yet.{why}")
    });
    let (results, mode) = if asked.hybrid_search {
        (hybrid(graph, asked, &near.found, &vector, least)?, Mode::Hybrid)
    } else {
        let found = &near.found[..near.found.len().min(asked.limit)];
        let cosines: HashMap<i64, f32> = found.iter().map(|found| (found.key, found.cosine)).collect();
        let ids: Vec<i64> = found.iter().map(|found| found.key).collect();
        let entities = graph.store.entities_by_id(&graph.scope, &ids)?.into_iter();
        let with_cosine = |entity: Entity| {
            let cosine = cosines.get(&entity.id).copied();
            SemanticResult::new(entity, cosine)
        };
        (entities.map(with_cosine).collect(), Mode::Semantic)
    };
    Ok(Ok(SemanticResults { count: results.len(), results, mode, reason, quality: None, room }))
}

/// Both rankings in one. The candidates of both are scored by words in the same way: by the part of the query that they
/// have.
fn hybrid(
    graph: &Graph,
    asked: &SemanticSearch,
    near: &[diptych_search::Neighbour],
    vector: &[f32],
    least: f32,
) -> Result<Vec<SemanticResult>, StoreError> {
    let worded = graph.store.best_by_words(&graph.scope, &asked.query, &asked.entity_types, CANDIDATES)?;
    let mut entities: HashMap<i64, Entity> =
        worded.entities.into_iter().map(|entity| (entity.id, entity)).collect();
    let unseen: Vec<i64> =
        near.iter().map(|found| found.key).filter(|id| !entities.contains_key(id)).collect();
    entities.extend(
        graph.store.entities_by_id(&graph.scope, &unseen)?.into_iter().map(|entity| (entity.id, entity)),
    );
    let mut ids: Vec<i64> = entities.keys().copied().collect();
    ids.sort_unstable();
    let cosines: HashMap<i64, Option<f32>> =
        ids.iter().copied().zip(graph.store.cosines(&ids, vector)).collect();
    // What is less similar than was asked for is left out, also when it has the words; what was not measured stays.
    ids.retain(|id| cosines[id].is_none_or(|cosine| cosine >= least));
    let lexical = scores(&asked.query, ids.iter().map(|id| &entities[id]));
    // What was not measured is judged by its words alone.
    let worded: HashMap<i64, f32> = lexical.iter().copied().collect();
    let judge = |id: &i64| cosines[id].or_else(|| worded.get(id).copied()).unwrap_or_default().max(0.0);
    let semantic: Vec<(i64, f32)> = ids.iter().map(|id| (*id, judge(id))).collect();
    let fused = fuse(&lexical, &semantic, asked.semantic_weight);
    let best = fused.into_iter().filter(|(_, score)| *score > 0.0).take(asked.limit);
    Ok(best.filter_map(|(id, _)| Some(SemanticResult::new(entities.remove(&id)?, cosines[&id]))).collect())
}

/// The part of a query that each entity has, 0 to 1.
fn scores<'a>(query: &str, entities: impl Iterator<Item = &'a Entity>) -> Vec<(i64, f32)> {
    let mut ids = Vec::new();
    let documents = entities.map(|entity| {
        ids.push(entity.id);
        let document = Document::new(entity.id.to_string())
            .field("name", entity.name.as_str())
            .field("type", entity.entity_type.as_str());
        entity.observations.iter().fold(document, |document, text| document.field("text", text.as_str()))
    });
    let index = Index::builder().field("name", 3.0).field("type", 1.0).field("text", 1.5).build(documents);
    let Ok(index) = index else { return Vec::new() };
    index.search_all(query).hits.iter().map(|hit| (ids[hit.document], certainty(hit.score))).collect()
}

/// How sure words make us. What has most of the query's words is what was meant; what has a few of them is anything, and
/// a vector knows better. So a low score counts next to nothing, enough for an order among those that nothing else tells
/// apart.
fn certainty(score: f32) -> f32 {
    let (none, all) = WORDS_COUNT;
    ((score - none) / (all - none)).clamp(score.min(1.0) * 0.1, 1.0)
}

fn by_words(
    graph: &Graph,
    asked: &SemanticSearch,
    why: &str,
    room: usize,
) -> Result<SemanticResults, StoreError> {
    let page = graph.store.best_by_words(&graph.scope, &asked.query, &asked.entity_types, asked.limit)?;
    Ok(SemanticResults {
        count: page.entities.len(),
        results: page.entities.into_iter().map(|entity| SemanticResult::new(entity, None)).collect(),
        mode: Mode::Lexical,
        reason: Some(format!(
            "{why} So the query was searched for by its words; minSimilarity, hybridSearch and semanticWeight had no \
             effect, and there are no similarities."
        )),
        quality: Some(page.quality),
        room,
    })
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
    /// The numbers. The length of the vector is 1.
    embedding: Vec<f32>,
}

impl EntityEmbedding {
    fn new(entity_name: String, model: String, vector: &[f32]) -> Self {
        // Six digits: what a number of this kind has, and not what its widening to another kind adds.
        let embedding = vector.iter().map(|number| (number * 1e6).round() / 1e6).collect();
        Self { entity_name, model, dimensions: vector.len(), embedding }
    }
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
    let made = ask(&cx, move |graph| {
        if let Some(kept) = graph.store.entity_vector(&graph.scope, &name)? {
            return Ok(Ok(EntityEmbedding::new(name, kept.model, &kept.vector)));
        }
        let opened = graph.store.open_nodes(&graph.scope, std::slice::from_ref(&name))?;
        let Some(entity) = opened.entities.first() else { return Err(missing(graph, name)?) };
        let Some(meaning) = &graph.meaning else {
            return Ok(Err(ToolError::server("No embedder is configured, so entities have no embeddings.")
                .retryable(false)
                .hint("Use search_nodes to search by words.")));
        };
        // Its turn has not come yet; nobody has to wait for that.
        let embedder = meaning.embedder();
        let made = embedder
            .model()
            .and_then(|model| Ok((model, embedder.embed(&[&text_of(entity)], Purpose::Query)?)));
        Ok(match made {
            Ok((model, vectors)) if vectors.len() == 1 => Ok(EntityEmbedding::new(name, model, &vectors[0])),
            Ok(_) => Err(ToolError::server("The embedder made no vector.").retryable(true)),
            Err(error) => Err(ToolError::server(error.to_string())
                .retryable(matches!(error, diptych_search::EmbedError::Unavailable { .. }))),
        })
    })
    .await?;
    Ok(made?)
}
