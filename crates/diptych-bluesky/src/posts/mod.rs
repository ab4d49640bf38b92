//! Posts as answers show them: slim and typed, and drawn as quotes.
//!
//! [`Post`] is the one shape of a post in all answers. It is made from what the network serves (`view`) or from a record
//! of a repository (`record`), and drawn by `draw`.

mod draw;
#[cfg(test)]
pub(crate) mod hostile;
mod record;
mod view;

use schemars::JsonSchema;
use serde::Serialize;

use crate::identity::{Did, Handle};
use crate::reference::{RecordUri, Shown, ShownPost};
use crate::text::Link;

pub(crate) use draw::{draw_post, draw_posts};
pub(crate) use view::{PostView, account_name, from_feed, from_view};

/// A post.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Post {
    /// How to name it: @handle/key.
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    /// Its address on the network.
    pub(crate) uri: String,
    /// The handle of its author, or the DID where there is none.
    pub(crate) author: String,
    /// The name that the author goes by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The links and mentions in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<Link>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Picture>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) video: Option<Picture>,
    /// A link with a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) card: Option<Card>,
    /// The post that it quotes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quote: Option<Quoted>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) likes: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) reposts: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) replies: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) quotes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<String>,
    /// The post that it replies to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reply_to: Option<String>,
    /// How deep it stands in the thread.
    #[serde(skip_serializing_if = "is_none_deep")]
    pub(crate) level: usize,
    /// Who reposted it into this feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reposted_by: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) pinned: bool,
    /// What moderation says about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) labels: Vec<String>,
    /// Why it cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unavailable: Option<Unavailable>,
    /// The text with its links as Markdown.
    #[serde(skip)]
    pub(crate) drawn: String,
    /// The short form of the post that it replies to, where that stands in the same answer.
    #[serde(skip)]
    pub(crate) parent_form: Option<String>,
    /// The address of the post that it replies to.
    #[serde(skip)]
    pub(crate) parent: Option<RecordUri>,
}

/// Why a post cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) enum Unavailable {
    /// Deleted, or never there.
    Missing,
    /// One of the two has blocked the other.
    Blocked,
    /// Taken out of the quote by its author.
    Detached,
}

/// An image, or the preview of a video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Picture {
    /// What it shows, in its author's words.
    pub(crate) alt: String,
    pub(crate) url: String,
}

/// A link with a preview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Card {
    pub(crate) url: String,
    pub(crate) title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
}

/// A post, or another record, inside a post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Quoted {
    #[serde(rename = "ref")]
    pub(crate) reference: String,
    pub(crate) uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unavailable: Option<Unavailable>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_none_deep(level: &usize) -> bool {
    *level == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// How a post is written in full.
pub(crate) fn reference(handle: Option<&Handle>, uri: &RecordUri) -> String {
    format!("@{}/{}", handle.map_or(uri.did.as_str(), Handle::as_str), uri.key)
}

impl Post {
    /// A post of which only the address is known, because it cannot be shown.
    pub(crate) fn unavailable(uri: &RecordUri, why: Unavailable) -> Self {
        Post {
            reference: reference(None, uri),
            uri: uri.to_string(),
            author: uri.did.to_string(),
            unavailable: Some(why),
            ..Post::default()
        }
    }

    /// What the short forms need to know.
    fn shown(&self) -> Option<ShownPost> {
        Some(ShownPost { handle: self.author.clone(), uri: RecordUri::parse(&self.uri)? })
    }
}

/// Takes note of the posts of an answer, and gives each reply the form in which its parent is written: in short where
/// the parent stands in the same answer, else in full.
pub(crate) fn note(shown: &Shown, posts: &mut [Post]) {
    let noted: Vec<ShownPost> = posts.iter().filter_map(Post::shown).collect();
    let parents: Vec<RecordUri> = posts.iter().filter_map(|post| post.parent.clone()).collect();
    let forms = shown.note(&noted, |uri| parents.contains(uri));
    for post in posts.iter_mut() {
        let Some(parent) = &post.parent else { continue };
        let place = noted.iter().position(|other| other.uri == *parent);
        if let Some(place) = place {
            post.reply_to = Some(noted[place].reference());
            post.parent_form = forms[place].clone();
        } else if post.reply_to.is_none() {
            post.reply_to = Some(reference(None, parent));
        }
    }
}

/// The DID of an author, however the network writes it.
pub(crate) fn did_of(uri: &str) -> Option<Did> {
    RecordUri::parse(uri).map(|uri| uri.did)
}
