//! The contract check: one call that holds every tool of a server to the contract.
//!
//! A toolset's tests say which arguments lead to an answer, which to an ask and which to an error;
//! [`Contract::check`] then looks at all of them in every format: the two JSON surfaces are equal and valid,
//! the format decides which blocks there are, nothing is null, markers are as counted, the budget is kept,
//! and no message carries a path, SQL or a secret.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::client::{Client, Reply};
use crate::format::Format;
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
}

impl<'a> Contract<'a> {
    /// The contract of this server.
    pub fn of(server: &'a Server) -> Self {
        Contract { server, cases: Vec::new() }
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

    fn case(mut self, expected: Expected, tool: &str, arguments: Value) -> Self {
        self.cases.push((expected, tool.to_owned(), arguments));
        self
    }

    /// Makes every call in every format and returns everything that is not as the contract has it.
    pub async fn problems(self) -> Vec<String> {
        let mut problems = Vec::new();
        let client = match Client::in_process(self.server).connect().await {
            Ok(client) => client,
            Err(error) => return vec![error.to_string()],
        };
        let tools = self.server.tools();
        let mut cases = self.cases;
        let answered: BTreeSet<String> =
            cases.iter().filter(|case| case.0 == Expected::Answer).map(|case| case.1.clone()).collect();
        for tool in &tools {
            if !answered.contains(tool.name()) {
                problems.push(format!("{}: no call that is answered was given", tool.name()));
            }
            // Whatever a tool does, a wrong format is an error that follows the contract.
            cases.push((Expected::Error, tool.name().to_owned(), json!({"format": "html"})));
        }
        for (expected, name, arguments) in cases {
            let Some(tool) = tools.iter().find(|tool| tool.name() == name) else {
                problems.push(format!("{name}: there is no such tool"));
                continue;
            };
            let output = Value::Object(tool.output_schema().clone());
            let Ok(validator) = jsonschema::validator_for(&output) else {
                problems.push(format!("{name}: the output schema is not one"));
                continue;
            };
            for format in Format::ALL {
                let mut arguments = arguments.clone();
                let given = arguments.get("format").is_some();
                if let Some(members) = arguments.as_object_mut().filter(|_| !given) {
                    members.insert("format".to_owned(), json!(format));
                }
                let case = format!("{name} {arguments}");
                match client.call(&name, arguments).await {
                    Ok(reply) => {
                        let format = if given { Format::Markdown } else { format };
                        let budget = self.server.settings().budget * 4;
                        let mut found = examine(&reply, expected, format, &validator, budget);
                        problems.extend(found.drain(..).map(|problem| format!("{case}: {problem}")));
                    }
                    Err(error) => problems.push(format!("{case}: {error}")),
                }
            }
        }
        client.close().await;
        problems
    }

    /// Makes every call in every format.
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

fn examine(
    reply: &Reply,
    expected: Expected,
    format: Format,
    validator: &jsonschema::Validator,
    budget: usize,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut require = |holds: bool, problem: &str| {
        if !holds {
            problems.push(problem.to_owned());
        }
    };
    let structured = reply.structured.clone().unwrap_or_default();
    let kind = structured["kind"].as_str().unwrap_or_default().to_owned();
    let as_expected = match expected {
        Expected::Answer => !matches!(kind.as_str(), "needsInput:v1" | "toolError:v1"),
        Expected::Ask => kind == "needsInput:v1",
        Expected::Error => kind == "toolError:v1" && reply.is_error,
    };
    require(as_expected, &format!("expected {expected:?}, came {kind}: {}", reply.text()));
    require(!reply.content.is_empty(), "there is no content");
    require(validator.is_valid(&structured), "the structured panel does not match the output schema");
    require(!has_null(&structured), "the structured panel has a null");
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
    let words: usize = reply.content.iter().filter_map(|block| block["text"].as_str()).map(str::len).sum();
    require(words <= budget, "the answer is over the budget");
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
