//! Answers: values with two panels.
//!
//! One struct is one kind. It says its name ([`Present::KIND`]), how it is drawn
//! ([`Present::markdown`]) and, by deriving `Serialize` and `JsonSchema`, what programs get. The toolkit
//! adds the `kind`, cuts what is too large, and never lets the two panels disagree.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::content::Content;
use crate::markdown::{Drawn, Markdown};
use crate::walk::panel::{Panel, Truncated};

/// A kind of answer.
///
/// ```
/// use diptych::{Markdown, Present};
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Greeting { name: String }
///
/// impl Present for Greeting {
///     const KIND: &'static str = "greeting:v1";
///     fn markdown(&self, markdown: &mut Markdown) {
///         markdown.paragraph(|line| { line.literal("Hello, ").bold(&self.name).literal("!"); });
///     }
/// }
/// ```
pub trait Present: Serialize + JsonSchema + Send + 'static {
    /// The name and version of the schema, such as `greeting:v1`. A breaking change raises the version.
    const KIND: &'static str;

    /// Draws the Markdown panel. It shows facts, not the tool's own doings.
    fn markdown(&self, markdown: &mut Markdown);

    /// Called after drawing and before the JSON panel is made, so that what it says about the drawing is
    /// true by construction. When no Markdown is wanted, `drawn` is empty.
    fn settle(&mut self, _drawn: &Drawn) {}

    /// How many records the answer lists: what the size budget may cut.
    fn records(&self) -> usize {
        0
    }

    /// Keeps the first `keep` records and returns the cursor at which the rest begins, if there is one.
    fn cut(&mut self, _keep: usize) -> Option<String> {
        None
    }

    /// What the answer itself left out, when the tool pages by itself.
    fn more(&self) -> Option<More> {
        None
    }

    /// Images, sounds and resources that go with the answer, in every format.
    fn attachments(&self) -> Vec<Content> {
        Vec::new()
    }
}

/// There is more than the answer shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct More {
    /// How many records there are in all.
    pub total: usize,
    /// Where the rest begins: the tool takes it as `cursor`.
    pub next_cursor: Option<String>,
}

/// What a tool may answer: one kind (any [`Present`]), or one of two ([`Either`], which nests).
pub trait Answer: Send + Sized + 'static {
    /// The kinds with their schemas, without the `kind` property itself.
    fn kinds(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)>;

    /// The value behind one of the kinds.
    fn into_panels(self) -> Box<dyn Panels>;
}

impl<T: Present> Answer for T {
    fn kinds(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
        vec![(T::KIND, T::json_schema(generator))]
    }

    fn into_panels(self) -> Box<dyn Panels> {
        Box::new(self)
    }
}

/// One of two kinds of answer.
#[derive(Debug, Clone)]
pub enum Either<A, B> {
    /// The first kind.
    Left(A),
    /// The second kind.
    Right(B),
}

impl<A: Answer, B: Answer> Answer for Either<A, B> {
    fn kinds(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
        let mut kinds = A::kinds(generator);
        kinds.extend(B::kinds(generator));
        kinds
    }

    fn into_panels(self) -> Box<dyn Panels> {
        match self {
            Either::Left(answer) => answer.into_panels(),
            Either::Right(answer) => answer.into_panels(),
        }
    }
}

/// A [`Present`] whose type has been forgotten. Implemented for every `Present`, by nobody else.
pub trait Panels: Send {
    /// [`Present::KIND`].
    fn kind(&self) -> &'static str;
    /// [`Present::markdown`].
    fn draw(&self, markdown: &mut Markdown);
    /// [`Present::settle`].
    fn settle(&mut self, drawn: &Drawn);
    /// [`Present::records`].
    fn records(&self) -> usize;
    /// [`Present::cut`].
    fn cut(&mut self, keep: usize) -> Option<String>;
    /// [`Present::more`].
    fn more(&self) -> Option<More>;
    /// [`Present::attachments`].
    fn attachments(&self) -> Vec<Content>;
    /// The JSON panel, written.
    ///
    /// # Errors
    /// When the value does not serialise to an object.
    #[doc(hidden)]
    fn panel(&self, truncated: Option<&Truncated>) -> Result<Panel, String>;
}

impl<T: Present> Panels for T {
    fn kind(&self) -> &'static str {
        T::KIND
    }

    fn draw(&self, markdown: &mut Markdown) {
        self.markdown(markdown);
    }

    fn settle(&mut self, drawn: &Drawn) {
        Present::settle(self, drawn);
    }

    fn records(&self) -> usize {
        Present::records(self)
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        Present::cut(self, keep)
    }

    fn more(&self) -> Option<More> {
        Present::more(self)
    }

    fn attachments(&self) -> Vec<Content> {
        Present::attachments(self)
    }

    fn panel(&self, truncated: Option<&Truncated>) -> Result<Panel, String> {
        Panel::new(T::KIND, self, truncated)
    }
}

/// A plain text answer, for tools that have nothing more to say. Kind `text:v1`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Text {
    text: String,
    #[serde(skip)]
    attachments: Vec<Content>,
}

impl Text {
    /// The text. One that is too large for an answer is cut between lines.
    pub fn new(text: impl Into<String>) -> Self {
        Text { text: text.into(), attachments: Vec::new() }
    }

    /// Adds an image, a sound or a resource. An empty text draws nothing beside it.
    #[must_use]
    pub fn attach(mut self, content: Content) -> Self {
        self.attachments.push(content);
        self
    }
}

impl Present for Text {
    const KIND: &'static str = "text:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        if !self.text.is_empty() {
            markdown.text(&self.text);
        }
    }

    fn records(&self) -> usize {
        self.text.lines().count()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        let kept: usize = self.text.split_inclusive('\n').take(keep).map(str::len).sum();
        self.text.truncate(kept);
        None
    }

    fn attachments(&self) -> Vec<Content> {
        self.attachments.clone()
    }
}
