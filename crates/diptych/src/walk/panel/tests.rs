//! A panel is the value that was written, to the eye and to the validator.

use jsonschema::json::Node as _;
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Panel, PanelJson, Truncated};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        "(\\PC|[\"\\\\\n\u{0}]){0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("(\\PC|\"){0,6}", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Schemas that between them look at everything the validator can ask of a value.
fn schemas() -> Vec<Value> {
    vec![
        json!({"type": "object", "required": ["a"], "additionalProperties": {"type": ["string", "null"]}}),
        json!({"type": "array", "items": {"type": "integer", "minimum": 0}, "uniqueItems": true}),
        json!({"type": ["string", "number"], "minLength": 3, "maximum": 10.5, "multipleOf": 1}),
        json!({"enum": [null, true, 1, "a", [1, 2], {"a": 1}]}),
        json!({"oneOf": [{"type": "object", "maxProperties": 2}, {"type": "array", "maxItems": 2}, {"type": "boolean"}]}),
        json!({"propertyNames": {"maxLength": 2}, "patternProperties": {"^a": {"type": "number"}}}),
        json!({"contains": {"type": "string"}, "prefixItems": [{"type": "null"}]}),
        json!({"$defs": {"tree": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}}, "$ref": "#/$defs/tree"}),
    ]
}

proptest! {
    #[test]
    fn a_panel_is_the_value_that_was_written(value in any_json()) {
        let panel = Panel::write(&value).unwrap();
        prop_assert_eq!(panel.compact(), serde_json::to_string(&value).unwrap());
        prop_assert_eq!(panel.pretty(), serde_json::to_string_pretty(&value).unwrap());
        prop_assert_eq!(panel.value(), panel.root().unwrap().to_value().into_owned());
    }

    #[test]
    fn the_validator_judges_a_panel_as_it_judges_the_value(value in any_json()) {
        // As a client reads it: a number may come back in another form.
        let value: Value = serde_json::from_str(&value.to_string()).unwrap();
        let panel = Panel::write(&value).unwrap();
        for schema in schemas() {
            let ours = jsonschema::options_for::<PanelJson>().build(&schema).unwrap();
            let theirs = jsonschema::validator_for(&schema).unwrap();
            prop_assert_eq!(
                ours.is_valid(panel.root().unwrap()), theirs.is_valid(&value), "{} against {}", value, schema
            );
            let told: Vec<String> = ours.iter_errors(panel.root().unwrap()).map(|error| error.to_string()).collect();
            let expected: Vec<String> = theirs.iter_errors(&value).map(|error| error.to_string()).collect();
            prop_assert_eq!(told, expected);
        }
    }
}

#[test]
fn the_toolkits_members_stand_around_the_authors() {
    #[derive(Serialize)]
    struct Found {
        hits: Vec<u8>,
        by: std::collections::BTreeMap<i32, bool>,
        raw: Box<serde_json::value::RawValue>,
    }
    let raw = serde_json::value::RawValue::from_string("{ \"x\" : [1, 2] }".to_owned()).unwrap();
    let found = Found { hits: vec![1, 2], by: [(7, true)].into(), raw };
    let truncated = Truncated { shown: 2, total: 9, next_cursor: Some("c".to_owned()) };
    let panel = Panel::new("found:v1", &found, Some(&truncated)).unwrap();
    insta::assert_snapshot!(panel.compact(), @r#"{"kind":"found:v1","hits":[1,2],"by":{"7":true},"raw":{"x":[1,2]},"truncated":{"shown":2,"total":9,"nextCursor":"c"}}"#);
    assert!(Panel::new("list:v1", &[1, 2], None).unwrap_err().starts_with("list:v1 does not serialise"));
}
