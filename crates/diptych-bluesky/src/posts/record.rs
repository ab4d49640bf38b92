//! Posts as a repository keeps them: records, without the counts and names that the network adds.

use jiff::Timestamp;
use serde_json::Value;

use super::view::card;
use super::{Picture, Post, Quoted, reference};
use crate::identity::Handle;
use crate::reference::{POST, RecordUri};
use crate::text::draw_facets;

/// A time that somebody wrote, as answers have it. What is not a time is none.
pub(super) fn time(value: &Value) -> Option<String> {
    let time: Timestamp = value.as_str()?.parse().ok()?;
    Some(format!("{time:.3}"))
}

/// The post that a record replies to.
pub(super) fn parent(record: &Value) -> Option<RecordUri> {
    RecordUri::parse(record["reply"]["parent"]["uri"].as_str()?).filter(|uri| uri.collection == POST)
}

impl Post {
    /// A post of a repository, by its record (as JSON) and its author. `blob` makes the address of a blob from its hash.
    pub(crate) fn from_record(
        uri: &RecordUri,
        handle: Option<&Handle>,
        record: &Value,
        blob: impl Fn(&str) -> String,
    ) -> Self {
        let text = record["text"].as_str().unwrap_or_default();
        let (drawn, links) = draw_facets(text, &record["facets"]);
        let mut post = Post {
            reference: reference(handle, uri),
            uri: uri.to_string(),
            author: handle.map_or_else(|| uri.did.to_string(), ToString::to_string),
            text: Some(text.to_owned()),
            drawn,
            links,
            created_at: time(&record["createdAt"]),
            parent: parent(record),
            ..Post::default()
        };
        post.reply_to = post.parent.as_ref().map(|parent| reference(None, parent));
        embed(&mut post, &record["embed"], &blob);
        post
    }
}

fn embed(post: &mut Post, embed: &Value, blob: &impl Fn(&str) -> String) {
    let picture = |alt: &Value, file: &Value| {
        let url = blob(file["ref"]["$link"].as_str()?);
        Some(Picture { alt: alt.as_str().unwrap_or_default().trim().to_owned(), url })
    };
    match embed["$type"].as_str().unwrap_or_default() {
        "app.bsky.embed.images" => {
            let images = embed["images"].as_array().into_iter().flatten();
            post.images = images.filter_map(|image| picture(&image["alt"], &image["image"])).collect();
        }
        "app.bsky.embed.video" => post.video = picture(&embed["alt"], &embed["video"]),
        "app.bsky.embed.external" => post.card = card(&embed["external"]),
        "app.bsky.embed.record" => post.quote = quoted(&embed["record"]),
        "app.bsky.embed.recordWithMedia" => {
            post.quote = quoted(&embed["record"]["record"]);
            self::embed(post, &embed["media"], blob);
        }
        _ => {}
    }
}

/// Of what it quotes a record only knows the address.
fn quoted(record: &Value) -> Option<Quoted> {
    let uri = RecordUri::parse(record["uri"].as_str()?)?;
    Some(Quoted { reference: reference(None, &uri), uri: uri.to_string(), text: None, unavailable: None })
}
