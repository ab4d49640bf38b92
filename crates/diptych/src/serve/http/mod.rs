//! Serving over Streamable HTTP: sessions for older clients, requests that stand alone for 2026-07-28.
//!
//! ```text
//! gate      Host and Origin
//! bearer    who it is: by a token we know, or one that an issuer signed (issuer, keys)
//! rate      how often
//! message   is it a message at all
//! endpoint  all of these in order, then
//! direct    a call goes the straight way (events, replay: as a stream that can be resumed)
//! rmcp      and all else goes to rmcp
//! ```

mod bearer;
mod cors;
mod direct;
mod endpoint;
mod events;
mod gate;
#[cfg(feature = "oauth")]
mod issuer;
#[cfg(feature = "oauth")]
mod keys;
mod message;
mod rate;
mod replay;
mod reply;
mod sessions;
#[cfg(feature = "oauth")]
mod signature;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::{ListenerExt as _, TapIo};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::bearer::Bearers;
use self::endpoint::Endpoint;
use self::gate::Gate;
#[cfg(feature = "oauth")]
pub use self::issuer::Issuer;
use self::rate::{Buckets, Rate};
use self::sessions::Sessions;
use super::ServeError;
use super::signal;
use crate::protocol::connection::{Connection, Directory};
use crate::protocol::handler::Handler;
use crate::server::Server;

/// How long the answers of interrupted calls, and then the connections, may take to leave.
const GRACE: Duration = Duration::from_secs(2);

/// How a server is served over HTTP. By default: at `/mcp`, for this machine alone, without tokens or a rate
/// limit, bodies up to 4 MiB, and 10 seconds for calls in flight when it stops.
///
/// ```
/// use diptych::Http;
///
/// let http = Http::new()
///     .allowed_hosts(["mcp.example.com"])
///     .bearer_token("a long random string", "ada")
///     .rate_limit(600, 60);
/// // server.serve_http("0.0.0.0:8080".parse()?, http).await?;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Http {
    hosts: Vec<String>,
    origins: Vec<String>,
    tokens: Vec<(String, String)>,
    #[cfg(feature = "oauth")]
    issuer: Option<Issuer>,
    rate: Option<Rate>,
    body_limit: usize,
    drain: Duration,
    stream_limit: Option<Duration>,
    path: String,
}

impl Default for Http {
    fn default() -> Self {
        Self::new()
    }
}

impl Http {
    /// The defaults.
    pub fn new() -> Self {
        Http {
            hosts: Vec::new(),
            origins: Vec::new(),
            tokens: Vec::new(),
            #[cfg(feature = "oauth")]
            issuer: None,
            rate: None,
            body_limit: 4 << 20,
            drain: Duration::from_secs(10),
            stream_limit: None,
            path: "/mcp".to_owned(),
        }
    }

