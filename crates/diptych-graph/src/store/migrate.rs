//! Brings a file to the newest layout, step by step, and refuses files that are not ours or too new.
//!
//! The layout's number is SQLite's `user_version`; `application_id` tells a store from any other database.
//! A new layout is a new file in `schema/` and a new line in [`STEPS`]; a published step never changes.

use rusqlite::{Connection, TransactionBehavior};

use super::error::{Fault, StoreError};

/// "DIPG".
const APPLICATION_ID: i64 = 0x4449_5047;

const STEPS: &[&str] = &[include_str!("schema/001.sql"), include_str!("schema/002.sql")];

/// The newest layout that this program knows.
pub(crate) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Checks the file and runs the missing steps, in one transaction: several processes may start at once.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if layout(connection)? == newest() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = layout(&transaction)?;
    for (number, step) in (1..).zip(STEPS).skip_while(|(number, _)| *number <= done) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", number)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()?;
    Ok(())
}

/// The layout of the file: 0 for an empty one.
pub(crate) fn layout(connection: &Connection) -> Result<i64, StoreError> {
    // One look: another process may be making the store right now, and half of what it made is no store. A
    // savepoint, because this is also called inside a transaction.
    connection.execute_batch("SAVEPOINT layout")?;
    let seen = look(connection);
    let released = connection.execute_batch("RELEASE layout");
    let (version, application, tables) = seen?;
    released?;
    if application != APPLICATION_ID {
        if tables > 0 || version != 0 || application != 0 {
            return Err(StoreError::file(Fault::NotAStore, format_args!("application_id {application:#x}")));
        }
        return Ok(0);
    }
    if version > newest() {
        let fault = Fault::NewerVersion { found: version, supported: newest() };
        return Err(StoreError::file(fault, "user_version"));
    }
    Ok(version)
}

/// The layout's number, whose file it is, and how many tables it has.
fn look(connection: &Connection) -> Result<(i64, i64, i64), rusqlite::Error> {
    Ok((
        connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?,
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
    ))
}
