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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::extract::{Request as Asked, State};
    use axum::http::StatusCode;
    use axum::response::{IntoResponse as _, Response};
    use diptych::resilience::Policy;
    use serde_json::json;

    use super::*;

    /// What each way of finding a handle answers, and what was asked.
    #[derive(Default)]
    struct World {
        dns: Vec<String>,
        site: Option<String>,
        service: Option<String>,
        appview: Option<String>,
        asked: Vec<&'static str>,
    }

    type Shared = Arc<Mutex<World>>;

    const HANDLE: &str = "alice.example.com";

    /// A DID of which the letters say who it is.
    fn did(letter: &str) -> String {
        format!("did:plc:{}", letter.repeat(24))
    }

    /// One service on loopback that is the resolver, the handle's site, two services and the directory.
    async fn answer(State(world): State<Shared>, request: Asked) -> Response {
        let (path, query) =
            (request.uri().path().to_owned(), request.uri().query().unwrap_or_default().to_owned());
        let host =
            request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
        let mut world = world.lock().unwrap();
        let text = |did: &Option<String>| match did {
            Some(did) => did.clone().into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
        let resolved = |did: &Option<String>| match did {
            Some(did) => axum::Json(json!({"did": did})).into_response(),
            None => (StatusCode::BAD_REQUEST, axum::Json(json!({"error": "HandleNotFound"}))).into_response(),
        };
        match path.as_str() {
            "/dns" => {
                assert_eq!(query, format!("name=_atproto.{HANDLE}&type=TXT"));
                world.asked.push("dns");
                let records: Vec<_> =
                    world.dns.iter().map(|data| json!({"data": format!("\"{data}\"")})).collect();
                axum::Json(json!({"Status": 0, "Answer": records})).into_response()
            }
            "/.well-known/atproto-did" => {
                assert_eq!(host, HANDLE, "a site knows by the name for whom it is asked");
                world.asked.push("site");
                text(&world.site)
            }
            "/service/xrpc/com.atproto.identity.resolveHandle" => {
                world.asked.push("service");
                resolved(&world.service)
            }
            "/appview/xrpc/com.atproto.identity.resolveHandle" => {
                world.asked.push("appview");
                resolved(&world.appview)
            }
            // The directory of `did:plc`, and the documents of `did:web`. One of them goes by another name.
            path => {
                let (id, name) = match path {
                    "/.well-known/did.json" => (format!("did:web:{}", host.replace(':', "%3A")), HANDLE),
                    path if path.contains("zzzz") => {
                        (path.trim_start_matches("/plc/").to_owned(), "mallory.example.com")
                    }
                    path if path.contains("missing") => return StatusCode::NOT_FOUND.into_response(),
                    path => (path.trim_start_matches("/plc/").to_owned(), HANDLE),
                };
                axum::Json(json!({
                    "id": id,
                    "alsoKnownAs": [format!("at://{name}")],
                    "verificationMethod": [{"id": format!("{id}#atproto"), "publicKeyMultibase": "zKey"}],
                    "service": [{"id": "#atproto_pds", "serviceEndpoint": "https://pds.example.com/"}],
                }))
                .into_response()
            }
        }
    }

    /// The directory that such a world has, and its address.
    async fn directory(world: World) -> (Directory, Shared, String) {
        let world = Arc::new(Mutex::new(world));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let router = axum::Router::new().fallback(answer).with_state(Arc::clone(&world));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let mut options = BlueskyOptions::new("data", "cache");
        options.plc = format!("{address}/plc");
        options.dns = format!("{address}/dns");
        options.well_known.clone_from(&address);
        options.appview = format!("{address}/appview");
        options.policy = Policy { attempts: 1, ..Policy::default() };
        (Directory::new(Web::new(&options), &options), world, address)
    }

    async fn found(world: World) -> (Result<Identity, IdentityError>, Vec<&'static str>) {
        let (directory, world, address) = directory(world).await;
        let handle = Handle::parse(HANDLE).unwrap();
        let found = directory.by_handle_at(&handle, Some(&format!("{address}/service"))).await;
        let mut asked = world.lock().unwrap().asked.clone();
        // The first two are asked at once.
        let first = asked.len().min(2);
        asked[..first].sort_unstable();
        (found, asked)
    }

    #[tokio::test]
    async fn a_handle_is_found_by_dns_then_its_site_then_services() {
        let record = |letter: &str| format!("did={}", did(letter));
        let both = ["dns", "site"];
        let cases = [
            ("DNS alone", World { dns: vec![record("a")], ..World::default() }, "a", both.to_vec()),
            ("the site alone", World { site: Some(did("b")), ..World::default() }, "b", both.to_vec()),
            (
                "DNS before the site",
                World { dns: vec![record("a")], site: Some(did("b")), ..World::default() },
                "a",
                both.to_vec(),
            ),
            (
                "other records beside the one",
                World { dns: vec!["v=spf1 -all".to_owned(), record("a")], ..World::default() },
                "a",
                both.to_vec(),
            ),
            (
                "two that contradict each other are none",
                World { dns: vec![record("a"), record("c")], site: Some(did("b")), ..World::default() },
                "b",
                both.to_vec(),
            ),
            (
                "nonsense on the site is none",
                World { site: Some("<html>".to_owned()), service: Some(did("d")), ..World::default() },
                "d",
                vec!["dns", "site", "service"],
            ),
            (
                "the service that is at hand before the AppView",
                World { service: Some(did("d")), appview: Some(did("e")), ..World::default() },
                "d",
                vec!["dns", "site", "service"],
            ),
            (
                "the AppView last",
                World { appview: Some(did("e")), ..World::default() },
                "e",
                vec!["dns", "site", "service", "appview"],
            ),
        ];
        for (case, world, letter, ways) in cases {
            let (identity, asked) = found(world).await;
            let identity = identity.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!((identity.did.as_str(), asked), (did(letter).as_str(), ways), "{case}");
            assert_eq!(identity.pds.as_deref(), Some("https://pds.example.com"), "{case}");
        }
        assert!(matches!(found(World::default()).await.0, Err(IdentityError::NoSuchHandle(_))));
        // Whoever says so, an identity that goes by another name is not it.
        let (deceived, _) = found(World { dns: vec![record("z")], ..World::default() }).await;
        assert!(matches!(deceived, Err(IdentityError::Contradiction { .. })));
    }

    #[tokio::test]
    async fn an_identity_on_the_web_is_read_from_its_site() {
        let (directory, world, address) = directory(World::default()).await;
        let port = address.rsplit(':').next().unwrap();
        let web = Did::parse(&format!("did:web:localhost%3A{port}")).unwrap();
        let identity = directory.by_did(&web).await.unwrap();
        assert_eq!(identity.name(), HANDLE);
        assert_eq!(identity.signing_key.as_deref(), Some("zKey"));
        // By its handle too, whichever way that leads to it.
        world.lock().unwrap().site = Some(web.to_string());
        let by_handle = directory.by_handle(&Handle::parse(HANDLE).unwrap()).await.unwrap();
        assert_eq!(by_handle, identity);
        // A site that is not on this machine is asked over https, so that here nothing answers.
        let elsewhere = Did::parse("did:web:nobody.invalid").unwrap();
        assert!(matches!(directory.by_did(&elsewhere).await, Err(IdentityError::Network(_))));
    }
}
