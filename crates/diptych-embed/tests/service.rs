//! An embedder behind HTTP, held against a real service in another process: one that works, and every way in which
//! one may not.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use diptych::resilience::Policy;
use diptych_embed::{HttpEmbedder, HttpOptions, OptionsError};
use diptych_search::{EmbedError, Embedder as _, Purpose};

struct Service {
    child: Child,
    port: u16,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The example `embedder`, which cargo builds with the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().and_then(|folder| folder.parent()).unwrap().join("examples/embedder");
    assert!(
        program.exists(),
        "the example `embedder` is not built: `cargo build --examples -p diptych-embed`"
    );
    program
}

impl Service {
    fn start(behaviour: &str) -> Self {
        let mut child = Command::new(program())
            .arg(behaviour)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }

    fn options(&self) -> HttpOptions {
        let mut options = HttpOptions::new(format!("http://127.0.0.1:{}/v1", self.port), "words-64");
        options.policy = Policy {
            first_wait: Duration::from_millis(1),
            jitter: Duration::ZERO,
            open_for: Duration::from_secs(600),
            ..options.policy
        };
        options
    }

    fn embedder(&self) -> HttpEmbedder {
        HttpEmbedder::new(self.options()).unwrap()
    }

    /// How many requests the service has had, and whether the last had the key.
    fn seen(&self) -> (u64, bool) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET /seen HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let json: serde_json::Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        (json["requests"].as_u64().unwrap(), json["key"].as_bool().unwrap())
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn a_service_that_works_gives_a_vector_for_each_text() {
    let service = Service::start("well");
    let embedder = service.embedder();
    assert_eq!(embedder.model().unwrap(), "words-64");
    let vectors =
        embedder.embed(&["apple trees", "trees and apple", "a long winter"], Purpose::Background).unwrap();
    assert_eq!(vectors.iter().map(Vec::len).collect::<Vec<_>>(), [64, 64, 64]);
    assert!(cosine(&vectors[0], &vectors[1]) > cosine(&vectors[0], &vectors[2]));
    assert!(embedder.embed(&[], Purpose::Query).unwrap().is_empty());
    assert_eq!(service.seen(), (1, false));
}

#[tokio::test]
async fn it_can_be_let_go_of_inside_a_runtime() {
    let service = Service::start("well");
    let embedder = service.embedder();
    let embedder = tokio::task::spawn_blocking(move || {
        embedder.embed(&["x"], Purpose::Query).unwrap();
        embedder
    });
    drop(embedder.await.unwrap());
}

#[test]
fn the_key_is_presented_and_never_shown() {
    let service = Service::start("key");
    let without = service.embedder().embed(&["x"], Purpose::Bulk).unwrap_err();
    assert_eq!(without, EmbedError::Broken("The embedder refuses the key.".to_owned()));
    let options = HttpOptions { key: Some("secret".to_owned()), ..service.options() };
    assert!(!format!("{options:?}").contains("secret"));
    let embedder = HttpEmbedder::new(options).unwrap();
    assert!(!format!("{embedder:?}").contains("secret"));
    assert_eq!(embedder.embed(&["x"], Purpose::Bulk).unwrap().len(), 1);
    assert_eq!(service.seen(), (2, true));
}

#[test]
fn a_busy_service_is_asked_again_when_it_said() {
    let service = Service::start("busy");
    let start = Instant::now();
    assert_eq!(service.embedder().embed(&["x"], Purpose::Background).unwrap().len(), 1);
    assert!(start.elapsed() >= Duration::from_secs(1), "it asked for a second");
    assert_eq!(service.seen().0, 2);
}

#[test]
fn a_question_does_not_wait_for_a_busy_service() {
    let service = Service::start("busy");
    let error = service.embedder().embed(&["x"], Purpose::Query).unwrap_err();
    assert_eq!(
        error,
        EmbedError::Unavailable {
            message: "The embedder asks for fewer requests.".to_owned(),
            retry_after: Some(Duration::from_secs(1))
        }
    );
    assert_eq!(service.seen().0, 1);
}

#[test]
fn failures_open_the_breaker_and_then_nothing_is_sent() {
    let service = Service::start("failing");
    let embedder = service.embedder();
    let error = embedder.embed(&["x"], Purpose::Background).unwrap_err();
    assert!(error.to_string().contains("status 500"), "{error}");
    assert_eq!(service.seen().0, 3);
    for _ in 0..5 {
        let EmbedError::Unavailable { message, retry_after } =
            embedder.embed(&["x"], Purpose::Query).unwrap_err()
        else {
            panic!("an open breaker passes")
        };
        assert!(message.contains("left alone"), "{message}");
        assert!(retry_after.is_some_and(|wait| wait > Duration::from_secs(60)));
    }
    assert_eq!(service.seen().0, 3, "an open breaker sends nothing");
}

#[test]
fn a_service_that_hangs_is_not_waited_for() {
    let service = Service::start("hanging");
    let mut options = service.options();
    options.policy.timeout = Duration::from_millis(50);
    options.policy.attempts = 2;
    let error = HttpEmbedder::new(options).unwrap().embed(&["x"], Purpose::Background).unwrap_err();
    assert_eq!(error, EmbedError::unavailable("The embedder did not answer in time."));
    assert_eq!(service.seen().0, 2);
}

#[test]
fn other_dimensions_than_before_are_not_mixed() {
    let service = Service::start("uneven");
    let embedder = service.embedder();
    assert_eq!(embedder.embed(&["x"], Purpose::Background).unwrap()[0].len(), 64);
    let error = embedder.embed(&["x"], Purpose::Background).unwrap_err();
    assert!(
        matches!(&error, EmbedError::Broken(why) if why.contains("3 dimensions now and had 64")),
        "{error}"
    );
}

#[test]
fn garbage_and_refusals_are_told_apart() {
    let service = Service::start("garbage");
    let error = service.embedder().embed(&["x"], Purpose::Background).unwrap_err();
    assert_eq!(error, EmbedError::Broken("The embedder's answer is not a list of vectors.".to_owned()));
    assert_eq!(service.seen().0, 1, "asking again would not help");
    let service = Service::start("picky");
    let error = service.embedder().embed(&["a forbidden text"], Purpose::Background).unwrap_err();
    assert!(matches!(error, EmbedError::Refused(_)), "{error}");
    assert_eq!(service.embedder().embed(&["another"], Purpose::Background).unwrap().len(), 1);
}

#[test]
fn a_service_that_is_not_there_could_not_be_reached() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = HttpOptions::new(format!("http://127.0.0.1:{port}/v1/embeddings/"), "m");
    let error = HttpEmbedder::new(options).unwrap().embed(&["x"], Purpose::Query).unwrap_err();
    assert_eq!(error, EmbedError::unavailable("The embedder could not be reached."));
    assert!(!error.to_string().contains(&port.to_string()));
}

#[test]
fn options_that_cannot_be_used_are_refused_early() {
    let with = |url: &str, model: &str, key: &str| {
        HttpEmbedder::new(HttpOptions { key: Some(key.to_owned()), ..HttpOptions::new(url, model) }).map(drop)
    };
    assert_eq!(with("not a url", "m", ""), Err(OptionsError::Url));
    assert_eq!(with("file:///etc/passwd", "m", ""), Err(OptionsError::Url));
    assert_eq!(with("http://127.0.0.1:1", " ", ""), Err(OptionsError::Model));
    assert_eq!(with("http://127.0.0.1:1", "m", "a\nb"), Err(OptionsError::Key));
    assert_eq!(with("http://127.0.0.1:1", "m", "key"), Ok(()));
}
