//! Where logins are kept: a file that only the user can read, and for their secrets the keyring where there is one.
//!
//! The file lists the accounts. The tokens and keys of each are in the keyring of the operating system, under a name that
//! the file has, or in the file itself. What is written to a keyring is read again: one that does not give back what it
//! was given is not trusted with it. Several processes may share the file; see [`crate::private`].

use std::io;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keyring::{self, Keyring, KeyringError};
use super::{Account, AccountError, Login};
use crate::identity::{Did, Handle};
use crate::options::Secrets;
use crate::private::{Lock, PrivateFile};

/// What is in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<Did>,
    #[serde(default)]
    pub(super) accounts: Vec<Listed>,
}

/// An account as the file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) did: Did,
    pub(crate) handle: Handle,
    /// The service that keeps it.
    pub(crate) service: String,
    login: Place,
}

/// Where the secrets of a login are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Place {
    /// Here.
    File(Login),
    /// In the keyring, under this name.
    Keyring { method: Method, keyring: String },
}

/// How an account is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Method {
    AppPassword,
    OAuth,
}

/// Where the secrets of a login are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum Storage {
    /// The keyring of the operating system.
    Keyring,
    /// A file that only the user can read.
    File,
}

impl Listed {
    pub(crate) fn method(&self) -> Method {
        match &self.login {
            Place::File(Login::AppPassword { .. }) => Method::AppPassword,
            Place::File(Login::OAuth(_)) => Method::OAuth,
            Place::Keyring { method, .. } => *method,
        }
    }

    pub(crate) fn storage(&self) -> Storage {
        match &self.login {
            Place::File(_) => Storage::File,
            Place::Keyring { .. } => Storage::Keyring,
        }
    }
}

/// The file, and the keyring beside it.
#[derive(Debug, Clone)]
pub(super) struct Store {
    file: PrivateFile,
    secrets: Secrets,
    keyring: Arc<dyn Keyring>,
}

/// The only leave to change what is kept, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    store: Store,
    lock: Lock,
    kept: Kept,
}

impl Store {
    pub(super) fn new(folder: &Path, secrets: Secrets) -> Self {
        Self::with(folder, secrets, keyring::native().into())
    }

    fn with(folder: &Path, secrets: Secrets, keyring: Arc<dyn Keyring>) -> Self {
        Store { file: PrivateFile::new(folder, "accounts"), secrets, keyring }
    }

    /// The accounts, without what is in the keyring. None, where there is no file.
    pub(super) async fn list(&self) -> Result<Kept, AccountError> {
        let store = self.clone();
        blocking(move || store.load()).await
    }

    /// An account with its secrets.
    pub(super) async fn open(&self, listed: Listed) -> Result<Account, AccountError> {
        let store = self.clone();
        blocking(move || store.open_now(listed)).await
    }

    /// Takes the lock and reads the list.
    pub(super) async fn hold(&self) -> Result<Held, AccountError> {
        let store = self.clone();
        blocking(move || {
            let lock = store.file.lock().map_err(broken)?;
            Ok(Held { kept: store.load()?, store, lock })
        })
        .await
    }

    fn load(&self) -> Result<Kept, AccountError> {
        let Some(bytes) = self.file.read().map_err(broken)? else { return Ok(Kept::default()) };
        serde_json::from_slice(&bytes).map_err(|error| {
            // Only the place: the message of serde may quote a token.
            broken(io::Error::other(format!("accounts.json is damaged at line {}", error.line())))
        })
    }

    fn open_now(&self, listed: Listed) -> Result<Account, AccountError> {
        let Listed { did, handle, service, login } = listed;
        let login = match login {
            Place::File(login) => login,
            Place::Keyring { keyring: name, .. } => {
                let secret = self.keyring.read(&name).map_err(|error| locked(&error))?;
                let login = secret.and_then(|secret| serde_json::from_str(&secret).ok());
                login.ok_or_else(|| AccountError::GoneFromKeyring(handle.clone()))?
            }
        };
        Ok(Account { did, handle, service, login })
    }

    /// Puts the secrets of an account where they are to be kept.
    fn place(&self, account: &Account, earlier: Option<&Listed>) -> Result<Place, AccountError> {
        let here = || Place::File(account.login.clone());
        let name = match earlier.map(|earlier| &earlier.login) {
            Some(Place::Keyring { keyring, .. }) => keyring.clone(),
            // Names differ between folders, which may have different logins of one account.
            _ => format!("{} {}", account.did, uuid::Uuid::new_v4().simple()),
        };
        if self.secrets == Secrets::File {
            return Ok(here());
        }
        match self.entrust(&name, account) {
            Ok(()) => {
                let method = match account.login {
                    Login::AppPassword { .. } => Method::AppPassword,
                    Login::OAuth(_) => Method::OAuth,
                };
                Ok(Place::Keyring { method, keyring: name })
            }
            Err(error) if self.secrets == Secrets::Auto => {
                tracing::debug!(%error, "secrets go to the file");
                Ok(here())
            }
            Err(error) => Err(locked(&error)),
        }
    }

