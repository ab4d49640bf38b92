//! A page on loopback that takes an app password: for clients that can open pages but must not ask for secrets.

use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::get;

use super::listen::{Flow, Outcome, Place, Verdict, escape, page};
use super::{AccountError, Accounts, Secret, random_token};
use crate::identity::{Handle, Identity};

/// The kind of these flows.
pub(crate) const KIND: &str = "password";

/// Everything a page needs to log in.
struct Page {
    accounts: Arc<Accounts>,
    identity: Identity,
    handle: Handle,
    service: String,
    /// The secret part of the address: other programs on this machine do not know it.
    token: String,
    origin: String,
    verdict: Verdict,
}

impl Accounts {
    /// Serves a page that asks for the app password.
    pub(crate) async fn ask_on_a_page(
        self: &Arc<Self>,
        identity: &Identity,
        handle: &Handle,
        service: &str,
        port: Option<u16>,
    ) -> Result<Arc<Flow>, AccountError> {
        let place = Place::open(port).await?;
        let token = random_token();
        let origin = format!("http://127.0.0.1:{}", place.port);
        let url = format!("{origin}/login/{token}");
        let make = |verdict| Page {
            accounts: Arc::clone(self),
            identity: identity.clone(),
            handle: handle.clone(),
            service: service.to_owned(),
            token,
            origin,
            verdict,
        };
        let flow = place.serve(handle.clone(), KIND, url, |verdict| {
            let state = Arc::new(make(verdict));
            let (showing, taking) = (Arc::clone(&state), state);
            Router::new().route(
                "/login/{token}",
                get(move |Path(token): Path<String>| async move { showing.show(&token) }).post(
                    move |Path(token): Path<String>, headers: HeaderMap, body: String| async move {
                        taking.take(&token, &headers, &body).await
                    },
                ),
            )
        });
        self.begin(Arc::clone(&flow));
        Ok(flow)
    }
}

impl Page {
    fn show(&self, token: &str) -> Response {
        if token != self.token {
            return page(StatusCode::NOT_FOUND, "Not here", "");
        }
        self.form(StatusCode::OK, "")
    }

    fn form(&self, status: StatusCode, problem: &str) -> Response {
        let problem = if problem.is_empty() {
            String::new()
        } else {
            format!("<p class=\"problem\">{}</p>", escape(problem))
        };
        let body = format!(
            "<p>An app password for <b>@{handle}</b> at {service}.</p>\
             <p>Do not use your main password: make an app password in the settings of your account, at \
             <a href=\"https://bsky.app/settings/app-passwords\" rel=\"noreferrer\">bsky.app/settings/app-passwords</a>. \
             It can be taken back at any time.</p>{problem}\
             <form method=\"post\"><input type=\"password\" name=\"password\" autocomplete=\"off\" autofocus required \
             aria-label=\"App password\"> <button name=\"action\" value=\"login\">Log in</button> \
             <button name=\"action\" value=\"cancel\" formnovalidate>Cancel</button></form>",
            handle = escape(self.handle.as_str()),
            service = escape(&self.service),
        );
        page(status, "Log in to Bluesky", &body)
    }

    async fn take(&self, token: &str, headers: &HeaderMap, body: &str) -> Response {
        // Pages of other origins cannot post here even if they knew the address.
        let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
        if token != self.token || origin.is_some_and(|origin| origin != self.origin && origin != "null") {
            return page(StatusCode::NOT_FOUND, "Not here", "");
        }
        let field = |name: &str| {
            url::form_urlencoded::parse(body.as_bytes())
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        if field("action").as_deref() == Some("cancel") {
            self.verdict.send_replace(Some(Outcome::Denied));
            return page(StatusCode::OK, "Not logged in", "<p>You can close this page.</p>");
        }
        let password = Secret::new(field("password").unwrap_or_default().trim());
        let done =
            self.accounts.log_in_with_password(&self.identity, &self.handle, &self.service, &password).await;
        match done {
            Ok(account) => {
                self.verdict.send_replace(Some(Outcome::LoggedIn(Box::new(account))));
                page(StatusCode::OK, "Logged in", "<p>You can close this page.</p>")
            }
            // Typed wrongly: there is another chance, here and not in the conversation.
            Err(error @ (AccountError::WrongPassword(_) | AccountError::MainPassword(_))) => {
                self.form(StatusCode::OK, &error.to_string())
            }
            Err(error) => {
                let shown = escape(&error.to_string());
                self.verdict.send_replace(Some(Outcome::Failed(error)));
                page(StatusCode::BAD_GATEWAY, "Not logged in", &format!("<p class=\"problem\">{shown}</p>"))
            }
        }
    }
}
