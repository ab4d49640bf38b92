//! Finds what a writer means by a text: addresses, mentions, tags, and links written as Markdown.

use crate::identity::Handle;

/// The longest tag that the network takes, in bytes.
const LONGEST_TAG: usize = 640;

/// What a range of a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A link to this address.
    Link(String),
    /// A mention of whoever goes by this handle.
    Mention(Handle),
    /// A tag, without its `#`.
    Tag(String),
}

/// A range of a text, in bytes, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) meaning: Meaning,
}

/// The text as it will be posted (links written as `[label](address)` keep only their label), and what is in it.
pub(crate) fn detect(text: &str) -> (String, Vec<Detected>) {
    let mut out = String::with_capacity(text.len());
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let fresh = out
            .chars()
            .next_back()
            .is_none_or(|before| before.is_whitespace() || matches!(before, '(' | '"' | '“' | '«' | '\''));
        let piece = match c {
            '[' => markdown_link(rest),
            'h' if fresh => address(rest),
            '@' if fresh => mention(rest),
            '#' | '＃' if fresh => tag(rest),
            _ => None,
        };
        match piece {
            Some((taken, shown, meaning)) => {
                let start = out.len();
                out.push_str(shown);
                found.push(Detected { start, end: out.len(), meaning });
                rest = &rest[taken..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    (out, found)
}

type Piece<'a> = Option<(usize, &'a str, Meaning)>;

fn markdown_link(rest: &str) -> Piece<'_> {
    let close = rest.find("](")?;
    let label = &rest[1..close];
    let target = &rest[close + 2..];
    let end = target.find(')')?;
    let url = &target[..end];
    let fits = !label.is_empty() && !label.contains(['[', ']', '\n']) && is_address(url);
    fits.then(|| (close + 2 + end + 1, label, Meaning::Link(url.to_owned())))
}

fn address(rest: &str) -> Piece<'_> {
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"')).unwrap_or(rest.len());
    let mut url = &rest[..end];
    loop {
        let shorter = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '…', '”', '»']);
        // A bracket at the end belongs to the sentence unless the address opened it.
        let shorter = match shorter.strip_suffix(')') {
            Some(inner) if !inner.contains('(') => inner,
            _ => shorter,
        };
        if shorter.len() == url.len() {
            break;
        }
        url = shorter;
    }
    is_address(url).then(|| (url.len(), url, Meaning::Link(url.to_owned())))
}

fn is_address(url: &str) -> bool {
    let plain = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    plain
        && (url.starts_with("https://") || url.starts_with("http://"))
        && url::Url::parse(url).is_ok_and(|url| url.has_host())
}

fn mention(rest: &str) -> Piece<'_> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let end = rest[1..].find(|c: char| !is_part(c)).map_or(rest.len(), |at| at + 1);
    let shown = rest[..end].trim_end_matches(['.', '-']);
    let handle = Handle::parse(shown.get(1..)?)?;
    Some((shown.len(), shown, Meaning::Mention(handle)))
}

fn tag(rest: &str) -> Piece<'_> {
    let sign = rest.chars().next()?.len_utf8();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let shown = rest[..end].trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '_');
    let name = shown.get(sign..)?;
    let fits = !name.is_empty()
        && name.len() <= LONGEST_TAG
        && !name.starts_with(['#', '\u{fe0f}'])
        && name.chars().any(|c| c.is_alphabetic() || !(c.is_ascii_digit() || c.is_ascii_punctuation()));
    fits.then(|| (shown.len(), shown, Meaning::Tag(name.to_owned())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn meanings(text: &str) -> (String, Vec<(String, Meaning)>) {
        let (out, found) = detect(text);
        let list = found.into_iter().map(|one| (out[one.start..one.end].to_owned(), one.meaning)).collect();
        (out, list)
    }

    #[test]
    fn what_people_write_is_understood() {
        let (out, found) =
            meanings("Hey @alice.test. See https://example.com/a_(b), (http://x.example/y)! #rust, #1 #2nd");
        assert_eq!(
            out,
            "Hey @alice.test. See https://example.com/a_(b), (http://x.example/y)! #rust, #1 #2nd"
        );
        let link = |url: &str| (url.to_owned(), Meaning::Link(url.to_owned()));
        assert_eq!(
            found,
            [
                ("@alice.test".to_owned(), Meaning::Mention(Handle::parse("alice.test").unwrap())),
                link("https://example.com/a_(b)"),
                link("http://x.example/y"),
                ("#rust".to_owned(), Meaning::Tag("rust".to_owned())),
                ("#2nd".to_owned(), Meaning::Tag("2nd".to_owned())),
            ]
        );
    }

    #[test]
    fn links_as_markdown_keep_their_label() {
        let (out, found) = meanings("🦀 [the book](https://example.com/book) [no](javascript:x) [x]");
        assert_eq!(out, "🦀 the book [no](javascript:x) [x]");
        assert_eq!(found, [("the book".to_owned(), Meaning::Link("https://example.com/book".to_owned()))]);
    }

    #[test]
    fn what_only_looks_like_it_is_left_alone() {
        for text in
            ["a@alice.test", "x#y", "@alice", "# heading", "#️⃣", "http://", "https://", "@@a.b", "##x"]
        {
            assert_eq!(meanings(text), (text.to_owned(), vec![]), "{text}");
        }
    }

    proptest! {
        #[test]
        fn ranges_are_in_order_and_on_characters(text in "([@#\\[\\]()a.h]|https://a\\.b|\\PC){0,40}") {
            let (out, found) = detect(&text);
            let mut at = 0;
            for one in found {
                prop_assert!(at <= one.start && one.start < one.end && one.end <= out.len());
                prop_assert!(out.is_char_boundary(one.start) && out.is_char_boundary(one.end));
                at = one.end;
            }
        }
    }
}
