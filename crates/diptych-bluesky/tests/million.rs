//! A repository of a million records is fetched, verified, kept and searched in much less memory than its size.
//!
//! Alone in its process, because it looks at how much memory that took.

#![allow(clippy::unwrap_used, reason = "a test says where it fails")]

use std::fs::File;

use diptych_bluesky::history::synthetic::{self, Author, ExportFile};
use diptych_bluesky::history::{Histories, People, Query};

const DID: &str = "did:plc:synthetic";
const POSTS: u64 = 50_000;
const OTHERS: u64 = 950_000;

#[tokio::test]
async fn a_million_records_are_read_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let author = Author::secp256k1(DID, 7);
    let car = folder.path().join("repository.car");
    synthetic::write_large(File::create(&car).unwrap(), &author, POSTS, OTHERS).unwrap();
    let size = car.metadata().unwrap().len();
    assert!(size > 250 << 20, "{size} bytes are no large repository");

    forget_peak();
    let histories = Histories::new(folder.path().join("cache"), 8 << 30);
    let progress = |_: u64, _: Option<u64>| -> futures_util::future::BoxFuture<'_, ()> { Box::pin(async {}) };
    let history = histories.current(DID, &ExportFile { car, author }, &progress).await.unwrap();
    let taken = peak();

    assert!(history.behind.is_none());
    assert_eq!((history.index.len() as u64, history.index.records() as u64), (POSTS, POSTS + OTHERS));
    let query = Query::parse(&synthetic::word(150), jiff::Timestamp::now()).unwrap();
    assert!(history.index.search(&query, &People::default(), 0, 25).total > 0);
    if let Some(taken) = taken {
        assert!(taken < size / 2, "{taken} bytes of memory for a repository of {size}");
    }
}

/// The most memory that this process had at once, in bytes; only Linux tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Making the repository took memory too.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
