//! Tools that stop to ask: the person, the client's model, the client itself, and all of them at once.
//!
//! None of them takes the answers as arguments, so every field is `person_only`: read as an answer, never as
//! something a model made up.

use diptych::{
    Capability, Choice, Cx, Field, NeedsInput, NoArguments, OrAsk as _, Roots, Sample, Sampled, Stop, Text,
    Tool, Toolset, tool,
};
use serde_json::{Map, Value};

/// The form that several tools begin with.
fn ask_name() -> NeedsInput {
    NeedsInput::new("Name Needed", "What is your name?")
        .key("user_name")
        .field(Field::text("name").person_only())
}

/// The form that several tools end with.
fn ask_confirmation() -> NeedsInput {
    NeedsInput::new("Confirmation Needed", "Please confirm")
        .key("confirm")
        .field(Field::boolean("ok").person_only())
}

/// Where the client works.
fn folders(answer: &Roots) -> String {
    let uris: Vec<&str> = answer.roots.iter().map(|root| root.uri.as_str()).collect();
    uris.join(", ")
}

/// What was filled in, once the form with these fields has been accepted.
fn filled_in(cx: &Cx, fields: &[&str]) -> Option<Value> {
    let answers = fields.iter().filter_map(|field| Some(((*field).to_owned(), cx.answer::<Value>(field)?)));
    let answers: Map<String, Value> = answers.collect();
    fields.iter().all(|field| cx.asked(field)).then_some(Value::Object(answers))
}

