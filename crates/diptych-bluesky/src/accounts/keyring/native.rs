//! The Keychain of macOS and the Credential Manager of Windows.

use std::sync::{Arc, LazyLock};

use keyring_core::api::CredentialStoreApi as _;
use keyring_core::{Entry, Error, Result};

use super::{Keyring, KeyringError};

#[cfg(target_os = "macos")]
type Store = apple_native_keyring_store::keychain::Store;
#[cfg(windows)]
type Store = windows_native_keyring_store::Store;

static STORE: LazyLock<Result<Arc<Store>>> = LazyLock::new(Store::new);

/// The keyring of this system.
#[derive(Debug)]
pub(super) struct Native;

fn entry(name: &str) -> std::result::Result<Entry, KeyringError> {
    let store = STORE.as_ref().map_err(|_| KeyringError::Absent)?;
    store.build("diptych", name, None).map_err(|error| problem(&error))
}

/// Only the kind of an error: its text may quote what was to be kept.
fn problem(error: &Error) -> KeyringError {
    match error {
        Error::NoStorageAccess(_) => KeyringError::Locked,
        Error::TooLong(..) => KeyringError::Refused("TooLong".to_owned()),
        Error::BadEncoding(_) => KeyringError::Nonsense,
        _ => KeyringError::Refused("PlatformFailure".to_owned()),
    }
}

impl Keyring for Native {
    fn write(&self, name: &str, _label: &str, secret: &str) -> std::result::Result<(), KeyringError> {
        entry(name)?.set_password(secret).map_err(|error| problem(&error))
    }

    fn read(&self, name: &str) -> std::result::Result<Option<String>, KeyringError> {
        match entry(name)?.get_password() {
            Ok(secret) => Ok(Some(secret)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(problem(&error)),
        }
    }

    fn delete(&self, name: &str) -> std::result::Result<(), KeyringError> {
        match entry(name)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(problem(&error)),
        }
    }
}
