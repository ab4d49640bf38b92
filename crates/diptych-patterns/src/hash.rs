//! A hash that is the same on every machine and in every release (FNV-1a), for versions and names.
//! The standard library's hashers promise neither.

/// The hash of some bytes.
pub(crate) fn of(bytes: &[u8]) -> u64 {
    extend(0xcbf2_9ce4_8422_2325, bytes)
}

/// The hash of what was hashed so far and some more bytes.
pub(crate) fn extend(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
