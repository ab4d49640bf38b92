//! Answers of the tools beside what the network served for them, for counting tokens: `cargo xtask bench tokens`.
//!
//! Needs the network on loopback (`DIPTYCH_DEVNET`). Writes a list of `{name, raw, panel, tight, markdown}` to the file
//! that is its argument.
#![allow(clippy::unwrap_used, reason = "a measurement: what goes wrong is seen by whoever runs it")]

use diptych::Server;
use diptych::client::Client;
use diptych_bluesky::{BlueskyOptions, toolset};
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let facts = std::env::var_os("DIPTYCH_DEVNET").expect("DIPTYCH_DEVNET names the network");
    let facts: Value = serde_json::from_slice(&std::fs::read(facts).unwrap()).unwrap();
    let text = |pointer: &str| facts.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let mut options = BlueskyOptions::new(folder.path(), folder.path());
    (options.appview, options.plc, options.service) = (text("/appview"), text("/plc"), text("/pds"));
    (options.well_known, options.dns) = (text("/pds"), String::new());
    let server = Server::builder("sky", "0.0.0").toolset(toolset(options)).build().unwrap();
    let alice = text("/people/alice/did");
    let author = |limit: &str| format!("app.bsky.feed.getAuthorFeed?actor={alice}&limit={limit}");
    let thread = |uri: &str| format!("app.bsky.feed.getPostThread?uri={uri}&depth=100&parentHeight=100");
    let cases = [
        (
            "thread, 6 posts",
            "thread",
            json!({"post": text("/posts/root/uri")}),
            vec![thread(&text("/posts/root/uri"))],
        ),
        (
            "thread, 13 posts",
            "thread",
            json!({"post": text("/posts/deep/uri")}),
            vec![thread(&text("/posts/deep/uri"))],
        ),
        ("feed of an author", "feed", json!({"feed": "alice.test"}), vec![author("25")]),
        (
            "custom feed",
            "feed",
            json!({"feed": text("/feed")}),
            vec![format!("app.bsky.feed.getFeed?feed={}&limit=25", text("/feed"))],
        ),
        (
            "profile",
            "profile",
            json!({"account": "alice.test"}),
            vec![
                format!("app.bsky.actor.getProfile?actor={alice}"),
                format!("{}&filter=posts_and_author_threads&includePins=true", author("5")),
            ],
        ),
        (
            "search of the network",
            "search",
            json!({"account": "everyone", "query": "deep"}),
            vec!["app.bsky.feed.searchPosts?q=deep&limit=25".to_owned()],
        ),
    ];
    diptych::tls::prepare();
    let mut measured = Vec::new();
    for (name, tool, arguments, methods) in cases {
        let mut raw = String::new();
        for method in methods {
            let url = format!("{}/xrpc/{method}", text("/appview"));
            raw += &reqwest::get(url).await.unwrap().text().await.unwrap();
        }
        let reply = Client::in_process(&server).call(tool, arguments).await.unwrap();
        assert!(!reply.is_error, "{}", reply.text());
        let panel = reply.structured.clone().unwrap();
        measured.push(json!({
            "name": name, "raw": raw, "panel": panel.to_string(), "tight": tight(&panel).to_string(),
            "markdown": reply.text(),
        }));
    }
    let file = std::env::args().nth(1).expect("the file to write");
    std::fs::write(file, serde_json::to_vec(&measured).unwrap()).unwrap();
}

/// The facts of the Markdown as the tightest JSON: names of columns once, posts as rows, a parent as the number of its
/// row, nothing that the Markdown does not say, and no zeros at the end of a row.
fn tight(panel: &Value) -> Value {
    let mut out = Map::new();
    for (name, value) in panel.as_object().unwrap() {
        match name.as_str() {
            "kind" | "quality" | "total" | "source" => {}
            "posts" | "latest" if value.is_array() => {
                out.insert(name.clone(), rows(value.as_array().unwrap()));
            }
            "pinned" => {
                out.insert(name.clone(), rows(std::slice::from_ref(value)));
            }
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(out)
}

fn rows(posts: &[Value]) -> Value {
    const COLUMNS: [&str; 8] = ["post", "text", "time", "replyTo", "likes", "reposts", "replies", "quotes"];
    let row = |post: &Value| {
        let parent = post["replyTo"].as_str().map_or(json!(0), |parent| {
            let place = posts.iter().position(|other| other["ref"] == parent);
            place.map_or_else(|| json!(parent), |place| json!(place))
        });
        let time = post["createdAt"].as_str().unwrap_or_default().replace(".000Z", "Z");
        let count = |name: &str| post[name].as_u64().unwrap_or(0);
        let mut row = vec![
            json!(post["ref"].as_str().unwrap_or_default().trim_start_matches('@')),
            post["text"].clone(),
            json!(time),
            parent,
        ];
        row.extend(COLUMNS[4..].iter().map(|name| json!(count(name))));
        while row.last() == Some(&json!(0)) {
            row.pop();
        }
        let others = ["links", "images", "card", "quote", "repostedBy", "unavailable"];
        let others: Map<String, Value> = others
            .into_iter()
            .filter_map(|name| {
                let mut value = post.get(name)?.clone();
                if let Some(members) = value.as_object_mut() {
                    members.remove("uri");
                }
                Some((name.to_owned(), value))
            })
            .collect();
        if !others.is_empty() {
            row.push(Value::Object(others));
        }
        Value::Array(row)
    };
    let mut all = vec![json!(COLUMNS)];
    all.extend(posts.iter().map(row));
    Value::Array(all)
}
