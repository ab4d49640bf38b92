//! Tools: typed async functions from arguments to an answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::{Answer, Panels};
use crate::call::{Call, Cx};
use crate::needs::NeedsInput;
use crate::schema::{self, JsonObject};
use crate::stop::Stop;
use crate::walk::admit::{self, Violation};

/// A function of the author's, with its argument type forgotten.
pub(crate) type Run<S, T> = Arc<dyn Fn(Cx<S>, Value) -> BoxFuture<'static, Result<T, Stop>> + Send + Sync>;

/// The same, with its state bound as well.
pub(crate) type Bound<T> = Arc<dyn Fn(Call, Value) -> BoxFuture<'static, Result<T, Stop>> + Send + Sync>;

/// Rewrites the arguments of other clients' shapes before they are admitted.
pub(crate) type Reshape = Arc<dyn Fn(&mut JsonObject) + Send + Sync>;

/// A tool, before it joins a [`Toolset`](crate::Toolset).
pub struct Tool<S = ()> {
    pub(crate) definition: ToolDefinition,
    pub(crate) run: Run<S, Box<dyn Panels>>,
    pub(crate) rules: Rules,
}

/// What the walk has to know about a tool beyond its definition.
#[derive(Clone, Default)]
pub(crate) struct Rules {
    pub(crate) time_limit: Option<Duration>,
    pub(crate) reshape: Vec<Reshape>,
    pub(crate) aliases: Vec<Alias>,
    pub(crate) when_missing: Vec<(String, Arc<dyn Fn() -> NeedsInput + Send + Sync>)>,
}

/// An old name under which a tool is still called.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    pub(crate) name: String,
    pub(crate) removed_in: String,
}

/// Makes a tool from an async function of the context and the typed arguments.
///
/// ```
/// use diptych::{Cx, Stop, Text, Tool, tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet { name: String }
///
/// async fn greet(_cx: Cx, arguments: Greet) -> Result<Text, Stop> {
///     Ok(Text::new(format!("Hello, {}!", arguments.name)))
/// }
/// let tool: Tool = tool("greet", greet).description("Greets someone by name.").read_only();
/// ```
pub fn tool<S, I, A, F, Fut>(name: impl Into<String>, function: F) -> Tool<S>
where
    S: Send + Sync + 'static,
    I: DeserializeOwned + JsonSchema + Send + 'static,
    A: Answer,
    F: Fn(Cx<S>, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, Stop>> + Send + 'static,
{
    let mut input = schema::of_input::<I>();
    let declares_format = admit::properties(&input).contains_key(crate::Format::ARGUMENT);
    schema::add_format(&mut input);
    Tool {
        definition: ToolDefinition {
            name: name.into(),
            title: None,
            description: String::new(),
            input_schema: Arc::new(input),
            output_schema: Arc::new(schema::of_output::<A>()),
            annotations: Annotations::default(),
            icons: Vec::new(),
            declares_format,
        },
        run: Arc::new(move |cx, arguments| match parse::<I>(&arguments) {
            Ok(arguments) => {
                let answer = function(cx, arguments);
                Box::pin(async move { answer.await.map(Answer::into_panels) })
            }
            Err(stop) => Box::pin(async move { Err(stop) }),
        }),
        rules: Rules::default(),
    }
}

/// Lets a function that needs neither state nor context be a tool: `tool("echo", plain(echo))`.
pub fn plain<S, I, A, F, Fut>(function: F) -> impl Fn(Cx<S>, I) -> Fut + Send + Sync + 'static
where
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, Stop>> + Send + 'static,
{
    move |_cx, arguments| function(arguments)
}

/// Admitted arguments as the author's type. What the schema lets pass and serde refuses (a number too
/// large for its type, say) is a violation like any other.
pub(crate) fn parse<I: DeserializeOwned>(arguments: &Value) -> Result<I, Stop> {
    if let Ok(parsed) = I::deserialize(arguments) {
        return Ok(parsed);
    }
    match serde_path_to_error::deserialize::<_, I>(arguments) {
        Ok(parsed) => Ok(parsed),
        Err(error) => {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { path };
            let problem = admit::describe_serde(error.inner());
            Err(admit::invalid(&[Violation { path, problem, suggestion: None }]).into())
        }
    }
}

impl<S> Tool<S> {
    /// What the tool does, for the model that chooses it.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = description.into();
        self
    }

    /// A title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// It changes nothing. Such tools stay available under `--read-only`.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.definition.annotations.read_only = true;
        self.definition.annotations.destructive = false;
        self.definition.annotations.idempotent = true;
        self
    }

    /// It only adds, and never removes or overwrites.
    #[must_use]
    pub fn additive(mut self) -> Self {
        self.definition.annotations.destructive = false;
        self
    }

    /// Calling it again with the same arguments changes nothing more.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.definition.annotations.idempotent = true;
        self
    }

    /// It does not leave this machine.
    #[must_use]
    pub fn closed_world(mut self) -> Self {
        self.definition.annotations.open_world = false;
        self
    }

    /// An icon for clients that show one.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// How long it may run, where the server's own limit does not fit. Waiting for a person does not count.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.rules.time_limit = Some(limit);
        self
    }

    /// Rewrites the arguments before they are admitted, so that other clients' shapes fit.
    #[must_use]
    pub fn reshape(mut self, reshape: impl Fn(&mut JsonObject) + Send + Sync + 'static) -> Self {
        self.rules.reshape.push(Arc::new(reshape));
        self
    }

    /// An old name, still listed and marked deprecated with the version that removes it.
    #[must_use]
    pub fn alias(mut self, name: impl Into<String>, removed_in: impl Into<String>) -> Self {
        self.rules.aliases.push(Alias { name: name.into(), removed_in: removed_in.into() });
        self
    }

    /// How to ask for a required argument that is missing. Without it, a missing argument is a violation.
    #[must_use]
    pub fn when_missing(
        mut self,
        argument: impl Into<String>,
        ask: impl Fn() -> NeedsInput + Send + Sync + 'static,
    ) -> Self {
        self.rules.when_missing.push((argument.into(), Arc::new(ask)));
        self
    }

    /// Publishes this schema as it is instead of the one derived from the argument type; only `format`
    /// is added. For schemas that Rust types cannot say.
    #[must_use]
    pub fn input_schema(mut self, schema: JsonObject) -> Self {
        self.definition.declares_format = admit::properties(&schema).contains_key(crate::Format::ARGUMENT);
        let mut schema = schema;
        schema::add_format(&mut schema);
        self.definition.input_schema = Arc::new(schema);
        self
    }
}

