//! The HTTP client behind a URL: whom it trusts and where it lets itself be sent.

use reqwest::redirect::{Attempt, Policy};
use reqwest::{StatusCode, Url};

use super::ClientError;
use crate::loopback;

/// More than any server that only mends a path takes.
const REDIRECTS: usize = 5;

/// A client for one URL.
pub(super) fn client(url: &str) -> Result<reqwest::Client, ClientError> {
    let url = Url::parse(url).map_err(|_| ClientError::Connection("that is not a URL".to_owned()))?;
    crate::tls::prepare();
    let mut client = reqwest::Client::builder()
        // A connection whose last answer was not read to its end stalls the next request for 40 ms.
        .pool_max_idle_per_host(0)
        .redirect(Policy::custom(
            |attempt| if is_mending(&attempt) { attempt.follow() } else { attempt.stop() },
        ));
    if url.scheme() != "https" {
        // Nobody's certificate is looked at, so a machine without any authority will do.
        client = client.tls_certs_only([]);
    }
    if loopback::is_here(&url) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| {
        tracing::debug!(%error, "no HTTP client");
        ClientError::Connection("this machine trusts no authority for certificates".to_owned())
    })
}

/// Whether a redirect only mends the path: it keeps the message, and what we say is for this server alone.
fn is_mending(attempt: &Attempt<'_>) -> bool {
    let keeps = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&attempt.status());
    let stays = attempt.previous().iter().all(|from| from.origin() == attempt.url().origin());
    keeps && stays && attempt.previous().len() <= REDIRECTS
}
