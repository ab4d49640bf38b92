//! Copying a store while it is used, and checking that it is sound.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::Store;
use super::error::{Fault, StoreError};

impl Store {
    /// Copies the store into a new file, as it is at this moment, while others go on reading and writing.
    ///
    /// The file appears under its name when it is complete; one that exists is never written over.
    pub fn backup(&self, target: &Path) -> Result<(), StoreError> {
        let located = |error: StoreError| error.with_detail(target.display());
        if target.exists() {
            return Err(located(StoreError::file(Fault::TargetExists, "backup")));
        }
        let mut unfinished = target.as_os_str().to_owned();
        unfinished.push(format!(".{}.unfinished", std::process::id()));
        let unfinished = Path::new(&unfinished);
        let copied = self.copy_to(unfinished).and_then(|()| {
            // A hard link fails where a rename would replace a file that has appeared in the meantime; but not every
            // file system has links.
            match std::fs::hard_link(unfinished, target) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    Ok(std::fs::rename(unfinished, target)?)
                }
                linked => Ok(linked?),
            }
        });
        match std::fs::remove_file(unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => copied.and(Err(error.into())),
            _ => copied,
        }
        .map_err(located)
    }

    fn copy_to(&self, file: &Path) -> Result<(), StoreError> {
        let source = self.take_reader()?;
        let mut copy = Connection::open_with_flags(
            file,
            OpenFlags::SQLITE_OPEN_READ_WRITE
                | OpenFlags::SQLITE_OPEN_CREATE
                | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        // All pages in one step: the step reads one state of the source, and with a write-ahead log holds up nobody.
        let step = Backup::new(&source, &mut copy)?.step(-1)?;
        if step != StepResult::Done {
            return Err(StoreError::file(Fault::Busy, format_args!("backup step: {step:?}")));
        }
        self.return_reader(source);
        // One file is easier to carry about than a file and its log.
        copy.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
        copy.close().map_err(|(_, error)| error)?;
        std::fs::File::open(file)?.sync_all()?;
        Ok(())
    }

    /// Reads the whole file and says what is wrong with it; an empty list means that it is sound.
    ///
    /// What is said goes to people who look after the store: it names tables and pages, but nothing that is stored.
    pub fn check_integrity(&self) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let mut findings: Vec<String> = connection
                .prepare("PRAGMA integrity_check(20)")?
                .query_map([], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            findings.retain(|line| line != "ok");
            let strays: i64 = connection
                .prepare("SELECT count(*) FROM pragma_foreign_key_check")?
                .query_row([], |row| row.get(0))?;
            if strays > 0 {
                findings.push(format!("{strays} records refer to others that do not exist"));
            }
            let unindexed: i64 = connection
                .prepare(
                    "SELECT (SELECT count(*) FROM entity WHERE deleted_at IS NULL)
                     - (SELECT count(*) FROM full_text_docsize)",
                )?
                .query_row([], |row| row.get(0))?;
            if unindexed != 0 {
                findings.push("the search index does not match the entities: rebuild it".into());
            }
            Ok(findings)
        })
    }
}
