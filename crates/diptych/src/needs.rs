//! What a tool says when it cannot go on: which fields, why, and what would fit.
//!
//! A tool stops with a [`NeedsInput`]; it never asks by itself. How the client is asked, if it can be
//! asked at all, is the business of the walk's *ask* step alone.

use std::fmt;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{Answer, Panels};
use crate::field::{Field, form_schema};
use crate::markdown::Markdown;
use crate::sample::Sample;
use crate::wire::Dialog;

/// The tool cannot go on without something.
///
/// ```
/// use diptych::{Field, NeedsInput};
/// let ask = NeedsInput::new("City Needed", "Where do you want to go?")
///     .reason("A trip needs a destination")
///     .field(Field::text("city").suggest(["Lisbon", "Kyoto"]));
/// ```
pub struct NeedsInput {
    pub(crate) title: String,
    pub(crate) message: String,
    pub(crate) reason: String,
    pub(crate) key: String,
    pub(crate) fields: Vec<Field>,
    pub(crate) visit: Option<Visit>,
    pub(crate) also: Vec<(String, Wanted)>,
    pub(crate) person: bool,
    pub(crate) is_error: bool,
    pub(crate) declined: Option<Box<dyn Panels>>,
    pub(crate) cancelled: Option<Box<dyn Panels>>,
    details: Option<Details>,
}

/// Draws what stands below the question.
type Details = Box<dyn Fn(&mut Markdown) + Send + Sync>;

/// What the model or the client, rather than a person, is asked for.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Sample(Sample),
    Roots,
}

/// An ask as it is put to a client: a dialog for the person, and what else is wanted, by key.
pub(crate) struct Questions {
    pub(crate) key: String,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) also: Vec<(String, Wanted)>,
}

/// A page that a person must visit; the answer is that the flow behind it has finished.
pub(crate) struct Visit {
    pub(crate) url: String,
    pub(crate) flow: String,
    pub(crate) finished: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl NeedsInput {
    /// An ask with a short title and the question itself.
    pub fn new(title: impl Into<String>, message: impl Into<String>) -> Self {
        NeedsInput {
            title: title.into(),
            message: message.into(),
            reason: String::new(),
            key: "input".to_owned(),
            fields: Vec::new(),
            visit: None,
            also: Vec::new(),
            person: false,
            is_error: false,
            declined: None,
            cancelled: None,
            details: None,
        }
    }

    /// Why it is needed, for programs.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// A field that is needed. Its answer joins the arguments under the field's name.
    #[must_use]
    pub fn field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }

    /// The key under which a client of 2026-07-28 sends the answer. Rarely of interest.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Only a person can answer: the client is asked natively even when a program called.
    #[must_use]
    pub fn person(mut self) -> Self {
        self.person = true;
        self
    }

