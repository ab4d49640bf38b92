//! `react`: likes, reposts, and taking things back.

use diptych::{Cx, Field, Markdown, NeedsInput, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::naming::{self, Named, which_of};
use super::post::{Fingerprint, fingerprint, put, views};
use super::{Bluesky, given, invalid, writer};
use crate::accounts::{Account, Session};
use crate::network::{Caller, NetworkError, Request};
use crate::posts::PostView;
use crate::reference::RecordUri;

/// The most posts in one call.
const MOST: usize = 100;
const LIKE: &str = "app.bsky.feed.like";
const REPOST: &str = "app.bsky.feed.repost";

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// As whom, of those logged in; by default the default account.
    account: Option<String>,
    /// Posts to like: links, at:// addresses or @handle/key.
    like: Option<Vec<String>>,
    /// Posts to take a like back from.
    unlike: Option<Vec<String>>,
    /// Posts to repost.
    repost: Option<Vec<String>>,
    /// Posts to take a repost back from.
    unrepost: Option<Vec<String>>,
    /// Own posts to delete. The person is asked first.
    delete: Option<Vec<String>>,
}

/// What is done with a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Action {
    Like,
    Unlike,
    Repost,
    Unrepost,
    Delete,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Status {
    /// It is done.
    Done,
    /// It was so already.
    Already,
    /// It was left alone, because the person did not agree.
    Kept,
    /// It could not be done.
    Failed,
}

/// One reaction.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
struct Reaction {
    action: Action,
    /// The post.
    #[serde(rename = "ref")]
    reference: String,
    uri: String,
    status: Status,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// What became of each reaction, in the order of the arguments.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Reactions {
    /// As whom.
    account: String,
    results: Vec<Reaction>,
    done: usize,
    failed: usize,
}

/// A reaction that is wanted.
struct Wanted {
    action: Action,
    uri: RecordUri,
}

pub(super) async fn react(cx: Cx<Bluesky>, arguments: Arguments) -> Result<Reactions, Stop> {
    let session = writer(&cx, given(&arguments.account)).await?;
    let account = session.account();
    let lists = [
        (Action::Like, "like", arguments.like),
        (Action::Unlike, "unlike", arguments.unlike),
        (Action::Repost, "repost", arguments.repost),
        (Action::Unrepost, "unrepost", arguments.unrepost),
        (Action::Delete, "delete", arguments.delete),
    ];
    let mut wanted: Vec<Wanted> = Vec::new();
    for (action, argument, list) in lists {
        for uri in resolve(&cx, &session, argument, list.unwrap_or_default()).await? {
            if !wanted.iter().any(|other| other.action == action && other.uri == uri) {
                wanted.push(Wanted { action, uri });
            }
        }
    }
    if wanted.is_empty() {
        return Err(invalid("like", "or one of unlike, repost, unrepost and delete must name a post").into());
    }
    if wanted.len() > MOST {
        return Err(invalid("like", "and the other lists must name at most 100 posts together").into());
    }
    ask_before_deleting(&cx, &account, &wanted)?;

    let seen: Vec<RecordUri> = wanted
        .iter()
        .filter(|wanted| wanted.action != Action::Delete)
        .map(|wanted| wanted.uri.clone())
        .collect();
    let seen = views(&session, &seen).await?;
    cx.commit();
    let mut results = Vec::new();
    for one in &wanted {
        let view = seen.iter().find(|view| view.uri == one.uri.to_string());
        let outcome = match one.action {
            Action::Like => add(&cx, &session, one, LIKE, view, |view| view.viewer.like.as_deref()).await,
            Action::Repost => {
                add(&cx, &session, one, REPOST, view, |view| view.viewer.repost.as_deref()).await
            }
            Action::Unlike => {
                take_back(&cx, &session, one, LIKE, view, |view| view.viewer.like.as_deref()).await
            }
            Action::Unrepost => {
                take_back(&cx, &session, one, REPOST, view, |view| view.viewer.repost.as_deref()).await
            }
            Action::Delete => delete(&cx, &session, &account, one).await,
        };
        let name = view.map_or_else(|| own_name(&account, &one.uri), |view| view.author.name());
        let (status, problem) = match outcome {
            Ok(status) => (status, None),
            Err(problem) => (Status::Failed, Some(problem)),
        };
        results.push(Reaction {
            action: one.action,
            reference: format!("@{name}/{}", one.uri.key),
            uri: one.uri.to_string(),
            status,
            problem,
        });
    }
    Ok(Reactions::of(&account, results))
}

