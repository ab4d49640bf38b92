//! What was found: results in tiers, ranked or read from the index as far as a page goes.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use super::{MatchQuality, RANKED, SearchPage};
use crate::store::cursor::{Cursor, Place};
use crate::store::error::StoreError;
use crate::store::rows;
use crate::store::transaction::IdRange;

/// A full-text table.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Names,
    Texts,
}

impl Table {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Names => "name_text",
            Self::Texts => "full_text",
        }
    }

    /// How much a word counts in each column.
    fn rank(self) -> &'static str {
        match self {
            Self::Names => "bm25(name_text, 1.0, 0.0)",
            Self::Texts => "bm25(full_text, 8.0, 3.0, 1.0, 0.0)",
        }
    }
}

/// Results of one quality.
pub(super) enum Tier {
    /// All of them, in order.
    List(Vec<i64>),
    /// All of them, still to be ranked. Ranking is dear, and many a tier is never shown.
    Unranked { ids: Vec<i64>, table: Table, expression: String, range: IdRange },
    /// Too many to rank: newest first, without those given before.
    Stream { table: Table, expression: String, range: IdRange, without: HashSet<i64> },
    /// Every entity of some types.
    Everything { range: IdRange, types: String },
}

/// Puts the best first.
fn rank(
    connection: &Connection,
    table: Table,
    expression: &str,
    range: IdRange,
    ids: &[i64],
) -> Result<Vec<i64>, StoreError> {
    let (name, rank) = (table.name(), table.rank());
    let mut places = HashMap::new();
    let mut statement = connection.prepare_cached(&format!(
        "SELECT rowid FROM {name} WHERE {name} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY {rank}, rowid DESC"
    ))?;
    let mut rows = statement.query(params![expression, range.first, range.last])?;
    while let Some(row) = rows.next()? {
        places.insert(row.get::<_, i64>(0)?, places.len());
    }
    let mut ranked = ids.to_vec();
    ranked.sort_by_key(|id| (places.get(id).copied().unwrap_or(usize::MAX), std::cmp::Reverse(*id)));
    Ok(ranked)
}

/// In which order the index is read.
#[derive(Clone, Copy)]
pub(super) enum Order {
    NewestFirst,
    OldestFirst,
}

/// The first matches of an expression.
pub(super) fn first(
    connection: &Connection,
    table: Table,
    expression: &str,
    range: IdRange,
    order: Order,
    limit: usize,
) -> Result<Vec<i64>, StoreError> {
    let name = table.name();
    let order = match order {
        Order::NewestFirst => "DESC",
        Order::OldestFirst => "ASC",
    };
    let ids = connection
        .prepare_cached(&format!(
            "SELECT rowid FROM {name} WHERE {name} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid {order} LIMIT ?4"
        ))?
        .query_map(params![expression, range.first, range.last, rows::bound(limit)], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids)
}

/// All tiers of a search.
#[derive(Default)]
pub(super) struct Found {
    tiers: Vec<Tier>,
    pub(super) given: HashSet<i64>,
    quality: Option<MatchQuality>,
}

impl Found {
    /// Adds results that are not as good as those before.
    pub(super) fn push(&mut self, tier: Tier, quality: MatchQuality) {
        let is_empty = match &tier {
            Tier::List(ids) | Tier::Unranked { ids, .. } => {
                self.given.extend(ids);
                ids.is_empty()
            }
            Tier::Stream { .. } | Tier::Everything { .. } => false,
        };
        if !is_empty {
            self.quality.get_or_insert(quality);
        }
        self.tiers.push(tier);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.quality.is_none()
    }

    /// Whether there are more results than were counted.
    pub(super) fn is_endless(&self) -> bool {
        self.tiers.iter().any(|tier| matches!(tier, Tier::Stream { .. } | Tier::Everything { .. }))
    }

    /// The page that starts at this place: so many entities at most. With a number of bytes, as many as fit into it with
    /// the relations that touch them; otherwise without relations.
    pub(super) fn page(
        &self,
        connection: &Connection,
        (first_tier, first_done): (usize, i64),
        (limit, bytes): (usize, Option<usize>),
        question: u64,
    ) -> Result<SearchPage, StoreError> {
        let mut ids: Vec<i64> = Vec::new();
        // For each result, the place just before it.
        let mut cursors = Vec::new();
        for (number, tier) in self.tiers.iter().enumerate().skip(first_tier) {
            let done = if number == first_tier { first_done } else { 0 };
            let room = limit.saturating_add(1).saturating_sub(ids.len());
            if room == 0 {
                break;
            }
            for (before, id) in tier.slice(connection, done, room)? {
                let place = Place::Tier { tier: rows::bound(number), done: before };
                cursors.push(Cursor::new(question, place));
                ids.push(id);
            }
        }
        let candidates = &ids[..ids.len().min(limit)];
        let (entities, (relations, more_relations)) = match bytes {
            Some(bytes) => {
                let (entities, touching) = rows::entities_within(connection, candidates, bytes)?;
                (entities, touching.load(connection)?)
            }
            None => (rows::entities(connection, candidates)?, (Vec::new(), false)),
        };
        let shown = entities.len();
        let next = if ids.len() > shown { cursors.get(shown).cloned() } else { None };
        ids.truncate(shown);
        cursors.truncate(shown);
        let total_is_exact = !self.is_endless();
        let listed: usize = self
            .tiers
            .iter()
            .map(|tier| match tier {
                Tier::List(ids) | Tier::Unranked { ids, .. } => ids.len(),
                Tier::Stream { .. } => RANKED + 1,
                Tier::Everything { .. } => ids.len() + usize::from(next.is_some()),
            })
            .sum();
        Ok(SearchPage {
            entities,
            relations,
            more_relations,
            total: listed,
            total_is_exact,
            quality: self.quality.filter(|_| listed > 0).unwrap_or(MatchQuality::Nothing),
            next,
            cursors,
        })
    }
}

impl Tier {
    /// So many results from a place on, each with the place before it.
    fn slice(&self, connection: &Connection, done: i64, room: usize) -> Result<Vec<(i64, i64)>, StoreError> {
        match self {
            Self::List(ids) => {
                let skipped = usize::try_from(done).unwrap_or(usize::MAX);
                Ok((0..).zip(ids.iter().copied()).skip(skipped).take(room).collect())
            }
            Self::Unranked { ids, table, expression, range } => {
                Self::List(rank(connection, *table, expression, *range, ids)?).slice(connection, done, room)
            }
            Self::Stream { table, expression, range, without } => {
                let last = if done == 0 { range.last } else { done - 1 };
                let mut ids = first(
                    connection,
                    *table,
                    expression,
                    IdRange { first: range.first, last },
                    Order::NewestFirst,
                    room.saturating_add(without.len()),
                )?;
                ids.retain(|id| !without.contains(id));
                ids.truncate(room);
                Ok(ids.into_iter().map(|id| (id + 1, id)).collect())
            }
            Self::Everything { range, types } => {
                let ids: Vec<i64> = connection
                    .prepare_cached(
                        "SELECT id FROM entity WHERE id BETWEEN ?1 AND ?2 AND deleted_at IS NULL
                         AND (?3 = '[]' OR lower(entity_type) IN (SELECT value FROM json_each(?3)))
                         ORDER BY project, position LIMIT ?4 OFFSET ?5",
                    )?
                    .query_map(params![range.first, range.last, types, rows::bound(room), done], |row| {
                        row.get(0)
                    })?
                    .collect::<Result<_, _>>()?;
                Ok((done..).zip(ids).collect())
            }
        }
    }
}
