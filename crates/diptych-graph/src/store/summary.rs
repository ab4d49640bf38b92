//! What a graph is made of, at a glance. Counted once for each state of the store.

use std::collections::HashMap;
use std::sync::PoisonError;

use rusqlite::{Connection, params};
use schemars::JsonSchema;
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TypeCount {
    /// The type.
    #[serde(rename = "type")]
    pub name: String,
    /// How many have it.
    pub count: u64,
}

/// An entity and how many relations touch it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    let (entities, entity_types) = types(
        connection,
        range,
        "SELECT entity_type, count(*) FROM entity INDEXED BY entity_by_type
         WHERE project = ?1 AND deleted_at IS NULL GROUP BY entity_type",
    )?;
    let (relations, relation_types) = types(
        connection,
        range,
        "SELECT relation_type, count(*) FROM relation INDEXED BY relation_by_type
         WHERE project = ?1 AND deleted_at IS NULL GROUP BY relation_type",
    )?;
    let most_connected = most_connected(connection, range)?;
    Ok(GraphSummary { entities, relations, entity_types, relation_types, most_connected })
}

/// All records and those of each type, counted in one project after the other, as the indexes have them.
fn types(
    connection: &Connection,
    range: IdRange,
    statement: &str,
) -> Result<(u64, Vec<TypeCount>), StoreError> {
    let (first, last) = range.projects();
    let mut counts: HashMap<String, u64> = HashMap::new();
    let mut projects = connection.prepare_cached("SELECT id FROM project WHERE id BETWEEN ?1 AND ?2")?;
    let mut statement = connection.prepare_cached(statement)?;
    for project in projects.query_map([first, last], |row| row.get::<_, i64>(0))? {
        let mut rows = statement.query([project?])?;
        while let Some(row) = rows.next()? {
            *counts.entry(row.get(0)?).or_default() += row.get::<_, u64>(1)?;
        }
    }
    let total = counts.values().sum();
    let mut counts: Vec<TypeCount> =
        counts.into_iter().map(|(name, count)| TypeCount { name, count }).collect();
    counts.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.name.cmp(&other.name)));
    counts.truncate(TYPES);
    Ok((total, counts))
}

/// Each count runs along one index that has all it needs; a relation from an entity to itself is in both of the
/// first two and taken out by the third.
fn most_connected(connection: &Connection, range: IdRange) -> Result<Vec<Connected>, StoreError> {
    let mut degrees: HashMap<i64, i64> = HashMap::new();
    for (sign, statement) in [
        (
            1,
            "SELECT from_entity, count(*) FROM relation INDEXED BY relation_by_start
             WHERE from_entity BETWEEN ?1 AND ?2 AND deleted_at IS NULL GROUP BY from_entity",
        ),
        (
            1,
            "SELECT to_entity, count(*) FROM relation INDEXED BY relation_by_end
             WHERE to_entity BETWEEN ?1 AND ?2 AND deleted_at IS NULL GROUP BY to_entity",
        ),
        (
            -1,
            "SELECT from_entity, count(*) FROM relation INDEXED BY relation_by_key
             WHERE from_entity BETWEEN ?1 AND ?2 AND from_entity = to_entity AND deleted_at IS NULL
             GROUP BY from_entity",
        ),
    ] {
        let mut statement = connection.prepare_cached(statement)?;
        let mut rows = statement.query(params![range.first, range.last])?;
        while let Some(row) = rows.next()? {
            *degrees.entry(row.get(0)?).or_default() += sign * row.get::<_, i64>(1)?;
        }
    }
    let mut ranked: Vec<(i64, i64)> = degrees.into_iter().map(|(entity, degree)| (-degree, entity)).collect();
    ranked.sort_unstable();
    ranked.truncate(CONNECTED);
    let mut name = connection.prepare_cached("SELECT name, entity_type FROM entity WHERE id = ?1")?;
    ranked
        .into_iter()
        .map(|(degree, entity)| {
            Ok(name.query_row([entity], |row| {
                Ok(Connected {
                    name: row.get(0)?,
                    entity_type: row.get(1)?,
                    relations: degree.unsigned_abs(),
                })
            })?)
        })
        .collect()
}
