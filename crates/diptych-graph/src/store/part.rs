//! Parts of a graph that hang together, with the relations inside them: for pictures and for prompts.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::error::StoreError;
use super::model::{Entity, Project, Relation};
use super::transaction::range_of;
use super::{Store, rows, similar};

/// Some entities of a graph and every relation between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphPart {
    /// The entities: from the centre outwards, or the most connected first.
    pub entities: Vec<Entity>,
    /// The relations between them, in the order in which they were made.
    pub relations: Vec<Relation>,
    /// Whether there would have been more entities.
    pub more: bool,
}

impl Store {
    /// An entity and what lies around it: everything within so many steps, along relations in either direction.
    pub fn neighbourhood(
        &self,
        project: &Project,
        name: &str,
        steps: usize,
        limit: usize,
    ) -> Result<GraphPart, StoreError> {
        self.read(|connection| {
            let range = range_of(connection, &project.into())?;
            let centre = match range {
                Some(range) => rows::live_id(connection, range.projects().0, name)?,
                None => None,
            };
            let Some(centre) = centre else { return Err(similar::missing(connection, range, &[name])?) };
            let mut ids = vec![centre];
            let mut known = HashSet::from([centre]);
            let (mut reached, mut more) = (0, false);
            for _ in 0..steps {
                let ring = ids[reached..].to_vec();
                reached = ids.len();
                for id in ring {
                    for neighbour in neighbours(connection, id, limit)? {
                        if known.contains(&neighbour) {
                            continue;
                        }
                        if ids.len() == limit {
                            more = true;
                            break;
                        }
                        known.insert(neighbour);
                        ids.push(neighbour);
                    }
                }
            }
            part(connection, &ids, more)
        })
    }

    /// The whole graph of a project, or as much of it as the limit allows, the most connected entities first.
    pub fn most_connected(&self, project: &Project, limit: usize) -> Result<GraphPart, StoreError> {
        self.read(|connection| {
            let Some(range) = range_of(connection, &project.into())? else { return Ok(GraphPart::default()) };
            let mut ids: Vec<i64> = connection
                .prepare_cached(
                    "SELECT id FROM entity WHERE project = ?1 AND deleted_at IS NULL ORDER BY
                     (SELECT count(*) FROM relation WHERE from_entity = entity.id AND deleted_at IS NULL)
                     + (SELECT count(*) FROM relation WHERE to_entity = entity.id AND deleted_at IS NULL) DESC,
                     position LIMIT ?2",
                )?
                .query_map(params![range.projects().0, rows::bound(limit.saturating_add(1))], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let more = ids.len() > limit;
            ids.truncate(limit);
            part(connection, &ids, more)
        })
    }
}

fn part(connection: &Connection, ids: &[i64], more: bool) -> Result<GraphPart, StoreError> {
    let inside: HashSet<i64> = ids.iter().copied().collect();
    let mut starting = connection
        .prepare_cached("SELECT id, to_entity FROM relation WHERE from_entity = ?1 AND deleted_at IS NULL")?;
    let mut load = connection.prepare_cached(&format!(
        "SELECT {} FROM relation r JOIN entity f ON f.id = r.from_entity JOIN entity t ON t.id = r.to_entity
         WHERE r.id = ?1",
        rows::RELATION
    ))?;
    let mut relations = Vec::new();
    for id in ids {
        let mut rows = starting.query([id])?;
        while let Some(row) = rows.next()? {
            if inside.contains(&row.get(1)?) {
                relations.push(load.query_row([row.get::<_, i64>(0)?], rows::relation)?);
            }
        }
    }
    relations.sort_by_key(|relation: &Relation| relation.position);
    Ok(GraphPart { entities: rows::entities(connection, ids)?, relations, more })
}

fn neighbours(connection: &Connection, id: i64, limit: usize) -> Result<Vec<i64>, StoreError> {
    let ids = connection
        .prepare_cached(
            "SELECT to_entity FROM relation WHERE from_entity = ?1 AND deleted_at IS NULL
             UNION SELECT from_entity FROM relation WHERE to_entity = ?1 AND deleted_at IS NULL LIMIT ?2",
        )?
        .query_map(params![id, rows::bound(limit.saturating_add(1))], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}
