//! From a handle or a DID to an identity, both ways.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use diptych::ToolError;
use serde::Deserialize;

use super::document::Document;
use super::{Did, Handle, Identity};
use crate::network::{Anonymous, Caller, NetworkError, Request, Web};
use crate::options::BlueskyOptions;

/// How long an identity is taken to stay as it is.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// The most identities that are remembered.
const MOST_KNOWN: usize = 2_000;

/// Why there is no identity.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum IdentityError {
    #[error("There is no account with the handle {0}.")]
    NoSuchHandle(Handle),
    #[error("There is no account with the DID {0}.")]
    NoSuchDid(Did),
    #[error("The handle {handle} leads to {did}, which does not go by that handle.")]
    Contradiction { handle: Handle, did: Did },
    #[error("The network could not be asked who this is.")]
    Network(#[from] NetworkError),
}

impl From<IdentityError> for ToolError {
    fn from(error: IdentityError) -> Self {
        let message = error.to_string();
        match error {
            IdentityError::NoSuchHandle(_) | IdentityError::NoSuchDid(_) => ToolError::not_found(message)
                .hint("Check the spelling. A handle has its domain, as in name.bsky.social."),
            IdentityError::Contradiction { .. } => ToolError::not_found(message).hint(
                "The handle may have been given up or be made to deceive. Use the DID if you trust it.",
            ),
            IdentityError::Network(error) => error.into(),
        }
    }
}

/// Knows how to find identities, and remembers those that it found.
#[derive(Debug)]
pub(crate) struct Directory {
    web: Web,
    plc: String,
    dns: String,
    well_known: String,
    appview: String,
    known: Mutex<HashMap<Did, (Instant, Identity)>>,
    handles: Mutex<HashMap<Handle, (Instant, Did)>>,
}

impl Directory {
    pub(crate) fn new(web: Web, options: &BlueskyOptions) -> Self {
        Directory {
            web,
            plc: options.plc.trim_end_matches('/').to_owned(),
            dns: options.dns.clone(),
            well_known: options.well_known.clone(),
            appview: options.appview.clone(),
            known: Mutex::default(),
            handles: Mutex::default(),
        }
    }

    /// The identity that goes by a handle.
    pub(crate) async fn by_handle(&self, handle: &Handle) -> Result<Identity, IdentityError> {
        self.by_handle_at(handle, None).await
    }

    /// The identity that goes by a handle, where a service is at hand that may know it.
    pub(crate) async fn by_handle_at(
        &self,
        handle: &Handle,
        service: Option<&str>,
    ) -> Result<Identity, IdentityError> {
        let did = match recall(&self.handles, handle) {
            Some(did) => did,
            None => self.look_up(handle, service).await?,
        };
        let identity = self.by_did(&did).await?;
        if identity.handle.as_ref() != Some(handle) {
            return Err(IdentityError::Contradiction { handle: handle.clone(), did });
        }
        remember(&self.handles, handle.clone(), did);
        Ok(identity)
    }

    /// The identity of a DID, as its document has it.
    pub(crate) async fn by_did(&self, did: &Did) -> Result<Identity, IdentityError> {
        if let Some(identity) = recall(&self.known, did) {
            return Ok(identity);
        }
        let address = match did.web_host() {
            Some(host) => {
                let scheme =
                    if self.web.is_local() && host.starts_with("localhost") { "http" } else { "https" };
                format!("{scheme}://{host}/.well-known/did.json")
            }
            None => format!("{}/{did}", self.plc),
        };
        let document: Document = match self.web.get(&address, &[]).await.and_then(|answer| answer.json()) {
            Ok(document) => document,
            Err(NetworkError::Refused { status: 404 | 410, .. }) => {
                return Err(IdentityError::NoSuchDid(did.clone()));
            }
            Err(error) => return Err(error.into()),
        };
        if !document.is_of(did) {
            return Err(IdentityError::NoSuchDid(did.clone()));
        }
        let identity = Identity {
            did: did.clone(),
            handle: document.handle(),
            pds: document.pds(),
            signing_key: document.signing_key(),
        };
        remember(&self.known, did.clone(), identity.clone());
        Ok(identity)
    }

