//! The contract check: one call that holds every tool of a server to the contract.
//!
//! A toolset's tests say which arguments lead to an answer, which to an ask and which to an error;
//! [`Contract::check`] then looks at all of them in every format and protocol version: the two JSON surfaces
//! are equal and valid, the format decides which blocks there are, nothing is null, markers are as counted, the
//! budget is kept, also when it is half of what the answer takes, and no message carries a path, SQL or a
//! secret.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::client::{Client, Protocol, Reply};
use crate::format::Format;
use crate::profile::Structured;
use crate::server::Server;

/// The wire definitions of a server's tools, for a snapshot.
///
/// # Panics
/// When they cannot be listed.
pub async fn definitions(server: &Server) -> Vec<Value> {
    let client = Client::in_process(server).connect().await;
    match client {
        Ok(client) => match client.tools().await {
            Ok(tools) => tools,
            Err(error) => panic!("{error}"),
        },
        Err(error) => panic!("{error}"),
    }
}

/// What a call is expected to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Answer,
    Ask,
    Error,
}

/// A server's calls, to be held to the contract.
pub struct Contract<'a> {
    server: &'a Server,
    cases: Vec<(Expected, String, Value)>,
    unanswered: BTreeSet<String>,
}

impl<'a> Contract<'a> {
    /// The contract of this server.
    pub fn of(server: &'a Server) -> Self {
        Contract { server, cases: Vec::new(), unanswered: BTreeSet::new() }
    }

    /// A call that is answered.
    #[must_use]
    pub fn answers(self, tool: &str, arguments: Value) -> Self {
        self.case(Expected::Answer, tool, arguments)
    }

    /// A call that needs input.
    #[must_use]
    pub fn asks(self, tool: &str, arguments: Value) -> Self {
        self.case(Expected::Ask, tool, arguments)
    }

    /// A call that fails.
    #[must_use]
    pub fn fails(self, tool: &str, arguments: Value) -> Self {
        self.case(Expected::Error, tool, arguments)
    }

    /// A tool for which there is no call that is answered here, say because what it needs is not set up.
    #[must_use]
    pub fn never_answers(mut self, tool: &str) -> Self {
        self.unanswered.insert(tool.to_owned());
        self
    }

    fn case(mut self, expected: Expected, tool: &str, arguments: Value) -> Self {
        self.cases.push((expected, tool.to_owned(), arguments));
        self
    }

    /// Makes every call in every format and protocol version, and returns everything that is not as the
    /// contract has it.
    pub async fn problems(self) -> Vec<String> {
        let mut problems = Vec::new();
        let tools = self.server.tools();
        let mut cases = self.cases;
        let answered: BTreeSet<String> =
            cases.iter().filter(|case| case.0 == Expected::Answer).map(|case| case.1.clone()).collect();
        for tool in &tools {
            if !answered.contains(tool.name()) && !self.unanswered.contains(tool.name()) {
                problems.push(format!("{}: no call that is answered was given", tool.name()));
            }
            // Whatever a tool does, a wrong format is an error that follows the contract.
            cases.push((Expected::Error, tool.name().to_owned(), json!({"format": "html"})));
        }
        let mut validators = BTreeMap::new();
        for tool in &tools {
            match jsonschema::validator_for(&Value::Object(tool.output_schema().clone())) {
                Ok(validator) => _ = validators.insert(tool.name(), validator),
                Err(_) => problems.push(format!("{}: the output schema is not one", tool.name())),
            }
        }
        for protocol in Protocol::TESTED {
            let client = match Client::in_process(self.server).protocol(protocol).connect().await {
                Ok(client) => client,
                Err(error) => return vec![error.to_string()],
            };
            for (expected, name, arguments) in &cases {
                let Some(validator) = validators.get(name.as_str()) else {
                    problems.push(format!("{name}: there is no such tool"));
                    continue;
                };
                let mut largest = 0;
                for format in Format::ALL {
                    let (arguments, format) = formatted(arguments, format);
                    let case = format!("{name} {arguments} at {protocol:?}");
                    match client.call(name, arguments).await {
                        Ok(reply) => {
                            largest = largest.max(size(&reply));
                            let budget = self.server.settings().budget * 4;
                            let is_sent = self.server.settings().structured != Structured::Never;
                            let found = examine(&reply, *expected, format, validator, budget, is_sent);
                            problems.extend(found.into_iter().map(|problem| format!("{case}: {problem}")));
                        }
                        Err(error) => problems.push(format!("{case}: {error}")),
                    }
                }
                if *expected == Expected::Answer {
                    let squeezed = self.server.with_budget(largest / 8);
                    problems.extend(squeeze(&squeezed, protocol, name, arguments, validator).await);
                }
            }
            client.close().await;
        }
        problems
    }

    /// Makes every call in every format and protocol version.
    ///
    /// # Panics
    /// With a list of everything that is not as the contract has it.
    pub async fn check(self) {
        let problems = self.problems().await;
        assert!(problems.is_empty(), "the contract is broken:\n- {}", problems.join("\n- "));
    }
}

impl std::fmt::Debug for Contract<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Contract").field("cases", &self.cases).finish_non_exhaustive()
    }
}

