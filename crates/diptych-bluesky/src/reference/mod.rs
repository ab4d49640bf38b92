//! Every way of naming accounts, posts, feeds and lists.
//!
//! Handles with and without `@`, DIDs, links to the web application, `at://` addresses, `@handle/key`, and the short
//! forms that answers print (`short`).

mod short;

use std::fmt;

use url::Url;

use crate::identity::{Did, Handle};
pub(crate) use short::{Found, ShortForm, Shown, ShownPost, find_within};

/// The collection of posts.
pub(crate) const POST: &str = "app.bsky.feed.post";
/// The collection of custom feeds.
pub(crate) const GENERATOR: &str = "app.bsky.feed.generator";
/// The collection of lists.
pub(crate) const LIST: &str = "app.bsky.graph.list";

/// An account by one of its two names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccountName {
    Handle(Handle),
    Did(Did),
}

impl AccountName {
    /// Reads a handle, a DID, a link to a profile or an `at://` address.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("at://") {
            return Self::name(rest.split('/').next()?);
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return Self::name(&profile_path(text)?.first()?.clone());
        }
        Self::name(text)
    }

    /// Reads a handle or a DID.
    fn name(text: &str) -> Option<Self> {
        let bare = text.trim().strip_prefix('@').unwrap_or(text.trim());
        match Did::parse(bare) {
            Some(did) => Some(AccountName::Did(did)),
            None => Handle::parse(bare).map(AccountName::Handle),
        }
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccountName::Handle(handle) => handle.fmt(formatter),
            AccountName::Did(did) => did.fmt(formatter),
        }
    }
}

/// A record by whose it is and its key; what kind of record is known from where it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordName {
    pub(crate) account: AccountName,
    pub(crate) collection: &'static str,
    pub(crate) key: String,
}

impl RecordName {
    /// Reads an `at://` address, a link or `@handle/key`. Without a word on the collection it is a post's.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("at://") {
            let mut parts = rest.split('/');
            let (account, collection, key) = (parts.next()?, parts.next()?, parts.next()?);
            return (parts.next().is_none())
                .then(|| Self::of(account, collection_named(collection)?, key))?;
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            let path = profile_path(text)?;
            let [account, kind, key] = path.as_slice() else { return None };
            let collection = match kind.as_str() {
                "post" => POST,
                "feed" => GENERATOR,
                "lists" => LIST,
                _ => return None,
            };
            return Self::of(account, collection, key);
        }
        let (account, key) = text.split_once('/')?;
        Self::of(account, POST, key)
    }

    fn of(account: &str, collection: &'static str, key: &str) -> Option<Self> {
        let account = AccountName::name(account)?;
        is_key(key).then(|| RecordName { account, collection, key: key.to_owned() })
    }
}

/// An `at://` address whose authority is a DID.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RecordUri {
    pub(crate) did: Did,
    pub(crate) collection: String,
    pub(crate) key: String,
}

impl RecordUri {
    pub(crate) fn new(did: Did, collection: &str, key: &str) -> Self {
        RecordUri { did, collection: collection.to_owned(), key: key.to_owned() }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("at://")?.split('/');
        let (did, collection, key) = (Did::parse(parts.next()?)?, parts.next()?, parts.next()?);
        let is_collection = collection.split('.').count() >= 3
            && collection.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
        (parts.next().is_none() && is_collection && is_key(key)).then(|| RecordUri::new(did, collection, key))
    }
}

impl fmt::Display for RecordUri {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at://{}/{}/{}", self.did, self.collection, self.key)
    }
}

/// A post as a reader names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PostName {
    /// By whose it is and its key.
    Full(RecordName),
    /// As an answer printed it in short.
    Short(ShortForm),
    /// In short, within a thread that is named in full: `THREAD#SHORT`.
    Within(RecordName, ShortForm),
}

impl PostName {
    /// Reads any way of naming a post.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some((thread, short)) = text.rsplit_once('#')
            && let (Some(thread), Some(short)) = (RecordName::parse(thread), ShortForm::parse(short))
        {
            return (thread.collection == POST).then_some(PostName::Within(thread, short));
        }
        match ShortForm::parse(text) {
            Some(short) => Some(PostName::Short(short)),
            None => RecordName::parse(text).filter(|name| name.collection == POST).map(PostName::Full),
        }
    }
}

/// A record key as the AT Protocol has it.
pub(crate) fn is_key(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'~' | b'-');
    (1..=512).contains(&text.len()) && text != "." && text != ".." && text.bytes().all(is_part)
}

fn collection_named(text: &str) -> Option<&'static str> {
    [POST, GENERATOR, LIST].into_iter().find(|collection| *collection == text)
}

/// The parts of a link's path behind `/profile/`: the web applications of the network share this form.
fn profile_path(link: &str) -> Option<Vec<String>> {
    let url = Url::parse(link).ok()?;
    let mut parts = url.path_segments()?.map(|part| part.replace("%3A", ":"));
    if parts.next()? != "profile" {
        return None;
    }
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DID: &str = "did:plc:abcdefghijklmnopqrstuvwx";

    #[test]
    fn accounts_have_many_names() {
        for text in [
            "alice.test",
            "@alice.test",
            " Alice.Test ",
            "https://bsky.app/profile/alice.test",
            "https://bsky.app/profile/alice.test/post/3kq2222222222",
            "at://alice.test",
            "at://alice.test/app.bsky.feed.post/3kq2222222222",
        ] {
            assert_eq!(AccountName::parse(text).unwrap().to_string(), "alice.test", "{text}");
        }
        for text in [
            DID.to_owned(),
            format!("@{DID}"),
            format!("https://bsky.app/profile/{DID}"),
            format!("at://{DID}"),
        ] {
            assert_eq!(AccountName::parse(&text).unwrap().to_string(), DID, "{text}");
        }
        for text in ["", "alice", "everyone", "https://bsky.app/", "https://example.com/alice.test", "at://"]
        {
            assert_eq!(AccountName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn posts_have_many_names() {
        let key = "3kq2222222222";
        for text in [
            format!("@alice.test/{key}"),
            format!("alice.test/{key}"),
            format!("at://alice.test/app.bsky.feed.post/{key}"),
            format!("https://bsky.app/profile/alice.test/post/{key}"),
            format!("https://bsky.app/profile/alice.test/post/{key}?ref=x"),
        ] {
            let Some(PostName::Full(name)) = PostName::parse(&text) else { panic!("{text}") };
            assert_eq!((name.account.to_string().as_str(), name.key.as_str()), ("alice.test", key), "{text}");
        }
        for text in [format!("{DID}/{key}"), format!("@{DID}/{key}"), format!("at://{DID}/{POST}/{key}")] {
            let Some(PostName::Full(name)) = PostName::parse(&text) else { panic!("{text}") };
            assert_eq!(name.account.to_string(), DID);
        }
        for text in [
            "",
            key,
            "@alice/3kq",
            "alice.test/",
            "alice.test/a b",
            "alice.test/../x",
            "at://alice.test/x/y/z",
        ] {
            assert_eq!(PostName::parse(text), None, "{text}");
        }
        assert_eq!(PostName::parse(&format!("at://{DID}/{LIST}/{key}")), None, "a list is no post");
        let within = PostName::parse(&format!("@alice.test/{key}#@b/…abcd")).unwrap();
        assert!(matches!(within, PostName::Within(_, _)));
    }
}
