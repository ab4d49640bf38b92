//! One request after the other through the gate, the bearer check, the rate limit and the reading of its
//! body, and then to rmcp.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::IntoResponse as _;
use axum::routing::{any, get};
use axum::{Router, middleware};
use http::{HeaderMap, Method, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::bearer::{Bearers, Denied};
use super::cors;
use super::gate::Gate;
#[cfg(feature = "oauth")]
use super::issuer::WELL_KNOWN;
use super::message;
use super::rate::{Buckets, Who};
use super::reply::{self, INTERNAL, INVALID_REQUEST, Refusal, SHUTDOWN};
use super::sessions::Sessions;
use crate::protocol::connection::{Connection, Directory, Subject};
use crate::protocol::envelope::Kind;
use crate::protocol::handler::Handler;
use crate::server::Server;

const SESSION: &str = "mcp-session-id";

/// What every request needs.
pub(super) struct Endpoint {
    pub(super) server: Server,
    pub(super) service: StreamableHttpService<Handler, LocalSessionManager>,
    pub(super) sessions: Sessions,
    /// The connections behind the sessions.
    pub(super) directory: Arc<Directory>,
    /// Stands for the connection where every request stands alone.
    pub(super) stateless: Arc<Connection>,
    pub(super) gate: Gate,
    pub(super) bearers: Bearers,
    pub(super) buckets: Option<Buckets>,
    pub(super) body_limit: usize,
    pub(super) path: String,
    /// How long one connection may carry the stream of a call.
    pub(super) stream_limit: Option<Duration>,
    /// Holds a token for every answer that is still being written.
    pub(super) answering: TaskTracker,
}

/// All that is served.
pub(super) fn router(endpoint: Arc<Endpoint>) -> Router {
    let router = Router::new()
        .route(&endpoint.path, any(answer))
        .route("/healthz", get(health))
        .route("/metrics", get(metrics));
    #[cfg(feature = "oauth")]
    let router = match endpoint.bearers.issuer {
        // At the root as well, for clients that look there first.
        Some(_) => router
            .route(WELL_KNOWN, get(metadata))
            .route(&format!("{WELL_KNOWN}{}", endpoint.path), get(metadata)),
        None => router,
    };
    router.layer(middleware::from_fn_with_state(Arc::clone(&endpoint), enter)).with_state(endpoint)
}

async fn enter(State(endpoint): State<Arc<Endpoint>>, request: Request, next: Next) -> Response<Body> {
    if let Err(refusal) = endpoint.gate.check(request.uri(), request.headers()) {
        return refusal.into_response();
    }
    let Some(reader) = endpoint.gate.reader(request.headers()).cloned() else {
        return next.run(request).await;
    };
    let mut response =
        if cors::is_preflight(&request) { cors::permit(request.headers()) } else { next.run(request).await };
    cors::expose(response.headers_mut(), reader);
    response
}

async fn health(State(endpoint): State<Arc<Endpoint>>) -> Response<Body> {
    if endpoint.server.draining().is_cancelled() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining\n").into_response()
    } else {
        "ok\n".into_response()
    }
}

