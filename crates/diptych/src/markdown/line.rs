//! One line of Markdown, made of pieces: literals by the author, everything else escaped.

use std::fmt::{Display, Write as _};

use super::escape::{self, Inline};

/// A line being drawn. Whatever its pieces are, it stays one line, and it never becomes another kind of block.
#[derive(Debug, Default)]
pub struct Line {
    /// The whole panel. It lives here so that pieces are written to where they stay.
    pub(super) out: String,
    /// Where the content of this line begins.
    start: usize,
    /// The backticks with which a literal has opened a code span that is not closed yet.
    open: usize,
    /// The line is a cell of a table.
    pub(super) cell: bool,
    /// Room for the raw text of a piece that has to be escaped.
    scratch: String,
}

impl Line {
    /// Inline Markdown written by the author of the tool. HTML in it is shown, not passed on, and it opens no block.
    pub fn literal(&mut self, markdown: &'static str) -> &mut Self {
        self.seam(markdown);
        let from = self.out.len();
        let inline = Inline { cell: self.cell, open: self.open > 0, ..Inline::default() };
        escape::push_literal(&mut self.out, markdown, inline);
        // A literal must not lend half of a link or an escape to the dynamic text behind it.
        if markdown.ends_with("](") {
            self.out.pop();
            self.out.push_str("\\(");
        } else if escape::has_open_escape(&self.out[from..]) {
            self.out.push('\\');
        }
        if markdown.contains('`') {
            self.open = escape::open_code(markdown, self.open);
        }
        self
    }

