//! Histories that are kept up to date, shared and used without a network.

use std::sync::Mutex;

use diptych::ToolError;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::*;
use crate::history::histories::{Export, Histories, KnownAccount, Origin};
use crate::history::synthetic;

/// A server that can be changed, cut off and made to lie.
struct Server {
    states: Mutex<Vec<Repository>>,
    fault: Mutex<Fault>,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Dead,
    CutShort,
    /// Sends what is new since a state that the caller does not have.
    WrongChanges,
    /// The identity still names the old key.
    OldKey,
}

impl Server {
    fn new(repository: Repository) -> Self {
        Server {
            states: Mutex::new(vec![repository]),
            fault: Mutex::new(Fault::None),
            asked: Mutex::default(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Repository)) {
        let mut states = self.states.lock().unwrap();
        let mut next = states.last().unwrap().clone();
        change(&mut next);
        states.push(next);
    }

    fn fail(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Origin for Server {
    async fn key(&self, fresh: bool) -> Result<SigningKey, ToolError> {
        let old = *self.fault.lock().unwrap() == Fault::OldKey && !fresh;
        let author = if old { Author::secp256k1(DID, 99) } else { alice() };
        Ok(SigningKey::parse(&author.public_key())?)
    }

    async fn latest(&self) -> Result<String, ToolError> {
        if *self.fault.lock().unwrap() == Fault::Dead {
            return Err(ToolError::network("The account's server cannot be reached."));
        }
        Ok(self.states.lock().unwrap().last().unwrap().rev())
    }

    async fn export(&self, since: Option<&str>) -> Result<Export, ToolError> {
        self.asked.lock().unwrap().push(since.map_or("everything", |_| "changes").to_owned());
        let states = self.states.lock().unwrap();
        let fault = *self.fault.lock().unwrap();
        let latest = states.last().unwrap();
        let earlier = since.and_then(|since| states.iter().find(|state| state.rev() == since));
        let mut bytes = match earlier {
            Some(_) if fault == Fault::WrongChanges => {
                let sections = latest.changes_since(latest).sections;
                sections.concat()
            }
            Some(earlier) => latest.changes_since(earlier).bytes(),
            None => latest.export().bytes(),
        };
        if fault == Fault::CutShort {
            bytes.truncate(bytes.len() / 2);
        }
        let pieces: Vec<_> = bytes.chunks(1000).map(|piece| Ok(piece.to_vec())).collect();
        Ok(Export { total: Some(bytes.len() as u64), pieces: futures_util::stream::iter(pieces).boxed() })
    }
}

fn quiet<'a>(_: u64, _: Option<u64>) -> BoxFuture<'a, ()> {
    Box::pin(async {})
}

#[tokio::test]
async fn a_history_is_fetched_once_and_then_kept_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path().join("cache"), 1 << 30);
    let server = Server::new(repository(50));
    let first = histories.current(DID, &server, &quiet).await.unwrap();
    assert_eq!((first.index.len(), server.asked()), (50, vec!["everything".to_owned()]));
    // Nothing new: nothing is fetched.
    histories.current(DID, &server, &quiet).await.unwrap();
    assert!(server.asked().is_empty());
    // A post more and one less.
    server.change(|repository| {
        repository.post(900, "a zeppelin");
        repository.delete(&format!("{POST_COLLECTION}/{}", synthetic::key_of(3)));
    });
    let second = histories.current(DID, &server, &quiet).await.unwrap();
    assert_eq!((second.index.len(), server.asked()), (50, vec!["changes".to_owned()]));
    assert_eq!(find(&second.index, "zeppelin").total, 1);
    assert_eq!(find(&second.index, "\"number 3 about\"").total, 0);
    // Another process, later, starts from the same file.
    let others = Histories::new(folder.path().join("cache"), 1 << 30);
    assert_eq!(others.current(DID, &server, &quiet).await.unwrap().index.len(), 50);
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn without_a_network_what_is_known_answers() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path(), 1 << 30);
    let server = Server::new(repository(5));
    server.fail(Fault::Dead);
    let error = histories.current(DID, &server, &quiet).await.unwrap_err();
    assert_eq!(error.message(), "The account's server cannot be reached.");
    server.fail(Fault::None);
    let before = Timestamp::now();
    histories.current(DID, &server, &quiet).await.unwrap();
    for fault in [Fault::Dead, Fault::CutShort] {
        server.change(|repository| {
            repository.post(900, "unseen");
        });
        server.fail(fault);
        let history = histories.current(DID, &server, &quiet).await.unwrap();
        assert_eq!((history.index.len(), history.behind.is_some()), (5, true));
        assert!(history.checked.as_second() >= before.as_second() - 1);
    }
    server.fail(Fault::None);
    let history = histories.current(DID, &server, &quiet).await.unwrap();
    assert_eq!((history.index.len(), history.behind.is_none()), (6, true));
}

#[tokio::test]
async fn changes_that_prove_nothing_lead_to_a_full_fetch() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path(), 1 << 30);
    let server = Server::new(repository(40));
    histories.current(DID, &server, &quiet).await.unwrap();
    server.asked();
    server.change(|repository| {
        repository.post(900, "new");
    });
    server.fail(Fault::WrongChanges);
    assert_eq!(histories.current(DID, &server, &quiet).await.unwrap().index.len(), 41);
    assert_eq!(server.asked(), ["changes", "everything"]);
    // So does a damaged cache.
    let place = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let place =
        place.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "history")).unwrap();
    let mut bytes = std::fs::read(&place).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&place, bytes).unwrap();
    let others = Histories::new(folder.path(), 1 << 30);
    assert_eq!(others.current(DID, &server, &quiet).await.unwrap().index.len(), 41);
    assert_eq!(server.asked(), ["everything"]);
}

#[tokio::test]
async fn a_new_key_is_looked_up_and_a_step_back_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path(), 1 << 30);
    let server = Server::new(repository(4));
    server.fail(Fault::OldKey);
    assert_eq!(histories.current(DID, &server, &quiet).await.unwrap().index.len(), 4);
    let old = Server::new(repository(2));
    let history = histories.current(DID, &old, &quiet).await.unwrap();
    assert_eq!(history.index.len(), 4);
    assert!(history.behind.unwrap().message().contains("older state"));
}

#[tokio::test]
async fn two_at_once_fetch_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(repository(30));
    let (one, two) = (Histories::new(folder.path(), 1 << 30), Histories::new(folder.path(), 1 << 30));
    let (first, second) = tokio::join!(one.current(DID, &server, &quiet), two.current(DID, &server, &quiet));
    assert_eq!((first.unwrap().index.len(), second.unwrap().index.len()), (30, 30));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn accounts_are_remembered_and_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path().join("cache"), 1 << 30);
    assert_eq!(histories.noted("alice.test"), None);
    let account = KnownAccount {
        did: DID.to_owned(),
        handle: Some("alice.test".to_owned()),
        pds: Some("https://pds.example.com".to_owned()),
    };
    histories.note(&account);
    assert_eq!(histories.noted("alice.test").as_ref(), Some(&account));
    assert_eq!(histories.noted(DID).as_ref(), Some(&account));
    histories.current(DID, &Server::new(repository(1)), &quiet).await.unwrap();
    #[cfg(unix)]
    for entry in std::fs::read_dir(folder.path().join("cache")).unwrap() {
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.unwrap().metadata().unwrap().permissions());
        assert_eq!(mode & 0o077, 0);
    }
}
