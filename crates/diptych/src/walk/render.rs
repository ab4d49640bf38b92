//! Step 5 of the walk: the only place that builds content blocks.
//!
//! Format gating, MIME types, the client profile and the size budget are decided here and nowhere else.
//! Only the panels that were asked for are drawn; one JSON value serves both JSON surfaces.

use super::panel::{Panel, Truncated};
use super::run;
use crate::answer::{More, Panels};
use crate::content::Content;
use crate::format::Format;
use crate::markdown::{Drawn, Markdown};
use crate::needs::{NeedsInput, NeedsInputPanel};
use crate::profile::Structured;
use crate::stop::{ToolError, ToolErrorPanel};

/// A result, ready to be written: blocks, and the structured panel if this client gets it.
#[derive(Debug, Clone)]
pub(crate) struct Rendered {
    pub(crate) blocks: Vec<Block>,
    pub(crate) structured: Option<Panel>,
    pub(crate) is_error: bool,
}

/// A content block.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Text { text: String, mime_type: &'static str },
    Other(Content),
}

impl Block {
    /// How many bytes of words it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Block::Text { text, .. } => text.len(),
            Block::Other(_) => 0,
        }
    }
}

pub(crate) const MARKDOWN: &str = "text/markdown";
pub(crate) const JSON: &str = "application/json";
pub(crate) const PLAIN: &str = "text/plain";

/// How to render: what the caller asked for, what the client can take, how much fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rendering {
    pub(crate) format: Format,
    pub(crate) structured: Structured,
    /// Bytes that an answer may take.
    pub(crate) budget: usize,
}

impl Rendering {
    /// An answer. Cut at a record boundary when it is too large; an error when it cannot be cut.
    pub(crate) fn answer(self, panels: &mut dyn Panels) -> Result<Rendered, ToolError> {
        let total = run::guard(|| panels.records())?;
        let mut more = run::guard(|| panels.more())?;
        let mut keep = total;
        loop {
            let drawing = self.draw(panels, keep, more.as_ref())?;
            let size = drawing.size();
            if size <= self.budget {
                return Ok(self.assemble(drawing, false));
            }
            if keep <= 1 {
                return Err(too_large(self.budget, keep));
            }
            // Records differ in size, so this is an estimate, with a little room that often spares another drawing.
            let fitting = keep.saturating_mul(self.budget - self.budget / 64) / size;
            keep = fitting.clamp(1, keep - 1);
            let next_cursor = run::guard(|| panels.cut(keep))?;
            // An answer on a later page knows how many records there are in all.
            let known = run::guard(|| panels.more())?.or(more);
            let total = known.map_or(total, |more| more.total);
            more = Some(More { total, next_cursor });
        }
    }

    /// An ask that could not be put to the client.
    pub(crate) fn ask(self, ask: &NeedsInput) -> Result<Rendered, ToolError> {
        let mut markdown = Markdown::new();
        if self.format.has_markdown() {
            run::guard(|| ask.draw(&mut markdown))?;
        }
        let panel = Panel::of(NeedsInputPanel::KIND, &ask.panel());
        Ok(self.assemble(self.drawing(markdown, panel, Vec::new()), ask.is_error))
    }

    /// A failure: the message and the hint as plain text, the JSON block alone for `json`.
    pub(crate) fn failure(self, error: &ToolError) -> Rendered {
        let panel = Panel::of(ToolErrorPanel::KIND, &ToolErrorPanel::of(error));
        let mut blocks = Vec::new();
        if self.format.has_markdown() {
            let text = match &error.hint {
                Some(hint) => format!("{}\n{hint}", error.message),
                None => error.message.clone(),
            };
            blocks.push(Block::Text { text, mime_type: PLAIN });
        }
        if self.format.has_json() {
            blocks.push(Block::Text { text: panel.pretty(), mime_type: JSON });
        }
        Rendered { blocks, structured: self.structured.is_sent().then_some(panel), is_error: true }
    }

    fn draw(self, panels: &mut dyn Panels, shown: usize, more: Option<&More>) -> Result<Drawing, ToolError> {
        run::guard(|| {
            let mut markdown = Markdown::new();
            if self.format.has_markdown() {
                panels.draw(&mut markdown);
            }
            let drawn = if self.format.has_markdown() { markdown.drawn() } else { Drawn::default() };
            panels.settle(&drawn);
            let truncated = more.map(|more| Truncated {
                shown,
                total: more.total,
                next_cursor: more.next_cursor.clone(),
            });
            let panel = panels.panel(truncated.as_ref())?;
            if let Some(truncated) = truncated.filter(|_| self.format.has_markdown()) {
                say_truncated(&mut markdown, &truncated);
            }
            Ok(self.drawing(markdown, panel, panels.attachments()))
        })?
        .map_err(|problem: String| ToolError::masked(&problem))
    }

    fn drawing(self, markdown: Markdown, panel: Panel, attachments: Vec<Content>) -> Drawing {
        let pretty = self.format.has_json().then(|| panel.pretty());
        Drawing { markdown, panel, pretty, attachments }
    }

    fn assemble(self, drawing: Drawing, is_error: bool) -> Rendered {
        let Drawing { markdown, panel, pretty, attachments } = drawing;
        let mut blocks = Vec::with_capacity(2 + attachments.len());
        // Clients fail on empty content: a drawing without words gives way only to something else.
        if self.format.has_markdown() && (!markdown.is_empty() || attachments.is_empty()) {
            blocks.push(Block::Text { text: markdown.finish(), mime_type: MARKDOWN });
        }
        blocks.extend(attachments.into_iter().map(Block::Other));
        blocks.extend(pretty.map(|text| Block::Text { text, mime_type: JSON }));
        Rendered { blocks, structured: self.structured.is_sent().then_some(panel), is_error }
    }
}

/// Both panels, before they become blocks.
struct Drawing {
    markdown: Markdown,
    panel: Panel,
    /// The JSON block, where there is one.
    pretty: Option<String>,
    attachments: Vec<Content>,
}

impl Drawing {
    /// What a client would have to read, at most: the words of the blocks, or the structured panel.
    /// Attachments are data, not words.
    fn size(&self) -> usize {
        let blocks = self.markdown.len() + self.pretty.as_ref().map_or(0, String::len);
        blocks.max(self.panel.compact().len())
    }
}

fn say_truncated(markdown: &mut Markdown, truncated: &Truncated) {
    markdown.paragraph(|line| {
        line.literal("Showing ").text(truncated.shown).literal(" of ").text(truncated.total).literal(". ");
        match &truncated.next_cursor {
            Some(cursor) => {
                line.literal("Call again with `cursor` set to ").code(cursor).literal(" for the rest.");
            }
            None => {
                line.literal("Narrow the request to see the rest.");
            }
        }
    });
}

/// A record is never cut: only its author knows what of it is a whole.
fn too_large(budget: usize, records: usize) -> ToolError {
    let hint = if records > 0 {
        "Not even its first record fits: ask for others, or for a part of it. The server's budget can be raised."
    } else {
        "Ask for less, or for something more specific. The server's budget can be raised."
    };
    ToolError::client(format!("The answer is larger than the {} tokens that fit.", budget / 4)).hint(hint)
}
