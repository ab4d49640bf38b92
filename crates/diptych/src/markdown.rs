//! The writer of the Markdown panel, and the only way a tool draws it.
//!
//! Structure comes from methods, never from text: dynamic text is escaped wherever it is put, and Markdown that
//! is written as Markdown must be a `&'static str` ([`Line::literal`]). What cannot be written by accident is a
//! heading, a row, a link, HTML or a contract marker that came out of somebody's data.
//!
//! Written by hand because the crates that parse Markdown do not write it safely from pieces, and a panel is on
//! the path of every call: one buffer, one pass, nothing copied unless something has to be escaped.
//!
//! ```
//! # use diptych::Markdown;
//! let mut md = Markdown::new();
//! md.heading(2, "Index").marker("pattern-index:v1").table(&["Pattern", "Category"], |table| {
//!     table.row(|row| {
//!         row.cell(|line| {
//!             line.bold("A | B").literal(" (").code("a-or-b").literal(")");
//!         });
//!         row.text("choice");
//!     });
//! });
//! assert_eq!(md.drawn().markers("pattern-index:v1"), 1);
//! assert_eq!(
//!     md.finish(),
//!     "## Index\n\n<!-- kind:pattern-index:v1 -->\n| Pattern | Category |\n| :--- | :--- |\n\
//!      | **A \\| B** (`a-or-b`) | choice |"
//! );
//! ```

mod embed;
mod escape;
mod line;
mod quote;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

pub use line::Line;
pub use quote::Quote;
pub use table::{Row, Table};

/// What the last block was: it decides whether the next one may stand directly below it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Block {
    #[default]
    Paragraph,
    Heading,
    Bullet,
    /// The number that was written.
    Numbered(usize),
    Table,
    Fence,
    Quote,
    Marker,
    Embed,
}

/// A Markdown panel being drawn. Blocks are separated by one blank line and there is no newline at the end.
///
/// A block whose content turns out empty (only white space) is left out, so that a label without a value can be
/// written without asking first.
#[derive(Debug, Default)]
pub struct Markdown {
    pen: Line,
    last: Block,
    tight: bool,
    drawn: Drawn,
}

/// What was drawn: how often each marker was written.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Drawn {
    markers: Vec<(&'static str, usize)>,
}

impl Drawn {
    /// How often the marker `name` (such as `pattern-card:v1`) was drawn.
    pub fn markers(&self, name: &str) -> usize {
        self.markers.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }

    /// Every marker that was drawn with its count, in the order of first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.markers.iter().copied()
    }

    /// How many markers were drawn in all.
    pub fn total(&self) -> usize {
        self.markers.iter().map(|(_, count)| count).sum()
    }
}

