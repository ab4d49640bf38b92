//! Short forms of posts: `@a/…a3f1`, the first letter of the handle and the end of the key.
//!
//! An answer prints them so that a thread stays readable. As input they are taken only where this process printed them to
//! this caller, for one post: what stands for two posts, or was never printed, is asked about and never guessed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::RecordUri;

/// The least that is shown of a key.
const LEAST: usize = 4;
/// The most posts that are remembered for one caller.
const MOST: usize = 5_000;

/// A short form as a reader wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortForm {
    /// How the handle begins; may be left out.
    handle: String,
    /// How the key ends.
    end: String,
}

impl ShortForm {
    /// Reads `@a/…a3f1`, also without `@`, without the handle, and with three dots for the one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (handle, rest) = text.split_once('/').unwrap_or(("", text));
        let end = rest.strip_prefix('…').or_else(|| rest.strip_prefix("..."))?;
        let handle = handle.strip_prefix('@').unwrap_or(handle).to_ascii_lowercase();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '~');
        let fits = |text: &str| text.chars().all(is_part);
        (!end.is_empty() && fits(end) && fits(&handle)).then(|| ShortForm { handle, end: end.to_owned() })
    }

    fn fits(&self, post: &ShownPost) -> bool {
        post.handle.starts_with(&self.handle) && post.uri.key.ends_with(&self.end)
    }
}

/// A post that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownPost {
    /// The handle or DID of its author.
    pub(crate) handle: String,
    pub(crate) uri: RecordUri,
}

impl ShownPost {
    /// How it is written in full.
    pub(crate) fn reference(&self) -> String {
        format!("@{}/{}", self.handle, self.uri.key)
    }
}

/// What became of a short form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was printed for this post.
    One(RecordUri),
    /// It may mean one of these, or none that was shown: somebody has to say.
    Candidates(Vec<ShownPost>),
}

/// The posts that one caller was shown, and the short forms that were printed for some of them.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    posts: VecDeque<ShownPost>,
    printed: HashMap<String, Vec<RecordUri>>,
}

impl Shown {
    /// Takes note of the posts of an answer and of the short forms that it prints: those of the posts of which `printed`
    /// says so. Returns these forms, in the order of the posts; a post that has none is written in full.
    pub(crate) fn note(
        &self,
        posts: &[ShownPost],
        printed: impl Fn(&RecordUri) -> bool,
    ) -> Vec<Option<String>> {
        let forms: Vec<Option<String>> = shorten(posts)
            .into_iter()
            .zip(posts)
            .map(|(form, post)| form.filter(|_| printed(&post.uri)))
            .collect();
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (post, form) in posts.iter().zip(&forms) {
            if !memory.posts.contains(post) {
                memory.posts.push_back(post.clone());
            }
            if let Some(form) = form {
                let printed = memory.printed.entry(form.clone()).or_default();
                if !printed.contains(&post.uri) {
                    printed.push(post.uri.clone());
                }
            }
        }
        while memory.posts.len() > MOST {
            if let Some(oldest) = memory.posts.pop_front() {
                memory.printed.retain(|_, uris| {
                    uris.retain(|uri| *uri != oldest.uri);
                    !uris.is_empty()
                });
            }
        }
        forms
    }

    /// What a short form stands for.
    pub(crate) fn find(&self, form: &ShortForm) -> Found {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates: Vec<ShownPost> =
            memory.posts.iter().filter(|post| form.fits(post)).cloned().collect();
        // Printed means printed: with the letter of the handle and this very end of the key.
        let mut printed = candidates.iter().filter(|post| {
            let exact = written(&post.handle, &form.end);
            memory.printed.get(&exact).is_some_and(|uris| uris.contains(&post.uri))
        });
        match (printed.next(), printed.next()) {
            (Some(post), None) => Found::One(post.uri.clone()),
            _ => Found::Candidates(candidates),
        }
    }
}

/// What a short form stands for among the posts of one thread.
pub(crate) fn find_within(posts: &[ShownPost], form: &ShortForm) -> Found {
    let candidates: Vec<ShownPost> = posts.iter().filter(|post| form.fits(post)).cloned().collect();
    match candidates.as_slice() {
        [post] => Found::One(post.uri.clone()),
        _ => Found::Candidates(candidates),
    }
}

fn written(handle: &str, end: &str) -> String {
    format!("@{}/…{end}", handle.chars().next().unwrap_or('?'))
}

