//! What has been asked and answered so far in one call.
//!
//! A tool that needs input is simply run again with the answers, so all there is to remember between two
//! runs is this. For clients that are asked in a session it lives on the stack; for clients of 2026-07-28
//! it travels, signed, in `requestState`. Secrets are never in it: they are never asked for that way.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::admit::{self, Shape};
use crate::call::Heard;
use crate::field::form_schema;
use crate::needs::NeedsInput;
use crate::schema::JsonObject;
use crate::wire::Reaction;

/// The most times that one call asks.
pub(crate) const MOST_ROUNDS: u8 = 5;
/// The most times that an inadmissible answer is asked for again.
pub(crate) const MOST_REPEATS: u8 = 3;

/// The state of the conversation within one call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Rounds {
    pub(crate) round: u8,
    pub(crate) repeats: u8,
    asked: BTreeSet<String>,
    /// Answers that join the arguments.
    pub(crate) joined: Map<String, Value>,
    /// Answers that only the tool reads: of persons, of the model, the roots.
    kept: Map<String, Value>,
    pub(crate) flow: Option<String>,
    /// The ask that was accepted without adding anything.
    barren: Option<String>,
    /// What the client is being asked right now.
    pub(crate) pending: Option<Pending>,
    /// Makes each suspension unique, so that none can be replayed.
    pub(crate) nonce: String,
    /// What was wrong with the last answer.
    pub(crate) problem: Option<String>,
}

/// An ask without its words: what is needed to take in its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    key: String,
    identity: String,
    fields: Vec<PendingField>,
    also: Vec<String>,
    flow: Option<String>,
    asks_a_person: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PendingField {
    name: String,
    /// The schema of an answer that only the tool reads: it is not admitted with the arguments, so it is
    /// checked by itself.
    person_only: Option<JsonObject>,
}

impl Pending {
    pub(crate) fn of(ask: &NeedsInput) -> Self {
        let fields = ask.fields.iter();
        Pending {
            key: ask.key.clone(),
            identity: ask.identity(),
            fields: fields
                .map(|field| PendingField {
                    name: field.name.clone(),
                    person_only: field.person_only.then(|| form_schema(std::slice::from_ref(field))),
                })
                .collect(),
            also: ask.also.iter().map(|(key, _)| key.clone()).collect(),
            flow: ask.visit.as_ref().map(|visit| visit.flow.clone()),
            asks_a_person: ask.asks_a_person(),
        }
    }
}

/// The answers to one ask: what the person did, and what else came back by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    pub(crate) reaction: Option<Reaction>,
    pub(crate) also: Map<String, Value>,
}

impl Answers {
    /// Picks the answers to an ask from `inputResponses`. `None` when one is missing or malformed: the
    /// client is then simply asked again.
    pub(crate) fn pick(pending: &Pending, responses: &Map<String, Value>) -> Option<Self> {
        let mut answers = Answers::default();
        if pending.asks_a_person {
            answers.reaction = Some(reaction(responses.get(&pending.key)?)?);
        }
        for key in &pending.also {
            let response = responses.get(key).filter(|response| response.is_object())?;
            answers.also.insert(key.clone(), response.clone());
        }
        Some(answers)
    }
}

/// An `ElicitResult` as the client sent it.
fn reaction(result: &Value) -> Option<Reaction> {
    match result.get("action")?.as_str()? {
        "accept" => match result.get("content") {
            Some(Value::Object(content)) => Some(Reaction::Accepted(content.clone())),
            None | Some(Value::Null) => Some(Reaction::Accepted(Map::new())),
            Some(_) => None,
        },
        "decline" => Some(Reaction::Declined),
        "cancel" => Some(Reaction::Cancelled),
        _ => None,
    }
}

impl Rounds {
    /// Takes in the answers to an ask. Returns the person's refusal, if that is what it was.
    pub(crate) fn take_in(&mut self, pending: &Pending, answers: Answers) -> Option<Reaction> {
        self.problem = None;
        let content = match answers.reaction {
            Some(Reaction::Accepted(content)) => content,
            Some(refusal) => return Some(refusal),
            None => Map::new(),
        };
        self.asked.insert(pending.key.clone());
        let mut barren = pending.asks_a_person && pending.flow.is_none();
        // Only what was asked for: a client cannot slip in other arguments this way.
        for field in &pending.fields {
            self.asked.insert(field.name.clone());
            if let Some(value) = content.get(&field.name).filter(|value| !is_blank(value)) {
                barren = false;
                match &field.person_only {
                    None => {
                        self.joined.insert(field.name.clone(), value.clone());
                    }
                    Some(schema) => self.keep(&field.name, value, schema),
                }
            }
        }
        for (key, value) in answers.also {
            barren = false;
            self.asked.insert(key.clone());
            self.kept.insert(key, value);
        }
        if pending.flow.is_some() {
            self.flow.clone_from(&pending.flow);
        }
        self.barren = barren.then(|| pending.identity.clone());
        None
    }

    /// Keeps an answer for the tool, or says what is wrong with it.
    fn keep(&mut self, name: &str, value: &Value, schema: &JsonObject) {
        let answer = Map::from_iter([(name.to_owned(), value.clone())]);
        let admitted = Shape::new(Arc::new(schema.clone())).map(|shape| shape.admit(name, answer));
        match admitted {
            Ok(Ok(Value::Object(answer))) => self.kept.extend(answer),
            Ok(Err(violations)) => {
                self.repeats += 1;
                self.asked.remove(name);
                self.problem = Some(admit::sentences(&violations));
            }
            // A form's schema always compiles, and what it admits is an object.
            _ => {}
        }
    }

    /// Whether asking this again would lead nowhere: it was just accepted without an answer.
    pub(crate) fn leads_nowhere(&self, ask: &NeedsInput) -> bool {
        self.barren.as_deref() == Some(ask.identity().as_str())
    }

    /// Takes an inadmissible answer back, so that the tool asks for it again.
    pub(crate) fn take_back(&mut self, argument: &str) -> bool {
        self.asked.remove(argument);
        self.joined.remove(argument).is_some()
    }

    pub(crate) fn heard(&self) -> Heard {
        Heard { asked: self.asked.clone(), answers: self.kept.clone(), flow: self.flow.clone() }
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}
