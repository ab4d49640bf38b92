//! Search by meaning: making the vectors of entities in the background, and finding entities with them.
//!
//! A write puts its entities into the store's queue and is done. A thread of its own then makes their vectors, batch by
//! batch, as long as the graph is open; what it does not get done, the next process does. It never holds the store
//! while the embedder works.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use diptych_search::{EmbedError, Embedder, Purpose};

use crate::store::{Store, StoreError};

/// How many texts go to the embedder together.
const BATCH: usize = 16;
/// The same where somebody waits for all of them.
const BULK: usize = 64;
/// How long a claim lasts: many times what a batch takes.
const LEASE: Duration = Duration::from_secs(60);
/// A process that makes one call and ends shall not begin to load a model.
const PATIENCE: Duration = Duration::from_millis(300);
/// How often to look for what other processes have queued.
const LOOK: Duration = Duration::from_secs(5);
/// Waits after failures: the first, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What came of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// So many texts were seen to.
    Made(usize),
    /// Nothing can be made now: the queue is empty, or all of it is claimed or has to wait.
    Idle,
    /// The embedder made none.
    Failed(EmbedError),
    /// Another process keeps the vectors of another model in this store.
    OtherModel,
}

/// An embedder that works for a store.
#[derive(Debug)]
pub struct Meaning {
    embedder: Arc<dyn Embedder>,
    store: Arc<Store>,
    lease: Duration,
    /// Whether the store was told whose vectors to keep.
    adopted: Mutex<bool>,
}

impl Meaning {
    /// An embedder for this store.
    pub fn new(store: Arc<Store>, embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, store, lease: LEASE, adopted: Mutex::new(false) }
    }

    /// With claims that last so long.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// The embedder.
    pub fn embedder(&self) -> &dyn Embedder {
        &*self.embedder
    }

    /// Makes the vectors of one batch of texts.
    ///
    /// # Errors
    /// When the store cannot be read or written. What the embedder does is in the outcome.
    pub fn step(&self, purpose: Purpose) -> Result<Step, StoreError> {
        let model = match self.embedder.model() {
            Ok(model) => model,
            Err(error) => return Ok(Step::Failed(error)),
        };
        {
            let mut adopted = self.adopted.lock().unwrap_or_else(PoisonError::into_inner);
            if !*adopted {
                self.store.adopt_model(&model)?;
                *adopted = true;
            }
        }
        // Claiming takes the right to write, which is not to be asked for in vain.
        if self.store.next_text_due()?.is_none_or(|due| !due.is_zero()) {
            return Ok(Step::Idle);
        }
        let texts =
            self.store.claim_texts(if purpose == Purpose::Bulk { BULK } else { BATCH }, self.lease)?;
        if texts.is_empty() {
            return Ok(if self.store.next_text_due()?.is_some_and(|due| due.is_zero()) {
                Step::Made(0)
            } else {
                Step::Idle
            });
        }
        let batch: Vec<&str> = texts.iter().map(|text| text.text.as_str()).collect();
        match self.embedder.embed(&batch, purpose) {
            Ok(vectors) if vectors.len() == texts.len() => {
                if self.store.keep_vectors(&model, &texts, &vectors)? {
                    return Ok(Step::Made(texts.len()));
                }
                self.store.put_back(&texts, false)?;
                Ok(Step::OtherModel)
            }
            Ok(_) => {
                self.store.put_back(&texts, true)?;
                Ok(Step::Failed(EmbedError::Broken(
                    "The embedder did not make a vector for each text.".to_owned(),
                )))
            }
            Err(error) => {
                self.store.put_back(&texts, matches!(error, EmbedError::Refused(_)))?;
                Ok(Step::Failed(error))
            }
        }
    }
}

/// The thread that makes vectors while a graph is open. Dropped, it ends after the batch that it is at.
#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    woken: bool,
    ended: bool,
    problem: Option<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a while, or until there is word. `false` when it is time to end.
    fn wait(&self, most: Duration, heed_word: bool) -> bool {
        let until = Instant::now() + most;
        let mut state = self.state();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.ended || left.is_zero() || (heed_word && state.woken) {
                state.woken = false;
                return !state.ended;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Worker {
    pub(crate) fn start(meaning: Arc<Meaning>) -> Self {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let started =
            std::thread::Builder::new().name("embeddings".to_owned()).spawn(move || run(&meaning, &theirs));
        if let Err(error) = started {
            tracing::warn!("no thread for embeddings: {error}");
            shared.state().problem =
                Some("The embeddings cannot be made: no thread could be started.".to_owned());
        }
        Self { shared }
    }

    /// Says that something was written.
    pub(crate) fn wake(&self) {
        self.shared.state().woken = true;
        self.shared.changed.notify_all();
    }

    /// Why nothing is being made, if something is wrong.
    pub(crate) fn problem(&self) -> Option<String> {
        self.shared.state().problem.clone()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.changed.notify_all();
    }
}

fn run(meaning: &Meaning, shared: &Shared) {
    let mut failures = 0;
    let mut wait = (PATIENCE, false);
    while shared.wait(wait.0, wait.1) {
        let (problem, pause) = match meaning.step(Purpose::Background) {
            Ok(Step::Made(_)) => (None, Duration::ZERO),
            Ok(Step::Idle) => {
                let due = meaning.store.next_text_due().ok().flatten();
                (None, due.map_or(LOOK, |due| due.clamp(Duration::from_millis(50), LOOK)))
            }
            Ok(Step::OtherModel) => {
                tracing::warn!("another process keeps the vectors of another model in this store");
                shared.state().problem =
                    Some("Another process makes this store's embeddings with another model.".to_owned());
                return;
            }
            Ok(Step::Failed(error)) => {
                let least = match &error {
                    EmbedError::Unavailable { retry_after, .. } => retry_after.unwrap_or_default(),
                    EmbedError::Refused(_) => Duration::ZERO,
                    EmbedError::Broken(_) => Duration::from_secs(30),
                };
                (Some(error.to_string()), least)
            }
            Err(error) => (Some(error.to_string()), FIRST_WAIT),
        };
        failures = if problem.is_some() { failures + 1 } else { 0 };
        wait = match &problem {
            Some(problem) => {
                tracing::debug!(failures, "embeddings: {problem}");
                // More work is no reason to try earlier.
                (pause.max(FIRST_WAIT.saturating_mul(1 << (failures - 1).min(9))).min(LONGEST_WAIT), false)
            }
            None => (pause, true),
        };
        shared.state().problem = problem;
    }
}
