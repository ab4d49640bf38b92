//! Tools that answer at once, whoever calls: every kind of content, errors, progress, log messages, schemas,
//! headers, and a server that changes while it runs.

use std::time::Duration;

use diptych::{
    Capability, Content, Contents, Cx, JsonObject, Level, Messages, NoArguments, Stop, Text, ToolError,
    Toolset, prompt, tool,
};
use serde_json::json;

use super::media;

async fn simple_text(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new("This is a simple text response for testing."))
}

async fn image_content(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new("").attach(media::image()))
}

async fn audio_content(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new("").attach(media::sound()))
}

async fn embedded_resource(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let contents = Contents::text("test://embedded-resource", "This is an embedded resource content.");
    Ok(Text::new("").attach(Content::resource(contents)))
}

async fn multiple_content_types(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let contents = Contents::json("test://mixed-content-resource", &json!({"test": "data", "value": 123}));
    Ok(Text::new("Multiple content types test:").attach(media::image()).attach(Content::resource(contents)))
}

async fn error_handling(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Err(ToolError::client("This tool intentionally returns an error for testing"))?
}

async fn with_progress(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    for done in [0, 50, 100] {
        cx.progress(done, 100).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(Text::new("Progress went from 0 to 100."))
}

async fn with_logging(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        cx.log(Level::Info, message).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(Text::new("Three messages were logged."))
}

async fn logging_tool(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    cx.log(Level::Info, "This reaches only clients that asked for messages").await;
    Ok(Text::new("One message was logged."))
}

/// How long the server lets a connection last.
pub(crate) const CONNECTION: Duration = Duration::from_millis(300);

/// The suite calls it to see a stream that ends before its answer, and comes back for the rest. It outlasts
/// the connection.
async fn reconnection(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    cx.log(Level::Info, "Come back for the answer").await;
    tokio::time::sleep(CONNECTION + Duration::from_millis(100)).await;
    Ok(Text::new("The answer came on a second connection."))
}

async fn missing_capability(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    cx.require(Capability::Sampling)?;
    Ok(Text::new("This client has a model."))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct CustomHeader {
    /// The region, which clients repeat in a header for proxies to read.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

async fn custom_header(_cx: Cx, arguments: CustomHeader) -> Result<Text, Stop> {
    Ok(Text::new(format!("The region is {}.", arguments.region)))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Contact {
    name: Option<String>,
    address: Option<Address>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Address {
    city: Option<String>,
}

async fn contact(_cx: Cx, contact: Contact) -> Result<Text, Stop> {
    let name = contact.name.unwrap_or_else(|| "Someone".to_owned());
    let city =
        contact.address.and_then(|address| address.city).unwrap_or_else(|| "an unknown place".to_owned());
    Ok(Text::new(format!("{name} of {city}")))
}

/// Keywords that no Rust type stands for: it has to be published as it is.
fn contact_schema() -> JsonObject {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    });
    schema.as_object().cloned().unwrap_or_default()
}

const PASSING_TOOL: &str = "test_passing_tool";
const PASSING_PROMPT: &str = "test_passing_prompt";

async fn trigger_tool_change(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    if cx.server().remove_tool(PASSING_TOOL) {
        return Ok(Text::new("There is a tool less."));
    }
    let passing = tool(PASSING_TOOL, simple_text).description("Comes and goes.").read_only().closed_world();
    cx.server()
        .add(Toolset::new("passing-tools", ()).with(passing))
        .map_err(|error| ToolError::masked(&error))?;
    Ok(Text::new("There is a tool more."))
}

async fn trigger_prompt_change(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    if cx.server().remove_prompt(PASSING_PROMPT) {
        return Ok(Text::new("There is a prompt less."));
    }
    let passing = prompt(PASSING_PROMPT, |_cx: Cx, _: NoArguments| async {
        Ok(Messages::new().user("This prompt will be gone soon."))
    });
    let passing = passing.description("Comes and goes.");
    cx.server()
        .add(Toolset::new("passing-prompts", ()).with(passing))
        .map_err(|error| ToolError::masked(&error))?;
    Ok(Text::new("There is a prompt more."))
}

/// The tools. The first one takes no arguments: the suite calls whichever is listed first.
pub(crate) fn toolset() -> Toolset {
    Toolset::new("tools", ())
        .with(
            tool("test_simple_text", simple_text)
                .description("Answers with text.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_image_content", image_content)
                .description("Answers with an image.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_audio_content", audio_content)
                .description("Answers with a sound.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_embedded_resource", embedded_resource)
                .description("Answers with a resource.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_multiple_content_types", multiple_content_types)
                .description("Answers with text, an image and a resource.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_error_handling", error_handling)
                .description("Always fails.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_tool_with_progress", with_progress)
                .description("Tells how far it is before it answers.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_tool_with_logging", with_logging)
                .description("Logs three messages before it answers.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_logging_tool", logging_tool).description("Logs a message.").read_only().closed_world(),
        )
        .with(
            tool("test_reconnection", reconnection)
                .description("Answers on a second connection.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_missing_capability", missing_capability)
                .description("Works only for clients that have a model.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_custom_header", custom_header)
                .description("Takes an argument that is repeated in a header.")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("json_schema_2020_12_tool", contact)
                .description("Takes arguments that only a full JSON Schema can describe.")
                .input_schema(contact_schema())
                .read_only()
                .closed_world(),
        )
        .with(
            tool("test_trigger_tool_change", trigger_tool_change)
                .description("Adds a tool to the list, or takes it away again.")
                .additive()
                .closed_world(),
        )
        .with(
            tool("test_trigger_prompt_change", trigger_prompt_change)
                .description("Adds a prompt to the list, or takes it away again.")
                .additive()
                .closed_world(),
        )
}
