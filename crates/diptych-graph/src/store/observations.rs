//! Adding observations to entities and taking them away.
//!
//! An entity named several times in one batch changes once: it gets one new version.

use std::collections::BTreeMap;

use rusqlite::params;

use super::error::StoreError;
use super::model::{
    AddedObservations, EntityObservations, NewObservations, ObservationsAdded, ObservationsDeleted, Project,
};
use super::rows::EntityRow;
use super::transaction::Write;
use super::{Store, entities, index, rows, similar, validate};

/// An entity whose observations change in this transaction.
struct Changing {
    row: EntityRow,
    observations: Vec<String>,
    added: Vec<String>,
    is_changed: bool,
}

/// The entities that a batch names, each loaded once.
#[derive(Default)]
struct Batch<'a>(BTreeMap<&'a str, Changing>);

impl<'a> Batch<'a> {
    fn entity(&mut self, write: &Write<'_>, name: &'a str) -> Result<Option<&mut Changing>, StoreError> {
        if !self.0.contains_key(name) {
            let Some(row) =
                rows::entity_by_name(write.connection, write.project, name)?.filter(|row| row.is_live)
            else {
                return Ok(None);
            };
            let observations = rows::observations(write.connection, row.id)?;
            self.0.insert(name, Changing { row, observations, added: Vec::new(), is_changed: false });
        }
        Ok(self.0.get_mut(name))
    }

    /// Opens the next version of each entity that changed, and files it again.
    fn finish(self, write: &Write<'_>) -> Result<(), StoreError> {
        for (name, entity) in self.0.into_iter().filter(|(_, entity)| entity.is_changed) {
            entities::next_version(write, &entity.row)?;
            append(write, entity.row.id, &entity.added)?;
            let Changing { row, observations, added, .. } = entity;
            index::update(write.connection, row.id, name, &row.entity_type, &observations, &added)?;
        }
        Ok(())
    }
}

impl Store {
    /// Adds observations to entities that exist. Those that an entity has already are left out.
    pub fn add_observations(
        &self,
        project: &Project,
        additions: &[NewObservations],
    ) -> Result<ObservationsAdded, StoreError> {
        validate::observations(additions)?;
        self.write(project, |write| add(write, additions))
    }

    /// Takes observations away, word for word. What is not there is reported as missing.
    pub fn delete_observations(
        &self,
        project: &Project,
        deletions: &[EntityObservations],
    ) -> Result<ObservationsDeleted, StoreError> {
        self.write(project, |write| {
            let mut outcome = ObservationsDeleted::default();
            let mut batch = Batch::default();
            for EntityObservations { entity_name, observations } in deletions {
                let (mut gone, mut missing) = (Vec::new(), Vec::new());
                match batch.entity(write, entity_name)? {
                    None => missing.clone_from(observations),
                    Some(entity) => {
                        for content in observations {
                            if !entity.observations.contains(content) {
                                missing.push(content.clone());
                                continue;
                            }
                            let before = entity.observations.len();
                            entity.observations.retain(|kept| kept != content);
                            outcome.deleted += before - entity.observations.len();
                            entity.is_changed = true;
                            close(write, entity.row.id, content)?;
                            gone.push(content.clone());
                        }
                    }
                }
                for (list, found) in [(&mut outcome.results, gone), (&mut outcome.missing, missing)] {
                    if !found.is_empty() {
                        list.push(EntityObservations {
                            entity_name: entity_name.clone(),
                            observations: found,
                        });
                    }
                }
            }
            batch.finish(write)?;
            outcome.at = write.changed_at();
            Ok(outcome)
        })
    }
}

/// Adds observations inside a transaction.
pub(crate) fn add(write: &Write<'_>, additions: &[NewObservations]) -> Result<ObservationsAdded, StoreError> {
    let mut outcome = ObservationsAdded::default();
    let mut missing = Vec::new();
    let mut batch = Batch::default();
    for NewObservations { entity_name, contents } in additions {
        let Some(entity) = batch.entity(write, entity_name)? else {
            missing.push(entity_name.as_str());
            continue;
        };
        // Each request is held against what was there before it: an observation given twice in one is kept twice,
        // as in a new entity.
        let new: Vec<String> =
            contents.iter().filter(|content| !entity.observations.contains(content)).cloned().collect();
        entity.is_changed |= !new.is_empty();
        entity.observations.extend_from_slice(&new);
        entity.added.extend_from_slice(&new);
        outcome.added += new.len();
        outcome.results.push(AddedObservations { entity_name: entity_name.clone(), added_observations: new });
    }
    if !missing.is_empty() {
        return Err(similar::missing_entities(write, &missing)?);
    }
    batch.finish(write)?;
    outcome.at = write.changed_at();
    Ok(outcome)
}

/// Writes observations behind those that an entity has or ever had.
pub(crate) fn append(write: &Write<'_>, entity: i64, contents: &[String]) -> Result<(), StoreError> {
    if contents.is_empty() {
        return Ok(());
    }
    let last: i64 = write
        .connection
        .prepare_cached("SELECT coalesce(max(position), 0) FROM observation WHERE entity = ?1")?
        .query_row([entity], |row| row.get(0))?;
    let mut insert = write.connection.prepare_cached(
        "INSERT INTO observation (entity, position, content, valid_from) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (position, content) in (last + 1..).zip(contents) {
        insert.execute(params![entity, position, content, write.at.as_millis()])?;
    }
    Ok(())
}

fn close(write: &Write<'_>, entity: i64, content: &str) -> Result<(), StoreError> {
    write
        .connection
        .prepare_cached(
            "UPDATE observation SET valid_to = ?3 WHERE entity = ?1 AND content = ?2 AND valid_to IS NULL",
        )?
        .execute(params![entity, content, write.at.as_millis()])?;
    Ok(())
}