impl Reactions {
    fn of(account: &Account, results: Vec<Reaction>) -> Self {
        let count = |status: &[Status]| results.iter().filter(|one| status.contains(&one.status)).count();
        Reactions {
            account: account.handle.to_string(),
            done: count(&[Status::Done, Status::Already]),
            failed: count(&[Status::Failed]),
            results,
        }
    }
}

fn own_name(account: &Account, uri: &RecordUri) -> String {
    if uri.did == account.did { account.handle.to_string() } else { uri.did.to_string() }
}

/// The posts that a list names. Asks where one is not clear, before anything is written.
async fn resolve(
    cx: &Cx<Bluesky>,
    session: &Session,
    argument: &str,
    texts: Vec<String>,
) -> Result<Vec<RecordUri>, Stop> {
    let (mut clear, mut candidates, mut unclear) = (Vec::new(), Vec::new(), false);
    for text in &texts {
        match naming::named(cx, session, argument, text).await? {
            Named::Post(uri) => clear.push(uri),
            Named::Unclear(found) => {
                unclear = true;
                candidates.extend(found);
            }
        }
    }
    if unclear { Err(which_of(argument, &clear, &candidates).into()) } else { Ok(clear) }
}

/// A person has to agree before posts are deleted. Nothing in the arguments can stand for that.
fn ask_before_deleting(cx: &Cx<Bluesky>, account: &Account, wanted: &[Wanted]) -> Result<(), Stop> {
    let doomed: Vec<&Wanted> = wanted
        .iter()
        .filter(|wanted| wanted.action == Action::Delete && wanted.uri.did == account.did)
        .collect();
    let kept = || {
        let results = wanted.iter().map(|one| Reaction {
            action: one.action,
            reference: format!("@{}/{}", own_name(account, &one.uri), one.uri.key),
            uri: one.uri.to_string(),
            status: Status::Kept,
            problem: None,
        });
        Reactions::of(account, results.collect())
    };
    if doomed.is_empty() || cx.answer::<bool>("confirm") == Some(true) {
        return Ok(());
    }
    let names: Vec<String> =
        doomed.iter().map(|one| format!("@{}/{}", account.handle, one.uri.key)).collect();
    let message = if cx.answer::<bool>("confirm") == Some(false) {
        "Not deleted. Say yes to delete them for good, or decline.".to_owned()
    } else {
        let what = if names.len() == 1 { "this post" } else { "these posts" };
        format!("Delete {what} for good? {}", names.join(", "))
    };
    Err(NeedsInput::new("Delete?", message)
        .reason("A person has to agree before posts are deleted")
        .person()
        .field(Field::boolean("confirm").title("Delete for good").person_only())
        .declined(kept())
        .cancelled(kept())
        .into())
}

/// Names the like or the repost of a post by an account, so that one that is sent again is the same record.
fn call(session: &Session, collection: &str, uri: &RecordUri) -> Fingerprint {
    fingerprint(&json!([session.account().did.as_str(), collection, uri.to_string()]))
}

async fn add(
    cx: &Cx<Bluesky>,
    session: &Session,
    wanted: &Wanted,
    collection: &str,
    view: Option<&PostView>,
    existing: impl Fn(&PostView) -> Option<&str>,
) -> Result<Status, String> {
    let view = view.ok_or_else(gone)?;
    if existing(view).is_some() {
        return Ok(Status::Already);
    }
    let attempt = cx.state().sent.attempt(&call(session, collection, &wanted.uri), 1).await;
    let key = attempt.keys.first().ok_or_else(gone)?;
    let record = json!({
        "$type": collection,
        "subject": {"uri": view.uri, "cid": view.cid},
        "createdAt": format!("{:.3}", attempt.at),
    });
    let uri = RecordUri::new(session.account().did, collection, key);
    put(session, &uri, &record).await.map(|_| Status::Done).map_err(problem)
}