/// The names of the tools and how they are used are for those who may call them.
async fn metrics(
    State(endpoint): State<Arc<Endpoint>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response<Body> {
    if let Err(refusal) = endpoint.admit(peer, &headers).await {
        return refusal.into_response();
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, endpoint.server.metrics().prometheus()).into_response()
}

#[cfg(feature = "oauth")]
async fn metadata(State(endpoint): State<Arc<Endpoint>>, headers: HeaderMap) -> Response<Body> {
    let metadata = endpoint
        .bearers
        .issuer
        .as_ref()
        .map(|issuer| issuer.metadata(&headers, &endpoint.path, endpoint.server.name()));
    axum::Json(metadata).into_response()
}

async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response<Body> {
    endpoint.answer(peer, request).await.unwrap_or_else(Refusal::into_response)
}

impl Endpoint {
    pub(super) async fn answer(&self, peer: SocketAddr, request: Request) -> Result<Response<Body>, Refusal> {
        let (mut parts, body) = request.into_parts();
        let subject = self.admit(peer, &parts.headers).await?;
        // Nobody further in has any use for it.
        parts.headers.remove(header::AUTHORIZATION);
        let session = session(&parts.headers);
        if session.is_some_and(|session| !self.sessions.belongs_to(session, subject.as_deref())) {
            return Err(Refusal::new(StatusCode::NOT_FOUND, INVALID_REQUEST, "Session not found."));
        }
        let opens = session.is_none();
        let (id, is_call, kind, bytes) = if parts.method == Method::POST {
            let message = message::read(&parts.headers, body, self.body_limit).await?;
            (message.id, message.is_call, message.kind, message.bytes)
        } else {
            (None, false, Kind::Other, Bytes::new())
        };
        if is_call && self.server.draining().is_cancelled() {
            return Err(leaving(id));
        }
        let mut writing = is_call.then(|| self.answering.token());
        let straight = if parts.method == Method::GET {
            let resumed = self.resumed(&parts.headers).await;
            writing = resumed.is_some().then(|| self.answering.token());
            resumed
        } else {
            self.direct(&parts.headers, subject.as_deref(), kind).await
        };
        let response = match straight {
            Some(response) => response,
            None => {
                if let Some(subject) = &subject {
                    parts.extensions.insert(Subject(subject.clone()));
                }
                let ended = session.filter(|_| parts.method == Method::DELETE).map(str::to_owned);
                let response = self.service.handle(Request::from_parts(parts, Full::new(bytes))).await;
                if let Some(ended) = ended.filter(|_| response.status().is_success()) {
                    self.sessions.ended(&ended);
                }
                if let (true, Some(session)) = (opens, self::session(response.headers()).map(str::to_owned)) {
                    self.sessions.opened(&session, subject.as_deref()).await;
                }
                reply::refined(response, id).await
            }
        };
        // Held by the body until it is written or the client is gone.
        Ok(response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _ = &writing;
                frame
            }))
        }))
    }

    /// Whom the request comes from, if it may come at all.
    async fn admit(&self, peer: SocketAddr, headers: &HeaderMap) -> Result<Option<String>, Refusal> {
        let mut who = Who::Peer(peer.ip());
        let subject = if self.bearers.are_asked_for() {
            match self.bearers.subject(headers).await {
                Ok(subject) => {
                    who = Who::Subject(subject.clone());
                    Ok(Some(subject))
                }
                Err(denied) => Err(denied),
            }
        } else {
            Ok(None)
        };
        // Before the refusal, so that guessing tokens is limited as well.
        if let Some(Err(wait)) = self.buckets.as_ref().map(|buckets| buckets.take(who, Instant::now())) {
            return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, INVALID_REQUEST, "Too many requests.")
                .retry_after(wait));
        }
        subject.map_err(|denied| self.challenge(&denied, headers))
    }

    fn challenge(&self, denied: &Denied, headers: &HeaderMap) -> Refusal {
        let (status, problem, error) = match denied {
            Denied::Missing => (StatusCode::UNAUTHORIZED, "A bearer token is required.", None),
            Denied::Invalid => {
                (StatusCode::UNAUTHORIZED, "The bearer token is not valid.", Some("invalid_token"))
            }
            Denied::Scope => {
                let problem = "The bearer token lacks a scope that is required.";
                (StatusCode::FORBIDDEN, problem, Some("insufficient_scope"))
            }
            Denied::Unavailable(wait) => {
                let problem = "The bearer token cannot be checked now.";
                return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, INTERNAL, problem).retry_after(*wait);
            }
        };
        let graphic = |c: &char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        let realm: String = self.server.name().chars().filter(graphic).collect();
        let mut challenge = format!("Bearer realm=\"{realm}\"");
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\""));
        }
        if let Some(hint) = self.hint(headers) {
            challenge.push_str(&format!(", {hint}"));
        }
        Refusal::new(status, INVALID_REQUEST, problem).header(header::WWW_AUTHENTICATE, &challenge)
    }

    /// Where to get a token.
    #[cfg(feature = "oauth")]
    fn hint(&self, headers: &HeaderMap) -> Option<String> {
        self.bearers.issuer.as_ref().map(|issuer| issuer.hint(headers, &self.path))
    }

    #[cfg(not(feature = "oauth"))]
    fn hint(&self, _headers: &HeaderMap) -> Option<String> {
        None
    }
}

pub(super) fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|session| session.to_str().ok())
}

fn leaving(id: Option<Value>) -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, SHUTDOWN, "The server is shutting down.")
        .retry_after(Duration::from_secs(1))
        .to(id)
}
