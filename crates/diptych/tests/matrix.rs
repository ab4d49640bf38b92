//! One tool that asks twice, on every protocol version, over every transport, in every format, with clients
//! that can be asked and clients that cannot.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

#[path = "../examples/asks.rs"]
#[allow(dead_code)]
mod asks;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use diptych::client::{Client, Dial, Protocol, Reply};
use diptych::{Format, Http};
use serde_json::json;
use tokio::sync::oneshot;

#[derive(Debug, Clone, Copy)]
enum Transport {
    InProcess,
    Process,
    Http,
}

/// Where cargo puts the examples that it builds along with the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples").join(name)
}

#[tokio::test]
async fn asks_are_heard_everywhere() {
    let server = asks::server().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bound = server.bind_http(address, Http::new()).await.unwrap();
    let url = bound.url();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(bound.serve(async {
        let _ = stopped.await;
    }));
    for transport in [Transport::InProcess, Transport::Process, Transport::Http] {
        for protocol in Protocol::TESTED {
            let dial = || -> Dial {
                let dial = match transport {
                    Transport::InProcess => Client::in_process(&server),
                    Transport::Process => Client::command(example("asks"), Vec::<String>::new()).quiet(),
                    Transport::Http => Client::url(&url),
                };
                dial.protocol(protocol)
            };
            for elicits in [true, false] {
                for format in Format::ALL {
                    let case = format!("{transport:?} {protocol:?} elicits={elicits} {format:?}");
                    let dial = if elicits {
                        dial().accepts(json!({"city": "Kyoto"})).accepts(json!({"days": 3}))
                    } else {
                        dial()
                    };
                    let reply = dial.call("plan_trip", json!({"format": format})).await.unwrap();
                    check(&case, &reply, elicits, format);
                }
            }
        }
    }
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

/// Natively asked only in Markdown: the other formats are programs, and get the payload.
fn check(case: &str, reply: &Reply, elicits: bool, format: Format) {
    assert!(!reply.is_error, "{case}");
    let blocks = usize::from(format.has_markdown()) + usize::from(format.has_json());
    assert_eq!(reply.content.len(), blocks, "{case}");
    let structured = reply.structured.as_ref().unwrap();
    assert_eq!(reply.json().as_ref(), Some(structured), "{case}");
    if elicits && format == Format::Markdown {
        assert_eq!(*structured, json!({"kind": "tripPlan:v1", "city": "Kyoto", "days": 3}), "{case}");
        assert_eq!(reply.text(), "**3** days in **Kyoto**.", "{case}");
    } else {
        assert_eq!(structured["kind"], "needsInput:v1", "{case}");
        let text = if format.has_markdown() { "## City Needed\n\nWhere do you want to go?" } else { "" };
        assert_eq!(reply.text(), text, "{case}");
    }
}
