//! Logging in with an app password.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::session::Tokens;
use super::{Account, AccountError, Accounts, Login, Secret, session};
use crate::identity::{Handle, Identity};
use crate::network::{NetworkError, Request};
use std::sync::Arc;

impl Accounts {
    /// Begins a session with an app password and keeps its tokens.
    pub(crate) async fn log_in_with_password(
        self: &Arc<Self>,
        identity: &Identity,
        handle: &Handle,
        service: &str,
        password: &Secret,
    ) -> Result<Account, AccountError> {
        let body = json!({"identifier": identity.did.as_str(), "password": password.expose()});
        let request = Request::post("com.atproto.server.createSession", body);
        let url = request.url(&self.web, service)?;
        // Once: a wrong password is not worth a second try, and services lock those out who guess.
        let attempt = || async { self.web.send(request.build(&self.web, &url)).await?.success() };
        let answer = self.web.host(&url).once().call(attempt).await.map_err(NetworkError::from);
        let answer = answer.map_err(|error| match (error.status(), error.refusal()) {
            (_, Some("AuthFactorTokenRequired")) => AccountError::MainPassword(handle.clone()),
            (Some(400 | 401), _) => AccountError::WrongPassword(handle.clone()),
            _ => AccountError::Network(error),
        })?;
        let tokens: Tokens = answer.json()?;
        let account = Account {
            did: tokens.did,
            handle: tokens.handle.unwrap_or_else(|| handle.clone()),
            service: service.to_owned(),
            login: Login::AppPassword { access: tokens.access_jwt.clone(), refresh: tokens.refresh_jwt },
        };
        let refused = if account.did != identity.did {
            Some(AccountError::SomebodyElse(handle.clone()))
        } else if is_main_password(&tokens.access_jwt) {
            Some(AccountError::MainPassword(handle.clone()))
        } else {
            None
        };
        if let Some(refused) = refused {
            // A session that should not be is not left behind.
            let _ = session::end(self, &account).await;
            return Err(refused);
        }
        self.keep(account.clone()).await?;
        Ok(account)
    }
}

/// Whether a token has the rights that only the main password gives.
fn is_main_password(token: &Secret) -> bool {
    let payload = token.expose().split('.').nth(1).and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Value = payload.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    claims["scope"] == "com.atproto.access"
}