impl<S> std::fmt::Debug for Tool<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A tool as clients see it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input_schema: Arc<JsonObject>,
    pub(crate) output_schema: Arc<JsonObject>,
    pub(crate) annotations: Annotations,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
    /// The author's own arguments have one called `format`: the build refuses it.
    #[serde(skip)]
    pub(crate) declares_format: bool,
}

impl ToolDefinition {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The title for people, if there is one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What it does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The schema of its arguments, `format` included.
    pub fn input_schema(&self) -> &JsonObject {
        &self.input_schema
    }

    /// The schema of its structured panel.
    pub fn output_schema(&self) -> &JsonObject {
        &self.output_schema
    }

    /// Whether it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.read_only
    }

    /// Its hints.
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }
}

/// Hints about what a tool does. A tool is taken to be destructive and to leave the machine until it says otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Annotations {
    #[serde(rename = "readOnlyHint")]
    pub(crate) read_only: bool,
    #[serde(rename = "destructiveHint")]
    pub(crate) destructive: bool,
    #[serde(rename = "idempotentHint")]
    pub(crate) idempotent: bool,
    #[serde(rename = "openWorldHint")]
    pub(crate) open_world: bool,
}

impl Default for Annotations {
    fn default() -> Self {
        Annotations { read_only: false, destructive: true, idempotent: false, open_world: true }
    }
}

/// An icon: where it is, and what it is.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    pub(crate) src: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sizes: Vec<String>,
}

impl Icon {
    /// An icon at an `https:` or `data:` URI.
    pub fn new(src: impl Into<String>) -> Self {
        Icon { src: src.into(), mime_type: None, sizes: Vec::new() }
    }

    /// Its MIME type.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Its sizes, such as `48x48`.
    #[must_use]
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.sizes.push(size.into());
        self
    }
}
