//! Rows to records, and the small look-ups that many operations share.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Map, Value};

use super::error::{Fault, StoreError};
use super::model::{Entity, Relation};
use super::time::Timestamp;

/// A limit as the database takes it.
pub(crate) fn bound(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// An entity's row, without its observations.
#[derive(Debug)]
pub(crate) struct EntityRow {
    pub(crate) id: i64,
    pub(crate) entity_type: String,
    pub(crate) position: i64,
    pub(crate) version: u32,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) is_live: bool,
}

/// The row of this name, whether it lives or not.
pub(crate) fn entity_by_name(
    connection: &Connection,
    project: i64,
    name: &str,
) -> Result<Option<EntityRow>, StoreError> {
    let row = connection
        .prepare_cached(
            "SELECT id, entity_type, position, version, created_at, updated_at, deleted_at IS NULL
             FROM entity WHERE project = ?1 AND name = ?2",
        )?
        .query_row(params![project, name], |row| {
            Ok(EntityRow {
                id: row.get(0)?,
                entity_type: row.get(1)?,
                position: row.get(2)?,
                version: row.get(3)?,
                created_at: time(row, 4)?,
                updated_at: time(row, 5)?,
                is_live: row.get(6)?,
            })
        })
        .optional()?;
    Ok(row)
}

/// The id of this name, if it lives.
pub(crate) fn live_id(connection: &Connection, project: i64, name: &str) -> Result<Option<i64>, StoreError> {
    let id = connection
        .prepare_cached("SELECT id FROM entity WHERE project = ?1 AND name = ?2 AND deleted_at IS NULL")?
        .query_row(params![project, name], |row| row.get(0))
        .optional()?;
    Ok(id)
}

