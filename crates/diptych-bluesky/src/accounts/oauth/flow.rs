//! One login in the browser: from the pushed request to the tokens.

use std::sync::Arc;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use url::Url;
use url::form_urlencoded;

use super::metadata::{Issuer, discover};
use super::proof::new_key;
use super::{Grant, SCOPE};
use crate::accounts::listen::{Flow, Outcome, Place, Verdict, escape, page};
use crate::accounts::{Account, AccountError, Accounts, Login, Secret, random_token};
use crate::identity::{Handle, Identity};
use crate::network::NetworkError;

/// The kind of these flows.
pub(crate) const KIND: &str = "oauth";

/// Where the browser comes back to.
const CALLBACK: &str = "/callback";

/// What has to be remembered until the browser comes back.
struct Waiting {
    accounts: Arc<Accounts>,
    identity: Identity,
    handle: Handle,
    service: String,
    issuer: String,
    /// Tells our redirect from others.
    state: String,
    /// Shows the service that whoever asked is whoever comes for the tokens.
    verifier: Secret,
    redirect: String,
    grant: Grant,
    verdict: Verdict,
}

#[derive(Deserialize)]
struct Pushed {
    request_uri: String,
}

impl Accounts {
    /// Begins a login in the browser.
    pub(crate) async fn ask_in_the_browser(
        self: &Arc<Self>,
        identity: &Identity,
        handle: &Handle,
        service: &str,
        port: Option<u16>,
    ) -> Result<Arc<Flow>, AccountError> {
        let issuer =
            discover(&self.web, service).await?.ok_or_else(|| AccountError::NoOAuth(handle.clone()))?;
        let place = Place::open(port).await?;
        let redirect = format!("http://127.0.0.1:{}{CALLBACK}", place.port);
        let waiting = |verdict| Waiting {
            accounts: Arc::clone(self),
            identity: identity.clone(),
            handle: handle.clone(),
            service: service.to_owned(),
            issuer: issuer.issuer.clone(),
            state: random_token(),
            verifier: Secret::new(random_token()),
            redirect: redirect.clone(),
            grant: Grant {
                key: new_key(),
                access: Secret::new(""),
                refresh: Secret::new(""),
                client: client(),
                token_endpoint: issuer.token_endpoint.clone(),
                revocation_endpoint: issuer.revocation_endpoint.clone(),
            },
            verdict,
        };
        // The verdict is made with the flow, the address of the page before it.
        let (sender, _) = tokio::sync::watch::channel(None);
        let mut waiting = waiting(Arc::new(sender));
        let url = waiting.push(&issuer).await?;
        let flow = place.serve(handle.clone(), KIND, url, move |verdict| {
            waiting.verdict = verdict;
            let waiting = Arc::new(waiting);
            Router::new().route(
                CALLBACK,
                get(move |RawQuery(query): RawQuery| async move {
                    waiting.come_back(&query.unwrap_or_default()).await
                }),
            )
        });
        self.begin(Arc::clone(&flow));
        Ok(flow)
    }
}

/// The name of an application on loopback says all that there is to know about it.
fn client() -> String {
    let mut about = form_urlencoded::Serializer::new(String::new());
    about.append_pair("redirect_uri", &format!("http://127.0.0.1{CALLBACK}")).append_pair("scope", SCOPE);
    format!("http://localhost?{}", about.finish())
}

impl Waiting {
    /// Pushes the request to the service and returns the page where the person decides about it.
    async fn push(&self, issuer: &Issuer) -> Result<String, NetworkError> {
        let challenge = BASE64.encode(Sha256::digest(self.verifier.expose()));
        let form = [
            ("client_id", self.grant.client.as_str()),
            ("response_type", "code"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", &self.state),
            ("redirect_uri", &self.redirect),
            ("scope", SCOPE),
            ("login_hint", self.handle.as_str()),
        ];
        let url = self.accounts.web.allowed(&issuer.pushed_authorization_request_endpoint)?;
        let pushed: Pushed = self.grant.post(&self.accounts, &url, &form).await?.success()?.json()?;
        let mut page = Url::parse(&issuer.authorization_endpoint).map_err(|_| NetworkError::Forbidden)?;
        page.query_pairs_mut()
            .append_pair("client_id", &self.grant.client)
            .append_pair("request_uri", &pushed.request_uri);
        Ok(page.into())
    }

    /// The browser has come back from the service.
    async fn come_back(&self, query: &str) -> Response {
        let value = |name: &str| {
            form_urlencoded::parse(query.as_bytes())
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        if value("state").as_deref() != Some(self.state.as_str()) {
            // Not from the page that we sent the person to: the login goes on waiting.
            return page(
                StatusCode::BAD_REQUEST,
                "Not this login",
                "<p>This page belongs to another login.</p>",
            );
        }
        let outcome = match (value("error"), value("code")) {
            (Some(error), _) if error == "access_denied" => Outcome::Denied,
            (None, Some(code)) if value("iss").as_deref() == Some(self.issuer.as_str()) => {
                match self.fetch(&code).await {
                    Ok(account) => Outcome::LoggedIn(Box::new(account)),
                    Err(error) => Outcome::Failed(error),
                }
            }
            _ => Outcome::Failed(AccountError::Network(NetworkError::BadAnswer("an answer to this login"))),
        };
        let answer = match &outcome {
            Outcome::LoggedIn(account) => {
                let body = format!(
                    "<p>You are logged in as @{}. You can close this page.</p>",
                    escape(account.handle.as_str())
                );
                page(StatusCode::OK, "Logged in", &body)
            }
            Outcome::Denied | Outcome::Expired => {
                page(StatusCode::OK, "Not logged in", "<p>You said no. You can close this page.</p>")
            }
            Outcome::Failed(error) => {
                let body = format!("<p class=\"problem\">{}</p>", escape(&error.to_string()));
                page(StatusCode::BAD_GATEWAY, "Not logged in", &body)
            }
        };
        self.verdict.send_replace(Some(outcome));
        answer
    }

    /// Exchanges the code for tokens and keeps the account.
    async fn fetch(&self, code: &str) -> Result<Account, AccountError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", self.verifier.expose()),
            ("redirect_uri", &self.redirect),
            ("client_id", &self.grant.client),
        ];
        let granted = self.grant.ask(&self.accounts, &form).await?;
        let grant =
            Grant { access: granted.access_token, refresh: granted.refresh_token, ..self.grant.clone() };
        // Whoever signed in at the service, the tokens must be of the account that was asked for.
        if granted.sub != self.identity.did.as_str() {
            let _ = grant.revoke(&self.accounts).await;
            return Err(AccountError::SomebodyElse(self.handle.clone()));
        }
        let account = Account {
            did: self.identity.did.clone(),
            handle: self.handle.clone(),
            service: self.service.clone(),
            login: Login::OAuth(grant),
        };
        self.accounts.keep(account.clone()).await?;
        Ok(account)
    }
}
