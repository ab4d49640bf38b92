//! Our entry: the command that a client is to start.

use std::path::Path;

use crate::exit::{Failure, Outcome};
use crate::settings::{Scope, Settings};

/// The command that a client is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
}

impl Entry {
    /// This very binary, with the settings that were given as flags.
    pub(crate) fn ours(settings: &Settings) -> Outcome<Self> {
        let binary = std::env::current_exe()
            .map_err(|error| Failure::failed(format!("This program cannot find itself: {error}.")))?;
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(settings.given(Scope::Server));
        Ok(Entry { command: binary.to_string_lossy().into_owned(), arguments })
    }

    /// Whether the command is a `diptych`, of whatever version and wherever it is.
    pub(crate) fn is_ours(command: &str) -> bool {
        Path::new(command).file_stem().is_some_and(|name| name == "diptych")
    }
}

/// Whether clients take it as a server's name.
pub(crate) fn valid_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
