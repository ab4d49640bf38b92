//! Files that cannot be used, and what is said about them: clearly, and without a word about where they are.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use common::*;
use diptych_graph::store::*;

/// Opens a store that must not open.
fn refused(path: &Path) -> StoreError {
    let error = Store::open(path, StoreOptions::default()).unwrap_err();
    is_clean(&error, path);
    error
}

/// What people see names no path and no statement; the log has the path.
fn is_clean(error: &StoreError, path: &Path) {
    let shown = format!("{error} {:?} {error:?}", error.hint());
    for secret in [path.to_str().unwrap(), "graph.db", "SELECT", "INSERT", "PRAGMA", "sqlite", "SQL"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
    assert!(
        error.detail().is_some_and(|detail| detail.contains(path.to_str().unwrap())),
        "{:?}",
        error.detail()
    );
    assert!(error.hint().is_some());
}

fn fault(error: &StoreError) -> Fault {
    match error {
        StoreError::File { fault, .. } => *fault,
        other => panic!("{other:?}"),
    }
}

fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let store = Store::open(&path, StoreOptions::default()).unwrap();
    let batch: Vec<_> =
        (0..500).map(|index| entity(&format!("thing {index}"), "t", &["something to say"])).collect();
    store.create_entities(&project(), &batch).unwrap();
    drop(store);
    (folder, path)
}

#[test]
fn a_new_store_is_made_with_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not/yet/there/graph.db");
    Store::open(&path, StoreOptions::default()).unwrap();
    assert!(path.exists());
}

#[test]
fn a_read_only_file() {
    let (_folder, path) = filled();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let error = refused(&path);
    assert_eq!(fault(&error), Fault::ReadOnly);
    assert_eq!(error.to_string(), "The store cannot be written: its file or folder is read-only.");
}

#[test]
fn a_file_that_is_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    std::fs::write(&path, "dear diary, ".repeat(500)).unwrap();
    let error = refused(&path);
    assert_eq!(
        (fault(&error), error.to_string().as_str()),
        (Fault::NotAStore, "The file is not a graph store.")
    );
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("dear diary"), "it was left as it is");
}

#[test]
fn a_database_of_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 1")
        .unwrap();
    let before = std::fs::read(&path).unwrap();
    assert_eq!(fault(&refused(&path)), Fault::NotAStore);
    assert_eq!(std::fs::read(&path).unwrap(), before, "it was left as it is");
}

#[test]
fn a_store_of_a_newer_version() {
    let (_folder, path) = filled();
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = refused(&path);
    assert!(
        error.to_string().starts_with(
            "The store was written by a newer version of this program (layout 99; this one knows up to"
        ),
        "{error}"
    );
    assert_eq!(error.hint(), Some("Update this program, or choose another file for the store."));
}

#[test]
fn a_folder_in_place_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(fault(&refused(folder.path())), Fault::CannotOpen);
}

#[test]
fn a_file_that_is_cut_short_or_overwritten() {
    let (_folder, path) = filled();
    let whole = std::fs::read(&path).unwrap();
    let attempt = |bytes: &[u8]| -> Result<Vec<String>, StoreError> {
        std::fs::write(&path, bytes).unwrap();
        let store = Store::open(&path, StoreOptions::default())?;
        store.read_graph(&scope(), &PageRequest::everything())?;
        store.check_integrity()
    };
    assert_eq!(attempt(&whole).unwrap(), Vec::<String>::new());
    let mut scribbled = whole.clone();
    let middle = whole.len() / 2;
    scribbled[4_096 * 2..middle].fill(0xa5);
    for damaged in [&whole[..whole.len() / 2], &scribbled] {
        match attempt(damaged) {
            Ok(findings) => assert!(!findings.is_empty()),
            Err(error) => {
                is_clean(&error, &path);
                assert_eq!(fault(&error), Fault::Corrupt);
                assert_eq!(error.to_string(), "The store's file is damaged.");
            }
        }
    }
}

