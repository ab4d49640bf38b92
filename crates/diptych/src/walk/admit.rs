//! Step 2 of the walk: what clients are known to mangle is put right, then everything is validated.
//!
//! Coercion only happens where the schema calls for it: JSON sent as a string where an array or an object
//! belongs, numbers and booleans sent as strings, `null` where the argument is simply absent. Validation
//! reports every violation at once, with its path and, where one is near, a suggestion. Messages never
//! repeat the offending value: it may be a secret.

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Map, Number, Value};

use crate::schema::JsonObject;
use crate::stop::ToolError;

/// Violations that one answer lists: nobody mends more at a time, and a hostile call could make millions.
const MOST_VIOLATIONS: usize = 50;

/// Words longer than this are nobody's misspelling, and comparing them is work.
const LONGEST_WORD: usize = 128;

/// The shape of the arguments: the schema, and its validator, compiled once.
pub(crate) struct Shape {
    schema: std::sync::Arc<JsonObject>,
    validator: Validator,
}

impl Shape {
    /// # Errors
    /// Why the schema is not one.
    pub(crate) fn new(schema: std::sync::Arc<JsonObject>) -> Result<Self, String> {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&Value::Object(schema.as_ref().clone()))
            .map_err(|error| error.masked().to_string())?;
        Ok(Shape { schema, validator })
    }

    /// Puts the arguments right and validates them.
    ///
    /// # Errors
    /// Every violation.
    pub(crate) fn admit(&self, name: &str, mut arguments: JsonObject) -> Result<Value, Vec<Violation>> {
        let mut violations = self.drop_unknown(name, &mut arguments);
        let mut value = Value::Object(arguments);
        coerce(&self.schema, &self.schema, &mut value);
        if !self.validator.is_valid(&value) {
            let found = self.validator.iter_errors(&value).flat_map(|error| describe(&error));
            violations.extend(found.take(MOST_VIOLATIONS + 1));
            if violations.len() > MOST_VIOLATIONS {
                violations.truncate(MOST_VIOLATIONS);
                let problem = "have more violations than are listed here".to_owned();
                violations.push(Violation { path: String::new(), problem, suggestion: None });
            }
        }
        if violations.is_empty() { Ok(value) } else { Err(violations) }
    }

    /// The names of required arguments that are not there.
    pub(crate) fn missing<'a>(&'a self, arguments: &'a JsonObject) -> impl Iterator<Item = &'a str> {
        let names = self.schema.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).filter(|name| arguments.get(*name).is_none_or(Value::is_null))
    }

    /// An unknown argument close to a known one is a violation; any other is dropped with a warning.
    fn drop_unknown(&self, name: &str, arguments: &mut JsonObject) -> Vec<Violation> {
        let known = properties(&self.schema);
        if known.is_empty() && self.schema.contains_key("$ref") {
            return Vec::new();
        }
        let unknown: Vec<String> =
            arguments.keys().filter(|key| !known.contains_key(*key)).cloned().collect();
        let mut violations = Vec::new();
        for key in unknown {
            arguments.remove(&key);
            match nearest(&key, known.keys()) {
                Some(near) => violations.push(Violation {
                    path: key,
                    problem: "is not an argument of this tool".to_owned(),
                    suggestion: Some(format!("Did you mean `{near}`?")),
                }),
                None => {
                    // The name is the client's own, and as long as it likes.
                    let shown: String = key.chars().take(80).collect();
                    tracing::warn!(tool = name, argument = shown, "dropped an unknown argument");
                }
            }
        }
        violations
    }
}

/// One thing wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) problem: String,
    pub(crate) suggestion: Option<String>,
}

impl Violation {
    /// The argument that the path begins with.
    pub(crate) fn argument(&self) -> &str {
        self.path.split(['.', '[']).next().unwrap_or_default()
    }

    fn sentence(&self) -> String {
        let subject = if self.path.is_empty() { "the arguments" } else { &self.path };
        match &self.suggestion {
            Some(suggestion) => format!("{subject} {}. {suggestion}", self.problem),
            None => format!("{subject} {}.", self.problem),
        }
    }
}

/// All violations as sentences, for the person who answered.
pub(crate) fn sentences(violations: &[Violation]) -> String {
    violations.iter().map(Violation::sentence).collect::<Vec<_>>().join(" ")
}

/// The tool error for invalid arguments.
pub(crate) fn invalid(violations: &[Violation]) -> ToolError {
    let list: Vec<Value> = violations
        .iter()
        .map(|violation| {
            let mut entry = Map::new();
            entry.insert("path".to_owned(), Value::String(violation.path.clone()));
            entry.insert("problem".to_owned(), Value::String(violation.problem.clone()));
            if let Some(suggestion) = &violation.suggestion {
                entry.insert("suggestion".to_owned(), Value::String(suggestion.clone()));
            }
            Value::Object(entry)
        })
        .collect();
    ToolError::client(format!("Invalid input: {}", sentences(violations))).detail("violations", list)
}

