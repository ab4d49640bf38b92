//! Accounts: who is logged in, how their logins are kept, and calls in their name.
//!
//! ```text
//! store      what is kept: a list in a file that only the user can read, secrets in the keyring or there
//! keyring    the keyring of the operating system
//! password   logging in with an app password, also on a page on loopback
//! oauth      logging in with OAuth, in the browser
//! session    calls in the name of an account, with its tokens kept fresh
//! ```

mod keyring;
mod listen;
mod oauth;
mod page;
mod password;
mod secret;
mod session;
mod store;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use diptych::ToolError;
use serde::{Deserialize, Serialize};

use crate::identity::{Did, Handle};
use crate::network::{NetworkError, Web};
use crate::options::BlueskyOptions;
use crate::reference::AccountName;
pub(crate) use listen::{Flow, Outcome};
pub(crate) use oauth::KIND as OAUTH_FLOW;
pub(crate) use page::KIND as PASSWORD_FLOW;
pub(crate) use secret::{Secret, random_token};
pub(crate) use session::Session;
use store::Store;
pub(crate) use store::{Listed, Method, Storage};
pub use store::{LoginsProblem, logged_in};

/// What can be wrong with a login.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum AccountError {
    #[error("Nobody is logged in.")]
    Nobody,
    #[error("{0} is not logged in.")]
    NotLoggedIn(String),
    #[error("The service does not accept this app password for {0}.")]
    WrongPassword(Handle),
    #[error("This is the main password of {0}. It was not kept, and the session was ended.")]
    MainPassword(Handle),
    #[error("The service that keeps {0} has no login in the browser.")]
    NoOAuth(Handle),
    #[error("The service's answer to the login was not for {0}.")]
    SomebodyElse(Handle),
    #[error("Port {0} cannot be used for the login.")]
    Port(u16),
    #[error("The logins could not be read or written.")]
    Store,
    #[error("The keyring of this machine does not answer, or is locked.")]
    Keyring,
    #[error("The keyring of this machine no longer has the login of {0}.")]
    GoneFromKeyring(Handle),
    #[error("The service could not be asked.")]
    Network(#[from] NetworkError),
}

impl From<AccountError> for ToolError {
    fn from(error: AccountError) -> Self {
        let message = error.to_string();
        match error {
            AccountError::Nobody | AccountError::NotLoggedIn(_) => ToolError::authentication(message)
                .hint("Call login with the handle. `login` with the command \"list\" shows who is logged in."),
            AccountError::WrongPassword(_) => ToolError::authentication(message).hint(
                "Make a new app password in the settings of your account (https://bsky.app/settings/app-passwords). \
                 Never use your main password. Or leave the password out and log in in the browser.",
            ),
            AccountError::MainPassword(_) => ToolError::authentication(message).hint(
                "Never give your main password to a tool. Make an app password \
                 (https://bsky.app/settings/app-passwords), or leave the password out and log in in the browser.",
            ),
            AccountError::NoOAuth(_) => ToolError::authentication(message)
                .hint("Log in with an app password: call login with an empty password to be asked for it."),
            AccountError::SomebodyElse(_) => {
                ToolError::authentication(message).hint("Log in again, and choose the right account in the browser.")
            }
            AccountError::Port(_) => ToolError::client(message).hint("Leave the port out to use any that is free."),
            AccountError::Store => ToolError::server(message).hint("The server's log says why.").retryable(false),
            AccountError::Keyring => ToolError::authentication(message)
                .hint("Unlock the keyring, or log in again with the setting bluesky-secrets = file."),
            AccountError::GoneFromKeyring(_) => ToolError::authentication(message).hint("Call login again."),
            AccountError::Network(error) => error.into(),
        }
    }
}

/// An account that is logged in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Account {
    pub(crate) did: Did,
    pub(crate) handle: Handle,
    /// The service that keeps it.
    pub(crate) service: String,
    pub(crate) login: Login,
}

/// How an account is logged in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "camelCase")]
pub(crate) enum Login {
    /// The tokens of a session that an app password began. The password itself is not kept.
    AppPassword { access: Secret, refresh: Secret },
    /// OAuth, with the key that its tokens are bound to.
    OAuth(oauth::Grant),
}

impl Login {
    fn access(&self) -> &Secret {
        match self {
            Login::AppPassword { access, .. } => access,
            Login::OAuth(grant) => &grant.access,
        }
    }
}

