//! JSON Schemas as tables that people read.

use serde_json::Value;

use super::{cell, text};

/// A field, wherever in the value it is.
struct Field {
    /// Such as `relations[].from`.
    path: String,
    kind: String,
    /// Whether it must or will be there.
    always: bool,
    default: Option<String>,
    about: String,
}

/// The arguments of a tool.
pub(super) fn arguments(schema: &Value) -> String {
    let mut out =
        String::from("| argument | type | needed | default | what it is |\n|---|---|---|---|---|\n");
    for field in fields(schema) {
        out.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            field.path,
            cell(&field.kind),
            if field.always { "yes" } else { "" },
            field.default.map(|default| format!("`{}`", cell(&default))).unwrap_or_default(),
            cell(&field.about)
        ));
    }
    out
}

/// The fields of a kind.
pub(super) fn kind(schema: &Value) -> String {
    let mut out = String::from("| field | type | always | what it is |\n|---|---|---|---|\n");
    for field in fields(schema).iter().filter(|field| field.path != "kind") {
        out.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            field.path,
            cell(&field.kind),
            if field.always { "yes" } else { "" },
            cell(&field.about)
        ));
    }
    out
}

fn fields(schema: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    collect(schema, "", &mut found);
    found
}

fn collect(schema: &Value, before: &str, found: &mut Vec<Field>) {
    let always =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{before}{name}");
        found.push(Field {
            path: path.clone(),
            kind: kind_of(property),
            always: always(name),
            default: property.get("default").map(Value::to_string),
            about: text(property, "description").to_owned(),
        });
        // What a list holds is described with the list.
        let (inner, mark) = match property.get("items") {
            Some(items) => (items, "[]."),
            None => (property, "."),
        };
        collect(inner, &format!("{path}{mark}"), found);
    }
}

/// What sort of value it is, in words.
fn kind_of(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
        return choices.join(", ");
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(ways) = schema[word].as_array() {
            let mut ways: Vec<String> = ways.iter().map(kind_of).collect();
            ways.dedup();
            return ways.join(" or ");
        }
    }
    match text(schema, "type") {
        "array" => format!(
            "list of {}{}",
            kind_of(&schema["items"]),
            bounds(schema, "minItems", "maxItems", " entries")
        ),
        "object" => match &schema["additionalProperties"] {
            Value::Object(_) => format!("object of {}", kind_of(&schema["additionalProperties"])),
            _ => "object".to_owned(),
        },
        "string" if schema["format"].is_string() => format!("string, {}", text(schema, "format")),
        "string" => format!("string{}", bounds(schema, "minLength", "maxLength", " characters")),
        "" => "any value".to_owned(),
        // Every count is from 0; that says nothing.
        "integer" if schema["minimum"] == 0 && schema.get("maximum").is_none() => "integer".to_owned(),
        other => format!("{other}{}", bounds(schema, "minimum", "maximum", "")),
    }
}

fn bounds(schema: &Value, least: &str, most: &str, unit: &str) -> String {
    match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
        (Some(least), None) => format!(", {least}{unit} or more"),
        (None, Some(most)) => format!(", up to {most}{unit}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_fields_have_a_row_each() {
        let schema = json!({"type": "object", "required": ["rows"], "properties": {
            "rows": {"type": "array", "description": "The rows.", "items": {"type": "object", "required": ["a"], "properties": {
                "a": {"type": "string", "minLength": 1, "maxLength": 9, "description": "One | two."},
                "b": {"anyOf": [{"type": "number"}, {"type": "string", "format": "date-time"}]}
            }}},
            "level": {"enum": ["low", "high"], "default": "low"},
            "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
        }});
        insta::assert_snapshot!(arguments(&schema), @r#"
        | argument | type | needed | default | what it is |
        |---|---|---|---|---|
        | `rows` | list of object | yes |  | The rows. |
        | `rows[].a` | string, 1 to 9 characters | yes |  | One \| two. |
        | `rows[].b` | number or string, date-time |  |  |  |
        | `level` | `"low"`, `"high"` |  | `"low"` |  |
        | `counts` | object of integer |  |  |  |
        "#);
    }
}