    /// Allows further hosts, with or without a port, in the `Host` header. This machine's own names and the
    /// address that is listened on are always allowed; everything else is refused.
    pub fn allowed_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts.extend(hosts.into_iter().map(Into::into));
        self
    }

    /// Allows further origins, such as `https://app.example.com` or `http://app.example.com:*`, in the
    /// `Origin` header, and lets their pages read the answers (CORS). Pages of this machine are always let in,
    /// but a browser keeps the answers from them unless they are named here; all others are refused.
    pub fn allowed_origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Lets in whoever presents this token, as that subject, and nobody without a token. Can be called
    /// several times.
    pub fn bearer_token(mut self, token: impl Into<String>, subject: impl Into<String>) -> Self {
        self.tokens.push((token.into(), subject.into()));
        self
    }

    /// Lets in whoever presents an access token of this issuer, as the token's subject, and nobody without a
    /// token. There is one issuer, so that one subject is one caller; tokens of [`Http::bearer_token`] are good
    /// beside it, with subjects that are yours to keep apart.
    #[cfg(feature = "oauth")]
    pub fn issuer(mut self, issuer: Issuer) -> Self {
        self.issuer = Some(issuer);
        self
    }

    /// Limits how often each caller may call: the subject, or where nobody has to say who they are, the
    /// address they come from.
    pub fn rate_limit(mut self, per_minute: u32, burst: u32) -> Self {
        self.rate = Some(Rate { per_minute, burst });
        self
    }

    /// Sets the largest body that is read.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets how long calls in flight may go on when the server stops.
    pub fn drain(mut self, limit: Duration) -> Self {
        self.drain = limit;
        self
    }

    /// Sets how long one connection may carry the stream of a call in a session. Then it is closed, the call
    /// goes on, and the client comes back for the rest: for proxies that cut long connections off. Only clients
    /// of 2025-11-25 know how; others keep their connection.
    pub fn stream_limit(mut self, longest: Duration) -> Self {
        self.stream_limit = Some(longest);
        self
    }

    /// Sets the path of the endpoint.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    fn gate(&self, bound: SocketAddr) -> Result<Gate, ServeError> {
        let mut gate = Gate::default();
        gate.allow_bound(bound);
        for host in &self.hosts {
            if !gate.allow_host(host) {
                return Err(ServeError::Settings(format!(
                    "`{host}` is not a host. Write it like example.com or example.com:8080"
                )));
            }
        }
        for origin in &self.origins {
            if !gate.allow_origin(origin) {
                return Err(ServeError::Settings(format!(
                    "`{origin}` is not an origin. Write it like https://example.com or http://example.com:*"
                )));
            }
        }
        Ok(gate)
    }

    fn bearers(&self) -> Result<Bearers, ServeError> {
        let mut bearers = Bearers::default();
        for (token, subject) in &self.tokens {
            if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(ServeError::Settings(format!(
                    "the bearer token of `{subject}` is empty or has characters that a header cannot carry"
                )));
            }
            bearers.add_token(token, subject.clone());
        }
        #[cfg(feature = "oauth")]
        if let Some(issuer) = &self.issuer {
            let verifier = issuer::Verifier::new(issuer.clone()).map_err(ServeError::Settings)?;
            bearers.issuer = Some(verifier);
        }
        Ok(bearers)
    }

    fn check_path(&self) -> Result<(), ServeError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
        let reserved =
            ["/healthz", "/metrics"].contains(&self.path.as_str()) || self.path.starts_with("/.well-known/");
        if self.path.starts_with('/') && self.path.chars().all(plain) && !reserved {
            return Ok(());
        }
        Err(ServeError::Settings(format!("`{}` cannot be the path of the endpoint", self.path)))
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subjects: Vec<_> = self.tokens.iter().map(|(_, subject)| subject).collect();
        formatter
            .debug_struct("Http")
            .field("path", &self.path)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("subjects", &subjects)
            .field("rate", &self.rate)
            .field("body_limit", &self.body_limit)
            .field("drain", &self.drain)
            .finish()
    }
}

impl Server {
    /// Serves clients over HTTP until the process is told to end (SIGTERM, SIGINT) or the server is told to
    /// [stop](Server::stop). Calls in flight are finished first, within the limit of [`Http::drain`].
    ///
    /// # Errors
    /// When the address cannot be listened on, or a setting makes no sense.
    pub async fn serve_http(&self, address: SocketAddr, http: Http) -> Result<(), ServeError> {
        self.bind_http(address, http).await?.serve(signal::terminated()).await
    }