#[test]
fn damage_that_happens_while_the_store_is_open_is_reported_as_such() {
    let (_folder, path) = filled();
    let store = Store::open(&path, StoreOptions::default()).unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(4_096)).unwrap();
    file.write_all(&[0xa5; 4_096 * 40]).unwrap();
    let error = store.read_graph(&scope(), &PageRequest::everything()).unwrap_err();
    is_clean(&error, &path);
    assert_eq!(fault(&error), Fault::Corrupt);
}

#[test]
fn a_full_store_keeps_what_it_has_and_says_so() {
    let store = TestStore::with(StoreOptions { max_bytes: Some(400_000), ..StoreOptions::default() });
    let mut kept = 0;
    let error = loop {
        let long = "word ".repeat(200);
        match store.create_entities(&project(), &[entity(&format!("thing {kept}"), "t", &[&long])]) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    is_clean(&error, &store.path());
    assert_eq!(fault(&error), Fault::DiskFull);
    assert_eq!(error.to_string(), "The disk is full, so nothing was stored.");
    assert!(kept > 10);
    assert_eq!(store.all().entities.len(), kept);
    assert!(store.check_integrity().unwrap().is_empty());
    store.delete_entities(&project(), &texts(&["nobody"])).unwrap();
}

const LIMITED: &str = "DIPTYCH_TEST_LIMITED";

/// Writes until the system lets it write no more. Does nothing unless it was started by the test below.
#[test]
fn limited_worker() {
    let Ok(path) = std::env::var(LIMITED) else { return };
    let path = Path::new(&path);
    let store = Store::open(path, StoreOptions::default()).unwrap();
    let mut kept = 0;
    let error = loop {
        match store
            .create_entities(&project(), &[entity(&format!("thing {kept}"), "t", &[&"word ".repeat(300)])])
        {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    is_clean(&error, path);
    assert!(matches!(fault(&error), Fault::DiskFull | Fault::Input), "{error}");
    println!("kept: {kept}");
}

/// The system itself refuses to let the file grow, in a process of its own.
#[cfg(unix)]
#[test]
fn a_disk_that_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let program = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" --exact limited_worker --nocapture"])
        .arg(program)
        .env(LIMITED, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let kept: usize =
        said.split_once("kept: ").unwrap().1.split_whitespace().next().unwrap().parse().unwrap();
    let store = Store::open(&path, StoreOptions::default()).unwrap();
    assert_eq!(store.read_graph(&scope(), &PageRequest::everything()).unwrap().entities.len(), kept);
    assert!(kept > 0 && store.check_integrity().unwrap().is_empty());
}

#[test]
fn a_backup_is_a_store_and_is_made_while_others_write() {
    let store = TestStore::new();
    let target = store.folder.path().join("copy.db");
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            for index in 0..150 {
                store.make(&format!("thing {index}"), "t", &["while it is copied"]);
            }
        });
        while store.all().entities.len() < 50 {
            std::thread::yield_now();
        }
        store.backup(&target).unwrap();
        writer.join().unwrap();
    });
    let copy = Store::open(&target, StoreOptions::default()).unwrap();
    let copied = copy.read_graph(&scope(), &PageRequest::everything()).unwrap().entities;
    assert!((50..=150).contains(&copied.len()));
    assert_eq!(copied, store.all().entities[..copied.len()]);
    assert!(copy.check_integrity().unwrap().is_empty());

    let error = store.backup(&target).unwrap_err();
    is_clean(&error, &target);
    assert_eq!(error.to_string(), "A file of that name exists already, and nothing was written over it.");
    let nowhere = store.folder.path().join("missing/copy.db");
    assert_eq!(fault(&store.backup(&nowhere).unwrap_err()), Fault::CannotOpen);
    let left: Vec<_> =
        std::fs::read_dir(store.folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("unfinished")), "{left:?}");
}