impl Markdown {
    /// An empty panel.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty panel with room for `bytes`, for answers whose size is known roughly.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut md = Self::default();
        md.pen.out.reserve(bytes);
        md
    }

    /// A heading of dynamic text. Levels outside 1–6 are brought to the nearest of them.
    pub fn heading(&mut self, level: u8, text: impl AsRef<str>) -> &mut Self {
        self.heading_with(level, |line| {
            line.text(text.as_ref());
        })
    }

    /// A heading made of pieces.
    pub fn heading_with(&mut self, level: u8, f: impl FnOnce(&mut Line)) -> &mut Self {
        self.separate(Block::Heading);
        for _ in 0..level.clamp(1, 6) {
            self.pen.out.push('#');
        }
        self.pen.out.push(' ');
        self.pen.begin();
        f(&mut self.pen);
        self.pen.end_heading();
        self
    }

    /// A block of one line, made of pieces.
    pub fn paragraph(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        let before = (self.pen.out.len(), self.last, self.tight);
        self.separate(Block::Paragraph);
        self.pen.begin();
        f(&mut self.pen);
        if !self.pen.end() {
            self.pen.out.truncate(before.0);
            (self.last, self.tight) = (before.1, before.2);
        }
        self
    }

    /// A line directly below the previous block, without a blank line between. (Below a table or an embedded text
    /// the blank line stays: the line would become part of it.)
    pub fn line(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        self.tight().paragraph(f);
        // An empty line is left out, and must not make what comes after it tight.
        self.tight = false;
        self
    }

    /// A paragraph of dynamic text.
    pub fn text(&mut self, text: impl AsRef<str>) -> &mut Self {
        self.paragraph(|line| {
            line.text(text.as_ref());
        })
    }

    /// An item of a list. Consecutive bullets form one list.
    pub fn bullet(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        self.separate(Block::Bullet);
        self.pen.out.push_str("- ");
        self.item(f)
    }

    /// An item of a numbered list. Consecutive items count on from 1.
    pub fn numbered(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        let number = match self.last {
            Block::Numbered(number) if !self.is_empty() => number + 1,
            _ => 1,
        };
        self.separate(Block::Numbered(number));
        // Writing to a String cannot fail.
        let _ = write!(self.pen.out, "{number}. ");
        self.item(f)
    }

    /// A table: the header row, the alignment row and what `f` adds. Without headers there is no table.
    pub fn table(&mut self, headers: &[&'static str], f: impl FnOnce(&mut Table)) -> &mut Self {
        if headers.is_empty() {
            return self;
        }
        self.separate(Block::Table);
        let mut table = Table::open(std::mem::take(&mut self.pen), headers);
        f(&mut table);
        self.pen = table.close();
        self
    }

    /// A fenced block of code, which is kept as it is: the fence is longer than any inside.
    pub fn fence(&mut self, language: &str, code: &str) -> &mut Self {
        self.draw_fence(language, code, false);
        self
    }

    /// Like [`Markdown::fence`], but code longer than `max_bytes` is cut after the last whole line that fits and
    /// ends in a line `...`. Says whether it was cut.
    pub fn fence_cut(&mut self, language: &str, code: &str, max_bytes: usize) -> bool {
        let code = code.trim_end_matches(['\n', '\r']);
        if code.len() <= max_bytes {
            self.draw_fence(language, code, false);
            return false;
        }
        // The line break after the last whole line may itself lie just past the limit.
        let fits = &code.as_bytes()[..=max_bytes];
        let end = fits.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(0);
        self.draw_fence(language, &code[..end], true);
        true
    }

    /// Text of a user. Every line of it begins with `> `, whatever it contains; its own Markdown stays as it is.
    pub fn quote(&mut self, text: &str) -> &mut Self {
        self.quote_with(|quote| {
            quote.text(text);
        })
    }

    /// A quote made of several pieces: text, images, links, lines.
    pub fn quote_with(&mut self, f: impl FnOnce(&mut Quote)) -> &mut Self {
        self.separate(Block::Quote);
        let mut quote = Quote::open(std::mem::take(&mut self.pen));
        f(&mut quote);
        self.pen = quote.close();
        self
    }

    /// The contract marker `<!-- kind:NAME -->` on a line of its own. It belongs to what follows, which is drawn
    /// directly below it.
    pub fn marker(&mut self, name: &'static str) -> &mut Self {
        self.separate(Block::Marker);
        self.pen.out.push_str("<!-- kind:");
        self.pen.out.push_str(name);
        self.pen.out.push_str(" -->");
        match self.drawn.markers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.drawn.markers.push((name, 1)),
        }
        self
    }

    /// The next block follows directly, without the blank line, wherever Markdown still reads it as a block of
    /// its own.
    pub fn tight(&mut self) -> &mut Self {
        self.tight = true;
        self
    }

    /// Foreign Markdown as it is, such as a section of a catalogue. Markers in it are broken, and whatever it
    /// leaves open (a fence, a comment) cannot reach past its end.
    pub fn embed(&mut self, markdown: &str) -> &mut Self {
        self.embed_deeper(markdown, 0)
    }

    /// Like [`Markdown::embed`], with every `#` heading `deeper` levels further down (6 at most). Headings made by
    /// underlining keep their level.
    pub fn embed_deeper(&mut self, markdown: &str, deeper: u8) -> &mut Self {
        let markdown = embed::trim_blank_lines(markdown);
        if !markdown.is_empty() {
            self.separate(Block::Embed);
            embed::draw(&mut self.pen.out, markdown, deeper);
        }
        self
    }

    /// What was drawn so far.
    pub fn drawn(&self) -> Drawn {
        self.drawn.clone()
    }

    /// Whether nothing was drawn yet.
    pub fn is_empty(&self) -> bool {
        self.pen.out.is_empty()
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.pen.out.len()
    }

    /// The panel as drawn so far.
    pub fn as_str(&self) -> &str {
        &self.pen.out
    }

    /// The panel.
    pub fn finish(self) -> String {
        self.pen.out
    }

    fn item(&mut self, f: impl FnOnce(&mut Line)) -> &mut Self {
        self.pen.begin();
        f(&mut self.pen);
        self.pen.trim_start();
        if !self.pen.end() {
            // A bare dash below a paragraph would underline it into a heading, so an empty item keeps its place.
            self.pen.out.push_str("&nbsp;");
        }
        self
    }

    fn draw_fence(&mut self, language: &str, code: &str, cut: bool) {
        self.separate(Block::Fence);
        let out = &mut self.pen.out;
        let code = code.trim_end_matches(['\n', '\r']);
        let ticks = escape::longest_run(code, b'`').max(2) + 1;
        out.extend(std::iter::repeat_n('`', ticks));
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_' | '#' | '.');
        out.extend(language.trim().chars().take_while(plain).take(32));
        if !code.is_empty() {
            out.push('\n');
            escape::push_verbatim(out, code);
        }
        if cut {
            out.push_str("\n...");
        }
        out.push('\n');
        out.extend(std::iter::repeat_n('`', ticks));
    }

    /// Ends the previous block and remembers the next.
    fn separate(&mut self, next: Block) {
        let tight = std::mem::take(&mut self.tight);
        let last = std::mem::replace(&mut self.last, next);
        if self.pen.out.is_empty() {
            return;
        }
        let joined = match (last, next) {
            (Block::Marker, _)
            | (Block::Bullet, Block::Bullet)
            | (Block::Numbered(_), Block::Numbered(_)) => true,
            // These would swallow what stands directly below them, or be swallowed by what stands above.
            (Block::Table | Block::Embed, _) | (_, Block::Table) | (Block::Quote, Block::Quote) => false,
            _ => tight,
        };
        self.pen.out.push_str(if joined { "\n" } else { "\n\n" });
    }
}
