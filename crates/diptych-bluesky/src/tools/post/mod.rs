//! `post`: writes a post, a reply, a quote, or a thread.

mod images;
mod picture;
mod sent;

use diptych::{Cx, Markdown, Present, Stop, ToolError};
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Bluesky, given, invalid, naming, shown, writer};
use crate::accounts::Session;
use crate::network::{Caller, NetworkError, Request};
use crate::posts::{self, Post, PostView, draw_posts};
use crate::reference::{POST, RecordUri};
use crate::text::{Detected, LONGEST, Meaning, detect, graphemes, split};
pub(crate) use sent::{Fingerprint, Sent, fingerprint};

/// The most posts that a text is split into.
const MOST_POSTS: usize = 25;
/// The most images of a post.
const MOST_IMAGES: usize = 4;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Arguments {
    /// What to say. Links, @mentions and #tags become real ones; [label](https://…) becomes a link.
    text: String,
    /// As whom, of those logged in; by default the default account.
    account: Option<String>,
    /// The post to reply to: a link, an at:// address or @handle/key.
    reply_to: Option<String>,
    /// The post to quote.
    quote: Option<String>,
    /// Up to four images.
    images: Option<Vec<ImageArgument>>,
    /// Whether a text of more than 300 characters becomes a thread.
    split: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ImageArgument {
    /// A file on this machine (not over HTTP), an https address or a data: URI. PNG, JPEG, GIF or WebP, up to 2 MB.
    /// What it says about the camera, the place and the owner is taken out.
    source: String,
    /// What it shows, for those who cannot see it.
    alt: String,
}

/// What was posted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Posted {
    /// As whom.
    account: String,
    posts: Vec<Post>,
    /// The same call had been made a moment ago: this is what it posted, and nothing was posted again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

/// A post's address and the hash of its content, as other posts refer to it.
#[derive(Debug, Clone, Serialize)]
struct Strong {
    uri: String,
    cid: String,
}

pub(super) async fn post(cx: Cx<Bluesky>, arguments: Arguments) -> Result<Posted, Stop> {
    let pieces = pieces(&arguments)?;
    let session = writer(&cx, given(&arguments.account)).await?;
    let account = session.account();
    let parent = match given(&arguments.reply_to) {
        Some(text) => Some(read(&cx, &session, "replyTo", text).await?),
        None => None,
    };
    let quoted = match given(&arguments.quote) {
        Some(text) => Some(read(&cx, &session, "quote", text).await?),
        None => None,
    };
    let images = images::load(&cx, arguments.images.as_deref().unwrap_or_default()).await?;
    let mut texts = Vec::new();
    for piece in &pieces {
        texts.push(facets(&cx, piece).await);
    }

    // The same call a moment later is the same post: its keys and times are those of the first attempt.
    let call = fingerprint(&json!([account.did.as_str(), &arguments]));
    let attempt = cx.state().sent.attempt(&call, pieces.len()).await;
    cx.commit();
    let blobs = images::upload(&session, images).await?;
    let mut reply = parent.as_ref().map(|view| (root(view), strong(view)));
    let mut posts: Vec<Post> = Vec::new();
    for (position, (key, (text, facets))) in attempt.keys.iter().zip(texts).enumerate() {
        let first = position == 0;
        let created_at = attempt.at + SignedDuration::from_millis(i64::try_from(position).unwrap_or(0));
        let mut record = json!({"$type": POST, "text": text, "createdAt": format!("{created_at:.3}")});
        if !facets.is_empty() {
            record["facets"] = Value::from(facets);
        }
        if let Some(embed) = embed(first.then_some(&blobs), quoted.as_ref().filter(|_| first)) {
            record["embed"] = embed;
        }
        if let Some((root, parent)) = &reply {
            record["reply"] = json!({"root": root, "parent": parent});
        }
        let uri = RecordUri::new(account.did.clone(), POST, key);
        let cid = match put(&session, &uri, &record).await {
            Ok(cid) => cid,
            Err(error) => return Err(interrupted(error, &posts, attempt.keys.len()).into()),
        };
        posts.push(Post::from_record(&uri, Some(&account.handle), &record, |cid| {
            format!("{}/xrpc/com.atproto.sync.getBlob?did={}&cid={cid}", account.service, account.did)
        }));
        let own = Strong { uri: uri.to_string(), cid };
        let root = reply.take().map_or_else(|| own.clone(), |(root, _)| root);
        reply = Some((root, own));
    }
    posts::note(&shown(&cx), &mut posts);
    name_others(&mut posts, parent.as_ref(), quoted.as_ref());
    cx.state().sent.done(&call).await;
    Ok(Posted { account: account.handle.to_string(), posts, repeated: attempt.done })
}

/// The text in the pieces that will be posts, or what is wrong with it.
fn pieces(arguments: &Arguments) -> Result<Vec<String>, ToolError> {
    let images = arguments.images.as_ref().map_or(0, Vec::len);
    if images > MOST_IMAGES {
        return Err(invalid("images", "must have at most 4 entries"));
    }
    if arguments.text.trim().is_empty() && images == 0 && given(&arguments.quote).is_none() {
        return Err(invalid("text", "must say something, unless there is an image or a quote"));
    }
    if arguments.split == Some(true) {
        let pieces = split(&arguments.text);
        if pieces.len() > MOST_POSTS {
            return Err(invalid("text", "must fit into 25 posts"));
        }
        return Ok(pieces);
    }
    let text = arguments.text.trim();
    let length = graphemes(&detect(text).0);
    if length > LONGEST {
        let problem = format!("has {length} characters, and {LONGEST} fit into a post");
        return Err(
            invalid("text", &problem).hint("Shorten it, or set split to true to make a thread of it.")
        );
    }
    Ok(vec![text.to_owned()])
}

/// A post that the new one refers to, as the network has it now.
async fn read(cx: &Cx<Bluesky>, session: &Session, argument: &str, text: &str) -> Result<PostView, Stop> {
    let uri = naming::post(cx, session, argument, text).await?;
    let mut found = views(session, std::slice::from_ref(&uri)).await?;
    Ok(found.pop().ok_or_else(|| {
        ToolError::not_found(format!(
            "The post that {argument} names is not there: it was deleted, or never was."
        ))
        .hint("If it is new, it may take a moment to appear.")
    })?)
}

/// Posts as the network has them, those that it has.
pub(super) async fn views(caller: &dyn Caller, uris: &[RecordUri]) -> Result<Vec<PostView>, NetworkError> {
    let mut found = Vec::new();
    for some in uris.chunks(25) {
        let query = some.iter().map(|uri| ("uris", uri.to_string())).collect();
        let answer: Value = caller.read(Request::get("app.bsky.feed.getPosts", query)).await?;
        let views = answer["posts"].as_array().into_iter().flatten();
        found.extend(views.filter_map(|view| PostView::deserialize(view).ok()));
    }
    Ok(found)
}

fn strong(view: &PostView) -> Strong {
    Strong { uri: view.uri.clone(), cid: view.cid.clone() }
}

/// The first post of the conversation that a post belongs to.
fn root(view: &PostView) -> Strong {
    let root = &view.record["reply"]["root"];
    match (root["uri"].as_str(), root["cid"].as_str()) {
        (Some(uri), Some(cid)) if RecordUri::parse(uri).is_some() => {
            Strong { uri: uri.to_owned(), cid: cid.to_owned() }
        }
        _ => strong(view),
    }
}

/// A piece of text as it is posted, with its facets. A mention of nobody is only text.
async fn facets(cx: &Cx<Bluesky>, piece: &str) -> (String, Vec<Value>) {
    let (text, found) = detect(piece);
    let mut facets = Vec::new();
    for Detected { start, end, meaning } in found {
        let feature = match meaning {
            Meaning::Link(uri) => json!({"$type": "app.bsky.richtext.facet#link", "uri": uri}),
            Meaning::Tag(tag) => json!({"$type": "app.bsky.richtext.facet#tag", "tag": tag}),
            Meaning::Mention(handle) => match cx.state().directory.by_handle(&handle).await {
                Ok(identity) => {
                    json!({"$type": "app.bsky.richtext.facet#mention", "did": identity.did.as_str()})
                }
                Err(_) => continue,
            },
        };
        facets.push(json!({"index": {"byteStart": start, "byteEnd": end}, "features": [feature]}));
    }
    (text, facets)
}

fn embed(images: Option<&Vec<Value>>, quoted: Option<&PostView>) -> Option<Value> {
    let media = images
        .filter(|images| !images.is_empty())
        .map(|images| json!({"$type": "app.bsky.embed.images", "images": images}));
    let record = quoted.map(|view| json!({"$type": "app.bsky.embed.record", "record": strong(view)}));
    match (media, record) {
        (Some(media), Some(record)) => {
            Some(json!({"$type": "app.bsky.embed.recordWithMedia", "media": media, "record": record}))
        }
        (media, record) => media.or(record),
    }
}

/// Writes a record under a key of ours: however often it is sent, it is there once.
pub(super) async fn put(session: &Session, uri: &RecordUri, record: &Value) -> Result<String, NetworkError> {
    let caller: &dyn Caller = session;
    let body = json!({
        "repo": uri.did.as_str(), "collection": uri.collection, "rkey": uri.key, "record": record,
    });
    let answer: Value = caller.read(Request::post("com.atproto.repo.putRecord", body)).await?;
    answer["cid"].as_str().map(str::to_owned).ok_or(NetworkError::BadAnswer("the address of a record"))
}

/// What is said when a post, or a later one of a thread, did not go out for sure.
fn interrupted(error: NetworkError, posted: &[Post], all: usize) -> ToolError {
    let doubt = error.leaves_doubt();
    let error = ToolError::from(error);
    if posted.is_empty() && !doubt {
        return error;
    }
    let refs: Vec<&str> = posted.iter().map(|post| post.reference.as_str()).collect();
    let error = error.detail("posted", refs);
    let said = if posted.is_empty() {
        "It is not known whether the post went out.".to_owned()
    } else {
        format!("{} of {all} posts of the thread are out.", posted.len())
    };
    error.hint(format!("{said} Make the same call again within ten minutes: nothing is posted twice."))
}

/// Gives the first post the names of what it replies to and quotes: the record itself only has their addresses.
fn name_others(posts: &mut [Post], parent: Option<&PostView>, quoted: Option<&PostView>) {
    let Some(first) = posts.first_mut() else { return };
    let named =
        |view: &PostView| Some(format!("@{}/{}", view.author.name(), RecordUri::parse(&view.uri)?.key));
    first.reply_to = parent.and_then(named);
    if let (Some(quote), Some(view)) = (&mut first.quote, quoted) {
        quote.reference = named(view).unwrap_or_else(|| quote.reference.clone());
        quote.text = view.record["text"].as_str().map(str::to_owned);
    }
}

/// A new key: the time in microseconds and some chance, in letters that sort as the time does.
pub(crate) fn new_key(at: Timestamp, position: usize) -> String {
    const LETTERS: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
    let micros = u64::try_from(at.as_microsecond()).unwrap_or(0) + position as u64;
    let chance = u64::from(uuid::Uuid::new_v4().as_fields().1) & 0x3ff;
    let number = (micros << 10) | chance;
    (0..13).rev().map(|place| char::from(LETTERS[(number >> (5 * place)) as usize & 31])).collect()
}

impl Present for Posted {
    const KIND: &'static str = "posted:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            let word = if self.posts.len() == 1 { " post" } else { " posts" };
            line.literal("Posted · ")
                .text(self.posts.len())
                .literal(word)
                .literal(" · @")
                .text(&self.account);
        });
        if self.repeated {
            markdown.paragraph(|line| {
                line.literal("Posted by the same call a moment ago. Nothing was posted again.");
            });
        }
        draw_posts(markdown, &self.posts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_time_does() {
        let at: Timestamp = "2024-10-06T10:00:00Z".parse().unwrap();
        let keys: Vec<String> = (0..5).map(|position| new_key(at, position)).collect();
        assert!(keys.is_sorted() && keys.iter().all(|key| key.len() == 13), "{keys:?}");
        assert!(keys[0].starts_with("3l5"), "{keys:?}");
    }
}
