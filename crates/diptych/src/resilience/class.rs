//! What an error means for the next attempt, and for the host: two questions with separate answers.
//! A 404 is no reason to try again and no fault of the host; a 429 is worth another attempt and no fault either.

use std::fmt;
use std::time::Duration;

/// Whether another attempt can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The same request would fail the same way.
    Never,
    /// After the policy's backoff.
    Backoff,
    /// After the time the host asked for (`Retry-After`), instead of the backoff.
    After(Duration),
}

/// What an attempt tells about the health of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// It could not be reached, did not answer or broke down: counts towards opening the breaker.
    Failing,
    /// It answered, if only to refuse: ends a row of failures.
    Answering,
    /// The fault was on this side, so nothing was learnt.
    Unknown,
}

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Whether another attempt can help.
    pub retry: Retry,
    /// What it tells about the host.
    pub host: Host,
}

impl Class {
    /// The host failed: connection errors, time limits, 5xx.
    pub const BROKEN: Class = Class { retry: Retry::Backoff, host: Host::Failing };
    /// The host is well and asks to slow down, without saying until when.
    pub const BUSY: Class = Class { retry: Retry::Backoff, host: Host::Answering };
    /// The host is well and refused the request: most of 4xx.
    pub const REFUSED: Class = Class { retry: Retry::Never, host: Host::Answering };
    /// The request never left, or the answer was good and we could not use it.
    pub const LOCAL: Class = Class { retry: Retry::Never, host: Host::Unknown };

    /// The same class, retried after the time the host asked for, if it did.
    #[must_use]
    pub fn after(self, asked: Option<Duration>) -> Class {
        match (self.retry, asked) {
            (Retry::Never, _) | (_, None) => self,
            (_, Some(wait)) => Class { retry: Retry::After(wait), ..self },
        }
    }

    /// The class of an HTTP status that is not a success, with the delay its `Retry-After` named.
    pub fn of_status(status: u16, retry_after: Option<Duration>) -> Class {
        match status {
            // 408 and 425 are the host's own "send that again".
            408 | 425 | 429 => Class::BUSY,
            500.. => Class::BROKEN,
            _ => Class::REFUSED,
        }
        .after(retry_after)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match (self.host, self.retry) {
            (Host::Failing, _) => "broken",
            (Host::Answering, Retry::Never) => "refused",
            (Host::Answering, _) => "busy",
            (Host::Unknown, _) => "local",
        })
    }
}

/// An error that knows its class.
pub trait Classify {
    /// What this error means for the next attempt and for the host.
    fn class(&self) -> Class;
}
