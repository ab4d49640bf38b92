//! The copy of all vectors that searches look at.
//!
//! It is made at the first search and then kept up: each search first reads the changes since the last, which costs
//! one look into an index when there are none. So what other processes write is found at once.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use diptych_search::{Neighbour, Quantised, Vectors};
use rusqlite::Connection;

use super::embeddings::{self, quantised};
use super::error::StoreError;
use super::model::Scope;
use super::transaction::range_of;
use super::{Store, rows};

/// The vectors of one epoch, up to some change.
#[derive(Debug)]
pub(crate) struct Mirror {
    epoch: i64,
    change: i64,
    vectors: Vectors,
    /// The types of entities, as labels.
    types: HashMap<String, u32>,
}

/// Entities near to a vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NearEntities {
    /// Their ids, nearest first.
    pub(crate) found: Vec<Neighbour>,
    /// How many vectors there are, of all projects.
    pub made: usize,
    /// How many numbers each of them has.
    pub dimensions: usize,
    /// How many entities of the scope wait for one.
    pub waiting: usize,
    /// The model, if there is any vector.
    pub model: Option<String>,
}

impl Store {
    /// The entities whose vectors are nearest to this one, at a cosine of at least so much.
    pub fn nearest_entities(
        &self,
        scope: &Scope,
        entity_types: &[String],
        vector: &[f32],
        limit: usize,
        least: f32,
    ) -> Result<NearEntities, StoreError> {
        let (range, waiting, model) = self.read(|connection| {
            let Some(range) = range_of(connection, scope)? else { return Ok((None, 0, None)) };
            let waiting: usize = connection
                .prepare_cached("SELECT count(*) FROM embedding_queue WHERE entity BETWEEN ?1 AND ?2")?
                .query_row([range.first, range.last], |row| row.get(0))?;
            let model = embeddings::model(connection)?;
            if let Some(model) = &model {
                self.refresh(connection, model.epoch, model.dimensions)?;
            }
            Ok((Some(range), waiting, model.map(|model| model.name)))
        })?;
        let mirror = self.mirror.read().unwrap_or_else(PoisonError::into_inner);
        let (Some(range), Some(mirror)) = (range, mirror.as_ref().filter(|_| model.is_some())) else {
            return Ok(NearEntities { waiting, ..NearEntities::default() });
        };
        let types: Vec<u32> = entity_types
            .iter()
            .map(|kind| mirror.types.get(&kind.to_lowercase()).copied().unwrap_or(u32::MAX))
            .collect();
        let found = mirror.vectors.nearest(&Quantised::of(vector), limit, least, |entity, kind| {
            (range.first..=range.last).contains(&entity) && (types.is_empty() || types.contains(&kind))
        });
        let Mirror { vectors, .. } = mirror;
        Ok(NearEntities { found, made: vectors.len(), dimensions: vectors.dimensions(), waiting, model })
    }

    /// The cosines of these entities to a vector, where they have one.
    pub(crate) fn cosines(&self, entities: &[i64], vector: &[f32]) -> Vec<Option<f32>> {
        let mirror = self.mirror.read().unwrap_or_else(PoisonError::into_inner);
        let query = Quantised::of(vector);
        let cosine = |entity: &i64| mirror.as_ref().and_then(|mirror| mirror.vectors.cosine(*entity, &query));
        entities.iter().map(cosine).collect()
    }

    /// How many bytes the copy takes.
    pub fn mirror_memory(&self) -> usize {
        let mirror = self.mirror.read().unwrap_or_else(PoisonError::into_inner);
        mirror.as_ref().map_or(0, |mirror| mirror.vectors.memory())
    }

    /// Reads what is new.
    fn refresh(&self, connection: &Connection, epoch: i64, dimensions: usize) -> Result<(), StoreError> {
        let last: i64 = connection
            .prepare_cached("SELECT coalesce(max(change), 0) FROM embedding")?
            .query_row([], |row| row.get(0))?;
        {
            let mirror = self.mirror.read().unwrap_or_else(PoisonError::into_inner);
            // What a search on a later state of the store has read already is not read again.
            if mirror.as_ref().is_some_and(|mirror| {
                mirror.epoch > epoch || (mirror.epoch == epoch && mirror.change >= last)
            }) {
                return Ok(());
            }
        }
        let mut mirror = self.mirror.write().unwrap_or_else(PoisonError::into_inner);
        let known = match mirror.as_mut() {
            Some(known) if known.epoch > epoch || (known.epoch == epoch && known.change >= last) => {
                return Ok(());
            }
            Some(known) if known.epoch == epoch && known.vectors.dimensions() == dimensions => known,
            _ => mirror.insert(Mirror {
                epoch,
                change: 0,
                vectors: Vectors::new(dimensions),
                types: HashMap::new(),
            }),
        };
        // At first all of them, in the order in which they lie in the file; later the few that are new, by the index.
        let which = if known.change == 0 { "+change > ?1 ORDER BY embedding.entity" } else { "change > ?1" };
        let mut statement = connection.prepare_cached(&format!(
            "SELECT embedding.entity, scale, vector, entity_type FROM embedding
             JOIN entity ON entity.id = embedding.entity WHERE {which}"
        ))?;
        let mut rows = statement.query([known.change])?;
        while let Some(row) = rows.next()? {
            let entity: i64 = row.get(0)?;
            match row.get_ref(2)?.as_blob_or_null().map_err(rusqlite::Error::from)? {
                None => known.vectors.remove(entity),
                Some(bytes) => {
                    let kind: String = row.get::<_, String>(3)?.to_lowercase();
                    let next = u32::try_from(known.types.len()).unwrap_or(u32::MAX - 1);
                    let label = *known.types.entry(kind).or_insert(next);
                    known.vectors.set(entity, label, &quantised(row.get(1)?, bytes));
                }
            }
        }
        known.change = last;
        Ok(())
    }

    /// Entities by their ids, for those who found them by a vector.
    pub(crate) fn entities_by_id(
        &self,
        scope: &Scope,
        ids: &[i64],
    ) -> Result<Vec<super::Entity>, StoreError> {
        self.read(|connection| {
            let mut entities = rows::entities(connection, ids)?;
            if *scope == Scope::All {
                rows::name_projects(connection, &mut entities, &mut [])?;
            }
            Ok(entities)
        })
    }
}

/// What a store keeps of it.
pub(crate) type Cell = RwLock<Option<Mirror>>;
