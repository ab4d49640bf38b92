//! The toolset itself: what clients see of the network.

use diptych::Toolset;

use crate::options::BlueskyOptions;

/// The state that the tools share.
#[derive(Debug)]
pub struct Bluesky {
    /// Which network, and where things are kept.
    #[allow(dead_code, reason = "read by the tools")]
    pub(crate) options: BlueskyOptions,
}

/// The toolset `bluesky`.
#[must_use]
pub fn toolset(options: BlueskyOptions) -> Toolset<Bluesky> {
    Toolset::new("bluesky", Bluesky { options })
}
