//! Searching the history of one account.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diptych::{Cx, ToolError};
use foldhash::{HashMap, HashMapExt as _};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{Correction, PostSearchResults, Quality, foreign_cursor};
use crate::history::{
    self, Clause, Export, History, Hit, Index, KnownAccount, Origin, People, Query, RepositoryError,
    SigningKey, is_outage,
};
use crate::identity::{Did, Directory, Handle, Identity};
use crate::network::{Anonymous, Caller, NetworkError, Request, Web};
use crate::posts::{Post, PostView, account_name, from_view};
use crate::reference::{AccountName, POST, RecordUri};
use crate::tools::Bluesky;

/// How many posts `app.bsky.feed.getPosts` takes.
const POSTS_A_CALL: usize = 25;
/// How many accounts `app.bsky.actor.getProfiles` takes.
const PROFILES_A_CALL: usize = 25;
/// How many posts are asked for their likes: a search by likes is for the best of them, not for all.
const MOST_JUDGED: usize = 500;
const CALLS_AT_ONCE: usize = 4;
/// How long the answer waits for counts, which it can do without.
const PATIENCE: Duration = Duration::from_secs(6);
/// How many bytes arrive between two words on the progress.
const PROGRESS_STEP: u64 = 128 * 1024;

pub(super) async fn search(
    cx: &Cx<Bluesky>,
    name: &AccountName,
    query: &Query,
    limit: usize,
    cursor: Option<&str>,
) -> Result<PostSearchResults, ToolError> {
    let cursor = cursor.map(|text| Cursor::parse(text, query)).transpose()?;
    let (account, history) = open(cx, name, cursor.as_ref()).await?;
    let index = &history.index;
    let mut notices = Vec::new();
    if let Some(reason) = &history.behind {
        notices.push(format!("Not up to date: {reason} Known as of {}.", seconds(history.checked)));
    }
    let people = people(cx.state(), &account, query, history.behind.is_none(), &mut notices).await;
    let offset = cursor.map_or(0, |cursor| cursor.offset);
    let by_likes = query.likes().next().is_some();
    let (skip, take) = if by_likes { (0, MOST_JUDGED) } else { (offset, limit) };
    let (wanted, who) = (query.clone(), people.clone());
    let searched = std::sync::Arc::clone(index);
    let mut found = cx.blocking(move || searched.search(&wanted, &who, skip, take)).await?;
    if found.gave_up {
        notices.push("The expression took too long: not all posts were looked at.".to_owned());
    }
    let appview = cx.state().public();
    let mut views = Views::new();
    if by_likes {
        if found.total > MOST_JUDGED {
            notices.push(format!(
                "Likes were only looked up for the first {MOST_JUDGED} of the {} posts that fit otherwise.",
                found.total
            ));
        }
        views = view(&appview, &account, index, &found.hits).await.map_err(|error| likes_unknown(&error))?;
        let likes = |hit: &Hit| views.get(index.key_of(*hit)).map_or(0, |view| view.like_count);
        found.hits.retain(|hit| query.likes().all(|(negated, range)| range.holds(likes(hit)) != negated));
        found.total = found.hits.len();
        found.hits = found.hits.into_iter().skip(offset).take(limit).collect();
    } else if history.behind.is_none() {
        match tokio::time::timeout(PATIENCE, view(&appview, &account, index, &found.hits)).await {
            Ok(Ok(seen)) => views = seen,
            _ => notices.push(
                "Likes, reposts and replies are not counted here: the network did not tell in time."
                    .to_owned(),
            ),
        }
    }
    let mut posts = Vec::new();
    for hit in &found.hits {
        posts.push(draw(&account, index, *hit, &mut views)?);
    }
    // Whom a post answers reads better by name.
    let mut others = HashMap::new();
    if history.behind.is_none() {
        let parents = posts.iter().filter_map(|post| Some(post.parent.as_ref()?.did.to_string()));
        others = names(&appview, parents.filter(|did| did != account.did.as_str()).collect()).await;
    }
    others.insert(account.did.to_string(), account.name().to_owned());
    name_parents(&mut posts, &others);
    let places = (0..=posts.len())
        .map(|shown| {
            let next =
                Cursor { rev: index.commit().rev.clone(), offset: offset + shown, question: question(query) };
            (next.offset < found.total).then(|| next.to_string())
        })
        .collect();
    Ok(PostSearchResults {
        account: account.name().to_owned(),
        query: query.to_string(),
        posts,
        total: found.total,
        quality: match found.quality {
            crate::history::Quality::Everything => Quality::Everything,
            crate::history::Quality::Corrected => Quality::Corrected,
            crate::history::Quality::SomeWords => Quality::SomeWords,
        },
        corrections: found.corrections.into_iter().map(|(typed, used)| Correction { typed, used }).collect(),
        as_of: Some(format!("{:.3}", history.checked)),
        notices,
        cursor: None,
        places,
    })
}

