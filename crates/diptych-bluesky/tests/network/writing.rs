//! Writing: what is posted is what is there, seen by a second client, and it is there once.

use diptych::Http;
use diptych::client::Client;
use serde_json::{Value, json};

use super::network::{Sky, network, web};

const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn uri(posted: &Value) -> String {
    posted["posts"][0]["uri"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_post_with_everything_in_it() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let text = "Hey @alice.test, see [the book](https://example.com/book) and https://example.com/x. #rustlang @nobody.test";
    let image = json!([{"source": PIXEL, "alt": "one [pixel]"}]);
    let arguments = json!({"text": text, "images": image, "quote": network.post("quotable")});
    let reply = sky.call("post", arguments).await;
    assert!(!reply.is_error, "{}", reply.text());
    let posted = reply.structured.clone().unwrap();
    let key = uri(&posted).rsplit('/').next().unwrap().to_owned();
    let time = posted["posts"][0]["createdAt"].as_str().unwrap()[..19].to_owned() + "Z";
    let drawn = network.masked(&reply.text()).replace(&key, "KEY").replace(&time, "TIME");
    insta::assert_snapshot!("posted", drawn);
    let record = network.record(&uri(&posted)).await;
    let value = &record["value"];
    assert_eq!(
        value["text"],
        "Hey @alice.test, see the book and https://example.com/x. #rustlang @nobody.test"
    );
    let features: Vec<(&str, &Value)> = value["facets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|facet| {
            let start = usize::try_from(facet["index"]["byteStart"].as_u64().unwrap()).unwrap();
            let end = usize::try_from(facet["index"]["byteEnd"].as_u64().unwrap()).unwrap();
            (&value["text"].as_str().unwrap()[start..end], &facet["features"][0])
        })
        .collect();
    let did = network.did("alice");
    assert_eq!(
        features,
        [
            ("@alice.test", &json!({"$type": "app.bsky.richtext.facet#mention", "did": did})),
            (
                "the book",
                &json!({"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/book"})
            ),
            (
                "https://example.com/x",
                &json!({"$type": "app.bsky.richtext.facet#link", "uri": "https://example.com/x"})
            ),
            ("#rustlang", &json!({"$type": "app.bsky.richtext.facet#tag", "tag": "rustlang"})),
        ]
    );
    let embed = &value["embed"];
    assert_eq!(embed["$type"], "app.bsky.embed.recordWithMedia");
    assert_eq!(embed["record"]["record"]["uri"], network.post("quotable"));
    assert_eq!(embed["media"]["images"][0]["alt"], "one [pixel]");
    assert_eq!(embed["media"]["images"][0]["aspectRatio"], json!({"width": 1, "height": 1}));
    // And the AppView, which checks more than the PDS, shows it.
    network.settle().await;
    let seen = network.query("/appview", "app.bsky.feed.getPosts", &[("uris", &uri(&posted))]).await;
    assert_eq!(seen["posts"][0]["author"]["handle"], "erin.test");
}

#[tokio::test]
async fn replies_know_their_parent_and_their_root() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let first = sky.done("post", json!({"text": "A thread of erin's own"})).await;
    network.settle().await;
    let second = sky.done("post", json!({"text": "The second", "replyTo": first["posts"][0]["ref"]})).await;
    network.settle().await;
    let third = sky.done("post", json!({"text": "The third", "replyTo": uri(&second)})).await;
    let record = network.record(&uri(&third)).await;
    assert_eq!(record["value"]["reply"]["parent"]["uri"], uri(&second));
    assert_eq!(record["value"]["reply"]["root"]["uri"], uri(&first));
    assert_eq!(third["posts"][0]["replyTo"], second["posts"][0]["ref"]);
    network.settle().await;
    let thread = sky.done("thread", json!({"post": uri(&first)})).await;
    let levels: Vec<u64> =
        thread["posts"].as_array().unwrap().iter().map(|post| post["level"].as_u64().unwrap_or(0)).collect();
    assert_eq!(levels, [0, 1, 2]);
    let missing = sky.fails("post", json!({"text": "x", "replyTo": network.post("deleted")})).await;
    assert_eq!(missing["code"], "NOT_FOUND");
}

