//! The toolset itself: what clients see of the network.
//!
//! Each file has the arguments, the function and the answer of a tool. What they share is here (the state), in `naming`
//! (how arguments become addresses) and in `page` (how long lists come in pieces).

mod feed;
mod login;
mod naming;
mod page;
mod post;
mod profile;
mod react;
mod search;
mod thread;

use std::sync::Arc;
use std::time::Duration;

use diptych::{Cx, Field, NeedsInput, Stop, Tool, ToolError, Toolset, tool};
use serde_json::json;

use crate::accounts::{AccountError, Accounts, Session};
use crate::history::{self, Histories};
use crate::identity::Directory;
use crate::network::{Anonymous, Caller, Web};
use crate::options::BlueskyOptions;
use crate::reference::Shown;

/// How long fetching a whole history may take.
const FETCHING: Duration = Duration::from_secs(15 * 60);
/// The version that removes the old names of `login`'s commands.
const REMOVED_IN: &str = "0.2.0";

/// The state that the tools share. Making it opens nothing.
#[derive(Debug)]
pub struct Bluesky {
    pub(crate) options: BlueskyOptions,
    pub(crate) web: Web,
    pub(crate) directory: Arc<Directory>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) histories: Histories,
    pub(crate) sent: post::Sent,
}

impl Bluesky {
    fn new(options: BlueskyOptions) -> Self {
        let web = Web::new(&options);
        let directory = Arc::new(Directory::new(web.clone(), &options));
        let accounts = Arc::new(Accounts::new(web.clone(), &options));
        let histories = Histories::new(options.cache.join("histories"), history::DEFAULT_LIMIT);
        let sent = post::Sent::new(&options.data);
        Bluesky { options, web, directory, accounts, histories, sent }
    }

    /// The public view of the network, without an account.
    pub(crate) fn public(&self) -> Anonymous {
        Anonymous { web: self.web.clone(), service: self.options.appview.clone() }
    }
}

/// The toolset `bluesky`.
///
/// ```
/// use diptych::Server;
/// use diptych_bluesky::{BlueskyOptions, toolset};
///
/// let options = BlueskyOptions::new("data", "cache");
/// let server = Server::builder("sky", "1.0.0").toolset(toolset(options)).build()?;
/// assert!(server.tools().iter().any(|tool| tool.name() == "thread"));
/// # Ok::<(), diptych::BuildError>(())
/// ```
#[must_use]
pub fn toolset(options: BlueskyOptions) -> Toolset<Bluesky> {
    let read_only = options.read_only;
    let toolset = Toolset::new("bluesky", Bluesky::new(options));
    let toolset = reading().into_iter().fold(toolset, Toolset::with);
    if read_only {
        return toolset.with(who_is_logged_in());
    }
    writing().into_iter().chain(deprecated()).fold(toolset, Toolset::with)
}

/// What is left of `login` where nothing may be changed.
fn who_is_logged_in() -> Tool<Bluesky> {
    tool("login", login::only_list)
        .title("Who is logged in")
        .description(
            "Shows which Bluesky accounts are logged in, with the command list. This server is read-only: it logs nobody \
             in or out.",
        )
        .read_only()
}

fn reading() -> Vec<Tool<Bluesky>> {
    vec![
        tool("profile", profile::profile)
            .title("Read a profile")
            .description(
                "Shows who somebody on Bluesky is: name, bio, counts, the pinned post and the latest ones. Accounts are \
                 named by handle, DID or link.",
            )
            .when_missing("account", || {
                NeedsInput::new("Account Needed", "Whose profile?")
                    .reason("A profile is somebody's")
                    .field(Field::text("account").title("Account").suggest(["bsky.app"]))
            })
            .read_only(),
        tool("search", search::search)
            .title("Search posts")
            .description(search::DESCRIPTION)
            .read_only()
            .time_limit(FETCHING),
        tool("feed", feed::feed)
            .title("Read a feed")
            .description(
                "Reads posts: the timeline of the account that is logged in, or what `feed` names: a handle for \
                 somebody's posts, a list or a custom feed by its link, its address or its name.",
            )
            .read_only(),
        tool("thread", thread::thread)
            .title("Read a thread")
            .description(
                "Reads the whole conversation around a post: what it replies to and the replies. Posts are named by \
                 link, at:// address or @handle/key, as other answers show them.",
            )
            .when_missing("post", || {
                NeedsInput::new("Post Needed", "Which post?")
                    .reason("A thread is around a post")
                    .field(Field::text("post").title("Post").description("A link, or @handle/key."))
            })
            .read_only(),
    ]
}

fn writing() -> Vec<Tool<Bluesky>> {
    vec![
        tool("login", login::login)
            .title("Log in to Bluesky")
            .description(
                "Logs in to a Bluesky account: in the browser (OAuth), or with an app password. Never ask for the main \
                 password. Commands: list (who is logged in), default (makes the account of `handle` the one that is \
                 used when none is named), delete (logs the account of `handle` out).",
            )
            .additive()
            .idempotent(),
        tool("post", post::post)
            .title("Write a post")
            .description(
                "Publishes a post, a reply or a quote as the account that is logged in. Links, @mentions and #tags in \
                 the text become real ones; [label](address) becomes a link. More than 300 characters need `split`, \
                 which makes a thread of it.",
            )
            .additive()
            .time_limit(Duration::from_secs(120)),
        tool("react", react::react)
            .title("Like, repost, delete")
            .description(
                "Likes, unlikes, reposts and unreposts posts, and deletes own posts (after asking). Each argument is a \
                 list of posts; the answer says for each what became of it.",
            )
            .idempotent(),
    ]
}

/// The old names of `login`'s commands.
fn deprecated() -> Vec<Tool<Bluesky>> {
    vec![
        tool("accounts", login::accounts)
            .title("Accounts (deprecated)")
            .description(format!(
                "Deprecated, removed in {REMOVED_IN}: use login with the command list or default."
            ))
            .additive()
            .idempotent(),
        tool("logout", login::logout)
            .title("Log out (deprecated)")
            .description(format!("Deprecated, removed in {REMOVED_IN}: use login with the command delete."))
            .additive()
            .idempotent(),
    ]
}

/// An argument that is not what it should be.
pub(crate) fn invalid(path: &str, problem: &str) -> ToolError {
    ToolError::client(format!("Invalid input: {path} {problem}"))
        .detail("violations", json!([{"path": path, "problem": problem}]))
}

/// In whose eyes to read: those of the account named, else of the default account, else of the public.
pub(crate) async fn reader(cx: &Cx<Bluesky>, account: Option<&str>) -> Result<Box<dyn Caller>, Stop> {
    match cx.state().accounts.session(account).await {
        Ok(session) => Ok(Box::new(session)),
        Err(AccountError::Nobody) if account.is_none() => Ok(Box::new(cx.state().public())),
        Err(error) => Err(error.into()),
    }
}

/// As whom to write: the account named, else the default account.
pub(crate) async fn writer(cx: &Cx<Bluesky>, account: Option<&str>) -> Result<Session, Stop> {
    Ok(cx.state().accounts.session(account).await?)
}

/// The posts that this caller was shown.
pub(crate) fn shown(cx: &Cx<Bluesky>) -> Arc<Shown> {
    cx.storage().get_or_put(Shown::default)
}

/// What is left when an empty argument counts as none.
pub(crate) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().map(str::trim).filter(|text| !text.is_empty())
}
