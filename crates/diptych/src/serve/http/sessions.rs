//! Whose session it is. A session's id is not a secret worth trusting: whoever else learns it must not be
//! able to speak as the subject that opened it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};

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
            let owned = Owned { owner: subject.map(str::to_owned), used: now };
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