#[tokio::test]
async fn a_long_text_becomes_a_thread_on_request() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "frank").await;
    let text = "This sentence is one of many. ".repeat(25);
    let refused = sky.fails("post", json!({"text": text})).await;
    assert_eq!(refused["code"], "CLIENT_ERROR");
    assert!(
        refused["message"].as_str().unwrap().starts_with("Invalid input: text has 749 characters"),
        "{refused}"
    );
    let posted = sky.done("post", json!({"text": text, "split": true})).await;
    let posts = posted["posts"].as_array().unwrap();
    assert_eq!(posts.len(), 3);
    let mut parent = None;
    for post in posts {
        let record = network.record(post["uri"].as_str().unwrap()).await;
        assert!(record["value"]["text"].as_str().unwrap().chars().count() <= 300);
        match parent {
            None => assert!(record["value"].get("reply").is_none()),
            Some(parent) => {
                assert_eq!(record["value"]["reply"]["parent"]["uri"], parent);
                assert_eq!(record["value"]["reply"]["root"]["uri"], posts[0]["uri"]);
            }
        }
        parent = Some(post["uri"].clone());
    }
}

#[tokio::test]
async fn the_same_call_again_posts_nothing() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "frank").await;
    let text = format!("Said once {}", sky.mark());
    let call = json!({"text": text});
    let (one, other) = tokio::join!(sky.done("post", call.clone()), sky.done("post", call.clone()));
    assert_eq!(uri(&one), uri(&other));
    let again = sky.done("post", call).await;
    assert_eq!((&again["repeated"], uri(&again)), (&json!(true), uri(&one)));
    let records = network.records("frank", "app.bsky.feed.post").await;
    assert_eq!(records.iter().filter(|record| record["value"]["text"] == text).count(), 1);
}

#[tokio::test]
async fn the_same_call_to_another_process_posts_nothing() {
    let Some(network) = network() else { return };
    let mut sky = Sky::of(&network, "frank").await;
    let text = format!("Said by one process {}", sky.mark());
    let call = json!({"text": text, "images": [{"source": PIXEL, "alt": "a pixel"}]});
    let first = sky.done("post", call.clone()).await;
    assert!(first.get("repeated").is_none(), "{first}");
    sky.restart();
    let again = sky.done("post", call.clone()).await;
    assert_eq!((&again["repeated"], uri(&again)), (&json!(true), uri(&first)));
    let same = |records: &[Value]| records.iter().filter(|record| record["value"]["text"] == text).count();
    let before = network.record(&uri(&first)).await;
    assert_eq!(same(&network.records("frank", "app.bsky.feed.post").await), 1);
    sky.done("post", call.clone()).await;
    assert_eq!(network.record(&uri(&first)).await, before, "not even its hash has changed");
    // What was deleted may be said again.
    let agree = sky.dial().accepts(json!({"confirm": true}));
    agree.call("react", json!({"delete": [uri(&first)]})).await.unwrap();
    let new = sky.done("post", call).await;
    assert!(new.get("repeated").is_none() && uri(&new) != uri(&first), "{new}");
    assert_eq!(same(&network.records("frank", "app.bsky.feed.post").await), 1);
}

/// A photograph, as a camera writes it: with the place where it was taken, held upright.
fn photograph() -> (Vec<u8>, Vec<u8>) {
    let segment = |kind: u8, data: &[u8]| {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xff, kind], length.as_slice(), data].concat()
    };
    let mut exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    exif.extend_from_slice(b"52.5200 N 13.4050 E");
    let frame = segment(0xc0, &[8, 0, 9, 0, 16, 1, 1, 0x11, 0]);
    let pixels = [segment(0xda, &[1, 1, 0, 0, 63, 0]), b"pixels".to_vec()].concat();
    let file = [&[0xff, 0xd8], segment(0xe1, &exif).as_slice(), &frame, &pixels, &[0xff, 0xd9]].concat();
    (file, pixels)
}

#[tokio::test]
async fn a_photograph_is_posted_without_its_place() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let (bytes, pixels) = photograph();
    let file = sky.folder.path().join("photograph.jpg");
    std::fs::write(&file, bytes).unwrap();
    let call = json!({"text": "", "images": [{"source": file, "alt": "A square"}]});
    let record = network.record(&uri(&sky.done("post", call).await)).await;
    let image = &record["value"]["embed"]["images"][0];
    assert_eq!(image["aspectRatio"], json!({"width": 9, "height": 16}), "as it is held");
    let (did, cid) = (network.did("erin"), image["image"]["ref"]["$link"].as_str().unwrap().to_owned());
    let url = format!("{}/xrpc/com.atproto.sync.getBlob?did={did}&cid={cid}", network.at("/pds"));
    let blob = web().get(url).send().await.unwrap().bytes().await.unwrap();
    let has = |part: &[u8]| blob.windows(part.len()).any(|window| window == part);
    assert!(has(&pixels) && !has(b"52.5200") && !has(b"13.4050"), "{blob:?}");
}

