//! Everything that leaves the machine: which addresses may be called, how a call is made, and what went wrong.

mod error;
mod web;
mod xrpc;

pub(crate) use error::NetworkError;
pub(crate) use web::{Answer, Web, origin};
pub(crate) use xrpc::{Anonymous, Caller, Method, Request};
