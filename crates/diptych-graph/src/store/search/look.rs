//! Looking: which expressions are asked of the index, in which order, until something is found.

use std::collections::HashSet;

use rusqlite::{Connection, params};

use super::found::{Found, Order, Table, Tier, first};
use super::{MatchQuality, RANKED};
use crate::store::error::StoreError;
use crate::store::transaction::IdRange;
use crate::store::vocabulary::{self, Edits};
use crate::store::words::{self, QueryWord};

/// How many words are tried in all for words that may be parts of them. Each costs a look into every segment of
/// the index, and the more words there are to look for, the less a part of one says.
const PARTS: usize = 24;
/// Where so many words are all found, they are not looked for as parts of others as well.
const MANY_WORDS: usize = 2;
/// How many words near to a misspelt one are tried.
const CORRECTIONS: usize = 6;

/// One search: where it looks, and for which types.
pub(super) struct Search<'a> {
    pub(super) connection: &'a Connection,
    pub(super) range: IdRange,
    pub(super) types: &'a [String],
}

impl Search<'_> {
    /// All that the words of a query find.
    pub(super) fn run(&self, query: &str) -> Result<Found, StoreError> {
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

fn every<'a>(expressions: impl Iterator<Item = &'a str>) -> String {
    expressions.collect::<Vec<_>>().join(" AND ")
}

fn any(expressions: impl Iterator<Item = String>) -> String {
    format!("({})", expressions.collect::<Vec<_>>().join(" OR "))
}
