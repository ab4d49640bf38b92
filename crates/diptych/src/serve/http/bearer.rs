//! Bearer tokens: who a request comes from, and what it is told when that is not known.
//!
//! A token is never logged, never echoed and not kept: only its digest is, and digests are compared in
//! constant time.

use std::time::Duration;

use http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

#[cfg(feature = "oauth")]
use super::issuer::Verifier;

/// Who may call.
#[derive(Default)]
pub(super) struct Bearers {
    tokens: Vec<([u8; 32], String)>,
    #[cfg(feature = "oauth")]
    pub(super) issuer: Option<Verifier>,
}

/// Why a request is not let in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// It carries no bearer token.
    Missing,
    /// It carries one that is not good, or no longer.
    Invalid,
    /// It carries a good one that does not reach far enough.
    #[cfg_attr(not(feature = "oauth"), allow(dead_code))]
    Scope,
    /// Whether it is good cannot be said now.
    #[cfg_attr(not(feature = "oauth"), allow(dead_code))]
    Unavailable(Duration),
}

impl Bearers {
    pub(super) fn add_token(&mut self, token: &str, subject: String) {
        self.tokens.push((digest(token), subject));
    }

    /// Whether a request has to say who it comes from.
    pub(super) fn are_asked_for(&self) -> bool {
        #[cfg(feature = "oauth")]
        if self.issuer.is_some() {
            return true;
        }
        !self.tokens.is_empty()
    }

    /// The subject that a request comes from.
    pub(super) async fn subject(&self, headers: &HeaderMap) -> Result<String, Denied> {
        let token = presented(headers)?;
        #[cfg(feature = "oauth")]
        if let (Err(_), Some(issuer)) = (self.known(token), &self.issuer) {
            return issuer.subject(token).await;
        }
        self.known(token)
    }

    fn known(&self, token: &str) -> Result<String, Denied> {
        let digest = digest(token);
        // All of them, found or not: how long it takes says nothing about which is near.
        let mut found = None;
        for (known, subject) in &self.tokens {
            if bool::from(known.ct_eq(&digest)) {
                found = Some(subject);
            }
        }
        found.cloned().ok_or(Denied::Invalid)
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The token of the one `Authorization` header.
fn presented(headers: &HeaderMap) -> Result<&str, Denied> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next().ok_or(Denied::Missing)?;
    let text = value.to_str().ok().filter(|_| values.next().is_none()).ok_or(Denied::Invalid)?;
    let (scheme, token) = text.split_once(' ').ok_or(Denied::Invalid)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Denied::Missing);
    }
    let token = token.trim();
    if token.is_empty() { Err(Denied::Invalid) } else { Ok(token) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_subjects() {
        let mut bearers = Bearers::default();
        assert!(!bearers.are_asked_for());
        bearers.add_token("first-token", "ada".to_owned());
        bearers.add_token("second-token", "grace".to_owned());
        let subject = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            let token = presented(&headers)?;
            bearers.known(token)
        };
        assert_eq!(subject("Bearer first-token"), Ok("ada".to_owned()));
        assert_eq!(subject("bearer  second-token"), Ok("grace".to_owned()));
        for wrong in ["Bearer first-toke", "Bearer first-tokens", "Bearer FIRST-TOKEN", "Bearer ", "Bearer"] {
            assert_eq!(subject(wrong), Err(Denied::Invalid), "{wrong}");
        }
        assert_eq!(subject("Basic first-token"), Err(Denied::Missing));
        assert_eq!(presented(&HeaderMap::new()), Err(Denied::Missing));
    }
}
