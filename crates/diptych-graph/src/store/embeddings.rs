//! The vectors of entities: what waits to be made, what was made, and with which model.
//!
//! A change of an entity's text puts it into the queue in the same transaction (see `index`), so nothing is forgotten,
//! whoever dies when. Making vectors is another's business ([`crate::Meaning`]): it claims texts for a time, and either
//! keeps their vectors or puts them back. Nothing here is a change of the graph: it has no version and no time.

use std::time::Duration;

use diptych_search::Quantised;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::error::StoreError;
use super::model::{Entity, Scope};
use super::time::Timestamp;
use super::transaction::range_of;
use super::{Store, rows};

/// More of a text than this is not embedded; no model reads so much.
const LONGEST_TEXT: usize = 8_000;
/// The longest wait after a text was refused.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// A text that waits for its vector, claimed for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedText {
    /// What to embed.
    pub text: String,
    entity: i64,
    ticket: i64,
    hash: i64,
}

/// How far the making of vectors is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingProgress {
    /// The model whose vectors are kept; `None` before the first.
    pub model: Option<String>,
    /// How many entities have a vector.
    pub made: usize,
    /// How many entities wait for one, or for a new one.
    pub waiting: usize,
}

/// The vector of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityVector {
    /// The model that made it.
    pub model: String,
    /// Its numbers, as near as they were kept.
    pub vector: Vec<f32>,
}

/// The model row of a store.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) dimensions: usize,
    pub(crate) epoch: i64,
}

/// What is embedded of an entity. A model reads the beginning of long texts only, so what names it comes first.
pub(crate) fn text_of(entity: &Entity) -> String {
    let mut text = format!("{}, {}.", entity.name, entity.entity_type);
    for observation in &entity.observations {
        text.push(' ');
        text.push_str(observation);
        if text.len() > LONGEST_TEXT {
            text.truncate(text.floor_char_boundary(LONGEST_TEXT));
            break;
        }
    }
    text
}

/// Puts an entity into the queue: its text has changed.
pub(crate) fn queue(connection: &Connection, entity: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO embedding_queue (entity, ticket) VALUES (?1, 1)
             ON CONFLICT (entity) DO UPDATE SET ticket = ticket + 1, attempts = 0, not_before = 0",
        )?
        .execute([entity])?;
    Ok(())
}

/// Takes a deleted entity's vector away.
pub(crate) fn forget(connection: &Connection, entity: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM embedding_queue WHERE entity = ?1")?.execute([entity])?;
    connection
        .prepare_cached(
            "UPDATE embedding SET vector = NULL, scale = NULL,
             change = (SELECT max(change) + 1 FROM embedding) WHERE entity = ?1",
        )?
        .execute([entity])?;
    Ok(())
}

pub(crate) fn model(connection: &Connection) -> Result<Option<Model>, StoreError> {
    let model = connection
        .prepare_cached("SELECT name, dimensions, epoch FROM embedding_model")?
        .query_row([], |row| Ok(Model { name: row.get(0)?, dimensions: row.get(1)?, epoch: row.get(2)? }))
        .optional()?;
    Ok(model)
}

/// Begins a new epoch: no vector stays, and every entity waits for one.
fn begin(connection: &Connection, name: &str, dimensions: usize) -> Result<(), StoreError> {
    connection.execute("DELETE FROM embedding", [])?;
    connection.execute(
        "INSERT OR IGNORE INTO embedding_queue (entity, ticket) SELECT id, 1 FROM entity WHERE deleted_at IS NULL",
        [],
    )?;
    connection.execute(
        "INSERT INTO embedding_model (id, name, dimensions, epoch) VALUES (1, ?1, ?2, 1)
         ON CONFLICT (id) DO UPDATE SET name = ?1, dimensions = ?2, epoch = epoch + 1",
        params![name, dimensions],
    )?;
    Ok(())
}

