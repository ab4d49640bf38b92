//! TLS for whoever calls out.

/// Chooses the cryptographic library of this process's TLS, `ring`, unless one was chosen before. The toolkit does so
/// for its own clients; a toolset that makes a `reqwest` client of its own calls it first, since such a client
/// cannot be made without.
pub fn prepare() {
    // Whoever came first has chosen.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
