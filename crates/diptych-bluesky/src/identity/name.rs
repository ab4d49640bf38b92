//! The two kinds of names: handles, which people read, and DIDs, which last.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A handle, such as `alice.example.com`: lower case, without `@`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Handle(String);

impl Handle {
    /// Reads a handle, with or without `@`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('@').unwrap_or(text);
        // People paste what other programs hid in a name.
        let handle = text.trim_matches(|c: char| !c.is_ascii_graphic()).to_ascii_lowercase();
        let labels: Vec<&str> = handle.split('.').collect();
        let is_label = |label: &&str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let fits = handle.len() <= 253
            && labels.len() >= 2
            && labels.iter().all(is_label)
            && labels.last().is_some_and(|top| top.starts_with(|c: char| c.is_ascii_alphabetic()));
        // What services show for a handle that does not lead back to its identity.
        (fits && handle != "handle.invalid").then_some(Handle(handle))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Handle {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Handle::parse(&text).ok_or("not a handle")
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> Self {
        handle.0
    }
}

/// A DID of one of the two methods of the AT Protocol: `did:plc` and `did:web`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Did(String);

impl Did {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = if let Some(id) = text.strip_prefix("did:plc:") {
            id.len() == 24 && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'))
        } else if let Some(host) = text.strip_prefix("did:web:") {
            // A host, perhaps with a port; the AT Protocol has no paths in them.
            let name = host.split_once("%3A").map_or(host, |(name, _)| name);
            let port = host.split_once("%3A").is_none_or(|(_, port)| port.parse::<u16>().is_ok());
            port && (name == "localhost" || Handle::parse(name).is_some_and(|handle| handle.as_str() == name))
        } else {
            false
        };
        fits.then(|| Did(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The host of a `did:web`.
    pub(crate) fn web_host(&self) -> Option<String> {
        self.0.strip_prefix("did:web:").map(|host| host.replace("%3A", ":"))
    }
}

impl fmt::Display for Did {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for Did {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Did::parse(&text).ok_or("not a DID")
    }
}

impl From<Did> for String {
    fn from(did: Did) -> Self {
        did.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_host_names() {
        for (text, handle) in [
            ("alice.test", "alice.test"),
            ("@Alice.Example.COM", "alice.example.com"),
            (" bob.bsky.social\u{200b}", "bob.bsky.social"),
            ("x-y.z9", "x-y.z9"),
        ] {
            assert_eq!(Handle::parse(text).unwrap().as_str(), handle, "{text}");
        }
        for text in [
            "",
            "alice",
            "@",
            "a..b",
            "-a.com",
            "a-.com",
            "a b.com",
            "a.1",
            "a_b.com",
            "handle.invalid",
            "a/b.com",
        ] {
            assert_eq!(Handle::parse(text), None, "{text}");
        }
        assert_eq!(Handle::parse(&format!("{}.com", "a".repeat(64))), None);
    }

    #[test]
    fn dids_are_of_two_methods() {
        assert!(Did::parse("did:plc:abcdefghijklmnopqrstuvwx").is_some());
        assert_eq!(Did::parse("did:web:localhost%3A2583").unwrap().web_host().unwrap(), "localhost:2583");
        assert!(Did::parse("did:web:example.com").is_some());
        for text in [
            "did:plc:short",
            "did:plc:abcdefghijklmnopqrstuvw!",
            "did:web:example.com:path",
            "did:web:example.com/../x",
            "did:web:",
            "did:key:zabc",
            "alice.test",
        ] {
            assert_eq!(Did::parse(text), None, "{text}");
        }
    }
}
