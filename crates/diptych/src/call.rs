//! What a tool knows about the call it serves.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::format::Format;
use crate::server::Server;
use crate::stop::{Masked, Stop, ToolError};
use crate::wire::{Caller, Capability, Level, Wire};

/// The context of a call: the toolset's state and the [`Call`]. Owned, and cheap to clone.
pub struct Cx<S = ()> {
    state: Arc<S>,
    call: Call,
}

impl<S> Cx<S> {
    pub(crate) fn new(state: Arc<S>, call: Call) -> Self {
        Cx { state, call }
    }

    /// The state that the tools of this toolset share.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The state, to take along into a task or a thread.
    pub fn shared_state(&self) -> Arc<S> {
        Arc::clone(&self.state)
    }
}

impl<S> Clone for Cx<S> {
    fn clone(&self) -> Self {
        Cx { state: Arc::clone(&self.state), call: self.call.clone() }
    }
}

impl<S> Deref for Cx<S> {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

impl<S> std::fmt::Debug for Cx<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cx").field("call", &self.call).finish_non_exhaustive()
    }
}

/// One call: who calls, what they answered so far, and what can be said to them meanwhile.
#[derive(Clone)]
pub struct Call(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) caller: Arc<Caller>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) wire: Arc<dyn Wire>,
    pub(crate) cancelled: CancellationToken,
    pub(crate) server: Server,
    pub(crate) heard: Heard,
    pub(crate) storage: Arc<Storage>,
    pub(crate) committed: AtomicBool,
}

/// What was asked and answered in the rounds before this run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard {
    pub(crate) asked: BTreeSet<String>,
    pub(crate) answers: Map<String, Value>,
    pub(crate) flow: Option<String>,
}

impl Call {
    pub(crate) fn new(inner: Inner) -> Self {
        Call(Arc::new(inner))
    }

    pub(crate) fn is_committed(&self) -> bool {
        self.0.committed.load(Ordering::Acquire)
    }

    /// The name under which the tool, prompt or resource was called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// How many bytes the answer may take. What is larger is cut between records; a tool that knows better what
    /// to leave out can do so before.
    pub fn budget(&self) -> usize {
        // Bytes are four to a token.
        self.0.server.settings().budget.saturating_mul(4)
    }

    /// The format of the answer.
    pub fn format(&self) -> Format {
        self.0.format
    }

    /// The client.
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// The session, where the lifecycle has one.
    pub fn session(&self) -> Option<&Session> {
        self.0.session.as_deref()
    }

    /// Private storage: it lasts for the session where there is one, else for this call.
    pub fn storage(&self) -> &Storage {
        self.0.session.as_deref().map_or(&self.0.storage, Session::storage)
    }

    /// Whether the field was asked for in this call. An accept that left it empty is an answer too.
    pub fn asked(&self, field: &str) -> bool {
        self.0.heard.asked.contains(field)
    }

    /// What was answered to a field that only a person may answer, or under the key of a sample or of
    /// the roots. Other fields join the arguments.
    pub fn answer<T: DeserializeOwned>(&self, field: &str) -> Option<T> {
        self.0.heard.answers.get(field).and_then(|value| T::deserialize(value).ok())
    }

    /// The flow of the page that the person was sent to earlier in this call.
    pub fn flow(&self) -> Option<&str> {
        self.0.heard.flow.as_deref()
    }

    /// Marks the point of no return: from here on neither an ask nor a cancel nor the time limit stops
    /// the tool. Ask before you act, then commit, then act.
    pub fn commit(&self) {
        self.0.committed.store(true, Ordering::Release);
    }

    /// Tells the client how far the work is. Costs nothing when the client did not ask for progress.
    pub async fn progress(&self, done: u64, total: u64) {
        self.progress_with(done, Some(total), None).await;
    }

    /// Like [`Call::progress`], with a message, or without a known total.
    pub async fn progress_with(&self, done: u64, total: Option<u64>, message: Option<String>) {
        if self.0.wire.wants_progress() {
            // Counts beyond 2^53 lose their last digits; nobody will see that on a progress bar.
            #[allow(clippy::cast_precision_loss)]
            self.0.wire.progress(done as f64, total.map(|total| total as f64), message).await;
        }
    }

    /// Sends a log message to the client, if it wants messages of that level.
    pub async fn log(&self, level: Level, message: impl Into<Value>) {
        self.0.wire.log(level, self.0.name.clone(), message.into()).await;
    }

    /// Completes when the client cancels the call or goes away.
    pub async fn cancelled(&self) {
        self.0.cancelled.cancelled().await;
    }

    /// Whether the client has cancelled the call or gone away.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_cancelled()
    }

    /// Stops unless the client declared the capability: a protocol error that names it.
    ///
    /// # Errors
    /// [`Stop::Lacks`] when the client did not declare it.
    pub fn require(&self, capability: Capability) -> Result<(), Stop> {
        if self.caller().can(capability) { Ok(()) } else { Err(Stop::Lacks(capability)) }
    }

    /// The running server: to change what it offers and to say what changed.
    pub fn server(&self) -> &Server {
        &self.0.server
    }

    /// Runs blocking work on a thread of its own.
    ///
    /// # Errors
    /// When the work panics: a masked error.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        tokio::task::spawn_blocking(work).await.masked()
    }
}

impl std::fmt::Debug for Call {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Call")
            .field("name", &self.0.name)
            .field("format", &self.0.format)
            .finish_non_exhaustive()
    }
}

/// A session with one client.
#[derive(Debug)]
pub struct Session {
    id: String,
    storage: Storage,
}

impl Session {
    pub(crate) fn new(id: String) -> Self {
        Session { id, storage: Storage::default() }
    }

    /// The id, unique among the sessions of this server.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Private storage that lasts as long as the session.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }
}

/// Private storage, one value for each type.
#[derive(Default)]
pub struct Storage(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Storage {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TypeId, Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a value, replacing an earlier one of the same type.
    pub fn put<T: Send + Sync + 'static>(&self, value: T) {
        self.lock().insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// The value of that type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.lock().get(&TypeId::of::<T>()).cloned()?;
        value.downcast().ok()
    }

    /// The value of that type, made by `make` if there is none yet.
    pub fn get_or_put<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut values = self.lock();
        let value = Arc::clone(values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make())));
        drop(values);
        value.downcast().unwrap_or_else(|_| unreachable!("the map's key is the value's type"))
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Storage({} values)", self.lock().len())
    }
}
