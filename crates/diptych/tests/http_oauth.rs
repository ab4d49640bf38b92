//! Access tokens of an OAuth issuer, with real keys and a real key server on loopback.
#![cfg(feature = "oauth")]
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod http_support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::KeyPair as _;
use axum::Json;
use axum::extract::State;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diptych::resilience::Policy;
use diptych::{Cx, Http, Issuer, NoArguments, Server, Stop, Text, Toolset, tool};
use http_support::{Probe, legacy_call, stateless_call};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

const AUDIENCE: &str = "https://mcp.example.com/mcp";

async fn whoami(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new(cx.caller().subject().unwrap_or("nobody").to_owned()))
}

fn server() -> Server {
    let toolset =
        Toolset::new("test", ()).with(tool("whoami", whoami).description("Says who calls.").read_only());
    Server::builder("test", "0.0.0").toolset(toolset).strict().build().unwrap()
}

/// A key of an issuer.
struct Key {
    id: String,
    pair: Pair,
}

enum Pair {
    Ecdsa(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
    Rsa(aws_lc_rs::rsa::KeyPair),
}

impl Key {
    fn new(id: &str) -> Key {
        Key::on_curve(id, &ECDSA_P256_SHA256_FIXED_SIGNING)
    }

    fn on_curve(id: &str, curve: &'static EcdsaSigningAlgorithm) -> Key {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(curve, document.as_ref(), &random).unwrap();
        Key { id: id.to_owned(), pair: Pair::Ecdsa(pair) }
    }

