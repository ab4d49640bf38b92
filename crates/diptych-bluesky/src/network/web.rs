//! HTTP with the toolkit's care: a breaker for each host, bounded answers, and no address that an identity document
//! could use to reach into a private network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use diptych::resilience::{Outside, Policy};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Host, Url};

use super::error::NetworkError;
use crate::options::BlueskyOptions;

/// The largest answer that is read into memory. (Repositories are streamed.)
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The network outside. A clone shares connections and breakers.
#[derive(Debug, Clone)]
pub(crate) struct Web {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Made at first use: loading the certificates takes its time.
    client: OnceLock<reqwest::Client>,
    hosts: Mutex<HashMap<String, Outside>>,
    policy: Policy,
    /// The origins that the settings name.
    trusted: Vec<String>,
    /// The settings name a network on this machine, so that others of its addresses may be called.
    local: bool,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, NetworkError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            // Only the place: serde's message may quote the body.
            tracing::debug!(line = error.line(), column = error.column(), "an answer does not fit");
            NetworkError::BadAnswer("of the form expected")
        })
    }

    /// The answer if it is a success, else the refusal that it is.
    pub(crate) fn success(self) -> Result<Self, NetworkError> {
        if (200..300).contains(&self.status) { Ok(self) } else { Err(self.refusal()) }
    }

    /// The refusal, as XRPC and OAuth put it.
    pub(crate) fn refusal(&self) -> NetworkError {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let name = body["error"].as_str().unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name =
            if !name.is_empty() && name.len() <= 64 && name.chars().all(is_name) { name } else { "Unnamed" };
        NetworkError::Refused {
            status: self.status,
            name: name.to_owned(),
            retry_after: retry_after(&self.headers),
        }
    }
}

/// When to come back: `Retry-After` in seconds, else the moment that `RateLimit-Reset` names.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    if let Some(seconds) = number(RETRY_AFTER.as_str()) {
        return Some(Duration::from_secs(seconds));
    }
    if number("ratelimit-remaining") != Some(0) {
        return None;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    number("ratelimit-reset").map(|reset| Duration::from_secs(reset.saturating_sub(now).max(1)))
}

/// Scheme, host and port of an address.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

impl Web {
    pub(crate) fn new(options: &BlueskyOptions) -> Self {
        let named = [&options.appview, &options.plc, &options.service, &options.dns, &options.well_known];
        let urls: Vec<Url> = named.into_iter().filter_map(|address| Url::parse(address).ok()).collect();
        Web {
            inner: Arc::new(Inner {
                client: OnceLock::new(),
                hosts: Mutex::default(),
                policy: options.policy,
                local: urls.iter().any(is_loopback),
                trusted: urls.iter().map(origin).collect(),
            }),
        }
    }

