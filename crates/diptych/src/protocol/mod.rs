//! The protocol: the only room that knows rmcp.
//!
//! rmcp changes often, so none of its types appears outside this folder and `serve`/`client`, which hand
//! connections to it. Everything else speaks the toolkit's own words.

pub(crate) mod connection;
pub(crate) mod convert;
pub(crate) mod handler;
pub(crate) mod line;
pub(crate) mod peer;
pub(crate) mod state;
