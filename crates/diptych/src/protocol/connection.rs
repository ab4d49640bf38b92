//! What is known about one connection: its session, its client, what it subscribed to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, Extensions, Implementation, InitializeRequestParams, ProtocolVersion,
    RequestMetaObject,
};
use rmcp::service::{Peer, RequestContext};
use tokio_util::sync::CancellationToken;

use super::direct::{Calls, Replies};
use crate::call::Session;
use crate::subscription::Subscription;
use crate::wire::{Caller, Level, Lifecycle};

/// The name under which our own client says that it asks for secrets without showing them.
pub(crate) const SECRETS: &str = "diptych/secrets";

/// One connection to a client.
pub(crate) struct Connection {
    session: OnceLock<Arc<Session>>,
    caller: OnceLock<Arc<Caller>>,
    log_level: AtomicU8,
    subscriptions: Mutex<HashMap<String, Subscription>>,
    pub(crate) forwarding: AtomicBool,
    begun: AtomicBool,
    /// Cancelled when the connection is gone.
    pub(crate) gone: CancellationToken,
    /// The calls that went the straight way, and what was asked of the client on that way.
    pub(crate) calls: Calls,
    pub(crate) replies: Arc<Replies>,
    /// Where it enters itself should it become an HTTP session.
    directory: Option<Arc<Directory>>,
    /// Whether the client may be on another machine.
    remote: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

impl Connection {
    /// A connection over a pair of streams, which somebody on this machine holds.
    pub(crate) fn over_streams() -> Self {
        Self::new(None, false)
    }

    /// A connection over HTTP. It enters itself into the directory, where there is one, should it become a session.
    #[cfg(feature = "http")]
    pub(crate) fn over_http(directory: Option<&Arc<Directory>>) -> Self {
        Self::new(directory.cloned(), true)
    }

    fn new(directory: Option<Arc<Directory>>, remote: bool) -> Self {
        Connection {
            session: OnceLock::new(),
            caller: OnceLock::new(),
            log_level: AtomicU8::new(Level::Info as u8),
            subscriptions: Mutex::default(),
            forwarding: AtomicBool::new(false),
            begun: AtomicBool::new(false),
            gone: CancellationToken::new(),
            calls: Calls::default(),
            replies: Arc::default(),
            directory,
            remote,
        }
    }

    /// The client behind a request. In a session it does not change; otherwise each request says it.
    pub(crate) fn caller(self: &Arc<Self>, context: &RequestContext<RoleServer>) -> Arc<Caller> {
        self.begun.store(true, Ordering::Release);
        let stated = context.meta.protocol_version();
        if stated.as_ref().is_some_and(|version| !version.has_initialize()) {
            let capabilities = context.client_capabilities().unwrap_or_default();
            return Arc::new(self.stateless_caller(
                &context.meta,
                &capabilities,
                subject(&context.extensions),
            ));
        }
        self.learn(&context.peer, &context.extensions);
        // Before the handshake there is nothing to remember yet.
        self.known_caller().unwrap_or_else(|| {
            let capabilities = ClientCapabilities::default();
            let caller = read_caller(Lifecycle::Session, &ProtocolVersion::V_2025_03_26, None, &capabilities);
            Arc::new(Caller { remote: self.remote, ..caller })
        })
    }

    /// The client behind a request that stands alone.
    pub(crate) fn stateless_caller(
        &self,
        meta: &RequestMetaObject,
        capabilities: &ClientCapabilities,
        subject: Option<String>,
    ) -> Caller {
        let protocol = meta.protocol_version().unwrap_or(ProtocolVersion::V_2026_07_28);
        let caller = read_caller(Lifecycle::Stateless, &protocol, meta.client_info(), capabilities);
        Caller { remote: self.remote, subject, ..caller }
    }

    /// Remembers the client of a session once the handshake is over, and where the session is to be found.
    pub(crate) fn learn(self: &Arc<Self>, peer: &Peer<RoleServer>, extensions: &Extensions) {
        let Some(info) = peer.peer_info() else { return };
        let id = http_session_id(extensions);
        if let (None, Some(id), Some(directory)) = (self.session.get(), &id, &self.directory) {
            directory.enter(id.clone(), self);
        }
        self.meet(&info, &info.protocol_version, id, subject(extensions));
    }

