//! The Markdown below the front matter: its blocks, and the sections they make up.
//!
//! Blocks are found by `pulldown-cmark`, so that a `#` inside a fence is code and not a heading; their
//! text is then sliced out of the file as it was written.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::heading;
use crate::pattern::{Section, SectionKind};
use crate::text::one_line;

/// A block that matters here, in the order of the file.
#[derive(Debug)]
pub(super) enum Block {
    /// A paragraph outside lists, quotes and tables, as one line.
    Paragraph { text: String },
    /// A heading below the level of sections.
    Heading { text: String },
    /// A fenced block: its language and its code.
    Code { language: String, code: String },
    /// A list: its items, one line each.
    List(Vec<String>),
}

/// A section and the blocks in it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) section: Section,
    pub(super) blocks: Vec<Block>,
}

/// A link and where in the body it is.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) to: String,
    pub(super) at: usize,
    /// Whether it stands in a section about related patterns.
    pub(super) is_related: bool,
}

/// A body taken apart.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The document's own heading, when it has one.
    pub(super) title: Option<String>,
    /// The first heading of any level.
    pub(super) first_heading: Option<String>,
    pub(super) parts: Vec<Part>,
    pub(super) links: Vec<Link>,
}

/// Takes a body apart.
pub(super) fn read(body: &str) -> Body {
    let Blocks { headings, blocks, links } = blocks(body);
    let first_heading = headings.first().map(|heading| heading.title.clone());

    let level = section_level(&headings);
    let title = headings.iter().find(|heading| heading.level == 1 && level == 2).map(|h| h.title.clone());
    let cuts: Vec<&Heading> = headings.iter().filter(|heading| heading.level <= level).collect();

    let mut parts = Vec::new();
    let mut blocks = blocks.into_iter().peekable();
    let mut take_until = |end: usize| {
        let mut taken = Vec::new();
        while let Some((at, block)) = blocks.next_if(|(at, _)| *at < end) {
            if !cuts.iter().any(|cut| cut.range.start == at) {
                taken.push(block);
            }
        }
        taken
    };

    let preamble_end = cuts.first().map_or(body.len(), |heading| heading.range.start);
    let before = content(&body[..preamble_end]);
    let before_blocks = take_until(preamble_end);
    if !before.is_empty() {
        parts.push(part("Description", SectionKind::Description, before, before_blocks));
    }
    for (number, cut) in cuts.iter().enumerate() {
        let end = cuts.get(number + 1).map_or(body.len(), |next| next.range.start);
        let text = content(&body[cut.range.end.min(end)..end]);
        let blocks = take_until(end);
        if level == 2 && cut.level == 1 {
            // The document's heading is its title; what stands below it is the description.
            if !text.is_empty() {
                parts.push(part("Description", SectionKind::Description, text, blocks));
            }
        } else {
            parts.push(part(&cut.title, heading::kind_of(&cut.title), text, blocks));
        }
    }

    let in_related = |at: usize| {
        cuts.iter()
            .rev()
            .find(|cut| cut.range.start <= at)
            .is_some_and(|cut| heading::kind_of(&cut.title) == SectionKind::Related)
    };
    let links = links.into_iter().map(|(to, at)| Link { to, at, is_related: in_related(at) }).collect();
    Body { title, first_heading, parts, links }
}

/// One file puts its sections at level one, another puts a title there and its sections below.
fn section_level(headings: &[Heading]) -> usize {
    let top: Vec<_> = headings.iter().filter(|heading| heading.level == 1).collect();
    match top.as_slice() {
        [] => headings.iter().map(|heading| heading.level).min().unwrap_or(2).max(2),
        [only] if heading::kind_of(&only.title) == SectionKind::Other => 2,
        [_] if headings.iter().any(|heading| heading.level == 2) => 2,
        _ => 1,
    }
}

fn part(title: &str, kind: SectionKind, content: String, blocks: Vec<Block>) -> Part {
    Part { section: Section { title: title.to_owned(), content, kind }, blocks }
}

