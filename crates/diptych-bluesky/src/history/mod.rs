//! The whole history of one account: its repository, verified against the signed commit, kept in a cache and searchable.
//!
//! ```text
//! car ─► intake ─► commit, tree ─► snapshot (a file)  ─► index (in memory) ─► search
//!        bytes arrive   are checked    what is kept          what is searched
//! ```
//!
//! `car` takes an export apart as it arrives, `intake` sets aside what is needed, `commit` and `tree` prove that it is
//! the account's and all of it, `snapshot` keeps it, `index` and `search` find posts in it by a `query`. `histories`
//! holds it together: it keeps accounts up to date and answers from what it has when the network is away.

mod car;
mod cbor;
mod commit;
mod content_id;
mod error;
mod expression;
mod histories;
mod index;
mod intake;
mod key;
mod query;
mod record;
mod search;
mod snapshot;
#[cfg(any(test, feature = "synthetic"))]
pub mod synthetic;
#[cfg(test)]
mod tests;
mod tree;

pub use commit::VerifiedCommit;
pub use content_id::ContentId;
pub use error::RepositoryError;
pub use expression::Expression;
pub use histories::{
    DEFAULT_LIMIT, Export, Histories, History, KnownAccount, Origin, PATIENCE, Progress, is_outage,
};
pub use index::Index;
pub use key::SigningKey;
pub use query::{Clause, Likes, Media, Moment, Problem, Query, Term};
pub use search::{Found, Hit, People, Quality};

/// The collection of posts.
pub(crate) const POST_COLLECTION: &str = "app.bsky.feed.post";

/// The record key in a post's key.
pub(crate) fn post_key(key: &[u8]) -> Option<&str> {
    let rest = key.strip_prefix(POST_COLLECTION.as_bytes())?.strip_prefix(b"/")?;
    std::str::from_utf8(rest).ok()
}
