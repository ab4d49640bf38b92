//! Which network the toolset talks to, and where it keeps things.

use std::path::PathBuf;

use diptych::resilience::Policy;

/// Where the secrets of logins are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Secrets {
    /// In the keyring of the operating system, where it takes them and gives them back; else in the file.
    #[default]
    Auto,
    /// In the keyring, or not at all.
    Keyring,
    /// In a file that only the user can read.
    File,
}

/// Which network, and where things are kept. Nothing is opened, made or contacted before a tool needs it.
#[derive(Debug, Clone)]
pub struct BlueskyOptions {
    /// The AppView: profiles, feeds, threads and the network's search, for reading without an account.
    pub appview: String,
    /// The directory of `did:plc` identities.
    pub plc: String,
    /// The service that accounts log in at when neither the handle nor the caller names one.
    pub service: String,
    /// A DNS-over-HTTPS resolver (JSON) for handles; empty turns DNS off.
    pub dns: String,
    /// Where a handle's own site is asked for its identity; `{handle}` stands for the handle. Without it, the handle
    /// goes into the `Host` header.
    pub well_known: String,
    /// The folder for accounts and what else must last.
    pub data: PathBuf,
    /// The folder for what can be fetched again: repositories and their indexes.
    pub cache: PathBuf,
    /// Whether an app password may be asked for by form. Against the MCP specification; off by default.
    pub password_form: bool,
    /// Where the secrets of logins are kept.
    pub secrets: Secrets,
    /// Whether nothing may be changed: `login` then only lists the accounts.
    pub read_only: bool,
    /// How calls that leave the machine are made.
    pub policy: Policy,
}

impl BlueskyOptions {
    /// The public network, with these folders.
    pub fn new(data: impl Into<PathBuf>, cache: impl Into<PathBuf>) -> Self {
        BlueskyOptions {
            appview: "https://public.api.bsky.app".to_owned(),
            plc: "https://plc.directory".to_owned(),
            service: "https://bsky.social".to_owned(),
            dns: "https://cloudflare-dns.com/dns-query".to_owned(),
            well_known: "https://{handle}".to_owned(),
            data: data.into(),
            cache: cache.into(),
            password_form: false,
            secrets: Secrets::Auto,
            read_only: false,
            policy: Policy::default(),
        }
    }
}
