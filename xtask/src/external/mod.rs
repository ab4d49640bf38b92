//! The suites that others wrote: each runs our servers from outside, as a client would.

pub(crate) mod assert;
pub(crate) mod bluesky;
pub(crate) mod catalogue;
pub(crate) mod conformance;
pub(crate) mod devnet;
pub(crate) mod inspector;
pub(crate) mod keyring;
pub(crate) mod memory;
pub(crate) mod python;
pub(crate) mod semantic;
mod servers;
