//! What a day has changed: the difference between the graph at its beginning and at its end.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use schemars::JsonSchema;
use serde::Serialize;

use super::error::StoreError;
use super::model::Scope;
use super::rows;
use super::time::Timestamp;
use super::transaction::{IdRange, range_of};
use super::{Store, model::RelationKey};

/// How many milliseconds a day has.
const DAY: i64 = 86_400_000;

/// A day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

impl Day {
    /// The day that a time is in.
    pub fn of(time: Timestamp) -> Self {
        Self(time.as_millis().div_euclid(DAY))
    }

    fn first(self) -> i64 {
        self.0 * DAY
    }

    fn end(self) -> i64 {
        (self.0 + 1) * DAY
    }
}

impl std::fmt::Display for Day {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .write_str(Timestamp::from_millis(self.first()).to_string().split('T').next().unwrap_or_default())
    }
}

impl std::str::FromStr for Day {
    type Err = super::time::NotATime;

    /// Reads a date such as `2026-01-31`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let date: jiff::civil::Date = text.parse().map_err(|_| super::time::NotATime)?;
        let start = date.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| super::time::NotATime)?;
        Ok(Self::of(Timestamp::from_millis(start.timestamp().as_millisecond())))
    }
}

/// What became of something in a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// It was not there before.
    Created,
    /// It is not as it was before.
    Changed,
    /// It is no longer there.
    Deleted,
}

/// An entity that a day has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityChange {
    /// Its name.
    pub name: String,
    /// What sort of thing it is, or was.
    pub entity_type: String,
    /// What became of it.
    pub change: Fate,
    /// What was learnt about it.
    pub learnt: Vec<String>,
    /// What is no longer held of it.
    pub forgotten: Vec<String>,
    /// The project it belongs to; only in answers across projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// A relation that a day has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelationChange {
    /// Which relation.
    #[serde(flatten)]
    pub key: RelationKey,
    /// What became of it.
    pub change: Fate,
    /// The project it belongs to; only in answers across projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// What a day has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayChanges {
    /// The entities, in the order in which they were first made.
    pub entities: Vec<EntityChange>,
    /// The relations, in the order in which they were first made.
    pub relations: Vec<RelationChange>,
    /// Whether there is more than the limit allowed.
    pub more: bool,
}

impl Store {
    /// What a day has changed. What came and went within the day is not part of it.
    pub fn changes_on(&self, scope: &Scope, day: Day, limit: usize) -> Result<DayChanges, StoreError> {
        self.read(|connection| {
            let Some(range) = range_of(connection, scope)? else { return Ok(DayChanges::default()) };
            let projects = match scope {
                Scope::All => project_names(connection)?,
                Scope::Project(_) => HashMap::new(),
            };
            let project = |id: i64| projects.get(&(id >> 32)).cloned();
            let mut changes = DayChanges::default();
            for id in touched(connection, &ENTITIES, range, day)? {
                let Some(change) = entity_change(connection, id, day, project(id))? else { continue };
                if changes.entities.len() == limit {
                    changes.more = true;
                    break;
                }
                changes.entities.push(change);
            }
            for id in touched(connection, &RELATIONS, range, day)? {
                let Some(change) = relation_change(connection, id, day, project(id))? else { continue };
                if changes.relations.len() == limit {
                    changes.more = true;
                    break;
                }
                changes.relations.push(change);
            }
            Ok(changes)
        })
    }

    /// The days on which something was written, the last one first.
    pub fn days(&self, scope: &Scope) -> Result<Vec<Day>, StoreError> {
        self.read(|connection| {
            let Some(range) = range_of(connection, scope)? else { return Ok(Vec::new()) };
            let days = connection
                .prepare_cached(
                    "SELECT DISTINCT updated_at / 86400000 AS day FROM entity WHERE id BETWEEN ?1 AND ?2
                     UNION SELECT valid_from / 86400000 FROM entity_past WHERE entity BETWEEN ?1 AND ?2
                     UNION SELECT valid_to / 86400000 FROM entity_past WHERE entity BETWEEN ?1 AND ?2
                     UNION SELECT updated_at / 86400000 FROM relation WHERE id BETWEEN ?1 AND ?2
                     UNION SELECT valid_from / 86400000 FROM relation_past WHERE relation BETWEEN ?1 AND ?2
                     UNION SELECT valid_to / 86400000 FROM relation_past WHERE relation BETWEEN ?1 AND ?2
                     ORDER BY day DESC",
                )?
                .query_map(params![range.first, range.last], |row| row.get(0).map(Day))?
                .collect::<Result<_, _>>()?;
            Ok(days)
        })
    }
}

