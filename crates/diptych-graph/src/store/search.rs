//! Search: ranked, forgiving, and quick whatever the words.
//!
//! Results come in tiers, each better than the next: the name itself, names with all words, texts with all words,
//! texts with all words as parts of words; and only if there are none of these, texts with misspelt words mended,
//! then texts with some of the words.
//!
//! Ranking a word means reading all that is known about it, so a common word would make a search slow. No tier
//! therefore ranks more than [`RANKED`] records: a longer one is given newest first, read from the index as far
//! as the page goes, and words that are more frequent than that have no say in the ranking of the others. (They
//! would have next to none: their weight falls with their frequency.)

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use super::cursor::{Cursor, Place};
use super::error::StoreError;
use super::model::{Entity, Relation, Scope};
use super::page::{self, PageRequest};
use super::read::RELATIONS_SHOWN;
use super::transaction::{IdRange, range_of};
use super::vocabulary::{self, Edits};
use super::words::{self, QueryWord};
use super::{Store, rows};

/// The most records that are ranked.
const RANKED: usize = 300;
/// How many words are tried in all for words that may be parts of them. Each costs a look into every segment of
/// the index, and the more words there are to look for, the less a part of one says.
const PARTS: usize = 24;
/// Where so many words are all found, they are not looked for as parts of others as well.
const MANY_WORDS: usize = 2;
/// How many words near to a misspelt one are tried.
const CORRECTIONS: usize = 6;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct SearchRequest {
    /// The words, in any order. Without any, everything is found.
    pub query: String,
    /// If not empty, only entities of these types, whatever their case.
    pub entity_types: Vec<String>,
    /// How many entities, and where to go on.
    pub page: PageRequest,
}

/// How well the best results match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum MatchQuality {
    /// They have all the words.
    AllWords,
    /// They have all the words, some of them as parts of longer ones.
    PartsOfWords,
    /// They have all the words after some were taken for misspelt.
    Corrected,
    /// They have some of the words.
    SomeWords,
    /// There was nothing to look for, so they are all there are.
    Everything,
    /// There are none.
    Nothing,
}

/// A part of what was found, the best first.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    /// The entities.
    pub entities: Vec<Entity>,
    /// The relations that start or end at them.
    pub relations: Vec<Relation>,
    /// Whether they have more relations than are given here.
    pub more_relations: bool,
    /// How many entities were found in all; at least so many, when that is not exact.
    pub total: usize,
    /// Whether the total is exact. What matches very many entities is not counted to the end.
    pub total_is_exact: bool,
    /// How well the best results match.
    pub quality: MatchQuality,
    /// Where to go on, if there is more.
    pub next: Option<Cursor>,
    cursors: Vec<Cursor>,
}

impl SearchPage {
    /// Where to go on when only so many entities of this page were used.
    pub fn cursor_after(&self, shown: usize) -> Option<Cursor> {
        if shown >= self.entities.len() { self.next.clone() } else { self.cursors.get(shown).cloned() }
    }
}

impl Store {
    /// Looks for entities by their names, types and observations.
    pub fn search(&self, scope: &Scope, request: &SearchRequest) -> Result<SearchPage, StoreError> {
        let mut types: Vec<String> = request.entity_types.iter().map(|kind| kind.to_lowercase()).collect();
        types.sort_unstable();
        types.dedup();
        let arguments: Vec<&str> =
            std::iter::once(request.query.as_str()).chain(types.iter().map(String::as_str)).collect();
        let question = page::question("search", scope, &arguments);
        let start = match request.page.cursor.as_ref().map(|cursor| cursor.place(question)).transpose()? {
            None => (0, 0),
            Some(Place::Tier { tier, done }) => (usize::try_from(tier).unwrap_or(usize::MAX), done),
            Some(_) => return Err(StoreError::BadCursor),
        };
        self.read(|connection| {
            let found = match range_of(connection, scope)? {
                Some(range) => Search { connection, range, types: &types }.run(&request.query)?,
                None => Found::default(),
            };
            let mut page = found.page(connection, start, request.page.limit, question)?;
            let ids: Vec<i64> = page.entities.iter().map(|entity| entity.id).collect();
            (page.relations, page.more_relations) =
                rows::relations_touching(connection, &ids, RELATIONS_SHOWN)?;
            if *scope == Scope::All {
                rows::name_projects(connection, &mut page.entities, &mut page.relations)?;
            }
            Ok(page)
        })
    }
}

