//! The toolset `graph`: a knowledge-graph memory with history, decay and search.
//!
//! [`store`] is everything below the tools: one SQLite file that any number of processes share, holding
//! entities, their observations and the relations between them, with every earlier state of each. [`toolset`] puts
//! it to use, and [`picture()`] draws it.

mod meaning;
mod picture;
pub mod store;
mod tools;

pub use meaning::{Meaning, Step};
pub use picture::{PictureFormat, picture};
pub use store::{Project, Scope, Store, StoreError, StoreOptions, Timestamp};
pub use tools::{Graph, GraphOptions, Memory, announce, toolset};
