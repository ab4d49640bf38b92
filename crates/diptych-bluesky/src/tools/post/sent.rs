//! What was sent a moment ago, so that a call that is made again does not write again.
//!
//! A client whose answer got lost makes the same call once more, and so does a model that read an error; in between the
//! client may well have started the server anew. The keys and the time of the first attempt are written down before
//! anything is sent, and kept for a while: a record that is written again under its key is the same record. What was
//! said is not kept, only a hash of it.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::new_key;
use crate::private::PrivateFile;

/// How long a call is recognised.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// The most calls that are remembered.
const MOST: usize = 1_000;

/// Names a call by what it says.
pub(crate) type Fingerprint = String;

/// The name of a call.
pub(crate) fn fingerprint(call: &Value) -> Fingerprint {
    Sha256::digest(call.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The attempt that a call is part of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    /// When it was first made.
    pub(crate) at: Timestamp,
    /// The keys of its records.
    pub(crate) keys: Vec<String>,
    /// Whether it has succeeded.
    #[serde(default)]
    pub(crate) done: bool,
}

type Attempts = HashMap<Fingerprint, Attempt>;

/// The attempts of the last minutes, by whichever process of this user.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    file: PrivateFile,
    /// The same, for a folder that cannot be written to.
    known: Arc<Mutex<Attempts>>,
}

impl Sent {
    pub(crate) fn new(folder: &Path) -> Self {
        Sent { file: PrivateFile::new(folder, "sent"), known: Arc::default() }
    }

    /// The attempt that this call repeats, or a new one with so many records.
    pub(crate) async fn attempt(&self, call: &Fingerprint, records: usize) -> Attempt {
        let call = call.clone();
        self.change(move |attempts| {
            let attempt = attempts.entry(call).or_insert_with(|| {
                let at = Timestamp::now();
                let keys = (0..records).map(|position| new_key(at, position)).collect();
                Attempt { at, keys, done: false }
            });
            attempt.clone()
        })
        .await
    }

    /// The key that a call used, if it was made a moment ago.
    pub(crate) async fn key(&self, call: &Fingerprint) -> Option<String> {
        let call = call.clone();
        self.change(move |attempts| attempts.get(&call).and_then(|attempt| attempt.keys.first().cloned()))
            .await
    }

    /// The call has succeeded.
    pub(super) async fn done(&self, call: &Fingerprint) {
        let call = call.clone();
        self.change(move |attempts| {
            if let Some(attempt) = attempts.get_mut(&call) {
                attempt.done = true;
            }
        })
        .await;
    }

    /// A record is no longer there: the call that wrote it is a new one if it is made again.
    pub(crate) async fn forget(&self, key: &str) {
        let key = key.to_owned();
        self.change(move |attempts| attempts.retain(|_, attempt| !attempt.keys.contains(&key))).await;
    }

    async fn change<T: Send + 'static>(&self, change: impl FnOnce(&mut Attempts) -> T + Send + 'static) -> T {
        let sent = self.clone();
        let changed = tokio::task::spawn_blocking(move || sent.change_now(change)).await;
        // It only ends early if it panics, and what it does cannot.
        changed.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    fn change_now<T>(&self, change: impl FnOnce(&mut Attempts) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = self.file.lock();
        if lock.is_ok()
            && let Some(attempts) = self.load()
        {
            *known = attempts;
        }
        let before = known.clone();
        // A clock that was set back must not make a call last for ever.
        known.retain(|_, attempt| Timestamp::now().duration_since(attempt.at).unsigned_abs() < KEPT);
        if known.len() >= MOST {
            known.clear();
        }
        let changed = change(&mut known);
        if *known != before {
            let written = lock.and_then(|lock| {
                let bytes = serde_json::to_vec(&*known).map_err(io::Error::other)?;
                self.file.replace(&lock, &bytes)
            });
            if let Err(error) = written {
                tracing::warn!(kind = %error.kind(), "what was sent is remembered by this process alone");
            }
        }
        changed
    }

    /// What is written down. A file that is damaged is as good as none: it is written anew.
    fn load(&self) -> Option<Attempts> {
        self.file.read().ok()?.and_then(|bytes| serde_json::from_slice(&bytes).ok())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn another_process_knows_what_was_sent() {
        let folder = tempfile::tempdir().unwrap();
        let call = fingerprint(&json!(["did:plc:a", "hello"]));
        let first = Sent::new(folder.path()).attempt(&call, 2).await;
        assert_eq!((first.keys.len(), first.done), (2, false));
        let other = Sent::new(folder.path());
        assert_eq!(other.attempt(&call, 2).await, first);
        other.done(&call).await;
        let third = Sent::new(folder.path());
        assert!(third.attempt(&call, 2).await.done);
        assert_eq!(third.key(&call).await.as_ref(), first.keys.first());
        let written = std::fs::read_to_string(folder.path().join("sent.json")).unwrap();
        assert!(!written.contains("hello"));
        third.forget(&first.keys[1]).await;
        assert_ne!(other.attempt(&call, 2).await.keys, first.keys, "what was deleted may be said again");
    }

    #[tokio::test]
    async fn what_is_old_or_damaged_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let sent = Sent::new(folder.path());
        let call = fingerprint(&json!("x"));
        let first = sent.attempt(&call, 1).await;
        let file = folder.path().join("sent.json");
        for at in ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"] {
            let old = json!({ call.clone(): {"at": at, "keys": ["k"], "done": true} });
            std::fs::write(&file, old.to_string()).unwrap();
            let again = Sent::new(folder.path()).attempt(&call, 1).await;
            assert!(!again.done && again.keys != ["k"], "{again:?}");
        }
        std::fs::write(&file, "{\"").unwrap();
        assert_eq!(sent.attempt(&call, 1).await.keys.len(), 1);
        assert_ne!(first.keys, Sent::new(&folder.path().join("elsewhere")).attempt(&call, 1).await.keys);
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_to_is_no_reason_to_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file, not a folder");
        std::fs::write(&file, "").unwrap();
        let sent = Sent::new(&file);
        let call = fingerprint(&json!("x"));
        let first = sent.attempt(&call, 1).await;
        assert_eq!(sent.attempt(&call, 1).await, first, "this process still knows");
    }
}
