//! Every version of an entity or a relation.

use rusqlite::{Connection, OptionalExtension, params};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::cursor::{Cursor, Place};
use super::error::StoreError;
use super::model::{Project, RelationKey};
use super::page::{self, PageRequest};
use super::time::Timestamp;
use super::transaction::range_of;
use super::{Store, rows, similar};

/// An entity as it was for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityVersion {
    /// Its name.
    pub name: String,
    /// What sort of thing it was.
    pub entity_type: String,
    /// What was known about it.
    pub observations: Vec<String>,
    /// How many more observations it had; only in answers that the whole version would not fit into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_observations: Option<usize>,
    /// Which version.
    pub version: u32,
    /// When it was made, or made again.
    pub created_at: Timestamp,
    /// Since when it was so.
    pub valid_from: Timestamp,
    /// Until when it was so; absent while it still is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<Timestamp>,
}

/// A relation as it was for a while.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelationVersion {
    /// The name of the entity it starts at.
    pub from: String,
    /// The name of the entity it leads to.
    pub to: String,
    /// What sort of connection it is.
    pub relation_type: String,
    /// How strong it was, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
    /// How sure it was, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Whatever else was known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Which version.
    pub version: u32,
    /// When it was made, or made again.
    pub created_at: Timestamp,
    /// Since when it was so.
    pub valid_from: Timestamp,
    /// Until when it was so; absent while it still is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<Timestamp>,
}

/// A part of a history, oldest version first.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPage<Version> {
    /// The versions.
    pub versions: Vec<Version>,
    /// How many there are in all.
    pub total: u64,
    /// Where to go on, if there is more.
    pub next: Option<Cursor>,
    question: u64,
}

/// A version that has a number.
pub trait Numbered {
    /// Which version.
    fn number(&self) -> u32;
}

impl Numbered for EntityVersion {
    fn number(&self) -> u32 {
        self.version
    }
}

impl Numbered for RelationVersion {
    fn number(&self) -> u32 {
        self.version
    }
}

impl<Version: Numbered> HistoryPage<Version> {
    fn cut(mut versions: Vec<Version>, total: u32, limit: usize, question: u64) -> Self {
        let more = versions.len() > limit;
        versions.truncate(limit);
        let mut page = Self { versions, total: total.into(), next: None, question };
        if more {
            page.next = page.versions.last().map(|last| after(question, last.number()));
        }
        page
    }

    /// Where to go on when only so many versions of this page were used.
    pub fn cursor_after(&self, shown: usize) -> Option<Cursor> {
        if shown >= self.versions.len() {
            return self.next.clone();
        }
        self.versions.get(shown).map(|first_left| after(self.question, first_left.number() - 1))
    }
}

fn after(question: u64, version: u32) -> Cursor {
    Cursor::new(question, Place::Version { version: version.into() })
}

fn start(page: &PageRequest, question: u64) -> Result<i64, StoreError> {
    match page.cursor.as_ref().map(|cursor| cursor.place(question)).transpose()? {
        None => Ok(0),
        Some(Place::Version { version }) => Ok(version),
        Some(_) => Err(StoreError::BadCursor),
    }
}

impl Store {
    /// Every version of an entity, deleted or not.
    pub fn entity_history(
        &self,
        project: &Project,
        name: &str,
        page: &PageRequest,
    ) -> Result<HistoryPage<EntityVersion>, StoreError> {
        let scope = project.into();
        let question = page::question("entity history", &scope, &[name]);
        let after = start(page, question)?;
        self.read(|connection| {
            let range = range_of(connection, &scope)?;
            let row = match range {
                Some(range) => rows::entity_by_name(connection, range.projects().0, name)?,
                None => None,
            };
            let Some(row) = row else { return Err(similar::missing(connection, range, &[name])?) };
            let mut versions =
                entity_versions(connection, row.id, name, after, PageRequest::probe(page.limit))?;
            for version in &mut versions {
                version.observations = rows::observations_at(connection, row.id, version.valid_from)?;
            }
            Ok(HistoryPage::cut(versions, row.version, page.limit, question))
        })
    }

    /// Every version of a relation, deleted or not.
    pub fn relation_history(
        &self,
        project: &Project,
        key: &RelationKey,
        page: &PageRequest,
    ) -> Result<HistoryPage<RelationVersion>, StoreError> {
        let scope = project.into();
        let question = page::question("relation history", &scope, &[&key.from, &key.to, &key.relation_type]);
        let after = start(page, question)?;
        self.read(|connection| {
            let known: Option<(i64, u32)> = connection
                .prepare_cached(
                    "SELECT r.id, r.version FROM project p
                     JOIN entity f ON f.project = p.id AND f.name = ?2 JOIN entity t ON t.project = p.id AND t.name = ?3
                     JOIN relation r ON r.from_entity = f.id AND r.to_entity = t.id AND r.relation_type = ?4
                     WHERE p.name = ?1",
                )?
                .query_row(params![project.as_str(), key.from, key.to, key.relation_type], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            let Some((id, total)) = known else { return Err(StoreError::MissingRelation(key.clone())) };
            let versions = relation_versions(connection, id, key, after, PageRequest::probe(page.limit))?;
            Ok(HistoryPage::cut(versions, total, page.limit, question))
        })
    }
}

fn entity_versions(
    connection: &Connection,
    id: i64,
    name: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<EntityVersion>, StoreError> {
    let versions = connection
        .prepare_cached(
            "SELECT version, entity_type, created_at, valid_from, valid_to FROM entity_past
             WHERE entity = ?1 AND version > ?2
             UNION ALL
             SELECT version, entity_type, created_at, updated_at, NULL FROM entity
             WHERE id = ?1 AND deleted_at IS NULL AND version > ?2
             ORDER BY version LIMIT ?3",
        )?
        .query_map(params![id, after, limit], |row| {
            Ok(EntityVersion {
                name: name.to_owned(),
                version: row.get(0)?,
                entity_type: row.get(1)?,
                observations: Vec::new(),
                omitted_observations: None,
                created_at: rows::time(row, 2)?,
                valid_from: rows::time(row, 3)?,
                valid_to: row.get::<_, Option<i64>>(4)?.map(Timestamp::from_millis),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(versions)
}

fn relation_versions(
    connection: &Connection,
    id: i64,
    key: &RelationKey,
    after: i64,
    limit: i64,
) -> Result<Vec<RelationVersion>, StoreError> {
    let versions = connection
        .prepare_cached(
            "SELECT version, strength, confidence, metadata, created_at, valid_from, valid_to FROM relation_past
             WHERE relation = ?1 AND version > ?2
             UNION ALL
             SELECT version, strength, confidence, metadata, created_at, updated_at, NULL FROM relation
             WHERE id = ?1 AND deleted_at IS NULL AND version > ?2
             ORDER BY version LIMIT ?3",
        )?
        .query_map(params![id, after, limit], |row| {
            Ok(RelationVersion {
                from: key.from.clone(),
                to: key.to.clone(),
                relation_type: key.relation_type.clone(),
                version: row.get(0)?,
                strength: row.get(1)?,
                confidence: row.get(2)?,
                metadata: rows::metadata(row, 3)?,
                created_at: rows::time(row, 4)?,
                valid_from: rows::time(row, 5)?,
                valid_to: row.get::<_, Option<i64>>(6)?.map(Timestamp::from_millis),
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(versions)
}
