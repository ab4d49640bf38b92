//! Markdown for a terminal.
//!
//! Written by hand over a parser: the renderers there are bring a terminal library each, and ours need no more
//! than headings, lists, quotes, code and tables.

use console::{Style, measure_text_width};
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};

use crate::output::tame;

/// The widest line of prose; longer ones are hard to read.
const WIDEST: usize = 100;

/// Renders Markdown for the terminal at standard output.
pub(crate) fn terminal(markdown: &str) -> String {
    let width = usize::from(console::Term::stdout().size().1);
    render(markdown, width.clamp(20, WIDEST), console::colors_enabled())
}

/// Renders Markdown in lines of at most this width, but for code and table rows, which are never broken.
fn render(markdown: &str, width: usize, styled: bool) -> String {
    let markdown = tame(markdown);
    let mut renderer = Renderer { width, styled, ..Renderer::default() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(&markdown, options) {
        renderer.event(event);
    }
    renderer.flush();
    renderer.out.trim_end().to_owned()
}

#[derive(Default)]
struct Renderer {
    out: String,
    width: usize,
    styled: bool,
    /// What stands before each line: marks of quotes, indents of lists.
    margins: Vec<Margin>,
    /// The text of the block that is being read, in pieces of one style.
    pieces: Vec<(String, Style)>,
    /// The styles that apply now, each on top of the one before.
    styles: Vec<Style>,
    lists: Vec<Option<u64>>,
    /// The block that is being read is code.
    code: Option<String>,
    table: Option<Table>,
    links: Vec<String>,
    /// A blank line is due before the next block.
    gap: bool,
}

/// What stands before the lines of a block; the first may have something of its own, such as a bullet.
struct Margin {
    first: Option<String>,
    rest: String,
}

#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.push(&text),
            },
            Event::Code(text) => {
                let style = self.style().cyan();
                self.pieces.push((text.into_string(), style));
            }
            Event::SoftBreak => self.push(" "),
            Event::HardBreak => self.push("\n"),
            Event::Rule => self.block(&"─".repeat(self.room().min(24)), &Style::new().dim()),
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            // Comments are marks for programs; other HTML says nothing to a terminal.
            Event::Html(_) | Event::InlineHtml(_) => {}
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push(&text),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.flush();
                let style = Style::new().bold();
                self.styles.push(if level as usize <= 2 { style.underlined() } else { style });
            }
            Tag::BlockQuote(_) => {
                self.flush();
                let mark = self.paint("│ ", &Style::new().dim());
                self.separate();
                self.margins.push(Margin { first: None, rest: mark });
            }
            Tag::CodeBlock(_) => {
                self.flush();
                self.code = Some(String::new());
            }
            Tag::List(start) => {
                self.flush();
                if self.lists.is_empty() {
                    self.separate();
                }
                self.lists.push(start);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let bullet = format!("{number}. ");
                        *number += 1;
                        bullet
                    }
                    _ => "• ".to_owned(),
                };
                let rest = " ".repeat(measure_text_width(&bullet));
                self.gap = false;
                self.margins.push(Margin { first: Some(bullet), rest });
            }
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.styles.push(Style::new().bold());
                self.row();
            }
            Tag::TableRow => self.row(),
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(self.style().strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
                self.styles.push(self.style().underlined());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                if let Some(code) = self.code.take() {
                    self.code(&code);
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without text still shows its bullet.
                if self.margins.last().is_some_and(|margin| margin.first.is_some()) {
                    self.write_line("");
                }
                self.margins.pop();
                self.gap = false;
            }
            TagEnd::TableCell => {
                let cell = self.inline();
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.draw(&table);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let target = self.links.pop().unwrap_or_default();
                let shown = self.pieces.last().is_some_and(|(text, _)| *text == target);
                if !shown && !target.is_empty() {
                    self.pieces.push((format!(" <{target}>"), Style::new().dim()));
                }
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().cloned().unwrap_or_default()
    }

    fn push(&mut self, text: &str) {
        let style = self.style();
        self.pieces.push((text.to_owned(), style));
    }

    fn paint(&self, text: &str, style: &Style) -> String {
        if text.is_empty() {
            return String::new();
        }
        style.clone().force_styling(self.styled).apply_to(text).to_string()
    }

    fn row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    /// The text read so far on one line.
    fn inline(&mut self) -> String {
        let pieces = std::mem::take(&mut self.pieces);
        pieces.iter().map(|(text, style)| self.paint(&text.replace('\n', " "), style)).collect()
    }

    /// How wide a line's own text may be.
    fn room(&self) -> usize {
        let margin: usize = self.margins.iter().map(|margin| measure_text_width(&margin.rest)).sum();
        self.width.saturating_sub(margin).max(20)
    }

    /// Writes the block that was read, if there is one.
    fn flush(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.iter().all(|(text, _)| text.trim().is_empty()) {
            return;
        }
        self.separate();
        for mut line in wrap(&pieces, self.room()) {
            if let Some((text, _)) = line.last_mut() {
                text.truncate(text.trim_end().len());
            }
            let line: String = line.iter().map(|(text, style)| self.paint(text, style)).collect();
            self.write_line(&line);
        }
        self.gap = true;
    }

    fn block(&mut self, text: &str, style: &Style) {
        self.separate();
        let line = self.paint(text, style);
        self.write_line(&line);
        self.gap = true;
    }

    fn code(&mut self, code: &str) {
        self.separate();
        let style = Style::new().cyan();
        for line in code.trim_end_matches('\n').lines() {
            let line = self.paint(&line.replace('\t', "    "), &style);
            self.write_line(if line.is_empty() { line } else { format!("  {line}") }.as_str());
        }
        self.gap = true;
    }

    fn draw(&mut self, table: &Table) {
        let columns = table.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = table.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| measure_text_width(cell)).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        self.separate();
        for (number, row) in table.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let alignment = match table.alignments.get(column) {
                    Some(Alignment::Right) => console::Alignment::Right,
                    Some(Alignment::Center) => console::Alignment::Center,
                    _ => console::Alignment::Left,
                };
                console::pad_str(cell, *width, alignment, None).into_owned()
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            self.write_line(line.trim_end());
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                let rule = self.paint(&rule.join("  "), &Style::new().dim());
                self.write_line(&rule);
            }
        }
        self.gap = true;
    }

    fn separate(&mut self) {
        if self.gap && !self.out.is_empty() {
            self.gap = false;
            self.write_line("");
        }
        self.gap = false;
    }

    fn write_line(&mut self, line: &str) {
        let mut margin = String::new();
        let blank = line.is_empty();
        for one in &mut self.margins {
            // A blank line does not use up a bullet, unless the item is nothing but blank.
            match one.first.take() {
                Some(first) => margin.push_str(&first),
                None => margin.push_str(&one.rest),
            }
        }
        let full = format!("{margin}{line}");
        self.out.push_str(if blank { full.trim_end() } else { &full });
        self.out.push('\n');
    }
}