/// Whose history is searched, as far as is known.
#[derive(Debug, Clone)]
struct Account {
    did: Did,
    handle: Option<Handle>,
    pds: Option<String>,
}

impl Account {
    fn name(&self) -> &str {
        self.handle.as_ref().map_or(self.did.as_str(), Handle::as_str)
    }

    fn of(identity: &Identity) -> Self {
        Account { did: identity.did.clone(), handle: identity.handle.clone(), pds: identity.pds.clone() }
    }

    fn known(known: &KnownAccount) -> Option<Self> {
        Some(Account {
            did: Did::parse(&known.did)?,
            handle: known.handle.as_deref().and_then(Handle::parse),
            pds: known.pds.clone(),
        })
    }
}

/// The account and its history: current where the network is there, else what is known.
async fn open(
    cx: &Cx<Bluesky>,
    name: &AccountName,
    cursor: Option<&Cursor>,
) -> Result<(Account, History), ToolError> {
    let Bluesky { directory, histories, web, .. } = cx.state();
    let noted = histories.noted(&name.to_string()).as_ref().and_then(Account::known);
    // The next page of an answer is about the same state.
    if let (Some(cursor), Some(account)) = (cursor, &noted)
        && let Some(history) = histories.known(account.did.as_str(), None).await?
        && history.index.commit().rev == cursor.rev
    {
        return Ok((account.clone(), history));
    }
    let asked = async {
        match name {
            AccountName::Did(did) => directory.by_did(did).await,
            AccountName::Handle(handle) => directory.by_handle(handle).await,
        }
    };
    let asked = match noted {
        // Whoever has something to fall back on does not wait for long.
        Some(_) => tokio::time::timeout(history::PATIENCE, asked)
            .await
            .unwrap_or_else(|_| Err(NetworkError::TimedOut.into())),
        None => asked.await,
    };
    let identity = match asked {
        Ok(identity) => identity,
        Err(error) => {
            let error = ToolError::from(error);
            let Some(account) = noted.filter(|_| is_outage(&error)) else { return Err(error) };
            let history = histories.known(account.did.as_str(), Some(error.clone())).await?;
            return history.map(|history| (account, history)).ok_or(error);
        }
    };
    let Some(pds) = identity.pds.clone() else {
        return Err(ToolError::not_found(
            "The account's identity names no service that keeps its repository.",
        ));
    };
    let account = Account::of(&identity);
    histories.note(&KnownAccount {
        did: account.did.to_string(),
        handle: account.handle.as_ref().map(ToString::to_string),
        pds: Some(pds.clone()),
    });
    let remote = Remote { web, directory, identity, pds };
    let message = format!("Fetching everything that {} posted", account.name());
    let last = AtomicU64::new(0);
    let progress = |done: u64, total: Option<u64>| -> BoxFuture<'_, ()> {
        if done != 0 && done < last.load(Ordering::Relaxed) + PROGRESS_STEP && Some(done) != total {
            return Box::pin(async {});
        }
        last.store(done, Ordering::Relaxed);
        Box::pin(cx.progress_with(done, total, Some(message.clone())))
    };
    let history = histories.current(account.did.as_str(), &remote, &progress).await?;
    Ok((account, history))
}

/// The service that keeps an account's repository.
struct Remote<'state> {
    web: &'state Web,
    directory: &'state Directory,
    identity: Identity,
    pds: String,
}

