//! What a graph is made of, at a glance. Counted once for each state of the store.

use std::collections::HashMap;
use std::sync::PoisonError;

use rusqlite::{Connection, params};
use serde::Serialize;

use super::error::StoreError;
use super::model::Scope;
use super::transaction::{IdRange, range_of};
use super::{Store, page};

/// How many types of each sort are listed.
const TYPES: usize = 50;
/// How many of the most connected entities are listed.
const CONNECTED: usize = 10;
/// How many scopes are remembered.
const SCOPES: usize = 32;

/// How many there are of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeCount {
    /// The type.
    #[serde(rename = "type")]
    pub name: String,
    /// How many have it.
    pub count: u64,
}

/// An entity and how many relations touch it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connected {
    /// Its name.
    pub name: String,
    /// What sort of thing it is.
    pub entity_type: String,
    /// How many relations start or end at it.
    pub relations: u64,
}

/// What a graph is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphSummary {
    /// How many entities it has.
    pub entities: u64,
    /// How many relations it has.
    pub relations: u64,
    /// Its types of entities, the most frequent first.
    pub entity_types: Vec<TypeCount>,
    /// Its types of relations, the most frequent first.
    pub relation_types: Vec<TypeCount>,
    /// The entities with the most relations.
    pub most_connected: Vec<Connected>,
}

/// For each scope, the state of the store that was counted and what was found.
pub(crate) type Cache = HashMap<u64, (i64, GraphSummary)>;

impl Store {
    /// What the graph is made of.
    pub fn summary(&self, scope: &Scope) -> Result<GraphSummary, StoreError> {
        let key = page::question("summary", scope, &[]);
        self.read(|connection| {
            let Some(range) = range_of(connection, scope)? else { return Ok(GraphSummary::default()) };
            let (first, last) = range.projects();
            let state: i64 = connection
                .prepare_cached(
                    "SELECT coalesce(max(changed_at), 0) FROM project WHERE id BETWEEN ?1 AND ?2",
                )?
                .query_row([first, last], |row| row.get(0))?;
            let known = self.summaries.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
            if let Some((counted, summary)) = known
                && counted == state
            {
                return Ok(summary);
            }
            let summary = count(connection, range)?;
            let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
            if summaries.len() >= SCOPES {
                summaries.clear();
            }
            summaries.insert(key, (state, summary.clone()));
            Ok(summary)
        })
    }
}

fn count(connection: &Connection, range: IdRange) -> Result<GraphSummary, StoreError> {
    let (first, last) = range.projects();
    let types = |table: &str, column: &str| -> Result<(u64, Vec<TypeCount>), StoreError> {
        let mut counts: Vec<TypeCount> = connection
            .prepare_cached(&format!(
                "SELECT {column}, count(*) FROM {table} WHERE project BETWEEN ?1 AND ?2 AND deleted_at IS NULL
                 GROUP BY {column} ORDER BY count(*) DESC, {column}"
            ))?
            .query_map([first, last], |row| Ok(TypeCount { name: row.get(0)?, count: row.get(1)? }))?
            .collect::<Result<_, _>>()?;
        let total = counts.iter().map(|count| count.count).sum();
        counts.truncate(TYPES);
        Ok((total, counts))
    };
    let (entities, entity_types) = types("entity", "entity_type")?;
    let (relations, relation_types) = types("relation", "relation_type")?;
    let most_connected = connection
        .prepare_cached(
            "SELECT entity.name, entity.entity_type, degree.relations FROM (
                 SELECT entity, count(*) AS relations FROM (
                     SELECT from_entity AS entity FROM relation
                     WHERE from_entity BETWEEN ?1 AND ?2 AND deleted_at IS NULL
                     UNION ALL
                     SELECT to_entity FROM relation
                     WHERE to_entity BETWEEN ?1 AND ?2 AND deleted_at IS NULL AND to_entity <> from_entity
                 ) GROUP BY entity ORDER BY relations DESC, entity LIMIT ?3
             ) degree JOIN entity ON entity.id = degree.entity ORDER BY degree.relations DESC, degree.entity",
        )?
        .query_map(params![range.first, range.last, CONNECTED], |row| {
            Ok(Connected { name: row.get(0)?, entity_type: row.get(1)?, relations: row.get(2)? })
        })?
        .collect::<Result<_, _>>()?;
    Ok(GraphSummary { entities, relations, entity_types, relation_types, most_connected })
}