/// Breaks text between words into lines of at most this width. A line break in the text stays one.
fn wrap(pieces: &[(String, Style)], width: usize) -> Vec<Vec<(String, Style)>> {
    let mut lines: Vec<Vec<(String, Style)>> = vec![Vec::new()];
    let mut used = 0;
    for (text, style) in pieces {
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                lines.push(Vec::new());
                used = 0;
            }
            for word in part.split_inclusive(' ') {
                let wide = measure_text_width(word.trim_end());
                if used > 0 && used + wide > width && starts_a_word(lines.last()) {
                    lines.push(Vec::new());
                    used = 0;
                }
                // A new line does not start with the space before its first word.
                let word = if used == 0 { word.trim_start() } else { word };
                used += measure_text_width(word);
                let Some(line) = lines.last_mut().filter(|_| !word.is_empty()) else { continue };
                match line.last_mut() {
                    Some((before, same)) if same == style => before.push_str(word),
                    _ => line.push((word.to_owned(), style.clone())),
                }
            }
        }
    }
    lines
}

/// Whether what follows on this line starts a new word: words can be in pieces of several styles.
fn starts_a_word(line: Option<&Vec<(String, Style)>>) -> bool {
    line.and_then(|line| line.last()).is_none_or(|(text, _)| text.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_drawn_for_reading() {
        let markdown = "# Found **2**\n\n<!-- mark:v1 -->\n| id | title |\n|---|---:|\n| `a` | Ah |\n| bcd | Be |\n\n\
            A paragraph that is long enough to be broken into two lines here.\n\n\
            > quoted\n> words\n>\n> more\n\n- one\n- two\n  1. deep\n  2. deeper\n\n\
            ```ts\nlet a = 1;\n\tb();\n```\n\nSee [the page](https://example.com) and <https://example.org>.\n\n---\n";
        insta::assert_snapshot!(render(markdown, 40, false), @r"
        Found 2

        id   title
        ───  ─────
        a       Ah
        bcd     Be

        A paragraph that is long enough to be
        broken into two lines here.

        │ quoted words
        │
        │ more

        • one
        • two
          1. deep
          2. deeper

          let a = 1;
              b();

        See the page <https://example.com> and
        https://example.org.

        ────────────────────────
        ");
    }

    #[test]
    fn styles_are_escape_sequences_only_when_wanted() {
        let styled = render("**bold** `code`", 40, true);
        assert_eq!(styled, "\u{1b}[1mbold\u{1b}[0m \u{1b}[36mcode\u{1b}[0m");
        assert_eq!(render("**bold** `code`", 40, false), "bold code");
    }

    #[test]
    fn text_cannot_bring_its_own_escape_sequences() {
        assert!(!render("a \x1b[2J b\n\n```\n\x1b]0;title\x07\n```", 40, false).contains('\x1b'));
    }
}