impl Origin for Remote<'_> {
    async fn key(&self, fresh: bool) -> Result<SigningKey, ToolError> {
        let mut written = self.identity.signing_key.clone();
        if fresh {
            self.directory.forget(&self.identity.did);
            written = self.directory.by_did(&self.identity.did).await?.signing_key;
        }
        Ok(SigningKey::parse(&written.ok_or(RepositoryError::NoSigningKey)?)?)
    }

    async fn latest(&self) -> Result<String, ToolError> {
        #[derive(Deserialize)]
        struct Latest {
            rev: String,
        }
        let caller = Anonymous { web: self.web.clone(), service: self.pds.clone() };
        let caller: &dyn Caller = &caller;
        let latest: Result<Latest, NetworkError> =
            caller.read(Request::get("com.atproto.sync.getLatestCommit", self.query(None))).await;
        latest.map(|latest| latest.rev).map_err(unavailable)
    }

    async fn export(&self, since: Option<&str>) -> Result<Export, ToolError> {
        let request = Request::get("com.atproto.sync.getRepo", self.query(since));
        let url = request.url(self.web, &self.pds)?;
        let response = self.web.stream(url.as_str()).await.map_err(unavailable)?;
        let total = response.content_length();
        let pieces = response.bytes_stream().map(|piece| match piece {
            Ok(piece) => Ok(Vec::from(piece)),
            Err(_) => Err(RepositoryError::CutShort.into()),
        });
        Ok(Export { total, pieces: pieces.boxed() })
    }
}

impl Remote<'_> {
    fn query(&self, since: Option<&str>) -> Vec<(&'static str, String)> {
        let mut query = vec![("did", self.identity.did.to_string())];
        query.extend(since.map(|since| ("since", since.to_owned())));
        query
    }
}

/// What servers say about repositories that they do not give out.
fn unavailable(error: NetworkError) -> ToolError {
    match error.refusal() {
        Some("RepoNotFound") => ToolError::not_found("The account's server does not have its repository."),
        Some("RepoTakendown" | "RepoSuspended") => {
            ToolError::not_found("The account's repository has been taken down.")
        }
        Some("RepoDeactivated") => ToolError::not_found("The account has been deactivated."),
        _ => error.into(),
    }
}

/// The accounts that a query names, as far as they can be found out.
async fn people(
    state: &Bluesky,
    account: &Account,
    query: &Query,
    online: bool,
    notices: &mut Vec<String>,
) -> People {
    let mut people = People::new();
    for name in query.people() {
        if people.contains_key(name) || Did::parse(name).is_some() {
            continue;
        }
        // Of one's own account the first part of the handle is enough.
        let is_own = account
            .handle
            .as_ref()
            .is_some_and(|handle| handle.as_str() == name || handle.as_str().split('.').next() == Some(name));
        let did = if is_own { Ok(account.did.to_string()) } else { resolve(state, name, online).await };
        match did {
            Ok(did) => {
                people.insert(name.to_owned(), did);
            }
            Err(error) => notices.push(format!(
                "Who {name} is could not be found out, so only mentions in the text count: {error}"
            )),
        }
    }
    let others = query.terms.iter().filter_map(|term| match &term.clause {
        Clause::From(name) if !term.negated => Some(name),
        _ => None,
    });
    for name in others {
        let did = people.get(name).unwrap_or(name);
        if did != account.did.as_str() {
            notices.push(format!(
                "This is the history of {} alone. To find posts of {name}, search that account, or everyone.",
                account.name()
            ));
        }
    }
    people
}

pub(super) async fn resolve(state: &Bluesky, name: &str, online: bool) -> Result<String, ToolError> {
    let Some(handle) = Handle::parse(name) else {
        return Err(ToolError::client("A handle has its domain, as in name.bsky.social."));
    };
    let noted = state.histories.noted(name).map(|known| known.did);
    if !online {
        return noted.ok_or_else(|| NetworkError::Unreachable.into());
    }
    match state.directory.by_handle(&handle).await {
        Ok(identity) => Ok(identity.did.to_string()),
        Err(error) => noted.ok_or_else(|| error.into()),
    }
}

/// Posts as the network sees them, by key.
type Views = HashMap<String, Viewed>;

struct Viewed {
    like_count: u64,
    view: PostView,
}

/// Asks the network for what a repository does not have: counts, names, previews.
async fn view(
    appview: &Anonymous,
    account: &Account,
    index: &Index,
    hits: &[Hit],
) -> Result<Views, NetworkError> {
    #[derive(Deserialize)]
    struct Posts {
        posts: Vec<Value>,
    }
    let calls: Vec<Request> = hits
        .chunks(POSTS_A_CALL)
        .map(|hits| {
            let uri = |hit: &Hit| RecordUri::new(account.did.clone(), POST, index.key_of(*hit)).to_string();
            Request::get("app.bsky.feed.getPosts", hits.iter().map(|hit| ("uris", uri(hit))).collect())
        })
        .collect();
    let caller: &dyn Caller = appview;
    let answers: Vec<Posts> = futures_util::stream::iter(calls)
        .map(|request| caller.read::<Posts>(request))
        .buffered(CALLS_AT_ONCE)
        .try_collect()
        .await?;
    let mut views = Views::new();
    for post in answers.into_iter().flat_map(|answer| answer.posts) {
        let like_count = post["likeCount"].as_u64().unwrap_or(0);
        if let Ok(view) = PostView::deserialize(&post)
            && let Some(uri) = RecordUri::parse(&view.uri)
        {
            views.insert(uri.key, Viewed { like_count, view });
        }
    }
    Ok(views)
}

