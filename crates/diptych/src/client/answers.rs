//! How a client answers what its server asks.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// What the server asks the person.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// To fill in a form.
    Form {
        /// The question.
        message: String,
        /// The schema of the form.
        schema: Value,
        /// The fields that must not be shown while they are typed.
        secrets: Vec<String>,
    },
    /// To visit a page.
    Page {
        /// Why.
        message: String,
        /// The page.
        url: String,
    },
}

impl Question {
    /// The question itself.
    pub fn message(&self) -> &str {
        match self {
            Question::Form { message, .. } | Question::Page { message, .. } => message,
        }
    }
}

/// What the person does with it.
#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// Fills it in, or agrees.
    Accept(Map<String, Value>),
    /// Says no.
    Decline,
    /// Closes the dialog.
    Cancel,
    /// The client itself fails: a transport fault, or no dialog after all.
    Fail,
}

/// Someone who answers: a person at a terminal, or a test's script.
pub trait Answers: Send + Sync + 'static {
    /// Answers one question.
    fn answer(&self, question: Question) -> BoxFuture<'_, Response>;
}

/// Answers from a script, in order; when it has run out, the dialog fails.
#[derive(Debug, Default)]
pub struct Script {
    responses: Mutex<VecDeque<Response>>,
    asked: Mutex<Vec<Question>>,
}

impl Script {
    pub(crate) fn push(&self, response: Response) {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner).push_back(response);
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Answers for Script {
    fn answer(&self, question: Question) -> BoxFuture<'_, Response> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
        let response = self.responses.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(std::future::ready(response.unwrap_or(Response::Fail)))
    }
}
