//! Repositories that are whole, damaged, forged and changed, from their bytes to answers.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod keeping;
mod repositories;
mod searching;

use std::path::PathBuf;

use super::index::Index;
use super::intake::Intake;
use super::query::Query;
use super::search::{Found, People};
use super::snapshot::KnownRecords;
use super::synthetic::{Author, Repository};
use super::{POST_COLLECTION, RepositoryError, SigningKey};

const DID: &str = "did:plc:alice";

fn alice() -> Author {
    Author::secp256k1(DID, 7)
}

fn repository(posts: u64) -> Repository {
    let mut repository = Repository::new(alice());
    for number in 0..posts {
        repository.post(number, &format!("post number {number} about sourdough"));
        repository.like(number);
    }
    repository
}

/// Takes an export, in pieces of this size, into a folder of its own.
fn take(bytes: &[u8], piece: usize, author: &Author) -> Result<Index, RepositoryError> {
    take_changes(bytes, piece, author, &tempfile::tempdir().unwrap(), false)
}

fn take_changes(
    bytes: &[u8],
    piece: usize,
    author: &Author,
    folder: &tempfile::TempDir,
    changes: bool,
) -> Result<Index, RepositoryError> {
    let place: PathBuf = folder.path().join("it");
    let mut intake = Intake::new(folder.path(), 1 << 30)?;
    for piece in bytes.chunks(piece) {
        intake.push(piece)?;
    }
    let received = intake.finish()?;
    let commit = received.verify(DID, &SigningKey::parse(&author.public_key())?)?;
    let known = if changes { KnownRecords::read(&place)? } else { None };
    received.store(&commit, folder.path(), &place, known.as_ref())?;
    Ok(Index::read(&place)?.unwrap())
}

fn texts(index: &Index) -> Vec<String> {
    (0..index.len() as u32).map(|post| index.text(post).to_owned()).collect()
}

fn expected(repository: &Repository) -> Vec<String> {
    let posts = repository.records.iter().filter(|(key, _)| key.starts_with(POST_COLLECTION));
    posts.map(|(_, record)| super::record::PostRecord::read(record).unwrap().text.to_owned()).collect()
}

fn find(index: &Index, query: &str) -> Found {
    let query = Query::parse(query, "2024-12-31T00:00:00Z".parse().unwrap()).unwrap();
    let people: People = [("bob.test", "did:plc:bob"), ("alice.test", DID)]
        .into_iter()
        .map(|(name, did)| (name.to_owned(), did.to_owned()))
        .collect();
    index.search(&query, &people, 0, 100)
}
