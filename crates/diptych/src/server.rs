//! A server: what it offers, how it behaves, and who has to hear when it changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::build::{self, BuildError, Builder};
use crate::metrics::Metrics;
use crate::profile::Structured;
use crate::prompt::PromptDefinition;
use crate::protocol::state::{Opened, Seals};
use crate::registry::Registry;
use crate::resource::ResourceDefinition;
use crate::subscription::{Counter, Subscription, Subscriptions};
use crate::tool::ToolDefinition;
use crate::toolset::Toolset;
use crate::walk::rounds::Rounds;

/// A server made of toolsets. Cheap to clone: every clone is the same server, also while it runs.
///
/// ```
/// use diptych::{Cx, NoArguments, Server, Stop, Text, Toolset, tool};
///
/// async fn hello(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
///     Ok(Text::new("Hello!"))
/// }
/// let greetings = Toolset::new("greetings", ())
///     .with(tool("hello", hello).description("Says hello.").read_only());
/// let server = Server::builder("greeter", "1.0.0").toolset(greetings).build()?;
/// assert_eq!(server.tools()[0].name(), "hello");
/// # Ok::<(), diptych::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    settings: Settings,
    registry: RwLock<Arc<Registry>>,
    changes: broadcast::Sender<Change>,
    subscriptions: Counter,
    seals: Seals,
    spent: Mutex<HashMap<String, Instant>>,
    metrics: Metrics,
    draining: CancellationToken,
    stopping: CancellationToken,
    running: TaskTracker,
}

/// How a server behaves.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) title: Option<String>,
    pub(crate) instructions: Option<String>,
    /// Tokens that an answer may take.
    pub(crate) budget: usize,
    pub(crate) structured: Structured,
    pub(crate) time_limit: Duration,
    pub(crate) ask_limit: Duration,
    pub(crate) page_size: usize,
    pub(crate) strict: bool,
    pub(crate) read_only: bool,
}

/// Something that clients who listen have to hear of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// The changes from now on.
pub(crate) struct Changes(broadcast::Receiver<Change>);