/// What a form that is only shown and read back comes to.
fn form(cx: &Cx, said: &str, ask: NeedsInput, fields: Vec<Field>, names: &[&str]) -> Result<Text, Stop> {
    let content = filled_in(cx, names).or_ask(|| {
        let ask = ask
            .person()
            .declined(Text::new(format!("{said}: action=decline")))
            .cancelled(Text::new(format!("{said}: action=cancel")));
        fields.into_iter().fold(ask, |ask, field| ask.field(field.person_only()))
    })?;
    Ok(Text::new(format!("{said}: action=accept, content={content}")))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sampling {
    /// What the model is asked.
    prompt: String,
}

async fn sampling(cx: Cx, arguments: Sampling) -> Result<Text, Stop> {
    let message: Sampled = cx.answer("answer").or_ask(|| {
        NeedsInput::new("Model Needed", "This needs a client that has a model.")
            .sample("answer", Sample::new(arguments.prompt, 100))
            .as_error()
    })?;
    Ok(Text::new(format!("LLM response: {}", message.text())))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Elicitation {
    /// What the person is asked.
    message: String,
}

async fn elicitation(cx: Cx, arguments: Elicitation) -> Result<Text, Stop> {
    let fields = vec![
        Field::text("username").description("User's response"),
        Field::text("email").description("User's email address"),
    ];
    let ask = NeedsInput::new("Details Needed", arguments.message);
    form(&cx, "User response", ask, fields, &["username", "email"])
}

async fn elicitation_defaults(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let fields = vec![
        Field::text("name").default("John Doe").optional(),
        Field::integer("age").default(30).optional(),
        Field::number("score").default(95.5).optional(),
        Field::choice("status", ["active", "inactive", "pending"]).default("active").optional(),
        Field::boolean("verified").default(true).optional(),
    ];
    let ask = NeedsInput::new("Details Needed", "Please look over these values.");
    form(&cx, "Elicitation completed", ask, fields, &["name", "age", "score", "status", "verified"])
}

async fn elicitation_enums(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let labelled = |choices: [(&str, &str); 3]| choices.map(|(value, label)| Choice::new(value).label(label));
    let options = [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
    let old = [("opt1", "Option One"), ("opt2", "Option Two"), ("opt3", "Option Three")];
    let choices = [("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")];
    let fields = vec![
        Field::choice("untitledSingle", ["option1", "option2", "option3"]).optional(),
        Field::choice("titledSingle", labelled(options)).optional(),
        Field::choice("legacyEnum", labelled(old)).legacy_titles().optional(),
        Field::choices("untitledMulti", ["option1", "option2", "option3"]).optional(),
        Field::choices("titledMulti", labelled(choices)).optional(),
    ];
    let names = ["untitledSingle", "titledSingle", "legacyEnum", "untitledMulti", "titledMulti"];
    form(&cx, "Elicitation completed", NeedsInput::new("Choice Needed", "Please choose."), fields, &names)
}

async fn streaming_elicitation(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let ok: bool = cx.answer("ok").or_ask(ask_confirmation)?;
    Ok(Text::new(format!("Confirmed: {ok}")))
}

async fn name(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let name: String = cx.answer("name").or_ask(ask_name)?;
    Ok(Text::new(format!("Hello, {name}!")))
}

async fn sample(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let message: Sampled = cx.answer("capital_question").or_ask(|| {
        NeedsInput::new("Model Needed", "This needs a client that has a model.")
            .sample("capital_question", Sample::new("What is the capital of France?", 100))
    })?;
    Ok(Text::new(message.text()))
}

async fn roots(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let answer: Roots = cx.answer("client_roots").or_ask(|| {
        NeedsInput::new("Roots Needed", "This needs a client that names its folders.").roots("client_roots")
    })?;
    Ok(Text::new(format!("The client works in: {}", folders(&answer))))
}

async fn request_state(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let ok: bool = cx.answer("ok").or_ask(ask_confirmation)?;
    Ok(Text::new(if ok { "state-ok" } else { "state-refused" }))
}

async fn multiple_inputs(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let all = || {
        let name: String = cx.answer("name")?;
        let greeting = cx.answer::<Sampled>("greeting")?.text();
        let folders = folders(&cx.answer("client_roots")?);
        Some(format!("{greeting} {name}, at work in: {folders}"))
    };
    let greeting = Sample::new("Generate a greeting", 50);
    let text = all().or_ask(|| ask_name().sample("greeting", greeting).roots("client_roots"))?;
    Ok(Text::new(text))
}

async fn multi_round(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let name: String = cx.answer("name").or_ask(|| {
        NeedsInput::new("Name Needed", "Step 1: What is your name?")
            .key("step1")
            .field(Field::text("name").person_only())
    })?;
    let color: String = cx.answer("color").or_ask(|| {
        NeedsInput::new("Color Needed", "Step 2: What is your favorite color?")
            .key("step2")
            .field(Field::text("color").person_only())
    })?;
    Ok(Text::new(format!("{name} likes {color}.")))
}

async fn by_capability(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    if cx.caller().can(Capability::Elicitation) {
        let name: String = cx.answer("name").or_ask(ask_name)?;
        return Ok(Text::new(format!("Hello, {name}!")));
    }
    let message: Sampled = cx.answer("greeting").or_ask(|| {
        NeedsInput::new("Model Needed", "This needs a client that has a person or a model to ask.")
            .sample("greeting", Sample::new("Generate a greeting", 50))
    })?;
    Ok(Text::new(message.text()))
}

/// All of them only read, so a request state may come back twice.
fn reads(tool: Tool, description: &str) -> Tool {
    tool.description(description).read_only().closed_world()
}

pub(crate) fn toolset() -> Toolset {
    Toolset::new("asks", ())
        .with(reads(tool("test_sampling", sampling), "Lets the client's model answer a prompt."))
        .with(reads(tool("test_elicitation", elicitation), "Asks the person for a user name and an address."))
        .with(reads(
            tool("test_elicitation_sep1034_defaults", elicitation_defaults),
            "Shows the person a form that is filled in already.",
        ))
        .with(reads(
            tool("test_elicitation_sep1330_enums", elicitation_enums),
            "Lets the person choose in five ways.",
        ))
        .with(reads(tool("test_streaming_elicitation", streaming_elicitation), "Asks the person to confirm."))
        .with(reads(tool("test_input_required_result_elicitation", name), "Asks for a name."))
        .with(reads(
            tool("test_input_required_result_sampling", sample),
            "Asks the client's model for a capital.",
        ))
        .with(reads(tool("test_input_required_result_list_roots", roots), "Asks where the client works."))
        .with(reads(
            tool("test_input_required_result_request_state", request_state),
            "Asks to confirm, and knows the call again by its state.",
        ))
        .with(reads(
            tool("test_input_required_result_multiple_inputs", multiple_inputs),
            "Asks the person, the model and the client at once.",
        ))
        .with(reads(
            tool("test_input_required_result_multi_round", multi_round),
            "Asks for a name, then for a color.",
        ))
        .with(reads(
            tool("test_input_required_result_tampered_state", request_state),
            "Asks to confirm, and refuses a state that is not its own.",
        ))
        .with(reads(
            tool("test_input_required_result_capabilities", by_capability),
            "Asks only what the client said it can answer.",
        ))
}
