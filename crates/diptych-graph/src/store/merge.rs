//! Putting together two entities that are one thing, and finding pairs that may be.

use rusqlite::OptionalExtension;

use super::error::StoreError;
use super::model::{NewObservations, Project, RelationFacts, RelationKey};
use super::time::Timestamp;
use super::transaction::{Write, range_of};
use super::{Store, entities, observations, relations, rows, similar};

/// Two entities that may be one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeCandidate {
    /// The one to keep: the one with more relations and observations, else the older.
    pub keep: String,
    /// The one to be taken into it.
    pub absorb: String,
    /// Why they may be one.
    pub reason: String,
    /// Whether they are of one type: if not, look twice.
    pub same_type: bool,
}

/// What a merge came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeOutcome {
    /// How many observations were taken over; those that were there already are not counted.
    pub observations_added: usize,
    /// How many relations now lead from or to the entity that was kept.
    pub relations_moved: usize,
    /// How many relations were left out: between the two, or there already.
    pub relations_dropped: usize,
    /// When it happened.
    pub at: Timestamp,
}

impl Store {
    /// Pairs of entities whose names are near-duplicates, at most so many.
    pub fn merge_candidates(
        &self,
        project: &Project,
        limit: usize,
    ) -> Result<Vec<MergeCandidate>, StoreError> {
        self.read(|connection| {
            let Some(range) = range_of(connection, &project.into())? else { return Ok(Vec::new()) };
            let mut candidates = Vec::new();
            let mut all = connection.prepare_cached(
                "SELECT id, name FROM entity WHERE project = ?1 AND deleted_at IS NULL ORDER BY position",
            )?;
            let mut rows = all.query([range.projects().0])?;
            while let Some(row) = rows.next()? {
                let (id, name): (i64, String) = (row.get(0)?, row.get(1)?);
                for (other, other_name, likeness) in similar::near_duplicates(connection, range, &name, 20)? {
                    // Each pair is met from both sides.
                    if other < id {
                        continue;
                    }
                    let (one, two) = (weight(connection, id)?, weight(connection, other)?);
                    let same_type = one.1 == two.1;
                    let (keep, absorb) =
                        if two.0 > one.0 { (other_name, name.clone()) } else { (name.clone(), other_name) };
                    candidates.push(MergeCandidate {
                        keep,
                        absorb,
                        reason: likeness.reason().into(),
                        same_type,
                    });
                    if candidates.len() == limit {
                        return Ok(candidates);
                    }
                }
            }
            Ok(candidates)
        })
    }

    /// Takes one entity into another: its observations and relations go over, and it is deleted. The history of both
    /// stays, and the last version of the one that went says where.
    pub fn merge(&self, project: &Project, keep: &str, absorb: &str) -> Result<MergeOutcome, StoreError> {
        if keep == absorb {
            return Err(StoreError::invalid("absorb", "must be another entity than the one to keep"));
        }
        self.write(project, |write| {
            let find = |name: &str| {
                rows::entity_by_name(write.connection, write.project, name)
                    .map(|row| row.filter(|row| row.is_live))
            };
            let absorbed = match (find(keep)?, find(absorb)?) {
                (Some(_), Some(absorbed)) => absorbed,
                (kept, absorbed) => {
                    let missing = [(kept.is_none(), keep), (absorbed.is_none(), absorb)];
                    let names: Vec<&str> =
                        missing.into_iter().filter(|(gone, _)| *gone).map(|(_, name)| name).collect();
                    return Err(similar::missing_entities(write, &names)?);
                }
            };
            let contents = rows::observations(write.connection, absorbed.id)?;
            entities::next_version(write, &absorbed)?;
            observations::append(write, absorbed.id, &[format!("Merged into {keep:?}.")])?;
            write.then(|write| take_over(write, keep, absorb, contents))
        })
    }
}

/// Gives everything that an entity has to another, and ends it.
fn take_over(
    write: &Write<'_>,
    keep: &str,
    absorb: &str,
    contents: Vec<String>,
) -> Result<MergeOutcome, StoreError> {
    let Some(absorbed) = rows::entity_by_name(write.connection, write.project, absorb)? else {
        return Err(similar::missing_entities(write, &[absorb])?);
    };
    let moving = rows::relations_touching(write.connection, &[absorbed.id], usize::MAX)?.0;
    entities::delete(write, &absorbed)?;
    let added = observations::add(write, &[NewObservations { entity_name: keep.to_owned(), contents }])?;
    let mut outcome = MergeOutcome {
        observations_added: added.added,
        relations_moved: 0,
        relations_dropped: 0,
        at: write.at,
    };
    for relation in moving {
        let renamed = |name: String| if name == absorb { keep.to_owned() } else { name };
        let was_loop = relation.from == relation.to;
        let key = RelationKey {
            from: renamed(relation.from),
            to: renamed(relation.to),
            relation_type: relation.relation_type,
        };
        let facts = RelationFacts {
            strength: relation.strength,
            confidence: relation.confidence,
            metadata: relation.metadata,
        };
        let end = |name: &str| rows::live_id(write.connection, write.project, name);
        // A relation between the two says nothing once they are one.
        let is_moved = (was_loop || key.from != key.to)
            && match (end(&key.from)?, end(&key.to)?) {
                (Some(from), Some(to)) => relations::create(write, (from, to), &key, &facts)?.is_some(),
                _ => false,
            };
        if is_moved {
            outcome.relations_moved += 1;
        } else {
            outcome.relations_dropped += 1;
        }
    }
    Ok(outcome)
}

/// How much is known about an entity, and its type.
fn weight(connection: &rusqlite::Connection, id: i64) -> Result<(i64, String), StoreError> {
    let weight = connection
        .prepare_cached(
            "SELECT (SELECT count(*) FROM observation WHERE entity = ?1 AND valid_to IS NULL)
                 + (SELECT count(*) FROM relation WHERE from_entity = ?1 AND deleted_at IS NULL)
                 + (SELECT count(*) FROM relation WHERE to_entity = ?1 AND deleted_at IS NULL), entity_type
             FROM entity WHERE id = ?1",
        )?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(weight.unwrap_or_default())
}
