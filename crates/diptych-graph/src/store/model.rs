//! The nouns of the store: what is put in, what comes out, and what an operation reports.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::time::Timestamp;

/// The name of a project: a graph of its own inside the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Project(String);

impl Project {
    /// A project by its name; nothing is made until something is written to it.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Project {
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for Project {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for Project {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Where a question looks. Records found across projects carry the name of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One project.
    Project(Project),
    /// The whole store.
    All,
}

impl From<Project> for Scope {
    fn from(project: Project) -> Self {
        Self::Project(project)
    }
}

impl From<&Project> for Scope {
    fn from(project: &Project) -> Self {
        Self::Project(project.clone())
    }
}

/// A project and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectOverview {
    /// Its name.
    pub name: String,
    /// How many entities it has.
    pub entities: u64,
    /// How many relations it has.
    pub relations: u64,
    /// When it was last written to.
    pub changed_at: Timestamp,
}

/// A thing that is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// Its name, unique in its project.
    pub name: String,
    /// What sort of thing it is.
    pub entity_type: String,
    /// What is known about it, in the order in which it was added.
    pub observations: Vec<String>,
    /// How many more observations it has; only in answers that the whole entity would not fit into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_observations: Option<usize>,
    /// Counts the changes; goes on counting when a deleted entity is made again.
    pub version: u32,
    /// When it was made, or made again.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The project it belongs to; only in answers across projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip)]
    pub(crate) id: i64,
    #[serde(skip)]
    pub(crate) position: i64,
}

/// A directed connection between two entities.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The name of the entity it starts at.
    pub from: String,
    /// The name of the entity it leads to.
    pub to: String,
    /// What sort of connection it is.
    pub relation_type: String,
    /// How strong it is, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
    /// How sure it is, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Whatever else is known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Counts the changes; goes on counting when a deleted relation is made again.
    pub version: u32,
    /// When it was made, or made again.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The project it belongs to; only in answers across projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip)]
    pub(crate) id: i64,
    #[serde(skip)]
    pub(crate) position: i64,
}

impl Relation {
    /// What tells it apart from every other relation of its project.
    pub fn key(&self) -> RelationKey {
        RelationKey {
            from: self.from.clone(),
            to: self.to.clone(),
            relation_type: self.relation_type.clone(),
        }
    }
}

/// What tells a relation apart from every other of its project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelationKey {
    /// The name of the entity it starts at.
    pub from: String,
    /// The name of the entity it leads to.
    pub to: String,
    /// What sort of connection it is.
    pub relation_type: String,
}

/// An entity to be made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewEntity {
    /// Its name, unique in the graph.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// What sort of thing it is, such as person or decision.
    #[schemars(length(min = 1, max = 200))]
    pub entity_type: String,
    /// What is known about it, one fact each.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 5000)))]
    pub observations: Vec<String>,
}

/// A relation to be made.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewRelation {
    /// The name of the entity it starts at.
    pub from: String,
    /// The name of the entity it leads to.
    pub to: String,
    /// What sort of connection it is, in active voice, such as depends_on.
    #[schemars(length(min = 1, max = 200))]
    pub relation_type: String,
    /// How strong it is, how sure, and whatever else is known.
    #[serde(flatten)]
    pub facts: RelationFacts,
}

/// The part of a relation that can change. In an update, what is absent stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelationFacts {
    /// How strong it is, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub strength: Option<f64>,
    /// How sure it is, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Option<f64>,
    /// Whatever else is known about it.
    pub metadata: Option<Map<String, Value>>,
}

/// Observations to be added to an entity.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewObservations {
    /// The entity's name.
    pub entity_name: String,
    /// What to add, one fact each.
    #[schemars(inner(length(min = 1, max = 5000)))]
    pub contents: Vec<String>,
}

/// Observations of one entity: to be taken away, taken away, or not found there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityObservations {
    /// The entity's name.
    pub entity_name: String,
    /// The observations, word for word.
    pub observations: Vec<String>,
}

/// What was really added to an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddedObservations {
    /// The entity's name.
    pub entity_name: String,
    /// Those that it did not have yet.
    pub added_observations: Vec<String>,
}

/// A name that looks like another that exists already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimilarName {
    /// The new name.
    pub name: String,
    /// The name that exists.
    pub existing: String,
    /// In what they are alike.
    pub reason: String,
}

/// What making entities came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntitiesCreated {
    /// Those made, in the order given.
    pub entities: Vec<Entity>,
    /// The names that existed already, or came twice.
    pub skipped: Vec<String>,
    /// New names that look like others.
    pub similar: Vec<SimilarName>,
    /// When it happened; `None` when nothing changed.
    pub at: Option<Timestamp>,
}

/// What making relations came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelationsCreated {
    /// Those made, in the order given.
    pub relations: Vec<Relation>,
    /// Those that existed already, or came twice.
    pub skipped: Vec<RelationKey>,
    /// When it happened; `None` when nothing changed.
    pub at: Option<Timestamp>,
}

/// What adding observations came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservationsAdded {
    /// How many were new.
    pub added: usize,
    /// For each request, in the order given, those that were new.
    pub results: Vec<AddedObservations>,
    /// When it happened; `None` when nothing changed.
    pub at: Option<Timestamp>,
}

/// What deleting entities came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntitiesDeleted {
    /// The names of those deleted.
    pub entity_names: Vec<String>,
    /// The names that did not exist.
    pub missing: Vec<String>,
    /// How many relations went with them.
    pub relations_deleted: usize,
    /// When it happened; `None` when nothing changed.
    pub at: Option<Timestamp>,
}

/// What deleting observations came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservationsDeleted {
    /// How many were deleted.
    pub deleted: usize,
    /// For each entity, those deleted.
    pub results: Vec<EntityObservations>,
    /// For each entity, those it did not have; all of them where it does not exist.
    pub missing: Vec<EntityObservations>,
    /// When it happened; `None` when nothing changed.
    pub at: Option<Timestamp>,
}

/// What deleting relations came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelationsDeleted {
    /// Those deleted.
    pub relations: Vec<RelationKey>,
    /// Those that did not exist.
    pub missing: Vec<RelationKey>,
    /// When it happened; `None` when nothing changed.
    pub at: Option<Timestamp>,
}
