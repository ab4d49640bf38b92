//! What happens when services fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::network::{Sky, network};

/// A service that answers every path as it is told. Returns its address.
pub(crate) async fn serve(answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static) -> String {
    serve_with(move |path| {
        let (status, body) = answer(path);
        (status, String::new(), body)
    })
    .await
}

pub(crate) async fn serve_with(
    answer: impl Fn(&str) -> (u16, String, String) + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let mut bytes = vec![0; 16 * 1024];
                let Ok(length) = stream.read(&mut bytes).await else { return };
                let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let (status, headers, body) = answer(&path);
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            });
        }
    });
    address
}

/// A service in front of another, that can be killed in the middle of what it says.
struct Proxy {
    address: String,
    dead: Arc<AtomicBool>,
}

impl Proxy {
    async fn before(target: &str) -> Self {
        let target = target.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let dead = Arc::new(AtomicBool::new(false));
        let killed = Arc::clone(&dead);
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let (target, killed) = (target.clone(), Arc::clone(&killed));
                tokio::spawn(async move {
                    let mut to = TcpStream::connect(target).await.unwrap();
                    let (mut up, mut down) = ([0; 16 * 1024], [0; 16 * 1024]);
                    loop {
                        tokio::select! {
                            length = from.read(&mut up) => match length {
                                Ok(length @ 1..) => to.write_all(&up[..length]).await.unwrap(),
                                _ => return,
                            },
                            length = to.read(&mut down) => match length {
                                // The request has arrived; the answer breaks off after its first bytes.
                                Ok(length @ 1..) if killed.load(Ordering::SeqCst) => {
                                    let _ = from.write_all(&down[..length.min(40)]).await;
                                    return;
                                }
                                Ok(length @ 1..) => from.write_all(&down[..length]).await.unwrap(),
                                _ => return,
                            },
                        }
                    }
                });
            }
        });
        Proxy { address, dead }
    }
}

