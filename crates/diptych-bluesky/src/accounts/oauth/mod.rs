//! OAuth for applications on the user's machine: PKCE, pushed requests, DPoP, a redirect to loopback.

mod flow;
mod metadata;
mod proof;

use serde::{Deserialize, Serialize};
use url::Url;

use super::session::proved;
use super::{Accounts, Secret};
use crate::network::NetworkError;

pub(crate) use flow::KIND;
pub(super) use proof::proof;

/// What the tokens may be used for: reading and writing as the account.
const SCOPE: &str = "atproto transition:generic";

/// What a service granted: tokens, the key that they are bound to, and where to renew and revoke them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grant {
    pub(super) key: Secret,
    pub(super) access: Secret,
    refresh: Secret,
    client: String,
    token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    revocation_endpoint: Option<String>,
}

/// The answer of a token endpoint.
#[derive(Deserialize)]
struct Granted {
    access_token: Secret,
    refresh_token: Secret,
    #[serde(default)]
    token_type: String,
    #[serde(default)]
    scope: String,
    /// Whom the tokens are for.
    sub: String,
}

impl Grant {
    /// New tokens for old. The old ones are spent by it.
    pub(super) async fn renew(&self, accounts: &Accounts) -> Result<Grant, NetworkError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", self.refresh.expose()),
            ("client_id", &self.client),
        ];
        let granted = self.ask(accounts, &form).await?;
        Ok(Grant { access: granted.access_token, refresh: granted.refresh_token, ..self.clone() })
    }

    /// Tells the service that the tokens are no longer wanted.
    pub(super) async fn revoke(&self, accounts: &Accounts) -> Result<(), NetworkError> {
        let Some(endpoint) = &self.revocation_endpoint else { return Ok(()) };
        let url = accounts.web.allowed(endpoint)?;
        let form = [("token", self.refresh.expose()), ("client_id", &self.client)];
        self.post(accounts, &url, &form).await?.success().map(drop)
    }

    async fn ask(&self, accounts: &Accounts, form: &[(&str, &str)]) -> Result<Granted, NetworkError> {
        let url = accounts.web.allowed(&self.token_endpoint)?;
        let granted: Granted = self.post(accounts, &url, form).await?.success()?.json()?;
        let enough = granted.scope.split(' ').any(|scope| scope == "atproto");
        if granted.token_type.eq_ignore_ascii_case("dpop") && enough {
            Ok(granted)
        } else {
            Err(NetworkError::BadAnswer("a token bound to our key"))
        }
    }

    async fn post(
        &self,
        accounts: &Accounts,
        url: &Url,
        form: &[(&str, &str)],
    ) -> Result<crate::network::Answer, NetworkError> {
        proved(accounts, &self.key, None, "POST", url, || {
            accounts.web.request(reqwest::Method::POST, url.clone()).form(form)
        })
        .await
    }
}
