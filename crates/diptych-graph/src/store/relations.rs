//! Making, changing, finding and deleting relations.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::error::StoreError;
use super::model::{
    NewRelation, Project, Relation, RelationFacts, RelationKey, RelationsCreated, RelationsDeleted,
};
use super::transaction::{Write, range_of};
use super::{Store, rows, similar, validate};

impl Store {
    /// Makes relations between entities that exist. Those that exist already are reported as skipped.
    pub fn create_relations(
        &self,
        project: &Project,
        relations: &[NewRelation],
    ) -> Result<RelationsCreated, StoreError> {
        validate::relations(&self.options.rules, relations)?;
        self.write(project, |write| {
            let ends = find_ends(write, relations)?;
            let mut outcome = RelationsCreated::default();
            for new in relations {
                let key = RelationKey {
                    from: new.from.clone(),
                    to: new.to.clone(),
                    relation_type: new.relation_type.clone(),
                };
                match create(write, (ends[&*new.from], ends[&*new.to]), &key, &new.facts)? {
                    Some(relation) => outcome.relations.push(relation),
                    None => outcome.skipped.push(key),
                }
            }
            outcome.at = write.changed_at();
            Ok(outcome)
        })
    }

    /// The relation with this key.
    pub fn get_relation(&self, project: &Project, key: &RelationKey) -> Result<Relation, StoreError> {
        self.read(|connection| {
            let range = range_of(connection, &project.into())?;
            let found = match range {
                Some(range) => find(connection, range.projects().0, key)?,
                None => None,
            };
            found.ok_or_else(|| StoreError::MissingRelation(key.clone()))
        })
    }

    /// Changes what is known about a relation; what is not given stays. Without a difference there is no new version.
    pub fn update_relation(
        &self,
        project: &Project,
        key: &RelationKey,
        change: &RelationFacts,
    ) -> Result<Relation, StoreError> {
        validate::facts(change)?;
        self.write(project, |write| {
            let old = find(write.connection, write.project, key)?
                .ok_or_else(|| StoreError::MissingRelation(key.clone()))?;
            let mut new = old.clone();
            new.strength = change.strength.or(old.strength);
            new.confidence = change.confidence.or(old.confidence);
            new.metadata = change.metadata.clone().or(new.metadata);
            if new == old {
                return Ok(old);
            }
            close_version(write, old.id)?;
            (new.version, new.updated_at) = (old.version + 1, write.at);
            write
                .connection
                .prepare_cached(
                    "UPDATE relation SET version = ?2, updated_at = ?3, strength = ?4, confidence = ?5, metadata = ?6
                     WHERE id = ?1",
                )?
                .execute(params![
                    new.id,
                    new.version,
                    write.at.as_millis(),
                    new.strength,
                    new.confidence,
                    rows::metadata_text(new.metadata.as_ref())?
                ])?;
            Ok(new)
        })
    }

    /// Deletes relations. Their history stays.
    pub fn delete_relations(
        &self,
        project: &Project,
        keys: &[RelationKey],
    ) -> Result<RelationsDeleted, StoreError> {
        self.write(project, |write| {
            let mut outcome = RelationsDeleted::default();
            let mut seen = HashSet::new();
            for key in keys.iter().filter(|key| seen.insert(*key)) {
                match find(write.connection, write.project, key)? {
                    Some(relation) => {
                        delete(write, relation.id)?;
                        outcome.relations.push(key.clone());
                    }
                    None => outcome.missing.push(key.clone()),
                }
            }
            outcome.at = write.changed_at();
            Ok(outcome)
        })
    }
}

/// The ids of all ends that a batch names, or an error that names the missing ones.
fn find_ends<'a>(
    write: &Write<'_>,
    relations: &'a [NewRelation],
) -> Result<HashMap<&'a str, i64>, StoreError> {
    let mut ends = HashMap::new();
    let mut missing: Vec<&str> = Vec::new();
    for name in relations.iter().flat_map(|new| [new.from.as_str(), new.to.as_str()]) {
        if ends.contains_key(name) || missing.contains(&name) {
            continue;
        }
        match rows::live_id(write.connection, write.project, name)? {
            Some(id) => drop(ends.insert(name, id)),
            None => missing.push(name),
        }
    }
    if missing.is_empty() { Ok(ends) } else { Err(similar::missing_entities(write, &missing)?) }
}

