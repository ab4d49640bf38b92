//! XRPC: the calls of the AT Protocol, `/xrpc/` and the name of a method over HTTP.

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::error::NetworkError;
use super::web::{Answer, Web};

/// Reads or writes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Method {
    /// A query.
    Get,
    /// A procedure with a JSON body, or none.
    Post(Option<Value>),
    /// A procedure with bytes of this MIME type.
    Upload(Vec<u8>, String),
}

/// One call, before it is known who makes it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The method's name, such as `app.bsky.actor.getProfile`.
    pub(crate) name: &'static str,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) method: Method,
}

impl Request {
    pub(crate) fn get(name: &'static str, query: Vec<(&'static str, String)>) -> Self {
        Request { name, query, method: Method::Get }
    }

    pub(crate) fn post(name: &'static str, body: Value) -> Self {
        Request { name, query: Vec::new(), method: Method::Post(Some(body)) }
    }

    /// Where it goes at a service.
    pub(crate) fn url(&self, web: &Web, service: &str) -> Result<Url, NetworkError> {
        let mut url = web.allowed(&format!("{}/xrpc/{}", service.trim_end_matches('/'), self.name))?;
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }

    /// The HTTP request, without credentials.
    pub(crate) fn build(&self, web: &Web, url: &Url) -> reqwest::RequestBuilder {
        match &self.method {
            Method::Get => web.request(reqwest::Method::GET, url.clone()),
            Method::Post(None) => web.request(reqwest::Method::POST, url.clone()),
            Method::Post(Some(body)) => web.request(reqwest::Method::POST, url.clone()).json(body),
            Method::Upload(bytes, mime_type) => web
                .request(reqwest::Method::POST, url.clone())
                .header(reqwest::header::CONTENT_TYPE, mime_type)
                .body(bytes.clone()),
        }
    }

    /// The HTTP verb, for proofs of possession.
    pub(crate) fn verb(&self) -> &'static str {
        if self.method == Method::Get { "GET" } else { "POST" }
    }
}

/// Someone in whose name calls are made: an account, or nobody.
pub(crate) trait Caller: Send + Sync {
    /// Makes the call; only a success is an answer.
    fn call<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Answer, NetworkError>>;
}

impl dyn Caller + '_ {
    /// Makes the call and reads its answer.
    pub(crate) async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T, NetworkError> {
        self.call(&request).await?.json()
    }
}

/// Nobody: calls a service without credentials.
#[derive(Debug, Clone)]
pub(crate) struct Anonymous {
    pub(crate) web: Web,
    pub(crate) service: String,
}

impl Caller for Anonymous {
    fn call<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Answer, NetworkError>> {
        Box::pin(async move {
            let url = request.url(&self.web, &self.service)?;
            let attempt = || async { self.web.send(request.build(&self.web, &url)).await?.success() };
            Ok(self.web.host(&url).call(attempt).await?)
        })
    }
}
