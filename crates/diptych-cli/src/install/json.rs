//! Entries in JSON files, with or without comments.
//!
//! The file is changed as text with a syntax tree over it, so that what we do not touch stays as it was
//! written.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{Entry, Problem, Syntax};

fn options(syntax: Syntax) -> ParseOptions {
    let lenient = syntax == Syntax::Jsonc;
    ParseOptions {
        allow_comments: lenient,
        allow_trailing_commas: lenient,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

const MARK: char = '\u{feff}';

struct Document {
    root: CstRootNode,
    object: CstObject,
    /// Some editors begin files with a byte-order mark.
    marked: bool,
}

impl Document {
    fn parse(text: &str, syntax: Syntax) -> Result<Self, Problem> {
        let marked = text.starts_with(MARK);
        let text = text.trim_start_matches(MARK);
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        if syntax == Syntax::Json {
            // The client's own parser takes no comments, so neither do we.
            serde_json::from_str::<Value>(text).map_err(|error| Problem::Malformed(error.to_string()))?;
        }
        let root = CstRootNode::parse(text, &options(syntax))
            .map_err(|error| Problem::Malformed(error.to_string().to_lowercase_first()))?;
        let object =
            root.object_value().ok_or_else(|| Problem::Malformed("it is not a JSON object".to_owned()))?;
        Ok(Document { root, object, marked })
    }

    /// The object that holds the servers, if there is one.
    fn servers(&self, key: &str) -> Result<Option<CstObject>, Problem> {
        let Some(property) = only(&self.object, key)? else { return Ok(None) };
        let servers = property.object_value();
        servers.map(Some).ok_or_else(|| Problem::Shape(format!("`{key}` in it is not an object")))
    }

    fn text(&self) -> String {
        let text = self.root.to_string();
        if self.marked { format!("{MARK}{text}") } else { text }
    }
}

/// The property of that name. Twice the same would leave open which of them counts.
fn only(object: &CstObject, key: &str) -> Result<Option<jsonc_parser::cst::CstObjectProp>, Problem> {
    let named =
        object.properties().into_iter().filter(|property| property.decoded_name().as_deref() == Some(key));
    let mut named: Vec<_> = named.collect();
    if named.len() > 1 {
        return Err(Problem::Shape(format!("it has `{key}` twice")));
    }
    Ok(named.pop())
}

pub(super) fn added(
    text: &str,
    syntax: Syntax,
    key: &str,
    name: &str,
    entry: &Value,
    force: bool,
) -> Result<String, Problem> {
    let document = Document::parse(text, syntax)?;
    let servers = match document.servers(key)? {
        Some(servers) => servers,
        None => document.object.object_value_or_set(key),
    };
    match only(&servers, name)? {
        None => {
            servers.append(name, input(entry));
        }
        Some(property) => {
            let current = property.to_serde_value().unwrap_or_default();
            if current == *entry {
                return Ok(text.to_owned());
            }
            if !force && !current["command"].as_str().is_some_and(Entry::is_ours) {
                return Err(Problem::Taken);
            }
            // What people added to our entry, such as variables, is theirs.
            let mut merged = current;
            match (merged.as_object_mut(), entry.as_object()) {
                (Some(merged), Some(entry)) => merged.extend(entry.clone()),
                _ => merged = entry.clone(),
            }
            property.set_value(input(&merged));
        }
    }
    Ok(document.text())
}

pub(super) fn removed(text: &str, syntax: Syntax, key: &str, name: &str) -> Result<Option<String>, Problem> {
    let document = Document::parse(text, syntax)?;
    let Some(servers) = document.servers(key)? else { return Ok(None) };
    let Some(property) = only(&servers, name)? else { return Ok(None) };
    property.remove();
    Ok(Some(document.text()))
}

/// The command of every entry that has one.
pub(super) fn commands(text: &str, syntax: Syntax, key: &str) -> Result<Vec<(String, String)>, Problem> {
    let document = Document::parse(text, syntax)?;
    let Some(servers) = document.servers(key)? else { return Ok(Vec::new()) };
    let entries = servers.properties().into_iter().filter_map(|property| {
        let value = property.value()?.to_serde_value()?;
        Some((property.decoded_name()?, value["command"].as_str()?.to_owned()))
    });
    Ok(entries.collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(switch) => CstInputValue::Bool(*switch),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

trait LowercaseFirst {
    fn to_lowercase_first(&self) -> String;
}

impl LowercaseFirst for String {
    fn to_lowercase_first(&self) -> String {
        let mut letters = self.chars();
        letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(".{0,6}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn everything_else_stays_as_it_was(
            settings in prop::collection::hash_map("[a-z]{1,6}", any_json(), 0..4),
            servers in prop::collection::hash_map("[a-z ]{1,6}", any_json(), 0..4),
            pretty in any::<bool>(),
        ) {
            let mut before = Value::Object(settings.into_iter().collect());
            before["mcpServers"] = Value::Object(servers.into_iter().collect());
            let text = if pretty { format!("{before:#}\n") } else { before.to_string() };
            let entry = json!({"command": "/bin/diptych", "args": ["serve", "a \"quoted\" \\ path"]});
            let after = added(&text, Syntax::Json, "mcpServers", "diptych!", &entry, false).unwrap();
            let mut expected = before.clone();
            expected["mcpServers"]["diptych!"] = entry.clone();
            prop_assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), expected);
            prop_assert_eq!(&added(&after, Syntax::Json, "mcpServers", "diptych!", &entry, false).unwrap(), &after);
            let removed = removed(&after, Syntax::Json, "mcpServers", "diptych!").unwrap().unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&removed).unwrap(), before);
        }

        #[test]
        fn no_text_makes_it_fail_badly(text in ".{0,60}") {
            let _ = added(&text, Syntax::Jsonc, "servers", "diptych", &json!({}), false);
            let _ = removed(&text, Syntax::Json, "servers", "diptych");
        }
    }
}