/// The declared properties of an object schema.
pub(crate) fn properties(schema: &JsonObject) -> &JsonObject {
    static NONE: std::sync::LazyLock<JsonObject> = std::sync::LazyLock::new(JsonObject::new);
    schema.get("properties").and_then(Value::as_object).unwrap_or(&NONE)
}

/// The required names of an object schema.
pub(crate) fn required(schema: &JsonObject) -> Vec<&str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The candidate that was probably meant: the same but for case and separators, or a few letters away.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a String>) -> Option<&'a str> {
    let fold = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    if word.len() > LONGEST_WORD {
        return None;
    }
    let folded = fold(word);
    candidates
        .into_iter()
        .map(|candidate| {
            let other = fold(candidate);
            let distance = strsim::damerau_levenshtein(&folded, &other);
            (distance, other.chars().count().max(folded.chars().count()), candidate.as_str())
        })
        .filter(|(distance, length, _)| *distance <= 2 && distance * 3 <= *length)
        .min_by_key(|(distance, ..)| *distance)
        .map(|(.., candidate)| candidate)
}

/// Up to three candidates that look like the word, best first, for "did you mean".
pub(crate) fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    if word.len() > LONGEST_WORD {
        return Vec::new();
    }
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

fn resolve<'a>(root: &'a JsonObject, schema: &'a JsonObject) -> &'a JsonObject {
    let Some(pointer) =
        schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/"))
    else {
        return schema;
    };
    let mut segments = pointer.split('/');
    let (Some(section), Some(name), None) = (segments.next(), segments.next(), segments.next()) else {
        return schema;
    };
    root.get(section).and_then(|section| section.get(name)).and_then(Value::as_object).unwrap_or(schema)
}

fn coerce(root: &JsonObject, schema: &JsonObject, value: &mut Value) {
    let schema = resolve(root, schema);
    if let Value::String(text) = value
        && let Some(meant) = schema.get("type").and_then(Value::as_str).and_then(|kind| unmangle(kind, text))
    {
        *value = meant;
    }
    match value {
        Value::Object(members) => {
            let known = properties(schema);
            members.retain(|name, member| {
                !member.is_null() || known.get(name).and_then(Value::as_object).is_none_or(allows_null)
            });
            for (name, member) in members.iter_mut() {
                let own = known.get(name).or_else(|| schema.get("additionalProperties"));
                if let Some(own) = own.and_then(Value::as_object) {
                    coerce(root, own, member);
                }
            }
        }
        Value::Array(items) => {
            if let Some(own) = schema.get("items").and_then(Value::as_object) {
                items.iter_mut().for_each(|item| coerce(root, own, item));
            }
        }
        Value::Number(number) => {
            // `3.0` is an integer to JSON Schema but not to serde.
            if schema.get("type").and_then(Value::as_str) == Some("integer")
                && let Some(whole) = integral(number)
            {
                *value = Value::Number(whole);
            }
        }
        _ => {}
    }
}

fn allows_null(schema: &JsonObject) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "null",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => schema.get("const").is_some_and(Value::is_null) || schema.is_empty(),
    }
}

fn integral(number: &Number) -> Option<Number> {
    let float = number.is_f64().then(|| number.as_f64()).flatten()?;
    #[allow(clippy::cast_possible_truncation)]
    (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0).then(|| Number::from(float as i64))
}