/// The arguments with this format, unless they have one of their own; and the format that the answer is in.
fn formatted(arguments: &Value, format: Format) -> (Value, Format) {
    let mut arguments = arguments.clone();
    if arguments.get("format").is_some() {
        return (arguments, Format::Markdown);
    }
    if let Some(members) = arguments.as_object_mut() {
        members.insert("format".to_owned(), json!(format));
    }
    (arguments, format)
}

/// How many bytes a client has to read.
fn size(reply: &Reply) -> usize {
    let words: usize = reply.content.iter().filter_map(|block| block["text"].as_str()).map(str::len).sum();
    words.max(reply.structured.as_ref().map_or(0, |structured| structured.to_string().len()))
}

/// An answer for which there is half the room that it takes: cut, saying so, or refused. Never over the budget.
async fn squeeze(
    server: &Server,
    protocol: Protocol,
    name: &str,
    arguments: &Value,
    validator: &jsonschema::Validator,
) -> Vec<String> {
    let (arguments, _) = formatted(arguments, Format::Both);
    let case = format!("{name} {arguments} at {protocol:?} with half the budget");
    let reply = match Client::in_process(server).protocol(protocol).call(name, arguments).await {
        Ok(reply) => reply,
        Err(error) => return vec![format!("{case}: {error}")],
    };
    let structured = reply.structured.clone().or_else(|| reply.json()).unwrap_or_default();
    let budget = server.settings().budget * 4;
    let mut problems = Vec::new();
    if structured["kind"] == "toolError:v1" {
        if !reply.text().starts_with("The answer is larger than") {
            problems.push(format!("{case}: {}", reply.text()));
        }
    } else if size(&reply) > budget {
        problems.push(format!("{case}: {} bytes, and only {budget} fit", size(&reply)));
    }
    if !validator.is_valid(&structured) {
        problems.push(format!("{case}: the structured panel does not match the output schema"));
    }
    problems
}

fn examine(
    reply: &Reply,
    expected: Expected,
    format: Format,
    validator: &jsonschema::Validator,
    budget: usize,
    is_sent: bool,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut require = |holds: bool, problem: &str| {
        if !holds {
            problems.push(problem.to_owned());
        }
    };
    // A server that sends no structured panel sends what would be in it as a block.
    let structured = reply.structured.clone().or_else(|| reply.json()).unwrap_or_default();
    let kind = structured["kind"].as_str().unwrap_or_default().to_owned();
    let as_expected = match expected {
        Expected::Answer => !matches!(kind.as_str(), "needsInput:v1" | "toolError:v1"),
        Expected::Ask => kind == "needsInput:v1",
        Expected::Error => kind == "toolError:v1" && reply.is_error,
    };
    require(!reply.content.is_empty(), "there is no content");
    require(reply.structured.is_some() == is_sent, "the structured panel is not sent as the server was told");
    if is_sent || format.has_json() {
        require(as_expected, &format!("expected {expected:?}, came {kind}: {}", reply.text()));
        require(validator.is_valid(&structured), "the structured panel does not match the output schema");
        require(!has_null(&structured), "the structured panel has a null");
    }
    let mime = |block: &Value| block["_meta"]["mimeType"].as_str().unwrap_or_default().to_owned();
    let json: Vec<&Value> = reply.content.iter().filter(|block| mime(block) == "application/json").collect();
    let text: Vec<&Value> = reply
        .content
        .iter()
        .filter(|block| block["type"] == "text" && mime(block) != "application/json")
        .collect();
    require(json.len() == usize::from(format.has_json()), "the format does not decide on the JSON block");
    require(format.has_markdown() || text.is_empty(), "there is a text block that was not asked for");
    let wanted = if expected == Expected::Error { "text/plain" } else { "text/markdown" };
    require(text.iter().all(|block| mime(block) == wanted), "a text block does not say its MIME type");
    if let Some(block) = json.first() {
        let body = block["text"].as_str().unwrap_or_default();
        require(
            serde_json::from_str::<Value>(body).ok().as_ref() == Some(&structured),
            "the two JSON surfaces differ",
        );
        require(
            body.contains('\n') || structured.as_object().is_none_or(Map::is_empty),
            "the JSON block is not pretty",
        );
        require(reply.content.last() == Some(*block), "the JSON block is not the last");
    }
    let drawn = reply.text();
    if let Some(markers) = structured.pointer("/metadata/contractMarkers").and_then(Value::as_object) {
        let counted: u64 = markers.values().filter_map(Value::as_u64).sum();
        require(drawn.matches("<!-- kind:").count() as u64 == counted, "the markers are not as counted");
    }
    require(size(reply) <= budget, "the answer is over the budget");
    if expected == Expected::Error {
        let said = format!("{drawn}\n{structured}");
        for leak in LEAKS {
            require(!said.contains(leak), &format!("the message leaks {leak:?}"));
        }
    }
    problems
}

/// What never belongs into a message: paths, SQL, backtraces, credentials.
const LEAKS: [&str; 12] = [
    "/home/",
    "/root/",
    "/tmp/",
    "/usr/",
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "DELETE FROM",
    ".rs:",
    "panicked at",
    "Bearer ",
    "password=",
];

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}
