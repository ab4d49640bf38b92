//! Every check that building a server makes, each with its message.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

use diptych::{
    Contents, Cx, Either, Format, Markdown, Messages, NeedsInput, NoArguments, Present, Prompt, Resource,
    Server, Stop, Text, Tool, Toolset, prompt, resource, tool,
};
use serde_json::{Value, json};

async fn text(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new("text"))
}

fn named(name: &str) -> Tool {
    tool(name, text).description("Says something.")
}

async fn messages(_cx: Cx, _: NoArguments) -> Result<Messages, Stop> {
    Ok(Messages::new().user("hello"))
}

fn prompted(name: &str) -> Prompt {
    prompt(name, messages).description("Says hello.")
}

async fn contents(_cx: Cx, _: NoArguments) -> Result<Contents, Stop> {
    Ok(Contents::text("", "text"))
}

fn at(uri: &str) -> Resource {
    resource(uri, contents)
}

fn raw(schema: Value) -> Tool {
    named("raw").input_schema(schema.as_object().unwrap().clone())
}

/// What building says about these toolsets, one line a problem.
fn problems(toolsets: impl IntoIterator<Item = Toolset>) -> String {
    let mut builder = Server::builder("test", "0.0.0");
    for toolset in toolsets {
        builder = builder.toolset(toolset);
    }
    let error = builder.build().expect_err("the build must fail");
    error.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn one(toolset: Toolset) -> String {
    problems([toolset])
}

fn toolset() -> Toolset {
    Toolset::new("a", ())
}

#[test]
fn duplicate_names_within_a_toolset() {
    let twice = toolset()
        .with(named("x"))
        .with(named("x"))
        .with(prompted("p"))
        .with(prompted("p"))
        .with(at("r://r").name("r"))
        .with(at("r://other").name("r"));
    insta::assert_snapshot!(one(twice), @"
    The toolset `a` has two of the tool `x`: rename or remove one.
    The toolset `a` has two of the prompt `p`: rename or remove one.
    The toolset `a` has two of the resource `r`: rename or remove one.
    ");
}

#[test]
fn duplicate_names_across_toolsets_and_aliases() {
    let other = Toolset::new("b", ())
        .with(named("x"))
        .with(named("y").alias("z", "1.0.0"))
        .with(named("z"))
        .with(prompted("p"))
        .with(at("r://r").name("other"));
    insta::assert_snapshot!(problems([toolset().with(named("x")).with(prompted("p")).with(at("r://r").name("r")), other]), @"
    The toolsets `a` and `b` both have the tool `x`: rename one, or serve only one of the toolsets.
    The toolset `b` has two of the tool `z`: rename or remove one.
    The toolsets `a` and `b` both have the prompt `p`: rename one, or serve only one of the toolsets.
    The toolsets `a` and `b` both have the resource URI `r://r`: rename one, or serve only one of the toolsets.
    ");
}

#[test]
fn invalid_names_and_missing_descriptions() {
    let bad = Toolset::new("", ())
        .with(tool("two words", text))
        .with(prompt("é", messages))
        .with(at("r://r").name(" "));
    insta::assert_snapshot!(one(bad), @r#"
    The toolset name "" is not valid: use 1 to 128 letters, digits, `_`, `-` or `.`.
    The tool name "two words" is not valid: use 1 to 128 letters, digits, `_`, `-` or `.`.
    The tool `two words` has no description: say with `.description(..)` what it does.
    The prompt name "é" is not valid: use 1 to 128 letters, digits, `_`, `-` or `.`.
    The prompt `é` has no description: say with `.description(..)` what it is for.
    The resource at `r://r` has no usable name: give it a name without control characters.
    "#);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code)]
struct Formatted {
    format: Option<Format>,
}

async fn formatted(_cx: Cx, _: Formatted) -> Result<Text, Stop> {
    Ok(Text::new(""))
}

#[test]
fn a_field_twice() {
    insta::assert_snapshot!(one(toolset().with(tool("x", formatted).description("X."))), @"The tool `x` has the field `format` twice: its own and the one every tool takes: rename its own.");
}

async fn list(_cx: Cx, _: Vec<String>) -> Result<Text, Stop> {
    Ok(Text::new(""))
}

#[test]
fn roots_that_are_not_objects() {
    insta::assert_snapshot!(one(toolset().with(tool("x", list).description("X."))), @"The tool `x` takes arguments that are not an object: take a struct with named fields, or `NoArguments`.");
}

#[test]
fn field_types_and_required_names() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "text"}}, "required": ["b"]});
    insta::assert_snapshot!(one(toolset().with(raw(schema))), @"
    The tool `raw` gives the field `a` the type `text`, which JSON Schema does not have: use one of string, number, integer, boolean, object, array, null.
    The tool `raw` requires the field `b`, which it does not declare: declare it under `properties`, or remove it from `required`.
    ");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code)]
struct Id {
    id: String,
}

async fn by_id(_cx: Cx, _: Id) -> Result<Contents, Stop> {
    Ok(Contents::text("", "text"))
}

async fn ids(_cx: Cx, partial: diptych::Partial) -> Result<Vec<String>, Stop> {
    Ok(partial.filter(["1", "2"]))
}

#[test]
fn resources_that_do_not_fit_their_uris() {
    let bad = toolset()
        .with(at("no scheme").name("spaces"))
        .with(at("r://{open").name("brace"))
        .with(resource("r://fixed", by_id).name("needs"))
        .with(at("r://{id}").name("ignores"))
        .with(at("r://static").name("completes").complete("id", ids))
        .with(
            resource("r://x/{id}", by_id)
                .name("other")
                .complete("name", ids)
                .complete("id", ids)
                .complete("id", ids),
        );
    insta::assert_snapshot!(one(bad));
}

#[test]
fn completions_of_prompts_that_do_not_exist() {
    insta::assert_snapshot!(one(toolset().with(prompted("p").complete("language", ids))), @"The prompt `p` completes the argument `language`, which it does not have: complete one of: .");
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Loose {}

impl Present for Loose {
    const KIND: &'static str = "loose";
    fn markdown(&self, _: &mut Markdown) {}
}

async fn loose(_cx: Cx, _: NoArguments) -> Result<Either<Loose, Loose>, Stop> {
    Ok(Either::Left(Loose {}))
}

#[test]
fn kinds_without_a_version_and_asks_for_nothing() {
    let ask = || NeedsInput::new("Ask", "What?");
    let bad = toolset().with(tool("x", loose).description("X.").when_missing("y", ask));
    insta::assert_snapshot!(one(bad), @"
    The tool `x` says how to ask for `y`, which it does not take: correct the name given to `.when_missing(..)`.
    The tool `x` has a kind of answer called `loose`, which names no version: call it something like `greeting:v1`.
    The tool `x` has two kinds of answer called `loose`: rename one.
    The tool `x` has a kind of answer called `loose`, which names no version: call it something like `greeting:v1`.
    ");
}

#[test]
fn a_key_that_is_too_short() {
    let error = Server::builder("test", "0").state_key("short").build().unwrap_err();
    insta::assert_snapshot!(error, @"
    The server cannot be built:
    - The key that signs request states is too short: give `state_key` at least 32 random bytes.
    ");
}
