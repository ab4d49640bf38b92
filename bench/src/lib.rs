//! What the load generator and the reference servers share.

pub mod load;

/// The records that every server's `search` answers with.
pub const RECORDS: &str = include_str!("../records.json");
