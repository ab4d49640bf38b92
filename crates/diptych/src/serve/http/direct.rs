//! The straight way of a `tools/call` over HTTP: see [`crate::protocol::direct`].
//!
//! The answer is JSON, unless the call has something to say before: then it is a stream of events that ends
//! with the answer. In a session a client that loses the stream can come back to it.

use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse as _;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use rmcp::model::{ErrorCode, ServerJsonRpcMessage};
use tokio_util::sync::CancellationToken;

use super::endpoint::{Endpoint, session};
use super::events::{Events, last_heard};
use super::replay::{Answer, Heard, Speaker};
use super::reply::{INTERNAL, Refusal};
use crate::protocol::connection::Connection;
use crate::protocol::direct::{self, Outlet};
use crate::protocol::envelope::{Called, Kind};
use crate::wire::{Caller, Fault, Lifecycle};

const STATELESS: &str = "2026-07-28";

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

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
                Some(self.call(&connection, caller, *called, session(headers)).await)
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
        session: Option<&str>,
    ) -> Response<Body> {
        let (speaker, mut listener) = Speaker::new();
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
        let (outlet, asker) = (EventOutlet(speaker.clone()), Arc::clone(&caller));
        tokio::spawn(async move {
            let id = called.id.clone();
            let answered = direct::answer(&server, &connection, asker, called, outlet.clone(), token).await;
            if lifecycle == Lifecycle::Session {
                connection.calls.leave(&id);
            }
            outlet.0.end(Answer { message: answered.message.into(), fault: answered.fault });
        });
        match listener.next().await {
            Some(Heard::Answer { answer, .. }) => whole(lifecycle, answer),
            Some(note) => {
                let events = Events::new(listener, Some(note), guard);
                match session.and_then(|session| self.sessions.streams(session)) {
                    Some(streams) => {
                        events.named(streams.keep(&speaker), &caller.protocol, self.stream_limit)
                    }
                    None => events,
                }
                .into_response()
            }
            // The walk catches panics, so this is the runtime going down under it.
            None => {
                let problem = "The server could not handle the request.";
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, problem).into_response()
            }
        }
    }

    /// Goes on with a stream of ours whose connection ended before its answer.
    pub(super) async fn resumed(&self, headers: &HeaderMap) -> Option<Response<Body>> {
        let (name, place) = last_heard(headers)?;
        let session = session(headers).filter(|_| takes(headers, EVENT_STREAM))?;
        let caller = self.directory.find(session)?.known_caller()?;
        let is_open = self.sessions.is_open(session).await;
        let listener = self.sessions.streams(session).filter(|_| is_open)?.listen(name, place)?;
        let events = Events::new(listener, None, None);
        Some(events.named(name, &caller.protocol, self.stream_limit).into_response())
    }
}

/// An answer that nothing was said before.
fn whole(lifecycle: Lifecycle, answer: Answer) -> Response<Body> {
    let status = match (lifecycle, answer.fault.map(ErrorCode)) {
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
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], answer.message).into_response()
}

/// Where the messages of a call leave: on the stream that answers it.
#[derive(Clone)]
struct EventOutlet(Speaker);

impl Outlet for EventOutlet {
    async fn send(&self, message: ServerJsonRpcMessage) -> Result<(), Fault> {
        self.0.say(serde_json::to_vec(&message).map_err(|_| Fault)?.into());
        Ok(())
    }
}

fn accepted() -> Response<Body> {
    StatusCode::ACCEPTED.into_response()
}

/// Whether the client takes both kinds of answer, as it must.
fn takes_both(headers: &HeaderMap) -> bool {
    takes(headers, JSON) && takes(headers, EVENT_STREAM)
}

fn takes(headers: &HeaderMap, kind: &str) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains(kind))
}

/// Whether a header is there once, with this value.
fn only(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next().is_some_and(|first| first.as_bytes() == value.as_bytes()) && values.next().is_none()
}
