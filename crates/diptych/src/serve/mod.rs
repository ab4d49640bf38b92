//! Serving: the ways in which clients reach a server.

#[cfg(feature = "http")]
mod http;
mod signal;
mod stdio;

#[cfg(feature = "oauth")]
pub use self::http::Issuer;
#[cfg(feature = "http")]
pub use self::http::{BoundHttp, Http};
pub(crate) use signal::terminated;
pub use stdio::ServeError;
