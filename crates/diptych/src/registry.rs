//! What a server offers, by name. A registry never changes: a server that changes gets a new one.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::answer::Panels;
use crate::prompt::{Messages, PromptDefinition};
use crate::resource::{Reading, ResourceDefinition};
use crate::schema::JsonObject;
use crate::template::UriTemplate;
use crate::tool::{Alias, Bound, Rules, ToolDefinition};
use crate::walk::admit::Shape;
use crate::walk::check::OutputCheck;

/// Everything a server offers.
#[derive(Default, Clone)]
pub(crate) struct Registry {
    pub(crate) tools: Vec<Arc<ToolEntry>>,
    pub(crate) prompts: Vec<Arc<PromptEntry>>,
    pub(crate) resources: Vec<Arc<ResourceEntry>>,
    /// Names and aliases of the tools.
    names: HashMap<String, (usize, Option<Alias>)>,
}

/// A tool with its schemas compiled.
pub(crate) struct ToolEntry {
    pub(crate) toolset: String,
    pub(crate) definition: ToolDefinition,
    pub(crate) run: Bound<Box<dyn Panels>>,
    pub(crate) rules: Rules,
    pub(crate) shape: Shape,
    pub(crate) output: OutputCheck,
    /// Whether arguments are to be repeated in HTTP headers, which rmcp compares.
    pub(crate) has_header_arguments: bool,
}

/// A prompt with its schema compiled.
pub(crate) struct PromptEntry {
    pub(crate) toolset: String,
    pub(crate) definition: PromptDefinition,
    pub(crate) run: Bound<Messages>,
    pub(crate) shape: Shape,
    pub(crate) completions: Vec<(String, Bound<Vec<String>>)>,
}

/// A resource or a template with its schema compiled.
pub(crate) struct ResourceEntry {
    pub(crate) toolset: String,
    pub(crate) definition: ResourceDefinition,
    pub(crate) template: Option<UriTemplate>,
    pub(crate) run: Bound<Reading>,
    pub(crate) shape: Shape,
    pub(crate) completions: Vec<(String, Bound<Vec<String>>)>,
}

impl Registry {
    /// Rebuilds the index of names. To be called after every change.
    pub(crate) fn index(&mut self) {
        self.names.clear();
        for (position, tool) in self.tools.iter().enumerate() {
            self.names.insert(tool.definition.name.clone(), (position, None));
            for alias in &tool.rules.aliases {
                self.names.insert(alias.name.clone(), (position, Some(alias.clone())));
            }
        }
    }

    /// The tool of that name, and the alias if it was one.
    pub(crate) fn tool(&self, name: &str) -> Option<(&ToolEntry, Option<&Alias>)> {
        let (position, alias) = self.names.get(name)?;
        Some((self.tools[*position].as_ref(), alias.as_ref()))
    }

    pub(crate) fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&Arc<PromptEntry>> {
        self.prompts.iter().find(|prompt| prompt.definition.name == name)
    }

    pub(crate) fn prompt_names(&self) -> impl Iterator<Item = &str> {
        self.prompts.iter().map(|prompt| prompt.definition.name.as_str())
    }

    /// The resource behind a URI, with the variables of its template: an exact match first, else the most
    /// literal template.
    pub(crate) fn resource(&self, uri: &str) -> Option<(&Arc<ResourceEntry>, JsonObject)> {
        let exact = self
            .resources
            .iter()
            .find(|resource| resource.template.is_none() && resource.definition.uri == uri);
        if let Some(resource) = exact {
            return Some((resource, JsonObject::new()));
        }
        let matching = self.resources.iter().filter_map(|resource| {
            let template = resource.template.as_ref()?;
            let variables = template.matches(uri)?;
            Some((template.specificity(), resource, variables))
        });
        let (_, resource, variables) = matching.max_by_key(|(specificity, ..)| *specificity)?;
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), Value::String(value)));
        Some((resource, variables.collect()))
    }

    /// The resource declared with exactly this URI or template: how completion refers to it.
    pub(crate) fn declared_resource(&self, uri: &str) -> Option<&Arc<ResourceEntry>> {
        self.resources.iter().find(|resource| resource.definition.uri == uri)
    }

    pub(crate) fn resource_uris(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().map(|resource| resource.definition.uri.as_str())
    }
}
