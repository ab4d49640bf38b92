//! How arguments become accounts and posts, and what is asked where they could mean several.

use diptych::{Choice, Cx, Field, NeedsInput, Stop, ToolError};

use super::thread::posts_of_thread;
use super::{Bluesky, invalid, shown};
use crate::identity::Identity;
use crate::network::Caller;
use crate::reference::{AccountName, Found, PostName, RecordName, RecordUri, ShownPost, find_within};

/// The account that an argument names.
pub(crate) async fn account(cx: &Cx<Bluesky>, argument: &str, text: &str) -> Result<Identity, Stop> {
    let name = AccountName::parse(text).ok_or_else(|| {
        invalid(
            argument,
            "must name an account: a handle such as name.bsky.social, a DID or a link to a profile",
        )
    })?;
    Ok(identity(cx, &name).await?)
}

/// The identity behind a name.
pub(crate) async fn identity(cx: &Cx<Bluesky>, name: &AccountName) -> Result<Identity, ToolError> {
    let directory = &cx.state().directory;
    let found = match name {
        AccountName::Handle(handle) => directory.by_handle(handle).await,
        AccountName::Did(did) => directory.by_did(did).await,
    };
    Ok(found?)
}

/// The address of a record.
pub(crate) async fn record(cx: &Cx<Bluesky>, name: &RecordName) -> Result<RecordUri, ToolError> {
    let did = match &name.account {
        AccountName::Did(did) => did.clone(),
        AccountName::Handle(_) => identity(cx, &name.account).await?.did,
    };
    Ok(RecordUri::new(did, name.collection, &name.key))
}

/// What naming a post came to.
pub(crate) enum Named {
    Post(RecordUri),
    /// A short form that could mean several posts, or none that was shown.
    Unclear(Vec<ShownPost>),
}

/// The post that a text names, as far as that is clear.
pub(crate) async fn named(
    cx: &Cx<Bluesky>,
    reader: &dyn Caller,
    argument: &str,
    text: &str,
) -> Result<Named, Stop> {
    let name = PostName::parse(text).ok_or_else(|| {
        invalid(argument, "must name a post: a link, an at:// address or @handle/key as answers show it")
    })?;
    let found = match name {
        PostName::Full(name) => return Ok(Named::Post(record(cx, &name).await?)),
        PostName::Short(short) => shown(cx).find(&short),
        PostName::Within(thread, short) => {
            let anchor = record(cx, &thread).await?;
            find_within(&posts_of_thread(reader, &anchor).await?, &short)
        }
    };
    Ok(match found {
        Found::One(uri) => Named::Post(uri),
        Found::Candidates(candidates) => Named::Unclear(candidates),
    })
}

/// The post that an argument names. Asks where that is not clear: it is never guessed.
pub(crate) async fn post(
    cx: &Cx<Bluesky>,
    reader: &dyn Caller,
    argument: &str,
    text: &str,
) -> Result<RecordUri, Stop> {
    match named(cx, reader, argument, text).await? {
        Named::Post(uri) => Ok(uri),
        Named::Unclear(candidates) => Err(which(argument, &candidates).into()),
    }
}

/// The ask for a post that was named unclearly.
fn which(argument: &str, candidates: &[ShownPost]) -> NeedsInput {
    let (message, field) = if candidates.is_empty() {
        let message = "That short form was not shown in this conversation. Which post is meant? Give a link, or @handle/key.";
        (message, Field::text(argument))
    } else {
        let message = "That short form could mean another post. Which one is meant?";
        (message, Field::choice(argument, candidates.iter().map(choice)))
    };
    NeedsInput::new("Which Post?", message)
        .reason("A short form must mean one post")
        .field(field.title("Post"))
}

/// The ask for a list of posts of which some were named unclearly; the clear ones stay on offer.
pub(crate) fn which_of(argument: &str, clear: &[RecordUri], candidates: &[ShownPost]) -> NeedsInput {
    let clear =
        clear.iter().map(|uri| Choice::new(uri.to_string()).label(format!("{}/{}", uri.did, uri.key)));
    let choices: Vec<Choice> = clear.chain(candidates.iter().map(choice)).collect();
    let message = if candidates.is_empty() {
        "A short form was not shown in this conversation. Which posts are meant? Give links, or @handle/key."
    } else {
        "A short form could mean another post. Which posts are meant?"
    };
    NeedsInput::new("Which Posts?", message)
        .reason("A short form must mean one post")
        .field(Field::choices(argument, choices).title("Posts"))
}

fn choice(post: &ShownPost) -> Choice {
    Choice::new(post.uri.to_string()).label(post.reference())
}
