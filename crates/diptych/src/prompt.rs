//! Prompts: typed functions from arguments to messages.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call::Cx;
use crate::complete::{Partial, completer};
use crate::content::{Audience, Content};
use crate::schema::{self, JsonObject};
use crate::stop::Stop;
use crate::tool::{Icon, Run, parse};
use crate::walk::admit;

/// A prompt, before it joins a [`Toolset`](crate::Toolset).
pub struct Prompt<S = ()> {
    pub(crate) definition: PromptDefinition,
    pub(crate) run: Run<S, Messages>,
    pub(crate) completions: Vec<(String, Run<S, Vec<String>>)>,
}

/// Makes a prompt from an async function of the context and the typed arguments.
///
/// ```
/// use diptych::{Cx, Messages, Prompt, Stop, prompt};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Review {
///     /// The code to review.
///     code: String,
/// }
///
/// async fn review(_cx: Cx, arguments: Review) -> Result<Messages, Stop> {
///     Ok(Messages::new().system("You review code.").user(arguments.code))
/// }
/// let prompt: Prompt = prompt("code_review", review).description("Reviews code.");
/// ```
pub fn prompt<S, I, F, Fut>(name: impl Into<String>, function: F) -> Prompt<S>
where
    S: Send + Sync + 'static,
    I: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Cx<S>, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Messages, Stop>> + Send + 'static,
{
    let schema = schema::of_input::<I>();
    let required = admit::required(&schema);
    let arguments = admit::properties(&schema)
        .iter()
        .map(|(name, property)| ArgumentDefinition {
            name: name.clone(),
            description: property.get("description").and_then(Value::as_str).map(str::to_owned),
            required: required.iter().any(|one| one == name),
        })
        .collect();
    Prompt {
        definition: PromptDefinition {
            name: name.into(),
            title: None,
            description: String::new(),
            arguments,
            icons: Vec::new(),
            schema: Arc::new(schema),
        },
        run: Arc::new(move |cx, arguments| match parse::<I>(&arguments) {
            Ok(arguments) => Box::pin(function(cx, arguments)),
            Err(stop) => Box::pin(async move { Err(stop) }),
        }),
        completions: Vec::new(),
    }
}

impl<S: Send + Sync + 'static> Prompt<S> {
    /// What the prompt is for.
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

    /// An icon for clients that show one.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// Completes one of the arguments.
    #[must_use]
    pub fn complete<F, Fut>(mut self, argument: impl Into<String>, function: F) -> Self
    where
        F: Fn(Cx<S>, Partial) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, Stop>> + Send + 'static,
    {
        self.completions.push((argument.into(), completer(function)));
        self
    }
}

impl<S> std::fmt::Debug for Prompt<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Prompt").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A prompt as clients see it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptDefinition {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) arguments: Vec<ArgumentDefinition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
    #[serde(skip)]
    pub(crate) schema: Arc<JsonObject>,
}

impl PromptDefinition {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[ArgumentDefinition] {
        &self.arguments
    }
}

/// An argument of a prompt. On the wire it is always a string.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ArgumentDefinition {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    pub(crate) required: bool,
}

impl ArgumentDefinition {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for, if that is said.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Whether the prompt cannot do without it.
    pub fn is_required(&self) -> bool {
        self.required
    }
}

/// The messages of a prompt.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    pub(crate) description: Option<String>,
    pub(crate) system: Vec<Content>,
    pub(crate) messages: Vec<(Audience, Content)>,
}

impl Messages {
    /// No messages yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What these messages are, when it is more than the prompt's own description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Instructions for the model. MCP has no system role: it goes out first, as a user message
    /// annotated for the assistant.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system.push(Content::text(text).audience([Audience::Assistant]));
        self
    }

    /// A message of the user's.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.user_content(Content::text(text))
    }

    /// A message of the assistant's.
    #[must_use]
    pub fn assistant(mut self, text: impl Into<String>) -> Self {
        self.messages.push((Audience::Assistant, Content::text(text)));
        self
    }

    /// A message of the user's that is an image, a sound or a resource.
    #[must_use]
    pub fn user_content(mut self, content: Content) -> Self {
        self.messages.push((Audience::User, content));
        self
    }
}
