//! The keys of an issuer: fetched when first needed, kept, and fetched again when a token names one that is
//! not known, or when they are old.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bearer::Denied;
use super::issuer::Issuer;
use crate::loopback::is_here;
use crate::resilience::{Class, Classify, Outside};

/// Past this age keys are fetched again, so that one that was withdrawn does not stay good.
const MOST_AGE: Duration = Duration::from_secs(3600);

/// More than any key set or metadata takes.
const MOST_BYTES: usize = 1 << 20;

/// The keys of one issuer.
pub(super) struct Keys {
    issuer: String,
    keys_url: Option<String>,
    refresh_interval: Duration,
    client: Client,
    outside: Outside,
    ring: Mutex<Arc<Ring>>,
    /// When they were last asked for, well or not. Held while they are, so that one caller fetches for all.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Ring {
    keys: Vec<Key>,
    at: Option<Instant>,
}

struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: Arc<DecodingKey>,
}

/// Why the keys could not be had. Says nothing of where they are.
#[derive(Debug, thiserror::Error)]
enum Unfetched {
    #[error("the issuer could not be reached")]
    Unreached,
    #[error("the issuer answered {0}")]
    Status(u16),
    #[error("the issuer's answer cannot be used")]
    Unusable,
}

impl Classify for Unfetched {
    fn class(&self) -> Class {
        match self {
            Unfetched::Unreached => Class::BROKEN,
            Unfetched::Status(status) => Class::of_status(*status, None),
            Unfetched::Unusable => Class::LOCAL,
        }
    }
}

impl Ring {
    /// A key by its id. Tokens without one are good only where there is nothing to choose.
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Arc<DecodingKey>> {
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.algorithms.contains(&algorithm))
            .filter(|key| id.is_none() || key.id.as_deref() == id);
        let found = fitting.next()?;
        fitting.next().is_none().then(|| Arc::clone(&found.key))
    }

    fn is_old(&self) -> bool {
        self.at.is_none_or(|at| at.elapsed() > MOST_AGE)
    }
}

impl Keys {
    pub(super) fn new(settings: &Issuer) -> Result<Self, String> {
        crate::tls::prepare();
        let mut client = Client::builder()
            .connect_timeout(settings.policy.timeout)
            .redirect(reqwest::redirect::Policy::none());
        if parse(&settings.issuer).is_some_and(|url| is_here(&url)) {
            client = client.no_proxy();
        }
        Ok(Keys {
            issuer: settings.issuer.clone(),
            keys_url: settings.keys_url.clone(),
            refresh_interval: settings.refresh_interval,
            client: client.build().map_err(|_| "the client that fetches keys cannot be made".to_owned())?,
            outside: Outside::new("token issuer", settings.policy),
            ring: Mutex::default(),
            asked: tokio::sync::Mutex::new(None),
        })
    }

    /// The key that a token's header names.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<DecodingKey>, Denied> {
        let ring = self.ring();
        if let Some(key) = ring.find(id, algorithm).filter(|_| !ring.is_old()) {
            return Ok(key);
        }
        self.refresh(&ring).await;
        let ring = self.ring();
        match ring.find(id, algorithm) {
            Some(key) => Ok(key),
            None if ring.at.is_none() => Err(Denied::Unavailable(self.outside.breaker().refuses_for())),
            None => Err(Denied::Invalid),
        }
    }

    fn ring(&self) -> Arc<Ring> {
        Arc::clone(&self.ring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fetches the keys, unless someone has done so since they were `seen`, or tried just now.
    async fn refresh(&self, seen: &Arc<Ring>) {
        let mut asked = self.asked.lock().await;
        let recently = asked.is_some_and(|at| at.elapsed() < self.refresh_interval);
        // Without any key there is nobody to let in: then only the breaker says when not to ask.
        if !Arc::ptr_eq(&self.ring(), seen) || (recently && seen.at.is_some()) {
            return;
        }
        *asked = Some(Instant::now());
        match self.outside.call(|| self.fetch()).await {
            Ok(keys) => {
                tracing::debug!(keys = keys.len(), "fetched the issuer's keys");
                let ring = Arc::new(Ring { keys, at: Some(Instant::now()) });
                *self.ring.lock().unwrap_or_else(PoisonError::into_inner) = ring;
            }
            Err(failure) => tracing::warn!(%failure, "could not fetch the issuer's keys"),
        }
    }

    async fn fetch(&self) -> Result<Vec<Key>, Unfetched> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let url = match &self.keys_url {
            Some(url) => parse(url).ok_or(Unfetched::Unusable)?,
            None => self.discover().await?,
        };
        let set: Set = self.get(url).await?;
        // One by one: a key that we cannot use is no reason to do without the others.
        Ok(set
            .keys
            .into_iter()
            .filter_map(|key| serde_json::from_value(key).ok())
            .filter_map(usable)
            .collect())
    }

    /// Where the issuer's metadata (RFC 8414, or OpenID Connect's) say that its keys are.
    async fn discover(&self) -> Result<Url, Unfetched> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let issuer = parse(&self.issuer).ok_or(Unfetched::Unusable)?;
        let path = issuer.path().trim_end_matches('/').to_owned();
        let mut outcome = Err(Unfetched::Unusable);
        for place in [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ] {
            let mut url = issuer.clone();
            url.set_path(&place);
            outcome = self.get::<Metadata>(url).await;
            // Only one that is not there is a reason to look elsewhere.
            if !matches!(outcome, Err(Unfetched::Status(400..=499))) {
                break;
            }
        }
        let metadata = outcome?;
        let keys = parse(&metadata.jwks_uri).filter(|_| is_trustworthy(&metadata.jwks_uri));
        keys.filter(|_| metadata.issuer == self.issuer).ok_or(Unfetched::Unusable)
    }

    async fn get<T: DeserializeOwned>(&self, url: Url) -> Result<T, Unfetched> {
        let request = self.client.get(url).header(http::header::ACCEPT, "application/json");
        let mut response = request.send().await.map_err(|_| Unfetched::Unreached)?;
        if !response.status().is_success() {
            return Err(Unfetched::Status(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| Unfetched::Unreached)? {
            body.extend_from_slice(&chunk);
            if body.len() > MOST_BYTES {
                return Err(Unfetched::Unusable);
            }
        }
        serde_json::from_slice(&body).map_err(|_| Unfetched::Unusable)
    }
}

/// A key that can check signatures, with the algorithms it is for. Shared secrets are none: whoever reads the
/// set could sign with them.
fn usable(jwk: Jwk) -> Option<Key> {
    use Algorithm::{ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384, RS512};
    if jwk.common.public_key_use.as_ref().is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
        return None;
    }
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![RS256, RS384, RS512, PS256, PS384, PS512],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => vec![ES256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => vec![ES384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => vec![EdDSA],
        _ => return None,
    };
    if let Some(only) = jwk.common.key_algorithm {
        algorithms.retain(|algorithm| Algorithm::try_from(only).is_ok_and(|only| *algorithm == only));
    }
    let key = Arc::new(DecodingKey::from_jwk(&jwk).ok()?);
    Some(Key { id: jwk.common.key_id, algorithms, key })
}

fn parse(url: &str) -> Option<Url> {
    Url::parse(url).ok()
}

/// Whether keys from there can be believed: over TLS, or without leaving the machine.
pub(super) fn is_trustworthy(url: &str) -> bool {
    parse(url).is_some_and(|url| url.scheme() == "https" || (url.scheme() == "http" && is_here(&url)))
}
