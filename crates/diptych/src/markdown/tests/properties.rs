//! Whatever strings are put in the dynamic places, a Markdown parser sees the structure that was written.

use proptest::collection::vec;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::super::{Line, Markdown};

/// Strings made of what Markdown cares about, mixed with anything.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "<", "<!--", " kind:", "m:v1", " -->", "-->", "<!-- kind:m:v1 -->", "<b>", "</b>", "<script>", "<pre>", "<?",
            "`", "``", "```", "~~~", "#", "# ", "##", "> ", ">", "- ", "-", "---", "+ ", "* ", "*", "**", "***", "_", "1. ",
            "2) ", "=", "===", "|", "\\|", "\\", "\\\\", "[", "]", "](", "]:", "(", ")", "![", "!", "[a]: b", ":--", "    ",
            "\t", "\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}", "\0", "\u{1b}", "&lt;", "&", ";",
            "javascript:", "https://", "at://", "a", " ", "é", "…", "\n\n", "\n    ", "\n  ", "<a href=\"", "\">",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[a-z ]{0,8}",
    ];
    vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// A piece of a line.
#[derive(Debug, Clone)]
enum Piece {
    Literal(&'static str),
    Text(String),
    Bold(String),
    Emphasis(String),
    Code(String),
    Link(String, String),
    Image(String, String),
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let literals = vec![
        "**A:** ", " (", ")", "(", "`", "``", "<", "<!--", "<b>", "`a<b>`", "\\", "](", "!", "1", ". ",
        " | ", "", "#", "\n",
    ];
    vec(
        prop_oneof![
            prop::sample::select(literals).prop_map(Piece::Literal),
            hostile().prop_map(Piece::Text),
            hostile().prop_map(Piece::Bold),
            hostile().prop_map(Piece::Emphasis),
            hostile().prop_map(Piece::Code),
            (hostile(), hostile()).prop_map(|(text, url)| Piece::Link(text, url)),
            (hostile(), hostile()).prop_map(|(alt, url)| Piece::Image(alt, url)),
        ],
        0..5,
    )
}

fn draw(line: &mut Line, pieces: &[Piece]) {
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => line.literal(literal),
            Piece::Text(text) => line.text(text),
            Piece::Bold(text) => line.bold(text),
            Piece::Emphasis(text) => line.emphasis(text),
            Piece::Code(text) => line.code(text),
            Piece::Link(text, url) => line.link(text, url),
            Piece::Image(alt, url) => line.image(alt, url),
        };
    }
}

/// The names of the blocks of the outermost level, markers included.
fn blocks(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut depth = 0;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    found.push(match tag {
                        Tag::Heading { level, .. } => format!("{level}"),
                        Tag::CodeBlock(_) => "fence".into(),
                        Tag::Paragraph => "paragraph".into(),
                        Tag::List(None) => "bullets".into(),
                        Tag::List(Some(start)) => format!("numbers from {start}"),
                        Tag::BlockQuote(_) => "quote".into(),
                        Tag::Table(columns) => format!("table of {}", columns.len()),
                        Tag::HtmlBlock => "html".into(),
                        other => format!("{other:?}"),
                    });
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    found
}

fn html(markdown: &str) -> Vec<String> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES)
        .filter_map(|event| match event {
            Event::Html(html) | Event::InlineHtml(html) => Some(html.trim().to_owned()),
            _ => None,
        })
        .collect()
}

