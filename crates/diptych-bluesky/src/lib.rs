//! The toolset `bluesky`: read, search and write the AT Protocol from a conversation.

mod history;
mod options;
mod tools;

pub use options::BlueskyOptions;
pub use tools::{Bluesky, toolset};