impl Store {
    /// Says whose vectors are to be kept from now on. Those of another model go, and all are made anew.
    pub fn adopt_model(&self, name: &str) -> Result<(), StoreError> {
        let known = self.read(model)?;
        if known.is_some_and(|known| known.name == name) {
            return Ok(());
        }
        self.aside(|transaction| match model(transaction)? {
            Some(known) if known.name == name => Ok(()),
            _ => begin(transaction, name, 0),
        })
    }

    /// Takes up to so many texts out of the queue for a time. Texts that failed before come one by one, so that one
    /// of them cannot keep others back.
    pub fn claim_texts(&self, most: usize, lease: Duration) -> Result<Vec<ClaimedText>, StoreError> {
        self.aside(|transaction| {
            let now = Timestamp::wall_clock().as_millis();
            let mut due = due(transaction, "attempts = 0", now, most)?;
            if due.is_empty() {
                due = self::due(transaction, "attempts > 0", now, 1)?;
            }
            let mut claimed = Vec::with_capacity(due.len());
            for (id, ticket) in due {
                let Some(entity) = rows::entities(transaction, &[id])?.pop() else {
                    transaction.prepare_cached("DELETE FROM embedding_queue WHERE entity = ?1")?.execute([id])?;
                    continue;
                };
                let text = text_of(&entity);
                let hash = hash(&text);
                let same: bool = transaction
                    .prepare_cached(
                        "SELECT count(*) FROM embedding WHERE entity = ?1 AND text_hash = ?2 AND vector IS NOT NULL",
                    )?
                    .query_row(params![id, hash], |row| row.get(0))?;
                if same {
                    // It was changed and changed back.
                    transaction.prepare_cached("DELETE FROM embedding_queue WHERE entity = ?1")?.execute([id])?;
                    continue;
                }
                claimed.push(ClaimedText { text, entity: id, ticket, hash });
            }
            let until = now.saturating_add(millis(lease));
            let mut claim =
                transaction.prepare_cached("UPDATE embedding_queue SET not_before = ?2 WHERE entity = ?1")?;
            for text in &claimed {
                claim.execute(params![text.entity, until])?;
            }
            Ok(claimed)
        })
    }

    /// Keeps the vectors of claimed texts. `false`, and nothing is kept, if the store has another model by now.
    pub fn keep_vectors(
        &self,
        by: &str,
        texts: &[ClaimedText],
        vectors: &[Vec<f32>],
    ) -> Result<bool, StoreError> {
        let dimensions = vectors.first().map_or(0, Vec::len);
        self.aside(|transaction| {
            match model(transaction)? {
                Some(known) if known.name != by => return Ok(false),
                Some(known) if known.dimensions == dimensions => {}
                Some(known) if known.dimensions == 0 => {
                    transaction.execute("UPDATE embedding_model SET dimensions = ?1", [dimensions])?;
                }
                // The same name for another model.
                _ => begin(transaction, by, dimensions)?,
            }
            let last: i64 = transaction
                .prepare_cached("SELECT coalesce(max(change), 0) FROM embedding")?
                .query_row([], |row| row.get(0))?;
            let mut done = transaction
                .prepare_cached("DELETE FROM embedding_queue WHERE entity = ?1 AND ticket = ?2")?;
            let mut keep = transaction.prepare_cached(
                "INSERT OR REPLACE INTO embedding (entity, change, text_hash, scale, vector)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for ((change, text), vector) in (last + 1..).zip(texts).zip(vectors) {
                // Deleted meanwhile, made by another, or changed: then it is still in the queue.
                if done.execute(params![text.entity, text.ticket])? == 0 {
                    continue;
                }
                let kept = Quantised::of(vector);
                keep.execute(params![
                    text.entity,
                    change,
                    text.hash,
                    f64::from(kept.scale),
                    kept.to_bytes()
                ])?;
            }
            Ok(true)
        })
    }

