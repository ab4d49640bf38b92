//! Arguments as other servers' clients send them, put into our shape before they are admitted.

use diptych::Format;
use serde_json::{Map, Value, json};

/// The arguments that are lists of objects, whose members may be misspelt as well.
const LISTS: [&str; 4] = ["entities", "relations", "observations", "deletions"];

/// `entity_name` becomes `entityName`, at the top and in lists. What is inside a relation's metadata stays.
pub(super) fn camel_case(arguments: &mut Map<String, Value>) {
    rename(arguments);
    for list in LISTS {
        let Some(value) = arguments.get_mut(list) else { continue };
        // Some clients send lists as text. One that cannot be read is refused later, with a message.
        if let Some(Value::Array(parsed)) = value
            .as_str()
            .filter(|text| text.trim_start().starts_with('['))
            .and_then(|text| serde_json::from_str(text).ok())
        {
            *value = Value::Array(parsed);
        }
        value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut).for_each(rename);
    }
}

/// `{entityName, contents}` becomes `{observations: [{entityName, contents}]}`.
pub(super) fn flat_observations(arguments: &mut Map<String, Value>) {
    rename(arguments);
    if arguments.contains_key("observations") || !arguments.contains_key("entityName") {
        return;
    }
    let mut flat = Map::new();
    for name in ["entityName", "contents"] {
        if let Some(value) = arguments.remove(name) {
            flat.insert(name.to_owned(), value);
        }
    }
    if let Some(contents @ Value::String(_)) = flat.get_mut("contents")
        && contents.as_str().is_some_and(|text| !text.trim_start().starts_with('['))
    {
        *contents = json!([contents.take()]);
    }
    arguments.insert("observations".to_owned(), json!([flat]));
}

/// `{relation: {from, to, ..}}` becomes `{from, to, ..}`.
pub(super) fn nested_relation(arguments: &mut Map<String, Value>) {
    if let Some(Value::Object(_)) = arguments.get("relation")
        && let Some(Value::Object(mut relation)) = arguments.remove("relation")
    {
        rename(&mut relation);
        relation.remove(Format::ARGUMENT);
        arguments.extend(relation);
    }
}

fn rename(members: &mut Map<String, Value>) {
    let snake: Vec<String> = members.keys().filter(|key| key.contains('_')).cloned().collect();
    for key in snake {
        let mut camel = String::with_capacity(key.len());
        for (index, word) in key.split('_').filter(|word| !word.is_empty()).enumerate() {
            let mut letters = word.chars();
            match letters.next() {
                Some(first) if index > 0 => camel.extend(first.to_uppercase()),
                Some(first) => camel.push(first),
                None => {}
            }
            camel.push_str(letters.as_str());
        }
        if !members.contains_key(&camel)
            && let Some(value) = members.remove(&key)
        {
            members.insert(camel, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reshaped(shape: impl Fn(&mut Map<String, Value>), arguments: Value) -> Value {
        let Value::Object(mut members) = arguments else { panic!("not an object") };
        shape(&mut members);
        Value::Object(members)
    }

    #[test]
    fn snake_case_becomes_camel_case_but_not_in_metadata() {
        let given = json!({
            "min_similarity": 0.5,
            "relations": "[{\"from\": \"a\", \"relation_type\": \"x\", \"metadata\": {\"by_whom\": 1}}]"
        });
        assert_eq!(
            reshaped(camel_case, given),
            json!({
                "minSimilarity": 0.5,
                "relations": [{"from": "a", "metadata": {"by_whom": 1}, "relationType": "x"}]
            })
        );
    }

    #[test]
    fn flat_observations_become_a_list_of_one() {
        let listed = json!({"observations": [{"entityName": "Ada", "contents": ["x"]}]});
        for flat in [
            json!({"entityName": "Ada", "contents": ["x"]}),
            json!({"entity_name": "Ada", "contents": "x"}),
            listed.clone(),
        ] {
            assert_eq!(reshaped(flat_observations, flat), listed);
        }
    }

    #[test]
    fn a_nested_relation_is_lifted() {
        let nested = json!({"relation": {"from": "a", "relation_type": "r"}, "format": "json"});
        assert_eq!(
            reshaped(nested_relation, nested),
            json!({"format": "json", "from": "a", "relationType": "r"})
        );
    }
}
