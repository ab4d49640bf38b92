//! The fields of an ask: their types, what would fit, and the form they make.

use serde_json::{Map, Value, json};

/// A field of an ask: its type, and what would fit.
#[derive(Debug, Clone)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) secret: bool,
    pub(crate) person_only: bool,
    pub(crate) suggestions: Vec<Choice>,
    pub(crate) listed: bool,
    required: bool,
    title: Option<String>,
    description: Option<String>,
    default: Option<Value>,
    kind: FieldKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Text,
    Integer,
    Number,
    Boolean,
    Choice,
    Choices,
    /// A single choice with its titles in `enumNames`, as clients before 2025-11-25 read them.
    LegacyChoice,
}

impl Field {
    fn new(name: impl Into<String>, kind: FieldKind) -> Self {
        Field {
            name: name.into(),
            secret: false,
            person_only: false,
            suggestions: Vec::new(),
            listed: false,
            required: true,
            title: None,
            description: None,
            default: None,
            kind,
        }
    }

    /// Free text.
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name, FieldKind::Text)
    }

    /// A whole number.
    pub fn integer(name: impl Into<String>) -> Self {
        Self::new(name, FieldKind::Integer)
    }

    /// A number.
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name, FieldKind::Number)
    }

    /// Yes or no.
    pub fn boolean(name: impl Into<String>) -> Self {
        Self::new(name, FieldKind::Boolean)
    }

    /// One of a closed set.
    pub fn choice<C: Into<Choice>>(name: impl Into<String>, choices: impl IntoIterator<Item = C>) -> Self {
        let mut field = Self::new(name, FieldKind::Choice);
        field.suggestions = choices.into_iter().map(Into::into).collect();
        field.listed = true;
        field
    }

    /// Any number of a closed set.
    pub fn choices<C: Into<Choice>>(name: impl Into<String>, choices: impl IntoIterator<Item = C>) -> Self {
        let mut field = Self::choice(name, choices);
        field.kind = FieldKind::Choices;
        field
    }

    /// Writes the titles of a single choice as `enumNames`, for clients before 2025-11-25.
    #[must_use]
    pub fn legacy_titles(mut self) -> Self {
        if self.kind == FieldKind::Choice {
            self.kind = FieldKind::LegacyChoice;
        }
        self
    }

    /// Values that would fit. Others are welcome.
    #[must_use]
    pub fn suggest<C: Into<Choice>>(mut self, suggestions: impl IntoIterator<Item = C>) -> Self {
        self.suggestions.extend(suggestions.into_iter().map(Into::into));
        self
    }

    /// Values that would fit, listed as options for programs to pick from. Others are still welcome.
    #[must_use]
    pub fn offer<C: Into<Choice>>(self, options: impl IntoIterator<Item = C>) -> Self {
        let mut field = self.suggest(options);
        field.listed = true;
        field
    }

    /// The person may leave it empty.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// A label for forms.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// A line of help for forms.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The value a form starts with.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }

    /// Read only as a person's answer ([`Call::answer`](crate::Call::answer)), never from the arguments.
    #[must_use]
    pub fn person_only(mut self) -> Self {
        self.person_only = true;
        self
    }

    /// A secret. MCP forbids asking for it by form: only a terminal's hidden prompt asks for it.
    #[must_use]
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self.person_only = true;
        self
    }

    /// The field as a property of a form's schema.
    fn schema(&self) -> Value {
        let values: Vec<&str> = self.suggestions.iter().map(|choice| choice.value.as_str()).collect();
        let plain = self.suggestions.iter().all(|choice| choice.label == choice.value);
        let titled = || -> Vec<Value> {
            let choices = self.suggestions.iter();
            choices.map(|choice| json!({"const": choice.value, "title": choice.label})).collect()
        };
        let labels =
            || -> Vec<&str> { self.suggestions.iter().map(|choice| choice.label.as_str()).collect() };
        let mut schema = match self.kind {
            FieldKind::Text => json!({"type": "string"}),
            FieldKind::Integer => json!({"type": "integer"}),
            FieldKind::Number => json!({"type": "number"}),
            FieldKind::Boolean => json!({"type": "boolean"}),
            // A closed set that turned out empty leaves nothing to choose from: free text.
            FieldKind::Choice | FieldKind::LegacyChoice if values.is_empty() => json!({"type": "string"}),
            FieldKind::Choice if plain => json!({"type": "string", "enum": values}),
            FieldKind::Choice => json!({"type": "string", "oneOf": titled()}),
            FieldKind::LegacyChoice => json!({"type": "string", "enum": values, "enumNames": labels()}),
            FieldKind::Choices if plain => {
                json!({"type": "array", "items": {"type": "string", "enum": values}})
            }
            FieldKind::Choices => json!({"type": "array", "items": {"anyOf": titled()}}),
        };
        let examples = matches!(self.kind, FieldKind::Text) && !values.is_empty();
        let description = match (&self.description, examples) {
            (Some(text), true) => Some(format!("{text} For example: {}.", values.join(", "))),
            (Some(text), false) => Some(text.clone()),
            (None, true) => Some(format!("For example: {}.", values.join(", "))),
            (None, false) => None,
        };
        if let Some(title) = &self.title {
            schema["title"] = json!(title);
        }
        if let Some(description) = description {
            schema["description"] = json!(description);
        }
        if let Some(default) = &self.default {
            schema["default"] = default.clone();
        }
        schema
    }
}

/// The schema of a form over these fields.
pub(crate) fn form_schema(fields: &[Field]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.clone(), field.schema())).collect();
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

/// One value of a field, with the label a person reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) description: Option<String>,
}

impl Choice {
    /// A choice whose label is its value.
    pub fn new(value: impl Into<String>) -> Self {
        let value = value.into();
        Choice { label: value.clone(), value, description: None }
    }

    /// What a person reads instead of the value.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// What choosing it means.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl From<&str> for Choice {
    fn from(value: &str) -> Self {
        Choice::new(value)
    }
}

impl From<&String> for Choice {
    fn from(value: &String) -> Self {
        Choice::new(value)
    }
}

impl From<String> for Choice {
    fn from(value: String) -> Self {
        Choice::new(value)
    }
}