/// The handles of accounts by DID, as far as the network tells them in time. They only make an answer easier to read.
pub(super) async fn names(caller: &dyn Caller, mut dids: Vec<String>) -> HashMap<String, String> {
    #[derive(Deserialize)]
    struct Profiles {
        profiles: Vec<Value>,
    }
    dids.sort_unstable();
    dids.dedup();
    let mut names = HashMap::new();
    let asked = async {
        for dids in dids.chunks(PROFILES_A_CALL) {
            let actors = dids.iter().map(|did| ("actors", did.clone())).collect();
            let answer = caller.read::<Profiles>(Request::get("app.bsky.actor.getProfiles", actors)).await;
            let Ok(answer) = answer else { return };
            for profile in &answer.profiles {
                if let (Some(did), Some(name)) = (profile["did"].as_str(), account_name(profile)) {
                    names.insert(did.to_owned(), name);
                }
            }
        }
    };
    // Whoever was named by then is named.
    let _ = tokio::time::timeout(PATIENCE, asked).await;
    names
}

/// Writes whom posts answer by name.
pub(super) fn name_parents(posts: &mut [Post], names: &HashMap<String, String>) {
    for post in posts {
        if let Some(parent) = &post.parent {
            let name = names.get(parent.did.as_str()).map_or(parent.did.as_str(), String::as_str);
            post.reply_to = Some(format!("@{name}/{}", parent.key));
        }
    }
}

fn likes_unknown(error: &NetworkError) -> ToolError {
    tracing::debug!(%error, "likes cannot be looked up");
    ToolError::network(
        "Likes are counted by the network and are not part of a repository; the network could not be asked.",
    )
    .hint("Leave out `likes:` to search without it.")
}

/// The post: what its author wrote is taken from the repository, the rest from the network where it was told.
fn draw(account: &Account, index: &Index, hit: Hit, views: &mut Views) -> Result<Post, ToolError> {
    let record = index.record_json(hit)?;
    let uri = RecordUri::new(account.did.clone(), POST, index.key_of(hit));
    let pds = account.pds.as_deref().unwrap_or_default();
    let blob = |id: &str| format!("{pds}/xrpc/com.atproto.sync.getBlob?did={}&cid={id}", account.did);
    let own = Post::from_record(&uri, account.handle.as_ref(), &record, blob);
    let mut post = own.clone();
    if let Some(Viewed { mut view, .. }) = views.remove(&uri.key) {
        view.record = record;
        post = from_view(&view).unwrap_or(post);
        // A network that has not looked at it yet has no previews.
        if post.images.is_empty() && post.video.is_none() && post.card.is_none() && post.quote.is_none() {
            (post.images, post.video, post.card, post.quote) = (own.images, own.video, own.card, own.quote);
        }
    }
    Ok(post)
}

/// Where the next page begins: in which state, after how many posts, and for which question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    rev: String,
    offset: usize,
    question: u32,
}

impl Cursor {
    fn parse(text: &str, query: &Query) -> Result<Self, ToolError> {
        let mut parts = text.split('-');
        let cursor = (|| {
            let rev = parts.next().filter(|rev| rev.len() == 13)?.to_owned();
            let offset = parts.next()?.parse().ok()?;
            let question = u32::from_str_radix(parts.next()?, 16).ok()?;
            parts.next().is_none().then_some(Cursor { rev, offset, question })
        })();
        cursor.filter(|cursor| cursor.question == question(query)).ok_or_else(foreign_cursor)
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}-{}-{:x}", self.rev, self.offset, self.question)
    }
}

/// A number that tells one query from another.
fn question(query: &Query) -> u32 {
    // FNV-1a: it must be the same in every process.
    query
        .to_string()
        .bytes()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn seconds(time: Timestamp) -> String {
    format!("{time:.0}")
}
