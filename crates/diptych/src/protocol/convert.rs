//! The toolkit's words in rmcp's types, and back.

#![allow(deprecated, reason = "logging levels are deprecated in MCP, but clients still set them")]

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, ElicitRequest, ErrorCode, GetPromptResult, Icon,
    InputRequest, InputRequiredResult, ListRootsRequest, LoggingLevel, MetaObject, Prompt, PromptArgument,
    PromptMessage, RequestId, Resource, ResourceContents, ResourceTemplate, Role, SamplingCapability,
    TextContent, Tool, ToolAnnotations,
};
use serde_json::{Map, Value, json};

use super::peer;
use crate::content::{Audience, Content, Contents};
use crate::needs::{NeedsInput, Wanted};
use crate::prompt::{Messages, PromptDefinition};
use crate::resource::ResourceDefinition;
use crate::tool::{self, ToolDefinition};
use crate::walk::Fault;
use crate::walk::render::{Block, Rendered};
use crate::wire::{Capability, Level};

/// The member of a result's `_meta` that marks a spliced one. It never reaches the wire.
const SPLICED: &str = "diptych/spliced";

/// A result that the line transport writes as it is: its members, serialised once.
///
/// rmcp wants the structured panel as a value and has no place for a block's `mimeType`. So the finished
/// text travels through rmcp in place of the panel, and [`spliced`] takes it out again.
pub(crate) fn splice(rendered: &Rendered) -> CallToolResult {
    let mut members = Vec::new();
    push_members(&mut members, rendered);
    let mut result = CallToolResult::default();
    // Always UTF-8: it was made of strings.
    result.structured_content = String::from_utf8(members).ok().map(Value::String);
    result.meta = Some(MetaObject(Map::from_iter([(SPLICED.to_owned(), Value::Bool(true))])));
    result
}

/// A result as the whole message that answers a call. `typed` as 2026-07-28 has it.
pub(crate) fn written(id: &RequestId, typed: bool, rendered: &Rendered) -> Vec<u8> {
    let words: usize = rendered.blocks.iter().map(Block::len).sum();
    let structured = rendered.structured.as_ref().map_or(0, |panel| panel.compact().len());
    // Escaping makes text a little longer.
    let mut out = Vec::with_capacity(320 + words + words / 8 + structured);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    push_json(&mut out, id);
    out.extend_from_slice(b",\"result\":{");
    if typed {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    push_members(&mut out, rendered);
    out.extend_from_slice(b"}}");
    out
}

fn push_members(out: &mut Vec<u8>, rendered: &Rendered) {
    out.extend_from_slice(b"\"content\":[");
    for (position, block) in rendered.blocks.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        match block {
            Block::Text { text, mime_type } => {
                out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                push_json(out, text);
                out.extend_from_slice(b",\"mimeType\":\"");
                out.extend_from_slice(mime_type.as_bytes());
                out.extend_from_slice(b"\",\"_meta\":{\"mimeType\":\"");
                out.extend_from_slice(mime_type.as_bytes());
                out.extend_from_slice(b"\"}}");
            }
            Block::Other(content) => push_json(out, content),
        }
    }
    out.push(b']');
    if let Some(structured) = &rendered.structured {
        out.extend_from_slice(b",\"structuredContent\":");
        out.extend_from_slice(structured.compact().as_bytes());
    }
    if rendered.is_error {
        out.extend_from_slice(b",\"isError\":true");
    }
}

/// The members of a spliced result.
pub(crate) fn spliced(result: &CallToolResult) -> Option<&str> {
    result.meta.as_ref()?.0.get(SPLICED)?;
    result.structured_content.as_ref()?.as_str()
}

fn push_json(out: &mut Vec<u8>, value: &impl serde::Serialize) {
    let start = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Strings, numbers and maps with string keys always serialise; what does not must not break the rest.
        out.truncate(start);
        out.extend_from_slice(b"null");
    }
}

/// A result in rmcp's own types, for transports that serialise by themselves.
pub(crate) fn result(rendered: Rendered) -> CallToolResult {
    let mut result = CallToolResult::default();
    result.content = rendered.blocks.into_iter().filter_map(block).collect();
    result.structured_content = rendered.structured.map(|panel| panel.value());
    result.is_error = rendered.is_error.then_some(true);
    result
}

fn block(block: Block) -> Option<ContentBlock> {
    match block {
        Block::Text { text, mime_type } => {
            let meta = MetaObject(Map::from_iter([("mimeType".to_owned(), Value::from(mime_type))]));
            Some(ContentBlock::Text(TextContent::new(text).with_meta(meta)))
        }
        Block::Other(content) => content_block(&content),
    }
}

fn content_block(content: &Content) -> Option<ContentBlock> {
    serde_json::from_value(serde_json::to_value(content).ok()?).ok()
}

/// What a client of 2026-07-28 has to answer before it calls again.
pub(crate) fn input_required(ask: &NeedsInput, state: String) -> Result<InputRequiredResult, ErrorData> {
    let questions = ask.questions();
    let mut requests = BTreeMap::new();
    if let Some(dialog) = questions.dialog {
        let params = peer::elicitation(dialog)
            .ok_or_else(|| ErrorData::internal_error("The form could not be made.", None))?;
        requests.insert(questions.key, InputRequest::Elicitation(ElicitRequest::new(params)));
    }
    for (key, wanted) in questions.also {
        let request = match wanted {
            Wanted::Sample(sample) => {
                InputRequest::CreateMessage(rmcp::model::CreateMessageRequest::new(peer::sampling(sample)))
            }
            Wanted::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
        };
        requests.insert(key, request);
    }
    Ok(InputRequiredResult::new(Some(requests), Some(state)))
}

