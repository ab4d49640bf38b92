//! `profile`: who somebody is.

use diptych::{Cx, Markdown, Present, Stop, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bluesky, naming, reader, shown};
use crate::identity::{Handle, Identity};
use crate::network::{Caller, NetworkError, Request};
use crate::posts::{self, Post, draw_post, draw_posts, from_feed};

/// How many of the latest posts are shown.
const LATEST: u64 = 5;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// Whose: a handle (alice.bsky.social), a DID or a link to the profile.
    account: String,
}

/// Somebody on the network.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    did: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bio: Option<String>,
    followers: u64,
    following: u64,
    posts: u64,
    link: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    avatar: Option<String>,
    /// The post that they keep on top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<Post>,
    latest: Vec<Post>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct View {
    handle: String,
    display_name: String,
    description: String,
    avatar: Option<String>,
    followers_count: u64,
    follows_count: u64,
    posts_count: u64,
}

pub(super) async fn profile(cx: Cx<Bluesky>, arguments: Arguments) -> Result<Profile, Stop> {
    let identity = naming::account(&cx, "account", &arguments.account).await?;
    let reader = reader(&cx, None).await?;
    let (view, feed) = tokio::join!(view(reader.as_ref(), &identity), latest(reader.as_ref(), &identity));
    let view = view.map_err(|error| no_profile(error, &identity))?;
    // Somebody who blocks the reader still has a profile.
    let mut feed = feed.unwrap_or_default();
    posts::note(&shown(&cx), &mut feed);
    let (mut pinned, latest): (Vec<Post>, Vec<Post>) = feed.into_iter().partition(|post| post.pinned);
    let handle = Handle::parse(&view.handle).map(|handle| handle.to_string());
    let some = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Ok(Profile {
        link: format!("https://bsky.app/profile/{}", handle.as_deref().unwrap_or(identity.did.as_str())),
        handle,
        did: identity.did.to_string(),
        name: some(view.display_name),
        bio: some(view.description),
        followers: view.followers_count,
        following: view.follows_count,
        posts: view.posts_count,
        avatar: view.avatar,
        pinned: pinned.pop(),
        latest,
    })
}

async fn view(reader: &dyn Caller, identity: &Identity) -> Result<View, NetworkError> {
    let actor = vec![("actor", identity.did.to_string())];
    reader.read(Request::get("app.bsky.actor.getProfile", actor)).await
}

async fn latest(reader: &dyn Caller, identity: &Identity) -> Result<Vec<Post>, NetworkError> {
    let query = vec![
        ("actor", identity.did.to_string()),
        ("filter", "posts_and_author_threads".to_owned()),
        ("includePins", "true".to_owned()),
        ("limit", LATEST.to_string()),
    ];
    let answer: Value = reader.read(Request::get("app.bsky.feed.getAuthorFeed", query)).await?;
    Ok(answer["feed"].as_array().into_iter().flatten().filter_map(from_feed).collect())
}

fn no_profile(error: NetworkError, identity: &Identity) -> ToolError {
    match error.refusal() {
        Some("InvalidRequest" | "AccountTakedown" | "AccountDeactivated") => {
            ToolError::not_found(format!("{} has no profile that can be shown.", identity.name()))
                .hint("The account may be new, deactivated or taken down.")
        }
        _ => error.into(),
    }
}

impl Present for Profile {
    const KIND: &'static str = "profile:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        let name = self.handle.as_ref().unwrap_or(&self.did);
        markdown.heading_with(1, |line| {
            line.literal("Profile · @").text(name);
        });
        if self.name.is_some() || self.bio.is_some() {
            markdown.quote_with(|quote| {
                quote.text(self.name.as_deref().unwrap_or_default());
                quote.text(self.bio.as_deref().unwrap_or_default());
            });
        }
        let counts = |markdown: &mut Markdown| {
            let counts =
                [("followers", self.followers), ("following", self.following), ("posts", self.posts)];
            markdown.line(|line| {
                for (position, (word, count)) in counts.into_iter().enumerate() {
                    line.literal(if position == 0 { "" } else { "  " })
                        .text(count)
                        .literal(" ")
                        .literal(word);
                }
            });
        };
        counts(markdown);
        markdown.paragraph(|line| {
            line.text(&self.did);
        });
        markdown.line(|line| {
            line.text(&self.link);
        });
        if let Some(avatar) = &self.avatar {
            markdown.line(|line| {
                line.image("avatar", avatar);
            });
        }
        if let Some(pinned) = &self.pinned {
            markdown.heading(2, "Pinned");
            draw_post(markdown, pinned);
        }
        if !self.latest.is_empty() {
            markdown.heading(2, "Latest");
            draw_posts(markdown, &self.latest);
        }
    }

    fn records(&self) -> usize {
        self.latest.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.latest.truncate(keep);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::posts::hostile::{hostile, lines};

    proptest! {
        /// Whatever somebody calls themselves, says of themselves or uses as a picture, what stands outside the quote is
        /// ours.
        #[test]
        fn a_bio_stays_in_its_quote(words in proptest::collection::vec(hostile(), 3), handle in any::<bool>()) {
            let profile = Profile {
                handle: handle.then(|| "alice.test".to_owned()),
                did: "did:plc:abcdefghijklmnopqrstuvwx".to_owned(),
                name: Some(words[0].clone()),
                bio: Some(words[1].clone()),
                followers: 1,
                following: 2,
                posts: 3,
                link: "https://bsky.app/profile/alice.test".to_owned(),
                avatar: Some(format!("https://cdn.example.com/{}", words[2])),
                pinned: None,
                latest: Vec::new(),
            };
            let mut markdown = Markdown::new();
            profile.markdown(&mut markdown);
            let drawn = markdown.finish();
            let mut pictures = 0;
            for line in lines(&drawn) {
                let ours = line.is_empty()
                    || line.starts_with('>')
                    || line == format!("# Profile · @{}", profile.handle.as_ref().unwrap_or(&profile.did))
                    || ["1 followers  2 following  3 posts", &profile.did, &profile.link].contains(&line);
                let is_picture = line.starts_with("![avatar](https://cdn.example.com/")
                    && line.ends_with(')')
                    && line.matches("](").count() == 1;
                pictures += usize::from(is_picture);
                prop_assert!(ours || is_picture, "{line:?} in {drawn}");
            }
            prop_assert!(pictures <= 1 && !drawn.contains("<!-- kind:"), "{drawn}");
            let json = serde_json::to_string(&profile).unwrap();
            let read: Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read["bio"].as_str().unwrap(), words[1].as_str());
        }
    }
}
