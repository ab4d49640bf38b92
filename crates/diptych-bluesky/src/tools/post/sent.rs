//! What was sent a moment ago, so that a call that is made again does not write again.
//!
//! A client whose answer got lost makes the same call once more, and so does a model that read an error. The keys and the
//! time of the first attempt are kept for a while: a record that is written again under its key is the same record.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Posted, new_key};

/// How long a call is recognised.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// The most calls that are remembered.
const MOST: usize = 1_000;

/// Names a call by what it says.
pub(crate) type Fingerprint = [u8; 32];

/// The name of a call.
pub(crate) fn fingerprint(call: &Value) -> Fingerprint {
    Sha256::digest(call.to_string()).into()
}

/// The attempt that a call is part of.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    /// When it was first made.
    pub(crate) at: Timestamp,
    /// The keys of its records.
    pub(crate) keys: Vec<String>,
    /// What came of it, if it succeeded.
    pub(crate) done: Option<Posted>,
}

/// The attempts of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Sent(Mutex<HashMap<Fingerprint, (Instant, Attempt)>>);

impl Sent {
    /// The attempt that this call repeats, or a new one with so many records.
    pub(crate) fn attempt(&self, call: Fingerprint, records: usize) -> Attempt {
        let mut attempts = self.lock();
        attempts.retain(|_, (since, _)| since.elapsed() < KEPT);
        if attempts.len() >= MOST {
            attempts.clear();
        }
        let (_, attempt) = attempts.entry(call).or_insert_with(|| {
            let at = Timestamp::now();
            let keys = (0..records).map(|position| new_key(at, position)).collect();
            (Instant::now(), Attempt { at, keys, done: None })
        });
        attempt.clone()
    }

    /// The key that a call used, if it was made a moment ago.
    pub(crate) fn key(&self, call: &Fingerprint) -> Option<String> {
        let attempts = self.lock();
        let (since, attempt) = attempts.get(call)?;
        if since.elapsed() < KEPT { attempt.keys.first().cloned() } else { None }
    }

    /// The call has succeeded.
    pub(super) fn done(&self, call: Fingerprint, posted: Posted) {
        if let Some((_, attempt)) = self.lock().get_mut(&call) {
            attempt.done = Some(posted);
        }
    }

    /// The call is no longer to be recognised.
    pub(crate) fn forget(&self, call: &Fingerprint) {
        self.lock().remove(call);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Fingerprint, (Instant, Attempt)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
