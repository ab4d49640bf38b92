//! Secrets that do not show themselves.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A token, a key or a password. It is written to the store and to the service it is for, and nowhere else: its `Debug`
/// says nothing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(secret: impl Into<String>) -> Self {
        Secret(secret.into())
    }

    /// The secret itself, for the one place that needs it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// 244 random bits, in letters that fit everywhere.
pub(crate) fn random_token() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        assert_eq!(format!("{:?}", Some(Secret::new("hunter2"))), "Some(Secret(…))");
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let token = random_token();
        assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(token, random_token());
    }
}