    /// The payload, where it comes to that, is an error: nothing useful happened.
    #[must_use]
    pub fn as_error(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// What the tool answers when the person declines. Without it: the payload.
    #[must_use]
    pub fn declined(mut self, answer: impl Answer) -> Self {
        self.declined = Some(answer.into_panels());
        self
    }

    /// What the tool answers when the person cancels. Without it: the payload.
    #[must_use]
    pub fn cancelled(mut self, answer: impl Answer) -> Self {
        self.cancelled = Some(answer.into_panels());
        self
    }

    /// Markdown below the question, for clients that get the payload.
    #[must_use]
    pub fn details(mut self, draw: impl Fn(&mut Markdown) + Send + Sync + 'static) -> Self {
        self.details = Some(Box::new(draw));
        self
    }

    /// Sends the person to a page (URL mode). Accepting is consent, not completion: the toolkit waits
    /// for `finished`, bounded, and runs the tool again, which finds the flow by [`Call::flow`](crate::Call::flow).
    ///
    /// A page stands alone: what else the tool needs, it asks for in another round. Fields in the same ask are for
    /// clients that get the payload.
    #[must_use]
    pub fn visit(
        mut self,
        url: impl Into<String>,
        flow: impl Into<String>,
        finished: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        self.visit = Some(Visit { url: url.into(), flow: flow.into(), finished: Box::pin(finished) });
        self
    }

    /// Asks the client's model for a message as well, or instead when there is no field. The tool reads it, as a
    /// [`Sampled`](crate::Sampled), with [`Call::answer`](crate::Call::answer).
    #[must_use]
    pub fn sample(mut self, key: impl Into<String>, sample: Sample) -> Self {
        self.also.push((key.into(), Wanted::Sample(sample)));
        self
    }

    /// Asks for the client's roots as well, or instead when there is no field. The tool reads them, as
    /// [`Roots`](crate::Roots), with [`Call::answer`](crate::Call::answer).
    #[must_use]
    pub fn roots(mut self, key: impl Into<String>) -> Self {
        self.also.push((key.into(), Wanted::Roots));
        self
    }

    /// Whether a person has to fill in or confirm something.
    pub(crate) fn asks_a_person(&self) -> bool {
        self.visit.is_some() || !self.fields.is_empty() || self.also.is_empty()
    }

    /// What there is to put to the client, in its own words.
    pub(crate) fn questions(&self) -> Questions {
        let message = self.message.clone();
        let dialog = self.asks_a_person().then(|| match &self.visit {
            Some(visit) => Dialog::Page { message, url: visit.url.clone(), flow: visit.flow.clone() },
            None => Dialog::Form {
                message,
                schema: form_schema(&self.fields),
                secrets: self
                    .fields
                    .iter()
                    .filter(|field| field.secret)
                    .map(|field| field.name.clone())
                    .collect(),
            },
        });
        Questions { key: self.key.clone(), dialog, also: self.also.clone() }
    }

    pub(crate) fn has_secret(&self) -> bool {
        self.fields.iter().any(|field| field.secret)
    }

    /// Two asks with the same identity are the same question.
    pub(crate) fn identity(&self) -> String {
        let fields: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        format!("{}\u{1f}{}\u{1f}{}", self.key, self.message, fields.join("\u{1f}"))
    }

    pub(crate) fn draw(&self, markdown: &mut Markdown) {
        markdown.heading(2, &self.title);
        markdown.text(&self.message);
        if let Some(visit) = &self.visit {
            markdown.paragraph(|line| {
                line.link(&visit.url, &visit.url);
            });
        }
        if let Some(details) = &self.details {
            details(markdown);
        }
    }

    /// The structured panel, without its `kind`.
    pub(crate) fn panel(&self) -> NeedsInputPanel {
        let names = |field: &Field| field.suggestions.iter().map(|choice| choice.value.clone()).collect();
        let suggestions: Map<String, Value> = self
            .fields
            .iter()
            .filter(|field| field.listed || !field.suggestions.is_empty())
            .map(|field| (field.name.clone(), names(field)))
            .collect();
        let options = self.fields.iter().any(|field| field.listed).then(|| {
            let listed = self.fields.iter().filter(|field| field.listed);
            listed
                .flat_map(|field| {
                    field.suggestions.iter().map(|choice| OptionPanel {
                        label: choice.label.clone(),
                        value: choice.value.clone(),
                        description: choice.description.clone(),
                        field: Some(field.name.clone()),
                    })
                })
                .collect()
        });
        let mut fields: Vec<String> = self.fields.iter().map(|field| field.name.clone()).collect();
        fields.extend(self.also.iter().map(|(key, _)| key.clone()));
        NeedsInputPanel {
            r#type: "elicitation",
            // Programs have no link to click, so the address stands in the message.
            message: match &self.visit {
                Some(visit) => format!("{} {}", self.message, visit.url),
                None => self.message.clone(),
            },
            needs_input: NeedsPanel {
                fields,
                reason: if self.reason.is_empty() { self.message.clone() } else { self.reason.clone() },
                suggestions: (!suggestions.is_empty()).then_some(suggestions),
            },
            options,
        }
    }
}

impl fmt::Debug for NeedsInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NeedsInput")
            .field("title", &self.title)
            .field("message", &self.message)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

/// `value.or_ask(|| …)?`: the value, or a stop that asks for it.
pub trait OrAsk<T> {
    /// The value, or the ask.
    ///
    /// # Errors
    /// The ask, when there is no value.
    fn or_ask(self, ask: impl FnOnce() -> NeedsInput) -> Result<T, NeedsInput>;
}

impl<T> OrAsk<T> for Option<T> {
    fn or_ask(self, ask: impl FnOnce() -> NeedsInput) -> Result<T, NeedsInput> {
        self.ok_or_else(ask)
    }
}

/// The structured panel of an ask, `needsInput:v1`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "More input is needed before the tool can answer.")]
pub(crate) struct NeedsInputPanel {
    #[schemars(extend("const" = "elicitation"))]
    r#type: &'static str,
    message: String,
    needs_input: NeedsPanel,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Vec<OptionPanel>>,
}

impl NeedsInputPanel {
    pub(crate) const KIND: &'static str = "needsInput:v1";
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct NeedsPanel {
    fields: Vec<String>,
    reason: String,
    /// Values that would fit, by field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, Vec<String>>>")]
    suggestions: Option<Map<String, Value>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct OptionPanel {
    label: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}
