//! JSON Schemas that clients can read.
//!
//! schemars is exact where clients choke: `["string", "null"]` for an `Option`, `$ref`s, `uint32` as a
//! format, one branch for each documented variant of an enum. This is the one place that makes and mends
//! schemas; a tool's schema, its validator, its docs and its shell command all come from here.

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::format::Format;
use crate::needs::NeedsInputPanel;
use crate::stop::ToolErrorPanel;

/// A JSON object.
pub type JsonObject = Map<String, Value>;

/// The shape of the arguments of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize, JsonSchema)]
pub struct NoArguments {}

fn generator(contract: Contract) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    settings.into_generator()
}

/// The schema of a type as input, mended. What is not an object at its root is returned as it is: the
/// server's build reports it.
pub(crate) fn of_input<I: JsonSchema>() -> JsonObject {
    let mut generator = generator(Contract::Deserialize);
    let schema = I::json_schema(&mut generator).to_value();
    let mut root = match schema {
        Value::Object(root) => root,
        other => JsonObject::from_iter([("const".to_owned(), other)]),
    };
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    // Unknown arguments are dropped with a warning or reported with a suggestion, never refused outright.
    root.remove("additionalProperties");
    root.remove("title");
    mend(&mut root);
    root.entry("properties").or_insert_with(|| json!({}));
    root
}

/// Adds the one argument that every tool takes.
pub(crate) fn add_format(root: &mut JsonObject) {
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    if let Some(properties) = properties.as_object_mut() {
        properties.insert(
            Format::ARGUMENT.to_owned(),
            json!({
                "type": "string",
                "enum": Format::ALL.map(Format::as_str),
                "default": Format::default().as_str(),
                "description": "Which panels to return: Markdown to read, JSON for programs, or both."
            }),
        );
    }
}

/// The schema of everything a tool may answer: its own kinds, asks and errors, told apart by `kind`.
pub(crate) fn of_output<A: Answer>() -> JsonObject {
    let mut generator = generator(Contract::Serialize);
    let own = A::kinds(&mut generator);
    let own = own.into_iter().map(|(name, schema)| (name, branch(name, schema.to_value(), true))).collect();
    union(generator, own)
}

/// The schema of what every tool may answer: asks and errors.
pub(crate) fn of_common_kinds() -> JsonObject {
    union(generator(Contract::Serialize), Vec::new())
}

/// Whether a kind is one that every tool may answer.
pub(crate) fn is_common_kind(kind: &str) -> bool {
    kind == NeedsInputPanel::KIND || kind == ToolErrorPanel::KIND
}

/// An output schema without what every tool may answer.
pub(crate) fn of_own_kinds(output: &JsonObject) -> JsonObject {
    let mut own = output.clone();
    if let Some(Value::Array(branches)) = own.get_mut("oneOf") {
        branches.retain(|branch| {
            let kind = branch.pointer("/properties/kind/const").and_then(Value::as_str);
            !kind.is_some_and(is_common_kind)
        });
    }
    own
}

/// The union of a tool's own kinds with those that every tool has.
fn union(mut generator: SchemaGenerator, mut kinds: Vec<(&'static str, Value)>) -> JsonObject {
    for (name, schema) in [
        (NeedsInputPanel::KIND, NeedsInputPanel::json_schema(&mut generator)),
        (ToolErrorPanel::KIND, ToolErrorPanel::json_schema(&mut generator)),
    ] {
        kinds.push((name, branch(name, schema.to_value(), false)));
    }
    let mut definitions = generator.take_definitions(true);
    for definition in definitions.values_mut().filter_map(Value::as_object_mut) {
        mend(definition);
    }
    let (names, branches): (Vec<&str>, Vec<Value>) = kinds.into_iter().unzip();
    let mut root = JsonObject::new();
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), json!({"kind": {"type": "string", "enum": names}}));
    root.insert("required".to_owned(), json!(["kind"]));
    root.insert("oneOf".to_owned(), Value::Array(branches));
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root
}

/// One kind of answer: the type's own schema with `kind` first, and `truncated` where it can be cut.
fn branch(kind: &str, schema: Value, can_be_cut: bool) -> Value {
    let mut root = match schema {
        Value::Object(root) => root,
        _ => JsonObject::new(),
    };
    root.remove("title");
    root.remove("additionalProperties");
    mend(&mut root);
    let mut properties = json!({"kind": {"type": "string", "const": kind}});
    if let (Some(all), Some(Value::Object(own))) = (properties.as_object_mut(), root.remove("properties")) {
        all.extend(own);
        if can_be_cut {
            all.entry("truncated").or_insert_with(truncated);
        }
    }
    let mut required = vec![json!("kind")];
    if let Some(Value::Array(own)) = root.remove("required") {
        required.extend(own);
    }
    let mut mended = JsonObject::new();
    mended.insert("type".to_owned(), json!("object"));
    if let Some(description) = root.remove("description") {
        mended.insert("description".to_owned(), description);
    }
    mended.insert("properties".to_owned(), properties);
    mended.insert("required".to_owned(), Value::Array(required));
    root.remove("type");
    mended.extend(root);
    Value::Object(mended)
}

