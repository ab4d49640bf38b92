//! The store: one SQLite file that is the truth about every project's graph.
//!
//! # What "kept" means
//! The file runs in WAL mode with `synchronous = NORMAL`, and every operation is one `IMMEDIATE` transaction.
//! A commit has been handed to the operating system before the call returns, so an acknowledged write survives
//! the death of the process at any moment, `kill -9` included; the log is synced to the disk at each checkpoint,
//! so a power cut may cost the last moments but can never leave a torn file. `FULL` would add a disk flush to
//! every write: milliseconds for each, against a loss that needs the power to fail.
//!
//! # Time
//! Each writing transaction has one time, in milliseconds, later than that of every transaction before it in this
//! file, whatever the wall clock does. So a time names exactly one state of the store, and what holds at `t` is
//! what has `validFrom <= t < validTo`. In a burst of more than a thousand transactions a second the store's
//! clock runs ahead of the wall clock by the excess; [`Store::now`] is never behind it.
//!
//! # Connections
//! One connection writes, behind a lock; readers come from a small pool and never wait for the writer. The API
//! blocks: call it from a thread that may.

mod backup;
mod cursor;
mod day;
mod decay;
pub(crate) mod embeddings;
mod entities;
mod error;
mod export;
mod history;
mod import;
mod index;
mod merge;
mod migrate;
mod mirror;
mod model;
mod observations;
mod open;
mod page;
mod part;
mod read;
mod relations;
mod rows;
mod search;
mod similar;
mod summary;
mod time;
mod transaction;
mod validate;
mod vocabulary;
mod words;

pub use cursor::Cursor;
pub use day::{Day, DayChanges, EntityChange, Fate, RelationChange};
pub use decay::Decay;
pub use embeddings::{ClaimedText, EmbeddingProgress, EntityVector};
pub use error::{Detail, Fault, MissingEntity, StoreError, Violation};
pub use history::{EntityVersion, HistoryPage, Numbered, RelationVersion};
pub use import::{ImportProblem, ImportReport};
pub use merge::{MergeCandidate, MergeOutcome};
pub use mirror::NearEntities;
pub use model::*;
pub use open::StoreOptions;
pub use page::{GraphPage, PageRequest};
pub use part::GraphPart;
pub use read::OpenedNodes;
pub use search::{MatchQuality, SearchPage, SearchRequest};
pub use summary::{Connected, GraphSummary, TypeCount};
pub use time::{NotATime, Timestamp};
pub use validate::Rules;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

/// How many idle reading connections are kept; more may exist for a moment, under load.
const IDLE_READERS: usize = 4;

/// An open store. Share it freely between threads; open as many as you like on one file, in any process.
pub struct Store {
    path: PathBuf,
    options: StoreOptions,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    summaries: Mutex<summary::Cache>,
    mirror: mirror::Cell,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// The time that a write would be given now: the wall clock, or just past the last write if that is later.
    pub fn now(&self) -> Result<Timestamp, StoreError> {
        let last = self.last_change()?;
        let wall = self.clock();
        Ok(last.map_or(wall, |last| wall.max(last)))
    }

    /// The time of the last write to any project, by any process. A watcher that sees it grow knows of a change.
    pub fn last_change(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|connection| {
            let last: Option<i64> = connection
                .prepare_cached("SELECT max(changed_at) FROM project")?
                .query_row([], |row| row.get(0))?;
            Ok(last.map(Timestamp::from_millis))
        })
    }

    /// The time of the last write to one project; `None` while nothing was ever written to it.
    pub fn last_change_of(&self, project: &Project) -> Result<Option<Timestamp>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT changed_at FROM project WHERE name = ?1")?;
            let mut rows = statement.query([project.as_str()])?;
            match rows.next()? {
                Some(row) => Ok(Some(Timestamp::from_millis(row.get(0)?))),
                None => Ok(None),
            }
        })
    }

    /// What the store's clock says.
    pub(crate) fn clock(&self) -> Timestamp {
        (self.options.clock)()
    }

    /// A number that changes whenever anybody else has written to the file: another process, or another [`Store`]. What
    /// this one writes does not count.
    pub fn writes_of_others(&self) -> Result<i64, StoreError> {
        Ok(self.writer().pragma_query_value(None, "data_version", |row| row.get(0))?)
    }

    /// The rules that new names, types and observations must keep.
    pub fn rules(&self) -> &Rules {
        &self.options.rules
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        // A panic while writing has rolled its transaction back, so the connection is as good as before.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_reader(&self) -> Result<Connection, StoreError> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => open::reader(&self.path).map_err(|error| error.with_detail(self.path.display())),
        }
    }

    fn return_reader(&self, connection: Connection) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
    }
}
