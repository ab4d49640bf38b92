//! Content ids: the names of blocks. A repository uses one form only: version 1, DAG-CBOR, SHA-256; so the hash is
//! all that has to be kept.

use sha2::{Digest as _, Sha256};

use super::error::RepositoryError;

/// Version 1, DAG-CBOR, SHA-256, 32 bytes.
const PREFIX: [u8; 4] = [0x01, 0x71, 0x12, 0x20];
/// How long a content id is in bytes.
pub(crate) const LENGTH: usize = PREFIX.len() + 32;

/// The name of a block: the SHA-256 of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub(crate) [u8; 32]);

impl ContentId {
    /// The name of these bytes.
    pub fn of(block: &[u8]) -> Self {
        ContentId(Sha256::digest(block).into())
    }

    /// Reads an id in its binary form.
    ///
    /// # Errors
    /// When it is of a form that repositories do not use.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, RepositoryError> {
        match bytes.split_first_chunk::<4>() {
            Some((prefix, hash)) if *prefix == PREFIX => hash.try_into().ok().map(ContentId),
            _ => None,
        }
        .ok_or(RepositoryError::Malformed("a content id is not of the form that repositories use"))
    }

    /// The binary form.
    pub fn bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&PREFIX);
        bytes[4..].copy_from_slice(&self.0);
        bytes
    }
}

/// The written form: base 32 in lower case, with its marker.
pub(crate) fn written(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = String::with_capacity(1 + bytes.len() * 8 / 5 + 1);
    text.push('b');
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(LETTERS[(buffer >> bits) as usize & 31]));
        }
    }
    if bits > 0 {
        text.push(char::from(LETTERS[(buffer << (5 - bits)) as usize & 31]));
    }
    text
}

impl std::fmt::Display for ContentId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&written(&self.bytes()))
    }
}

impl std::fmt::Debug for ContentId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_everybody_writes_it() {
        // The empty map, whose id is known.
        let id = ContentId::of(&[0xa0]);
        assert_eq!(id.to_string(), "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua");
        assert_eq!(ContentId::read(&id.bytes()).ok(), Some(id));
        assert!(ContentId::read(&id.bytes()[..35]).is_err());
        assert!(ContentId::read(&[0x01, 0x55, 0x12, 0x20]).is_err());
    }
}
