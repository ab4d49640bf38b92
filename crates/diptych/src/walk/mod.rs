//! The walk of a call: route, admit, run, ask, render, check. One room a step.

pub(crate) mod admit;
pub(crate) mod ask;
pub(crate) mod check;
pub(crate) mod panel;
pub(crate) mod render;
pub(crate) mod rounds;
pub(crate) mod route;
pub(crate) mod run;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use self::ask::{Conversation, Ended};
use self::render::{Rendered, Rendering};
use self::run::Interrupted;
use crate::call::Session;
use crate::content::Contents;
use crate::format::Format;
use crate::needs::NeedsInput;
use crate::prompt::Messages;
use crate::registry::{PromptEntry, Registry, ResourceEntry, ToolEntry};
use crate::resource::Reading;
use crate::schema::JsonObject;
use crate::server::Server;
use crate::stop::{Code, ToolError};
use crate::tool::Rules;
use crate::wire::{Caller, Capability, Reaction, Wire};

/// A request as it came from the client.
pub(crate) struct Request {
    pub(crate) arguments: JsonObject,
    pub(crate) accept: Option<Value>,
    pub(crate) responses: Map<String, Value>,
    pub(crate) state: Option<String>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) wire: Arc<dyn Wire>,
    pub(crate) cancelled: CancellationToken,
}

/// What the protocol has to answer.
pub(crate) enum Outcome<T> {
    Done(T),
    /// The client has to answer first, and then call again.
    InputRequired {
        ask: Box<NeedsInput>,
        state: String,
    },
    Fault(Fault),
}

/// A protocol fault.
#[derive(Debug)]
pub(crate) enum Fault {
    /// -32602: unknown name, bad cursor, bad request state, a missing prompt argument.
    InvalidParams(String),
    /// The resource does not exist.
    NoSuchResource { uri: String, message: String },
    /// -32802: the resource exists, but what is behind it is down.
    Unavailable(String),
    /// -32021: the client lacks a capability.
    Lacks(Capability),
    /// -32603: ours.
    Internal(String),
    /// Nobody is listening any more.
    Cancelled,
    /// -32800: the server is shutting down.
    Shutdown,
}

impl From<Interrupted> for Fault {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Cancelled => Fault::Cancelled,
            Interrupted::Shutdown => Fault::Shutdown,
        }
    }
}

/// Calls a tool.
pub(crate) async fn call_tool(server: &Server, name: &str, request: Request) -> Outcome<Rendered> {
    let registry = server.registry();
    let Some((tool, alias)) = registry.tool(name) else {
        return Outcome::Fault(Fault::InvalidParams(route::unknown("tool", name, registry.tool_names())));
    };
    if let Some(alias) = alias {
        tracing::warn!(
            tool = name,
            instead = tool.definition.name,
            removed_in = alias.removed_in,
            "deprecated name"
        );
    }
    let started = Instant::now();
    let span = tracing::info_span!(
        "call",
        tool = %tool.definition.name,
        client = %request.caller.name,
        protocol = %request.caller.protocol,
        failed = tracing::field::Empty,
    );
    // Until it is rendered, not only until it has run: what was done is to be told.
    let _running = server.running();
    let walk = AssertUnwindSafe(walk_tool(server, tool, request)).catch_unwind();
    let outcome = walk.instrument(span.clone()).await.unwrap_or_else(|panic| {
        // An author's code is guarded where it is called; this is for ours.
        Outcome::Fault(Fault::Internal(run::panicked(panic.as_ref()).message))
    });
    let failed = match &outcome {
        Outcome::Done(rendered) => rendered.is_error,
        Outcome::InputRequired { .. } => false,
        Outcome::Fault(_) => true,
    };
    span.record("failed", failed);
    server.metrics().record(&tool.definition.name, started.elapsed(), failed);
    outcome
}

