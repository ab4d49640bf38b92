//! The document of an identity, as PLC and `did:web` serve it.

use serde::Deserialize;

use super::{Did, Handle};

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    id: String,
    #[serde(default)]
    also_known_as: Vec<String>,
    #[serde(default)]
    verification_method: Vec<Key>,
    #[serde(default)]
    service: Vec<Service>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    id: String,
    public_key_multibase: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Service {
    id: String,
    service_endpoint: serde_json::Value,
}

impl Document {
    /// Whether it is the document of this identity.
    pub(super) fn is_of(&self, did: &Did) -> bool {
        self.id == did.as_str()
    }

    /// The handle that the identity goes by: the first that it names.
    pub(super) fn handle(&self) -> Option<Handle> {
        self.also_known_as.iter().find_map(|name| Handle::parse(name.strip_prefix("at://")?))
    }

    pub(super) fn pds(&self) -> Option<String> {
        let service = self.service.iter().find(|service| ends_in(&service.id, "atproto_pds"))?;
        service.service_endpoint.as_str().map(|address| address.trim_end_matches('/').to_owned())
    }

    pub(super) fn signing_key(&self) -> Option<String> {
        let key = self.verification_method.iter().find(|key| ends_in(&key.id, "atproto"))?;
        key.public_key_multibase.clone()
    }
}

/// Ids are written as `#name` or with the DID before it.
fn ends_in(id: &str, name: &str) -> bool {
    id.rsplit_once('#').is_some_and(|(_, end)| end == name)
}
