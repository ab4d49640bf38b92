//! How a post is drawn: a line that names it, its words as a quote, its numbers and its time.
//!
//! What people wrote stands inside the quote, each line of it behind `> `: text, ALT text, titles of cards, the words of
//! quoted posts. What names posts stands outside, where nobody's words can reach.

use diptych::{Line, Markdown, Quote};

use super::{Post, Unavailable};

/// Draws posts one after the other.
pub(crate) fn draw_posts(markdown: &mut Markdown, posts: &[Post]) {
    for post in posts {
        draw_post(markdown, post);
    }
}

/// Draws one post.
pub(crate) fn draw_post(markdown: &mut Markdown, post: &Post) {
    markdown.paragraph(|line| first_line(line, post));
    if let Some(why) = post.unavailable {
        markdown.line(|line| {
            line.literal(match why {
                Unavailable::Missing => "*not found: deleted, or never there*",
                Unavailable::Blocked => "*blocked*",
                Unavailable::Detached => "*detached by its author*",
            });
        });
        return;
    }
    markdown.tight().quote_with(|quote| words(quote, post));
    markdown.line(|line| last_line(line, post));
}

/// `└─` and the parent for a reply, then the post itself, then what else is to be known before reading it.
fn first_line(line: &mut Line, post: &Post) {
    for _ in 1..post.level {
        line.literal("  ");
    }
    if let Some(parent) = post.parent_form.as_ref().or(post.reply_to.as_ref()) {
        line.literal("└─").text(parent).literal(" → ");
    }
    line.text(&post.reference);
    if let Some(quote) = &post.quote {
        line.literal(" · quotes ").text(&quote.reference);
        line.literal(match quote.unavailable {
            None => "",
            Some(Unavailable::Missing) => " (not found)",
            Some(Unavailable::Blocked) => " (blocked)",
            Some(Unavailable::Detached) => " (detached)",
        });
    }
    if let Some(by) = &post.reposted_by {
        line.literal(" · reposted by @").text(by);
    }
    if post.pinned {
        line.literal(" · pinned");
    }
    if !post.labels.is_empty() {
        line.literal(" · labels: ").text(post.labels.join(", "));
    }
}

fn words(quote: &mut Quote, post: &Post) {
    quote.text(&post.drawn);
    for image in &post.images {
        quote.image(&image.alt, &image.url);
    }
    if let Some(video) = &post.video {
        quote.line(|line| {
            line.literal("🎞 ").image(&video.alt, &video.url);
        });
    }
    if let Some(card) = &post.card {
        let title = if card.title.is_empty() { &card.url } else { &card.title };
        quote.link(title, &card.url);
        quote.quote_with(|inner| {
            inner.text(&card.description);
        });
    }
    if let Some(text) = post.quote.as_ref().and_then(|quoted| quoted.text.as_ref()) {
        quote.quote_with(|inner| {
            inner.text(text);
        });
    }
}

/// The counts that are not zero, and the time, two spaces between.
fn last_line(line: &mut Line, post: &Post) {
    let counts = [("👍 ", post.likes), ("♻️ ", post.reposts), ("💬 ", post.replies), ("❝ ", post.quotes)];
    for (sign, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        line.literal(sign).text(count).literal("  ");
    }
    if let Some(time) = &post.created_at {
        line.text(seconds(time));
    }
}

/// A time without its milliseconds.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use diptych::Markdown;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::posts::hostile::{hostile, lines};
    use crate::posts::{PostView, from_view, note};
    use crate::reference::Shown;
    use serde::Deserialize as _;

    const DID: &str = "did:plc:abcdefghijklmnopqrstuvwx";

    fn view(key: &str, handle: &str, words: &[String], parent: Option<&str>) -> Option<PostView> {
        let word = |place: usize| words[place % words.len()].clone();
        let mut record = json!({
            "$type": "app.bsky.feed.post", "text": word(0), "createdAt": word(1),
            "facets": [{
                "index": {"byteStart": 0, "byteEnd": word(0).len()},
                "features": [{"$type": "app.bsky.richtext.facet#link", "uri": format!("https://x.example/{}", word(2))}],
            }],
        });
        if let Some(parent) = parent {
            record["reply"] = json!({"parent": {"uri": format!("at://{DID}/app.bsky.feed.post/{parent}")}});
        }
        let quoted = json!({
            "$type": "app.bsky.embed.record#viewRecord", "uri": format!("at://{DID}/app.bsky.feed.post/3kqquoted22"),
            "author": {"did": DID, "handle": word(3)}, "value": {"text": word(4)},
        });
        let images =
            json!({"$type": "app.bsky.embed.images#view", "images": [{"alt": word(5), "fullsize": word(6)}]});
        let external = json!({
            "$type": "app.bsky.embed.external#view",
            "external": {"uri": word(7), "title": word(8), "description": word(9)},
        });
        let media = if word(0).len() % 2 == 0 { images } else { external };
        PostView::deserialize(json!({
            "uri": format!("at://{DID}/app.bsky.feed.post/{key}"), "cid": "c",
            "author": {"did": DID, "handle": handle, "displayName": word(10)},
            "record": record, "indexedAt": word(11), "likeCount": 2,
            "labels": [{"val": word(12)}, {"val": "spoiler"}],
            "embed": {"$type": "app.bsky.embed.recordWithMedia#view", "record": {"record": quoted}, "media": media},
        }))
        .ok()
    }

    proptest! {
        /// Whatever people write, what stands outside the quotes is ours, and in JSON it is what they wrote.
        #[test]
        fn nobodys_words_leave_their_quote(
            words in proptest::collection::vec(hostile(), 13),
            handle in prop_oneof![Just("alice.test".to_owned()), hostile()],
        ) {
            let views = [view("3kq2222222root", &handle, &words, None), view("3kq222222reply", "bob.test", &words, Some("3kq2222222root"))];
            let mut posts: Vec<Post> = views.iter().flatten().filter_map(from_view).collect();
            prop_assert_eq!(posts.len(), 2);
            note(&Shown::default(), &mut posts);
            let mut markdown = Markdown::new();
            draw_posts(&mut markdown, &posts);
            let drawn = markdown.finish();
            let is_time = |text: &str| text.is_empty() || text.parse::<jiff::Timestamp>().is_ok();
            let name = crate::identity::Handle::parse(&handle).map_or(DID.to_owned(), |handle| handle.to_string());
            let quotes = posts[0].quote.as_ref().unwrap().reference.clone();
            // The one list of lines that may stand outside.
            for line in lines(&drawn) {
                let ours = line.starts_with('>')
                    || line.is_empty()
                    || line == format!("@{name}/3kq2222222root · quotes {quotes} · labels: spoiler")
                    || (line.starts_with("└─@") && line.ends_with(&format!(" → @bob.test/3kq222222reply · quotes {quotes} · labels: spoiler")))
                    || line.strip_prefix("👍 2").is_some_and(|rest| is_time(rest.trim()));
                prop_assert!(ours || labelled(line, &words), "{line:?} in {drawn}");
            }
            prop_assert!(!drawn.contains("<!-- kind:"));
            let json = serde_json::to_string(&posts).unwrap();
            let read: Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read[0]["text"].as_str().unwrap(), words[0].as_str());
        }
    }

    /// A word that happens to be a good label is shown as one.
    fn labelled(line: &str, words: &[String]) -> bool {
        let plain = |word: &String| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'!'))
        };
        words
            .iter()
            .filter(|word| plain(word))
            .any(|word| line.contains(&format!("labels: {word}")) || line.contains(&format!(", {word}")))
    }
}