fn truncated() -> Value {
    json!({
        "type": "object",
        "description": "Present when the answer does not show everything.",
        "properties": {
            "shown": {"type": "integer", "minimum": 0},
            "total": {"type": "integer", "minimum": 0},
            "nextCursor": {"type": "string", "description": "Pass it as `cursor` to get the rest."}
        },
        "required": ["shown", "total"]
    })
}

/// Mends a schema and everything in it.
fn mend(schema: &mut JsonObject) {
    drop_null(schema);
    fold_variants(schema);
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if schema.get("format").and_then(Value::as_str).is_some_and(is_rust_number) {
        schema.remove("format");
    }
    // As people write them: what it is, what it is for, then the rest.
    for keyword in ["description", "type"] {
        if let Some(value) = schema.shift_remove(keyword) {
            schema.shift_insert(0, keyword.to_owned(), value);
        }
    }
    for (keyword, value) in schema.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs" | "dependentSchemas", Value::Object(schemas)) => {
                schemas.values_mut().filter_map(Value::as_object_mut).for_each(mend);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().filter_map(Value::as_object_mut).for_each(mend);
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                Value::Object(schema),
            ) => mend(schema),
            _ => {}
        }
    }
}

fn is_rust_number(format: &str) -> bool {
    matches!(
        format,
        "int8"
            | "int16"
            | "int32"
            | "int64"
            | "int128"
            | "int"
            | "uint8"
            | "uint16"
            | "uint32"
            | "uint64"
            | "uint128"
            | "uint"
            | "float"
            | "double"
    )
}

/// `["T", "null"]` becomes `"T"`, and a union with null becomes what is left: absent says it already.
fn drop_null(schema: &mut JsonObject) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if types.len() == 1 {
            let only = types.remove(0);
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.get_mut(keyword) else { continue };
        let before = branches.len();
        branches.retain(|branch| branch.get("type") != Some(&json!("null")));
        if branches.len() == 1 && before > 1 {
            let only = branches.remove(0);
            schema.remove(keyword);
            if let Value::Object(only) = only {
                for (key, value) in only {
                    schema.entry(key).or_insert(value);
                }
            }
        }
    }
}

/// `oneOf` over constants, as schemars writes enums with documented variants, becomes one `enum` whose
/// description keeps the variants' own.
fn fold_variants(schema: &mut JsonObject) {
    let Some(Value::Array(branches)) = schema.get("oneOf") else { return };
    let mut values = Vec::new();
    let mut notes = Vec::new();
    for branch in branches {
        let constants: Vec<&Value> = match (branch.get("const"), branch.get("enum")) {
            (Some(constant), _) => vec![constant],
            (None, Some(Value::Array(constants))) => constants.iter().collect(),
            _ => return,
        };
        if !constants.iter().all(|constant| constant.is_string()) {
            return;
        }
        for constant in constants {
            if let (Some(name), Some(note)) =
                (constant.as_str(), branch.get("description").and_then(Value::as_str))
            {
                notes.push(format!("`{name}`: {}", note.trim_end_matches('.')));
            }
            values.push(constant.clone());
        }
    }
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(values));
    if !notes.is_empty() {
        let own = schema.get("description").and_then(Value::as_str).map(|text| format!("{text} "));
        schema.insert(
            "description".to_owned(),
            json!(format!("{}{}.", own.unwrap_or_default(), notes.join("; "))),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        /// What to look for.
        query: String,
        limit: Option<u32>,
        order: Option<Order>,
        nested: Vec<Nested>,
    }

    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Order {
        /// Best first.
        Best,
        /// Newest first.
        New,
    }

    #[derive(serde::Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Nested {
        name: Option<String>,
        child: Option<Box<Nested>>,
    }

    #[test]
    fn input_schemas_are_readable() {
        let mut schema = of_input::<Arguments>();
        add_format(&mut schema);
        insta::assert_json_snapshot!(schema);
    }

    #[test]
    fn output_schemas_tell_kinds_apart() {
        insta::assert_json_snapshot!(of_output::<crate::answer::Text>());
    }
}
