//! A call that is answered by a stream of events: what it says before its answer, and the answer.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::IntoResponse as _;
use futures_util::stream;
use http::{HeaderMap, Response, header};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::DropGuard;

use super::replay::{Heard, Listener};

/// How often a stream on which nothing is said shows that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// How long a client whose connection ended waits before it comes back.
const COME_BACK: Duration = Duration::from_secs(1);

/// The first version whose clients know that a stream may end before its answer, and begin with an empty event.
const POLLING: &str = "2025-11-25";

/// The events of one connection.
pub(super) struct Events {
    listener: Listener,
    /// What was heard before it was known that this is a stream.
    first: Option<Heard>,
    name: Option<u64>,
    begins_empty: bool,
    closes: Option<Instant>,
    has_ended: bool,
    _guard: Option<DropGuard>,
}

impl Events {
    /// Events that cannot be asked for again. The guard is held as long as somebody listens.
    pub(super) fn new(listener: Listener, first: Option<Heard>, guard: Option<DropGuard>) -> Self {
        Events {
            listener,
            first,
            name: None,
            begins_empty: false,
            closes: None,
            has_ended: false,
            _guard: guard,
        }
    }

    /// Names the stream, so that it can be asked for again. Clients that know how are sent away after a while.
    pub(super) fn named(mut self, name: u64, protocol: &str, longest: Option<Duration>) -> Self {
        self.name = Some(name);
        if protocol >= POLLING {
            // A client that comes back knows all that the empty event tells.
            self.begins_empty = self.first.is_some();
            self.closes = longest.map(|longest| Instant::now() + longest);
        }
        self
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let events = stream::unfold(self, |mut events| async move {
            let event = events.next().await?;
            Some((Ok::<_, Infallible>(event), events))
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
        (headers, Body::from_stream(events)).into_response()
    }

    async fn next(&mut self) -> Option<Bytes> {
        if std::mem::take(&mut self.begins_empty) {
            let name = self.name.unwrap_or_default();
            return Some(format!("id: {name}-0\nretry: {}\ndata: \n\n", COME_BACK.as_millis()).into());
        }
        if self.has_ended {
            return None;
        }
        let heard = match self.first.take() {
            Some(first) => first,
            None => {
                let alive = Instant::now() + SIGN_OF_LIFE;
                let until = self.closes.map_or(alive, |closes| closes.min(alive));
                match timeout_at(until, self.listener.next()).await {
                    Ok(heard) => heard?,
                    Err(_) if self.closes == Some(until) => return None,
                    Err(_) => return Some(Bytes::from_static(b":\n\n")),
                }
            }
        };
        let (place, message) = match heard {
            Heard::Note { place, message } => (place, message),
            Heard::Answer { place, answer } => {
                self.has_ended = true;
                (place, answer.message)
            }
        };
        let mut event = Vec::with_capacity(message.len() + 64);
        event.extend_from_slice(b"event: message\n");
        if let Some(name) = self.name {
            event.extend_from_slice(format!("id: {name}-{place}\n").as_bytes());
        }
        // JSON without line ends: what an event can carry.
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(&message);
        event.extend_from_slice(b"\n\n");
        Some(event.into())
    }
}

/// The stream that a client comes back to, and the place up to which it has heard it. rmcp's ids look different.
pub(super) fn last_heard(headers: &HeaderMap) -> Option<(u64, u64)> {
    let (name, place) = headers.get("last-event-id")?.to_str().ok()?.split_once('-')?;
    Some((name.parse().ok()?, place.parse().ok()?))
}