/// A fault as a protocol error.
pub(crate) fn error(fault: Fault) -> ErrorData {
    match fault {
        Fault::InvalidParams(message) => ErrorData::invalid_params(message, None),
        Fault::NoSuchResource { uri, message } => {
            ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
        }
        Fault::Unavailable(message) => ErrorData::new(ErrorCode(-32802), message, None),
        Fault::Lacks(capability) => ErrorData::missing_required_client_capability(required(capability)),
        Fault::Internal(message) => ErrorData::internal_error(message, None),
        Fault::Cancelled => ErrorData::new(ErrorCode(-32800), "The call was cancelled.", None),
        Fault::Shutdown => ErrorData::new(
            ErrorCode(-32800),
            "The server is shutting down and stopped this call. Try again when it is back.",
            None,
        ),
    }
}

fn required(capability: Capability) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    match capability {
        Capability::Elicitation => {
            capabilities.elicitation = Some(rmcp::model::ElicitationCapability::default());
        }
        Capability::Sampling => capabilities.sampling = Some(SamplingCapability::default()),
        Capability::Roots => capabilities.roots = Some(rmcp::model::RootsCapabilities::default()),
    }
    capabilities
}

/// A tool as it is listed, under its own name or an old one.
pub(crate) fn tool(definition: &ToolDefinition, with_output: bool) -> Tool {
    let mut tool = Tool::new(
        definition.name.clone(),
        definition.description.clone(),
        std::sync::Arc::clone(&definition.input_schema),
    );
    tool.title.clone_from(&definition.title);
    if with_output {
        tool.output_schema = Some(std::sync::Arc::clone(&definition.output_schema));
    }
    let hints = &definition.annotations;
    let mut annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    annotations.title.clone_from(&definition.title);
    tool.annotations = Some(annotations);
    tool.icons = icons(&definition.icons);
    tool
}

/// The same tool under an old name.
pub(crate) fn alias(definition: &ToolDefinition, alias: &tool::Alias, with_output: bool) -> Tool {
    let mut listed = tool(definition, with_output);
    listed.name = alias.name.clone().into();
    listed.description = Some(
        format!(
            "Deprecated: use `{}`; this name goes away in version {}. {}",
            definition.name, alias.removed_in, definition.description
        )
        .into(),
    );
    listed
}

fn icons(icons: &[tool::Icon]) -> Option<Vec<Icon>> {
    let convert = |icon: &tool::Icon| {
        let mut converted = Icon::new(icon.src.clone());
        converted.mime_type.clone_from(&icon.mime_type);
        converted.sizes = (!icon.sizes.is_empty()).then(|| icon.sizes.clone());
        converted
    };
    (!icons.is_empty()).then(|| icons.iter().map(convert).collect())
}

pub(crate) fn prompt(definition: &PromptDefinition) -> Prompt {
    let arguments = definition.arguments.iter().map(|argument| {
        let mut converted = PromptArgument::new(argument.name.clone()).with_required(argument.required);
        converted.description.clone_from(&argument.description);
        converted
    });
    let arguments: Vec<PromptArgument> = arguments.collect();
    let mut prompt = Prompt::new(
        definition.name.clone(),
        Some(definition.description.clone()),
        (!arguments.is_empty()).then_some(arguments),
    );
    prompt.title.clone_from(&definition.title);
    prompt.icons = icons(&definition.icons);
    prompt
}

/// The messages of a prompt. There is no system role: what is one goes first, as a user message.
pub(crate) fn messages(messages: Messages, description: String) -> GetPromptResult {
    let system = messages.system.into_iter().map(|content| (Audience::User, content));
    let all = system.chain(messages.messages).filter_map(|(role, content)| {
        let role = if role == Audience::User { Role::User } else { Role::Assistant };
        Some(PromptMessage::new(role, content_block(&content)?))
    });
    let mut result = GetPromptResult::new(all.collect());
    result.description = Some(messages.description.unwrap_or(description));
    result
}

pub(crate) fn resource(definition: &ResourceDefinition) -> Resource {
    let mut resource = Resource::new(definition.uri.clone(), definition.name.clone());
    resource.title.clone_from(&definition.title);
    resource.description.clone_from(&definition.description);
    resource.mime_type.clone_from(&definition.mime_type);
    resource.icons = icons(&definition.icons);
    resource
}

pub(crate) fn template(definition: &ResourceDefinition) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(definition.uri.clone(), definition.name.clone());
    template.title.clone_from(&definition.title);
    template.description.clone_from(&definition.description);
    template.mime_type.clone_from(&definition.mime_type);
    template.icons = icons(&definition.icons);
    template
}

pub(crate) fn contents(contents: &[Contents]) -> Vec<ResourceContents> {
    let convert = |one: &Contents| serde_json::from_value(serde_json::to_value(one).ok()?).ok();
    contents.iter().filter_map(convert).collect()
}

pub(crate) fn level_in(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice => Level::Notice,
        LoggingLevel::Warning => Level::Warning,
        LoggingLevel::Error => Level::Error,
        LoggingLevel::Critical => Level::Critical,
        LoggingLevel::Alert => Level::Alert,
        LoggingLevel::Emergency => Level::Emergency,
    }
}

pub(crate) fn level_out(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Notice => LoggingLevel::Notice,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        Level::Critical => LoggingLevel::Critical,
        Level::Alert => LoggingLevel::Alert,
        Level::Emergency => LoggingLevel::Emergency,
    }
}
