//! A pattern drawn: the card that search results and details share, and the sections below it.

use std::borrow::Cow;
use std::ops::Range;

use diptych::Markdown;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::text::one_line;
use crate::{Pattern, Section, SectionKind};

/// The marker of a card.
pub(super) const CARD: &str = "pattern-card:v1";

/// The most bytes of one example in Markdown.
const EXAMPLE_LIMIT: usize = 10 * 1024;

/// Draws the card.
pub(super) fn draw_card(markdown: &mut Markdown, pattern: &Pattern) {
    markdown.heading(1, &pattern.title).marker(CARD).paragraph(|line| {
        line.literal("**Category:** ").text(&pattern.category);
        line.literal(" | **Difficulty:** ").text(pattern.difficulty);
    });
    if let Some(use_when) = &pattern.use_when {
        markdown.paragraph(|line| {
            line.literal("**Use when:** ").text(use_when);
        });
    }
    let names = pattern.api_names();
    if !names.is_empty() {
        markdown.paragraph(|line| {
            line.literal("**API:** ");
            for (number, name) in names.into_iter().enumerate() {
                line.literal(if number > 0 { ", " } else { "" }).code(name);
            }
        });
    }
    if let Some(example) = pattern.examples.first() {
        markdown.paragraph(|line| {
            line.literal("**Example:**");
        });
        markdown.fence_cut(&example.language, &example.code, EXAMPLE_LIMIT);
    }
    if !pattern.notes.is_empty() {
        markdown.paragraph(|line| {
            line.literal("**Notes:**");
        });
        for note in &pattern.notes {
            markdown.bullet(|line| {
                line.text(note);
            });
        }
    }
}

/// Draws those of the sections that the card does not show already.
pub(super) fn draw_sections(markdown: &mut Markdown, pattern: &Pattern, sections: &[Section]) {
    for section in sections.iter().filter(|section| !is_on_card(section, pattern)) {
        markdown.heading(2, &section.title).embed_deeper(&cut_examples(&section.content), 1);
    }
}

fn is_on_card(section: &Section, pattern: &Pattern) -> bool {
    let content = section.content.as_str();
    match section.kind {
        SectionKind::Notes => is_a_list(content),
        SectionKind::UseWhen => pattern.use_when.as_deref() == Some(one_line(content).as_str()),
        SectionKind::Example => pattern.examples.first().is_some_and(|example| {
            let around = content.replacen(&example.code, "", 1);
            let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
            let prose: Vec<&str> = around.lines().filter(|line| !is_fence(line)).collect();
            let prose = one_line(&prose.join(" "));
            around.len() < content.len() && example.description.as_deref().unwrap_or_default() == prose
        }),
        // Its links lead to files, which clients do not see; the ids are drawn instead.
        SectionKind::Related => !pattern.related.is_empty(),
        _ => false,
    }
}

/// Whether there is nothing but items of a list.
fn is_a_list(content: &str) -> bool {
    let is_item = |line: &str| {
        line.starts_with(['-', '*', '+', ' '])
            || line.split_once(". ").is_some_and(|(n, _)| n.parse::<u32>().is_ok())
    };
    content.lines().all(|line| line.is_empty() || is_item(line))
}

/// The text with the code of fences that are too long cut at a line.
fn cut_examples(content: &str) -> Cow<'_, str> {
    if content.len() <= EXAMPLE_LIMIT {
        return Cow::Borrowed(content);
    }
    let mut kept = String::with_capacity(EXAMPLE_LIMIT * 2);
    let mut at = 0;
    for code in fenced(content).into_iter().filter(|code| code.len() > EXAMPLE_LIMIT) {
        let mut limit = code.start + EXAMPLE_LIMIT;
        while !content.is_char_boundary(limit) {
            limit -= 1;
        }
        let lines = content[code.start..limit].rfind('\n').map_or(0, |end| end + 1);
        kept.push_str(&content[at..code.start + lines]);
        kept.push_str("...\n");
        at = code.end;
    }
    kept.push_str(&content[at..]);
    Cow::Owned(kept)
}

/// Where the code of each fence is.
fn fenced(content: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<Vec<Range<usize>>> = None;
    for (event, range) in Parser::new(content).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => open = Some(Vec::new()),
            Event::Text(_) => {
                if let Some(lines) = &mut open {
                    lines.push(range);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                let lines = open.take().unwrap_or_default();
                if let (Some(first), Some(last)) = (lines.first(), lines.last()) {
                    found.push(first.start..last.end);
                }
            }
            _ => {}
        }
    }
    found
}
