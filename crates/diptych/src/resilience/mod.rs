//! Calls that leave the machine: a time limit for every attempt, retries with backoff and jitter, and a
//! circuit breaker.
//!
//! ```text
//! Policy   the numbers                     (copied freely)
//! Breaker  what is known about one host    (shared by all who call it)
//! Outside  both, with a name for the log   (what a toolset keeps and calls)
//! ```
//!
//! An error says through [`Classify`] whether another attempt can help and what it tells about the host.
//! Attempts, not calls, are what the breaker counts: it judges the host, and the host sees attempts.
//!
//! Nothing here logs an error's text, which may hold a token or a private address: only the name of the
//! service, the number of the attempt and the class of the error.

mod breaker;
mod class;
mod policy;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use backon::Retryable;

pub use self::breaker::{Breaker, BreakerState};
pub use self::class::{Class, Classify, Host, Retry};
pub use self::policy::Policy;

/// Why a call to the outside gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure<E> {
    /// The breaker is open: nothing was sent. Worth trying again after the time named.
    #[error("Service temporarily unavailable")]
    Open {
        /// How long until the breaker lets the next call through.
        retry_after: Duration,
    },
    /// The last attempt took longer than the policy allows.
    #[error("The service did not answer in time")]
    TimedOut {
        /// The time limit of one attempt.
        limit: Duration,
    },
    /// The last attempt failed with this error. Its text is for the log, not for this message.
    #[error("The service could not answer the request")]
    Failed(#[source] E),
}

impl<E: Classify> Failure<E> {
    /// How long to wait before trying again, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Open { retry_after } => Some(*retry_after),
            Failure::TimedOut { .. } => None,
            Failure::Failed(error) => match error.class().retry {
                Retry::After(wait) => Some(wait),
                Retry::Never | Retry::Backoff => None,
            },
        }
    }

    /// Whether the same call can succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Failure::Open { .. } | Failure::TimedOut { .. } => true,
            Failure::Failed(error) => error.class().retry != Retry::Never,
        }
    }
}

/// One service outside this machine: how to call it and what is known about its health.
///
/// A clone shares the breaker, so keep one for each host and clone it freely.
///
/// ```text
/// let directory = Outside::new("handle directory", Policy::default());
/// let record = directory.call(|| fetch(&client, &handle)).await?;
/// let posted = directory.once().call(|| send(&client, &post)).await?;
/// ```
#[derive(Clone)]
pub struct Outside {
    name: Arc<str>,
    policy: Policy,
    breaker: Breaker,
}

impl Outside {
    /// A service that nothing is known about yet. The name goes into the log: a noun, never an address
    /// that may carry credentials.
    pub fn new(name: impl Into<Arc<str>>, policy: Policy) -> Self {
        Self { name: name.into(), policy, breaker: Breaker::new(policy.failures_to_open, policy.open_for) }
    }

    /// The same service with retries off: for calls that must not happen twice.
    #[must_use]
    pub fn once(&self) -> Self {
        Self { policy: Policy { attempts: 1, ..self.policy }, ..self.clone() }
    }

    /// The same service with another time limit for each attempt, such as a longer one for an upload.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Self {
        Self { policy: Policy { timeout, ..self.policy }, ..self.clone() }
    }

    /// The name that the log shows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings in force.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is known about the host.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Makes a call whose error can be classified. `operation` is run once for each attempt.
    ///
    /// Dropping the returned future is safe at any point: the attempt under way is dropped and the breaker
    /// learns nothing from it.
    ///
    /// # Errors
    /// [`Failure`] says whether anything was sent and what the last attempt came to.
    pub async fn call<T, E, Fut>(&self, operation: impl FnMut() -> Fut) -> Result<T, Failure<E>>
    where
        E: Classify,
        Fut: Future<Output = Result<T, E>>,
    {
        self.call_with(E::class, operation).await
    }

    /// Like [`Outside::call`], for an error type that is not ours to implement [`Classify`] on.
    ///
    /// # Errors
    /// As for [`Outside::call`].
    pub async fn call_with<T, E, Fut>(
        &self,
        classify: impl Fn(&E) -> Class,
        mut operation: impl FnMut() -> Fut,
    ) -> Result<T, Failure<E>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        let classify = &classify;
        let mut number = 0;
        let attempt = move || {
            number += 1;
            // The operation is started only with a permit in hand.
            let started = self.breaker.admit().map(|permit| (permit, operation()));
            async move {
                let (permit, running) = started.map_err(|retry_after| {
                    tracing::debug!(
                        service = &*self.name,
                        attempt = number,
                        "not called: the breaker is open"
                    );
                    Attempt { failure: Failure::Open { retry_after }, class: Class::LOCAL }
                })?;
                let (failure, class) = match tokio::time::timeout(self.policy.timeout, running).await {
                    Ok(Ok(value)) => {
                        permit.report(Host::Answering, &self.name);
                        return Ok(value);
                    }
                    Ok(Err(error)) => {
                        let class = classify(&error);
                        (Failure::Failed(error), class)
                    }
                    Err(_) => (Failure::TimedOut { limit: self.policy.timeout }, Class::BROKEN),
                };
                let timed_out = matches!(failure, Failure::TimedOut { .. });
                tracing::debug!(service = &*self.name, attempt = number, %class, timed_out, "attempt failed");
                permit.report(class.host, &self.name);
                Err(Attempt { failure, class })
            }
        };
        let mut jitter = self.policy.jitters();
        attempt
            .retry(self.policy.waits())
            .when(|failed| failed.class.retry != Retry::Never)
            .adjust(move |failed, backoff| {
                let base = match (backoff?, failed.class.retry) {
                    // Nobody sits in front of a tool call for an hour: the caller reports the delay instead.
                    (_, Retry::After(asked)) if asked > self.policy.longest_wait => return None,
                    (_, Retry::After(asked)) => asked,
                    (backoff, _) => backoff,
                };
                let wait = base.saturating_add(jitter.next().unwrap_or_default());
                // An attempt that the breaker is sure to refuse is not worth sleeping for, and the error in
                // hand says more than "unavailable".
                (self.breaker.refuses_for() <= wait).then_some(wait)
            })
            .notify(|_, wait| {
                tracing::debug!(service = &*self.name, wait_ms = wait.as_millis(), "trying again");
            })
            .await
            .map_err(|attempt| attempt.failure)
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outside")
            .field("name", &self.name)
            .field("breaker", &self.breaker.state())
            .finish_non_exhaustive()
    }
}

/// A failed attempt with its class, so that an error is classified once.
struct Attempt<E> {
    failure: Failure<E>,
    class: Class,
}