async fn walk_tool(server: &Server, tool: &ToolEntry, request: Request) -> Outcome<Rendered> {
    let mut arguments = request.arguments;
    for reshape in &tool.rules.reshape {
        // An author's function like any other.
        if run::guard(|| reshape(&mut arguments)).is_err() {
            tracing::error!(tool = tool.definition.name, "reshaping the arguments panicked");
        }
    }
    let (format, bad_format) = match take_format(&mut arguments) {
        Ok(format) => {
            let accepted = || request.accept.as_ref().and_then(Format::accepted);
            (format.or_else(accepted).unwrap_or_default(), None)
        }
        // Which format the error is to be in is just what is not known.
        Err(violation) => (Format::default(), Some(violation)),
    };
    let settings = server.settings();
    let structured = settings.structured.for_client(&request.caller.name);
    let rendering = Rendering { format, structured, budget: settings.budget.saturating_mul(4) };
    if let Some(violation) = bad_format {
        let others = tool.shape.admit(&tool.definition.name, arguments).err().unwrap_or_default();
        let violations: Vec<_> = std::iter::once(violation).chain(others).collect();
        return Outcome::Done(rendering.failure(&admit::invalid(&violations)));
    }
    let conversation = Conversation {
        server,
        what: "tool",
        storage: Arc::default(),
        name: &tool.definition.name,
        shape: &tool.shape,
        rules: &tool.rules,
        read_only: tool.definition.annotations.read_only,
        format,
        arguments,
        responses: request.responses,
        state: request.state,
        caller: request.caller,
        session: request.session,
        wire: request.wire,
        cancelled: request.cancelled,
    };
    let rendered = match conversation.hold(&tool.run).await {
        Ended::Answered(mut panels) => rendering.answer(panels.as_mut()),
        Ended::Failed(error) => Ok(rendering.failure(&error)),
        Ended::Unasked(ask) => rendering.ask(&ask),
        Ended::Refused(mut ask, reaction) => {
            let answer =
                if reaction == Reaction::Declined { ask.declined.take() } else { ask.cancelled.take() };
            match answer {
                Some(mut panels) => rendering.answer(panels.as_mut()),
                None => rendering.ask(&ask),
            }
        }
        Ended::Suspended { ask, state } => return Outcome::InputRequired { ask, state },
        Ended::Lacks(capability) => return Outcome::Fault(Fault::Lacks(capability)),
        Ended::BadState(why) => return Outcome::Fault(Fault::InvalidParams(why.to_owned())),
        Ended::Interrupted(interrupted) => return Outcome::Fault(interrupted.into()),
    };
    let rendered = rendered.unwrap_or_else(|error| rendering.failure(&error));
    Outcome::Done(checked(server, tool, rendering, rendered))
}

fn checked(server: &Server, tool: &ToolEntry, rendering: Rendering, rendered: Rendered) -> Rendered {
    let Some(violation) = rendered.structured.as_ref().and_then(|panel| tool.output.violation(panel)) else {
        return rendered;
    };
    if server.settings().strict {
        return rendering
            .failure(&ToolError::new(Code::UnknownError, format!("Contract violation: {violation}")));
    }
    tracing::warn!(tool = tool.definition.name, "{violation}");
    rendered
}

/// Takes the format out of the arguments. `Err` when it is not one.
fn take_format(arguments: &mut JsonObject) -> Result<Option<Format>, admit::Violation> {
    let given = match arguments.remove(Format::ARGUMENT) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text,
        Some(_) => String::new(),
    };
    let names = Format::ALL.map(|format| format.as_str().to_owned());
    Format::parse(given.trim()).map(Some).ok_or_else(|| admit::Violation {
        path: Format::ARGUMENT.to_owned(),
        problem: format!("must be one of {}", names.join(", ")),
        suggestion: admit::nearest(&given, &names).map(|near| format!("Did you mean `{near}`?")),
    })
}

/// Gets a prompt.
pub(crate) async fn get_prompt(server: &Server, name: &str, request: Request) -> Outcome<(Messages, String)> {
    let registry = server.registry();
    let Some(prompt) = registry.prompt(name) else {
        return Outcome::Fault(Fault::InvalidParams(route::unknown("prompt", name, registry.prompt_names())));
    };
    let PromptEntry { definition, shape, run, .. } = prompt.as_ref();
    let rules = Rules::default();
    let outcome = simple(server, "prompt", &definition.name, shape, &rules, request).hold(run).await;
    end(outcome, |error| match error.code {
        Code::ClientError | Code::NotFound => Fault::InvalidParams(error.message),
        _ => Fault::Internal(error.message),
    })
    .map(|messages| (messages, definition.description.clone()))
}