pub(crate) fn live_ids_after(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<Vec<i64>, StoreError> {
    let ids = connection
        .prepare_cached("SELECT id FROM entity WHERE id > ?1 AND deleted_at IS NULL ORDER BY id LIMIT ?2")?
        .query_map(params![after, limit], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

/// The living entities with these ids, in this order, each once.
pub(crate) fn entities(connection: &Connection, ids: &[i64]) -> Result<Vec<Entity>, StoreError> {
    let wanted = json_list(ids);
    let mut found: HashMap<i64, Entity> = connection
        .prepare_cached(
            "SELECT e.id, e.name, e.entity_type, e.version, e.position, e.created_at, e.updated_at
             FROM json_each(?1) wanted CROSS JOIN entity e ON e.id = wanted.value WHERE e.deleted_at IS NULL",
        )?
        .query_map([&wanted], |row| entity(row).map(|entity| (entity.id, entity)))?
        .collect::<Result<_, _>>()?;
    let mut observations = connection.prepare_cached(
        "SELECT o.entity, o.position, o.content FROM json_each(?1) wanted
         CROSS JOIN observation o ON o.entity = wanted.value WHERE o.valid_to IS NULL",
    )?;
    let mut rows = observations.query([&wanted])?;
    let mut contents: HashMap<i64, BTreeMap<i64, String>> = HashMap::new();
    while let Some(row) = rows.next()? {
        contents.entry(row.get(0)?).or_default().insert(row.get(1)?, row.get(2)?);
    }
    for (id, contents) in contents {
        if let Some(entity) = found.get_mut(&id) {
            entity.observations = contents.into_values().collect();
        }
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// Ids as a statement takes a list of them. A statement opens its tables at each execution, so many are asked for at once.
fn json_list(ids: &[i64]) -> String {
    let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
    format!("[{}]", ids.join(","))
}

/// The first of the living entities with these ids, as many as fit into so many bytes of JSON with the relations that
/// touch them; one at least. And these relations.
pub(crate) fn entities_within(
    connection: &Connection,
    ids: &[i64],
    bytes: usize,
) -> Result<(Vec<Entity>, Touching), StoreError> {
    /// How many are read at a time: the last of them may be too many.
    const TOGETHER: usize = 32;
    let mut found = Vec::new();
    let mut touching = Touching::new(relations_within(bytes));
    let mut left = bytes;
    for part in ids.chunks(TOGETHER) {
        for entity in entities(connection, part)? {
            let related = touching.add(connection, entity.id)?;
            let taken = weight(&entity) + RELATION_BYTES * related.len();
            if taken > left && !found.is_empty() {
                touching.remove(&related);
                return Ok((found, touching));
            }
            left = left.saturating_sub(taken);
            found.push(entity);
        }
    }
    Ok((found, touching))
}

/// What an entity takes in JSON, about. An answer that turns out too large is drawn a second time, so rather a little
/// more than less.
pub(crate) fn weight(entity: &Entity) -> usize {
    /// The names of the fields, the version and the times.
    const FRAME: usize = 165;
    let observations: usize = entity.observations.iter().map(|observation| observation.len() + 3).sum();
    FRAME + entity.name.len() + entity.entity_type.len() + observations
}

/// What a relation takes in JSON with names of twenty letters at its ends.
pub(crate) const RELATION_BYTES: usize = 185;

/// How many relations are worth reading where so many bytes can be shown.
pub(crate) fn relations_within(bytes: usize) -> usize {
    /// More relations than this are not given with opened or found entities; the answer says that there are more.
    const SHOWN: usize = 1_000;
    SHOWN.min(bytes / RELATION_BYTES + 1)
}

/// Reads `id, name, entity_type, version, position, created_at, updated_at`.
pub(crate) fn entity(row: &Row<'_>) -> rusqlite::Result<Entity> {
    Ok(Entity {
        id: row.get(0)?,
        name: row.get(1)?,
        entity_type: row.get(2)?,
        version: row.get(3)?,
        position: row.get(4)?,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        observations: Vec::new(),
        omitted_observations: None,
        project: None,
    })
}

/// The observations of an entity, in order.
pub(crate) fn observations(connection: &Connection, entity: i64) -> Result<Vec<String>, StoreError> {
    let contents = connection
        .prepare_cached(
            "SELECT content FROM observation WHERE entity = ?1 AND valid_to IS NULL ORDER BY position",
        )?
        .query_map([entity], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(contents)
}

/// The observations of an entity at a time, in order.
pub(crate) fn observations_at(
    connection: &Connection,
    entity: i64,
    at: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let contents = connection
        .prepare_cached(
            "SELECT content FROM observation
             WHERE entity = ?1 AND valid_from <= ?2 AND (valid_to IS NULL OR valid_to > ?2) ORDER BY position",
        )?
        .query_map(params![entity, at.as_millis()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(contents)
}

/// What [`relation`] reads, from `relation r` joined with its ends `f` and `t`.
pub(crate) const RELATION: &str =
    "r.id, f.name, t.name, r.relation_type, r.strength, r.confidence, r.metadata,
     r.version, r.position, r.created_at, r.updated_at";

/// Reads the columns of [`RELATION`].
pub(crate) fn relation(row: &Row<'_>) -> rusqlite::Result<Relation> {
    Ok(Relation {
        id: row.get(0)?,
        from: row.get(1)?,
        to: row.get(2)?,
        relation_type: row.get(3)?,
        strength: row.get(4)?,
        confidence: row.get(5)?,
        metadata: metadata(row, 6)?,
        version: row.get(7)?,
        position: row.get(8)?,
        created_at: time(row, 9)?,
        updated_at: time(row, 10)?,
        project: None,
    })
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_millis)
}

pub(crate) fn metadata(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Map<String, Value>>> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

pub(crate) fn metadata_text(metadata: Option<&Map<String, Value>>) -> Result<Option<String>, StoreError> {
    metadata.map(serde_json::to_string).transpose().map_err(|error| StoreError::file(Fault::Internal, error))
}

/// The living relations that start or end at one of these entities, in order, and whether there are more than
/// these.
pub(crate) fn relations_touching(
    connection: &Connection,
    ids: &[i64],
    limit: usize,
) -> Result<(Vec<Relation>, bool), StoreError> {
    let mut touching = Touching::new(limit);
    for id in ids {
        touching.add(connection, *id)?;
        touching.drop_superfluous();
    }
    touching.load(connection)
}

/// The places of relations that touch some entities.
pub(crate) struct Touching {
    limit: usize,
    /// Ids by project and position, which is their order.
    places: BTreeMap<(i64, i64), i64>,
}

impl Touching {
    fn new(limit: usize) -> Self {
        Touching { limit, places: BTreeMap::new() }
    }

    /// Adds those of an entity, no more than matter, and says which are new.
    fn add(&mut self, connection: &Connection, entity: i64) -> Result<Vec<(i64, i64)>, StoreError> {
        let mut statement = connection.prepare_cached(
            "SELECT * FROM (SELECT position, id FROM relation
                            WHERE from_entity = ?1 AND deleted_at IS NULL ORDER BY position LIMIT ?2)
             UNION ALL
             SELECT * FROM (SELECT position, id FROM relation
                            WHERE to_entity = ?1 AND deleted_at IS NULL ORDER BY position LIMIT ?2)",
        )?;
        let mut new = Vec::new();
        let mut rows = statement.query(params![entity, bound(self.limit.saturating_add(1))])?;
        while let Some(row) = rows.next()? {
            // The project is part of the id, so that nothing but the index is read.
            let (position, id): (i64, i64) = (row.get(0)?, row.get(1)?);
            let place = (id >> 32, position);
            if self.places.insert(place, id).is_none() {
                new.push(place);
            }
        }
        Ok(new)
    }

    fn remove(&mut self, places: &[(i64, i64)]) {
        for place in places {
            self.places.remove(place);
        }
    }

    /// Only the first of them can be in the answer, so those of a list of hubs need not be kept whole.
    fn drop_superfluous(&mut self) {
        while self.places.len() > self.limit.saturating_add(1) {
            self.places.pop_last();
        }
    }

    /// The relations, as many as are wanted, and whether there are more.
    pub(crate) fn load(self, connection: &Connection) -> Result<(Vec<Relation>, bool), StoreError> {
        let more = self.places.len() > self.limit;
        let ids: Vec<i64> = self.places.into_values().take(self.limit).collect();
        let mut relations: Vec<Relation> = connection
            .prepare_cached(&format!(
                "SELECT {RELATION} FROM json_each(?1) wanted CROSS JOIN relation r ON r.id = wanted.value
                 JOIN entity f ON f.id = r.from_entity JOIN entity t ON t.id = r.to_entity"
            ))?
            .query_map([json_list(&ids)], relation)?
            .collect::<Result<_, _>>()?;
        relations.sort_by_key(|relation| (relation.id >> 32, relation.position));
        Ok((relations, more))
    }
}

/// Writes the names of their projects on records that were found across projects.
pub(crate) fn name_projects(
    connection: &Connection,
    entities: &mut [Entity],
    relations: &mut [Relation],
) -> Result<(), StoreError> {
    let names: HashMap<i64, String> = connection
        .prepare_cached("SELECT id, name FROM project")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for entity in entities {
        entity.project = names.get(&(entity.id >> 32)).cloned();
    }
    for relation in relations {
        relation.project = names.get(&(relation.id >> 32)).cloned();
    }
    Ok(())
}