    /// Gives the secrets of an account to the keyring, and looks whether it has them.
    fn entrust(&self, name: &str, account: &Account) -> Result<(), KeyringError> {
        let secret = serde_json::to_string(&account.login).map_err(|_| KeyringError::Nonsense)?;
        self.keyring.write(name, &format!("Diptych: Bluesky login of @{}", account.handle), &secret)?;
        match self.keyring.read(name) {
            Ok(Some(read)) if read == secret => Ok(()),
            other => {
                let _ = self.keyring.delete(name);
                Err(other.err().unwrap_or(KeyringError::Nonsense))
            }
        }
    }

    /// Forgets what the keyring has of an account. What cannot be reached stays, and nothing refers to it.
    fn clear(&self, listed: &Listed) {
        if let Place::Keyring { keyring: name, .. } = &listed.login
            && let Err(error) = self.keyring.delete(name)
        {
            tracing::warn!(%error, "a login that has ended is still in the keyring");
        }
    }
}

impl Held {
    /// The account of that identity, as the list has it.
    pub(super) fn find(&self, did: &Did) -> Option<&Listed> {
        self.kept.accounts.iter().find(|listed| listed.did == *did)
    }

    pub(super) async fn make_default(mut self, did: Did) -> Result<(), AccountError> {
        blocking(move || {
            self.kept.default = Some(did);
            self.write()
        })
        .await
    }

    /// Keeps an account, in place of what was known of it. The first one becomes the default.
    pub(super) async fn keep(mut self, account: Account) -> Result<(), AccountError> {
        blocking(move || {
            let earlier = self.kept.accounts.iter().position(|listed| listed.did == account.did);
            let before = earlier.map(|position| &self.kept.accounts[position]);
            let login = self.store.place(&account, before)?;
            let Account { did, handle, service, .. } = account;
            let listed = Listed { did: did.clone(), handle, service, login };
            self.kept.default.get_or_insert(did);
            let replaced = match earlier {
                Some(position) => Some(std::mem::replace(&mut self.kept.accounts[position], listed.clone())),
                None => {
                    self.kept.accounts.push(listed.clone());
                    None
                }
            };
            self.write()?;
            // From the keyring into the file: the keyring must not go on having the old secrets.
            if let Some(replaced) = replaced.filter(|_| listed.storage() == Storage::File) {
                self.store.clear(&replaced);
            }
            Ok(())
        })
        .await
    }

    /// Forgets an account.
    pub(super) async fn remove(mut self, did: Did) -> Result<(), AccountError> {
        blocking(move || {
            let (gone, left) = self.kept.accounts.drain(..).partition(|listed| listed.did == did);
            self.kept.accounts = left;
            if self.kept.default.as_ref() == Some(&did) {
                self.kept.default = self.kept.accounts.first().map(|listed| listed.did.clone());
            }
            self.write()?;
            let gone: Vec<Listed> = gone;
            gone.iter().for_each(|listed| self.store.clear(listed));
            Ok(())
        })
        .await
    }

    fn write(&self) -> Result<(), AccountError> {
        let bytes = serde_json::to_vec_pretty(&self.kept).map_err(|error| broken(error.into()))?;
        self.store.file.replace(&self.lock, &bytes).map_err(broken)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it ends the error, and reads as a function for `map_err`")]
fn broken(error: io::Error) -> AccountError {
    tracing::error!(%error, "the logins cannot be read or written");
    AccountError::Store
}

fn locked(error: &KeyringError) -> AccountError {
    tracing::warn!(%error, "the keyring cannot be used");
    AccountError::Keyring
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AccountError> + Send + 'static,
) -> Result<T, AccountError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(broken(io::Error::other(error))))
}

/// What is wrong with the file of the logins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginsProblem {
    /// It cannot be read, or is damaged.
    #[error("The file of the Bluesky logins cannot be read.")]
    Unreadable,
    /// Others can read it.
    #[error("Others on this machine can read the Bluesky logins.")]
    Open,
}

impl LoginsProblem {
    /// What to do about it.
    pub fn mend(self) -> &'static str {
        match self {
            LoginsProblem::Unreadable => {
                "Move `bluesky/accounts.json` in the data folder away, and log in again."
            }
            LoginsProblem::Open => {
                "Take their rights away: `chmod 600` on `bluesky/accounts.json` in the data folder."
            }
        }
    }
}

