//! Why a repository cannot be trusted, read or kept.

use diptych::ToolError;

/// What is wrong with a repository. Each is a sentence that is safe to show: none carries an address, a path or
/// anything that the server sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// The transfer ended in the middle of something.
    #[error("The repository arrived cut short.")]
    CutShort,
    /// What was sent is no repository export.
    #[error("What the server sent is not a repository: {0}.")]
    NotARepository(&'static str),
    /// The bytes of a block are not those that its name stands for.
    #[error("The repository was damaged or changed on the way: a block does not match its hash.")]
    HashMismatch,
    /// It is larger than the limit that was set.
    #[error("The repository is larger than the limit of {limit_mb} MB.")]
    TooLarge {
        /// The limit.
        limit_mb: u64,
    },
    /// A block is larger than the protocol allows, or there are too many of them.
    #[error("The repository is not of a size that can be read: {0}.")]
    Oversized(&'static str),
    /// Something that the commit refers to is not there.
    #[error("The repository is incomplete: {0} is missing.")]
    MissingBlock(&'static str),
    /// A block is not what its place asks for.
    #[error("The repository is malformed: {0}.")]
    Malformed(&'static str),
    /// It is another account's.
    #[error("The server sent the repository of another account.")]
    WrongAccount,
    /// The commit was not signed with the account's key.
    #[error("The repository's signature does not match the account's key.")]
    ForgedSignature,
    /// The identity names no key that signatures can be checked with.
    #[error("The account's identity has no signing key that can be used.")]
    NoSigningKey,
    /// The server sent a state that is older than one already seen.
    #[error("The server sent an older state of the repository than the one that is already known.")]
    OlderState,
    /// Only changes were sent, and they cannot be proven to be all of them.
    #[error("The changes that the server sent do not fit what is already known.")]
    UnprovenChanges,
    /// The cache folder cannot be used.
    #[error("The cache folder could not be read or written.")]
    Cache(#[from] std::io::Error),
}

impl From<RepositoryError> for ToolError {
    fn from(error: RepositoryError) -> Self {
        use RepositoryError as E;
        if let E::Cache(detail) = &error {
            tracing::error!(%detail, "the history cache cannot be used");
        }
        let message = error.to_string();
        match error {
            E::CutShort | E::HashMismatch | E::MissingBlock(_) | E::UnprovenChanges => {
                ToolError::network(message).hint("Try again in a moment.")
            }
            E::TooLarge { .. } | E::Oversized(_) => ToolError::client(message)
                .hint("Search this account with `account: \"everyone\"` and `from:` in the query instead."),
            E::NotARepository(_) | E::Malformed(_) | E::OlderState => ToolError::server(message)
                .hint("Try again later; what the account's server sends is out of order."),
            E::WrongAccount | E::ForgedSignature | E::NoSigningKey => {
                ToolError::server(message).retryable(false).hint(
                    "Nothing of it was used. The account's server is out of order, or someone is in between.",
                )
            }
            E::Cache(_) => ToolError::server(message)
                .hint("See that the cache folder can be written and has room, then try again."),
        }
    }
}