impl Store {
    /// The best entities by words, without their relations.
    pub(crate) fn best_by_words(
        &self,
        scope: &Scope,
        query: &str,
        types: &[String],
        limit: usize,
    ) -> Result<SearchPage, StoreError> {
        let types: Vec<String> = types.iter().map(|kind| kind.to_lowercase()).collect();
        self.read(|connection| {
            let found = match range_of(connection, scope)? {
                Some(range) => Search { connection, range, types: &types }.run(query)?,
                None => Found::default(),
            };
            let mut page = found.page(connection, (0, 0), limit, 0)?;
            if *scope == Scope::All {
                rows::name_projects(connection, &mut page.entities, &mut [])?;
            }
            Ok(page)
        })
    }
}

/// A full-text table.
#[derive(Clone, Copy)]
enum Table {
    Names,
    Texts,
}

impl Table {
    fn name(self) -> &'static str {
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
enum Tier {
    /// All of them, in order.
    List(Vec<i64>),
    /// All of them, still to be ranked. Ranking is dear, and many a tier is never shown.
    Unranked { ids: Vec<i64>, table: Table, expression: String, range: IdRange },
    /// Too many to rank: newest first, without those given before.
    Stream { table: Table, expression: String, range: IdRange, without: HashSet<i64> },
    /// Every entity of some types.
    Everything { range: IdRange, types: String },
}

struct Search<'a> {
    connection: &'a Connection,
    range: IdRange,
    types: &'a [String],
}