#[tokio::test]
async fn a_service_that_dies_in_the_middle_of_a_call() {
    let Some(network) = network() else { return };
    let proxy = Proxy::before(&network.at("/pds").replace("localhost", "127.0.0.1")).await;
    let sky = Sky::with(&network, |options| options.policy.open_for = Duration::from_millis(50));
    let password = network.at("/people/frank/appPassword");
    sky.done("login", json!({"handle": "frank.test", "password": password, "service": proxy.address})).await;
    proxy.dead.store(true, Ordering::SeqCst);
    let text = format!("Sent while the service died {}", sky.mark());
    let call = json!({"text": text});
    let error = sky.fails("post", call.clone()).await;
    assert_eq!((&error["code"], &error["retryable"]), (&json!("NETWORK_ERROR"), &json!(true)));
    assert!(error["details"]["hint"].as_str().unwrap().contains("nothing is posted twice"), "{error}");
    let read = sky.fails("feed", json!({})).await;
    assert_eq!(read["retryable"], true);
    // The same call again, once the service is back: whatever had arrived before is not there twice.
    proxy.dead.store(false, Ordering::SeqCst);
    let mut posted = sky.call("post", call.clone()).await;
    for _ in 0..20 {
        if !posted.is_error {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        posted = sky.call("post", call.clone()).await;
    }
    assert!(!posted.is_error, "{}", posted.text());
    let again = sky.done("post", call).await;
    assert_eq!(again["repeated"], true);
    let records = network.records("frank", "app.bsky.feed.post").await;
    let same = records.iter().filter(|record| record["value"]["text"] == text);
    assert_eq!(same.count(), 1);
}

#[tokio::test]
async fn a_service_whose_process_is_killed_in_the_middle_of_a_call() {
    let Some(network) = network() else { return };
    let (mut sky, own) = Sky::alone(&network).await;
    let call = json!({"text": "Said while the process was killed"});
    // It takes the request and does not get to answering it.
    own.signal("SIGSTOP").await;
    let client = sky.dial();
    let pending = tokio::spawn({
        let call = call.clone();
        async move { client.call("post", call).await.unwrap() }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!pending.is_finished());
    own.signal("SIGKILL").await;
    let error = pending.await.unwrap().structured.unwrap();
    assert_eq!((&error["code"], &error["retryable"]), (&json!("NETWORK_ERROR"), &json!(true)), "{error}");
    assert!(error["details"]["hint"].as_str().unwrap().contains("nothing is posted twice"), "{error}");
    let error = sky.fails("post", call.clone()).await;
    assert_eq!(error["retryable"], true, "there is nobody at all: {error}");
    // The service comes back, and so does our own process: the same call is the same post, once.
    own.revive().await;
    sky.restart();
    let posted = sky.done("post", call.clone()).await;
    let again = sky.done("post", call).await;
    assert_eq!((&again["repeated"], &again["posts"][0]["uri"]), (&json!(true), &posted["posts"][0]["uri"]));
    let posts = own.posts().await;
    assert_eq!(posts.len(), 1, "{posts:?}");
    assert_eq!(posts[0]["uri"], posted["posts"][0]["uri"]);
}

#[tokio::test]
async fn the_appview_is_down_for_somebody_who_is_logged_in() {
    let Some(network) = network() else { return };
    let (sky, own) = Sky::alone(&network).await;
    for (tool, arguments) in [
        ("feed", json!({})),
        ("thread", json!({"post": network.post("root")})),
        ("profile", json!({"account": own.at("handle")})),
        ("search", json!({"account": "everyone", "query": "x"})),
    ] {
        let error = sky.fails(tool, arguments).await;
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&json!("SERVER_ERROR"), &json!(true)),
            "{tool}: {error}"
        );
    }
    // What the service does by itself goes on: who is logged in, writing, and one's own history.
    let list = sky.done("login", json!({"command": "list"})).await;
    assert_eq!(list["accounts"][0]["handle"], own.at("handle"));
    let mut posted = sky.call("post", json!({"text": "Nobody will see this for a while"})).await;
    // The breaker of the service may have opened, and is asked again in a moment.
    for _ in 0..20 {
        if !posted.is_error {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        posted = sky.call("post", json!({"text": "Nobody will see this for a while"})).await;
    }
    assert!(!posted.is_error, "{}", posted.text());
    assert_eq!(own.posts().await.len(), 1);
    let found = sky.done("search", json!({"account": own.at("handle"), "query": "while"})).await;
    assert_eq!(found["posts"][0]["text"], "Nobody will see this for a while");
}

#[tokio::test]
async fn the_appview_is_down() {
    let Some(network) = network() else { return };
    let sky = Sky::with(&network, |options| options.appview = "http://127.0.0.1:1".to_owned());
    let error = sky.fails("thread", json!({"post": network.post("root")})).await;
    assert_eq!((&error["code"], &error["retryable"]), (&json!("NETWORK_ERROR"), &json!(true)));
    let error = sky.fails("profile", json!({"account": "alice.test"})).await;
    assert_eq!(error["code"], "NETWORK_ERROR");
    // Three failures in a row: from now on nothing is sent for a while.
    for _ in 0..3 {
        sky.fails("thread", json!({"post": network.post("root")})).await;
    }
    let error = sky.fails("thread", json!({"post": network.post("root")})).await;
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("SERVER_ERROR"), &json!("Service temporarily unavailable"))
    );
    assert!(error["details"]["retryAfterMs"].is_u64());
    // The identity is found nonetheless, and writing goes on: it does not need the AppView.
    sky.log_in("erin").await;
    let posted = sky.done("post", json!({"text": "Written while the AppView was down"})).await;
    let record = network.record(posted["posts"][0]["uri"].as_str().unwrap()).await;
    assert_eq!(record["value"]["text"], "Written while the AppView was down");
}

#[tokio::test]
async fn a_service_that_asks_to_slow_down_is_left_alone() {
    let Some(network) = network() else { return };
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let busy = serve_with(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        (
            429,
            "retry-after: 120\r\n".to_owned(),
            json!({"error": "RateLimitExceeded", "message": "no"}).to_string(),
        )
    })
    .await;
    let sky = Sky::with(&network, |options| options.appview = busy);
    let error = sky.fails("thread", json!({"post": network.post("root")})).await;
    assert_eq!((&error["code"], &error["retryable"]), (&json!("CLIENT_ERROR"), &json!(true)));
    assert_eq!(error["details"]["retryAfterMs"], 120_000);
    assert_eq!(
        calls.load(Ordering::SeqCst),
        1,
        "two minutes are not waited for, and nothing is sent meanwhile"
    );
}

#[tokio::test]
async fn a_service_that_answers_nonsense() {
    let Some(network) = network() else { return };
    for body in ["", "<html>", "[]", "{\"thread\": 5}", "{\"thread\": {\"post\": {\"uri\": \"at://x\"}}}"] {
        let body_text = body.to_owned();
        let odd = serve(move |_| (200, body_text.clone())).await;
        let sky = Sky::with(&network, |options| options.appview = odd);
        let error = sky.fails("thread", json!({"post": network.post("root")})).await;
        assert!(["SERVER_ERROR", "NOT_FOUND"].contains(&error["code"].as_str().unwrap()), "{body}: {error}");
    }
}
