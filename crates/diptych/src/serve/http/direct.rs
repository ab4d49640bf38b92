//! The straight way of a `tools/call` over HTTP: see [`crate::protocol::direct`].
//!
//! The answer is JSON, unless the call has something to say before: then it is a stream of events that ends
//! with the answer.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use rmcp::model::{ErrorCode, ServerJsonRpcMessage};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::endpoint::{Endpoint, session};
use crate::protocol::connection::Connection;
use crate::protocol::direct::{self, Answered, Outlet};
use crate::protocol::envelope::{Called, Kind};
use crate::wire::{Caller, Fault, Lifecycle};

const STATELESS: &str = "2026-07-28";

/// Messages that may wait for a client that is slow to read.
const BACKLOG: usize = 16;

impl Endpoint {
    /// Sees to a message that needs nothing of rmcp.
    pub(super) async fn direct(
        &self,
        headers: &HeaderMap,
        subject: Option<&str>,
        kind: Kind,
    ) -> Option<Response<Body>> {
        match kind {
            Kind::Other => None,
            Kind::Call(called) => {
                let (connection, caller) = match session(headers) {
                    Some(session) => self.in_session(headers, session, &called).await?,
                    None => self.alone(headers, subject, &called)?,
                };
                Some(self.call(&connection, caller, *called).await)
            }
            Kind::Withdrawn(id) => {
                let connection = self.directory.find(session(headers)?)?;
                connection.calls.withdraw(&id).then(accepted)
            }
            Kind::Reply(id, result) => {
                let connection = self.directory.find(session(headers)?)?;
                connection.replies.settle(&id, result).then(accepted)
            }
        }
    }

    /// Whose call it is, in a session that is open and whose client is known.
    async fn in_session(
        &self,
        headers: &HeaderMap,
        session: &str,
        called: &Called,
    ) -> Option<(Arc<Connection>, Arc<Caller>)> {
        let connection = self.directory.find(session)?;
        let caller = connection.known_caller()?;
        let version = headers.get("mcp-protocol-version");
        let is_good = takes_both(headers)
            && called.meta.protocol_version().is_none()
            && version.is_none_or(|version| version.as_bytes() == caller.protocol.as_bytes())
            && self.sessions.is_open(session).await;
        is_good.then_some((connection, caller))
    }

    /// Whose call it is that stands alone, with all the headers that it must have.
    fn alone(
        &self,
        headers: &HeaderMap,
        subject: Option<&str>,
        called: &Called,
    ) -> Option<(Arc<Connection>, Arc<Caller>)> {
        let is_good = takes_both(headers)
            && only(headers, "mcp-protocol-version", STATELESS)
            && only(headers, "mcp-method", "tools/call")
            && only(headers, "mcp-name", &called.params.name)
            && called.meta.protocol_version().is_some_and(|version| version.as_str() == STATELESS)
            && !headers.keys().any(|name| name.as_str().starts_with("mcp-param-"))
            && self
                .server
                .registry()
                .tool(&called.params.name)
                .is_none_or(|(tool, _)| !tool.has_header_arguments);
        let caller = direct::caller(&self.stateless, called, subject).filter(|_| is_good)?;
        Some((Arc::clone(&self.stateless), caller))
    }

    async fn call(
        &self,
        connection: &Arc<Connection>,
        caller: Arc<Caller>,
        called: Called,
    ) -> Response<Body> {
        let (sender, notes) = mpsc::channel(BACKLOG);
        let lifecycle = caller.lifecycle;
        // In a session a client that goes away has not withdrawn its call; a call that stands alone ends with
        // its connection.
        let (token, guard) = match lifecycle {
            Lifecycle::Session => (connection.calls.enter(called.id.clone()), None),
            Lifecycle::Stateless => {
                let token = CancellationToken::new();
                (token.clone(), Some(token.drop_guard()))
            }
        };
        let (server, connection) = (self.server.clone(), Arc::clone(connection));
        let call = tokio::spawn(async move {
            let id = called.id.clone();
            let outlet = EventOutlet(sender);
            let answered = direct::answer(&server, &connection, caller, called, outlet, token).await;
            if lifecycle == Lifecycle::Session {
                connection.calls.leave(&id);
            }
            answered
        });
        let mut running = Running { call, notes, _guard: guard };
        match running.next().await {
            Next::Note(first) => running.stream(first),
            Next::Answer(answered) => {
                let status = match (lifecycle, answered.fault.map(ErrorCode)) {
                    (
                        Lifecycle::Stateless,
                        Some(
                            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
                            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
                            | ErrorCode::HEADER_MISMATCH,
                        ),
                    ) => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
                (status, json, answered.message).into_response()
            }
        }
    }
}

/// A call on its way.
struct Running {
    call: JoinHandle<Answered>,
    notes: mpsc::Receiver<ServerJsonRpcMessage>,
    _guard: Option<DropGuard>,
}

enum Next {
    Note(Box<ServerJsonRpcMessage>),
    Answer(Answered),
}

impl Running {
    /// What there is to say next: everything else before the answer.
    async fn next(&mut self) -> Next {
        tokio::select! {
            biased;
            Some(note) = self.notes.recv() => Next::Note(Box::new(note)),
            answered = &mut self.call => Next::Answer(answered.unwrap_or_else(|_| {
                // The walk catches panics, so this is the runtime going down under it.
                Answered { message: Vec::new(), fault: Some(ErrorCode::INTERNAL_ERROR.0) }
            })),
        }
    }

    fn stream(self, first: Box<ServerJsonRpcMessage>) -> Response<Body> {
        let events = stream::unfold((Some(self), Some(first)), |(running, first)| async move {
            let mut running = running?;
            let next = match first {
                Some(first) => Next::Note(first),
                None => running.next().await,
            };
            let (message, rest) = match next {
                Next::Note(note) => (serde_json::to_vec(&note).unwrap_or_default(), Some(running)),
                Next::Answer(answered) => (answered.message, None),
            };
            // JSON without line ends: what an event can carry.
            let event = Event::default().event("message").data(String::from_utf8_lossy(&message));
            Some((Ok::<_, Infallible>(event), (rest, None)))
        });
        Sse::new(events).keep_alive(KeepAlive::default()).into_response()
    }
}

/// Where the messages of a call leave: on the stream that answers it.
#[derive(Clone)]
struct EventOutlet(mpsc::Sender<ServerJsonRpcMessage>);

impl Outlet for EventOutlet {
    async fn send(&self, message: ServerJsonRpcMessage) -> Result<(), Fault> {
        self.0.send(message).await.map_err(|_| Fault)
    }
}

fn accepted() -> Response<Body> {
    StatusCode::ACCEPTED.into_response()
}

/// Whether the client takes both kinds of answer, as it must.
fn takes_both(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && accept.contains("text/event-stream")
}

/// Whether a header is there once, with this value.
fn only(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next().is_some_and(|first| first.as_bytes() == value.as_bytes()) && values.next().is_none()
}