    fn client(&self) -> &reqwest::Client {
        self.inner.client.get_or_init(|| {
            diptych::tls::prepare();
            let builder = reqwest::Client::builder()
                .user_agent(concat!("diptych/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(Duration::from_secs(5))
                // A redirect could lead where we would not have gone.
                .redirect(reqwest::redirect::Policy::none());
            // It only fails where the machine has no TLS to offer; then every call fails, and says so.
            builder.build().unwrap_or_default()
        })
    }

    /// The address, if it may be called.
    ///
    /// Handles and identity documents are written by strangers: only public names over https, the origins in the
    /// settings and, where these are on this machine, others on this machine.
    pub(crate) fn allowed(&self, address: &str) -> Result<Url, NetworkError> {
        let url = Url::parse(address).map_err(|_| NetworkError::Forbidden)?;
        let plain = url.username().is_empty() && url.password().is_none();
        let public = url.scheme() == "https" && is_public_name(&url);
        let local = self.inner.local && matches!(url.scheme(), "http" | "https") && is_loopback(&url);
        if plain && (public || local || self.inner.trusted.contains(&origin(&url))) {
            Ok(url)
        } else {
            Err(NetworkError::Forbidden)
        }
    }

    /// Whether the network is one on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.inner.local
    }

    /// What is known about the host of this address. Its log lines name the host alone.
    pub(crate) fn host(&self, url: &Url) -> Outside {
        let mut hosts = self.inner.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let name = origin(url);
        hosts.entry(name.clone()).or_insert_with(|| Outside::new(name, self.inner.policy)).clone()
    }

    /// A request to be filled in. The address must have been [allowed](Web::allowed).
    pub(crate) fn request(&self, method: reqwest::Method, url: Url) -> reqwest::RequestBuilder {
        self.client().request(method, url)
    }

    /// Sends one request, once, and reads the answer to its end.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Result<Answer, NetworkError> {
        let mut response = request.send().await.map_err(|error| unreachable(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unreachable(&error))? {
            if body.len() + chunk.len() > MOST_BYTES {
                return Err(NetworkError::BadAnswer("of a size that fits"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, headers, body })
    }

    /// Gets an address, with retries, as the policy says. Only a success is an answer.
    pub(crate) async fn get(
        &self,
        address: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Answer, NetworkError> {
        let url = self.allowed(address)?;
        let attempt = || async {
            let request = self.request(reqwest::Method::GET, url.clone());
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            self.send(request).await?.success()
        };
        Ok(self.host(&url).call(attempt).await?)
    }

    /// Begins to get an address, as a stream: for what is too large to be held.
    pub(crate) async fn stream(&self, address: &str) -> Result<reqwest::Response, NetworkError> {
        let url = self.allowed(address)?;
        let attempt = || async {
            let response = self.request(reqwest::Method::GET, url.clone()).send().await;
            let response = response.map_err(|error| unreachable(&error))?;
            if response.status().is_success() {
                return Ok(response);
            }
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let body = response.bytes().await.map(Vec::from).unwrap_or_default();
            Err(Answer { status, headers, body }.refusal())
        };
        Ok(self.host(&url).call(attempt).await?)
    }
}

/// The text of a transport error may hold an address with credentials: only its kind is logged.
fn unreachable(error: &reqwest::Error) -> NetworkError {
    tracing::debug!(
        connect = error.is_connect(),
        timeout = error.is_timeout(),
        body = error.is_body(),
        "no answer"
    );
    if error.is_timeout() { NetworkError::TimedOut } else { NetworkError::Unreachable }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

/// A name with a dot in it that is not one of those which only mean something inside a network.
fn is_public_name(url: &Url) -> bool {
    const PRIVATE: [&str; 6] = ["local", "localhost", "internal", "lan", "home", "arpa"];
    match url.host() {
        Some(Host::Domain(name)) => {
            name.trim_end_matches('.').rsplit_once('.').is_some_and(|(_, top)| !PRIVATE.contains(&top))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(appview: &str) -> Web {
        let mut options = BlueskyOptions::new("data", "cache");
        options.appview = appview.to_owned();
        Web::new(&options)
    }

    #[test]
    fn strangers_cannot_send_us_into_a_private_network() {
        let web = web("https://appview.example.com");
        for address in
            ["https://pds.example.com/x", "https://bsky.social", "https://appview.example.com/xrpc"]
        {
            assert!(web.allowed(address).is_ok(), "{address}");
        }
        for address in [
            "http://pds.example.com",
            "https://127.0.0.1",
            "https://[::1]/",
            "https://10.0.0.1",
            "https://169.254.169.254/latest",
            "https://localhost",
            "https://printer.local",
            "https://db.internal.",
            "https://intranet",
            "https://user:secret@pds.example.com",
            "file:///etc/passwd",
            "ftp://example.com",
            "nonsense",
        ] {
            assert!(web.allowed(address).is_err(), "{address}");
        }
    }

    #[test]
    fn a_network_on_this_machine_may_call_itself() {
        let web = web("http://localhost:2584");
        assert!(web.allowed("http://localhost:2583/xrpc").is_ok());
        assert!(web.allowed("http://127.0.0.1:9").is_ok());
        assert!(web.allowed("http://10.0.0.1").is_err());
        assert!(web.allowed("http://example.com").is_err());
    }

    #[test]
    fn the_time_to_come_back_is_read() {
        let headers = |pairs: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in pairs {
                map.insert(*name, value.parse().unwrap());
            }
            map
        };
        assert_eq!(retry_after(&headers(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(&headers(&[("ratelimit-remaining", "5"), ("ratelimit-reset", "1")])), None);
        let past = headers(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "1")]);
        assert_eq!(retry_after(&past), Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_refusal_keeps_its_name_and_none_of_the_services_words() {
        let answer = |body: &str| Answer { status: 400, headers: HeaderMap::new(), body: body.into() };
        let named = answer(r#"{"error":"InvalidRequest","message":"secret"}"#).refusal();
        assert_eq!(named.refusal(), Some("InvalidRequest"));
        for body in ["", "<html>", r#"{"error":"a b"}"#, r#"{"error":5}"#, r#"{"error":"a-b"}"#] {
            assert_eq!(answer(body).refusal().refusal(), Some("Unnamed"), "{body}");
        }
    }
}
