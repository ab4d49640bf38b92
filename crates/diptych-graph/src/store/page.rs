//! A graph, now or at a time, in pages: all entities in the order in which they were made, then all relations.

use rusqlite::{Connection, params};
use schemars::JsonSchema;
use serde::Serialize;

use super::Store;
use super::cursor::{Cursor, Place};
use super::error::StoreError;
use super::model::{Entity, Relation, Scope};
use super::time::Timestamp;
use super::transaction::{IdRange, range_of};
use super::{rows, words};

/// Which part of a list is asked for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// How many records at most.
    pub limit: usize,
    /// Where to go on; from the beginning without it.
    pub cursor: Option<Cursor>,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { limit: 1_000, cursor: None }
    }
}

impl PageRequest {
    /// Everything, on one page.
    pub fn everything() -> Self {
        Self { limit: usize::MAX, cursor: None }
    }

    /// The limit as the database takes it, with one more to see whether the list goes on.
    pub(crate) fn probe(limit: usize) -> i64 {
        rows::bound(limit.saturating_add(1))
    }
}

/// A part of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct GraphPage {
    /// Entities, in the order in which they were made.
    pub entities: Vec<Entity>,
    /// Relations, in the order in which they were made; they begin when all entities have been listed.
    pub relations: Vec<Relation>,
    /// Where to go on, if there is more.
    #[serde(skip)]
    pub next: Option<Cursor>,
    #[serde(skip)]
    question: u64,
}

impl GraphPage {
    /// Where to go on when only so many records of this page were used, entities first.
    pub fn cursor_after(&self, shown: usize) -> Option<Cursor> {
        let total = self.entities.len() + self.relations.len();
        if shown >= total {
            return self.next.clone();
        }
        let place = if shown > self.entities.len() {
            self.relations.get(shown - self.entities.len() - 1).map(after_relation)
        } else {
            shown.checked_sub(1).and_then(|index| self.entities.get(index)).map(after_entity)
        };
        // Nothing shown: the page starts where its first record is.
        let place = place.unwrap_or_else(|| match (self.entities.first(), self.relations.first()) {
            (Some(entity), _) => before(after_entity(entity)),
            (None, Some(relation)) => before(after_relation(relation)),
            (None, None) => Place::Entity { project: 0, position: 0 },
        });
        Some(Cursor::new(self.question, place))
    }
}

fn after_entity(entity: &Entity) -> Place {
    Place::Entity { project: entity.id >> 32, position: entity.position }
}

fn after_relation(relation: &Relation) -> Place {
    Place::Relation { project: relation.id >> 32, position: relation.position }
}

fn before(place: Place) -> Place {
    match place {
        Place::Entity { project, position } => Place::Entity { project, position: position - 1 },
        Place::Relation { project, position } => Place::Relation { project, position: position - 1 },
        other => other,
    }
}

impl Store {
    /// The graph as it is.
    pub fn read_graph(&self, scope: &Scope, page: &PageRequest) -> Result<GraphPage, StoreError> {
        self.read_graph_within(scope, page, usize::MAX)
    }

    /// The same, but no more records than fit into so many bytes of JSON, one at least: what would not be shown need
    /// not be read.
    pub fn read_graph_within(
        &self,
        scope: &Scope,
        page: &PageRequest,
        bytes: usize,
    ) -> Result<GraphPage, StoreError> {
        self.read(|connection| graph(connection, scope, None, page, bytes))
    }

    /// The graph as it was at a time.
    pub fn graph_at(
        &self,
        scope: &Scope,
        at: Timestamp,
        page: &PageRequest,
    ) -> Result<GraphPage, StoreError> {
        self.read(|connection| graph(connection, scope, Some(at), page, usize::MAX))
    }