/// Makes a relation between two living entities, or makes a deleted one again; `None` if it exists.
pub(crate) fn create(
    write: &Write<'_>,
    (from, to): (i64, i64),
    key: &RelationKey,
    facts: &RelationFacts,
) -> Result<Option<Relation>, StoreError> {
    let known: Option<(i64, u32, bool)> = write
        .connection
        .prepare_cached(
            "SELECT id, version, deleted_at IS NULL FROM relation
             WHERE from_entity = ?1 AND to_entity = ?2 AND relation_type = ?3",
        )?
        .query_row(params![from, to, key.relation_type], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    if let Some((_, _, true)) = known {
        return Ok(None);
    }
    let position = write.next_position();
    let metadata = rows::metadata_text(facts.metadata.as_ref())?;
    let at = write.at.as_millis();
    let (id, version) = match known {
        None => {
            let id = write.id(position);
            write
                .connection
                .prepare_cached(
                    "INSERT INTO relation (id, project, from_entity, to_entity, relation_type, position, version,
                     strength, confidence, metadata, created_at, updated_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?10)",
                )?
                .execute(params![
                    id,
                    write.project,
                    from,
                    to,
                    key.relation_type,
                    position,
                    facts.strength,
                    facts.confidence,
                    metadata,
                    at
                ])?;
            (id, 1)
        }
        Some((id, version, _)) => {
            write
                .connection
                .prepare_cached(
                    "UPDATE relation SET position = ?2, version = ?3, strength = ?4, confidence = ?5, metadata = ?6,
                     created_at = ?7, updated_at = ?7, deleted_at = NULL WHERE id = ?1",
                )?
                .execute(params![id, position, version + 1, facts.strength, facts.confidence, metadata, at])?;
            (id, version + 1)
        }
    };
    Ok(Some(Relation {
        from: key.from.clone(),
        to: key.to.clone(),
        relation_type: key.relation_type.clone(),
        strength: facts.strength,
        confidence: facts.confidence,
        metadata: facts.metadata.clone(),
        version,
        created_at: write.at,
        updated_at: write.at,
        project: None,
        id,
        position,
    }))
}

/// The living relation with this key.
pub(crate) fn find(
    connection: &Connection,
    project: i64,
    key: &RelationKey,
) -> Result<Option<Relation>, StoreError> {
    let relation = connection
        .prepare_cached(&format!(
            "SELECT {} FROM entity f JOIN entity t ON t.project = f.project AND t.name = ?3
             JOIN relation r ON r.from_entity = f.id AND r.to_entity = t.id AND r.relation_type = ?4
             WHERE f.project = ?1 AND f.name = ?2 AND r.deleted_at IS NULL",
            rows::RELATION
        ))?
        .query_row(params![project, key.from, key.to, key.relation_type], rows::relation)
        .optional()?;
    Ok(relation)
}

/// Ends a living relation.
pub(crate) fn delete(write: &Write<'_>, id: i64) -> Result<(), StoreError> {
    close_version(write, id)?;
    write
        .connection
        .prepare_cached("UPDATE relation SET deleted_at = ?2 WHERE id = ?1")?
        .execute(params![id, write.at.as_millis()])?;
    Ok(())
}

/// Ends all living relations of an entity; says how many.
pub(crate) fn delete_touching(write: &Write<'_>, entity: i64) -> Result<usize, StoreError> {
    let ids = touching(write.connection, entity)?;
    ids.iter().try_for_each(|id| delete(write, *id))?;
    Ok(ids.len())
}

/// The ids of all living relations of an entity.
pub(crate) fn touching(connection: &Connection, entity: i64) -> Result<BTreeSet<i64>, StoreError> {
    let ids = connection
        .prepare_cached(
            "SELECT id FROM relation WHERE from_entity = ?1 AND deleted_at IS NULL
             UNION SELECT id FROM relation WHERE to_entity = ?1 AND deleted_at IS NULL",
        )?
        .query_map([entity], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

fn close_version(write: &Write<'_>, id: i64) -> Result<(), StoreError> {
    write.mark_changed();
    write
        .connection
        .prepare_cached(
            "INSERT INTO relation_past
             (relation, version, position, strength, confidence, metadata, created_at, valid_from, valid_to)
             SELECT id, version, position, strength, confidence, metadata, created_at, updated_at, ?2
             FROM relation WHERE id = ?1",
        )?
        .execute(params![id, write.at.as_millis()])?;
    Ok(())
}
