//! A process that is told to end. Alone in its file: the signal goes to the whole process.
#![cfg(all(unix, feature = "http"))]
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod http_support;

use std::sync::Arc;
use std::time::Duration;

use diptych::{Cx, Http, NoArguments, Server, Stop, Text, Toolset, tool};
use http_support::{Probe, stateless_call};
use serde_json::json;
use tokio::sync::Semaphore;

struct Latch {
    entered: Semaphore,
    release: Semaphore,
}

async fn wait(cx: Cx<Arc<Latch>>, _: NoArguments) -> Result<Text, Stop> {
    cx.state().entered.add_permits(1);
    cx.state().release.acquire().await.expect("open").forget();
    Ok(Text::new("done waiting"))
}

#[tokio::test]
async fn a_process_that_is_told_to_end_finishes_its_calls_first() {
    let latch = Arc::new(Latch { entered: Semaphore::new(0), release: Semaphore::new(0) });
    let toolset = Toolset::new("test", Arc::clone(&latch))
        .with(tool("wait", wait).description("Waits until it is released.").read_only());
    let server = Server::builder("test", "0.0.0").toolset(toolset).build().unwrap();
    let mut probe = Probe::start(&server, Http::new()).await;
    let stopping = {
        let server = server.clone();
        tokio::spawn(async move { server.stop_when_terminated(Duration::from_secs(600)).await })
    };
    let call = tokio::spawn(stateless_call(&probe, "wait", json!({})).send());
    latch.entered.acquire().await.unwrap().forget();
    let this = std::process::id().to_string();
    let sent = tokio::process::Command::new("kill").args(["-TERM", &this]).status().await.unwrap();
    assert!(sent.success());
    probe.until_draining().await;
    assert!(!probe.has_ended());
    latch.release.add_permits(1);
    let answer = http_support::json(call.await.unwrap().unwrap()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done waiting");
    probe.ended().await.unwrap();
    stopping.await.unwrap();
}