/// The accounts of this user.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) web: Web,
    store: Store,
    /// The last nonce that each service gave out for proofs.
    nonces: Mutex<HashMap<String, String>>,
    /// Logins that somebody is in the middle of.
    flows: Mutex<Vec<Arc<Flow>>>,
}

impl Accounts {
    pub(crate) fn new(web: Web, options: &BlueskyOptions) -> Self {
        let store = Store::new(&options.data, options.secrets);
        Accounts { web, store, nonces: Mutex::default(), flows: Mutex::default() }
    }

    /// All accounts, and which is the default.
    pub(crate) async fn list(&self) -> Result<(Vec<Listed>, Option<Did>), AccountError> {
        let kept = self.store.list().await?;
        Ok((kept.accounts, kept.default))
    }

    /// Keeps an account, or ends its login: one that is not kept is of no use to anybody.
    async fn keep(self: &Arc<Self>, account: Account) -> Result<(), AccountError> {
        let kept = match self.store.hold().await {
            Ok(held) => held.keep(account.clone()).await,
            Err(error) => Err(error),
        };
        if kept.is_err() {
            let _ = session::end(self, &account).await;
        }
        kept
    }

    /// Makes an account the default.
    pub(crate) async fn make_default(&self, account: &Listed) -> Result<(), AccountError> {
        self.store.hold().await?.make_default(account.did.clone()).await
    }

    /// Ends a login, at its service as far as that can be reached, and forgets it.
    pub(crate) async fn remove(self: &Arc<Self>, account: Listed) -> Result<(), AccountError> {
        let opened = self.store.open(account.clone()).await;
        self.store.hold().await?.remove(account.did).await?;
        let told = match opened {
            Ok(account) => session::end(self, &account).await.map_err(AccountError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            tracing::debug!(%error, "the service was not told of the logout");
        }
        Ok(())
    }

    /// The account of that name, or the default one.
    pub(crate) async fn find(&self, name: Option<&str>) -> Result<Listed, AccountError> {
        let (accounts, default) = self.list().await?;
        let Some(name) = name else {
            let found = accounts.iter().find(|account| Some(&account.did) == default.as_ref());
            return found.or(accounts.first()).cloned().ok_or(AccountError::Nobody);
        };
        let wanted = AccountName::parse(name);
        let is_wanted = |account: &&Listed| match &wanted {
            Some(AccountName::Handle(handle)) => account.handle == *handle,
            Some(AccountName::Did(did)) => account.did == *did,
            None => false,
        };
        let shown = wanted.as_ref().map_or_else(|| "That account".to_owned(), ToString::to_string);
        accounts.iter().find(is_wanted).cloned().ok_or(AccountError::NotLoggedIn(shown))
    }

    /// Calls in the name of that account, or of the default one.
    pub(crate) async fn session(self: &Arc<Self>, name: Option<&str>) -> Result<Session, AccountError> {
        let account = self.store.open(self.find(name).await?).await?;
        Ok(Session::new(Arc::clone(self), account))
    }

    /// A login that somebody is in the middle of.
    pub(crate) fn flow(&self, id: &str) -> Option<Arc<Flow>> {
        self.flows().iter().find(|flow| flow.id == id).cloned()
    }

    /// A login of this account that is still under way.
    pub(crate) fn pending(&self, handle: &Handle, kind: &'static str) -> Option<Arc<Flow>> {
        let flows = self.flows();
        flows
            .iter()
            .find(|flow| flow.handle == *handle && flow.kind == kind && flow.outcome().is_none())
            .cloned()
    }

    fn begin(&self, flow: Arc<Flow>) {
        let mut flows = self.flows();
        // Those that have ended long ago, or that nobody asks about any more.
        while flows.len() >= 32 {
            flows.remove(0);
        }
        flows.push(flow);
    }

    fn flows(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Flow>>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nonce(&self, origin: &str) -> Option<String> {
        self.nonces.lock().unwrap_or_else(PoisonError::into_inner).get(origin).cloned()
    }

    fn take_nonce(&self, origin: String, answer: &crate::network::Answer) {
        let nonce = answer.headers.get("dpop-nonce").and_then(|nonce| nonce.to_str().ok());
        if let Some(nonce) = nonce.filter(|nonce| nonce.len() <= 1_000) {
            let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
            nonces.insert(origin, nonce.to_owned());
        }
    }
}