impl Changes {
    /// What has changed next. Whoever was too slow to hear everything is told to look at every list again.
    pub(crate) async fn next(&mut self) -> Option<Vec<Change>> {
        match self.0.recv().await {
            Ok(change) => Some(vec![change]),
            Err(RecvError::Lagged(_)) => Some(vec![Change::Tools, Change::Prompts, Change::Resources]),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Server {
    /// Starts building a server with the name and version it tells its clients.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder::new(name.into(), version.into())
    }

    pub(crate) fn new(settings: Settings, registry: Registry, seals: Seals) -> Self {
        Server(Arc::new(Inner {
            settings,
            registry: RwLock::new(Arc::new(registry)),
            changes: broadcast::Sender::new(256),
            subscriptions: Counter::default(),
            seals,
            spent: Mutex::default(),
            metrics: Metrics::default(),
            draining: CancellationToken::new(),
            stopping: CancellationToken::new(),
            running: TaskTracker::new(),
        }))
    }

    /// The same offers with another budget, for the contract check.
    #[cfg(feature = "client")]
    pub(crate) fn with_budget(&self, tokens: usize) -> Self {
        let settings = Settings { budget: tokens, ..self.0.settings.clone() };
        Server::new(settings, self.registry().as_ref().clone(), Seals::random())
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.0.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Cancelled when the server is told to stop: from then on no call begins.
    pub(crate) fn draining(&self) -> &CancellationToken {
        &self.0.draining
    }

    /// Counts a call as running for as long as the token lives.
    pub(crate) fn running(&self) -> TaskTrackerToken {
        self.0.running.token()
    }

    /// Cancelled when the server is told to stop and its calls have had their time.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    pub(crate) fn changes(&self) -> Changes {
        Changes(self.0.changes.subscribe())
    }

    /// Counts a client's subscription, for as long as the value lives.
    pub(crate) fn subscribe(&self, uri: &str) -> Subscription {
        self.0.subscriptions.subscribe(uri)
    }

    pub(crate) fn seal_state(&self, rounds: &mut Rounds, binding: &[u8]) -> String {
        rounds.nonce = uuid::Uuid::new_v4().simple().to_string();
        self.0.seals.seal(rounds, binding, self.0.settings.ask_limit)
    }

    pub(crate) fn open_state(&self, state: &str, binding: &[u8]) -> Opened {
        self.0.seals.open(state, binding)
    }

    /// Spends the nonce of a request state. `false` when it was spent before.
    pub(crate) fn spend(&self, nonce: &str) -> bool {
        let mut spent = self.0.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let lifetime = self.0.settings.ask_limit;
        // A state that has expired cannot come back, so its nonce need not be remembered.
        spent.retain(|_, at| at.elapsed() < lifetime);
        spent.insert(nonce.to_owned(), Instant::now()).is_none()
    }

    /// The name it tells its clients.
    pub fn name(&self) -> &str {
        &self.0.settings.name
    }

    /// The version it tells its clients.
    pub fn version(&self) -> &str {
        &self.0.settings.version
    }

    /// The tools, as clients see them.
    pub fn tools(&self) -> Vec<ToolDefinition> {
        self.registry().tools.iter().map(|tool| tool.definition.clone()).collect()
    }

    /// The toolset that a tool, a prompt or a resource belongs to.
    pub fn toolset_of(&self, name: &str) -> Option<String> {
        let registry = self.registry();
        let tool = registry.tool(name).map(|(tool, _)| tool.toolset.clone());
        tool.or_else(|| registry.prompt(name).map(|prompt| prompt.toolset.clone())).or_else(|| {
            registry.resources.iter().find(|one| one.definition.uri == name).map(|one| one.toolset.clone())
        })
    }

    /// The prompts, as clients see them.
    pub fn prompts(&self) -> Vec<PromptDefinition> {
        self.registry().prompts.iter().map(|prompt| prompt.definition.clone()).collect()
    }

    /// The resources and templates, as clients see them.
    pub fn resources(&self) -> Vec<ResourceDefinition> {
        self.registry().resources.iter().map(|resource| resource.definition.clone()).collect()
    }

    /// Adds what a toolset holds to the running server, and tells the clients.
    ///
    /// # Errors
    /// Every problem that building the server with it would have had. Then nothing is added.
    pub fn add<S: Send + Sync + 'static>(&self, toolset: Toolset<S>) -> Result<(), BuildError> {
        let mut changed = Vec::new();
        {
            let mut current = self.0.registry.write().unwrap_or_else(PoisonError::into_inner);
            let mut registry = current.as_ref().clone();
            let bound = toolset.bind();
            for (change, any) in [
                (Change::Tools, !bound.tools.is_empty()),
                (Change::Prompts, !bound.prompts.is_empty()),
                (Change::Resources, !bound.resources.is_empty()),
            ] {
                if any {
                    changed.push(change);
                }
            }
            build::extend(&mut registry, vec![bound], self.0.settings.read_only)?;
            *current = Arc::new(registry);
        }
        changed.into_iter().for_each(|change| self.announce(change));
        Ok(())
    }

    /// Removes a tool from the running server, and tells the clients. `false` when there was none.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(Change::Tools, |registry| {
            let before = registry.tools.len();
            registry.tools.retain(|tool| tool.definition.name != name);
            registry.tools.len() < before
        })
    }

    /// Removes a prompt from the running server, and tells the clients. `false` when there was none.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(Change::Prompts, |registry| {
            let before = registry.prompts.len();
            registry.prompts.retain(|prompt| prompt.definition.name != name);
            registry.prompts.len() < before
        })
    }

    /// Removes a resource from the running server, and tells the clients. `false` when there was none.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(Change::Resources, |registry| {
            let before = registry.resources.len();
            registry.resources.retain(|resource| resource.definition.uri != uri);
            registry.resources.len() < before
        })
    }

    fn remove(&self, change: Change, remove: impl FnOnce(&mut Registry) -> bool) -> bool {
        let removed = {
            let mut current = self.0.registry.write().unwrap_or_else(PoisonError::into_inner);
            let mut registry = current.as_ref().clone();
            let removed = remove(&mut registry);
            registry.index();
            *current = Arc::new(registry);
            removed
        };
        if removed {
            self.announce(change);
        }
        removed
    }

    /// Stops the server, on all transports and for good: no call begins any more, those that run have until
    /// the limit to finish, and what still runs then is answered -32800. Then the connections end.
    pub async fn stop(&self, drain: Duration) {
        self.0.draining.cancel();
        self.0.running.close();
        if tokio::time::timeout(drain, self.0.running.wait()).await.is_err() {
            tracing::warn!("calls did not finish within the drain limit and are interrupted");
        }
        self.0.stopping.cancel();
    }

    /// Waits until the process is told to end (SIGTERM, SIGINT), then [stops](Server::stop) the server. To be
    /// spawned beside whatever serves it.
    pub async fn stop_when_terminated(&self, drain: Duration) {
        crate::serve::terminated().await;
        self.stop(drain).await;
    }

    /// The resources that clients are subscribed to: what is worth watching for.
    pub fn subscriptions(&self) -> Subscriptions {
        self.0.subscriptions.subscriptions()
    }

    /// Tells clients that subscribed to it that a resource has new contents.
    pub fn resource_updated(&self, uri: impl Into<String>) {
        self.announce(Change::Resource(uri.into()));
    }

    /// Tells clients that the list of resources has changed.
    pub fn resources_changed(&self) {
        self.announce(Change::Resources);
    }

    /// Tells clients that the list of tools has changed.
    pub fn tools_changed(&self) {
        self.announce(Change::Tools);
    }

    /// Tells clients that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.announce(Change::Prompts);
    }

    fn announce(&self, change: Change) {
        // Nobody listening is no fault.
        let _ = self.0.changes.send(change);
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let registry = self.registry();
        formatter
            .debug_struct("Server")
            .field("name", &self.0.settings.name)
            .field("tools", &registry.tools.len())
            .field("prompts", &registry.prompts.len())
            .field("resources", &registry.resources.len())
            .finish_non_exhaustive()
    }
}
