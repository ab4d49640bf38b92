//! Request states: what a client of 2026-07-28 carries from one request of a call to the next.
//!
//! Signed, not encrypted: anyone can read one, nobody can make one. They are bound to the tool, its
//! arguments and the caller, and they expire.

use std::time::Duration;

use rmcp::model::{RequestStateCodec, RequestStateError, SealOptions};

use crate::walk::rounds::Rounds;

/// Signs request states and tells ours from others'.
pub(crate) struct Seals(RequestStateCodec);

/// What a request state turned out to be.
pub(crate) enum Opened {
    Rounds(Box<Rounds>),
    Expired,
    Forged,
}

impl Seals {
    /// # Errors
    /// When the key is too short to sign with.
    pub(crate) fn new(key: Vec<u8>) -> Result<Self, String> {
        let codec = RequestStateCodec::try_new(key)
            .map_err(|_| "The key that signs request states is too short".to_owned())?;
        Ok(Seals(codec))
    }

    /// With a key that nobody else has and that ends with the process.
    pub(crate) fn random() -> Self {
        let key: Vec<u8> = (0..4).flat_map(|_| uuid::Uuid::new_v4().into_bytes()).collect();
        Self::new(key).unwrap_or_else(|_| unreachable!("64 bytes are enough to sign with"))
    }

    pub(crate) fn seal(&self, rounds: &Rounds, binding: &[u8], lifetime: Duration) -> String {
        let options = SealOptions::new().associated_data(binding).ttl(lifetime);
        // A map of strings and JSON values always serialises.
        self.0.seal_json_with(rounds, &options).unwrap_or_default()
    }

    pub(crate) fn open(&self, state: &str, binding: &[u8]) -> Opened {
        match self.0.open_json_with(state, binding) {
            Ok(rounds) => Opened::Rounds(Box::new(rounds)),
            Err(RequestStateError::Expired) => Opened::Expired,
            Err(_) => Opened::Forged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_bound_and_expires() {
        let seals = Seals::random();
        let sealed = seals.seal(&Rounds::default(), b"tool\x1fann", Duration::from_secs(60));
        assert!(matches!(seals.open(&sealed, b"tool\x1fann"), Opened::Rounds(_)));
        assert!(matches!(seals.open(&sealed, b"tool\x1fbob"), Opened::Forged));
        assert!(matches!(seals.open(&format!("{sealed}x"), b"tool\x1fann"), Opened::Forged));
        assert!(matches!(Seals::random().open(&sealed, b"tool\x1fann"), Opened::Forged));
        let expired = seals.seal(&Rounds::default(), b"", Duration::ZERO);
        std::thread::sleep(Duration::from_millis(5));
        assert!(matches!(seals.open(&expired, b""), Opened::Expired));
    }

    #[test]
    fn a_short_key_is_refused() {
        assert!(Seals::new(b"short".to_vec()).is_err());
        assert!(Seals::new(vec![7; 32]).is_ok());
    }
}
