//! The key that an account's commits are signed with, and checking signatures with it.

use k256::ecdsa::signature::Verifier as _;

use super::error::RepositoryError;

const SECP256K1: [u8; 2] = [0xe7, 0x01];
const P256: [u8; 2] = [0x80, 0x24];
const COMPRESSED: usize = 33;
const UNCOMPRESSED: usize = 65;

/// Half of each curve's order. Of the two signatures that are mathematically equal, the protocol allows the one whose
/// second half is not above it, so that nobody can make a second valid commit out of a first.
const SECP256K1_HALF: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d,
    0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];
const P256_HALF: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0x80, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xde,
    0x73, 0x7d, 0x56, 0xd3, 0x8b, 0xcf, 0x42, 0x79, 0xdc, 0xe5, 0x61, 0x7e, 0x31, 0x92, 0xa8,
];

/// A public key from a DID document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey(Curve);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Curve {
    Secp256k1(k256::ecdsa::VerifyingKey),
    P256(p256::ecdsa::VerifyingKey),
}

impl SigningKey {
    /// Reads a key as DID documents write it: a multikey (`z…`), alone or as a `did:key:`, or the bare point of older ones.
    ///
    /// # Errors
    /// When it is not a key of the two curves that the protocol knows.
    pub fn parse(written: &str) -> Result<Self, RepositoryError> {
        let multibase = written.strip_prefix("did:key:").unwrap_or(written);
        Self::decode(multibase).ok_or(RepositoryError::NoSigningKey)
    }

    fn decode(multibase: &str) -> Option<Self> {
        // A key is 65 bytes at most; nobody gets to have a megabyte of base 58 decoded.
        let digits = multibase.strip_prefix('z').filter(|digits| digits.len() <= 100)?;
        let bytes = bs58::decode(digits).into_vec().ok()?;
        // Older documents have the bare point, both of its coordinates, and the curve beside it. The point tells the
        // curve as well: no point that anyone can find is on both.
        if let [0x04, ..] = *bytes
            && bytes.len() == UNCOMPRESSED
        {
            let on_first = k256::ecdsa::VerifyingKey::from_sec1_bytes(&bytes).ok().map(Curve::Secp256k1);
            let on_second = || p256::ecdsa::VerifyingKey::from_sec1_bytes(&bytes).ok().map(Curve::P256);
            return on_first.or_else(on_second).map(SigningKey);
        }
        let (codec, point) = bytes.split_first_chunk::<2>()?;
        let point = Some(point).filter(|point| point.len() == COMPRESSED)?;
        match *codec {
            SECP256K1 => k256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok().map(Curve::Secp256k1),
            P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(point).ok().map(Curve::P256),
            _ => None,
        }
        .map(SigningKey)
    }

    /// Whether the message was signed with this key, in the one form that the protocol allows.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let Some(second_half) = signature.get(32..64).filter(|_| signature.len() == 64) else { return false };
        match &self.0 {
            Curve::Secp256k1(key) => {
                second_half <= SECP256K1_HALF.as_slice()
                    && k256::ecdsa::Signature::from_slice(signature)
                        .is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
            Curve::P256(key) => {
                second_half <= P256_HALF.as_slice()
                    && p256::ecdsa::Signature::from_slice(signature)
                        .is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
        }
    }
}