fn count(markdown: &str, wanted: impl Fn(&Event<'_>) -> bool) -> usize {
    Parser::new_ext(markdown, Options::ENABLE_TABLES).filter(wanted).count()
}

/// How often a tolerant reader finds a marker: any white space after the comment's start.
fn tolerant_count(markdown: &str) -> usize {
    markdown
        .match_indices("<!--")
        .filter(|(at, _)| markdown[at + 4..].trim_start().starts_with("kind:"))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn inline_text_has_no_structure(title in pieces(), first in pieces(), items in vec(pieces(), 1..4), last in pieces()) {
        let mut md = Markdown::new();
        md.heading_with(2, |line| draw(line, &title)).marker("m:v1").paragraph(|line| {
            line.literal("a");
        });
        md.paragraph(|line| {
            line.literal("x");
        });
        md.line(|line| draw(line, &first));
        for item in &items {
            md.bullet(|line| draw(line, item));
        }
        for item in &items {
            md.numbered(|line| draw(line, item));
        }
        md.heading(6, "end").line(|line| draw(line, &last));
        let text = md.as_str();
        let mut expected = vec!["h2", "html", "paragraph", "paragraph", "bullets", "numbers from 1", "h6"];
        if blocks(text).len() > expected.len() {
            expected.push("paragraph");
        }
        prop_assert_eq!(blocks(text), expected, "{}", text);
        prop_assert_eq!(html(text), ["<!-- kind:m:v1 -->"], "{}", text);
        let item = count(text, |event| matches!(event, Event::Start(Tag::Item)));
        prop_assert_eq!(item, 2 * items.len());
        let inside = |event: &Event<'_>| matches!(event, Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::BlockQuote(_)) | Event::Rule);
        prop_assert_eq!(count(text, inside), 2, "{}", text);
        prop_assert_eq!(tolerant_count(text), md.drawn().total(), "{}", text);
        for event in Parser::new(text) {
            if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
                prop_assert!(!dest_url.trim_start().to_ascii_lowercase().starts_with("javascript:"), "{}", dest_url);
            }
        }
    }

    #[test]
    fn tables_have_the_rows_and_columns_that_were_written(rows in vec(vec(pieces(), 3), 0..4)) {
        let mut md = Markdown::new();
        md.text("before").tight().table(&["A", "B | C", "D"], |table| {
            for cells in &rows {
                table.row(|row| {
                    for cell in cells {
                        row.cell(|line| draw(line, cell));
                    }
                });
            }
        });
        md.line(|line| {
            line.literal("after");
        });
        let text = md.as_str();
        prop_assert_eq!(blocks(text), ["paragraph", "table of 3", "paragraph"], "{}", text);
        prop_assert_eq!(count(text, |event| matches!(event, Event::Start(Tag::TableRow))), rows.len());
        prop_assert_eq!(html(text), Vec::<String>::new(), "{}", text);
        for row in text.lines().filter(|line| line.starts_with('|')) {
            // The strictest reading of GFM: a pipe is part of a cell when an odd number of backslashes precedes it.
            let mut pipes = 0;
            let mut backslashes = 0;
            for c in row.chars() {
                pipes += usize::from(c == '|' && backslashes % 2 == 0);
                backslashes = if c == '\\' { backslashes + 1 } else { 0 };
            }
            prop_assert_eq!(pipes, 4, "{}", row);
        }
        prop_assert_eq!(tolerant_count(text), 0);
    }

    #[test]
    fn a_fence_contains_its_code(language in hostile(), code in hostile(), max in 0..40_usize) {
        let mut md = Markdown::new();
        md.text("before").tight().fence(&language, &code).heading(3, "between");
        md.fence_cut(&language, &code, max);
        md.text("after");
        let text = md.as_str();
        prop_assert_eq!(blocks(text), ["paragraph", "fence", "h3", "fence", "paragraph"], "{}", text);
        prop_assert_eq!(tolerant_count(text), 0);
        let code = code.trim_end_matches(['\n', '\r']).replace("\r\n", "\n").replace('\r', "\n");
        if tolerant_count(&code) == 0 && !code.trim_end().ends_with("<!--") && !code.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
            let mut inside = None;
            for event in Parser::new(text) {
                match event {
                    Event::Start(Tag::CodeBlock(_)) if inside.is_none() => inside = Some(String::new()),
                    Event::Text(text) => if let Some(inside) = &mut inside { inside.push_str(&text) },
                    Event::End(pulldown_cmark::TagEnd::CodeBlock) => break,
                    _ => {}
                }
            }
            let inside = inside.unwrap_or_default();
            prop_assert_eq!(inside.strip_suffix('\n').unwrap_or(&inside), code);
        }
    }

    #[test]
    fn every_line_of_a_quote_begins_with_its_mark(texts in vec(hostile(), 1..3), url in hostile(), inner in pieces()) {
        let mut md = Markdown::new();
        md.quote_with(|quote| {
            for text in &texts {
                quote.text(text).image(text, &url).link(text, &url).line(|line| draw(line, &inner));
            }
            quote.quote_with(|quoted| {
                quoted.text(&texts[0]);
            });
        });
        let drawn = md.as_str().to_owned();
        let breaks = |c: char| matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        for line in drawn.split(breaks) {
            prop_assert!(line.starts_with("> "), "{:?}", drawn);
        }
        prop_assert_eq!(blocks(&drawn), ["quote"], "{}", drawn);
        md.heading(1, "after").quote(&texts[0]).marker("m:v1").text("kind:m:v1 -->");
        prop_assert_eq!(blocks(md.as_str()), ["quote", "h1", "quote", "html", "paragraph"], "{}", md.as_str());
        prop_assert_eq!(tolerant_count(md.as_str()), 1, "{}", md.as_str());
    }

    #[test]
    fn what_is_embedded_does_not_reach_past_its_end(markdown in hostile(), more in hostile(), deeper in 0..3_u8) {
        let mut md = Markdown::new();
        md.embed_deeper(&markdown, deeper).embed(&more).heading(5, "after").marker("m:v1");
        md.table(&["A"], |table| {
            table.row(|row| {
                row.text("1");
            });
        });
        let text = md.as_str();
        let found = blocks(text);
        prop_assert!(found.ends_with(&["h5".to_owned(), "html".to_owned(), "table of 1".to_owned()]), "{:?}\n{}", found, text);
        prop_assert_eq!(tolerant_count(text), 1, "{}", text);
    }

    #[test]
    fn blocks_are_separated_by_one_blank_line(texts in vec(hostile(), 1..6)) {
        let mut md = Markdown::new();
        for text in &texts {
            md.text(text).heading(2, text);
        }
        prop_assert!(!md.as_str().contains("\n\n\n") && !md.as_str().ends_with('\n') && !md.as_str().starts_with('\n'));
    }
}