async fn take_back(
    cx: &Cx<Bluesky>,
    session: &Session,
    wanted: &Wanted,
    collection: &str,
    view: Option<&PostView>,
    existing: impl Fn(&PostView) -> Option<&str>,
) -> Result<Status, String> {
    // What was added a moment ago may not have reached the view yet.
    let recent = cx.state().sent.key(&call(session, collection, &wanted.uri)).await;
    let recent = recent.map(|key| RecordUri::new(session.account().did, collection, &key));
    let known = view.and_then(existing).and_then(RecordUri::parse);
    let Some(record) = known.or(recent) else {
        return if view.is_some() { Ok(Status::Already) } else { Err(gone()) };
    };
    remove(session, &record).await.map_err(problem)?;
    cx.state().sent.forget(&record.key).await;
    Ok(Status::Done)
}

async fn delete(
    cx: &Cx<Bluesky>,
    session: &Session,
    account: &Account,
    wanted: &Wanted,
) -> Result<Status, String> {
    if wanted.uri.did != account.did {
        return Err("This is somebody else's post.".to_owned());
    }
    let query = vec![
        ("repo", wanted.uri.did.to_string()),
        ("collection", wanted.uri.collection.clone()),
        ("rkey", wanted.uri.key.clone()),
    ];
    let caller: &dyn Caller = session;
    match caller.read::<Value>(Request::get("com.atproto.repo.getRecord", query)).await {
        Err(NetworkError::Refused { status: 400 | 404, .. }) => return Ok(Status::Already),
        Err(error) => return Err(problem(error)),
        Ok(_) => {}
    }
    remove(session, &wanted.uri).await.map_err(problem)?;
    cx.state().sent.forget(&wanted.uri.key).await;
    Ok(Status::Done)
}

/// Removes a record. One that is gone already is gone.
async fn remove(session: &Session, uri: &RecordUri) -> Result<(), NetworkError> {
    let body = json!({"repo": uri.did.as_str(), "collection": uri.collection, "rkey": uri.key});
    session.call(&Request::post("com.atproto.repo.deleteRecord", body)).await.map(drop)
}

fn gone() -> String {
    "The post is not there: it was deleted, or never was.".to_owned()
}

fn problem(error: NetworkError) -> String {
    diptych::ToolError::from(error).message().to_owned()
}

impl Present for Reactions {
    const KIND: &'static str = "reactions:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            line.literal("Reactions · ").text(self.done).literal(" done");
            if self.failed > 0 {
                line.literal(", ").text(self.failed).literal(" failed");
            }
            line.literal(" · @").text(&self.account);
        });
        for one in &self.results {
            markdown.bullet(|line| {
                line.literal(match (one.action, one.status) {
                    (_, Status::Kept) => "left alone ",
                    (Action::Like, Status::Failed) => "not liked ",
                    (Action::Like, _) => "liked ",
                    (Action::Unlike, Status::Failed) => "not unliked ",
                    (Action::Unlike, _) => "unliked ",
                    (Action::Repost, Status::Failed) => "not reposted ",
                    (Action::Repost, _) => "reposted ",
                    (Action::Unrepost, Status::Failed) => "not unreposted ",
                    (Action::Unrepost, _) => "unreposted ",
                    (Action::Delete, Status::Failed) => "not deleted ",
                    (Action::Delete, _) => "deleted ",
                });
                line.text(&one.reference);
                if one.status == Status::Already {
                    line.literal(" (it was so already)");
                }
                if let Some(problem) = &one.problem {
                    line.literal(": ").text(problem);
                }
            });
        }
    }

    fn records(&self) -> usize {
        self.results.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.results.truncate(keep);
        None
    }
}
