//! Signatures of tokens, checked with the library that TLS uses: one for both, and one that builds in seconds.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result, new_error};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};

/// Makes it the one that tokens are checked with, unless someone has chosen another. It does not sign.
pub(super) fn install() {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: |_, _| Err(new_error(ErrorKind::UnsupportedAlgorithm)),
        verifier_factory: |algorithm, key| Ok(Box::new(Check::new(*algorithm, key)?)),
        key_utils: KeyUtils::new_unimplemented(),
    };
    let _ = PROVIDER.install_default();
}

/// One key, for one algorithm.
struct Check {
    algorithm: Algorithm,
    key: DecodingKey,
    how: How,
}

enum How {
    Rsa(&'static RsaParameters),
    Other(&'static dyn VerificationAlgorithm),
}

impl Check {
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Check> {
        let how = match algorithm {
            Algorithm::RS256 => How::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => How::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => How::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => How::Rsa(&RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => How::Rsa(&RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => How::Rsa(&RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => How::Other(&ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => How::Other(&ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => How::Other(&ED25519),
            // A secret that is shared proves nothing about who signed.
            _ => return Err(new_error(ErrorKind::UnsupportedAlgorithm)),
        };
        if key.family() != algorithm.family() {
            return Err(new_error(ErrorKind::InvalidKeyFormat));
        }
        Ok(Check { algorithm, key: key.clone(), how })
    }
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let checked = match (&self.how, self.key.kind()) {
            (How::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (How::Rsa(parameters), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*parameters, key).verify(message, signature)
            }
            (How::Other(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(*algorithm, key).verify(message, signature)
            }
            (How::Other(_), DecodingKeyKind::RsaModulusExponent { .. }) => return Err(Error::new()),
        };
        checked.map_err(|_| Error::new())
    }
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
