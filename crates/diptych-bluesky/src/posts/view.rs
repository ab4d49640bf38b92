//! Posts as the network serves them. Read leniently: what is missing, malformed or new is left out, never an error.

use serde::Deserialize;
use serde_json::Value;

use super::record::{self, time};
use super::{Card, Picture, Post, Quoted, Unavailable, reference};
use crate::identity::{Did, Handle};
use crate::reference::RecordUri;
use crate::text::draw_facets;

/// `app.bsky.feed.defs#postView`, as much of it as is used.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PostView {
    pub(crate) uri: String,
    pub(crate) cid: String,
    pub(crate) author: Author,
    pub(crate) record: Value,
    #[serde(default)]
    embed: Value,
    #[serde(default)]
    reply_count: u64,
    #[serde(default)]
    repost_count: u64,
    #[serde(default)]
    like_count: u64,
    #[serde(default)]
    quote_count: u64,
    #[serde(default)]
    indexed_at: String,
    #[serde(default)]
    labels: Vec<Value>,
    #[serde(default)]
    pub(crate) viewer: Viewer,
}

/// What the viewer did with a post: the addresses of the records.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Viewer {
    pub(crate) like: Option<String>,
    pub(crate) repost: Option<String>,
}

/// `app.bsky.actor.defs#profileViewBasic`, as much of it as is used.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Author {
    pub(crate) did: Did,
    #[serde(default)]
    handle: String,
    #[serde(default)]
    display_name: String,
}

impl Author {
    pub(crate) fn handle(&self) -> Option<Handle> {
        Handle::parse(&self.handle)
    }

    /// The handle, or the DID where there is none.
    pub(crate) fn name(&self) -> String {
        self.handle().map_or_else(|| self.did.to_string(), |handle| handle.to_string())
    }
}

/// How an account in an answer is called: its handle, or its DID where that does not hold.
pub(crate) fn account_name(account: &Value) -> Option<String> {
    let author = Author::deserialize(account).ok()?;
    Some(author.name())
}

/// The slim post.
pub(crate) fn from_view(view: &PostView) -> Option<Post> {
    let uri = RecordUri::parse(&view.uri)?;
    let handle = view.author.handle();
    let text = view.record["text"].as_str().unwrap_or_default();
    let (drawn, links) = draw_facets(text, &view.record["facets"]);
    let mut post = Post {
        reference: reference(handle.as_ref(), &uri),
        uri: uri.to_string(),
        author: view.author.name(),
        name: Some(view.author.display_name.trim().to_owned()).filter(|name| !name.is_empty()),
        text: Some(text.to_owned()),
        drawn,
        links,
        likes: view.like_count,
        reposts: view.repost_count,
        replies: view.reply_count,
        quotes: view.quote_count,
        created_at: time(&view.record["createdAt"]).or_else(|| time(&Value::from(view.indexed_at.as_str()))),
        parent: record::parent(&view.record),
        labels: labels(&view.labels),
        ..Post::default()
    };
    embed(&mut post, &view.embed);
    Some(post)
}

/// A post of a feed: with who reposted it, and whom it replies to by handle.
pub(crate) fn from_feed(item: &Value) -> Option<Post> {
    let view = PostView::deserialize(&item["post"]).ok()?;
    let mut post = from_view(&view)?;
    match item["reason"]["$type"].as_str() {
        Some("app.bsky.feed.defs#reasonRepost") => post.reposted_by = account_name(&item["reason"]["by"]),
        Some("app.bsky.feed.defs#reasonPin") => post.pinned = true,
        _ => {}
    }
    let parent = &item["reply"]["parent"];
    if let (Some(uri), Some(name)) = (post.parent.as_ref(), account_name(&parent["author"]))
        && parent["uri"].as_str() == Some(uri.to_string().as_str())
    {
        post.reply_to = Some(format!("@{name}/{}", uri.key));
    }
    Some(post)
}

fn labels(labels: &[Value]) -> Vec<String> {
    let is_name = |name: &&str| {
        (1..=100).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'!'))
    };
    let mut names: Vec<String> =
        labels.iter().filter_map(|label| label["val"].as_str()).filter(is_name).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn embed(post: &mut Post, embed: &Value) {
    match embed["$type"].as_str().unwrap_or_default() {
        "app.bsky.embed.images#view" => {
            let images = embed["images"].as_array().into_iter().flatten();
            post.images = images.filter_map(|image| picture(&image["alt"], &image["fullsize"])).collect();
        }
        "app.bsky.embed.video#view" => {
            let still = if embed["thumbnail"].is_string() { &embed["thumbnail"] } else { &embed["playlist"] };
            post.video = picture(&embed["alt"], still);
        }
        "app.bsky.embed.external#view" => post.card = card(&embed["external"]),
        "app.bsky.embed.record#view" => post.quote = quoted(&embed["record"]),
        "app.bsky.embed.recordWithMedia#view" => {
            post.quote = quoted(&embed["record"]["record"]);
            self::embed(post, &embed["media"]);
        }
        _ => {}
    }
}

fn picture(alt: &Value, url: &Value) -> Option<Picture> {
    Some(Picture { alt: alt.as_str().unwrap_or_default().trim().to_owned(), url: url.as_str()?.to_owned() })
}

pub(super) fn card(external: &Value) -> Option<Card> {
    let text = |name: &str| external[name].as_str().unwrap_or_default().trim().to_owned();
    let card = Card { url: text("uri"), title: text("title"), description: text("description") };
    (!card.url.is_empty()).then_some(card)
}

/// A quoted post; of other records (feeds, lists) their name.
fn quoted(record: &Value) -> Option<Quoted> {
    let uri = RecordUri::parse(record["uri"].as_str()?)?;
    let kind = record["$type"].as_str().unwrap_or_default();
    let unavailable = match kind {
        "app.bsky.embed.record#viewNotFound" => Some(Unavailable::Missing),
        "app.bsky.embed.record#viewBlocked" => Some(Unavailable::Blocked),
        "app.bsky.embed.record#viewDetached" => Some(Unavailable::Detached),
        _ => None,
    };
    let author = ["author", "creator"].into_iter().find_map(|who| Author::deserialize(&record[who]).ok());
    let text = ["displayName", "name"].iter().find_map(|name| record[*name].as_str());
    Some(Quoted {
        reference: reference(author.and_then(|author| author.handle()).as_ref(), &uri),
        uri: uri.to_string(),
        text: record["value"]["text"].as_str().or(text).map(str::to_owned),
        unavailable,
    })
}