    /// Forgets an identity, so that it is looked up again: its key or its service may have changed.
    pub(crate) fn forget(&self, did: &Did) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(did);
    }

    /// DNS and the handle's own site are asked at once, and services that know many handles after them.
    async fn look_up(&self, handle: &Handle, service: Option<&str>) -> Result<Did, IdentityError> {
        let (dns, site) = tokio::join!(self.by_dns(handle), self.by_site(handle));
        if let Some(did) = dns.or(site) {
            return Ok(did);
        }
        let mut problem = None;
        for service in service.into_iter().chain([self.appview.as_str()]) {
            match self.by_service(handle, service).await {
                Ok(did) => return Ok(did),
                // A service that answers has no such handle.
                Err(NetworkError::Refused { status: 400..500, .. }) => {}
                Err(error) => problem = Some(error),
            }
        }
        Err(problem.map_or_else(|| IdentityError::NoSuchHandle(handle.clone()), IdentityError::Network))
    }

    async fn by_dns(&self, handle: &Handle) -> Option<Did> {
        #[derive(Deserialize)]
        struct Records {
            #[serde(rename = "Answer", default)]
            answer: Vec<Record>,
        }
        #[derive(Deserialize)]
        struct Record {
            data: String,
        }
        if self.dns.is_empty() {
            return None;
        }
        let address = format!("{}?name=_atproto.{handle}&type=TXT", self.dns);
        let answer = self.once(&address, &[("accept", "application/dns-json")]).await?;
        let records: Records = answer.json().ok()?;
        let mut dids = records
            .answer
            .iter()
            .filter_map(|record| Did::parse(record.data.trim_matches('"').strip_prefix("did=")?));
        let did = dids.next()?;
        // Two answers are none.
        dids.all(|other| other == did).then_some(did)
    }

    async fn by_site(&self, handle: &Handle) -> Option<Did> {
        let base = self.well_known.replace("{handle}", handle.as_str());
        let address = format!("{base}/.well-known/atproto-did");
        let host = [("host", handle.as_str())];
        let headers = if self.well_known.contains("{handle}") { &[][..] } else { &host[..] };
        let answer = self.once(&address, headers).await?;
        Did::parse(std::str::from_utf8(&answer.body).ok()?)
    }

    async fn by_service(&self, handle: &Handle, service: &str) -> Result<Did, NetworkError> {
        #[derive(Deserialize)]
        struct Resolved {
            did: Did,
        }
        let service = Anonymous { web: self.web.clone(), service: service.to_owned() };
        let request =
            Request::get("com.atproto.identity.resolveHandle", vec![("handle", handle.as_str().to_owned())]);
        let caller: &dyn Caller = &service;
        Ok(caller.read::<Resolved>(request).await?.did)
    }

    /// One attempt and no breaker: for most handles one of the two ways is meant to fail.
    async fn once(&self, address: &str, headers: &[(&'static str, &str)]) -> Option<crate::network::Answer> {
        let url = self.web.allowed(address).ok()?;
        let request = self.web.request(reqwest::Method::GET, url);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let sent = tokio::time::timeout(Duration::from_secs(3), self.web.send(request));
        sent.await.ok()?.ok()?.success().ok()
    }
}

type Known<K, V> = Mutex<HashMap<K, (Instant, V)>>;

fn recall<K: std::hash::Hash + Eq, V: Clone>(known: &Known<K, V>, key: &K) -> Option<V> {
    let known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.get(key).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, value)| value.clone())
}

fn remember<K: std::hash::Hash + Eq, V>(known: &Known<K, V>, key: K, value: V) {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(key, (Instant::now(), value));
}
