//! The protocol: the only room that knows rmcp.
//!
//! rmcp changes often, so none of its types appears outside this folder and `serve`/`client`, which hand
//! connections to it. Everything else speaks the toolkit's own words.

pub(crate) mod connection;
pub(crate) mod convert;
pub(crate) mod direct;
pub(crate) mod envelope;
pub(crate) mod handler;
pub(crate) mod line;
pub(crate) mod peer;
pub(crate) mod state;

/// The name under which the protocol's own crate logs, for log filters.
pub const PROTOCOL_LOG: &str = "rmcp";

/// Whether a log record may be written at all. Below `info` the protocol's crate writes whole requests and
/// results, secrets included: those never, whatever the log level.
pub fn is_discreet(metadata: &tracing::Metadata<'_>) -> bool {
    !metadata.target().starts_with(PROTOCOL_LOG) || *metadata.level() <= tracing::Level::INFO
}
