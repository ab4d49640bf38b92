//! Streamable HTTP over real sockets: who is let in, what is refused, both lifecycles, and how it ends.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod http_support;

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diptych::client::{Client, Protocol};
use diptych::{Cx, Http, NoArguments, ServeError, Server, Stop, Text, Toolset, tool};
use http_support::{Probe, legacy_call, stateless_call};
use reqwest::StatusCode;
use serde_json::json;
use tokio::sync::Semaphore;

/// Lets a test hold calls open.
struct Latch {
    entered: Semaphore,
    release: Semaphore,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// What to say back.
    message: String,
}

async fn echo(_cx: Cx<Arc<Latch>>, arguments: Echo) -> Result<Text, Stop> {
    Ok(Text::new(arguments.message))
}

async fn whoami(cx: Cx<Arc<Latch>>, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new(cx.caller().subject().unwrap_or("nobody").to_owned()))
}

async fn reach(cx: Cx<Arc<Latch>>, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new(if cx.caller().is_remote() { "remote" } else { "here" }))
}

async fn wait(cx: Cx<Arc<Latch>>, _: NoArguments) -> Result<Text, Stop> {
    cx.state().entered.add_permits(1);
    cx.state().release.acquire().await.expect("open").forget();
    Ok(Text::new("done waiting"))
}

fn server() -> (Server, Arc<Latch>) {
    let latch = Arc::new(Latch { entered: Semaphore::new(0), release: Semaphore::new(0) });
    let toolset = Toolset::new("test", Arc::clone(&latch))
        .with(tool("whoami", whoami).description("Says who calls.").read_only())
        .with(tool("reach", reach).description("Says where the call comes from.").read_only())
        .with(tool("echo", echo).description("Says it back.").read_only())
        .with(tool("wait", wait).description("Waits until it is released.").read_only());
    (Server::builder("test", "0.0.0").toolset(toolset).strict().build().expect("a server"), latch)
}

async fn probe(http: Http) -> Probe {
    Probe::start(&server().0, http).await
}

#[tokio::test]
async fn hosts_and_origins_that_are_not_allowed_are_refused_everywhere() {
    let probe =
        probe(Http::new().allowed_hosts(["mcp.example.com"]).allowed_origins(["https://app.example.com"]))
            .await;
    let loopback = format!("http://{}", probe.address);
    for path in ["/mcp", "/healthz", "/metrics", "/nowhere"] {
        let refused = probe.get(path).header("host", "evil.example.com").send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
    }
    for (host, origin, status) in [
        ("127.0.0.1:1", None, 200),
        ("localhost", Some(loopback.as_str()), 200),
        ("mcp.example.com", Some("https://app.example.com"), 200),
        ("evil.example.com", None, 403),
        ("localhost", Some("http://evil.example.com"), 403),
        ("localhost", Some("null"), 403),
    ] {
        let mut call = stateless_call(&probe, "echo", json!({"message": "hello"})).header("host", host);
        if let Some(origin) = origin {
            call = call.header("origin", origin);
        }
        let (got, body) = probe.answer(call).await;
        assert_eq!(got, status, "{host} {origin:?}");
        if status == 403 {
            assert_eq!(body["error"]["code"], -32600);
            assert!(!body.to_string().contains("evil"), "{body}");
        } else {
            assert_eq!(body["result"]["content"][0]["text"], "hello");
        }
    }
}

#[tokio::test]
async fn a_token_names_the_subject_and_without_one_nobody_gets_in() {
    let probe =
        probe(Http::new().bearer_token("ada-token", "ada").bearer_token("grace-token", "grace")).await;
    for (token, subject) in [("ada-token", "ada"), ("grace-token", "grace")] {
        let call = stateless_call(&probe, "whoami", json!({})).bearer_auth(token);
        assert_eq!(probe.answer(call).await.1["result"]["content"][0]["text"], subject);
        let session = probe.session(Some(token)).await;
        let call = legacy_call(&probe, &session, "whoami", json!({})).bearer_auth(token);
        assert_eq!(probe.answer(call).await.1["result"]["content"][0]["text"], subject);
    }
    let missing = stateless_call(&probe, "whoami", json!({})).send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(missing.headers()["www-authenticate"], "Bearer realm=\"test\"");
    let wrong = stateless_call(&probe, "whoami", json!({})).bearer_auth("ada-tokem").send().await.unwrap();
    assert_eq!(wrong.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.headers()["www-authenticate"], "Bearer realm=\"test\", error=\"invalid_token\"");
    assert!(!wrong.text().await.unwrap().contains("ada"));
    let nobody = Probe::start(&server().0, Http::new()).await;
    let call = stateless_call(&nobody, "whoami", json!({})).bearer_auth("ada-token");
    assert_eq!(nobody.answer(call).await.1["result"]["content"][0]["text"], "nobody");
}