impl Search<'_> {
    fn run(&self, query: &str) -> Result<Found, StoreError> {
        let words = words::of_query(query);
        let mut found = Found::default();
        if words.is_empty() {
            if query.trim().is_empty() {
                let types = serde_json::to_string(self.types).unwrap_or_default();
                found.push(Tier::Everything { range: self.range, types }, MatchQuality::Everything);
            } else {
                found.push(Tier::List(self.containing(query.trim())?), MatchQuality::AllWords);
            }
            return Ok(found);
        }
        let all = every(words.iter().map(|word| word.expression.as_str()));
        let in_names = format!("(name : ({all}))");
        found.push(Tier::List(self.named(query)?), MatchQuality::AllWords);
        let names = self.tier(Table::Names, &in_names, &words, &found.given)?;
        // Results that were listed are known by their ids; only those of a stream must be left out by an expression.
        let texts = if matches!(names, Tier::Stream { .. }) {
            format!("(({all}) NOT {in_names})")
        } else {
            format!("({all})")
        };
        found.push(names, MatchQuality::AllWords);
        found.push(self.tier(Table::Texts, &texts, &words, &found.given)?, MatchQuality::AllWords);
        if found.is_endless() || (words.len() >= MANY_WORDS && !found.is_empty()) {
            return Ok(found);
        }
        let limit = PARTS / words.len();
        let widened: Vec<Option<String>> =
            words.iter().map(|word| self.widen(word, limit)).collect::<Result<_, _>>()?;
        if widened.iter().any(Option::is_some) {
            let parts = every(
                words.iter().zip(&widened).map(|(word, wide)| wide.as_deref().unwrap_or(&word.expression)),
            );
            let tier = self.tier(Table::Texts, &format!("({parts})"), &[], &found.given)?;
            found.push(self.names_first(tier, &parts)?, MatchQuality::PartsOfWords);
        }
        if found.is_empty() {
            self.relax(&words, &widened, &mut found)?;
        }
        Ok(found)
    }

    /// For want of anything better: mends the words that are not known, then settles for some of them.
    fn relax(
        &self,
        words: &[QueryWord],
        widened: &[Option<String>],
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let mut usable: Vec<(String, usize)> = Vec::new();
        let mut is_mended = false;
        for (word, wide) in words.iter().zip(widened) {
            let expression = wide.clone().unwrap_or_else(|| word.expression.clone());
            let known = self.frequency(Table::Texts, &expression)?;
            if known > 0 {
                usable.push((expression, known));
            } else if word.in_vocabulary {
                let near = vocabulary::near(self.connection, &word.text, Edits::ByLength, CORRECTIONS)?;
                if !near.is_empty() {
                    let mended = any(near.iter().map(|near| words::quote(near)));
                    let known = self.frequency(Table::Texts, &mended)?;
                    usable.push((mended, known));
                    is_mended = true;
                }
            }
        }
        if is_mended && usable.len() == words.len() {
            let all = every(usable.iter().map(|(expression, _)| expression.as_str()));
            let tier = self.tier(Table::Texts, &format!("({all})"), &[], &found.given)?;
            found.push(self.names_first(tier, &all)?, MatchQuality::Corrected);
        }
        if !found.is_empty() || usable.is_empty() {
            return Ok(());
        }
        // The rarest say most; the rest only where they cost little.
        usable.sort_by_key(|(_, frequency)| *frequency);
        let mut sum = 0;
        let chosen = usable.iter().enumerate().take_while(|(index, (_, frequency))| {
            sum += frequency;
            *index == 0 || sum <= RANKED
        });
        let some = any(chosen.map(|(_, (expression, _))| expression.clone()));
        let tier = match self.tier(Table::Texts, &some, &[], &found.given)? {
            Tier::List(ids) => {
                Tier::Unranked { ids, table: Table::Texts, expression: some, range: self.range }
            }
            other => other,
        };
        found.push(tier, if is_mended { MatchQuality::Corrected } else { MatchQuality::SomeWords });
        Ok(())
    }

    /// The entities with this very name, but for case, spacing and punctuation.
    fn named(&self, query: &str) -> Result<Vec<i64>, StoreError> {
        let ids: Vec<i64> = self
            .connection
            .prepare_cached(
                "SELECT entity.id FROM name_key JOIN entity ON entity.id = name_key.entity
                 WHERE name_key.key = ?1 AND name_key.entity BETWEEN ?2 AND ?3 AND entity.deleted_at IS NULL
                 AND (?5 = 0 OR lower(entity.entity_type) IN (SELECT value FROM json_each(?6)))
                 ORDER BY entity.name <> ?4, entity.id LIMIT 20",
            )?
            .query_map(
                params![
                    words::folded(query),
                    self.range.first,
                    self.range.last,
                    query,
                    self.types.len(),
                    serde_json::to_string(self.types).unwrap_or_default()
                ],
                |row| row.get(0),
            )?
            .collect::<Result<_, _>>()?;
        Ok(ids)
    }

    /// What contains a text without a single letter or digit, which no index knows. Rare, so it may read everything.
    fn containing(&self, text: &str) -> Result<Vec<i64>, StoreError> {
        let ids = self
            .connection
            .prepare_cached(
                "SELECT id FROM entity WHERE id BETWEEN ?2 AND ?3 AND deleted_at IS NULL
                 AND (?5 = 0 OR lower(entity_type) IN (SELECT value FROM json_each(?6)))
                 AND (instr(name, ?1) OR instr(entity_type, ?1) OR EXISTS (
                     SELECT 1 FROM observation WHERE entity = entity.id AND valid_to IS NULL AND instr(content, ?1)))
                 ORDER BY id DESC LIMIT ?4",
            )?
            .query_map(
                params![
                    text,
                    self.range.first,
                    self.range.last,
                    RANKED,
                    self.types.len(),
                    serde_json::to_string(self.types).unwrap_or_default()
                ],
                |row| row.get(0),
            )?
            .collect::<Result<_, _>>()?;
        Ok(ids)
    }

    /// The results of an expression: ranked by these words if they are few, else as a stream.
    fn tier(
        &self,
        table: Table,
        expression: &str,
        words: &[QueryWord],
        without: &HashSet<i64>,
    ) -> Result<Tier, StoreError> {
        let filtered = self.of_types(expression);
        let mut rare = Vec::new();
        for word in words {
            if self.frequency(table, &word.expression)? <= RANKED {
                rare.push(word.expression.as_str());
            }
        }
        // Where a word is rare the results are few and will all be read. The index runs forwards more quickly.
        let order = if rare.is_empty() { Order::NewestFirst } else { Order::OldestFirst };
        let mut ids =
            first(self.connection, table, &filtered, self.range, order, RANKED + 1 + without.len())?;
        ids.retain(|id| !without.contains(id));
        if ids.len() > RANKED {
            return Ok(Tier::Stream {
                table,
                expression: filtered,
                range: self.range,
                without: without.clone(),
            });
        }
        if ids.len() < 2 || rare.is_empty() {
            return Ok(Tier::List(ids));
        }
        let expression = match table {
            Table::Names => format!("name : ({})", every(rare.into_iter())),
            Table::Texts => every(rare.into_iter()),
        };
        Ok(Tier::Unranked { ids, table, expression, range: self.range })
    }

    fn of_types(&self, expression: &str) -> String {
        if self.types.is_empty() {
            return expression.to_owned();
        }
        let tags = any(self.types.iter().map(|kind| words::quote(&words::type_tag(kind))));
        format!("({expression}) AND (tag : {tags})")
    }

    /// In how many records an expression is found, counted no further than matters.
    fn frequency(&self, table: Table, expression: &str) -> Result<usize, StoreError> {
        let name = table.name();
        let count = self
            .connection
            .prepare_cached(&format!(
                "SELECT count(*) FROM (SELECT 1 FROM {name} WHERE {name} MATCH ?1 LIMIT ?2)"
            ))?
            .query_row(params![expression, RANKED + 1], |row| row.get(0))?;
        Ok(count)
    }

    /// Moves those that have the words in their names to the front.
    fn names_first(&self, tier: Tier, expression: &str) -> Result<Tier, StoreError> {
        let Tier::List(mut ids) = tier else { return Ok(tier) };
        if ids.len() > 1 {
            let named: HashSet<i64> = first(
                self.connection,
                Table::Names,
                &format!("name : ({expression})"),
                self.range,
                Order::NewestFirst,
                RANKED,
            )?
            .into_iter()
            .collect();
            ids.sort_by_key(|id| !named.contains(id));
        }
        Ok(Tier::List(ids))
    }

    /// The word or any known word that it is a part of; `None` if there is none.
    fn widen(&self, word: &QueryWord, limit: usize) -> Result<Option<String>, StoreError> {
        if !word.in_vocabulary {
            return Ok(None);
        }
        // A word that is everywhere does not need help.
        if self.frequency(Table::Texts, &word.expression)? > RANKED {
            return Ok(None);
        }
        let longer = vocabulary::containing(self.connection, &word.text, limit)?;
        if longer.is_empty() {
            return Ok(None);
        }
        Ok(Some(any(
            std::iter::once(word.expression.clone()).chain(longer.iter().map(|word| words::quote(word)))
        )))
    }
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
enum Order {
    NewestFirst,
    OldestFirst,
}

