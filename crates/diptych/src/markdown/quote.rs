//! Quotes: what a user wrote, told apart from what the tool says by `> ` at the start of every line.

use super::{Line, escape};

/// A quote being drawn.
#[derive(Debug)]
pub struct Quote {
    pen: Line,
    depth: usize,
    empty: bool,
}

impl Quote {
    pub(super) fn open(pen: Line) -> Self {
        Self { pen, depth: 1, empty: true }
    }

    pub(super) fn close(mut self) -> Line {
        // Markdown has no empty quote; the bare mark keeps its place.
        if self.empty {
            self.prefix();
        }
        self.pen
    }

    /// Text of a user. Every kind of line break starts a new quoted line; white space at the end is dropped, and
    /// empty text draws nothing.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let text = text.trim_end();
        if text.is_empty() {
            return self;
        }
        // Before the lines are cut: white space inside a marker may be a line break.
        let text = &*escape::break_markers(text);
        let mut rest = text;
        loop {
            let (line, after) = escape::split_line(rest);
            self.prefix();
            escape::push_verbatim(&mut self.pen.out, line);
            match after {
                Some(after) => rest = after,
                None => return self,
            }
        }
    }

    /// A line of our own inside the quote, left out when it is empty.
    pub fn line(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        let (before, empty) = (self.pen.out.len(), self.empty);
        self.prefix();
        self.pen.begin();
        f(&mut self.pen);
        self.pen.trim_start();
        if !self.pen.end() {
            self.pen.out.truncate(before);
            self.empty = empty;
        }
        self
    }

    /// An image on a line of its own.
    pub fn image(&mut self, alt: impl AsRef<str>, url: impl AsRef<str>) -> &mut Self {
        self.line(|line| {
            line.image(alt, url);
        })
    }

    /// A link on a line of its own, as for the title of a link card.
    pub fn link(&mut self, text: impl AsRef<str>, url: impl AsRef<str>) -> &mut Self {
        self.line(|line| {
            line.link(text, url);
        })
    }

    /// A quote inside the quote: `> > `.
    pub fn quote_with(&mut self, f: impl FnOnce(&mut Quote)) -> &mut Self {
        self.depth += 1;
        f(self);
        self.depth -= 1;
        self
    }

    fn prefix(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.pen.out.push('\n');
        }
        for _ in 0..self.depth {
            self.pen.out.push_str("> ");
        }
    }
}
