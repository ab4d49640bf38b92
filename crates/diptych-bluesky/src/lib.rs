//! The toolset `bluesky`: read, search and write the AT Protocol from a conversation.
#![allow(dead_code, unused_imports, reason = "the tools that use all of this follow")]

pub mod history;
mod identity;
mod network;
mod options;
mod posts;
mod reference;
mod text;
mod tools;

pub use options::BlueskyOptions;
pub use tools::{Bluesky, toolset};
