//! Whose session it is. A session's id is not a secret worth trusting: whoever else learns it must not be
//! able to speak as the subject that opened it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use tokio::time::Instant;

use super::replay::Streams;

/// The sessions: who opened them, and when they were last used.
pub(super) struct Sessions {
    pub(super) manager: Arc<LocalSessionManager>,
    longest_silence: Duration,
    known: Mutex<Known>,
}

struct Known {
    sessions: HashMap<String, Owned>,
    swept: Instant,
}

struct Owned {
    owner: Option<String>,
    used: Instant,
    streams: Arc<Streams>,
}

/// How often it is worth looking for sessions that nobody uses any more.
const SWEEP: Duration = Duration::from_secs(10);

impl Sessions {
    /// Sessions that outlast their longest silence: a person who takes all the time there is to answer.
    pub(super) fn lasting(longest_silence: Duration) -> Self {
        let mut manager = LocalSessionManager::default();
        let usual = SessionConfig::DEFAULT_KEEP_ALIVE;
        // rmcp does not hear of calls that go past it, so it is us who tell which sessions are silent.
        manager.session_config.keep_alive = None;
        Sessions {
            manager: Arc::new(manager),
            longest_silence: usual.max(longest_silence + Duration::from_secs(60)),
            known: Mutex::new(Known { sessions: HashMap::new(), swept: Instant::now() }),
        }
    }

    /// Remembers who opened a session, and ends those that have long been silent.
    pub(super) async fn opened(&self, session: &str, subject: Option<&str>) {
        let now = Instant::now();
        let silent = {
            let mut known = self.lock();
            let owned = Owned { owner: subject.map(str::to_owned), used: now, streams: Arc::default() };
            known.sessions.insert(session.to_owned(), owned);
            if now.duration_since(known.swept) < SWEEP {
                return;
            }
            known.swept = now;
            let is_silent = |_: &String, one: &mut Owned| now.duration_since(one.used) > self.longest_silence;
            known.sessions.extract_if(is_silent).map(|(session, _)| session).collect::<Vec<_>>()
        };
        for session in silent {
            // A session that is gone by now is as good as closed.
            let _ = self.manager.close_session(&session.into()).await;
        }
    }

    /// Whether a subject may use a session, which is used by that. One that nobody opened is for rmcp to refuse.
    pub(super) fn belongs_to(&self, session: &str, subject: Option<&str>) -> bool {
        self.lock().sessions.get_mut(session).is_none_or(|known| {
            known.used = Instant::now();
            known.owner.as_deref() == subject
        })
    }

    /// The streams of a session that can be asked for again.
    pub(super) fn streams(&self, session: &str) -> Option<Arc<Streams>> {
        self.lock().sessions.get(session).map(|known| Arc::clone(&known.streams))
    }

    /// Forgets a session that its client has ended.
    pub(super) fn ended(&self, session: &str) {
        self.lock().sessions.remove(session);
    }

    /// Whether a session is open.
    pub(super) async fn is_open(&self, session: &str) -> bool {
        self.manager.sessions.read().await.contains_key(session)
    }

    /// Ends all sessions.
    pub(super) async fn close(&self) {
        let open: Vec<_> = self.manager.sessions.read().await.keys().cloned().collect();
        for session in open {
            // A session that is gone by now is as good as closed.
            let _ = self.manager.close_session(&session).await;
        }
        self.lock().sessions.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{Method, Request, StatusCode};
    use serde_json::{Value, json};

    use super::super::Http;
    use super::super::endpoint::{Endpoint, session};
    use super::*;
    use crate::Server;

    async fn sent(endpoint: &Endpoint, id: Option<&str>, message: Value) -> (StatusCode, Option<String>) {
        let mut request = Request::builder()
            .method(Method::POST)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(id) = id {
            request = request.header("mcp-session-id", id);
        }
        let peer = "127.0.0.1:1".parse().unwrap();
        let request = request.body(Body::from(message.to_string())).unwrap();
        let response = match endpoint.answer(peer, request).await {
            Ok(response) => response,
            Err(refusal) => refusal.into_response(),
        };
        (response.status(), session(response.headers()).map(str::to_owned))
    }

    async fn opened(endpoint: &Endpoint) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}});
        let id = sent(endpoint, None, hello).await.1.unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(sent(endpoint, Some(&id), ready).await.0, StatusCode::ACCEPTED);
        id
    }

    async fn pinged(endpoint: &Endpoint, id: &str) -> StatusCode {
        sent(endpoint, Some(id), json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await.0
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_that_were_silent_for_long_are_closed_when_another_opens() {
        let server = Server::builder("test", "0.0.0").build().unwrap();
        let bound = server.bind_http("127.0.0.1:0".parse().unwrap(), Http::new()).await.unwrap();
        let (endpoint, patience) = (&bound.endpoint, bound.endpoint.sessions.longest_silence);
        assert!(patience >= SessionConfig::DEFAULT_KEEP_ALIVE, "at least five minutes");
        let silent = opened(endpoint).await;
        let live = opened(endpoint).await;
        tokio::time::advance(patience - Duration::from_secs(30)).await;
        assert_eq!(pinged(endpoint, &live).await, StatusCode::OK);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert!(endpoint.sessions.is_open(&silent).await, "nobody looks before a session opens");
        let new = opened(endpoint).await;
        assert_eq!(pinged(endpoint, &silent).await, StatusCode::NOT_FOUND);
        assert_eq!(pinged(endpoint, &live).await, StatusCode::OK);
        assert_eq!(pinged(endpoint, &new).await, StatusCode::OK);
        assert!(endpoint.sessions.streams(&silent).is_none(), "nothing is kept of it");
    }
}
