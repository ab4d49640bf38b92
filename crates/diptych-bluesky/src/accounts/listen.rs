//! A login that goes on in a browser: what waits on loopback for the browser to come back, and what became of it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{Account, AccountError};
use crate::identity::Handle;

/// How long a login may take.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// What became of a login in the browser.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    LoggedIn(Box<Account>),
    /// The person said no.
    Denied,
    /// It took too long.
    Expired,
    Failed(AccountError),
}

/// A login that somebody is in the middle of.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Names the flow between two runs of the tool. It gives no access to anything.
    pub(crate) id: String,
    pub(crate) handle: Handle,
    /// Which kind of login it is.
    pub(crate) kind: &'static str,
    /// The page to visit.
    pub(crate) url: String,
    outcome: watch::Receiver<Option<Outcome>>,
}

impl Flow {
    /// What became of it, if it has ended.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.outcome.borrow().clone()
    }

    /// Completes when it has ended.
    pub(crate) fn finished(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut outcome = self.outcome.clone();
        async move {
            // The other end only goes away together with the flow.
            let _ = outcome.wait_for(Option::is_some).await;
        }
    }
}

/// A place on loopback where the browser comes back to.
#[derive(Debug)]
pub(super) struct Place {
    listener: TcpListener,
    pub(super) port: u16,
}

/// Says what became of a login, once.
pub(super) type Verdict = Arc<watch::Sender<Option<Outcome>>>;

impl Place {
    /// Listens at the port, or at any that is free.
    pub(super) async fn open(port: Option<u16>) -> Result<Self, AccountError> {
        let wanted = port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await;
        let listener = listener.map_err(|_| AccountError::Port(wanted))?;
        let port = listener.local_addr().map_err(|_| AccountError::Port(wanted))?.port();
        Ok(Place { listener, port })
    }

    /// Serves the pages that `pages` makes until one of them gives a verdict, or the time is up.
    pub(super) fn serve(
        self,
        handle: Handle,
        kind: &'static str,
        url: String,
        pages: impl FnOnce(Verdict) -> Router,
    ) -> Arc<Flow> {
        let (sender, outcome) = watch::channel(None);
        let verdict = Arc::new(sender);
        let own_host = format!("127.0.0.1:{}", self.port);
        let pages =
            pages(Arc::clone(&verdict)).layer(axum::middleware::from_fn(
                move |request: axum::extract::Request, next: axum::middleware::Next| {
                    // A name that was made to point here is somebody else's page.
                    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
                    let ours = host == Some(own_host.as_str());
                    async move {
                        if ours { next.run(request).await } else { StatusCode::FORBIDDEN.into_response() }
                    }
                },
            ));
        let mut ended = outcome.clone();
        tokio::spawn(async move {
            let over = async move {
                if tokio::time::timeout(LIMIT, ended.wait_for(Option::is_some)).await.is_err() {
                    verdict.send_replace(Some(Outcome::Expired));
                }
            };
            if let Err(error) = axum::serve(self.listener, pages).with_graceful_shutdown(over).await {
                tracing::debug!(%error, "the page of a login ended");
            }
        });
        Arc::new(Flow { id: uuid::Uuid::new_v4().simple().to_string(), handle, kind, url, outcome })
    }
}

/// A page of ours: plain, with nothing from anywhere else, kept by nobody.
pub(super) fn page(status: StatusCode, title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:4rem auto;\
         padding:0 1rem}}input,button{{font:inherit;padding:.4rem .6rem}}.problem{{color:#b00}}</style>\
         <h1>{title}</h1>{body}</html>"
    );
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
        ),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    // The browser must not keep the place open once it is done.
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    (status, headers, html).into_response()
}

/// Text for a page.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
