//! Opening entities by name, and the lists that help to find names.

use rusqlite::{Connection, params};

use super::error::StoreError;
use super::model::{Entity, ProjectOverview, Relation, Scope};
use super::transaction::{IdRange, range_of};
use super::{Store, rows, similar, words};

/// Entities that were asked for by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenedNodes {
    /// Those that exist, in the order in which they were made.
    pub entities: Vec<Entity>,
    /// The relations that start or end at them, in the order in which they were made.
    pub relations: Vec<Relation>,
    /// Whether they have more relations than are given here.
    pub more_relations: bool,
    /// The names that do not exist.
    pub missing: Vec<String>,
}

impl Store {
    /// Entities by name, with the relations that touch them.
    pub fn open_nodes(&self, scope: &Scope, names: &[String]) -> Result<OpenedNodes, StoreError> {
        self.open_nodes_within(scope, names, usize::MAX)
    }

    /// The same, but no more relations than fit into so many bytes of JSON: what would not be shown need not be read.
    pub fn open_nodes_within(
        &self,
        scope: &Scope,
        names: &[String],
        bytes: usize,
    ) -> Result<OpenedNodes, StoreError> {
        self.read(|connection| {
            let mut opened = OpenedNodes::default();
            let mut ids = Vec::new();
            let range = range_of(connection, scope)?;
            for name in names {
                let found = match range {
                    Some(range) => ids_of(connection, range, name)?,
                    None => Vec::new(),
                };
                if found.is_empty() && !opened.missing.contains(name) {
                    opened.missing.push(name.clone());
                }
                ids.extend(found);
            }
            ids.sort_unstable();
            ids.dedup();
            opened.entities = rows::entities(connection, &ids)?;
            opened.entities.sort_by_key(|entity| (entity.id >> 32, entity.position));
            (opened.relations, opened.more_relations) =
                rows::relations_touching(connection, &ids, rows::relations_within(bytes))?;
            if *scope == Scope::All {
                rows::name_projects(connection, &mut opened.entities, &mut opened.relations)?;
            }
            Ok(opened)
        })
    }

    /// Names that exist and are near to this one, nearest first.
    pub fn nearest_names(&self, scope: &Scope, name: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.read(|connection| match range_of(connection, scope)? {
            Some(range) => similar::nearest_names(connection, range, name, limit),
            None => Ok(Vec::new()),
        })
    }

    /// Names that begin with what was typed, whatever the case and punctuation, in alphabetical order.
    pub fn names_beginning(
        &self,
        scope: &Scope,
        typed: &str,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let Some(range) = range_of(connection, scope)? else { return Ok(Vec::new()) };
            let start = words::folded(typed);
            // Every form of a name is filed; only the one without spaces begins as the name does.
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT entity.name FROM name_key JOIN entity ON entity.id = name_key.entity
                 WHERE name_key.key >= ?1 AND name_key.key < ?2 AND instr(name_key.key, ' ') = 0
                 AND name_key.entity BETWEEN ?3 AND ?4 AND entity.deleted_at IS NULL
                 ORDER BY name_key.key LIMIT ?5",
            )?;
            let end = format!("{start}\u{10ffff}");
            let names = statement
                .query_map(params![start, end, range.first, range.last, rows::bound(limit)], |row| {
                    row.get(0)
                })?
                .collect::<Result<_, _>>()?;
            Ok(names)
        })
    }

    /// All projects, by name.
    pub fn projects(&self) -> Result<Vec<ProjectOverview>, StoreError> {
        self.read(|connection| {
            let projects = connection
                .prepare_cached(
                    "SELECT name, changed_at,
                     (SELECT count(*) FROM entity WHERE project = project.id AND deleted_at IS NULL),
                     (SELECT count(*) FROM relation WHERE project = project.id AND deleted_at IS NULL)
                     FROM project ORDER BY name",
                )?
                .query_map([], |row| {
                    Ok(ProjectOverview {
                        name: row.get(0)?,
                        changed_at: rows::time(row, 1)?,
                        entities: row.get(2)?,
                        relations: row.get(3)?,
                    })
                })?
                .collect::<Result<_, _>>()?;
            Ok(projects)
        })
    }
}

fn ids_of(connection: &Connection, range: IdRange, name: &str) -> Result<Vec<i64>, StoreError> {
    let (first, last) = range.projects();
    if first == last {
        return Ok(rows::live_id(connection, first, name)?.into_iter().collect());
    }
    let ids = connection
        .prepare_cached(
            "SELECT entity.id FROM project JOIN entity ON entity.project = project.id AND entity.name = ?1
             WHERE entity.deleted_at IS NULL ORDER BY entity.id",
        )?
        .query_map([name], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}