/// What a string stands for where the schema wants another type.
fn unmangle(kind: &str, text: &str) -> Option<Value> {
    let text = text.trim();
    match kind {
        "object" if text.starts_with('{') => serde_json::from_str(text).ok(),
        "array" if text.starts_with('[') => serde_json::from_str(text).ok(),
        "integer" | "number" => serde_json::from_str::<Number>(text).ok().map(Value::Number),
        "boolean" => match text {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

/// What is wrong, in words of ours: never with the value in it.
fn describe(error: &jsonschema::ValidationError<'_>) -> Vec<Violation> {
    let path = readable(error.instance_path().as_str());
    let one = |problem: String| vec![Violation { path: path.clone(), problem, suggestion: None }];
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => vec![Violation {
            path: join(property.as_str().unwrap_or_default()),
            problem: "is missing".to_owned(),
            suggestion: None,
        }],
        ValidationErrorKind::Type { kind } => one(format!("must be {}", article(kind))),
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .into_iter()
                .flatten()
                .map(|option| option.as_str().map_or_else(|| option.to_string(), str::to_owned))
                .collect();
            let given = error.instance().as_str().unwrap_or_default();
            let suggestion = nearest(given, &options).map(|near| format!("Did you mean `{near}`?"));
            vec![Violation { path, problem: format!("must be one of {}", options.join(", ")), suggestion }]
        }
        ValidationErrorKind::Constant { expected_value } => one(format!("must be {expected_value}")),
        ValidationErrorKind::Minimum { limit } => one(format!("must be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => one(format!("must be at most {limit}")),
        ValidationErrorKind::ExclusiveMinimum { limit } => one(format!("must be more than {limit}")),
        ValidationErrorKind::ExclusiveMaximum { limit } => one(format!("must be less than {limit}")),
        ValidationErrorKind::MultipleOf { multiple_of } => {
            one(format!("must be a multiple of {multiple_of}"))
        }
        ValidationErrorKind::MinLength { limit: 1 } => one("must not be empty".to_owned()),
        ValidationErrorKind::MinLength { limit } => one(format!("must have at least {limit} characters")),
        ValidationErrorKind::MaxLength { limit } => one(format!("must have at most {limit} characters")),
        ValidationErrorKind::MinItems { limit: 1 } => one("must have at least one item".to_owned()),
        ValidationErrorKind::MinItems { limit } => one(format!("must have at least {limit} items")),
        ValidationErrorKind::MaxItems { limit } => one(format!("must have at most {limit} items")),
        ValidationErrorKind::MinProperties { limit } => one(format!("must have at least {limit} members")),
        ValidationErrorKind::MaxProperties { limit } => one(format!("must have at most {limit} members")),
        ValidationErrorKind::UniqueItems => one("must not have the same item twice".to_owned()),
        ValidationErrorKind::Pattern { pattern } => one(format!("must match the pattern {pattern}")),
        ValidationErrorKind::Format { format } => one(format!("must be a valid {format}")),
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|name| Violation {
                path: join(name),
                problem: "is not expected here".to_owned(),
                suggestion: None,
            })
            .collect(),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            one("does not have any of the shapes that are allowed here".to_owned())
        }
        _ => one(format!("breaks the rule `{}` of the schema", error.kind().keyword())),
    }
}

fn article(kind: &TypeKind) -> String {
    let name = |name: &str| match name {
        "integer" => "a whole number".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "an object".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => format!("a {other}"),
    };
    match kind {
        TypeKind::Single(kind) => name(kind.as_str()),
        TypeKind::Multiple(kinds) => {
            kinds.iter().map(|kind| name(kind.as_str())).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// `/entities/0/name` as a person writes it: `entities[0].name`.
fn readable(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        if segment.bytes().all(|byte| byte.is_ascii_digit()) && !segment.is_empty() {
            path.push_str(&format!("[{segment}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&segment);
        }
    }
    path
}

/// What serde refused, without the value that serde_json quotes.
pub(crate) fn describe_serde(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("lacks {field}");
    }
    match message.rsplit_once(", expected ") {
        Some((_, expected)) => format!("does not fit: expected {expected}"),
        None => "does not fit its type".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::sync::Arc;

    fn shape() -> Shape {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "order": {"type": "string", "enum": ["best", "newest"]},
                "exact": {"type": "boolean"},
                "entities": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "weight": {"type": "number"}}, "required": ["name"]}}
            },
            "required": ["query"]
        });
        Shape::new(Arc::new(schema.as_object().unwrap().clone())).unwrap()
    }

    fn admit(arguments: Value) -> Result<Value, Vec<Violation>> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        shape().admit("test", arguments)
    }

    fn problems(arguments: Value) -> String {
        sentences(&admit(arguments).unwrap_err())
    }

    #[test]
    fn mangled_arguments_are_put_right() {
        let admitted = admit(json!({
            "query": "42", "limit": "7", "exact": "true", "order": null,
            "entities": "[{\"name\": \"a\", \"weight\": \"1.5\"}]"
        }));
        assert_eq!(
            admitted.unwrap(),
            json!({"query": "42", "limit": 7, "exact": true, "entities": [{"name": "a", "weight": 1.5}]})
        );
        assert_eq!(admit(json!({"query": "x", "limit": 3.0})).unwrap(), json!({"query": "x", "limit": 3}));
    }

    #[test]
    fn every_violation_is_reported_with_its_path() {
        insta::assert_snapshot!(
            problems(json!({"limit": 500, "order": "newst", "exact": 3, "entities": [{"name": 1}, {}]})),
            @"query is missing. limit must be at most 100. order must be one of best, newest. Did you mean `newest`? exact must be true or false. entities[0].name must be a string. entities[1].name is missing."
        );
    }

    #[test]
    fn a_near_miss_of_an_argument_is_a_violation_and_anything_else_is_dropped() {
        insta::assert_snapshot!(problems(json!({"query": "x", "limits": 3})), @"limits is not an argument of this tool. Did you mean `limit`?");
        assert_eq!(admit(json!({"query": "x", "colour": "red"})).unwrap(), json!({"query": "x"}));
    }

    #[test]
    fn serde_messages_lose_the_value() {
        let error = serde_json::from_value::<u8>(json!(5000)).unwrap_err();
        assert_eq!(describe_serde(&error), "does not fit: expected u8");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("query|limit|order|exact|entities|name|[a-z]{1,6}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_admitted_is_valid_and_messages_never_repeat_values(arguments in prop::collection::hash_map("query|limit|order|exact|entities|[a-z]{1,6}", any_json(), 0..6)) {
            let shape = shape();
            match shape.admit("test", arguments.into_iter().collect()) {
                Ok(value) => prop_assert!(shape.validator.is_valid(&value)),
                Err(violations) => prop_assert!(!violations.is_empty()),
            }
        }
    }
}
