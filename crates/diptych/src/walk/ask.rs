//! Step 4 of the walk: asking, in the best way this client can hear.
//!
//! One stop, three ways: the `input_required` result of 2026-07-28, a dialog in the session for older
//! clients, or the `needsInput:v1` payload for clients with neither. This is the only place that knows the
//! difference. Answers are taken in and the tool runs again from the top; nothing is suspended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::admit::{self, Shape};
use super::rounds::{Answers, MOST_REPEATS, MOST_ROUNDS, Pending, Rounds};
use super::run::{self, Interrupted};
use crate::call::{Call, Inner, Session, Storage};
use crate::format::Format;
use crate::needs::{NeedsInput, Questions, Wanted};
use crate::protocol::state::Opened;
use crate::schema::JsonObject;
use crate::server::Server;
use crate::stop::{Stop, ToolError};
use crate::tool::{Bound, Rules};
use crate::wire::{Caller, Capability, Lifecycle, Reaction, Wire};

/// One call on its way: everything that stays the same from round to round.
pub(crate) struct Conversation<'a> {
    pub(crate) server: &'a Server,
    /// What is called: a tool, a prompt, a resource.
    pub(crate) what: &'static str,
    pub(crate) name: &'a str,
    pub(crate) shape: &'a Shape,
    pub(crate) rules: &'a Rules,
    pub(crate) read_only: bool,
    pub(crate) format: Format,
    pub(crate) arguments: JsonObject,
    pub(crate) responses: Map<String, Value>,
    pub(crate) state: Option<String>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) wire: Arc<dyn Wire>,
    pub(crate) cancelled: CancellationToken,
    /// Lasts for the call, however often the function runs.
    pub(crate) storage: Arc<Storage>,
}

/// How a conversation ended.
pub(crate) enum Ended<T> {
    /// With an answer.
    Answered(T),
    /// With an error that the client reads as a result.
    Failed(ToolError),
    /// With the payload, because the client cannot be asked, or not any more.
    Unasked(Box<NeedsInput>),
    /// The person declined or cancelled.
    Refused(Box<NeedsInput>, Reaction),
    /// The client has to answer first, and then call again.
    Suspended { ask: Box<NeedsInput>, state: String },
    /// The client lacks a capability.
    Lacks(Capability),
    /// The request state is forged, or was used before.
    BadState(&'static str),
    /// The call was cancelled, or the server is shutting down.
    Interrupted(Interrupted),
}

/// What asking came to.
enum Asked {
    Answers(Answers),
    Unasked,
    Suspend,
    Interrupted(Interrupted),
}

impl Conversation<'_> {
    /// Runs the function, asking as often as it needs to and may.
    pub(crate) async fn hold<T>(mut self, function: &Bound<T>) -> Ended<T> {
        let _running = self.server.running();
        if self.server.draining().is_cancelled() {
            return Ended::Interrupted(Interrupted::Shutdown);
        }
        let mut refusal = None;
        let mut rounds = match self.resume(&mut refusal) {
            Ok(rounds) => rounds,
            Err(why) => return Ended::BadState(why),
        };
        loop {
            let arguments = match self.admit(&mut rounds) {
                Ok(Ok(arguments)) => arguments,
                Ok(Err(error)) => return Ended::Failed(error),
                // The answer that did not fit was taken back: the tool asks for it again.
                Err(ask) => match self.ask(*ask, &mut rounds, &mut refusal).await {
                    Ok(()) => continue,
                    Err(ended) => return ended,
                },
            };
            let call = self.call(&rounds);
            let limit = self.rules.time_limit.unwrap_or(self.server.settings().time_limit);
            let shutdown = self.server.stopping();
            let ran = run::guarded(&call, limit, shutdown, || function(call.clone(), arguments)).await;
            match ran {
                Ok(Ok(answer)) => return Ended::Answered(answer),
                Ok(Err(Stop::Failed(error))) => return Ended::Failed(*error),
                Ok(Err(Stop::Lacks(capability))) => return Ended::Lacks(capability),
                Err(interrupted) => return Ended::Interrupted(interrupted),
                Ok(Err(Stop::Needs(ask))) if call.is_committed() => {
                    tracing::warn!(
                        tool = self.name,
                        "asked after committing: the ask is not put to the client"
                    );
                    return Ended::Unasked(ask);
                }
                Ok(Err(Stop::Needs(ask))) => match self.ask(*ask, &mut rounds, &mut refusal).await {
                    Ok(()) => {}
                    Err(ended) => return ended,
                },
            }
        }
    }