    /// How many entities and relations the graph had at a time, together.
    pub fn records_at(&self, scope: &Scope, at: Timestamp) -> Result<usize, StoreError> {
        self.read(|connection| {
            let Some(range) = range_of(connection, scope)? else { return Ok(0) };
            let count: i64 = connection
                .prepare_cached(
                    "SELECT (SELECT count(*) FROM entity
                         WHERE deleted_at IS NULL AND id BETWEEN ?1 AND ?2 AND updated_at <= ?3)
                     + (SELECT count(*) FROM entity_past
                         WHERE entity BETWEEN ?1 AND ?2 AND valid_from <= ?3 AND ?3 < valid_to)
                     + (SELECT count(*) FROM relation
                         WHERE deleted_at IS NULL AND id BETWEEN ?1 AND ?2 AND updated_at <= ?3)
                     + (SELECT count(*) FROM relation_past
                         WHERE relation BETWEEN ?1 AND ?2 AND valid_from <= ?3 AND ?3 < valid_to)",
                )?
                .query_row(params![range.first, range.last, at.as_millis()], |row| row.get(0))?;
            Ok(usize::try_from(count).unwrap_or_default())
        })
    }
}

/// A number for a question about a scope.
pub(crate) fn question(operation: &str, scope: &Scope, arguments: &[&str]) -> u64 {
    let (kind, project) = match scope {
        Scope::All => ("all", ""),
        Scope::Project(project) => ("project", project.as_str()),
    };
    words::fingerprint(&[&[operation, kind, project], arguments].concat())
}

pub(crate) fn graph(
    connection: &Connection,
    scope: &Scope,
    at: Option<Timestamp>,
    page: &PageRequest,
    bytes: usize,
) -> Result<GraphPage, StoreError> {
    let time = at.map(|at| at.as_millis().to_string()).unwrap_or_default();
    let question = question("graph", scope, &[&time]);
    let mut result = GraphPage { question, ..GraphPage::default() };
    let start = match &page.cursor {
        Some(cursor) => cursor.place(question)?,
        None => Place::Entity { project: 0, position: 0 },
    };
    let Some(range) = range_of(connection, scope)? else { return Ok(result) };
    let mut relations_from = (0, 0);
    match start {
        Place::Entity { project, position } => {
            let mut left = bytes;
            let all = entities(connection, range, at, (project, position), page.limit)?;
            let count = all.len();
            for mut entity in all.into_iter().take(page.limit) {
                entity.observations = match at {
                    None => rows::observations(connection, entity.id)?,
                    Some(at) => rows::observations_at(connection, entity.id, at)?,
                };
                let weight = rows::weight(&entity);
                if weight > left && !result.entities.is_empty() {
                    break;
                }
                left = left.saturating_sub(weight);
                result.entities.push(entity);
            }
            if result.entities.len() < count {
                result.next = result.entities.last().map(|last| Cursor::new(question, after_entity(last)));
            }
        }
        Place::Relation { project, position } => relations_from = (project, position),
        Place::Tier { .. } | Place::Version { .. } => return Err(StoreError::BadCursor),
    }
    if result.next.is_none() {
        let room = (page.limit - result.entities.len()).min(bytes / rows::RELATION_BYTES + 1);
        result.relations = relations(connection, range, at, relations_from, room)?;
        if result.relations.len() > room {
            result.relations.truncate(room);
            let place =
                result.relations.last().map_or(Place::Relation { project: 0, position: 0 }, after_relation);
            result.next = Some(Cursor::new(question, place));
        }
    }
    if *scope == Scope::All {
        rows::name_projects(connection, &mut result.entities, &mut result.relations)?;
    }
    Ok(result)
}

