//! Who is who: handles, DIDs, and the documents that tie them to each other and to a service.
//!
//! A handle is found by DNS, by its own site or by a service that knows it; whatever was found only counts if the
//! identity's own document names the handle in turn.

mod document;
mod name;
mod resolve;

pub(crate) use name::{Did, Handle};
pub(crate) use resolve::Directory;

/// An identity: who it is, and where it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) did: Did,
    /// The handle that its document names.
    pub(crate) handle: Option<Handle>,
    /// The service (PDS) that keeps the account's repository.
    pub(crate) pds: Option<String>,
    /// The key that signs the repository, as the document has it (multibase).
    pub(crate) signing_key: Option<String>,
}

impl Identity {
    /// The handle where there is one, else the DID.
    pub(crate) fn name(&self) -> &str {
        self.handle.as_ref().map_or(self.did.as_str(), Handle::as_str)
    }
}
