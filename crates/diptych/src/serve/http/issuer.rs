//! Tokens that an OAuth issuer signed: an access token is good when the issuer's key signed it, for us, for
//! now, and with the scopes that are required.
//!
//! Clients learn where to get one from the protected resource metadata of RFC 9728.

use std::collections::BTreeSet;
use std::time::Duration;

use http::{HeaderMap, header};
use jsonwebtoken::{Validation, dangerous};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bearer::Denied;
use super::keys::{self, Keys};
use super::signature;
use crate::resilience::Policy;

/// Where the metadata of a protected resource is found.
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// An OAuth issuer whose access tokens let callers in. The subject of a call is the token's `sub`.
///
/// ```
/// use diptych::{Http, Issuer};
///
/// let issuer = Issuer::new("https://login.example.com", "https://mcp.example.com/mcp")
///     .resource("https://mcp.example.com/mcp")
///     .scope("tools");
/// let http = Http::new().allowed_hosts(["mcp.example.com"]).issuer(issuer);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Issuer {
    pub(super) issuer: String,
    audience: String,
    scopes: Vec<String>,
    resource: Option<String>,
    pub(super) keys_url: Option<String>,
    pub(super) refresh_interval: Duration,
    pub(super) policy: Policy,
}

impl Issuer {
    /// The issuer as its tokens name it (`iss`), and what they must be made for (`aud`): mostly the URL under
    /// which clients know this server.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Issuer {
            issuer: issuer.into(),
            audience: audience.into(),
            scopes: Vec::new(),
            resource: None,
            keys_url: None,
            refresh_interval: Duration::from_secs(60),
            // A caller waits for it, so it has to be quicker than calls that a tool makes.
            policy: Policy {
                timeout: Duration::from_secs(5),
                attempts: 2,
                first_wait: Duration::from_millis(250),
                jitter: Duration::from_millis(250),
                ..Policy::default()
            },
        }
    }

    /// Requires a scope. Can be called several times; a token needs all of them.
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// Sets the URL under which clients know this server, for the metadata that leads them to the issuer. By
    /// default it is put together from the request's `Host`, which is wrong behind a proxy that speaks HTTPS.
    pub fn resource(mut self, url: impl Into<String>) -> Self {
        self.resource = Some(url.into());
        self
    }

    /// Sets the URL of the issuer's keys (its JWKS). By default the issuer's metadata say where they are.
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {
        self.keys_url = Some(url.into());
        self
    }

    /// Sets how soon the keys may be fetched again when a token names one that is not known (a minute).
    pub fn refresh_interval(mut self, interval: Duration) -> Self {
        self.refresh_interval = interval;
        self
    }

    /// Sets how the keys are fetched.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// What is wrong with the settings.
    fn problem(&self) -> Option<String> {
        let urls = [Some(&self.issuer), self.keys_url.as_ref()];
        if let Some(url) = urls.into_iter().flatten().find(|url| !keys::is_trustworthy(url)) {
            return Some(format!("`{url}` must be an https URL, or one of this machine"));
        }
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"');
        if let Some(scope) = self.scopes.iter().find(|scope| !plain(scope)) {
            return Some(format!("`{scope}` is not a scope"));
        }
        let resource = self.resource.as_deref()?;
        let is_url = resource.starts_with("https://") || resource.starts_with("http://");
        (!is_url || !plain(resource)).then(|| format!("`{resource}` is not the URL of a server"))
    }
}

/// Checks the tokens of an issuer.
pub(super) struct Verifier {
    settings: Issuer,
    keys: Keys,
}

/// What a token says, as far as it matters here. Whatever else is required, `Validation` looks at.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    #[serde(default)]
    scope: Scopes,
    /// How some issuers spell it.
    #[serde(default)]
    scp: Scopes,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scopes {
    Words(String),
    List(Vec<String>),
}

impl Default for Scopes {
    fn default() -> Self {
        Scopes::List(Vec::new())
    }
}

impl Scopes {
    fn iter(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Scopes::Words(words) => Box::new(words.split_ascii_whitespace()),
            Scopes::List(list) => Box::new(list.iter().map(String::as_str)),
        }
    }
}

/// The one claim that is looked at before the signature: whose keys would be needed at all.
#[derive(Deserialize)]
struct Unverified {
    iss: String,
}

impl Verifier {
    pub(super) fn new(settings: Issuer) -> Result<Self, String> {
        if let Some(problem) = settings.problem() {
            return Err(problem);
        }
        signature::install();
        let keys = Keys::new(&settings)?;
        Ok(Verifier { settings, keys })
    }

    /// The subject of a token.
    pub(super) async fn subject(&self, token: &str) -> Result<String, Denied> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Denied::Invalid)?;
        let unverified: Unverified = dangerous::insecure_decode_claims(token).map_err(|_| Denied::Invalid)?;
        if unverified.iss != self.settings.issuer {
            return Err(Denied::Invalid);
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_audience(&[&self.settings.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        let claims: Claims = match jsonwebtoken::decode(token, &key, &validation) {
            Ok(token) => token.claims,
            Err(error) => {
                tracing::debug!(reason = ?error.kind(), "refused a token");
                return Err(Denied::Invalid);
            }
        };
        let granted: BTreeSet<&str> = claims.scope.iter().chain(claims.scp.iter()).collect();
        if self.settings.scopes.iter().all(|scope| granted.contains(scope.as_str())) {
            Ok(claims.sub)
        } else {
            Err(Denied::Scope)
        }
    }

    /// What a challenge says about where to get a token, and with which scopes.
    pub(super) fn hint(&self, headers: &HeaderMap, path: &str) -> String {
        let resource = self.resource(headers, path);
        let after_scheme = resource.find("://").map_or(0, |at| at + 3);
        let host_end = resource[after_scheme..].find('/').map_or(resource.len(), |at| after_scheme + at);
        let (origin, path) = resource.split_at(host_end);
        let mut hint = format!("resource_metadata=\"{origin}{WELL_KNOWN}{}\"", path.trim_end_matches('/'));
        if !self.settings.scopes.is_empty() {
            hint.push_str(&format!(", scope=\"{}\"", self.settings.scopes.join(" ")));
        }
        hint
    }

    /// The metadata of RFC 9728.
    pub(super) fn metadata(&self, headers: &HeaderMap, path: &str, name: &str) -> Value {
        let mut metadata = json!({
            "resource": self.resource(headers, path),
            "authorization_servers": [self.settings.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": name,
        });
        if !self.settings.scopes.is_empty() {
            metadata["scopes_supported"] = json!(self.settings.scopes);
        }
        metadata
    }

    fn resource(&self, headers: &HeaderMap, path: &str) -> String {
        self.settings.resource.clone().unwrap_or_else(|| {
            // The gate let it in, so it is one of ours.
            let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
            format!("http://{host}{path}")
        })
    }
}
