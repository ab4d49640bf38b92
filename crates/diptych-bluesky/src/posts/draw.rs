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