    /// Puts claimed texts back. Those that were refused wait longer each time; others' turn is at once.
    pub fn put_back(&self, texts: &[ClaimedText], refused: bool) -> Result<(), StoreError> {
        self.aside(|transaction| {
            let now = Timestamp::wall_clock().as_millis();
            let mut put = transaction.prepare_cached(
                "UPDATE embedding_queue SET attempts = attempts + ?3,
                 not_before = CASE ?3 WHEN 0 THEN 0 ELSE ?4 + min(?5, 1000 << min(attempts, 20)) END
                 WHERE entity = ?1 AND ticket = ?2",
            )?;
            for text in texts {
                put.execute(params![
                    text.entity,
                    text.ticket,
                    i64::from(refused),
                    now,
                    millis(LONGEST_WAIT)
                ])?;
            }
            Ok(())
        })
    }

    /// How far the vectors of all projects are.
    pub fn embedding_progress(&self) -> Result<EmbeddingProgress, StoreError> {
        self.read(|connection| {
            let count = |sql: &str| connection.prepare_cached(sql)?.query_row([], |row| row.get(0));
            Ok(EmbeddingProgress {
                model: model(connection)?.map(|model| model.name),
                made: count("SELECT count(*) FROM embedding WHERE vector IS NOT NULL")?,
                waiting: count("SELECT count(*) FROM embedding_queue")?,
            })
        })
    }

    /// How long until the next text in the queue may be claimed; `None` if it is empty.
    pub fn next_text_due(&self) -> Result<Option<Duration>, StoreError> {
        self.read(|connection| {
            let due: Option<i64> = connection
                .prepare_cached("SELECT min(not_before) FROM embedding_queue")?
                .query_row([], |row| row.get(0))?;
            let now = Timestamp::wall_clock().as_millis();
            Ok(due.map(|due| Duration::from_millis(u64::try_from(due - now).unwrap_or_default())))
        })
    }

    /// The vector of an entity, unless its text has changed since.
    pub fn entity_vector(&self, scope: &Scope, name: &str) -> Result<Option<EntityVector>, StoreError> {
        self.read(|connection| {
            let (Some(range), Some(model)) = (range_of(connection, scope)?, model(connection)?) else {
                return Ok(None);
            };
            let found = connection
                .prepare_cached(
                    "SELECT scale, vector FROM embedding JOIN entity ON entity.id = embedding.entity
                     WHERE entity.name = ?1 AND entity.id BETWEEN ?2 AND ?3 AND entity.deleted_at IS NULL
                     AND entity.project BETWEEN ?4 AND ?5
                     AND vector IS NOT NULL AND NOT EXISTS (SELECT 1 FROM embedding_queue q WHERE q.entity = entity.id)
                     ORDER BY entity.id LIMIT 1",
                )?
                .query_row(
                    params![name, range.first, range.last, range.projects().0, range.projects().1],
                    |row| Ok(quantised(row.get(0)?, row.get_ref(1)?.as_blob()?)),
                )
                .optional()?;
            Ok(found.map(|found| EntityVector { model: model.name, vector: found.vector() }))
        })
    }

    /// A transaction that is no change of the graph.
    fn aside<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.writer();
        let outcome = writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(StoreError::from)
            .and_then(|transaction| {
                let outcome = change(&transaction)?;
                transaction.commit()?;
                Ok(outcome)
            });
        outcome.map_err(|error| error.with_detail(self.path.display()))
    }
}

pub(crate) fn quantised(scale: f64, bytes: &[u8]) -> Quantised {
    #[allow(clippy::cast_possible_truncation, reason = "it was widened from the same")]
    Quantised::from_bytes(scale as f32, bytes)
}

fn due(connection: &Connection, which: &str, now: i64, most: usize) -> Result<Vec<(i64, i64)>, StoreError> {
    let due = connection
        .prepare_cached(&format!(
            "SELECT entity, ticket FROM embedding_queue WHERE not_before <= ?1 AND {which} ORDER BY not_before LIMIT ?2"
        ))?
        .query_map(params![now, rows::bound(most)], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    Ok(due)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// FNV-1a: the same on every machine and in every version.
fn hash(text: &str) -> i64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
}