#[tokio::test]
async fn a_tool_knows_whether_its_caller_may_be_on_another_machine() {
    let (server, _) = server();
    let probe = Probe::start(&server, Http::new()).await;
    let session = probe.session(None).await;
    for call in [
        stateless_call(&probe, "reach", json!({})),
        legacy_call(&probe, &session, "reach", json!({})),
        legacy_call(&probe, &session, "reach", json!({})),
        // With a header that only rmcp looks at, which is the other way of a call.
        stateless_call(&probe, "reach", json!({})).header("mcp-param-x", "y"),
    ] {
        assert_eq!(probe.answer(call).await.1["result"]["content"][0]["text"], "remote");
    }
    for protocol in [Protocol::V2025_11_25, Protocol::V2026_07_28] {
        let reply =
            Client::in_process(&server).protocol(protocol).call("reach", json!({})).await.expect("an answer");
        assert_eq!(reply.text(), "here");
    }
}

#[tokio::test]
async fn a_session_answers_only_to_the_subject_that_opened_it() {
    let probe = probe(Http::new().bearer_token("ada-token", "ada").bearer_token("eve-token", "eve")).await;
    let session = probe.session(Some("ada-token")).await;
    let call = || legacy_call(&probe, &session, "whoami", json!({}));
    let (status, body) = probe.answer(call().bearer_auth("eve-token")).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!(-32600)));
    let ended = probe.delete("/mcp").header("mcp-session-id", &session).bearer_auth("eve-token");
    assert_eq!(ended.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let (status, body) = probe.answer(call().bearer_auth("ada-token")).await;
    assert_eq!((status, &body["result"]["content"][0]["text"]), (200, &json!("ada")));
    let ended = probe.delete("/mcp").header("mcp-session-id", &session).bearer_auth("ada-token");
    assert_eq!(ended.send().await.unwrap().status(), StatusCode::ACCEPTED);
    assert_eq!(probe.answer(call().bearer_auth("ada-token")).await.0, 404);
}

#[tokio::test]
async fn bodies_that_are_no_message_are_told_so() {
    let probe = probe(Http::new().body_limit(2000)).await;
    let post = |body: Vec<u8>| {
        probe
            .post()
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body)
    };
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(2000));
    for (body, status, code) in [
        ("{\"jsonrpc\":", 400, -32700),
        ("no json", 400, -32700),
        ("", 400, -32700),
        ("[]", 400, -32600),
        ("{\"hello\":\"there\"}", 400, -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, -32600),
        (long.as_str(), 413, -32801),
    ] {
        let (got, answer) = probe.answer(post(body.into())).await;
        assert_eq!((got, &answer["error"]["code"]), (status, &json!(code)), "{body}: {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
    // Without a length to look at.
    let answer = probe.chunked(&long).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("-32801"), "{answer}");
    let (status, answer) = probe.answer(probe.post().body("{}")).await;
    assert_eq!((status, &answer["error"]["code"]), (415, &json!(-32600)));
    let plain = post(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}".to_vec());
    let (status, answer) = probe.answer(plain).await;
    assert_eq!(
        (status, &answer["error"]["code"], &answer["id"]),
        (400, &json!(-32600), &json!(3)),
        "{answer}"
    );
    assert_eq!(probe.answer(probe.get("/mcp")).await.0, 406);
    assert_eq!(probe.answer(probe.put("/mcp")).await.0, 405);
    // And it still serves.
    let call = stateless_call(&probe, "echo", json!({"message": "still here"}));
    assert_eq!(probe.answer(call).await.1["result"]["content"][0]["text"], "still here");
}

