//! Who is on the other end of a call, and the few things the walk may say to them meanwhile.
//!
//! [`Wire`] is the seam between the walk and the protocol: `protocol` implements it over rmcp, and the
//! walk knows nothing else about how messages travel.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::sample::Sample;

/// Something a client may or may not be able to do for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Capability {
    /// Ask its person.
    Elicitation,
    /// Ask its model.
    Sampling,
    /// Name the folders it works in.
    Roots,
}

/// How the two ends got to know each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// `initialize`, then a session in which the server may send requests (before 2026-07-28).
    Session,
    /// Every request stands alone; the server asks by answering `input_required` (2026-07-28).
    Stateless,
}

/// The client behind a call.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) protocol: String,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) forms: bool,
    pub(crate) pages: bool,
    pub(crate) secrets: bool,
    pub(crate) sampling: bool,
    pub(crate) roots: bool,
    pub(crate) remote: bool,
    pub(crate) subject: Option<String>,
}

impl Caller {
    /// The name the client gave itself; empty when it gave none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version the client gave itself; empty when it gave none.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The protocol version of this call, such as `2026-07-28`.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// How the call reached us.
    pub fn lifecycle(&self) -> Lifecycle {
        self.lifecycle
    }

    /// Who is calling, where the transport authenticates.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Whether the call came over HTTP, where the client may be on another machine. Over a pair of streams (stdio, or
    /// in this process) it is whoever started the server, and may name what is on this machine.
    pub fn is_remote(&self) -> bool {
        self.remote
    }

    /// Whether the client declared the capability.
    pub fn can(&self, capability: Capability) -> bool {
        match capability {
            Capability::Elicitation => self.forms || self.pages,
            Capability::Sampling => self.sampling,
            Capability::Roots => self.roots,
        }
    }

    /// Whether the client can show its person a form.
    pub fn shows_forms(&self) -> bool {
        self.forms
    }

    /// Whether the client hides what its person types into a secret field, so that it can be asked for one.
    pub fn hides_secrets(&self) -> bool {
        self.forms && self.secrets && self.lifecycle == Lifecycle::Session
    }

    /// Whether the client can send its person to a page.
    pub fn opens_pages(&self) -> bool {
        self.pages
    }
}

/// How loud a log message is, as MCP has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What a person is shown.
pub(crate) enum Dialog {
    Form { message: String, schema: Map<String, Value>, secrets: Vec<String> },
    Page { message: String, url: String, flow: String },
}

/// What a person did with a dialog.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reaction {
    Accepted(Map<String, Value>),
    Declined,
    Cancelled,
}

/// The client could not be asked, whatever the reason: the walk falls back to the payload.
#[derive(Debug)]
pub(crate) struct Fault;

/// What can be said to the client while its call runs.
pub(crate) trait Wire: Send + Sync {
    /// Whether the client asked for progress.
    fn wants_progress(&self) -> bool;
    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) -> BoxFuture<'_, ()>;
    fn log(&self, level: Level, logger: String, data: Value) -> BoxFuture<'_, ()>;
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, Result<Reaction, Fault>>;
    fn sample(&self, sample: Sample) -> BoxFuture<'_, Result<Value, Fault>>;
    fn roots(&self) -> BoxFuture<'_, Result<Value, Fault>>;
}