    /// Remembers the client of a session: what it said of itself, and the version that was agreed on.
    pub(crate) fn meet(
        &self,
        info: &InitializeRequestParams,
        protocol: &ProtocolVersion,
        session: Option<String>,
        subject: Option<String>,
    ) {
        self.session.get_or_init(|| {
            Arc::new(Session::new(session.unwrap_or_else(|| uuid::Uuid::new_v4().to_string())))
        });
        self.caller.get_or_init(|| {
            let client = Some(info.client_info.clone());
            let caller = read_caller(Lifecycle::Session, protocol, client, &info.capabilities);
            Arc::new(Caller { remote: self.remote, subject, ..caller })
        });
        self.begun.store(true, Ordering::Release);
    }

    /// Whether rmcp has handed a request of this connection on.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// The client of a session, once it is known.
    pub(crate) fn known_caller(&self) -> Option<Arc<Caller>> {
        self.caller.get().cloned()
    }

    /// The session of a request, where its lifecycle has one.
    pub(crate) fn session_of(&self, caller: &Caller) -> Option<Arc<Session>> {
        match caller.lifecycle {
            Lifecycle::Stateless => None,
            Lifecycle::Session => self.session.get().cloned(),
        }
    }

    pub(crate) fn set_log_level(&self, level: Level) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn wants_log(&self, level: Level) -> bool {
        level as u8 >= self.log_level.load(Ordering::Relaxed)
    }

    pub(crate) fn subscribe(&self, uri: String, subscription: Subscription) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).insert(uri, subscription);
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).contains_key(uri)
    }
}

/// The connections that are HTTP sessions, by the session's id, for as long as rmcp keeps them.
#[derive(Default)]
pub(crate) struct Directory(Mutex<HashMap<String, Weak<Connection>>>);

impl Directory {
    pub(crate) fn find(&self, session: &str) -> Option<Arc<Connection>> {
        self.lock().get(session)?.upgrade()
    }

    fn enter(&self, session: String, connection: &Arc<Connection>) {
        let mut connections = self.lock();
        if connections.len().is_power_of_two() {
            connections.retain(|_, connection| connection.strong_count() > 0);
        }
        connections.insert(session, Arc::downgrade(connection));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Weak<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[allow(deprecated, reason = "sampling and roots are deprecated in MCP, but clients still have them")]
fn read_caller(
    lifecycle: Lifecycle,
    protocol: &ProtocolVersion,
    info: Option<Implementation>,
    capabilities: &ClientCapabilities,
) -> Caller {
    let elicitation = capabilities.elicitation.as_ref();
    let (name, version) = info.map(|info| (info.name, info.version)).unwrap_or_default();
    Caller {
        name,
        version,
        protocol: protocol.to_string(),
        lifecycle,
        // Before modes were told apart, declaring elicitation meant forms.
        forms: elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()),
        pages: elicitation.is_some_and(|modes| modes.url.is_some()),
        secrets: capabilities
            .experimental
            .as_ref()
            .is_some_and(|experimental| experimental.contains_key(SECRETS)),
        sampling: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
        // Whoever knows the connection says otherwise.
        remote: true,
        subject: None,
    }
}

/// The subject that the HTTP layer authenticated.
#[derive(Debug, Clone)]
pub(crate) struct Subject(pub(crate) String);

#[cfg(feature = "http")]
fn subject(extensions: &Extensions) -> Option<String> {
    let parts = extensions.get::<http::request::Parts>()?;
    parts.extensions.get::<Subject>().map(|subject| subject.0.clone())
}

/// The id of the HTTP session that a message came in.
#[cfg(feature = "http")]
fn http_session_id(extensions: &Extensions) -> Option<String> {
    let parts = extensions.get::<http::request::Parts>()?;
    parts.headers.get("mcp-session-id")?.to_str().ok().map(str::to_owned)
}

#[cfg(not(feature = "http"))]
fn subject(_extensions: &Extensions) -> Option<String> {
    None
}

#[cfg(not(feature = "http"))]
fn http_session_id(_extensions: &Extensions) -> Option<String> {
    None
}
