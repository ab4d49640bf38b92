//! Where logins are kept: one file that only the user can read.
//!
//! Several processes may share it. Whoever changes it holds a lock from reading to writing, so that a rotated token is
//! never written over by an older one; the file is replaced as a whole, so that a reader never sees half of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Account, AccountError};
use crate::identity::Did;

/// What is in the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<Did>,
    #[serde(default)]
    pub(super) accounts: Vec<Account>,
}

/// The file.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: PathBuf,
}

/// The only leave to change the file, until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    store: Store,
    _lock: File,
    pub(super) kept: Kept,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Self {
        Store { folder: folder.to_owned() }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("accounts.json")
    }

    /// What is kept. Nothing, where there is no file.
    pub(super) async fn read(&self) -> Result<Kept, AccountError> {
        let store = self.clone();
        blocking(move || store.load()).await
    }

    /// Takes the lock and reads what is kept.
    pub(super) async fn hold(&self) -> Result<Held, AccountError> {
        let store = self.clone();
        blocking(move || {
            make_folder(&store.folder)?;
            let lock = private(OpenOptions::new().write(true).create(true).truncate(false))
                .open(store.folder.join("accounts.lock"))?;
            lock.lock()?;
            Ok(Held { kept: store.load()?, store, _lock: lock })
        })
        .await
    }

    /// Changes what is kept.
    pub(super) async fn change(
        &self,
        change: impl FnOnce(&mut Kept) + Send + 'static,
    ) -> Result<(), AccountError> {
        let mut held = self.hold().await?;
        change(&mut held.kept);
        held.write().await
    }

    fn load(&self) -> io::Result<Kept> {
        match fs::read(self.file()) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                // Only the place: the message of serde may quote a token.
                io::Error::other(format!("accounts.json is damaged at line {}", error.line()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Kept::default()),
            Err(error) => Err(error),
        }
    }
}

impl Held {
    /// Replaces the file.
    pub(super) async fn write(self) -> Result<(), AccountError> {
        blocking(move || {
            let fresh = self.store.folder.join(format!("accounts.{}.part", std::process::id()));
            let _ = fs::remove_file(&fresh);
            let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&fresh)?;
            file.write_all(&serde_json::to_vec_pretty(&self.kept).map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(&fresh, self.store.file())
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, AccountError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| {
        tracing::error!(%error, "the logins cannot be read or written");
        AccountError::Store
    })
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
    let store = Store::new(&options.data);
    let kept = store.load().map_err(|_| LoginsProblem::Unreadable)?;
    #[cfg(unix)]
    if let Ok(about) = fs::metadata(store.file())
        && std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
    {
        return Err(LoginsProblem::Open);
    }
    Ok(kept.accounts.iter().map(|account| account.handle.to_string()).collect())
}

/// For the user alone.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::super::{Login, Secret};
    use super::*;
    use crate::identity::Handle;

    fn account(handle: &str, letter: &str) -> Account {
        Account {
            did: Did::parse(&format!("did:plc:{}", letter.repeat(24))).unwrap(),
            handle: Handle::parse(handle).unwrap(),
            service: "https://pds.example.com".to_owned(),
            login: Login::AppPassword { access: Secret::new("a"), refresh: Secret::new("r") },
        }
    }

    #[tokio::test]
    async fn what_was_written_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(&folder.path().join("deep/down"));
        assert!(store.read().await.unwrap().accounts.is_empty());
        let alice = account("alice.test", "a");
        let kept = alice.clone();
        store.change(move |all| all.accounts.push(kept)).await.unwrap();
        assert_eq!(store.read().await.unwrap().accounts, [alice]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&store.file()), 0o600);
            assert_eq!(mode(&store.folder), 0o700);
        }
    }

    #[tokio::test]
    async fn writers_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let one = |number: usize| {
            let store = store.clone();
            let letter = char::from(b'a' + u8::try_from(number).unwrap()).to_string();
            tokio::spawn(async move {
                let new = account(&format!("{letter}.test"), &letter);
                store.change(move |all| all.accounts.push(new)).await
            })
        };
        for writer in (0..20).map(one).collect::<Vec<_>>() {
            writer.await.unwrap().unwrap();
        }
        assert_eq!(store.read().await.unwrap().accounts.len(), 20);
        let left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[tokio::test]
    async fn a_damaged_file_is_an_error_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        fs::write(store.file(), "{\"accounts\": [").unwrap();
        assert!(matches!(store.read().await, Err(AccountError::Store)));
        assert!(matches!(store.change(|_| ()).await, Err(AccountError::Store)));
        assert_eq!(fs::read_to_string(store.file()).unwrap(), "{\"accounts\": [");
    }
}