#[tokio::test]
async fn a_thousand_malformed_bodies_do_not_stop_it() {
    let probe = probe(Http::new()).await;
    let whole = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"message": "hello"}}})
    .to_string();
    for number in 0..1000_usize {
        let mut body = whole.clone().into_bytes();
        match number % 4 {
            0 => body.truncate(number % whole.len()),
            1 => body[number % whole.len()] = u8::try_from(number % 256).unwrap(),
            2 => body.insert(number % whole.len(), b'}'),
            _ => drop(body.drain(..=number % (whole.len() - 1))),
        }
        let sent = probe
            .post()
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body);
        let answer = sent.send().await.unwrap();
        assert!(answer.status().is_client_error(), "{} of {number}", answer.status());
        assert_eq!(answer.headers()["content-type"], "application/json");
    }
    let call = stateless_call(&probe, "echo", json!({"message": "still here"}));
    assert_eq!(probe.answer(call).await.1["result"]["content"][0]["text"], "still here");
}

#[tokio::test]
async fn callers_who_call_too_often_are_told_when_to_come_back() {
    let http = Http::new().bearer_token("ada-token", "ada").bearer_token("grace-token", "grace");
    let probe = probe(http.rate_limit(1, 2)).await;
    let call = |token: &str| stateless_call(&probe, "whoami", json!({})).bearer_auth(token);
    for _ in 0..2 {
        assert_eq!(call("ada-token").send().await.unwrap().status(), StatusCode::OK);
    }
    let refused = call("ada-token").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(http_support::json(refused).await["error"]["code"], -32600);
    assert_eq!(call("grace-token").send().await.unwrap().status(), StatusCode::OK);
    // Guessing tokens is limited too, by address.
    for expected in [401, 401, 429] {
        assert_eq!(call("guess").send().await.unwrap().status().as_u16(), expected);
    }
    assert_eq!(probe.get("/healthz").send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn health_needs_no_token_and_metrics_do() {
    let probe = probe(Http::new().bearer_token("ada-token", "ada")).await;
    let call = stateless_call(&probe, "echo", json!({"message": "hello"})).bearer_auth("ada-token");
    assert_eq!(probe.answer(call).await.0, 200);
    let health = probe.get("/healthz").send().await.unwrap();
    assert_eq!((health.status(), health.text().await.unwrap().trim()), (StatusCode::OK, "ok"));
    let refused = probe.get("/metrics").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let metrics = probe.get("/metrics").bearer_auth("ada-token").send().await.unwrap();
    assert_eq!(metrics.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.lines().any(|line| line == "diptych_calls_total{tool=\"echo\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_page_reads_answers_only_where_the_operator_named_its_origin() {
    let probe = probe(Http::new().allowed_origins(["https://app.example.com"])).await;
    let preflight = |origin: &'static str| {
        probe
            .options("/mcp")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type, mcp-session-id")
    };
    let permitted = preflight("https://app.example.com").send().await.unwrap();
    assert_eq!(permitted.status(), StatusCode::NO_CONTENT);
    assert_eq!(permitted.headers()["access-control-allow-origin"], "https://app.example.com");
    assert_eq!(permitted.headers()["access-control-allow-headers"], "content-type, mcp-session-id");
    let call = stateless_call(&probe, "echo", json!({"message": "hello"}));
    let answered = call.header("origin", "https://app.example.com").send().await.unwrap();
    assert_eq!(answered.status(), StatusCode::OK);
    assert_eq!(answered.headers()["access-control-allow-origin"], "https://app.example.com");
    assert_eq!(answered.headers()["vary"], "Origin");
    // A page on this machine may knock, but no browser will let it read.
    let local = preflight("http://localhost:3000").send().await.unwrap();
    assert!(!local.headers().contains_key("access-control-allow-origin"));
    assert_eq!(preflight("https://evil.example.com").send().await.unwrap().status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn both_lifecycles_answer_at_a_path_of_ones_choice() {
    let probe = probe(Http::new().path("/tools/here")).await;
    let call = stateless_call(&probe, "echo", json!({"message": "alone"})).send().await.unwrap();
    assert_eq!(call.headers()["content-type"], "application/json");
    assert_eq!(http_support::json(call).await["result"]["structuredContent"]["text"], "alone");
    let session = probe.session(None).await;
    let (status, body) =
        probe.answer(legacy_call(&probe, &session, "echo", json!({"message": "in a session"}))).await;
    assert_eq!((status, &body["result"]["structuredContent"]["text"]), (200, &json!("in a session")));
    assert_eq!(probe.answer(probe.get("/mcp")).await.0, 404);
}

#[tokio::test]
async fn a_call_in_flight_is_finished_before_the_server_goes() {
    let (server, latch) = server();
    let mut probe = Probe::start(&server, Http::new().drain(Duration::from_secs(600))).await;
    let session = probe.session(None).await;
    let calls = [
        tokio::spawn(stateless_call(&probe, "wait", json!({})).send()),
        tokio::spawn(legacy_call(&probe, &session, "wait", json!({})).send()),
    ];
    latch.entered.acquire_many(2).await.unwrap().forget();
    probe.shut_down();
    probe.until_draining().await;
    let (status, body) = probe.answer(stateless_call(&probe, "echo", json!({"message": "late"}))).await;
    assert_eq!((status, &body["error"]["code"]), (503, &json!(-32800)), "{body}");
    assert!(!probe.has_ended());
    latch.release.add_permits(2);
    for call in calls {
        let answer = http_support::json(call.await.unwrap().unwrap()).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done waiting");
    }
    probe.ended().await.unwrap();
    assert!(probe.get("/healthz").send().await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_call_that_outlasts_the_drain_is_told_so() {
    let (server, latch) = server();
    let mut probe = Probe::start(&server, Http::new().drain(Duration::from_millis(20))).await;
    let session = probe.session(None).await;
    let calls = [
        tokio::spawn(stateless_call(&probe, "wait", json!({})).send()),
        tokio::spawn(legacy_call(&probe, &session, "wait", json!({})).send()),
    ];
    latch.entered.acquire_many(2).await.unwrap().forget();
    // An open stream of notifications must not hold the server up.
    let listening =
        probe.get("/mcp").header("accept", "text/event-stream").header("mcp-session-id", &session);
    let listening = listening.header("mcp-protocol-version", "2025-11-25").send().await.unwrap();
    assert_eq!(listening.status(), StatusCode::OK);
    probe.shut_down();
    for call in calls {
        let answer = http_support::json(call.await.unwrap().unwrap()).await;
        assert_eq!(answer["error"]["code"], -32800, "{answer}");
    }
    probe.ended().await.unwrap();
    listening.text().await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_ends_its_listeners() {
    let (server, _latch) = server();
    let mut probe = Probe::start(&server, Http::new()).await;
    server.stop(Duration::from_secs(1)).await;
    probe.ended().await.unwrap();
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused_with_the_reason() {
    let (server, _latch) = server();
    let any = "127.0.0.1:0".parse().unwrap();
    let mut problems = Vec::new();
    for http in [
        Http::new().allowed_hosts(["https://example.com"]),
        Http::new().allowed_origins(["example.com"]),
        Http::new().bearer_token("", "ada"),
        Http::new().bearer_token("ada's naïve token", "ada"),
        Http::new().path("mcp"),
        Http::new().path("/metrics"),
        Http::new().path("/.well-known/oauth-protected-resource"),
    ] {
        problems.push(server.bind_http(any, http).await.unwrap_err().to_string());
    }
    insta::assert_snapshot!(problems.join("\n"), @r"
    Cannot serve with these settings: `https://example.com` is not a host. Write it like example.com or example.com:8080.
    Cannot serve with these settings: `example.com` is not an origin. Write it like https://example.com or http://example.com:*.
    Cannot serve with these settings: the bearer token of `ada` is empty or has characters that a header cannot carry.
    Cannot serve with these settings: the bearer token of `ada` is empty or has characters that a header cannot carry.
    Cannot serve with these settings: `mcp` cannot be the path of the endpoint.
    Cannot serve with these settings: `/metrics` cannot be the path of the endpoint.
    Cannot serve with these settings: `/.well-known/oauth-protected-resource` cannot be the path of the endpoint.
    ");
    let taken = server.bind_http(any, Http::new()).await.unwrap();
    let refused = server.bind_http(taken.local_address(), Http::new()).await;
    assert!(matches!(refused, Err(ServeError::Address { .. })));
}

/// A log that a test can read.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn tokens_are_in_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let http = Http::new().bearer_token("ada-token", "ada");
    assert!(!format!("{http:?}").contains("ada-token"));
    let probe = probe(http).await;
    for token in ["ada-token", "eve-token"] {
        probe.answer(stateless_call(&probe, "whoami", json!({})).bearer_auth(token)).await;
    }
    let session = probe.session(Some("ada-token")).await;
    probe.answer(legacy_call(&probe, &session, "whoami", json!({})).bearer_auth("ada-token")).await;
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("listening"), "{log}");
    assert!(!log.contains("-token"), "{log}");
}