    /// Listens on an address, port 0 being any free one, without serving yet.
    ///
    /// # Errors
    /// When the address cannot be listened on, or a setting makes no sense.
    pub async fn bind_http(&self, address: SocketAddr, http: Http) -> Result<BoundHttp, ServeError> {
        http.check_path()?;
        let bearers = http.bearers()?;
        let unbound = |error: std::io::Error| ServeError::Address {
            address: address.to_string(),
            reason: error.to_string(),
        };
        let listener = TcpListener::bind(address).await.map_err(unbound)?;
        let address = listener.local_addr().map_err(unbound)?;
        let gate = http.gate(address)?;
        if !address.ip().is_loopback() && !bearers.are_asked_for() {
            tracing::warn!(%address, "whoever can reach this address may call: no bearer token is asked for");
        }
        let closing = CancellationToken::new();
        let settings = self.settings();
        let sessions = Sessions::lasting(settings.ask_limit.max(settings.time_limit));
        let server = self.clone();
        let directory = Arc::<Directory>::default();
        let listing = Arc::clone(&directory);
        let service = StreamableHttpService::new(
            move || Ok(Handler::new(server.clone(), Arc::new(Connection::over_http(Some(&listing))), false)),
            Arc::clone(&sessions.manager),
            StreamableHttpServerConfig::default()
                .with_json_response(true)
                // The gate has looked at it already.
                .disable_allowed_hosts()
                .with_max_request_body_bytes(http.body_limit)
                .with_cancellation_token(closing.clone()),
        );
        let endpoint = Arc::new(Endpoint {
            server: self.clone(),
            service,
            sessions,
            directory,
            stateless: Arc::new(Connection::over_http(None)),
            gate,
            bearers,
            buckets: http.rate.map(Buckets::new),
            body_limit: http.body_limit,
            path: http.path,
            stream_limit: http.stream_limit,
            answering: TaskTracker::new(),
        });
        Ok(BoundHttp { endpoint, listener, address, closing, drain: http.drain })
    }
}

/// A server that listens, and waits to be served.
pub struct BoundHttp {
    endpoint: Arc<Endpoint>,
    listener: TcpListener,
    address: SocketAddr,
    closing: CancellationToken,
    drain: Duration,
}

impl BoundHttp {
    /// The address that is listened on.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the endpoint, for clients on this machine.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.endpoint.path)
    }

    /// Serves until `shutdown` completes or the server is told to [stop](Server::stop), which stops the
    /// server: no new calls, those in flight are finished within the limit of [`Http::drain`], what is left
    /// is answered -32800, and the connections are closed.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ServeError> {
        let BoundHttp { endpoint, listener, address, closing, drain } = self;
        let router = endpoint::router(Arc::clone(&endpoint));
        let serving =
            axum::serve(undelayed(listener), router.into_make_service_with_connect_info::<SocketAddr>())
                .with_graceful_shutdown(closing.clone().cancelled_owned())
                .into_future();
        let mut serving = tokio::spawn(serving);
        tracing::info!(%address, path = endpoint.path, "listening");
        let server = &endpoint.server;
        tokio::select! {
            () = shutdown => {}
            () = server.draining().cancelled() => {}
            ended = &mut serving => return broken(ended),
        }
        tracing::info!("stopping");
        server.stop(drain).await;
        endpoint.answering.close();
        let _ = tokio::time::timeout(GRACE, endpoint.answering.wait()).await;
        closing.cancel();
        endpoint.sessions.close().await;
        match tokio::time::timeout(GRACE, &mut serving).await {
            Ok(ended) => broken(ended),
            // A client that does not let go is left behind.
            Err(_) => {
                serving.abort();
                Ok(())
            }
        }
    }
}

impl std::fmt::Debug for BoundHttp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BoundHttp").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Nagle's algorithm and delayed acknowledgements together cost 40 ms for each event of a stream.
fn undelayed(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    })
}

fn broken(ended: Result<std::io::Result<()>, tokio::task::JoinError>) -> Result<(), ServeError> {
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ServeError::Broken(error.to_string())),
        Err(_) => Err(ServeError::Broken("the listener failed".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::serve::Listener as _;

    #[tokio::test]
    async fn connections_send_without_delay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, (connection, _)) =
            futures_util::future::join(client, async { undelayed(listener).accept().await }).await;
        assert!(connection.nodelay().unwrap());
        drop(client);
    }
}