#[tokio::test]
async fn callers_over_http_get_neither_files_nor_logins_without_being_known() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let file = sky.folder.path().join("pixel.png");
    let pixel = base64_of(PIXEL.split(',').next_back().unwrap());
    std::fs::write(&file, pixel).unwrap();
    let password = network.at("/people/frank/appPassword");
    for token in [None, Some("a-token-of-the-test")] {
        let http = token.iter().fold(Http::new(), |http, token| http.bearer_token(*token, "ada"));
        let bound = sky.server.bind_http("127.0.0.1:0".parse().unwrap(), http).await.unwrap();
        let url = bound.url();
        let serving = tokio::spawn(bound.serve(std::future::pending()));
        let call = async |tool: &str, arguments: Value| {
            let dial = token.iter().fold(Client::url(&url), |dial, token| dial.token(*token));
            dial.call(tool, arguments).await.unwrap().structured.unwrap()
        };
        let refused = call("post", json!({"text": "x", "images": [{"source": file, "alt": ""}]})).await;
        assert_eq!(refused["code"], "CLIENT_ERROR", "whoever it is: {refused}");
        assert!(refused["message"].as_str().unwrap().contains("does not read files for callers over HTTP"));
        assert_eq!(call("login", json!({"command": "list"})).await["accounts"][0]["handle"], "erin.test");
        for (tool, arguments) in [
            ("login", json!({"handle": "frank.test", "password": password})),
            ("login", json!({"command": "default", "handle": "frank.test"})),
            ("login", json!({"command": "delete", "handle": "frank.test"})),
        ] {
            let answer = call(tool, arguments).await;
            if token.is_some() {
                assert_ne!(answer["kind"], "toolError:v1", "{answer}");
            } else {
                assert_eq!(answer["code"], "AUTHENTICATION_ERROR", "{answer}");
                assert!(
                    answer["details"]["hint"].as_str().unwrap().contains("diptych call login"),
                    "{answer}"
                );
            }
        }
        if token.is_none() {
            assert_eq!(call("logout", json!({})).await["code"], "AUTHENTICATION_ERROR");
            let default = json!({"action": "set-default", "handle": "erin.test"});
            assert_eq!(call("accounts", default).await["code"], "AUTHENTICATION_ERROR");
        }
        serving.abort();
    }
    // The same file for whoever started the server.
    sky.done("post", json!({"text": "", "images": [{"source": file, "alt": "a pixel"}]})).await;
}

/// What a second client makes of base64.
fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.decode(text).unwrap()
}

#[tokio::test]
async fn only_images_are_posted() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let file = sky.folder.path().join("notes.png");
    std::fs::write(&file, "not an image").unwrap();
    for (source, problem) in [
        (file.to_str().unwrap(), "must be a PNG"),
        ("/no/such/file.png", "is not a file that can be read"),
        ("data:image/png;base64,!!!", "must be base64"),
        ("data:text/plain;base64,aGVsbG8=", "must be a PNG"),
        ("data:image/png;base64,iVBORw0KGgpzZWNyZXQgc2VjcmV0IHNlY3JldA==", "must be a PNG"),
        ("/dev/zero", "is not a file that can be read"),
    ] {
        let error = sky.fails("post", json!({"text": "x", "images": [{"source": source, "alt": ""}]})).await;
        assert!(error["message"].as_str().unwrap().contains(problem), "{error}");
        assert!(
            !error.to_string().contains("notes.png") && !error.to_string().contains("/no/such"),
            "{error}"
        );
    }
    let private = sky
        .fails("post", json!({"text": "x", "images": [{"source": "http://10.0.0.1/x.png", "alt": ""}]}))
        .await;
    assert_eq!(private["code"], "CLIENT_ERROR");
    let five = vec![json!({"source": PIXEL, "alt": ""}); 5];
    assert_eq!(sky.fails("post", json!({"text": "x", "images": five})).await["code"], "CLIENT_ERROR");
    assert_eq!(sky.fails("post", json!({"text": "  "})).await["code"], "CLIENT_ERROR");
}

