//! The signed commit: what an account vouches for.

use super::cbor::{Cbor, Writer};
use super::content_id::ContentId;
use super::error::RepositoryError;
use super::key::SigningKey;

const VERSION: u64 = 3;
/// Longer is no revision and no identity.
const LONGEST_DID: usize = 2048;

/// A commit whose signature has been checked. There is no other way to get one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCommit {
    /// The account.
    pub did: String,
    /// The revision: a later one sorts after an earlier one.
    pub rev: String,
    /// The root of the tree of records.
    pub(crate) data: ContentId,
    /// The commit itself.
    pub id: ContentId,
}

impl VerifiedCommit {
    /// Reads a commit and checks whose it is and who signed it.
    ///
    /// # Errors
    /// When it is malformed, another account's, or not signed with the key.
    pub(crate) fn verify(block: &[u8], did: &str, key: &SigningKey) -> Result<Self, RepositoryError> {
        let malformed = || RepositoryError::Malformed("the commit cannot be read");
        let mut cbor = Cbor::new(block);
        let entries = cbor.map().map_err(|_| malformed())?;
        let (mut whose, mut rev, mut data, mut version, mut signature) = (None, None, None, None, None);
        // What was signed is the commit without its signature: the same bytes with one entry less.
        let mut signed = Writer::default();
        signed.map(entries.saturating_sub(1));
        for _ in 0..entries {
            let start = cbor.rest();
            let name = cbor.text().map_err(|_| malformed())?;
            let mut value = Cbor::new(cbor.skip().map_err(|_| malformed())?);
            if name == "sig" {
                signature = value.bytes().ok();
                continue;
            }
            signed.0.extend_from_slice(&start[..start.len() - cbor.rest().len()]);
            match name {
                "did" => whose = value.text().ok(),
                "rev" => rev = value.text().ok(),
                "version" => version = value.unsigned().ok(),
                "data" => data = value.link().ok().and_then(|link| ContentId::read(link).ok()),
                _ => {}
            }
        }
        cbor.end().map_err(|_| malformed())?;
        if version != Some(VERSION) {
            return Err(RepositoryError::Malformed("the commit is of an unknown version"));
        }
        let (Some(whose), Some(rev), Some(data), Some(signature)) = (whose, rev, data, signature) else {
            return Err(malformed());
        };
        if whose.len() > LONGEST_DID || !is_revision(rev) {
            return Err(malformed());
        }
        if whose != did {
            return Err(RepositoryError::WrongAccount);
        }
        if !key.verifies(&signed.0, signature) {
            return Err(RepositoryError::ForgedSignature);
        }
        Ok(VerifiedCommit { did: whose.to_owned(), rev: rev.to_owned(), data, id: ContentId::of(block) })
    }
}

/// Thirteen characters of the sortable base 32.
pub(crate) fn is_revision(text: &str) -> bool {
    text.len() == 13 && text.bytes().all(|byte| matches!(byte, b'2'..=b'7' | b'a'..=b'z'))
}

/// The time in a key or revision made from the clock, in milliseconds.
pub(crate) fn time_of(key: &str) -> Option<i64> {
    if !is_revision(key) {
        return None;
    }
    let number = key.bytes().fold(0_u64, |number, byte| {
        let digit = if byte < b'a' { byte - b'2' } else { byte - b'a' + 6 };
        (number << 5) | u64::from(digit)
    });
    // The lowest ten bits tell clocks apart; the rest counts microseconds.
    i64::try_from((number & (u64::MAX >> 1)) >> 10).ok().map(|micros| micros / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_the_time() {
        // 2023-06-30T00:36:19.456Z, or near it: checked with the protocol's own library.
        let time = time_of("3jzfcijpj2z2a").unwrap();
        assert_eq!(jiff::Timestamp::from_millisecond(time).unwrap().to_string()[..10], *"2023-06-30");
        assert_eq!(time_of("self"), None);
        assert_eq!(time_of("3jzfcijpj2z2A"), None);
    }
}
