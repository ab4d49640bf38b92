//! Serving: the ways in which clients reach a server.

mod stdio;

pub use stdio::ServeError;