    /// The arguments together with the answers, admitted. `Err` is an ask for a required argument that
    /// the tool said how to ask for.
    fn admit(&self, rounds: &mut Rounds) -> Result<Result<Value, ToolError>, Box<NeedsInput>> {
        loop {
            let mut merged = self.arguments.clone();
            merged.extend(rounds.joined.clone());
            let missing = self.shape.missing(&merged).find_map(|name| {
                self.rules.when_missing.iter().find(|(argument, _)| argument == name).map(|(_, ask)| ask)
            });
            if let Some(ask) = missing {
                return match run::guard(|| ask()) {
                    Ok(ask) => Err(Box::new(ask)),
                    Err(error) => Ok(Err(error)),
                };
            }
            let violations = match self.shape.admit(self.name, merged) {
                Ok(arguments) => return Ok(Ok(arguments)),
                Err(violations) => violations,
            };
            let answered =
                violations.iter().all(|violation| rounds.joined.contains_key(violation.argument()));
            if !answered || rounds.repeats >= MOST_REPEATS {
                return Ok(Err(admit::invalid(&violations)));
            }
            rounds.repeats += 1;
            rounds.problem = Some(admit::sentences(&violations));
            for violation in &violations {
                rounds.take_back(violation.argument());
            }
        }
    }

    fn call(&self, rounds: &Rounds) -> Call {
        Call::new(Inner {
            name: self.name.to_owned(),
            format: self.format,
            caller: Arc::clone(&self.caller),
            session: self.session.clone(),
            wire: Arc::clone(&self.wire),
            cancelled: self.cancelled.clone(),
            server: self.server.clone(),
            heard: rounds.heard(),
            storage: Arc::clone(&self.storage),
            committed: AtomicBool::new(false),
        })
    }

    /// What a request state is bound to: the tool, its arguments and the caller.
    fn binding(&self) -> Vec<u8> {
        let who = self.caller.subject.as_deref().unwrap_or(&self.caller.name);
        let mut binding = format!("{}\u{1f}{}\u{1f}{who}\u{1f}", self.what, self.name).into_bytes();
        canonical(&Value::Object(self.arguments.clone()), &mut binding);
        binding
    }