/// Up to one more entity than the limit, without observations. At a time, what holds is part of the present and part of the past; each
/// part is cut to the page before they are put together.
fn entities(
    connection: &Connection,
    range: IdRange,
    at: Option<Timestamp>,
    after: (i64, i64),
    limit: usize,
) -> Result<Vec<Entity>, StoreError> {
    let (first, last) = range.projects();
    let after = after.max((first, 0));
    let limit = PageRequest::probe(limit);
    let entities: Vec<Entity> = match at {
        None => connection
            .prepare_cached(
                "SELECT id, name, entity_type, version, position, created_at, updated_at FROM entity
                 WHERE deleted_at IS NULL AND (project, position) > (?1, ?2) AND project <= ?3
                 ORDER BY project, position LIMIT ?4",
            )?
            .query_map(params![after.0, after.1, last, limit], rows::entity)?
            .collect::<Result<_, _>>()?,
        Some(at) => connection
            .prepare_cached(
                "SELECT v.id, e.name, v.entity_type, v.version, v.position, v.created_at, v.valid_from FROM (
                     SELECT * FROM (
                         SELECT id, project, entity_type, version, position, created_at, updated_at AS valid_from
                         FROM entity
                         WHERE deleted_at IS NULL AND (project, position) > (?1, ?2) AND project <= ?3
                         AND updated_at <= ?5
                         ORDER BY project, position LIMIT ?4)
                     UNION ALL SELECT * FROM (
                         SELECT entity, entity >> 32, entity_type, version, position, created_at, valid_from
                         FROM entity_past
                         WHERE valid_from <= ?5 AND ?5 < valid_to AND entity BETWEEN ?6 AND ?7
                         AND (entity >> 32, position) > (?1, ?2)
                         ORDER BY entity >> 32, position LIMIT ?4)
                 ) v JOIN entity e ON e.id = v.id ORDER BY v.project, v.position LIMIT ?4",
            )?
            .query_map(
                params![after.0, after.1, last, limit, at.as_millis(), range.first, range.last],
                rows::entity,
            )?
            .collect::<Result<_, _>>()?,
    };
    Ok(entities)
}

/// Up to one more relation than the limit.
fn relations(
    connection: &Connection,
    range: IdRange,
    at: Option<Timestamp>,
    after: (i64, i64),
    limit: usize,
) -> Result<Vec<Relation>, StoreError> {
    let (first, last) = range.projects();
    let after = after.max((first, 0));
    let limit = PageRequest::probe(limit);
    let relations = match at {
        None => connection
            .prepare_cached(&format!(
                "SELECT {} FROM relation r
                 JOIN entity f ON f.id = r.from_entity JOIN entity t ON t.id = r.to_entity
                 WHERE r.deleted_at IS NULL AND (r.project, r.position) > (?1, ?2) AND r.project <= ?3
                 ORDER BY r.project, r.position LIMIT ?4",
                rows::RELATION
            ))?
            .query_map(params![after.0, after.1, last, limit], rows::relation)?
            .collect::<Result<_, _>>()?,
        Some(at) => connection
            .prepare_cached(
                "SELECT v.id, f.name, t.name, r.relation_type, v.strength, v.confidence, v.metadata, v.version,
                     v.position, v.created_at, v.valid_from FROM (
                     SELECT * FROM (
                         SELECT id, project, strength, confidence, metadata, version, position, created_at,
                             updated_at AS valid_from
                         FROM relation
                         WHERE deleted_at IS NULL AND (project, position) > (?1, ?2) AND project <= ?3
                         AND updated_at <= ?5
                         ORDER BY project, position LIMIT ?4)
                     UNION ALL SELECT * FROM (
                         SELECT relation, relation >> 32, strength, confidence, metadata, version, position,
                             created_at, valid_from
                         FROM relation_past
                         WHERE valid_from <= ?5 AND ?5 < valid_to AND relation BETWEEN ?6 AND ?7
                         AND (relation >> 32, position) > (?1, ?2)
                         ORDER BY relation >> 32, position LIMIT ?4)
                 ) v JOIN relation r ON r.id = v.id
                 JOIN entity f ON f.id = r.from_entity JOIN entity t ON t.id = r.to_entity
                 ORDER BY v.project, v.position LIMIT ?4",
            )?
            .query_map(
                params![after.0, after.1, last, limit, at.as_millis(), range.first, range.last],
                rows::relation,
            )?
            .collect::<Result<_, _>>()?,
    };
    Ok(relations)
}
