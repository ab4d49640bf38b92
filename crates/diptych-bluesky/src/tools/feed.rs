//! `feed`: the timeline, somebody's posts, a list, a custom feed.

use diptych::{Choice, Cx, Field, Markdown, NeedsInput, Present, Stop, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::page::{Cursor, MOST};
use super::{Bluesky, given, naming, reader, shown, writer};
use crate::network::{Caller, NetworkError, Request};
use crate::posts::{self, Post, account_name, draw_posts, from_feed};
use crate::reference::{AccountName, GENERATOR, LIST, POST, RecordName, RecordUri};

/// How many posts are read when nobody says how many.
const USUAL: u64 = 25;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// What to read: nothing for the timeline; a handle for somebody's posts; the link, address or name of a list or of a
    /// custom feed.
    feed: Option<String>,
    /// Whose eyes to read with, of those logged in; by default the default account's.
    account: Option<String>,
    /// How many posts, 1 to 100; 25 by default.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u64>,
    /// Where to go on: the cursor of an earlier answer.
    cursor: Option<String>,
}

/// Posts, newest first or as the feed has them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Feed {
    /// What was read: timeline, author, list or custom.
    source: Source,
    /// Whose timeline or posts, or the list or feed, as @handle/key.
    of: String,
    /// The name of the list or the feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    posts: Vec<Post>,
    /// For the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip)]
    from: Cursor,
}

/// The kinds of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Source {
    Timeline,
    Author,
    List,
    Custom,
}

