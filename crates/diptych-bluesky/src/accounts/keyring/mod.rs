//! The keyring of the operating system: the Keychain on macOS, the Credential Manager on Windows, and elsewhere whatever
//! speaks the Secret Service on the session's bus.
//!
//! The crates for this come with a whole D-Bus stack, which made the binary three megabytes larger and its build minutes
//! longer, for eight calls. These are written by hand here (`bus`, `secret_service`), as the desktop's own
//! `libsecret` speaks them; on macOS and Windows the crates are small and are used (`native`).

#[cfg(all(unix, not(target_os = "macos")))]
mod bus;
#[cfg(any(target_os = "macos", windows))]
mod native;
#[cfg(all(unix, not(target_os = "macos")))]
mod secret_service;

use std::fmt::Debug;

/// Why a keyring does not do what it is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyringError {
    /// There is none, or it does not answer.
    #[error("there is no keyring that answers")]
    Absent,
    /// It is locked, and nobody unlocked it.
    #[error("the keyring is locked")]
    Locked,
    /// It answered with an error of this name.
    #[error("the keyring refused ({0})")]
    Refused(String),
    /// What it answered makes no sense.
    #[error("the keyring's answer makes no sense")]
    Nonsense,
}

/// A place for secrets, each under a name.
pub(super) trait Keyring: Debug + Send + Sync {
    /// Keeps a secret, in place of an earlier one of that name. The label is for people who look into the keyring.
    fn write(&self, name: &str, label: &str, secret: &str) -> Result<(), KeyringError>;
    /// The secret of that name.
    fn read(&self, name: &str) -> Result<Option<String>, KeyringError>;
    /// Forgets the secret of that name.
    fn delete(&self, name: &str) -> Result<(), KeyringError>;
}

/// The keyring of this machine. Nothing is called before it is used.
pub(super) fn native() -> Box<dyn Keyring> {
    #[cfg(any(target_os = "macos", windows))]
    return Box::new(native::Native);
    #[cfg(all(unix, not(target_os = "macos")))]
    return Box::new(secret_service::SecretService);
    #[cfg(not(any(unix, windows)))]
    return Box::new(Absent);
}

/// No keyring.
#[cfg(not(any(unix, windows)))]
#[derive(Debug)]
struct Absent;

#[cfg(not(any(unix, windows)))]
impl Keyring for Absent {
    fn write(&self, _: &str, _: &str, _: &str) -> Result<(), KeyringError> {
        Err(KeyringError::Absent)
    }

    fn read(&self, _: &str) -> Result<Option<String>, KeyringError> {
        Err(KeyringError::Absent)
    }

    fn delete(&self, _: &str) -> Result<(), KeyringError> {
        Err(KeyringError::Absent)
    }
}
