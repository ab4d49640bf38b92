//! What can go wrong on the network, and what a reader is told of it.

use std::time::Duration;

use diptych::ToolError;
use diptych::resilience::{Class, Classify, Failure};

/// A call to the network that failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum NetworkError {
    /// The service answered, and refused.
    #[error("the service refused the request ({status} {name})")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The name of the error, as XRPC and OAuth have it. Only letters, digits and `_`.
        name: String,
        /// When to try again, if the service said so.
        retry_after: Option<Duration>,
    },
    /// The service could not be reached.
    #[error("the service could not be reached")]
    Unreachable,
    /// The service did not answer in time.
    #[error("the service did not answer in time")]
    TimedOut,
    /// The breaker is open.
    #[error("the service is not called for a while")]
    Open {
        /// When it will be called again.
        retry_after: Duration,
    },
    /// The answer is not what it should be.
    #[error("the service's answer is not {0}")]
    BadAnswer(&'static str),
    /// The address is one that must not be called.
    #[error("the address may not be called")]
    Forbidden,
    /// The tokens of the login are no longer good.
    #[error("the login has ended")]
    LoginEnded,
}

impl NetworkError {
    /// A refusal by its name.
    pub(crate) fn refused(status: u16, name: &str) -> Self {
        NetworkError::Refused { status, name: name.to_owned(), retry_after: None }
    }

    /// The name of a refusal.
    pub(crate) fn refusal(&self) -> Option<&str> {
        match self {
            NetworkError::Refused { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The status of a refusal.
    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            NetworkError::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Whether the access token is not, or no longer, good.
    pub(crate) fn wants_new_token(&self) -> bool {
        matches!(self, NetworkError::Refused { name, .. } if name == "ExpiredToken" || name == "invalid_token")
    }

    /// Whether nobody knows what became of the request: it may have been carried out.
    pub(crate) fn leaves_doubt(&self) -> bool {
        match self {
            NetworkError::Unreachable | NetworkError::TimedOut | NetworkError::BadAnswer(_) => true,
            NetworkError::Refused { status, .. } => *status >= 500,
            NetworkError::Open { .. } | NetworkError::Forbidden | NetworkError::LoginEnded => false,
        }
    }
}

impl Classify for NetworkError {
    fn class(&self) -> Class {
        match self {
            NetworkError::Refused { status, retry_after, .. } => Class::of_status(*status, *retry_after),
            NetworkError::Unreachable | NetworkError::TimedOut => Class::BROKEN,
            NetworkError::Open { .. }
            | NetworkError::BadAnswer(_)
            | NetworkError::Forbidden
            | NetworkError::LoginEnded => Class::LOCAL,
        }
    }
}

impl From<Failure<NetworkError>> for NetworkError {
    fn from(failure: Failure<NetworkError>) -> Self {
        match failure {
            Failure::Open { retry_after } => NetworkError::Open { retry_after },
            Failure::TimedOut { .. } => NetworkError::TimedOut,
            Failure::Failed(error) => error,
        }
    }
}

/// What a tool says where it knows nothing better. The service's own words stay out: they are not ours to vouch for.
impl From<NetworkError> for ToolError {
    fn from(error: NetworkError) -> Self {
        match error {
            NetworkError::Refused { status: 429, retry_after, .. } => {
                let busy = ToolError::client("The service asks to slow down: too many requests.")
                    .hint("Wait a little, then try again.");
                busy.retry_after(retry_after.unwrap_or(Duration::from_secs(60)))
            }
            NetworkError::Refused { status: 500.., .. } => {
                ToolError::server("The service is out of order.").hint("Try again in a moment.")
            }
            NetworkError::Refused { status: 401 | 403, name, .. } => ToolError::authentication(format!(
                "The service wants a login for this ({name})."
            ))
            .hint("Call login first. If you are logged in, log in again: the login may have been ended."),
            NetworkError::Refused { status: 404, .. } => {
                ToolError::not_found("There is no such thing on the network.")
            }
            NetworkError::Refused { name, .. } => {
                ToolError::client(format!("The service refused the request ({name})."))
                    .hint("Check the arguments.")
            }
            NetworkError::Unreachable => ToolError::network("The service could not be reached.").hint(
                "Try again in a moment. If it lasts, check the connection and the hosts in the settings.",
            ),
            NetworkError::TimedOut => {
                ToolError::network("The service did not answer in time.").hint("Try again in a moment.")
            }
            NetworkError::Open { retry_after } => {
                ToolError::server("Service temporarily unavailable").retry_after(retry_after)
            }
            NetworkError::BadAnswer(wanted) => {
                ToolError::server(format!("The service answered something that is not {wanted}."))
            }
            NetworkError::LoginEnded => {
                ToolError::authentication("The login has ended: it has expired or was revoked.")
                    .hint("Call login again with the handle.")
            }
            NetworkError::Forbidden => ToolError::client("The address that this leads to may not be called.")
                .hint("Only public https addresses are called, and those in the settings."),
        }
    }
}