/// The short forms of posts that are shown together: each as long as it takes to be the only one.
pub(crate) fn shorten(posts: &[ShownPost]) -> Vec<Option<String>> {
    let short = |post: &ShownPost| -> Option<String> {
        let first = post.handle.chars().next()?;
        let key = post.uri.key.as_str();
        let others: Vec<&str> = posts
            .iter()
            .filter(|other| other.uri != post.uri && other.handle.starts_with(first))
            .map(|other| other.uri.key.as_str())
            .collect();
        // Keys are ASCII, so every byte is a place to cut.
        (LEAST..key.len())
            .map(|length| &key[key.len() - length..])
            .find(|end| others.iter().all(|other| !other.ends_with(end)))
            .map(|end| written(&post.handle, end))
    };
    posts.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::identity::Did;
    use crate::reference::POST;

    fn post(handle: &str, key: &str) -> ShownPost {
        let did = Did::parse("did:plc:abcdefghijklmnopqrstuvwx").unwrap();
        ShownPost { handle: handle.to_owned(), uri: RecordUri::new(did, POST, key) }
    }

    fn form(text: &str) -> ShortForm {
        ShortForm::parse(text).unwrap()
    }

    #[test]
    fn short_forms_grow_until_they_are_unique() {
        let posts = [
            post("alice.test", "3kq22222aroot"),
            post("adam.test", "3kq22222broot"),
            post("bob.test", "3kq22222aroot"),
        ];
        let forms: Vec<_> = shorten(&posts).into_iter().flatten().collect();
        assert_eq!(forms, ["@a/…aroot", "@a/…broot", "@b/…root"]);
        let twins = [post("alice.test", "3kq2222222222"), post("adam.test", "3kq2222222222")];
        let mut twins = twins;
        twins[1].uri.did = Did::parse("did:plc:bbbbbbbbbbbbbbbbbbbbbbbb").unwrap();
        assert_eq!(shorten(&twins), [None, None], "two that never differ have no short form");
    }

    #[test]
    fn only_what_was_printed_for_one_post_is_taken() {
        let shown = Shown::default();
        let (one, other) = (post("alice.test", "3kq22222aroot"), post("alice.test", "3kq22222broot"));
        let unprinted = post("alice.test", "3kq22222aleaf");
        assert_eq!(shown.find(&form("@a/…root")), Found::Candidates(vec![]));
        shown.note(&[one.clone(), unprinted.clone()], |uri| *uri == one.uri);
        assert_eq!(shown.find(&form("@a/…root")), Found::One(one.uri.clone()));
        assert_eq!(shown.find(&form("...root")), Found::One(one.uri.clone()));
        assert_eq!(
            shown.find(&form("@a/…oot")),
            Found::Candidates(vec![one.clone()]),
            "never printed so short"
        );
        assert_eq!(shown.find(&form("@a/…aroot")), Found::Candidates(vec![one.clone()]), "nor so long");
        assert_eq!(shown.find(&form("@b/…root")), Found::Candidates(vec![]));
        assert_eq!(
            shown.find(&form("@a/…leaf")),
            Found::Candidates(vec![unprinted]),
            "shown, but only in full"
        );
        shown.note(std::slice::from_ref(&other), |_| true);
        assert_eq!(
            shown.find(&form("@a/…root")),
            Found::Candidates(vec![one, other]),
            "now it was printed for two"
        );
    }

    proptest! {
        /// Whatever was shown in whatever answers: a printed form means the post it was printed for, or is asked about.
        #[test]
        fn a_short_form_never_means_another_post(
            answers in proptest::collection::vec(
                proptest::collection::vec(("[ab][a-c]?\\.t", "[ab]{4,7}"), 1..6), 1..5)
        ) {
            let shown = Shown::default();
            for answer in answers {
                let mut posts: Vec<ShownPost> = answer.iter().map(|(handle, key)| {
                    let mut one = post(handle, key);
                    let letter = if handle.len() % 2 == 0 { "c" } else { "d" };
                    one.uri.did = Did::parse(&format!("did:plc:{}", letter.repeat(24))).unwrap();
                    one
                }).collect();
                posts.dedup();
                let forms = shown.note(&posts, |uri| uri.key.len() > 4);
                for (post, printed) in posts.iter().zip(forms) {
                    let Some(printed) = printed else { continue };
                    match shown.find(&form(&printed)) {
                        Found::One(uri) => prop_assert_eq!(&uri, &post.uri),
                        Found::Candidates(candidates) => prop_assert!(candidates.contains(post)),
                    }
                }
            }
        }
    }
}
