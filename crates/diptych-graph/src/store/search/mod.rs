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

mod found;
mod look;

use super::cursor::{Cursor, Place};
use super::error::StoreError;
use super::model::{Entity, Relation, Scope};
use super::page::{self, PageRequest};
use super::transaction::range_of;
use super::{Store, rows};
use found::Found;
use look::Search;

/// The most records that are ranked.
const RANKED: usize = 300;
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
        self.search_within(scope, request, usize::MAX)
    }

    /// The same, but no more entities than fit into so many bytes of JSON, one at least: what would not be shown
    /// need not be read.
    pub fn search_within(
        &self,
        scope: &Scope,
        request: &SearchRequest,
        bytes: usize,
    ) -> Result<SearchPage, StoreError> {
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
            let mut page = found.page(connection, start, (request.page.limit, Some(bytes)), question)?;
            if *scope == Scope::All {
                rows::name_projects(connection, &mut page.entities, &mut page.relations)?;
            }
            Ok(page)
        })
    }

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
            let mut page = found.page(connection, (0, 0), (limit, None), 0)?;
            if *scope == Scope::All {
                rows::name_projects(connection, &mut page.entities, &mut [])?;
            }
            Ok(page)
        })
    }
}