/// A section's text, without the rules that some files put between sections.
fn content(text: &str) -> String {
    let mut text = text.trim();
    while let Some(rest) = text.strip_suffix("---").filter(|rest| rest.is_empty() || rest.ends_with("\n\n")) {
        text = rest.trim_end();
    }
    while let Some(rest) = text.strip_prefix("---").filter(|rest| rest.is_empty() || rest.starts_with('\n')) {
        text = rest.trim_start();
    }
    text.to_owned()
}

struct Heading {
    level: usize,
    title: String,
    range: Range<usize>,
}

struct Blocks {
    headings: Vec<Heading>,
    blocks: Vec<(usize, Block)>,
    links: Vec<(String, usize)>,
}

fn blocks(body: &str) -> Blocks {
    let mut found = Blocks { headings: Vec::new(), blocks: Vec::new(), links: Vec::new() };
    let mut depth = 0_usize;
    let mut code: Option<(usize, String, String)> = None;
    let mut items: Option<(usize, Vec<String>)> = None;

    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                match tag {
                    Tag::Paragraph if depth == 0 => {
                        let text = one_line(&body[range.clone()]);
                        found.blocks.push((range.start, Block::Paragraph { text }));
                    }
                    Tag::Heading { level, .. } if depth == 0 => {
                        let title = heading_text(&body[range.clone()]);
                        found.blocks.push((range.start, Block::Heading { text: title.clone() }));
                        found.headings.push(Heading { level: level as usize, title, range });
                    }
                    Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                        code = Some((range.start, language(&info), String::new()));
                    }
                    Tag::List(_) if depth == 0 => items = Some((range.start, Vec::new())),
                    Tag::Item if depth == 1 => {
                        if let Some((_, items)) = &mut items {
                            items.push(item_text(&body[range]));
                        }
                    }
                    Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                        found.links.push((dest_url.into_string(), range.start));
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                match end {
                    TagEnd::CodeBlock => {
                        if let Some((at, language, code)) = code.take() {
                            let code = code.trim_end().to_owned();
                            found.blocks.push((at, Block::Code { language, code }));
                        }
                    }
                    TagEnd::List(_) if depth == 0 => {
                        if let Some((at, items)) = items.take() {
                            found.blocks.push((at, Block::List(items)));
                        }
                    }
                    _ => {}
                }
            }
            Event::Text(text) => {
                if let Some((_, _, code)) = &mut code {
                    code.push_str(&text);
                }
            }
            _ => {}
        }
    }
    // Code inside a list is finished before the list is.
    found.blocks.sort_by_key(|(at, _)| *at);
    found
}

fn heading_text(source: &str) -> String {
    let first = source.trim_start_matches('#').lines().next().unwrap_or_default();
    one_line(first.trim().trim_end_matches('#'))
}

/// The first paragraph of a list item, without its bullet.
fn item_text(source: &str) -> String {
    let source = source.trim_start();
    let text = match source.split_once([' ', '\n']) {
        Some((bullet, rest)) if is_bullet(bullet) => rest,
        _ => source,
    };
    let text = text.split("\n\n").next().unwrap_or_default();
    let text = text.split("```").next().unwrap_or_default();
    one_line(text)
}

fn is_bullet(word: &str) -> bool {
    matches!(word, "-" | "*" | "+")
        || word
            .strip_suffix(['.', ')'])
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

fn language(info: &str) -> String {
    let word = info.split(|c: char| c.is_whitespace() || matches!(c, ',' | '{')).next().unwrap_or_default();
    match word.to_ascii_lowercase().as_str() {
        "" => "text".into(),
        "ts" => "typescript".into(),
        "js" => "javascript".into(),
        "rs" => "rust".into(),
        "py" => "python".into(),
        other => other.chars().filter(|c| c.is_ascii_alphanumeric() || "+#-_".contains(*c)).collect(),
    }
}