    /// Picks up where the last request of this call stopped.
    fn resume(&mut self, refusal: &mut Option<Reaction>) -> Result<Rounds, &'static str> {
        let Some(state) = self.state.take() else { return Ok(Rounds::default()) };
        let mut rounds = match self.server.open_state(&state, &self.binding()) {
            Opened::Rounds(rounds) => *rounds,
            // Too late: the call starts afresh, and so does the asking.
            Opened::Expired => {
                self.responses.clear();
                return Ok(Rounds::default());
            }
            Opened::Forged => {
                return Err("The request state is not one that this server made for this call.");
            }
        };
        if !self.read_only && !self.server.spend(&rounds.nonce) {
            return Err("The request state was used before. Call the tool again without it.");
        }
        if let Some(pending) = rounds.pending.take()
            && let Some(answers) = Answers::pick(&pending, &self.responses)
        {
            *refusal = rounds.take_in(&pending, answers);
        }
        self.responses.clear();
        Ok(rounds)
    }

    /// Asks, and takes the answers in. `Err` is the end of the conversation.
    async fn ask<T>(
        &mut self,
        mut ask: NeedsInput,
        rounds: &mut Rounds,
        refusal: &mut Option<Reaction>,
    ) -> Result<(), Ended<T>> {
        // A refusal that came with the request: now the ask it belongs to is known again.
        if let Some(reaction) = refusal.take() {
            return Err(Ended::Refused(Box::new(ask), reaction));
        }
        let pending = Pending::of(&ask);
        let exhausted = rounds.round >= MOST_ROUNDS || rounds.repeats > MOST_REPEATS;
        if exhausted || rounds.leads_nowhere(&ask) || !self.hears(&ask) {
            return Err(Ended::Unasked(Box::new(ask)));
        }
        if let Some(visit) = ask.visit.as_mut().filter(|visit| rounds.flow.as_deref() == Some(&visit.flow)) {
            // The person has consented already: all that is left is to wait for the flow to finish.
            rounds.round += 1;
            let finished = std::mem::replace(&mut visit.finished, Box::pin(std::future::ready(())));
            return match (self.wait(finished).await, self.caller.lifecycle) {
                (Ok(true), _) => Ok(()),
                (Ok(false), Lifecycle::Session) => Err(Ended::Unasked(Box::new(ask))),
                // The page is put to the client again, which calls again when its person is ready.
                (Ok(false), Lifecycle::Stateless) => Err(self.suspend(ask, pending, rounds)),
                (Err(interrupted), _) => Err(Ended::Interrupted(interrupted)),
            };
        }
        if let Some(problem) = rounds.problem.take() {
            ask.message = format!("{}\n\nThe last answer did not fit: {problem}", ask.message);
        }
        rounds.round += 1;
        match self.put(ask.questions(), &pending).await {
            Asked::Answers(answers) => match rounds.take_in(&pending, answers) {
                None => Ok(()),
                Some(reaction) => Err(Ended::Refused(Box::new(ask), reaction)),
            },
            Asked::Unasked => Err(Ended::Unasked(Box::new(ask))),
            Asked::Interrupted(interrupted) => Err(Ended::Interrupted(interrupted)),
            Asked::Suspend => Err(self.suspend(ask, pending, rounds)),
        }
    }

    /// Leaves it to the client to answer and call again.
    fn suspend<T>(&self, ask: NeedsInput, pending: Pending, rounds: &mut Rounds) -> Ended<T> {
        rounds.pending = Some(pending);
        let state = self.server.seal_state(rounds, &self.binding());
        Ended::Suspended { ask: Box::new(ask), state }
    }

    /// Whether this client, in this call, can be asked this natively.
    fn hears(&self, ask: &NeedsInput) -> bool {
        let caller = &self.caller;
        // Programs are not a person; the model and the roots can be asked whoever calls.
        if ask.asks_a_person() && self.format != Format::Markdown && !ask.person {
            return false;
        }
        let person = !ask.asks_a_person()
            || if ask.visit.is_some() {
                caller.pages
            } else {
                // Between stateless requests an answer travels where anyone can read it: not a secret.
                caller.forms && (!ask.has_secret() || caller.hides_secrets())
            };
        let others = ask.also.iter().all(|(_, wanted)| match wanted {
            Wanted::Sample(_) => caller.sampling,
            Wanted::Roots => caller.roots,
        });
        person && others
    }

    /// Puts the questions to the client.
    async fn put(&mut self, questions: Questions, pending: &Pending) -> Asked {
        if self.caller.lifecycle == Lifecycle::Stateless {
            // A client may send the answers to a first ask along with the first request.
            let answers = Answers::pick(pending, &self.responses);
            self.responses.clear();
            return answers.map_or(Asked::Suspend, Asked::Answers);
        }
        let limit = self.server.settings().ask_limit;
        tokio::select! {
            asked = tokio::time::timeout(limit, self.converse(questions)) => asked.unwrap_or(Asked::Unasked),
            () = self.cancelled.cancelled() => Asked::Interrupted(Interrupted::Cancelled),
            () = self.server.stopping().cancelled() => Asked::Interrupted(Interrupted::Shutdown),
        }
    }

    /// Asks in the session, one thing after the other.
    async fn converse(&self, questions: Questions) -> Asked {
        let mut answers = Answers::default();
        if let Some(dialog) = questions.dialog {
            let Ok(reaction) = self.wire.dialog(dialog).await else { return Asked::Unasked };
            let accepted = matches!(reaction, Reaction::Accepted(_));
            answers.reaction = Some(reaction);
            if !accepted {
                return Asked::Answers(answers);
            }
        }
        for (key, wanted) in questions.also {
            let answer = match wanted {
                Wanted::Sample(sample) => self.wire.sample(sample).await,
                Wanted::Roots => self.wire.roots().await,
            };
            let Ok(value) = answer else { return Asked::Unasked };
            answers.also.insert(key, value);
        }
        Asked::Answers(answers)
    }

    /// Waits for the flow behind a page, with progress. `false` when it takes too long.
    async fn wait(
        &self,
        mut finished: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Result<bool, Interrupted> {
        const TICK: Duration = Duration::from_secs(5);
        // A request that stands alone should not stay open for minutes: proxies and clients give up on it.
        const ALONE: Duration = Duration::from_secs(30);
        let limit = match self.caller.lifecycle {
            Lifecycle::Session => self.server.settings().ask_limit,
            Lifecycle::Stateless => self.server.settings().ask_limit.min(ALONE),
        };
        let mut waited = Duration::ZERO;
        // The author's future, and so guarded: one that panics has finished.
        let mut finished = AssertUnwindSafe(finished.as_mut()).catch_unwind();
        while waited < limit {
            tokio::select! {
                _ = &mut finished => return Ok(true),
                () = self.cancelled.cancelled() => return Err(Interrupted::Cancelled),
                () = self.server.stopping().cancelled() => return Err(Interrupted::Shutdown),
                () = tokio::time::sleep(TICK.min(limit)) => waited += TICK,
            }
            let message = "Waiting for you to finish in the browser".to_owned();
            self.wire.progress(waited.as_secs_f64(), Some(limit.as_secs_f64()), Some(message)).await;
        }
        Ok(false)
    }
}

/// A value with the members of its objects in order, so that equal arguments are equal bytes.
fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|a, b| a.0.cmp(b.0));
            out.push(b'{');
            for (name, member) in members {
                out.extend_from_slice(Value::from(name.as_str()).to_string().as_bytes());
                out.push(b':');
                canonical(member, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                canonical(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        leaf => out.extend_from_slice(leaf.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_members_does_not_matter() {
        let bytes = |value: Value| {
            let mut out = Vec::new();
            canonical(&value, &mut out);
            out
        };
        assert_eq!(
            bytes(json!({"a": 1, "b": [{"c": 2, "d": "x"}]})),
            bytes(json!({"b": [{"d": "x", "c": 2}], "a": 1}))
        );
        assert_ne!(bytes(json!({"a": "1"})), bytes(json!({"a": 1})));
    }
}
