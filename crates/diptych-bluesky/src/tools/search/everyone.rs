//! Searching the network.
//!
//! The network's search knows words; what else a query asks for is passed on where the search understands it, and judged here
//! in any case, so that an operator means the same everywhere.

use diptych::{Cx, Stop, ToolError};
use foldhash::HashMapExt as _;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::own::{name_parents, names, resolve};
use super::{EVERYONE, PostSearchResults, Quality, foreign_cursor};
use crate::history::{Clause, Media, People, Query, Term};
use crate::identity::{Did, Handle};
use crate::network::{NetworkError, Request};
use crate::posts::{PostView, did_of, from_view};
use crate::reference::AccountName;
use crate::tools::{Bluesky, reader};

/// How many pages of the network's answer are looked at to fill one of ours.
const MOST_PAGES: usize = 4;
const PAGE: usize = 50;

/// A page of the network's answer and how many of its posts have been used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Place {
    page: Option<String>,
    used: usize,
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let (used, page) = text.strip_prefix("n-")?.split_once('-')?;
        Some(Place { used: used.parse().ok()?, page: Some(page.to_owned()).filter(|page| !page.is_empty()) })
    }

    fn written(&self) -> String {
        format!("n-{}-{}", self.used, self.page.as_deref().unwrap_or_default())
    }
}

pub(super) async fn search(
    cx: &Cx<Bluesky>,
    query: &Query,
    limit: usize,
    cursor: Option<&str>,
) -> Result<PostSearchResults, Stop> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        cursor: Option<String>,
        hits_total: Option<usize>,
        posts: Vec<Value>,
    }
    let mut place =
        cursor.map_or(Ok(Place::default()), |text| Place::parse(text).ok_or_else(foreign_cursor))?;
    let caller = reader(cx, None).await?;
    let mut results = PostSearchResults {
        account: EVERYONE.to_owned(),
        query: query.to_string(),
        posts: Vec::new(),
        total: 0,
        quality: Quality::Everything,
        corrections: Vec::new(),
        as_of: None,
        notices: Vec::new(),
        cursor: None,
        places: vec![None],
    };
    // Whom a post answers is written by DID.
    let mut people = People::new();
    for name in query.people() {
        match resolve(cx.state(), name, true).await {
            Ok(did) => {
                people.insert(name.to_owned(), did);
            }
            Err(_) if name.starts_with("did:") => {}
            Err(error) => results.notices.push(format!("Who {name} is could not be found out: {error}")),
        }
    }
    let (mut total, mut judged) = (None, false);
    'pages: for _ in 0..MOST_PAGES {
        let page = caller.read::<Page>(Request::get("app.bsky.feed.searchPosts", parameters(query, &place)));
        let page = page.await.map_err(|error| match error {
            NetworkError::Refused { status: 401 | 403, .. } => {
                ToolError::authentication("The network's search is only for those who are logged in.")
                    .hint("Call login first, or search the history of one account.")
            }
            other => other.into(),
        })?;
        total = total.or(page.hits_total);
        for (index, value) in page.posts.iter().enumerate().skip(place.used) {
            if !query.terms.iter().all(|term| holds(term, value, &people)) {
                judged = true;
                continue;
            }
            let Some(post) = PostView::deserialize(value).ok().as_ref().and_then(from_view) else { continue };
            if results.posts.len() == limit {
                place.used = index;
                *last(&mut results.places) = Some(place.written());
                break 'pages;
            }
            *last(&mut results.places) = Some(Place { used: index, ..place.clone() }.written());
            results.posts.push(post);
            results.places.push(None);
        }
        match page.cursor {
            Some(next) if !page.posts.is_empty() => place = Place { page: Some(next), used: 0 },
            _ => break,
        }
        *last(&mut results.places) = Some(place.written());
    }
    let parents =
        results.posts.iter().filter_map(|post| post.parent.as_ref().map(|parent| parent.did.to_string()));
    let parents: Vec<String> = parents.collect();
    name_parents(&mut results.posts, &names(&*caller, parents).await);
    // What the network counts is without what was judged here.
    let known = results.posts.len();
    results.total = total.filter(|_| !judged).map_or(known, |total| total.max(known));
    Ok(results)
}

/// The place after the last post so far.
fn last(places: &mut Vec<Option<String>>) -> &mut Option<String> {
    if places.is_empty() {
        places.push(None);
    }
    let at = places.len() - 1;
    &mut places[at]
}

