//! Proofs of possession (DPoP): a signed note with each request that says which request it is for.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::Generate as _;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::accounts::Secret;
use crate::network::NetworkError;

/// A new key, as it is kept.
pub(super) fn new_key() -> Secret {
    Secret::new(BASE64.encode(SigningKey::generate().to_bytes()))
}

/// The proof for one request.
pub(in crate::accounts) fn proof(
    key: &Secret,
    verb: &str,
    url: &Url,
    nonce: Option<&str>,
    token: Option<&Secret>,
) -> Result<String, NetworkError> {
    let bytes = BASE64.decode(key.expose()).ok();
    let key = bytes.and_then(|bytes| SigningKey::from_slice(&bytes).ok()).ok_or(NetworkError::LoginEnded)?;
    let point = key.verifying_key().to_sec1_point(false);
    // Uncompressed: a tag, then both coordinates.
    let (x, y) = point.as_bytes()[1..].split_at(32);
    let head = json!({
        "typ": "dpop+jwt",
        "alg": "ES256",
        "jwk": {"kty": "EC", "crv": "P-256", "x": BASE64.encode(x), "y": BASE64.encode(y)},
    });
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut body = json!({
        "jti": uuid::Uuid::new_v4().to_string(),
        "htm": verb,
        "htu": bare.as_str(),
        "iat": now,
    });
    if let Some(nonce) = nonce {
        body["nonce"] = json!(nonce);
    }
    if let Some(token) = token {
        body["ath"] = json!(BASE64.encode(Sha256::digest(token.expose())));
    }
    let signed = format!("{}.{}", BASE64.encode(head.to_string()), BASE64.encode(body.to_string()));
    let signature: Signature = key.sign(signed.as_bytes());
    Ok(format!("{signed}.{}", BASE64.encode(signature.to_bytes())))
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::signature::Verifier as _;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_proof_is_signed_and_says_what_it_is_for() {
        let key = new_key();
        let url = Url::parse("https://pds.example.com/xrpc/a.b.c?x=1#y").unwrap();
        let token = Secret::new("token");
        let proof = proof(&key, "GET", &url, Some("n"), Some(&token)).unwrap();
        let parts: Vec<&str> = proof.split('.').collect();
        let read = |part: &str| -> Value { serde_json::from_slice(&BASE64.decode(part).unwrap()).unwrap() };
        let (head, body) = (read(parts[0]), read(parts[1]));
        assert_eq!((&head["typ"], &head["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        assert_eq!(body["htu"], "https://pds.example.com/xrpc/a.b.c");
        assert_eq!((&body["htm"], &body["nonce"]), (&json!("GET"), &json!("n")));
        assert_eq!(body["ath"], BASE64.encode(Sha256::digest("token")));
        let signing = SigningKey::from_slice(&BASE64.decode(key.expose()).unwrap()).unwrap();
        let signature = Signature::from_slice(&BASE64.decode(parts[2]).unwrap()).unwrap();
        signing.verifying_key().verify(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature).unwrap();
        assert!(!head.to_string().contains(key.expose()));
    }

    #[test]
    fn a_damaged_key_is_no_key() {
        let url = Url::parse("https://pds.example.com").unwrap();
        for key in ["", "x", "AAAA"] {
            assert!(proof(&Secret::new(key), "GET", &url, None, None).is_err());
        }
    }
}