    /// Dynamic text. Line breaks and control characters become a space.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        self.escaped(text, false, false);
        self
    }

    /// Dynamic text in bold.
    pub fn bold(&mut self, text: impl Display) -> &mut Self {
        self.marked("**", text)
    }

    /// Dynamic text in italics.
    pub fn emphasis(&mut self, text: impl Display) -> &mut Self {
        self.marked("*", text)
    }

    /// Dynamic text as inline code, whatever backticks it contains.
    pub fn code(&mut self, text: impl AsRef<str>) -> &mut Self {
        let text = text.as_ref();
        if self.open > 0 {
            return self.text(text);
        }
        if text.is_empty() {
            return self;
        }
        let ticks = match text.contains('`') {
            true => escape::longest_run(text, b'`') + 1,
            false => 1,
        };
        let spaced = |c: char| c == ' ' || escape::is_break_or_control(c);
        let padded = text.starts_with('`')
            || text.ends_with('`')
            || (text.starts_with(spaced) && text.ends_with(spaced) && !text.chars().all(spaced));
        self.seam("`");
        self.out.extend(std::iter::repeat_n('`', ticks));
        if padded {
            self.out.push(' ');
        }
        escape::push_code(&mut self.out, text, self.cell);
        if padded {
            self.out.push(' ');
        }
        self.out.extend(std::iter::repeat_n('`', ticks));
        self
    }

    /// A link. A URL of a scheme that is not for reading (anything but `http`, `https`, `at`, `mailto` and
    /// relative ones) is written as text.
    pub fn link(&mut self, text: impl AsRef<str>, url: impl AsRef<str>) -> &mut Self {
        self.target(false, text.as_ref(), url.as_ref())
    }

    /// An image, with the same care for its URL as [`Line::link`].
    pub fn image(&mut self, alt: impl AsRef<str>, url: impl AsRef<str>) -> &mut Self {
        self.target(true, alt.as_ref(), url.as_ref())
    }

    /// Whether the line has no content yet.
    pub fn is_empty(&self) -> bool {
        self.out[self.start..].trim_start_matches(' ').is_empty()
    }

    fn target(&mut self, image: bool, text: &str, url: &str) -> &mut Self {
        let url = url.trim();
        if self.open > 0 || !escape::is_allowed_url(url) {
            self.text(text);
            if !url.is_empty() && url != text {
                self.text(format_args!("{}({url})", if text.is_empty() { "" } else { " " }));
            }
            return self;
        }
        if image {
            self.out.push('!');
        } else if self.out[self.start..].ends_with('!')
            && !escape::has_open_escape(&self.out[..self.out.len() - 1])
        {
            // "Wow!" before a link would turn it into an image.
            self.out.pop();
            self.out.push_str("\\!");
        }
        self.out.push('[');
        let text = if text.trim().is_empty() && !image { url } else { text };
        self.escaped(text, false, true);
        self.out.push_str("](");
        escape::push_url(&mut self.out, url);
        self.out.push(')');
        self
    }

    fn marked(&mut self, mark: &str, text: impl Display) -> &mut Self {
        let before = self.out.len();
        self.out.push_str(mark);
        let from = self.out.len();
        self.escaped(text, true, false);
        // White space just inside the marks would keep them from being marks.
        let kept = self.out[from..].trim_end().len();
        self.out.truncate(from + kept);
        let leading = kept - self.out[from..].trim_start().len();
        self.out.drain(from..from + leading);
        if self.out.len() == from {
            self.out.truncate(before);
        } else {
            self.out.push_str(mark);
        }
        self
    }

    /// Writes the text where it will stay, and only if something in it needs escaping takes it back.
    fn escaped(&mut self, text: impl Display, strong: bool, label: bool) {
        let from = self.out.len();
        // A Display that fails has written what it could.
        let _ = write!(self.out, "{text}");
        if from == self.start || self.out[self.start..from].bytes().all(|byte| byte == b' ') {
            let raw = &self.out[from..];
            let leading =
                raw.len() - raw.trim_start_matches(|c| c == ' ' || escape::is_break_or_control(c)).len();
            self.out.drain(from..from + leading);
        }
        let raw = &self.out[from..];
        if raw.is_empty() {
            return;
        }
        let inline = Inline { cell: self.cell, open: self.open > 0, strong, label };
        let seam = matches!(raw.as_bytes()[0], b'`' | b'(');
        if !seam && !escape::needs_escape(raw, inline) {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.push_str(raw);
        self.out.truncate(from);
        if !inline.open {
            self.seam(&scratch);
        }
        escape::push_inline(&mut self.out, &scratch, inline);
        self.scratch = scratch;
    }

    /// Keeps the end of what is there and the start of the next piece from meaning something together.
    fn seam(&mut self, next: &str) {
        let before = &self.out[self.start..];
        match next.as_bytes().first() {
            Some(b'`') if before.ends_with('`') => self.out.push(' '),
            Some(b'(') if before.ends_with(']') => self.out.push('\\'),
            _ => {}
        }
    }

    pub(super) fn begin(&mut self) {
        self.start = self.out.len();
        self.open = 0;
    }

    pub(super) fn trim_start(&mut self) {
        let content = &self.out[self.start..];
        let leading = content.len() - content.trim_start_matches(' ').len();
        if leading > 0 {
            self.out.drain(self.start..self.start + leading);
        }
    }

    /// Ends content that can only be inline: a cell, a heading.
    pub(super) fn end_inline(&mut self) {
        let kept = self.out[self.start..].trim_end_matches(' ').len();
        self.out.truncate(self.start + kept);
        if self.out[self.start..].contains('<')
            && let std::borrow::Cow::Owned(broken) = escape::break_markers(&self.out[self.start..])
        {
            self.out.truncate(self.start);
            self.out.push_str(&broken);
        }
    }

    /// Ends content that stands where a block could begin. Says whether there is any.
    pub(super) fn end(&mut self) -> bool {
        self.end_inline();
        if let Some(at) = escape::block_opener(&self.out[self.start..]) {
            self.out.insert(self.start + at, '\\');
        }
        self.out.len() > self.start
    }

    /// Ends a heading, whose last `#`s would be read as its closing.
    pub(super) fn end_heading(&mut self) {
        self.trim_start();
        self.end_inline();
        let content = &self.out[self.start..];
        let title = content.trim_end_matches('#');
        if title.len() < content.len() && (title.is_empty() || title.ends_with(' ')) {
            self.out.insert(self.start + title.len(), '\\');
        }
        if self.out.len() == self.start {
            self.out.pop();
        }
    }
}
