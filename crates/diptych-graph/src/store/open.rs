//! Opening: the connections and their settings, and telling what is wrong with a file before using it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::{Fault, StoreError};
use super::time::Timestamp;
use super::validate::Rules;
use super::{Store, migrate, summary};

/// How long a write waits for the writers of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// Enough for every statement of the store; each is prepared once for each connection.
const STATEMENTS: usize = 128;

/// What can be set when a store is opened.
#[derive(Clone)]
pub struct StoreOptions {
    /// The rules that new names, types and observations must keep.
    pub rules: Rules,
    /// The greatest size of the file in bytes; a write beyond it fails as if the disk were full.
    pub max_bytes: Option<u64>,
    /// Where the time comes from.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { rules: Rules::default(), max_bytes: None, clock: Arc::new(Timestamp::wall_clock) }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreOptions")
            .field("rules", &self.rules)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store in this file, making the file and its folder where they are missing.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use diptych_graph::store::{NewEntity, Project, Store, StoreOptions};
    ///
    /// let store = Store::open(&folder.path().join("graph.db"), StoreOptions::default())?;
    /// let ada = NewEntity { name: "Ada".into(), entity_type: "person".into(), observations: vec![] };
    /// let outcome = store.create_entities(&Project::default(), &[ada])?;
    /// assert_eq!(outcome.entities[0].version, 1);
    /// # Ok::<(), diptych_graph::StoreError>(())
    /// ```
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let located = |error: StoreError| error.with_detail(path.display());
        let path = prepare(path).map_err(located)?;
        let mut writer = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
            .map_err(located)?;
        settle(&mut writer, &options).map_err(located)?;
        Ok(Self {
            path,
            options,
            writer: Mutex::new(writer),
            readers: Mutex::default(),
            summaries: Mutex::new(summary::Cache::default()),
            mirror: super::mirror::Cell::default(),
        })
    }
}

/// A connection that reads. It may not write, whatever it is asked.
pub(crate) fn reader(path: &Path) -> Result<Connection, StoreError> {
    // Opened for writing all the same: a reader that finds the log of a killed process has to repair its index.
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    Ok(connection)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // One plan for each statement, whatever is bound to it. Otherwise SQLite may plan again at every execution,
    // which took a quarter of the time of a write.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

fn prepare(path: &Path) -> Result<PathBuf, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    if let Ok(metadata) = std::fs::metadata(path) {
        if metadata.is_dir() {
            return Err(StoreError::file(Fault::CannotOpen, "is a folder"));
        }
        // Asked here and not left to the system: the superuser could write the file, against its owner's wish.
        if metadata.permissions().readonly() {
            return Err(StoreError::file(Fault::ReadOnly, "permissions"));
        }
    }
    Ok(path.to_path_buf())
}

fn settle(writer: &mut Connection, options: &StoreOptions) -> Result<(), StoreError> {
    // Looked at before anything is changed: a file that is not ours stays as it is.
    migrate::layout(writer)?;
    write_ahead(writer)?;
    writer.pragma_update(None, "synchronous", "NORMAL")?;
    writer.pragma_update(None, "foreign_keys", true)?;
    writer.pragma_update(None, "cache_size", -16_384)?;
    if writer.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::file(Fault::ReadOnly, "opened for reading only"));
    }
    migrate::migrate(writer)?;
    if let Some(bytes) = options.max_bytes {
        let page: i64 = writer.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page;
        writer.pragma_update_and_check(None, "max_page_count", pages.max(1), |_| Ok(()))?;
    }
    Ok(())
}

/// Switches the file to a write-ahead log. Of several processes that do it at once to a new file, SQLite turns
/// some away without waiting, so the waiting is done here.
fn write_ahead(connection: &Connection) -> Result<(), StoreError> {
    let start = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => return Err(StoreError::file(Fault::Input, format_args!("journal mode {mode}"))),
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
