//! One transaction: how an operation reads and writes, and what every write has in common.

use std::cell::Cell;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::StoreError;
use super::model::{Project, Scope};
use super::time::Timestamp;
use super::{Store, validate};

/// How many ids each project has.
const IDS_OF_A_PROJECT: i64 = 1 << 32;

/// A writing transaction on one project.
pub(crate) struct Write<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) project: i64,
    /// The one time of everything that is written through this.
    pub(crate) at: Timestamp,
    sequence: Cell<i64>,
    changed: Cell<bool>,
    /// The last time that this transaction has used.
    latest: Cell<Timestamp>,
}

impl Write<'_> {
    /// A number greater than every one handed out in this project before. Used for ids and for the order of things.
    pub(crate) fn next_position(&self) -> i64 {
        self.changed.set(true);
        self.sequence.set(self.sequence.get() + 1);
        self.sequence.get()
    }

    /// A fresh id in the project's range.
    pub(crate) fn id(&self, position: i64) -> i64 {
        self.project * IDS_OF_A_PROJECT + position
    }

    /// Says that something was written. A transaction in which nothing was is not committed and takes no time.
    pub(crate) fn mark_changed(&self) {
        self.changed.set(true);
    }

    /// A change that comes after the rest of the transaction, at the next moment: both are kept, or neither, and
    /// the state between them is part of the past.
    pub(crate) fn then<T>(
        &self,
        change: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let at = self.latest.get().next();
        let later = Write {
            connection: self.connection,
            project: self.project,
            at,
            sequence: self.sequence.clone(),
            changed: self.changed.clone(),
            latest: at.into(),
        };
        let outcome = change(&later)?;
        self.sequence.set(later.sequence.get());
        self.changed.set(later.changed.get());
        self.latest.set(later.latest.get());
        Ok(outcome)
    }

    /// When something changed, the time of it.
    pub(crate) fn changed_at(&self) -> Option<Timestamp> {
        self.changed.get().then_some(self.at)
    }
}

/// The ids that a scope covers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdRange {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl IdRange {
    const ALL: Self = Self { first: 0, last: i64::MAX };

    pub(crate) fn of_project(project: i64) -> Self {
        Self { first: project * IDS_OF_A_PROJECT, last: (project + 1) * IDS_OF_A_PROJECT - 1 }
    }

    /// The projects covered, both ends included.
    pub(crate) fn projects(self) -> (i64, i64) {
        (self.first / IDS_OF_A_PROJECT, self.last / IDS_OF_A_PROJECT)
    }
}

/// The range of a scope; `None` when the project has never been written to.
pub(crate) fn range_of(connection: &Connection, scope: &Scope) -> Result<Option<IdRange>, StoreError> {
    match scope {
        Scope::All => Ok(Some(IdRange::ALL)),
        Scope::Project(project) => {
            let id = connection
                .prepare_cached("SELECT id FROM project WHERE name = ?1")?
                .query_row([project.as_str()], |row| row.get(0))
                .optional()?;
            Ok(id.map(IdRange::of_project))
        }
    }
}

impl Store {
    /// Runs a question on a consistent view of the store.
    pub(crate) fn read<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.take_reader()?;
        let answer = connection
            .unchecked_transaction()
            .map_err(StoreError::from)
            .and_then(|transaction| question(&transaction));
        // A connection on which something failed is not worth keeping.
        if answer.is_ok() {
            self.return_reader(connection);
        }
        answer.map_err(|error| error.with_detail(self.path.display()))
    }

    /// Runs a change on one project: all of it is kept, or nothing.
    pub(crate) fn write<T>(
        &self,
        project: &Project,
        change: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        validate::project(project)?;
        let mut writer = self.writer();
        let outcome = writer
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(StoreError::from)
            .and_then(|transaction| self.write_in(transaction, project, change));
        outcome.map_err(|error| error.with_detail(self.path.display()))
    }

    fn write_in<T>(
        &self,
        transaction: Transaction<'_>,
        project: &Project,
        change: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (id, sequence) = find_or_make(&transaction, project)?;
        let last: i64 = transaction
            .prepare_cached("SELECT max(changed_at) FROM project")?
            .query_row([], |row| row.get(0))?;
        let at = (self.options.clock)().max(Timestamp::from_millis(last).next());
        let write = Write {
            connection: &transaction,
            project: id,
            at,
            sequence: sequence.into(),
            changed: false.into(),
            latest: at.into(),
        };
        let outcome = change(&write)?;
        if write.changed.get() {
            transaction
                .prepare_cached("UPDATE project SET changed_at = ?2, sequence = ?3 WHERE id = ?1")?
                .execute(params![id, write.latest.get().as_millis(), write.sequence.get()])?;
            transaction.commit()?;
        }
        Ok(outcome)
    }
}

fn find_or_make(connection: &Connection, project: &Project) -> Result<(i64, i64), StoreError> {
    let found = connection
        .prepare_cached("SELECT id, sequence FROM project WHERE name = ?1")?
        .query_row([project.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    connection
        .prepare_cached("INSERT INTO project (name, changed_at, sequence) VALUES (?1, 0, 0)")?
        .execute([project.as_str()])?;
    Ok((connection.last_insert_rowid(), 0))
}