/// What of a query the network's search understands.
fn parameters(query: &Query, place: &Place) -> Vec<(&'static str, String)> {
    let mut words = query.plain_text();
    let mut parameters = Vec::new();
    for term in query.terms.iter().filter(|term| !term.negated) {
        let time = |millis: i64| jiff::Timestamp::from_millisecond(millis).map(|time| time.to_string());
        match &term.clause {
            Clause::From(name) if AccountName::parse(name).is_some() => {
                parameters.push(("author", name.clone()));
            }
            Clause::After(moment) => parameters.extend(time(moment.millis).ok().map(|time| ("since", time))),
            Clause::Before(moment) => parameters.extend(time(moment.millis).ok().map(|time| ("until", time))),
            _ => {}
        }
    }
    // There is a parameter for mentions too, but who answers someone need not mention them.
    if words.is_empty() {
        "*".clone_into(&mut words);
    }
    parameters.push(("q", words));
    parameters.push(("limit", PAGE.to_string()));
    parameters.extend(place.page.clone().map(|page| ("cursor", page)));
    parameters
}

/// Whether a post of the network's answer fulfils a term.
fn holds(term: &Term, post: &Value, people: &People) -> bool {
    let record = &post["record"];
    let text = record["text"].as_str().unwrap_or_default();
    let created = || record["createdAt"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let fulfilled = match &term.clause {
        // The network found it by these; how it spells and stems is its own affair.
        Clause::Word(_) if !term.negated => true,
        Clause::Word(word) => says(word, text),
        Clause::Phrase(phrase) => says(phrase, text),
        Clause::Expression(expression) => expression.is_match(text),
        Clause::From(name) => is_account(&post["author"], name),
        Clause::To(name) => is_to(post, people.get(name).unwrap_or(name)),
        Clause::Has(media) => has(record, *media),
        Clause::Before(moment) => created().is_some_and(|time| time.as_millisecond() < moment.millis),
        Clause::After(moment) => created().is_some_and(|time| time.as_millisecond() >= moment.millis),
        Clause::Likes(range) => range.holds(post["likeCount"].as_u64().unwrap_or(0)),
    };
    fulfilled != term.negated
}

fn says(words: &str, text: &str) -> bool {
    let spaced: Vec<String> = words.split_whitespace().map(regex::escape).collect();
    let expression = format!(r"(?i)(?:^|[^\p{{L}}\p{{N}}]){}(?:$|[^\p{{L}}\p{{N}}])", spaced.join(r"\s+"));
    Regex::new(&expression).is_ok_and(|expression| expression.is_match(text))
}

fn is_account(author: &Value, name: &str) -> bool {
    author["did"].as_str() == Some(name)
        || Handle::parse(name).is_some_and(|name| {
            author["handle"].as_str().and_then(Handle::parse).is_some_and(|handle| handle == name)
        })
}

/// Whether it answers or mentions an account; of one whose DID is unknown, whether the text has its handle.
fn is_to(post: &Value, name: &str) -> bool {
    let record = &post["record"];
    if let Some(did) = Did::parse(name) {
        let parent = record["reply"]["parent"]["uri"].as_str().and_then(did_of);
        let facets = record["facets"].as_array().into_iter().flatten();
        let mut features = facets.flat_map(|facet| facet["features"].as_array().into_iter().flatten());
        return parent.as_ref() == Some(&did)
            || features.any(|feature| feature["did"].as_str() == Some(did.as_str()));
    }
    says(&format!("@{name}"), record["text"].as_str().unwrap_or_default())
}

fn has(record: &Value, media: Media) -> bool {
    let embeds = [&record["embed"], &record["embed"]["media"]];
    let is = |wanted: &[&str]| {
        embeds.iter().any(|embed| embed["$type"].as_str().is_some_and(|kind| wanted.contains(&kind)))
    };
    match media {
        Media::Image => is(&["app.bsky.embed.images"]),
        Media::Video => is(&["app.bsky.embed.video"]),
        Media::Quote => is(&["app.bsky.embed.record", "app.bsky.embed.recordWithMedia"]),
        Media::Link => {
            let facets = record["facets"].as_array().into_iter().flatten();
            let mut features = facets.flat_map(|facet| facet["features"].as_array().into_iter().flatten());
            is(&["app.bsky.embed.external"]) || features.any(|feature| feature["uri"].is_string())
        }
    }
}