/// Where the posts come from.
struct Chosen {
    source: Source,
    of: String,
    name: Option<String>,
    method: &'static str,
    parameter: Option<(&'static str, String)>,
}

pub(super) async fn feed(cx: Cx<Bluesky>, arguments: Arguments) -> Result<Feed, Stop> {
    let from = Cursor::parse(given(&arguments.cursor))?;
    let account = given(&arguments.account);
    let (caller, chosen): (Box<dyn Caller>, Chosen) = match given(&arguments.feed) {
        None => timeline(&cx, account).await?,
        Some(word) if ["timeline", "following", "home"].contains(&word.to_lowercase().as_str()) => {
            timeline(&cx, account).await?
        }
        Some(text) => {
            let reader = reader(&cx, account).await?;
            let chosen = choose(&cx, reader.as_ref(), text).await?;
            (reader, chosen)
        }
    };
    let limit = arguments.limit.unwrap_or(USUAL).clamp(1, MOST);
    let mut query: Vec<(&'static str, String)> = chosen.parameter.into_iter().collect();
    // What was shown of this page comes again.
    query.push(("limit", (limit + from.skip as u64).min(MOST).to_string()));
    if !from.page.is_empty() {
        query.push(("cursor", from.page.clone()));
    }
    let answer: Result<Value, _> = caller.read(Request::get(chosen.method, query)).await;
    let answer = answer.map_err(|error| no_feed(error, chosen.source, &chosen.of))?;
    let items = answer["feed"].as_array().into_iter().flatten();
    let mut posts: Vec<Post> = items.filter_map(from_feed).skip(from.skip).collect();
    posts::note(&shown(&cx), &mut posts);
    Ok(Feed {
        source: chosen.source,
        of: chosen.of,
        name: chosen.name,
        posts,
        cursor: Cursor::next(answer["cursor"].as_str()),
        from,
    })
}

async fn timeline(cx: &Cx<Bluesky>, account: Option<&str>) -> Result<(Box<dyn Caller>, Chosen), Stop> {
    let session = writer(cx, account).await?;
    let of = format!("@{}", session.account().handle);
    let chosen = Chosen {
        source: Source::Timeline,
        of,
        name: None,
        method: "app.bsky.feed.getTimeline",
        parameter: None,
    };
    Ok((Box::new(session), chosen))
}

fn no_feed(error: NetworkError, source: Source, of: &str) -> ToolError {
    match (error.refusal(), source) {
        (Some("UnknownFeed" | "InvalidRequest" | "UnknownList"), Source::Custom | Source::List) => {
            ToolError::not_found(format!("There is no feed or list {of}."))
                .hint("Check the link or the name.")
        }
        (Some("InvalidRequest" | "AccountTakedown" | "AccountDeactivated"), Source::Author) => {
            ToolError::not_found(format!("{of} has no posts that can be shown."))
        }
        (Some("BlockedActor" | "BlockedByActor"), _) => {
            ToolError::client(format!("{of} cannot be read: one of the two accounts has blocked the other."))
        }
        _ => error.into(),
    }
}

/// What a text names: an account, a list or a feed by address, or a feed by name.
async fn choose(cx: &Cx<Bluesky>, reader: &dyn Caller, text: &str) -> Result<Chosen, Stop> {
    if let Some(name) = RecordName::parse(text) {
        let by_key = name.collection == POST && !text.contains("://");
        let mut uri = naming::record(cx, &name).await?;
        if by_key {
            // `@handle/key` does not say whether it is a feed or a list.
            uri.collection = GENERATOR.to_owned();
            if generator(reader, &uri).await?.is_none() {
                uri.collection = LIST.to_owned();
            }
        }
        return described(reader, uri, &name.account).await;
    }
    if let Some(name) = AccountName::parse(text) {
        let identity = naming::identity(cx, &name).await?;
        return Ok(Chosen {
            source: Source::Author,
            of: format!("@{}", identity.name()),
            name: None,
            method: "app.bsky.feed.getAuthorFeed",
            parameter: Some(("actor", identity.did.to_string())),
        });
    }
    by_name(cx, reader, text).await
}

async fn described(reader: &dyn Caller, uri: RecordUri, account: &AccountName) -> Result<Chosen, Stop> {
    let of = format!("@{account}/{}", uri.key);
    let missing = |source| no_feed(NetworkError::refused(400, "InvalidRequest"), source, &of);
    match uri.collection.as_str() {
        GENERATOR => {
            let found = generator(reader, &uri).await?.ok_or_else(|| missing(Source::Custom))?;
            Ok(found.chosen())
        }
        LIST => {
            let query = vec![("list", uri.to_string()), ("limit", "1".to_owned())];
            let answer: Result<Value, _> = reader.read(Request::get("app.bsky.graph.getList", query)).await;
            let answer = answer.map_err(|error| no_feed(error, Source::List, &of))?;
            let creator = account_name(&answer["list"]["creator"]).unwrap_or_else(|| uri.did.to_string());
            Ok(Chosen {
                source: Source::List,
                of: format!("@{creator}/{}", uri.key),
                name: answer["list"]["name"].as_str().map(str::to_owned),
                method: "app.bsky.feed.getListFeed",
                parameter: Some(("list", uri.to_string())),
            })
        }
        _ => Err(super::invalid(
            "feed",
            "must name an account, a list or a custom feed; for a post, call thread",
        )
        .into()),
    }
}

/// A custom feed by its address, or `None` where there is none.
async fn generator(reader: &dyn Caller, uri: &RecordUri) -> Result<Option<Candidate>, Stop> {
    let query = vec![("feeds", uri.to_string())];
    let answer: Value = reader.read(Request::get("app.bsky.feed.getFeedGenerators", query)).await?;
    Ok(candidates(&answer["feeds"]).pop())
}

/// A custom feed that somebody knows by its name.
struct Candidate {
    uri: RecordUri,
    name: String,
    creator: String,
}

impl Candidate {
    fn chosen(self) -> Chosen {
        Chosen {
            source: Source::Custom,
            of: format!("@{}/{}", self.creator, self.uri.key),
            name: Some(self.name),
            method: "app.bsky.feed.getFeed",
            parameter: Some(("feed", self.uri.to_string())),
        }
    }
}

/// Finds a custom feed by its name: the exact one if there is one, else somebody has to choose.
async fn by_name(cx: &Cx<Bluesky>, reader: &dyn Caller, text: &str) -> Result<Chosen, Stop> {
    let query = vec![("query", text.to_owned()), ("limit", "25".to_owned())];
    let popular: Value =
        reader.read(Request::get("app.bsky.unspecced.getPopularFeedGenerators", query)).await?;
    let mut found = candidates(&popular["feeds"]);
    // One's own feeds are found even if nobody else knows them.
    if let Ok(account) = cx.state().accounts.find(None).await {
        let query = vec![("actor", account.did.to_string())];
        if let Ok(own) = reader.read::<Value>(Request::get("app.bsky.feed.getActorFeeds", query)).await {
            for candidate in candidates(&own["feeds"]) {
                if matches(&candidate, text) && found.iter().all(|other| other.uri != candidate.uri) {
                    found.push(candidate);
                }
            }
        }
    }
    let exact: Vec<usize> = found
        .iter()
        .enumerate()
        .filter(|(_, candidate)| candidate.name.trim().eq_ignore_ascii_case(text))
        .map(|(place, _)| place)
        .collect();
    if let [place] = exact.as_slice() {
        return Ok(found.swap_remove(*place).chosen());
    }
    if found.is_empty() {
        return Err(ToolError::not_found("There is no custom feed of that name.")
            .hint("Give its link, or leave feed out for the timeline.")
            .into());
    }
    let choices = found.iter().take(10).map(|candidate| {
        Choice::new(candidate.uri.to_string()).label(format!("{} by @{}", candidate.name, candidate.creator))
    });
    Err(NeedsInput::new("Which Feed?", "Several custom feeds could be meant. Which one?")
        .reason("A feed must be named clearly")
        .field(Field::choice("feed", choices).title("Feed"))
        .into())
}

fn matches(candidate: &Candidate, text: &str) -> bool {
    candidate.name.to_lowercase().contains(&text.to_lowercase())
}

fn candidates(feeds: &Value) -> Vec<Candidate> {
    let read = |feed: &Value| {
        Some(Candidate {
            uri: RecordUri::parse(feed["uri"].as_str()?)?,
            name: feed["displayName"].as_str()?.to_owned(),
            creator: account_name(&feed["creator"])?,
        })
    };
    feeds.as_array().into_iter().flatten().filter_map(read).collect()
}

impl Present for Feed {
    const KIND: &'static str = "feed:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            line.literal("Feed · ").literal(match self.source {
                Source::Timeline => "timeline of ",
                Source::Author => "posts of ",
                Source::List => "list ",
                Source::Custom => "custom feed ",
            });
            line.text(&self.of);
        });
        if let Some(name) = &self.name {
            markdown.tight().quote(name);
        }
        draw_posts(markdown, &self.posts);
        markdown.paragraph(|line| match &self.cursor {
            Some(cursor) => {
                line.literal("Cursor: ").code(cursor);
            }
            None => {
                line.literal("Cursor: none, this is the end");
            }
        });
    }

    fn records(&self) -> usize {
        self.posts.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.posts.truncate(keep);
        let cursor = self.from.rest(keep);
        self.cursor = Some(cursor.clone());
        Some(cursor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::posts::hostile::{hostile, lines};

    proptest! {
        /// Whatever somebody calls their feed, and whatever a service calls its next page.
        #[test]
        fn the_name_of_a_feed_stays_in_its_quote(name in hostile(), page in hostile()) {
            let feed = Feed {
                source: Source::Custom,
                of: "@alice.test/sampler".to_owned(),
                name: Some(name.clone()),
                posts: Vec::new(),
                cursor: Cursor::next(Some(&page)),
                from: Cursor::default(),
            };
            let mut markdown = Markdown::new();
            feed.markdown(&mut markdown);
            let drawn = markdown.finish();
            let mut cursors = 0;
            for line in lines(&drawn) {
                let ours = line.is_empty()
                    || line.starts_with('>')
                    || line == "# Feed · custom feed @alice.test/sampler";
                let is_cursor = line == "Cursor: none, this is the end"
                    || (line.starts_with("Cursor: `") && line.ends_with('`') && line.contains("0."));
                cursors += usize::from(is_cursor);
                prop_assert!(ours || is_cursor, "{line:?} in {drawn}");
            }
            prop_assert!(cursors == 1 && !drawn.contains("<!-- kind:"), "{drawn}");
            let json = serde_json::to_string(&feed).unwrap();
            let read: Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read["name"].as_str().unwrap(), name.as_str());
        }
    }
}
