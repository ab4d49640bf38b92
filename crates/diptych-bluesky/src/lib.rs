//! The toolset `bluesky`: read, search and write the AT Protocol from a conversation.

mod accounts;
pub mod history;
mod identity;
mod network;
mod options;
mod posts;
mod private;
mod reference;
mod text;
mod tools;

pub use accounts::{LoginsProblem, logged_in};
pub use options::{BlueskyOptions, Secrets};
pub use tools::{Bluesky, toolset};