/// The tables that hold the present and the past of a sort of record, and the name of its id in the past.
struct Tables {
    present: &'static str,
    past: &'static str,
}

const ENTITIES: Tables = Tables { present: "entity", past: "entity_past" };
const RELATIONS: Tables = Tables { present: "relation", past: "relation_past" };

/// The records of which a version begins or ends in a day.
fn touched(
    connection: &Connection,
    Tables { present, past }: &Tables,
    range: IdRange,
    day: Day,
) -> Result<Vec<i64>, StoreError> {
    let ids = connection
        .prepare_cached(&format!(
            "SELECT id FROM {present} WHERE id BETWEEN ?1 AND ?2
                 AND updated_at >= ?3 AND updated_at < ?4
             UNION SELECT {present} FROM {past} WHERE {present} BETWEEN ?1 AND ?2
                 AND ((valid_from >= ?3 AND valid_from < ?4) OR (valid_to >= ?3 AND valid_to < ?4))
             ORDER BY 1"
        ))?
        .query_map(params![range.first, range.last, day.first(), day.end()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

/// The version of a record that holds at a time, and when it was made.
fn version_at(
    connection: &Connection,
    Tables { present, past }: &Tables,
    id: i64,
    at: i64,
) -> Result<Option<i64>, StoreError> {
    let versions: Vec<i64> = connection
        .prepare_cached(&format!(
            "SELECT version FROM {present} WHERE id = ?1 AND deleted_at IS NULL AND updated_at <= ?2
             UNION ALL SELECT version FROM {past} WHERE {present} = ?1 AND valid_from <= ?2 AND ?2 < valid_to"
        ))?
        .query_map([id, at], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(versions.first().copied())
}

fn fate(connection: &Connection, tables: &Tables, id: i64, day: Day) -> Result<Option<Fate>, StoreError> {
    let before = version_at(connection, tables, id, day.first() - 1)?;
    let after = version_at(connection, tables, id, day.end() - 1)?;
    Ok(match (before, after) {
        (None, Some(_)) => Some(Fate::Created),
        (Some(_), None) => Some(Fate::Deleted),
        (Some(before), Some(after)) if before != after => Some(Fate::Changed),
        _ => None,
    })
}

fn entity_change(
    connection: &Connection,
    id: i64,
    day: Day,
    project: Option<String>,
) -> Result<Option<EntityChange>, StoreError> {
    let Some(change) = fate(connection, &ENTITIES, id, day)? else { return Ok(None) };
    let at = |millis: i64| rows::observations_at(connection, id, Timestamp::from_millis(millis));
    let (before, after) = (at(day.first() - 1)?, at(day.end() - 1)?);
    let (name, entity_type) = connection
        .prepare_cached("SELECT name, entity_type FROM entity WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let without = |some: &[String], others: &[String]| {
        some.iter().filter(|one| !others.contains(one)).cloned().collect::<Vec<_>>()
    };
    let (learnt, forgotten) = (without(&after, &before), without(&before, &after));
    Ok(Some(EntityChange { name, entity_type, change, learnt, forgotten, project }))
}

fn relation_change(
    connection: &Connection,
    id: i64,
    day: Day,
    project: Option<String>,
) -> Result<Option<RelationChange>, StoreError> {
    let Some(change) = fate(connection, &RELATIONS, id, day)? else { return Ok(None) };
    let key = connection
        .prepare_cached(
            "SELECT f.name, t.name, r.relation_type FROM relation r
             JOIN entity f ON f.id = r.from_entity JOIN entity t ON t.id = r.to_entity WHERE r.id = ?1",
        )?
        .query_row([id], |row| {
            Ok(RelationKey { from: row.get(0)?, to: row.get(1)?, relation_type: row.get(2)? })
        })?;
    Ok(Some(RelationChange { key, change, project }))
}

fn project_names(connection: &Connection) -> Result<HashMap<i64, String>, StoreError> {
    let names = connection
        .prepare_cached("SELECT id, name FROM project")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(names)
}