#[tokio::test]
async fn reactions_come_and_go() {
    let Some(network) = network() else { return };
    let frank = Sky::of(&network, "frank").await;
    let post = uri(&frank.done("post", json!({"text": "To be liked"})).await);
    network.settle().await;
    let sky = Sky::of(&network, "erin").await;
    let gone = network.post("deleted");
    let reply = sky.call("react", json!({"like": [post, gone], "repost": [post]})).await;
    let key = post.rsplit('/').next().unwrap();
    insta::assert_snapshot!("reactions", network.masked(&reply.text()).replace(key, "KEY"));
    let liked = |likes: &[Value]| likes.iter().filter(|like| like["value"]["subject"]["uri"] == post).count();
    assert_eq!(liked(&network.records("erin", "app.bsky.feed.like").await), 1);
    // Again before the view has heard of it, and again after.
    sky.done("react", json!({"like": [post]})).await;
    assert_eq!(liked(&network.records("erin", "app.bsky.feed.like").await), 1);
    network.settle().await;
    let again = sky.done("react", json!({"like": [post]})).await;
    assert_eq!(again["results"][0]["status"], "already");
    let view = network.query("/appview", "app.bsky.feed.getPosts", &[("uris", &post)]).await;
    assert_eq!((&view["posts"][0]["likeCount"], &view["posts"][0]["repostCount"]), (&json!(1), &json!(1)));
    let back = sky.done("react", json!({"unlike": [post], "unrepost": [post]})).await;
    assert_eq!((&back["done"], &back["failed"]), (&json!(2), &json!(0)));
    assert_eq!(liked(&network.records("erin", "app.bsky.feed.like").await), 0);
    assert_eq!(liked(&network.records("erin", "app.bsky.feed.repost").await), 0);
    assert_eq!(sky.fails("react", json!({})).await["code"], "CLIENT_ERROR");
}

#[tokio::test]
async fn deleting_asks_first() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let post = uri(&sky.done("post", json!({"text": "Not for long"})).await);
    let there = |record: &Value| record.get("value").is_some();
    let call = json!({"delete": [post]});
    // Nobody to ask: nothing is deleted, whatever the arguments say.
    for arguments in [
        call.clone(),
        json!({"delete": [post], "confirm": true}),
        json!({"delete": [post], "format": "json"}),
    ] {
        let unasked = sky.call("react", arguments).await;
        assert_eq!(unasked.kind().unwrap(), "needsInput:v1");
    }
    for dial in [
        sky.dial().declines(),
        sky.dial().cancels(),
        sky.dial().accepts(json!({"confirm": false})).declines(),
    ] {
        let reply = dial.call("react", call.clone()).await.unwrap();
        assert_eq!(reply.structured.unwrap()["results"][0]["status"], "kept");
    }
    assert!(there(&network.record(&post).await));
    // Programs are asked natively too: only a person can agree.
    let dial = sky.dial().accepts(json!({"confirm": true}));
    let reply = dial.call("react", json!({"delete": [post], "format": "json"})).await.unwrap();
    assert_eq!(reply.structured.unwrap()["results"][0]["status"], "done");
    assert!(!there(&network.record(&post).await));
    let others = sky.done("react", json!({"delete": [network.post("root")]})).await;
    assert_eq!(
        (&others["failed"], &others["results"][0]["problem"]),
        (&json!(1), &json!("This is somebody else's post."))
    );
}

#[tokio::test]
async fn short_forms_are_not_guessed_before_a_write() {
    let Some(network) = network() else { return };
    let sky = Sky::of(&network, "erin").await;
    let client = Client::in_process(&sky.server).connect().await.unwrap();
    client.call("thread", json!({"post": network.post("deep")})).await.unwrap();
    for arguments in [json!({"like": ["@c/…zzzz"]}), json!({"like": [network.post("deep"), "@c/…pac"]})] {
        let reply = client.call("react", arguments.clone()).await.unwrap();
        assert_eq!(reply.kind().unwrap(), "needsInput:v1", "{arguments}");
    }
    let reply = client.call("post", json!({"text": "x", "replyTo": "…pac"})).await.unwrap();
    let structured = reply.structured.unwrap();
    assert_eq!(
        (&structured["kind"], &structured["needsInput"]["fields"]),
        (&json!("needsInput:v1"), &json!(["replyTo"]))
    );
    client.close().await;
    assert!(
        network
            .records("erin", "app.bsky.feed.like")
            .await
            .iter()
            .all(|like| like["value"]["subject"]["uri"] != network.post("deep"))
    );
}
