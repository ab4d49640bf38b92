//! What is known about one connection: its session, its client, what it subscribed to.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

use crate::call::Session;
use crate::wire::{Caller, Level, Lifecycle};

/// The name under which our own client says that it asks for secrets without showing them.
pub(crate) const SECRETS: &str = "diptych/secrets";

/// One connection to a client.
pub(crate) struct Connection {
    session: OnceLock<Arc<Session>>,
    caller: OnceLock<Arc<Caller>>,
    log_level: AtomicU8,
    subscriptions: Mutex<HashSet<String>>,
    pub(crate) forwarding: AtomicBool,
    /// Cancelled when the connection is gone.
    pub(crate) gone: CancellationToken,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

impl Default for Connection {
    fn default() -> Self {
        Connection {
            session: OnceLock::new(),
            caller: OnceLock::new(),
            log_level: AtomicU8::new(Level::Info as u8),
            subscriptions: Mutex::default(),
            forwarding: AtomicBool::new(false),
            gone: CancellationToken::new(),
        }
    }
}

impl Connection {
    /// The client behind a request. In a session it does not change; otherwise each request says it.
    pub(crate) fn caller(&self, context: &RequestContext<RoleServer>) -> Arc<Caller> {
        let stated = context.meta.protocol_version();
        if stated.as_ref().is_some_and(|version| !version.has_initialize()) {
            return Arc::new(read_caller(context, Lifecycle::Stateless));
        }
        if let Some(caller) = self.caller.get() {
            return Arc::clone(caller);
        }
        let caller = Arc::new(read_caller(context, Lifecycle::Session));
        // Before the handshake there is nothing to remember yet.
        if context.peer.peer_info().is_some() {
            return Arc::clone(self.caller.get_or_init(|| caller));
        }
        caller
    }

    /// The session of a request, where its lifecycle has one.
    pub(crate) fn session(
        &self,
        caller: &Caller,
        context: &RequestContext<RoleServer>,
    ) -> Option<Arc<Session>> {
        if caller.lifecycle == Lifecycle::Stateless {
            return None;
        }
        let session = self.session.get_or_init(|| {
            Arc::new(Session::new(
                http_session_id(context).unwrap_or_else(|| uuid::Uuid::new_v4().to_string()),
            ))
        });
        Some(Arc::clone(session))
    }

    pub(crate) fn set_log_level(&self, level: Level) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn wants_log(&self, level: Level) -> bool {
        level as u8 >= self.log_level.load(Ordering::Relaxed)
    }

    pub(crate) fn subscribe(&self, uri: String) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).insert(uri);
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

#[allow(deprecated, reason = "sampling and roots are deprecated in MCP, but clients still have them")]
fn read_caller(context: &RequestContext<RoleServer>, lifecycle: Lifecycle) -> Caller {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let info = context.client_info();
    let elicitation = capabilities.elicitation.as_ref();
    Caller {
        name: info.as_ref().map(|info| info.name.clone()).unwrap_or_default(),
        version: info.map(|info| info.version).unwrap_or_default(),
        protocol: context.protocol_version().unwrap_or(ProtocolVersion::V_2025_03_26).to_string(),
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
        subject: subject(context),
    }
}

/// The subject that the HTTP layer authenticated.
#[derive(Debug, Clone)]
pub(crate) struct Subject(pub(crate) String);

#[cfg(feature = "http")]
fn subject(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    parts.extensions.get::<Subject>().map(|subject| subject.0.clone())
}

#[cfg(feature = "http")]
fn http_session_id(context: &RequestContext<RoleServer>) -> Option<String> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    parts.headers.get("mcp-session-id")?.to_str().ok().map(str::to_owned)
}

#[cfg(not(feature = "http"))]
fn subject(_context: &RequestContext<RoleServer>) -> Option<String> {
    None
}

#[cfg(not(feature = "http"))]
fn http_session_id(_context: &RequestContext<RoleServer>) -> Option<String> {
    None
}
