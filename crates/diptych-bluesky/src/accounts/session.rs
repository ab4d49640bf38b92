//! Calls in the name of an account.
//!
//! A token that has expired is renewed once and the call made again. Services rotate the tokens that renew others, and
//! end a login whose rotated token is used twice: so the store stays locked while a token is renewed, and whoever finds
//! that another process was quicker uses what that one wrote.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use url::Url;

use super::oauth::proof;
use super::{Account, Accounts, Login, Secret};
use crate::identity::Handle;
use crate::network::{Answer, Caller, NetworkError, Request, origin};

/// An account whose calls are made with its tokens.
#[derive(Debug)]
pub(crate) struct Session {
    accounts: Arc<Accounts>,
    account: Mutex<Account>,
}

impl Session {
    pub(super) fn new(accounts: Arc<Accounts>, account: Account) -> Self {
        Session { accounts, account: Mutex::new(account) }
    }

    /// The account.
    pub(crate) fn account(&self) -> Account {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn attempt(&self, request: &Request, url: &Url) -> Result<Answer, NetworkError> {
        let account = self.account();
        let answer = self.send(&account, request, url).await?;
        match answer.success() {
            Err(error) if error.wants_new_token() => {
                // A task of its own: once a token is spent, nobody who stops waiting may keep the new one from the store.
                let renewing = tokio::spawn(renew(Arc::clone(&self.accounts), account));
                let account = renewing.await.map_err(|_| NetworkError::LoginEnded)??;
                *self.account.lock().unwrap_or_else(PoisonError::into_inner) = account.clone();
                self.send(&account, request, url).await?.success()
            }
            other => other,
        }
    }

    async fn send(&self, account: &Account, request: &Request, url: &Url) -> Result<Answer, NetworkError> {
        let web = &self.accounts.web;
        match &account.login {
            Login::AppPassword { access, .. } => {
                web.send(request.build(web, url).bearer_auth(access.expose())).await
            }
            Login::OAuth(grant) => {
                let authorization = format!("DPoP {}", grant.access.expose());
                proved(&self.accounts, &grant.key, Some(&grant.access), request.verb(), url, || {
                    request.build(web, url).header(reqwest::header::AUTHORIZATION, &authorization)
                })
                .await
            }
        }
    }
}

/// Renews the tokens of an account, unless somebody else has done so since `used` was read.
async fn renew(accounts: Arc<Accounts>, used: Account) -> Result<Account, NetworkError> {
    let ended = |_| NetworkError::LoginEnded;
    let held = accounts.store.hold().await.map_err(ended)?;
    let listed = held.find(&used.did).cloned().ok_or(NetworkError::LoginEnded)?;
    let mut account = accounts.store.open(listed).await.map_err(ended)?;
    if account.login.access() != used.login.access() {
        return Ok(account);
    }
    let renewed = match &account.login {
        Login::AppPassword { refresh, .. } => renew_password(&accounts, &account.service, refresh).await,
        Login::OAuth(grant) => grant.renew(&accounts).await.map(Login::OAuth),
    };
    account.login = renewed.map_err(|error| match error.status() {
        Some(400 | 401) => NetworkError::LoginEnded,
        _ => error,
    })?;
    held.keep(account.clone()).await.map_err(ended)?;
    Ok(account)
}

impl Caller for Session {
    fn call<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Answer, NetworkError>> {
        Box::pin(async move {
            let web = &self.accounts.web;
            let url = request.url(web, &self.account().service)?;
            Ok(web.host(&url).call(|| self.attempt(request, &url)).await?)
        })
    }
}

/// Sends a request with a proof that we hold the key, again if the service wants its nonce in it. A token that goes with
/// the request is named in the proof.
pub(super) async fn proved(
    accounts: &Accounts,
    key: &Secret,
    token: Option<&Secret>,
    verb: &str,
    url: &Url,
    build: impl Fn() -> reqwest::RequestBuilder,
) -> Result<Answer, NetworkError> {
    let place = origin(url);
    let attempt = || async {
        let proof = proof(key, verb, url, accounts.nonce(&place).as_deref(), token)?;
        let answer = accounts.web.send(build().header("dpop", proof)).await?;
        accounts.take_nonce(place.clone(), &answer);
        Ok::<Answer, NetworkError>(answer)
    };
    let answer = attempt().await?;
    if wants_nonce(&answer) { attempt().await } else { Ok(answer) }
}

/// Whether the service asks for its nonce: in the body as an issuer, in a header as a resource.
fn wants_nonce(answer: &Answer) -> bool {
    let header =
        answer.headers.get("www-authenticate").and_then(|value| value.to_str().ok()).unwrap_or_default();
    matches!(answer.status, 400 | 401)
        && (answer.refusal().refusal() == Some("use_dpop_nonce") || header.contains("use_dpop_nonce"))
}

/// What a service answers to the beginning and the renewal of a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    pub(super) access_jwt: Secret,
    pub(super) refresh_jwt: Secret,
    pub(super) did: crate::identity::Did,
    pub(super) handle: Option<Handle>,
}

async fn renew_password(accounts: &Accounts, service: &str, refresh: &Secret) -> Result<Login, NetworkError> {
    let answer = with_refresh(accounts, service, "com.atproto.server.refreshSession", refresh).await?;
    let tokens: Tokens = answer.success()?.json()?;
    Ok(Login::AppPassword { access: tokens.access_jwt, refresh: tokens.refresh_jwt })
}

async fn with_refresh(
    accounts: &Accounts,
    service: &str,
    name: &'static str,
    refresh: &Secret,
) -> Result<Answer, NetworkError> {
    let request = Request { name, query: Vec::new(), method: crate::network::Method::Post(None) };
    let url = request.url(&accounts.web, service)?;
    accounts.web.send(request.build(&accounts.web, &url).bearer_auth(refresh.expose())).await
}

/// Tells the service that a login has ended.
pub(super) async fn end(accounts: &Arc<Accounts>, account: &Account) -> Result<(), NetworkError> {
    match &account.login {
        Login::AppPassword { refresh, .. } => {
            let name = "com.atproto.server.deleteSession";
            with_refresh(accounts, &account.service, name, refresh).await?.success().map(drop)
        }
        Login::OAuth(grant) => grant.revoke(accounts).await,
    }
}
