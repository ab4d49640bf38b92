//! Resources: typed functions from a URI to its contents.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::Cx;
use crate::complete::{Partial, completer};
use crate::content::Contents;
use crate::schema::{self, JsonObject};
use crate::stop::Stop;
use crate::tool::{Icon, Run, parse};

/// A resource or a resource template, before it joins a [`Toolset`](crate::Toolset).
pub struct Resource<S = ()> {
    pub(crate) definition: ResourceDefinition,
    pub(crate) run: Run<S, Reading>,
    pub(crate) completions: Vec<(String, Run<S, Vec<String>>)>,
}

/// Makes a resource from its URI and an async function. A URI with variables, such as
/// `users://{id}` or `users://all{?page}`, makes a template; the variables are the function's typed arguments.
///
/// ```
/// use diptych::{Contents, Cx, Resource, Stop, resource};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct User { id: u32 }
///
/// async fn user(_cx: Cx, user: User) -> Result<Contents, Stop> {
///     Ok(Contents::json("", &serde_json::json!({"id": user.id})))
/// }
/// let resource: Resource = resource("users://{id}", user).name("user").description("A user.");
/// ```
pub fn resource<S, I, R, F, Fut>(uri: impl Into<String>, function: F) -> Resource<S>
where
    S: Send + Sync + 'static,
    I: DeserializeOwned + JsonSchema + Send + 'static,
    R: Into<Reading> + Send + 'static,
    F: Fn(Cx<S>, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, Stop>> + Send + 'static,
{
    let uri = uri.into();
    Resource {
        definition: ResourceDefinition {
            name: uri.clone(),
            uri,
            title: None,
            description: None,
            mime_type: None,
            icons: Vec::new(),
            schema: Arc::new(schema::of_input::<I>()),
        },
        run: Arc::new(move |cx, variables| match parse::<I>(&variables) {
            Ok(variables) => {
                let reading = function(cx, variables);
                Box::pin(async move { reading.await.map(Into::into) })
            }
            Err(stop) => Box::pin(async move { Err(stop) }),
        }),
        completions: Vec::new(),
    }
}

impl<S: Send + Sync + 'static> Resource<S> {
    /// A short name; without it the URI is the name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// A title for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.definition.title = Some(title.into());
        self
    }

    /// What it holds.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.definition.description = Some(description.into());
        self
    }

    /// The MIME type of its contents, where they do not say it themselves.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime_type.into());
        self
    }

    /// An icon for clients that show one.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.definition.icons.push(icon);
        self
    }

    /// Completes one of a template's variables.
    #[must_use]
    pub fn complete<F, Fut>(mut self, variable: impl Into<String>, function: F) -> Self
    where
        F: Fn(Cx<S>, Partial) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, Stop>> + Send + 'static,
    {
        self.completions.push((variable.into(), completer(function)));
        self
    }
}

impl<S> std::fmt::Debug for Resource<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Resource").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// What reading a resource gave: one or several contents.
#[derive(Debug, Clone)]
pub struct Reading(pub(crate) Vec<Contents>);

impl From<Contents> for Reading {
    fn from(contents: Contents) -> Self {
        Reading(vec![contents])
    }
}

impl From<Vec<Contents>> for Reading {
    fn from(contents: Vec<Contents>) -> Self {
        Reading(contents)
    }
}

/// A resource or a template as clients see it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceDefinition {
    pub(crate) uri: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) icons: Vec<Icon>,
    #[serde(skip)]
    pub(crate) schema: Arc<JsonObject>,
}

impl ResourceDefinition {
    /// The URI or the URI template.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds, if that is said.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// Whether the URI has variables.
    pub fn is_template(&self) -> bool {
        self.uri.contains('{')
    }
}
