//! Whose session it is. A session's id is not a secret worth trusting: whoever else learns it must not be
//! able to speak as the subject that opened it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};

/// The sessions and the subjects that opened them.
pub(super) struct Sessions {
    pub(super) manager: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, String>>,
}

/// So few are not worth sweeping.
const SMALL: usize = 256;

impl Sessions {
    /// Sessions that outlast their longest silence: a person who takes all the time there is to answer.
    pub(super) fn lasting(longest_silence: Duration) -> Self {
        let mut manager = LocalSessionManager::default();
        let usual = SessionConfig::DEFAULT_KEEP_ALIVE;
        manager.session_config.keep_alive = Some(usual.max(longest_silence + Duration::from_secs(60)));
        Sessions { manager: Arc::new(manager), owners: Mutex::default() }
    }

    /// Remembers who opened a session.
    pub(super) async fn opened(&self, session: &str, subject: &str) {
        let sweep = {
            let mut owners = self.lock();
            owners.insert(session.to_owned(), subject.to_owned());
            owners.len() >= SMALL && owners.len().is_power_of_two()
        };
        if sweep {
            // Sessions also end by themselves, when nothing is heard from their client.
            let open = self.manager.sessions.read().await;
            self.lock().retain(|session, _| open.contains_key(session.as_str()));
        }
    }

    /// Whether a subject may use a session. One that nobody opened is for rmcp to refuse.
    pub(super) fn belongs_to(&self, session: &str, subject: Option<&str>) -> bool {
        self.lock().get(session).is_none_or(|owner| Some(owner.as_str()) == subject)
    }

    /// Ends all sessions.
    pub(super) async fn close(&self) {
        let open: Vec<_> = self.manager.sessions.read().await.keys().cloned().collect();
        for session in open {
            // A session that is gone by now is as good as closed.
            let _ = self.manager.close_session(&session).await;
        }
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
