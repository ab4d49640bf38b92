//! `thread`: the conversation around a post.

use diptych::{Cx, Markdown, Present, Stop, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bluesky, given, naming, reader, shown};
use crate::network::{Caller, NetworkError, Request};
use crate::posts::{self, Post, PostView, Unavailable, draw_posts, from_view};
use crate::reference::{RecordUri, ShownPost};

/// How far up and down a thread is read.
const FAR: u64 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// The post: a link, an at:// address, @handle/key, or a short form that an answer showed.
    post: String,
    /// Whose eyes to read with, of those logged in; by default the default account's.
    account: Option<String>,
}

/// A conversation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Thread {
    /// The post that was asked for.
    post: String,
    /// Every post of the conversation, each reply below what it replies to.
    posts: Vec<Post>,
}

pub(super) async fn thread(cx: Cx<Bluesky>, arguments: Arguments) -> Result<Thread, Stop> {
    let reader = reader(&cx, given(&arguments.account)).await?;
    let uri = naming::post(&cx, reader.as_ref(), "post", &arguments.post).await?;
    let mut posts = read(reader.as_ref(), &uri).await?;
    posts::note(&shown(&cx), &mut posts);
    let address = uri.to_string();
    let anchor = posts.iter().find(|post| post.uri == address).map(|post| post.reference.clone());
    Ok(Thread { post: anchor.unwrap_or(address), posts })
}

/// The posts of a thread, for short forms within it.
pub(super) async fn posts_of_thread(
    reader: &dyn Caller,
    uri: &RecordUri,
) -> Result<Vec<ShownPost>, ToolError> {
    let posts = read(reader, uri).await?;
    Ok(posts
        .iter()
        .filter_map(|post| Some(ShownPost { handle: post.author.clone(), uri: RecordUri::parse(&post.uri)? }))
        .collect())
}

async fn read(reader: &dyn Caller, uri: &RecordUri) -> Result<Vec<Post>, ToolError> {
    let query = vec![("uri", uri.to_string()), ("depth", FAR.to_string()), ("parentHeight", FAR.to_string())];
    let answer: Result<Value, _> = reader.read(Request::get("app.bsky.feed.getPostThread", query)).await;
    let answer = answer.map_err(|error| match error {
        NetworkError::Refused { ref name, .. } if name == "NotFound" || name == "InvalidRequest" => {
            not_found()
        }
        other => other.into(),
    })?;
    let posts = flatten(&answer["thread"]);
    match posts.as_slice() {
        [] => Err(not_found()),
        [only] if only.unavailable == Some(Unavailable::Missing) => Err(not_found()),
        _ => Ok(posts),
    }
}

fn not_found() -> ToolError {
    ToolError::not_found("There is no such post: it was deleted, or never was.")
        .hint("Check the link. If the post is new, it may take a moment to appear.")
}

/// A thread as a list: what is replied to from the top down, the post, then the replies, each branch to its end.
pub(crate) fn flatten(thread: &Value) -> Vec<Post> {
    let mut above = Vec::new();
    let mut parent = &thread["parent"];
    while let Some(post) = node(parent) {
        above.push(post);
        parent = &parent["parent"];
    }
    let mut posts: Vec<Post> = Vec::new();
    for (level, mut post) in above.into_iter().rev().enumerate() {
        post.level = level;
        posts.push(post);
    }
    let level = posts.len();
    descend(thread, level, &mut posts);
    posts
}

fn descend(node_value: &Value, level: usize, posts: &mut Vec<Post>) {
    let Some(mut post) = node(node_value) else { return };
    post.level = level;
    let own = RecordUri::parse(&post.uri);
    posts.push(post);
    let mut replies: Vec<(Option<String>, &Value)> = node_value["replies"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|reply| (node(reply).and_then(|post| post.created_at), reply))
        .collect();
    // In the order in which they were written; what has no time, because it cannot be seen, comes last.
    replies.sort_by_key(|(time, reply)| {
        (time.is_none(), time.clone(), reply["uri"].as_str().map(str::to_owned))
    });
    for (_, reply) in replies {
        let place = posts.len();
        descend(reply, level + 1, posts);
        // Of a post that cannot be seen only the thread knows what it replies to.
        if let Some(post) = posts.get_mut(place).filter(|post| post.unavailable.is_some()) {
            post.parent = own.clone();
        }
    }
}

/// One post of a thread, or what stands in its place.
fn node(node: &Value) -> Option<Post> {
    let gone = |why| Some(Post::unavailable(&RecordUri::parse(node["uri"].as_str()?)?, why));
    match node["$type"].as_str().unwrap_or_default() {
        "app.bsky.feed.defs#notFoundPost" => gone(Unavailable::Missing),
        "app.bsky.feed.defs#blockedPost" => gone(Unavailable::Blocked),
        _ => from_view(&PostView::deserialize(&node["post"]).ok()?),
    }
}

impl Present for Thread {
    const KIND: &'static str = "thread:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            let word = if self.posts.len() == 1 { " post" } else { " posts" };
            line.literal("Thread · ").text(self.posts.len()).literal(word);
        });
        draw_posts(markdown, &self.posts);
    }

    fn records(&self) -> usize {
        self.posts.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.posts.truncate(keep);
        None
    }
}
