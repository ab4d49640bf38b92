//! How a tool stops short of an answer: it needs input, it failed, or the client lacks a capability.
//!
//! [`Stop`] is what `?` carries inside a tool. Authors map their own errors to [`ToolError`] once
//! (`impl From<MyError> for ToolError`); whatever they do not want to show goes through [`Masked`].

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::needs::NeedsInput;
use crate::resilience::{Classify, Failure};
use crate::wire::Capability;

/// Why a tool, a prompt or a resource did not answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stop {
    /// Something is missing; the toolkit asks for it and runs the tool again.
    Needs(Box<NeedsInput>),
    /// It failed. The client reads the error as a result, not as a protocol fault.
    Failed(Box<ToolError>),
    /// The client did not declare a capability without which there is no way on.
    Lacks(Capability),
}

impl<E: Into<ToolError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(Box::new(error.into()))
    }
}

impl From<NeedsInput> for Stop {
    fn from(needs: NeedsInput) -> Self {
        Stop::Needs(Box::new(needs))
    }
}

/// What kind of failure a [`ToolError`] is. On the wire: `NETWORK_ERROR` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline, transform = brief)]
#[non_exhaustive]
pub enum Code {
    /// Something outside could not be reached. Retrying can help.
    NetworkError,
    /// Something outside, or the server itself, is out of order. Retrying can help.
    ServerError,
    /// The call itself is at fault.
    ClientError,
    /// What was asked for does not exist.
    NotFound,
    /// Nobody is logged in, or not with the right to do this.
    AuthenticationError,
    /// Something nobody foresaw.
    UnknownError,
}

/// Every tool's output schema carries this enum: the names say enough there.
fn brief(schema: &mut schemars::Schema) {
    schema.remove("oneOf");
    schema.remove("description");
    schema.insert("type".to_owned(), "string".into());
    let codes = [
        Code::NetworkError,
        Code::ServerError,
        Code::ClientError,
        Code::NotFound,
        Code::AuthenticationError,
        Code::UnknownError,
    ];
    schema.insert("enum".to_owned(), codes.map(Code::as_str).to_vec().into());
}

impl Code {
    fn retryable(self) -> bool {
        matches!(self, Code::NetworkError | Code::ServerError)
    }

    /// The code as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::NetworkError => "NETWORK_ERROR",
            Code::ServerError => "SERVER_ERROR",
            Code::ClientError => "CLIENT_ERROR",
            Code::NotFound => "NOT_FOUND",
            Code::AuthenticationError => "AUTHENTICATION_ERROR",
            Code::UnknownError => "UNKNOWN_ERROR",
        }
    }
}

/// A failure as the model and the person read it: a sentence that is safe to show, and what to do.
///
/// ```
/// use diptych::ToolError;
/// let error = ToolError::not_found("There is no city called \"Atlantys\".")
///     .hint("Try \"Atlantis\".");
/// assert_eq!(error.to_string(), "There is no city called \"Atlantys\".");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) retryable: bool,
    pub(crate) details: Map<String, Value>,
}

impl ToolError {
    /// An error of the given code. The message is a sentence that says what happened.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        ToolError {
            code,
            message: message.into(),
            hint: None,
            retryable: code.retryable(),
            details: Map::new(),
        }
    }

    /// The call is at fault ([`Code::ClientError`]).
    pub fn client(message: impl Into<String>) -> Self {
        Self::new(Code::ClientError, message)
    }

    /// The thing does not exist ([`Code::NotFound`]).
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// Something outside could not be reached ([`Code::NetworkError`]).
    pub fn network(message: impl Into<String>) -> Self {
        Self::new(Code::NetworkError, message)
    }

    /// Something is out of order ([`Code::ServerError`]).
    pub fn server(message: impl Into<String>) -> Self {
        Self::new(Code::ServerError, message)
    }

    /// Nobody is logged in, or not with the right to do this ([`Code::AuthenticationError`]).
    pub fn authentication(message: impl Into<String>) -> Self {
        Self::new(Code::AuthenticationError, message)
    }

    /// Hides `detail` from the client: it goes to the log under a reference id that the message names.
    pub fn masked(detail: &dyn fmt::Display) -> Self {
        let reference = reference_id();
        tracing::error!(reference, "{detail}");
        Self::new(
            Code::UnknownError,
            format!("Something went wrong inside the server (reference {reference})."),
        )
        .hint("Try again. If it happens again, look for the reference in the server's log.")
        .detail("reference", reference)
    }

    /// What the reader can do about it, one sentence.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the same call can succeed later. The code has a default.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// Adds a fact for programs. It must be as safe to show as the message.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// When to try again, as `details.retryAfterMs`; makes the error retryable.
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.retryable(true).detail("retryAfterMs", millis)
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The sentence shown to the reader.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// The text of an I/O error names files: it is for the log.
impl From<std::io::Error> for ToolError {
    fn from(error: std::io::Error) -> Self {
        ToolError::masked(&error)
    }
}