    fn public(&self) -> Value {
        let mut key = match &self.pair {
            Pair::Ecdsa(pair) => {
                // A point as it is written in full: a mark and both coordinates.
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)})
            }
            Pair::Edwards(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
            Pair::Rsa(pair) => {
                let (n, e) = (pair.public_key().modulus(), pair.public_key().exponent());
                let (n, e) = (n.big_endian_without_leading_zero(), e.big_endian_without_leading_zero());
                json!({"kty": "RSA", "n": encode(n), "e": encode(e)})
            }
        };
        key["kid"] = json!(self.id);
        key
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_as("ES256", claims)
    }

    fn sign_as(&self, algorithm: &str, claims: &Value) -> String {
        let message = unsigned(algorithm, &self.id, claims);
        let signature = match &self.pair {
            Pair::Ecdsa(pair) => {
                pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec()
            }
            Pair::Edwards(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Rsa(pair) => {
                use aws_lc_rs::signature::{
                    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
                    RSA_PSS_SHA512,
                };
                let padding: &'static dyn aws_lc_rs::signature::RsaEncoding = match algorithm {
                    "RS256" => &RSA_PKCS1_SHA256,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    _ => &RSA_PSS_SHA512,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                let random = aws_lc_rs::rand::SystemRandom::new();
                pair.sign(padding, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{message}.{}", encode(&signature))
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A token up to its signature.
fn unsigned(algorithm: &str, key: &str, claims: &Value) -> String {
    let header = json!({"typ": "JWT", "alg": algorithm, "kid": key});
    format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()))
}

/// An issuer that publishes its keys and where they are.
#[derive(Default)]
struct Published {
    url: Mutex<String>,
    keys: Mutex<Vec<Value>>,
    fetched: AtomicUsize,
    is_down: AtomicBool,
}

impl Published {
    async fn start(keys: &[&Key]) -> Arc<Published> {
        let published = Arc::new(Published::default());
        published.publish(keys);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        *published.url.lock().unwrap() = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new()
            .route("/keys", get(keys_of))
            .route("/.well-known/openid-configuration", get(metadata_of))
            .with_state(Arc::clone(&published));
        tokio::spawn(async move { axum::serve(listener, router).await });
        published
    }

    fn publish(&self, keys: &[&Key]) {
        *self.keys.lock().unwrap() = keys.iter().map(|key| key.public()).collect();
    }

    fn url(&self) -> String {
        self.url.lock().unwrap().clone()
    }

    /// Claims that are good for an hour.
    fn claims(&self) -> Value {
        json!({"iss": self.url(), "aud": AUDIENCE, "sub": "ada", "exp": now() + 3600, "scope": "tools more"})
    }

    fn claims_with(&self, changes: &[(&str, Value)]) -> Value {
        let mut claims = self.claims();
        for (name, value) in changes {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(*name);
            } else {
                claims[*name] = value.clone();
            }
        }
        claims
    }

    fn issuer(&self) -> Issuer {
        Issuer::new(self.url(), AUDIENCE).policy(Policy { attempts: 1, ..Policy::default() })
    }
}

async fn keys_of(State(published): State<Arc<Published>>) -> Result<Json<Value>, axum::http::StatusCode> {
    published.fetched.fetch_add(1, Ordering::Relaxed);
    if published.is_down.load(Ordering::Relaxed) {
        return Err(axum::http::StatusCode::BAD_GATEWAY);
    }
    // Keys that we cannot use come along in real life.
    let mut keys = published.keys.lock().unwrap().clone();
    keys.push(json!({"kty": "XYZ", "kid": "odd"}));
    keys.push(json!({"kty": "oct", "kid": "shared", "k": "c2VjcmV0"}));
    Ok(Json(json!({"keys": keys})))
}

async fn metadata_of(State(published): State<Arc<Published>>) -> Json<Value> {
    let url = published.url();
    Json(json!({"issuer": url, "jwks_uri": format!("{url}/keys")}))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

async fn status(probe: &Probe, token: &str) -> u16 {
    stateless_call(probe, "whoami", json!({})).bearer_auth(token).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_token_of_the_issuer_names_the_subject() {
    let key = Key::new("one");
    let published = Published::start(&[&key]).await;
    let http = Http::new().issuer(published.issuer().scope("tools")).bearer_token("static-token", "operator");
    let probe = Probe::start(&server(), http).await;
    let token = key.sign(&published.claims());
    let (_, body) = probe.answer(stateless_call(&probe, "whoami", json!({})).bearer_auth(&token)).await;
    assert_eq!(body["result"]["content"][0]["text"], "ada");
    let session = probe.session(Some(&token)).await;
    let (_, body) =
        probe.answer(legacy_call(&probe, &session, "whoami", json!({})).bearer_auth(&token)).await;
    assert_eq!(body["result"]["content"][0]["text"], "ada");
    // A new token of the same subject keeps the session, one of another subject does not.
    let renewed = key.sign(&published.claims_with(&[("exp", json!(now() + 7200))]));
    let call = legacy_call(&probe, &session, "whoami", json!({})).bearer_auth(renewed);
    assert_eq!(probe.answer(call).await.0, 200);
    let other = key.sign(&published.claims_with(&[("sub", json!("eve"))]));
    let call = legacy_call(&probe, &session, "whoami", json!({})).bearer_auth(other);
    assert_eq!(probe.answer(call).await.0, 404);
    let call = stateless_call(&probe, "whoami", json!({})).bearer_auth("static-token");
    assert_eq!(probe.answer(call).await.1["result"]["content"][0]["text"], "operator");
    assert_eq!(published.fetched.load(Ordering::Relaxed), 1, "keys are kept");
}

#[tokio::test]
async fn tokens_that_are_not_good_are_refused() {
    let key = Key::new("one");
    let forger = Key::new("one");
    let published = Published::start(&[&key]).await;
    let probe = Probe::start(&server(), Http::new().issuer(published.issuer())).await;
    assert_eq!(status(&probe, &key.sign(&published.claims())).await, 200);
    for (case, changes) in [
        ("expired", vec![("exp", json!(now() - 3600))]),
        ("without an end", vec![("exp", Value::Null)]),
        ("not yet", vec![("nbf", json!(now() + 3600))]),
        ("for another server", vec![("aud", json!("https://other.example.com"))]),
        ("for nobody", vec![("aud", Value::Null)]),
        ("of another issuer", vec![("iss", json!("https://evil.example.com"))]),
        ("of several issuers", vec![("iss", json!([published.url(), "https://evil.example.com"]))]),
        ("of nobody", vec![("iss", Value::Null)]),
        ("without a subject", vec![("sub", Value::Null)]),
    ] {
        assert_eq!(status(&probe, &key.sign(&published.claims_with(&changes))).await, 401, "{case}");
    }
    let several = published.claims_with(&[("aud", json!(["https://other.example.com", AUDIENCE]))]);
    assert_eq!(status(&probe, &key.sign(&several)).await, 200);
    assert_eq!(status(&probe, &forger.sign(&published.claims())).await, 401, "another's signature");
    let good = key.sign(&published.claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let other = key.sign(&published.claims_with(&[("sub", json!("eve"))]));
    let (other, _) = other.rsplit_once('.').unwrap();
    assert_eq!(status(&probe, &format!("{other}.{signature}")).await, 401, "another's claims");
    assert_eq!(status(&probe, &format!("{message}.")).await, 401, "no signature");
    // The shared secret is in the set for all to read, and the public key is public.
    let public = key.public();
    for (id, secret) in [("shared", "c2VjcmV0"), ("one", public["x"].as_str().unwrap())] {
        let secret = URL_SAFE_NO_PAD.decode(secret).unwrap();
        let message = unsigned("HS256", id, &published.claims());
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
        let token = format!("{message}.{}", encode(ring::hmac::sign(&secret, message.as_bytes()).as_ref()));
        assert_eq!(status(&probe, &token).await, 401, "signed with {id}");
    }
    for garbage in ["a.b.c", "..", "eyJhbGciOiJub25lIn0.e30."] {
        assert_eq!(status(&probe, garbage).await, 401, "{garbage}");
    }
}

#[tokio::test]
async fn every_kind_of_key_signs_and_only_as_what_it_is() {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let edwards = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let rsa = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let keys = [
        Key::new("p256"),
        Key::on_curve("p384", &ECDSA_P384_SHA384_FIXED_SIGNING),
        Key { id: "edwards".to_owned(), pair: Pair::Edwards(edwards) },
        Key { id: "rsa".to_owned(), pair: Pair::Rsa(rsa) },
    ];
    let published = Published::start(&keys.iter().collect::<Vec<_>>()).await;
    let probe = Probe::start(&server(), Http::new().issuer(published.issuer())).await;
    let algorithms = ["ES256", "ES384", "EdDSA", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
    for (place, key) in keys.iter().enumerate() {
        for (number, algorithm) in algorithms.iter().enumerate() {
            let token = key.sign_as(algorithm, &published.claims());
            let fits = number.min(3) == place;
            let expected = if fits { 200 } else { 401 };
            assert_eq!(status(&probe, &token).await, expected, "{} as {algorithm}", key.id);
            let (_, signature) = token.rsplit_once('.').unwrap();
            let eve = published.claims_with(&[("sub", json!("eve"))]);
            let forged = format!("{}.{signature}", unsigned(algorithm, &key.id, &eve));
            assert_eq!(status(&probe, &forged).await, 401, "forged, {} as {algorithm}", key.id);
        }
    }
}

#[tokio::test]
async fn scopes_are_required_and_the_way_to_a_token_is_shown() {
    let key = Key::new("one");
    let published = Published::start(&[&key]).await;
    let issuer = published.issuer().scope("tools").scope("more").resource(AUDIENCE);
    let probe = Probe::start(&server(), Http::new().issuer(issuer)).await;
    for (scopes, expected) in [
        (vec![("scope", json!("more tools"))], 200),
        (vec![("scope", json!("tools"))], 403),
        (vec![("scope", json!("tools.more"))], 403),
        (vec![("scope", Value::Null)], 403),
        (vec![("scope", Value::Null), ("scp", json!(["tools", "more"]))], 200),
    ] {
        assert_eq!(status(&probe, &key.sign(&published.claims_with(&scopes))).await, expected, "{scopes:?}");
    }
    let challenge = |response: reqwest::Response| {
        (response.status().as_u16(), response.headers()["www-authenticate"].to_str().unwrap().to_owned())
    };
    let metadata = "resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource/mcp\"";
    let missing = stateless_call(&probe, "whoami", json!({})).send().await.unwrap();
    let expected = format!("Bearer realm=\"test\", {metadata}, scope=\"tools more\"");
    assert_eq!(challenge(missing), (401, expected));
    let token = key.sign(&published.claims_with(&[("scope", json!("tools"))]));
    let lacking = stateless_call(&probe, "whoami", json!({})).bearer_auth(token).send().await.unwrap();
    let expected =
        format!("Bearer realm=\"test\", error=\"insufficient_scope\", {metadata}, scope=\"tools more\"");
    assert_eq!(challenge(lacking), (403, expected));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let (status, body) = probe.answer(probe.get(path)).await;
        assert_eq!(status, 200);
        let expected = json!({
            "resource": AUDIENCE, "authorization_servers": [published.url()],
            "bearer_methods_supported": ["header"], "resource_name": "test",
            "scopes_supported": ["tools", "more"]});
        assert_eq!(body, expected);
        assert_eq!(probe.get(path).header("host", "evil.example.com").send().await.unwrap().status(), 403);
    }
}

#[tokio::test]
async fn without_a_public_url_the_metadata_name_the_host_that_was_asked() {
    let published = Published::start(&[]).await;
    let probe = Probe::start(&server(), Http::new().issuer(published.issuer())).await;
    let (_, body) = probe.answer(probe.get("/.well-known/oauth-protected-resource/mcp")).await;
    assert_eq!(body["resource"], format!("http://{}/mcp", probe.address));
    let plain = Probe::start(&server(), Http::new().bearer_token("static-token", "ada")).await;
    let nothing = plain.get("/.well-known/oauth-protected-resource").send().await.unwrap();
    assert_eq!(nothing.status(), 404, "no issuer, no metadata");
}

#[tokio::test]
async fn a_new_key_is_found_once_it_is_published() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let published = Published::start(&[&old]).await;
    let issuer = published.issuer().keys_at(format!("{}/keys", published.url()));
    let probe = Probe::start(&server(), Http::new().issuer(issuer.refresh_interval(Duration::ZERO))).await;
    assert_eq!(status(&probe, &old.sign(&published.claims())).await, 200);
    assert_eq!(status(&probe, &new.sign(&published.claims())).await, 401);
    published.publish(&[&new]);
    assert_eq!(status(&probe, &new.sign(&published.claims())).await, 200);
    assert_eq!(status(&probe, &old.sign(&published.claims())).await, 401, "it was withdrawn");
}

#[tokio::test]
async fn unknown_keys_do_not_make_us_ask_the_issuer_again_and_again() {
    let key = Key::new("one");
    let published = Published::start(&[&key]).await;
    let probe = Probe::start(&server(), Http::new().issuer(published.issuer())).await;
    assert_eq!(status(&probe, &key.sign(&published.claims())).await, 200);
    for number in 0..20 {
        let unknown = Key::new(&format!("unknown {number}"));
        assert_eq!(status(&probe, &unknown.sign(&published.claims())).await, 401);
    }
    assert_eq!(published.fetched.load(Ordering::Relaxed), 1);
    // Nor is it asked for tokens that are not its own.
    let foreign = published.claims_with(&[("iss", json!("https://evil.example.com"))]);
    assert_eq!(status(&probe, &key.sign(&foreign)).await, 401);
}

#[tokio::test]
async fn an_issuer_that_is_down_is_no_reason_to_call_a_token_bad() {
    let key = Key::new("one");
    let published = Published::start(&[&key]).await;
    published.is_down.store(true, Ordering::Relaxed);
    let policy = Policy { attempts: 1, failures_to_open: 100, ..Policy::default() };
    let probe = Probe::start(&server(), Http::new().issuer(published.issuer().policy(policy))).await;
    let token = key.sign(&published.claims());
    let response = stateless_call(&probe, "whoami", json!({})).bearer_auth(&token).send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert!(response.headers().contains_key("retry-after"));
    let body = http_support::json(response).await.to_string();
    assert!(!body.contains("127.0.0.1"), "{body}");
    published.is_down.store(false, Ordering::Relaxed);
    assert_eq!(status(&probe, &token).await, 200);
    // What is known stays known.
    published.is_down.store(true, Ordering::Relaxed);
    assert_eq!(status(&probe, &token).await, 200);
}

#[tokio::test]
async fn issuers_that_cannot_be_trusted_are_refused() {
    let mut problems = Vec::new();
    for issuer in [
        Issuer::new("http://login.example.com", AUDIENCE),
        Issuer::new("login.example.com", AUDIENCE),
        Issuer::new("https://login.example.com", AUDIENCE).keys_at("http://keys.example.com/jwks"),
        Issuer::new("https://login.example.com", AUDIENCE).scope("two words"),
        Issuer::new("https://login.example.com", AUDIENCE).resource("mcp.example.com"),
    ] {
        let bound = server().bind_http("127.0.0.1:0".parse().unwrap(), Http::new().issuer(issuer)).await;
        problems.push(bound.unwrap_err().to_string());
    }
    insta::assert_snapshot!(problems.join("\n"), @r"
    Cannot serve with these settings: `http://login.example.com` must be an https URL, or one of this machine.
    Cannot serve with these settings: `login.example.com` must be an https URL, or one of this machine.
    Cannot serve with these settings: `http://keys.example.com/jwks` must be an https URL, or one of this machine.
    Cannot serve with these settings: `two words` is not a scope.
    Cannot serve with these settings: `mcp.example.com` is not the URL of a server.
    ");
}