/// Reads a resource.
pub(crate) async fn read_resource(
    server: &Server,
    uri: &str,
    mut request: Request,
) -> Outcome<Vec<Contents>> {
    let registry = server.registry();
    let Some((resource, variables)) = registry.resource(uri) else {
        let message = route::unknown("resource", uri, registry.resource_uris());
        return Outcome::Fault(Fault::NoSuchResource { uri: uri.to_owned(), message });
    };
    let ResourceEntry { definition, shape, run, .. } = resource.as_ref();
    request.arguments = variables;
    let rules = Rules::default();
    let outcome = simple(server, "resource", &definition.name, shape, &rules, request).hold(run).await;
    end(outcome, |error| match error.code {
        Code::NotFound | Code::ClientError => {
            Fault::NoSuchResource { uri: uri.to_owned(), message: error.message }
        }
        Code::NetworkError | Code::ServerError => Fault::Unavailable(error.message),
        _ => Fault::Internal(error.message),
    })
    .map(|Reading(contents)| {
        contents.into_iter().map(|one| one.complete(uri, definition.mime_type.as_deref())).collect()
    })
}

/// A conversation about something that is not a tool: there is no format, and nothing is written.
fn simple<'a>(
    server: &'a Server,
    what: &'static str,
    name: &'a str,
    shape: &'a admit::Shape,
    rules: &'a Rules,
    request: Request,
) -> Conversation<'a> {
    Conversation {
        server,
        what,
        storage: Arc::default(),
        name,
        shape,
        rules,
        read_only: true,
        format: Format::Markdown,
        arguments: request.arguments,
        responses: request.responses,
        state: request.state,
        caller: request.caller,
        session: request.session,
        wire: request.wire,
        cancelled: request.cancelled,
    }
}

/// Prompts and resources have no tool errors: what ended badly is a protocol fault.
fn end<T>(ended: Ended<T>, fault: impl FnOnce(ToolError) -> Fault) -> Outcome<T> {
    match ended {
        Ended::Answered(answer) => Outcome::Done(answer),
        Ended::Failed(error) => Outcome::Fault(fault(error)),
        Ended::Unasked(ask) | Ended::Refused(ask, _) => Outcome::Fault(Fault::InvalidParams(ask.message)),
        Ended::Suspended { ask, state } => Outcome::InputRequired { ask, state },
        Ended::Lacks(capability) => Outcome::Fault(Fault::Lacks(capability)),
        Ended::BadState(why) => Outcome::Fault(Fault::InvalidParams(why.to_owned())),
        Ended::Interrupted(interrupted) => Outcome::Fault(interrupted.into()),
    }
}

impl<T> Outcome<T> {
    fn map<U>(self, convert: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Outcome::Done(value) => Outcome::Done(convert(value)),
            Outcome::InputRequired { ask, state } => Outcome::InputRequired { ask, state },
            Outcome::Fault(fault) => Outcome::Fault(fault),
        }
    }
}

/// Completes an argument of a prompt, or a variable of a template.
pub(crate) async fn complete(
    server: &Server,
    registry: &Registry,
    subject: Completed<'_>,
    argument: &str,
    partial: Value,
    request: Request,
) -> Outcome<Vec<String>> {
    let (name, completions) = match subject {
        Completed::Prompt(name) => match registry.prompt(name) {
            Some(prompt) => (&prompt.definition.name, &prompt.completions),
            None => {
                return Outcome::Fault(Fault::InvalidParams(route::unknown(
                    "prompt",
                    name,
                    registry.prompt_names(),
                )));
            }
        },
        Completed::Resource(uri) => match registry.declared_resource(uri) {
            Some(resource) => (&resource.definition.name, &resource.completions),
            None => {
                return Outcome::Fault(Fault::InvalidParams(route::unknown(
                    "resource",
                    uri,
                    registry.resource_uris(),
                )));
            }
        },
    };
    let Some((_, run)) = completions.iter().find(|(completed, _)| completed == argument) else {
        return Outcome::Done(Vec::new());
    };
    let Value::Object(arguments) = partial else { return Outcome::Done(Vec::new()) };
    let shape = crate::complete::shape();
    let rules = Rules::default();
    let outcome =
        simple(server, "completion", name, shape, &rules, Request { arguments, ..request }).hold(run).await;
    end(outcome, |error| Fault::Internal(error.message))
}

/// What is being completed.
#[derive(Clone, Copy)]
pub(crate) enum Completed<'a> {
    Prompt(&'a str),
    Resource(&'a str),
}
