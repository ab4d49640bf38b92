//! Making and deleting entities.

use std::collections::HashSet;

use rusqlite::params;

use super::error::StoreError;
use super::model::{EntitiesCreated, EntitiesDeleted, Entity, NewEntity, Project};
use super::rows::EntityRow;
use super::transaction::Write;
use super::{Store, index, observations, relations, rows, similar, validate};

impl Store {
    /// Makes entities. Names that exist already are reported as skipped and left as they are.
    pub fn create_entities(
        &self,
        project: &Project,
        entities: &[NewEntity],
    ) -> Result<EntitiesCreated, StoreError> {
        validate::entities(&self.options.rules, entities)?;
        self.write(project, |write| {
            let mut outcome = EntitiesCreated::default();
            for new in entities {
                let existing = rows::entity_by_name(write.connection, write.project, &new.name)?;
                if existing.as_ref().is_some_and(|row| row.is_live) {
                    outcome.skipped.push(new.name.clone());
                    continue;
                }
                outcome.similar.extend(similar::to_new_name(write, &new.name)?);
                outcome.entities.push(create(write, existing, new)?);
            }
            outcome.at = write.changed_at();
            Ok(outcome)
        })
    }

    /// Deletes entities and the relations that touch them. Their history stays.
    pub fn delete_entities(
        &self,
        project: &Project,
        names: &[String],
    ) -> Result<EntitiesDeleted, StoreError> {
        self.write(project, |write| {
            let mut outcome = EntitiesDeleted::default();
            let mut seen = HashSet::new();
            for name in names.iter().filter(|name| seen.insert(*name)) {
                match rows::entity_by_name(write.connection, write.project, name)? {
                    Some(row) if row.is_live => {
                        outcome.relations_deleted += delete(write, &row)?;
                        outcome.entity_names.push(name.clone());
                    }
                    _ => outcome.missing.push(name.clone()),
                }
            }
            outcome.at = write.changed_at();
            Ok(outcome)
        })
    }
}

/// Makes an entity, or makes a deleted one again: under its old id, with the next version.
pub(crate) fn create(
    write: &Write<'_>,
    deleted: Option<EntityRow>,
    new: &NewEntity,
) -> Result<Entity, StoreError> {
    let position = write.next_position();
    let at = write.at.as_millis();
    let (id, version) = match deleted {
        None => {
            let id = write.id(position);
            write
                .connection
                .prepare_cached(
                    "INSERT INTO entity (id, project, name, entity_type, position, version, created_at, updated_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?6)",
                )?
                .execute(params![id, write.project, new.name, new.entity_type, position, at])?;
            (id, 1)
        }
        Some(row) => {
            write
                .connection
                .prepare_cached(
                    "UPDATE entity SET entity_type = ?2, position = ?3, version = ?4, created_at = ?5,
                     updated_at = ?5, deleted_at = NULL WHERE id = ?1",
                )?
                .execute(params![row.id, new.entity_type, position, row.version + 1, at])?;
            (row.id, row.version + 1)
        }
    };
    observations::append(write, id, &new.observations)?;
    index::add(write.connection, id, &new.name, &new.entity_type, &new.observations)?;
    Ok(Entity {
        name: new.name.clone(),
        entity_type: new.entity_type.clone(),
        observations: new.observations.clone(),
        version,
        created_at: write.at,
        updated_at: write.at,
        omitted_observations: None,
        project: None,
        id,
        position,
    })
}

/// Ends a living entity and its relations; says how many relations.
pub(crate) fn delete(write: &Write<'_>, row: &EntityRow) -> Result<usize, StoreError> {
    close_version(write, row)?;
    let at = write.at.as_millis();
    write
        .connection
        .prepare_cached("UPDATE entity SET deleted_at = ?2 WHERE id = ?1")?
        .execute(params![row.id, at])?;
    write
        .connection
        .prepare_cached("UPDATE observation SET valid_to = ?2 WHERE entity = ?1 AND valid_to IS NULL")?
        .execute(params![row.id, at])?;
    index::remove(write.connection, row.id)?;
    relations::delete_touching(write, row.id)
}

/// Ends the present version of an entity and opens the next.
pub(crate) fn next_version(write: &Write<'_>, row: &EntityRow) -> Result<(), StoreError> {
    close_version(write, row)?;
    write
        .connection
        .prepare_cached("UPDATE entity SET version = version + 1, updated_at = ?2 WHERE id = ?1")?
        .execute(params![row.id, write.at.as_millis()])?;
    Ok(())
}

fn close_version(write: &Write<'_>, row: &EntityRow) -> Result<(), StoreError> {
    write.mark_changed();
    write
        .connection
        .prepare_cached(
            "INSERT INTO entity_past (entity, version, entity_type, position, created_at, valid_from, valid_to)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            row.id,
            row.version,
            row.entity_type,
            row.position,
            row.created_at.as_millis(),
            row.updated_at.as_millis(),
            write.at.as_millis()
        ])?;
    Ok(())
}
