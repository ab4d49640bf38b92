//! Building a server: every check that can be made before the first client comes, all problems together.
//!
//! Some mistakes that other toolkits have to check for cannot be written down here at all: a prompt
//! without its function, a resource without a reader, the same field twice in one struct.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::profile::Structured;
use crate::protocol::state::Seals;
use crate::registry::{PromptEntry, Registry, ResourceEntry, ToolEntry};
use crate::schema::JsonObject;
use crate::server::{Server, Settings};
use crate::template::{UriTemplate, valid_uri};
use crate::toolset::{BoundPrompt, BoundResource, BoundTool, BoundToolset, Toolset};
use crate::walk::admit::{self, Shape};
use crate::walk::check::OutputCheck;

/// Builds a [`Server`].
pub struct Builder {
    settings: Settings,
    toolsets: Vec<BoundToolset>,
    key: Option<Vec<u8>>,
}

impl Builder {
    pub(crate) fn new(name: String, version: String) -> Self {
        Builder {
            settings: Settings {
                name,
                version,
                title: None,
                instructions: None,
                budget: 25_000,
                structured: Structured::Auto,
                time_limit: Duration::from_secs(60),
                ask_limit: Duration::from_secs(600),
                page_size: 100,
                strict: false,
                read_only: false,
            },
            toolsets: Vec::new(),
            key: None,
        }
    }