/// The handles of those who are logged in, and whether what is kept of them is kept well.
///
/// # Errors
/// When the file cannot be read, or others can read it.
pub fn logged_in(options: &crate::BlueskyOptions) -> Result<Vec<String>, LoginsProblem> {
    let store = Store::new(&options.data, options.secrets);
    let kept = store.load().map_err(|_| LoginsProblem::Unreadable)?;
    if store.file.is_open_to_others() {
        return Err(LoginsProblem::Open);
    }
    Ok(kept.accounts.iter().map(|listed| listed.handle.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;
    use std::sync::Mutex;

    use super::super::Secret;
    use super::*;

    fn account(letter: &str) -> Account {
        Account {
            did: Did::parse(&format!("did:plc:{}", letter.repeat(24))).unwrap(),
            handle: Handle::parse(&format!("{letter}.test")).unwrap(),
            service: "https://pds.example.com".to_owned(),
            login: Login::AppPassword {
                access: Secret::new("the-access"),
                refresh: Secret::new("the-refresh"),
            },
        }
    }

    fn renewed(account: &Account) -> Account {
        let login = Login::AppPassword { access: Secret::new("newer"), refresh: Secret::new("newest") };
        Account { login, ..account.clone() }
    }

    async fn keep(store: &Store, account: &Account) -> Result<(), AccountError> {
        store.hold().await?.keep(account.clone()).await
    }

    async fn read(store: &Store, account: &Account) -> Result<Account, AccountError> {
        let listed = store.list().await?.accounts.into_iter().find(|listed| listed.did == account.did);
        store.open(listed.ok_or(AccountError::Nobody)?).await
    }

    fn written(folder: &Path) -> String {
        fs::read_to_string(folder.join("accounts.json")).unwrap()
    }

    /// A keyring of which tests decide what it does.
    #[derive(Debug, Default)]
    struct Box {
        secrets: Mutex<HashMap<String, String>>,
        fault: Mutex<Fault>,
    }

    #[derive(Debug, Default, Clone, Copy, PartialEq)]
    enum Fault {
        #[default]
        None,
        Absent,
        /// It says that it keeps things, and does not.
        Forgets,
        /// It keeps something else.
        Mangles,
    }

    impl Box {
        fn set(&self, fault: Fault) {
            *self.fault.lock().unwrap() = fault;
        }

        fn usable(&self) -> Result<Fault, KeyringError> {
            match *self.fault.lock().unwrap() {
                Fault::Absent => Err(KeyringError::Absent),
                fault => Ok(fault),
            }
        }
    }

    impl Keyring for Box {
        fn write(&self, name: &str, _label: &str, secret: &str) -> Result<(), KeyringError> {
            let kept = match self.usable()? {
                Fault::Forgets => return Ok(()),
                Fault::Mangles => secret[..secret.len() / 2].to_owned(),
                _ => secret.to_owned(),
            };
            self.secrets.lock().unwrap().insert(name.to_owned(), kept);
            Ok(())
        }

        fn read(&self, name: &str) -> Result<Option<String>, KeyringError> {
            self.usable()?;
            Ok(self.secrets.lock().unwrap().get(name).cloned())
        }

        fn delete(&self, name: &str) -> Result<(), KeyringError> {
            self.usable()?;
            self.secrets.lock().unwrap().remove(name);
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_was_written_to_the_file_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Secrets::File);
        assert!(store.list().await.unwrap().accounts.is_empty());
        let alice = account("a");
        keep(&store, &alice).await.unwrap();
        assert_eq!(read(&store, &alice).await.unwrap(), alice);
        assert_eq!(store.list().await.unwrap().accounts[0].storage(), Storage::File);
        store.hold().await.unwrap().remove(alice.did.clone()).await.unwrap();
        assert!(!written(folder.path()).contains("the-access"));
    }

    #[tokio::test]
    async fn secrets_are_in_the_keyring_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Box::default());
        let store = Store::with(folder.path(), Secrets::Auto, Arc::<Box>::clone(&keyring));
        let alice = account("a");
        keep(&store, &alice).await.unwrap();
        let file = written(folder.path());
        assert!(!file.contains("the-access") && !file.contains("the-refresh"), "{file}");
        let listed = &store.list().await.unwrap().accounts[0];
        assert_eq!((listed.storage(), listed.method()), (Storage::Keyring, Method::AppPassword));
        assert_eq!(read(&store, &alice).await.unwrap(), alice);
        // Another folder has another login of the same account.
        let elsewhere = tempfile::tempdir().unwrap();
        let other = Store::with(elsewhere.path(), Secrets::Auto, Arc::<Box>::clone(&keyring));
        keep(&other, &renewed(&alice)).await.unwrap();
        assert_eq!(read(&store, &alice).await.unwrap(), alice);
        // A renewed token takes the place of the old one.
        keep(&store, &renewed(&alice)).await.unwrap();
        assert_eq!(read(&store, &alice).await.unwrap(), renewed(&alice));
        assert_eq!(keyring.secrets.lock().unwrap().len(), 2);
        for store in [&store, &other] {
            store.hold().await.unwrap().remove(alice.did.clone()).await.unwrap();
        }
        assert!(keyring.secrets.lock().unwrap().is_empty(), "a logout leaves nothing in the keyring");
    }

    #[tokio::test]
    async fn a_keyring_that_cannot_be_trusted_is_not_used() {
        for fault in [Fault::Absent, Fault::Forgets, Fault::Mangles] {
            let folder = tempfile::tempdir().unwrap();
            let keyring = Arc::new(Box::default());
            keyring.set(fault);
            let store = Store::with(folder.path(), Secrets::Auto, Arc::<Box>::clone(&keyring));
            let alice = account("a");
            keep(&store, &alice).await.unwrap();
            assert_eq!(store.list().await.unwrap().accounts[0].storage(), Storage::File, "{fault:?}");
            assert_eq!(read(&store, &alice).await.unwrap(), alice);
            assert!(keyring.secrets.lock().unwrap().is_empty(), "{fault:?}: nothing is left in it");
            // Whoever wants the keyring and nothing else is told.
            let store = Store::with(folder.path(), Secrets::Keyring, Arc::<Box>::clone(&keyring));
            assert!(matches!(keep(&store, &account("b")).await, Err(AccountError::Keyring)));
            assert_eq!(store.list().await.unwrap().accounts.len(), 1);
            // Once it works, the next token that is renewed goes there.
            keyring.set(Fault::None);
            keep(&store, &renewed(&alice)).await.unwrap();
            assert_eq!(store.list().await.unwrap().accounts[0].storage(), Storage::Keyring);
            assert!(!written(folder.path()).contains("newer"));
        }
    }

    #[tokio::test]
    async fn a_keyring_that_is_gone_or_was_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(Box::default());
        let store = Store::with(folder.path(), Secrets::Auto, Arc::<Box>::clone(&keyring));
        let alice = account("a");
        keep(&store, &alice).await.unwrap();
        keyring.set(Fault::Absent);
        assert!(matches!(read(&store, &alice).await, Err(AccountError::Keyring)));
        assert_eq!(store.list().await.unwrap().accounts.len(), 1, "who is logged in is known all the same");
        // A login while it is away goes to the file.
        keep(&store, &renewed(&alice)).await.unwrap();
        assert_eq!(read(&store, &alice).await.unwrap(), renewed(&alice));
        keyring.set(Fault::None);
        keep(&store, &alice).await.unwrap();
        keyring.secrets.lock().unwrap().clear();
        assert!(matches!(read(&store, &alice).await, Err(AccountError::GoneFromKeyring(_))));
        store.hold().await.unwrap().remove(alice.did).await.unwrap();
        assert!(store.list().await.unwrap().accounts.is_empty());
    }

    /// As `secret_service` has it: with a real keyring, where there is one for tests.
    #[tokio::test]
    async fn a_real_keyring_keeps_logins() {
        if std::env::var_os("DIPTYCH_KEYRING").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Secrets::Auto);
        let alice = account("a");
        for account in [alice.clone(), renewed(&alice)] {
            keep(&store, &account).await.unwrap();
            assert_eq!(store.list().await.unwrap().accounts[0].storage(), Storage::Keyring);
            assert_eq!(read(&Store::new(folder.path(), Secrets::Auto), &alice).await.unwrap(), account);
        }
        let file = written(folder.path());
        assert!(!file.contains("newer") && !file.contains("the-access"), "{file}");
        let listed = store.list().await.unwrap().accounts[0].clone();
        store.hold().await.unwrap().remove(alice.did).await.unwrap();
        assert!(matches!(store.open(listed).await, Err(AccountError::GoneFromKeyring(_))));
    }

    #[tokio::test]
    async fn writers_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Secrets::File);
        let one = |number: u8| {
            let store = store.clone();
            let letter = char::from(b'a' + number).to_string();
            tokio::spawn(async move { keep(&store, &account(&letter)).await })
        };
        for writer in (0..20).map(one).collect::<Vec<_>>() {
            writer.await.unwrap().unwrap();
        }
        assert_eq!(store.list().await.unwrap().accounts.len(), 20);
    }

    #[tokio::test]
    async fn a_damaged_file_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path(), Secrets::File);
        fs::write(store.file.path(), "{\"accounts\": [").unwrap();
        assert!(matches!(store.list().await, Err(AccountError::Store)));
        assert!(matches!(keep(&store, &account("a")).await, Err(AccountError::Store)));
        assert_eq!(written(folder.path()), "{\"accounts\": [");
    }
}