/// A call to the outside that failed. The author says what their own error means; the rest is the policy's.
impl<E: Classify + Into<ToolError>> From<Failure<E>> for ToolError {
    fn from(failure: Failure<E>) -> Self {
        let retry_after = failure.retry_after();
        let error = match failure {
            Failure::Open { .. } => ToolError::server("Service temporarily unavailable"),
            Failure::TimedOut { .. } => {
                ToolError::network("The service did not answer in time.").hint("Try again in a moment.")
            }
            Failure::Failed(error) => error.into(),
        };
        match retry_after {
            Some(delay) => error.retry_after(delay),
            None => error,
        }
    }
}

/// A short random id that ties a masked message to its line in the log.
pub(crate) fn reference_id() -> String {
    let mut id = uuid::Uuid::new_v4().simple().to_string();
    id.truncate(8);
    id
}

/// Turns any other error into one that is safe to show, logging the detail under a reference id.
///
/// ```
/// use diptych::Masked;
/// let parsed: Result<u32, _> = "x".parse::<u32>().masked();
/// assert!(parsed.unwrap_err().to_string().contains("reference"));
/// ```
pub trait Masked<T> {
    /// Logs the error and replaces it by a [`ToolError`] that only names a reference.
    ///
    /// # Errors
    /// The masked error, when there was one.
    fn masked(self) -> Result<T, ToolError>;
}

impl<T, E: fmt::Display> Masked<T> for Result<T, E> {
    fn masked(self) -> Result<T, ToolError> {
        self.map_err(|error| ToolError::masked(&error))
    }
}

/// The structured panel of a failed call, `toolError:v1`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The call failed.")]
pub(crate) struct ToolErrorPanel {
    code: Code,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Map<String, Value>>,
}

impl ToolErrorPanel {
    pub(crate) const KIND: &'static str = "toolError:v1";

    pub(crate) fn of(error: &ToolError) -> Self {
        let mut details = error.details.clone();
        if let Some(hint) = &error.hint {
            details.insert("hint".to_owned(), Value::String(hint.clone()));
        }
        ToolErrorPanel {
            code: error.code,
            message: error.message.clone(),
            retryable: Some(error.retryable),
            details: (!details.is_empty()).then_some(details),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resilience::Class;

    #[derive(Debug)]
    struct Busy;

    impl Classify for Busy {
        fn class(&self) -> Class {
            Class::BUSY.after(Some(Duration::from_millis(1500)))
        }
    }

    impl From<Busy> for ToolError {
        fn from(_: Busy) -> Self {
            ToolError::client("Too many requests.")
        }
    }

    #[test]
    fn failures_of_the_outside_are_tool_errors() {
        let open = ToolError::from(Failure::<Busy>::Open { retry_after: Duration::from_secs(30) });
        assert_eq!((open.code(), open.message()), (Code::ServerError, "Service temporarily unavailable"));
        assert_eq!(open.details["retryAfterMs"], 30_000);
        let busy = ToolError::from(Failure::Failed(Busy));
        assert_eq!(
            (busy.code(), busy.retryable, &busy.details["retryAfterMs"]),
            (Code::ClientError, true, &1500.into())
        );
        let late = ToolError::from(Failure::<Busy>::TimedOut { limit: Duration::from_secs(1) });
        assert_eq!((late.code(), late.retryable), (Code::NetworkError, true));
    }
}
