//! Prompts: text, arguments, a resource, an image, and one that asks.

use diptych::{
    Content, Contents, Cx, Field, Messages, NeedsInput, NoArguments, OrAsk as _, Partial, Stop, Toolset,
    prompt,
};

use super::media;

async fn simple(_cx: Cx, _: NoArguments) -> Result<Messages, Stop> {
    Ok(Messages::new().user("This is a simple prompt for testing."))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    /// The first argument.
    arg1: String,
    /// The second argument.
    arg2: String,
}

async fn with_arguments(_cx: Cx, arguments: Arguments) -> Result<Messages, Stop> {
    let Arguments { arg1, arg2 } = arguments;
    Ok(Messages::new().user(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")))
}

async fn complete_argument(_cx: Cx, partial: Partial) -> Result<Vec<String>, Stop> {
    Ok(partial.filter(["test", "testing", "toolkit"]))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// The URI of the resource to embed.
    resource_uri: String,
}

async fn with_embedded_resource(_cx: Cx, arguments: Embedded) -> Result<Messages, Stop> {
    let contents = Contents::text(arguments.resource_uri, "Embedded resource content for testing.");
    Ok(Messages::new()
        .user_content(Content::resource(contents))
        .user("Please process the embedded resource above."))
}

async fn with_image(_cx: Cx, _: NoArguments) -> Result<Messages, Stop> {
    Ok(Messages::new().user_content(media::image()).user("Please analyze the image above."))
}

async fn that_asks(cx: Cx, _: NoArguments) -> Result<Messages, Stop> {
    let context: String = cx.answer("context").or_ask(|| {
        NeedsInput::new("Context Needed", "What context should the prompt use?")
            .key("user_context")
            .field(Field::text("context").person_only())
    })?;
    Ok(Messages::new().user(format!("Use this context: {context}")))
}

pub(crate) fn toolset() -> Toolset {
    Toolset::new("prompts", ())
        .with(prompt("test_simple_prompt", simple).description("A prompt without arguments."))
        .with(
            prompt("test_prompt_with_arguments", with_arguments)
                .description("A prompt that repeats its arguments.")
                .complete("arg1", complete_argument)
                .complete("arg2", complete_argument),
        )
        .with(
            prompt("test_prompt_with_embedded_resource", with_embedded_resource)
                .description("A prompt with a resource in it."),
        )
        .with(prompt("test_prompt_with_image", with_image).description("A prompt with an image in it."))
        .with(
            prompt("test_input_required_result_prompt", that_asks)
                .description("A prompt that asks the person for its context."),
        )
}