    /// Adds a toolset.
    #[must_use]
    pub fn toolset<S: Send + Sync + 'static>(mut self, toolset: Toolset<S>) -> Self {
        self.toolsets.push(toolset.bind());
        self
    }

    /// A title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.settings.title = Some(title.into());
        self
    }

    /// What a model should know before it uses the server.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.settings.instructions = Some(instructions.into());
        self
    }

    /// How many tokens an answer may take, estimated as bytes/4. 25,000 unless said otherwise.
    #[must_use]
    pub fn budget(mut self, tokens: usize) -> Self {
        self.settings.budget = tokens;
        self
    }

    /// Whether results carry the structured panel.
    #[must_use]
    pub fn structured(mut self, structured: Structured) -> Self {
        self.settings.structured = structured;
        self
    }

    /// How long a tool may run, where it has no limit of its own. One minute unless said otherwise.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = limit;
        self
    }

    /// How long a person may take to answer. Ten minutes unless said otherwise.
    #[must_use]
    pub fn ask_limit(mut self, limit: Duration) -> Self {
        self.settings.ask_limit = limit;
        self
    }

    /// How many entries a page of a list has. 100 unless said otherwise.
    #[must_use]
    pub fn page_size(mut self, size: usize) -> Self {
        self.settings.page_size = size.max(1);
        self
    }

    /// The key that signs request states, 32 bytes at least. Without it a random one is made: states then
    /// do not survive a restart, nor do they pass between replicas. Each process remembers for itself which
    /// states were used, so with a shared key a state could be used once at each replica while it lasts.
    #[must_use]
    pub fn state_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Leaves out every tool that changes something.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// Makes answers that break their contract fail. For tests: in production such an answer still goes
    /// out, with a warning in the log.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.settings.strict = true;
        self
    }

    /// Builds the server.
    ///
    /// # Errors
    /// Every problem found, each with its fix.
    pub fn build(self) -> Result<Server, BuildError> {
        let mut registry = Registry::default();
        let extended = extend(&mut registry, self.toolsets, self.settings.read_only);
        let seals = match self.key {
            Some(key) => Seals::new(key),
            None => Ok(Seals::random()),
        };
        match (extended, seals) {
            (Ok(()), Ok(seals)) => Ok(Server::new(self.settings, registry, seals)),
            (extended, seals) => {
                let mut problems = extended.err().map(|error| error.problems).unwrap_or_default();
                if let Err(what) = seals {
                    problems.push(Problem::new(what, "give `state_key` at least 32 random bytes"));
                }
                Err(BuildError { problems })
            }
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Builder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Why a server cannot be built: every problem, each with its fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    problems: Vec<Problem>,
}

impl BuildError {
    /// The problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("The server cannot be built:")?;
        for problem in &self.problems {
            write!(formatter, "\n- {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

/// One thing that keeps a server from being built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    what: String,
    fix: String,
}

impl Problem {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Problem { what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}.", self.what, self.fix)
    }
}

/// Adds toolsets to a registry, or reports everything that is wrong with them.
pub(crate) fn extend(
    registry: &mut Registry,
    toolsets: Vec<BoundToolset>,
    read_only: bool,
) -> Result<(), BuildError> {
    let mut problems = Vec::new();
    let mut taken = Taken::of(registry);
    for toolset in toolsets {
        let name = toolset.name;
        check_name("toolset", &name, &mut problems);
        for tool in toolset.tools {
            taken.claim("tool", &tool.definition.name, &name, &mut problems);
            for alias in &tool.rules.aliases {
                taken.claim("tool", &alias.name, &name, &mut problems);
            }
            let writes = !tool.definition.annotations.read_only;
            if let Some(entry) = tool_entry(&name, tool, &mut problems).filter(|_| !(read_only && writes)) {
                registry.tools.push(Arc::new(entry));
            }
        }
        for prompt in toolset.prompts {
            taken.claim("prompt", &prompt.definition.name, &name, &mut problems);
            registry.prompts.extend(prompt_entry(&name, prompt, &mut problems).map(Arc::new));
        }
        for resource in toolset.resources {
            taken.claim("resource URI", &resource.definition.uri, &name, &mut problems);
            if resource.definition.name != resource.definition.uri {
                taken.claim("resource", &resource.definition.name, &name, &mut problems);
            }
            registry.resources.extend(resource_entry(&name, resource, &mut problems).map(Arc::new));
        }
    }
    registry.index();
    if problems.is_empty() { Ok(()) } else { Err(BuildError { problems }) }
}

/// Names that are taken, and by which toolset.
struct Taken(HashMap<(&'static str, String), String>);

impl Taken {
    fn of(registry: &Registry) -> Self {
        let mut taken = HashMap::new();
        for tool in &registry.tools {
            taken.insert(("tool", tool.definition.name.clone()), tool.toolset.clone());
            for alias in &tool.rules.aliases {
                taken.insert(("tool", alias.name.clone()), tool.toolset.clone());
            }
        }
        for prompt in &registry.prompts {
            taken.insert(("prompt", prompt.definition.name.clone()), prompt.toolset.clone());
        }
        for resource in &registry.resources {
            taken.insert(("resource", resource.definition.name.clone()), resource.toolset.clone());
            taken.insert(("resource URI", resource.definition.uri.clone()), resource.toolset.clone());
        }
        Taken(taken)
    }

    fn claim(&mut self, what: &'static str, name: &str, toolset: &str, problems: &mut Vec<Problem>) {
        match self.0.insert((what, name.to_owned()), toolset.to_owned()) {
            Some(owner) if owner == toolset => problems.push(Problem::new(
                format!("The toolset `{toolset}` has two of the {what} `{name}`"),
                "rename or remove one",
            )),
            Some(owner) => problems.push(Problem::new(
                format!("The toolsets `{owner}` and `{toolset}` both have the {what} `{name}`"),
                "rename one, or serve only one of the toolsets",
            )),
            None => {}
        }
    }
}

fn tool_entry(toolset: &str, tool: BoundTool, problems: &mut Vec<Problem>) -> Option<ToolEntry> {
    let BoundTool { definition, run, rules } = tool;
    let name = &definition.name;
    let subject = format!("The tool `{name}`");
    let before = problems.len();
    check_name("tool", name, problems);
    for alias in &rules.aliases {
        check_name("tool", &alias.name, problems);
    }
    if definition.description.trim().is_empty() {
        problems.push(Problem::new(
            format!("{subject} has no description"),
            "say with `.description(..)` what it does",
        ));
    }
    if definition.declares_format {
        problems.push(Problem::new(
            format!("{subject} has the field `format` twice: its own and the one every tool takes"),
            "rename its own",
        ));
    }
    check_object(&subject, &definition.input_schema, problems);
    for (argument, _) in &rules.when_missing {
        if !admit::properties(&definition.input_schema).contains_key(argument) {
            problems.push(Problem::new(
                format!("{subject} says how to ask for `{argument}`, which it does not take"),
                "correct the name given to `.when_missing(..)`",
            ));
        }
    }
    check_kinds(&subject, &definition.output_schema, problems);
    // What the schema's own compiler would say has been said better above.
    let shape = match Shape::new(Arc::clone(&definition.input_schema)) {
        Err(_) if problems.len() > before => return None,
        shape => compile(&subject, shape, problems)?,
    };
    let output = OutputCheck::new(Arc::clone(&definition.output_schema));
    let has_header_arguments =
        mentions(&Value::Object(definition.input_schema.as_ref().clone()), "x-mcp-header");
    let toolset = toolset.to_owned();
    Some(ToolEntry { toolset, definition, run, rules, shape, output, has_header_arguments })
}

/// Whether a schema has a keyword anywhere.
fn mentions(schema: &Value, keyword: &str) -> bool {
    match schema {
        Value::Object(members) => {
            members.contains_key(keyword) || members.values().any(|value| mentions(value, keyword))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, keyword)),
        _ => false,
    }
}

fn prompt_entry(toolset: &str, prompt: BoundPrompt, problems: &mut Vec<Problem>) -> Option<PromptEntry> {
    let BoundPrompt { definition, run, completions } = prompt;
    let subject = format!("The prompt `{}`", definition.name);
    check_name("prompt", &definition.name, problems);
    if definition.description.trim().is_empty() {
        problems.push(Problem::new(
            format!("{subject} has no description"),
            "say with `.description(..)` what it is for",
        ));
    }
    check_object(&subject, &definition.schema, problems);
    let known: Vec<&str> = definition.arguments.iter().map(|argument| argument.name.as_str()).collect();
    check_completions(&subject, "argument", &completions, &known, problems);
    let shape = compile(&subject, Shape::new(Arc::clone(&definition.schema)), problems)?;
    Some(PromptEntry { toolset: toolset.to_owned(), definition, run, shape, completions })
}

fn resource_entry(
    toolset: &str,
    resource: BoundResource,
    problems: &mut Vec<Problem>,
) -> Option<ResourceEntry> {
    let BoundResource { definition, run, completions } = resource;
    let subject = format!("The resource `{}`", definition.name);
    if definition.name.trim().is_empty() || definition.name.chars().any(char::is_control) {
        problems.push(Problem::new(
            format!("The resource at `{}` has no usable name", definition.uri),
            "give it a name without control characters",
        ));
    }
    check_object(&subject, &definition.schema, problems);
    let fields: Vec<&str> = admit::properties(&definition.schema).keys().map(String::as_str).collect();
    let template = if definition.is_template() {
        match UriTemplate::parse(&definition.uri) {
            Ok(template) => Some(template),
            Err(error) => {
                problems
                    .push(Problem::new(format!("{subject} has an invalid URI template"), sentence(&error)));
                return None;
            }
        }
    } else {
        if let Err(why) = valid_uri(&definition.uri) {
            problems.push(Problem::new(format!("{subject} has an invalid URI"), sentence(&why)));
        }
        if !completions.is_empty() {
            problems.push(Problem::new(
                format!("{subject} completes a variable, but its URI is not a template"),
                "remove `.complete(..)`, or put a variable such as `{id}` into the URI",
            ));
        }
        None
    };
    let variables: Vec<&str> =
        template.iter().flat_map(UriTemplate::variables).map(|one| one.name.as_str()).collect();
    for field in admit::required(&definition.schema) {
        if !variables.contains(&field) {
            problems.push(Problem::new(
                format!("{subject} needs `{field}`, but its URI has no such variable"),
                format!("put `{{{field}}}` into the URI, or make the field optional"),
            ));
        }
    }
    for variable in variables.iter().filter(|variable| !fields.contains(variable)) {
        problems.push(Problem::new(
            format!("{subject} has the variable `{variable}` in its URI, but its function does not take it"),
            format!("add a field `{variable}` to the function's arguments, or remove it from the URI"),
        ));
    }
    if template.is_some() {
        check_completions(&subject, "variable", &completions, &variables, problems);
    }
    let shape = compile(&subject, Shape::new(Arc::clone(&definition.schema)), problems)?;
    Some(ResourceEntry { toolset: toolset.to_owned(), definition, template, run, shape, completions })
}

/// A sentence without its full stop, to stand inside another.
fn sentence(text: &impl ToString) -> String {
    text.to_string().trim_end_matches('.').to_owned()
}

fn compile<T>(subject: &str, compiled: Result<T, String>, problems: &mut Vec<Problem>) -> Option<T> {
    compiled
        .map_err(|why| {
            problems.push(Problem::new(format!("{subject} has a schema that is not one"), sentence(&why)));
        })
        .ok()
}

fn check_name(what: &str, name: &str, problems: &mut Vec<Problem>) {
    let valid = !name.is_empty()
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if !valid {
        problems.push(Problem::new(
            format!("The {what} name {name:?} is not valid"),
            "use 1 to 128 letters, digits, `_`, `-` or `.`",
        ));
    }
}

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The root is an object; its fields have types that JSON Schema knows; what is required is declared.
fn check_object(subject: &str, schema: &JsonObject, problems: &mut Vec<Problem>) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        problems.push(Problem::new(
            format!("{subject} takes arguments that are not an object"),
            "take a struct with named fields, or `NoArguments`",
        ));
        return;
    }
    let declared = admit::properties(schema);
    for (field, property) in declared {
        let kinds: Vec<&str> = match property.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for kind in kinds.into_iter().filter(|kind| !TYPES.contains(kind)) {
            problems.push(Problem::new(
                format!(
                    "{subject} gives the field `{field}` the type `{kind}`, which JSON Schema does not have"
                ),
                format!("use one of {}", TYPES.join(", ")),
            ));
        }
    }
    for field in admit::required(schema) {
        if !declared.contains_key(field) {
            problems.push(Problem::new(
                format!("{subject} requires the field `{field}`, which it does not declare"),
                "declare it under `properties`, or remove it from `required`",
            ));
        }
    }
}

/// Kinds are told apart by `kind`, so they have to differ, and to carry a version.
fn check_kinds(subject: &str, schema: &JsonObject, problems: &mut Vec<Problem>) {
    let kinds = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let kinds: Vec<&str> =
        kinds.filter_map(|branch| branch.pointer("/properties/kind/const").and_then(Value::as_str)).collect();
    for (position, kind) in kinds.iter().enumerate() {
        if kinds[..position].contains(kind) {
            problems.push(Problem::new(
                format!("{subject} has two kinds of answer called `{kind}`"),
                "rename one",
            ));
        }
        let versioned = kind.rsplit_once(":v").is_some_and(|(name, version)| {
            !name.is_empty() && !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
        });
        if !versioned {
            problems.push(Problem::new(
                format!("{subject} has a kind of answer called `{kind}`, which names no version"),
                "call it something like `greeting:v1`",
            ));
        }
    }
}

fn check_completions<T>(
    subject: &str,
    what: &str,
    completions: &[(String, T)],
    known: &[&str],
    problems: &mut Vec<Problem>,
) {
    for (position, (name, _)) in completions.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            problems.push(Problem::new(
                format!("{subject} completes the {what} `{name}`, which it does not have"),
                format!("complete one of: {}", known.join(", ")),
            ));
        }
        if completions[..position].iter().any(|(other, _)| other == name) {
            problems
                .push(Problem::new(format!("{subject} completes the {what} `{name}` twice"), "remove one"));
        }
    }
}