/// The first matches of an expression.
fn first(
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

fn every<'a>(expressions: impl Iterator<Item = &'a str>) -> String {
    expressions.collect::<Vec<_>>().join(" AND ")
}

fn any(expressions: impl Iterator<Item = String>) -> String {
    format!("({})", expressions.collect::<Vec<_>>().join(" OR "))
}

/// All tiers of a search.
#[derive(Default)]
struct Found {
    tiers: Vec<Tier>,
    given: HashSet<i64>,
    quality: Option<MatchQuality>,
}

impl Found {
    fn push(&mut self, tier: Tier, quality: MatchQuality) {
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

    fn is_empty(&self) -> bool {
        self.quality.is_none()
    }

    fn is_endless(&self) -> bool {
        self.tiers.iter().any(|tier| matches!(tier, Tier::Stream { .. } | Tier::Everything { .. }))
    }

    /// The page that starts at this place.
    fn page(
        &self,
        connection: &Connection,
        (first_tier, first_done): (usize, i64),
        limit: usize,
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
        let next = if ids.len() > limit { cursors.get(limit).cloned() } else { None };
        ids.truncate(limit);
        cursors.truncate(limit);
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
            entities: rows::entities(connection, &ids)?,
            relations: Vec::new(),
            more_relations: false,
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
