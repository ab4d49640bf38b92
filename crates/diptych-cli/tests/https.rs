//! The real binary and https: as a client, and as a server that fetches an issuer's keys. The authority is the
//! test's own.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diptych::client::Client;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;
use support::{Ended, Listening, Machine};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Speaks TLS in front of a server that does not.
struct Front {
    port: u16,
    /// The certificate of the authority, as a file.
    authority: tempfile::NamedTempFile,
}

impl Front {
    /// Listens, and passes everything on to whatever `behind` says.
    async fn start(behind: impl AsyncFnOnce(u16) -> SocketAddr) -> Front {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), authority.pem()).unwrap();
        let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = behind(port).await;
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // A client that does not trust us hangs up here.
                    let Ok(mut outside) = acceptor.accept(connection).await else { return };
                    let mut inside = TcpStream::connect(behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
                });
            }
        });
        Front { port, authority: file }
    }

    fn trusted(&self) -> String {
        self.authority.path().display().to_string()
    }
}

/// Runs the binary beside the servers of the test.
async fn run(arguments: Vec<String>, authorities: Option<String>) -> Ended {
    let run = move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let variables: Vec<_> = authorities.iter().map(|file| ("SSL_CERT_FILE", file.as_str())).collect();
        Machine::new().run_with(&arguments, &variables, "")
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn address(url: &str) -> SocketAddr {
    let rest = url.strip_prefix("http://").unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_server_over_https_is_called_where_its_authority_is_trusted() {
    let listening = Listening::start(&[], &[]);
    let front = Front::start(async |_| address(&listening.url)).await;
    let url = format!("https://localhost:{}/mcp", front.port);
    let call = |url: &str| {
        ["call", "--server", url, "get_pattern", "--id", "effect-all"].map(str::to_owned).to_vec()
    };
    let ended = run(call(&url), Some(front.trusted())).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("Effect.all"), "{}", ended.out);
    let other = Front::start(async |_| address(&listening.url)).await;
    let ended = run(call(&url), Some(other.trusted())).await;
    assert_eq!(ended.code, 4);
    insta::assert_snapshot!(ended.err.replace(&front.port.to_string(), "[port]"), @r"
    error: The server `https://localhost:[port]/mcp` does not answer: its certificate is not one that this machine trusts.
    hint: On Linux, SSL_CERT_FILE names the file of the authorities to trust; elsewhere the system keeps them.
    ");
    // The certificate is for a name, and not for an address.
    let ended = run(call(&url.replace("localhost", "127.0.0.1")), Some(front.trusted())).await;
    assert_eq!(ended.code, 4, "{}", ended.out);
    // A machine that trusts nobody can still call without TLS.
    let nobody = Some("/nowhere/at/all".to_owned());
    let ended = run(call(&listening.url), nobody.clone()).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let ended = run(call(&url), nobody).await;
    assert_eq!(ended.code, 4);
    insta::assert_snapshot!(ended.err.replace(&front.port.to_string(), "[port]"), @r"
    error: The server `https://localhost:[port]/mcp` does not answer: this machine trusts no authority for certificates.
    hint: On Linux, SSL_CERT_FILE names the file of the authorities to trust; elsewhere the system keeps them.
    ");
}

#[tokio::test]
async fn keys_of_an_issuer_are_fetched_over_https() {
    let (random, curve) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
    let document = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(curve, document.as_ref(), &random).unwrap();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    let public = json!({"kty": "EC", "crv": "P-256", "kid": "first", "x": encode(x), "y": encode(y)});
    let front = Front::start(async |port| {
        let issuer = format!("https://localhost:{port}");
        let metadata = json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")});
        let keys = json!({"keys": [public]});
        let router = axum::Router::new()
            .route("/.well-known/oauth-authorization-server", get(async move || Json(metadata)))
            .route("/keys", get(async move || Json(keys)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    })
    .await;
    let issuer = format!("https://localhost:{}", front.port);
    let audience = "https://mcp.example.com/mcp";
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let header = json!({"typ": "JWT", "alg": "ES256", "kid": "first"});
    let claims = json!({"iss": issuer, "aud": audience, "sub": "ada", "exp": now + 3600});
    let message =
        format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
    let signature = key.sign(&random, message.as_bytes()).unwrap();
    let token = format!("{message}.{}", encode(signature.as_ref()));
    let arguments = ["--http-issuer", &issuer, "--http-audience", audience];
    let listening = Listening::start(&arguments, &[("SSL_CERT_FILE", &front.trusted())]);
    let client = Client::url(&listening.url).token(&token).connect().await.unwrap();
    let reply = client.call("get_pattern", json!({"id": "effect-all"})).await.unwrap();
    assert_eq!(reply.kind().as_deref(), Some("patternDetails:v1"));
    client.close().await;
    let stranger = Front::start(async |_| address(&listening.url)).await;
    let distrustful = Listening::start(&arguments, &[("SSL_CERT_FILE", &stranger.trusted())]);
    assert!(Client::url(&distrustful.url).token(&token).connect().await.is_err());
}
