//! The whole history of one account: its repository, verified against the signed commit, kept in a cache and searchable.
