//! Asks, as prompts on the terminal.

use std::sync::{Arc, Mutex, PoisonError};

use console::Style;
use diptych::client::{Answers, Question, Response};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::hidden;
use super::progress::Progress;
use crate::output::{ask, note, tame};

/// The person at the terminal.
#[derive(Debug, Clone)]
pub(crate) struct Terminal {
    progress: Progress,
    /// The server that asks, when it is not our own.
    other: Option<String>,
    /// One question at a time.
    turn: Arc<Mutex<()>>,
}

impl Terminal {
    pub(crate) fn new(progress: Progress, other: Option<String>) -> Self {
        Terminal { progress, other, turn: Arc::default() }
    }

    fn put(&self, question: &Question) -> Response {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.progress.aside(|| {
            if let Some(server) = &self.other {
                note(&format!("The server `{server}` asks:"));
            }
            note(&Style::new().for_stderr().bold().apply_to(tame(question.message())).to_string());
            match question {
                Question::Form { schema, secrets, .. } => form(schema, secrets),
                Question::Page { url, .. } => page(url),
            }
            .unwrap_or(Response::Cancel)
        })
    }
}

impl Answers for Terminal {
    fn answer(&self, question: Question) -> BoxFuture<'_, Response> {
        let terminal = self.clone();
        Box::pin(async move {
            tokio::task::spawn_blocking(move || terminal.put(&question)).await.unwrap_or(Response::Fail)
        })
    }
}

/// The person ended the input instead of answering.
struct Ended;

fn page(url: &str) -> Result<Response, Ended> {
    note(&format!("Open this page in your browser:\n  {}", tame(url)));
    loop {
        ask("Go on? [Y/n] ");
        match line()?.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(Response::Accept(Map::new())),
            "n" | "no" => return Ok(Response::Decline),
            _ => note("Please answer y or n."),
        }
    }
}

fn form(schema: &Value, secrets: &[String]) -> Result<Response, Ended> {
    let mut answers = Map::new();
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    for (name, property) in properties {
        let field = Field::new(name, property, required(name), secrets.contains(name));
        if let Some(value) = field.prompt()? {
            answers.insert(name.clone(), value);
        }
    }
    Ok(Response::Accept(answers))
}

/// A field of a form.
struct Field<'a> {
    label: String,
    description: Option<&'a str>,
    kind: &'a str,
    /// The values of a closed set, each with its label.
    choices: Vec<(String, String)>,
    default: Option<&'a Value>,
    required: bool,
    secret: bool,
}

impl<'a> Field<'a> {
    fn new(name: &str, property: &'a Value, required: bool, secret: bool) -> Self {
        let kind = property["type"].as_str().unwrap_or("string");
        let set = if kind == "array" { &property["items"] } else { property };
        Field {
            label: tame(property["title"].as_str().unwrap_or(name)),
            description: property["description"].as_str(),
            kind,
            choices: choices(set),
            default: property.get("default"),
            required,
            secret,
        }
    }

    /// Asks until the answer fits. `None`: left empty.
    fn prompt(&self) -> Result<Option<Value>, Ended> {
        self.introduce();
        loop {
            ask(&self.invitation());
            let typed = if self.secret { hidden_line()? } else { line()? };
            let typed = if self.secret { typed.trim_end_matches(['\r', '\n']) } else { typed.trim() };
            if typed.is_empty() {
                match self.default {
                    Some(default) => return Ok(Some(default.clone())),
                    None if !self.required => return Ok(None),
                    None => {
                        note("This is needed. Ctrl-C gives up.");
                        continue;
                    }
                }
            }
            match self.read(typed) {
                Ok(value) => return Ok(Some(value)),
                Err(problem) => note(&problem),
            }
        }
    }

    fn introduce(&self) {
        if let Some(description) = self.description {
            note(&format!("  {}", tame(description)));
        }
        let width = self.choices.len().to_string().len();
        for (number, (_, label)) in self.choices.iter().enumerate() {
            note(&format!("  {:>width$}  {}", number + 1, tame(label)));
        }
    }

    fn invitation(&self) -> String {
        let how = match (self.kind, self.choices.is_empty()) {
            ("boolean", _) => " [y/n]",
            ("array", false) => " (numbers, separated by commas)",
            (_, false) => " (number)",
            _ if self.secret => " (not shown)",
            _ => "",
        };
        let default = match self.default {
            Some(Value::String(text)) => format!(" [{}]", tame(text)),
            Some(Value::Bool(true)) => " [default: y]".to_owned(),
            Some(Value::Bool(false)) => " [default: n]".to_owned(),
            Some(other) => format!(" [{}]", tame(&other.to_string())),
            None if !self.required => " [optional]".to_owned(),
            None => String::new(),
        };
        format!("{}{how}{default}: ", self.label)
    }

    fn read(&self, typed: &str) -> Result<Value, String> {
        match self.kind {
            "array" => {
                let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(|part| self.choose(part)).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            _ if !self.choices.is_empty() => self.choose(typed),
            "boolean" => match typed.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(Value::Bool(true)),
                "n" | "no" | "false" => Ok(Value::Bool(false)),
                _ => Err("Please answer y or n.".to_owned()),
            },
            "integer" => {
                typed.parse::<i64>().map(Value::from).map_err(|_| "A whole number is needed.".to_owned())
            }
            "number" => {
                let number = typed.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                number.map(Value::Number).ok_or_else(|| "A number is needed.".to_owned())
            }
            _ => Ok(Value::String(typed.to_owned())),
        }
    }

    /// A value of the closed set: by its number, its value or its label.
    fn choose(&self, typed: &str) -> Result<Value, String> {
        if self.choices.is_empty() {
            return Ok(Value::String(typed.to_owned()));
        }
        // A value that looks like a number wins over the number of another value.
        let named = self.choices.iter().find(|(value, label)| value == typed || label == typed);
        let numbered =
            typed.parse::<usize>().ok().and_then(|number| self.choices.get(number.checked_sub(1)?));
        match named.or(numbered) {
            Some((value, _)) => Ok(Value::String(value.clone())),
            None => Err(format!("Please choose a number from 1 to {}.", self.choices.len())),
        }
    }
}

/// The values of a closed set with their labels, in each of the ways that MCP has to write them.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let titled = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    if let Some(titled) = titled {
        return titled.iter().map(|one| (text(&one["const"]), text(&one["title"]))).collect();
    }
    let values = schema["enum"].as_array().into_iter().flatten().map(text);
    let names = schema["enumNames"].as_array().cloned().unwrap_or_default();
    values
        .enumerate()
        .map(|(position, value)| {
            let label = names.get(position).and_then(Value::as_str).unwrap_or(&value).to_owned();
            (value, label)
        })
        .collect()
}

fn line() -> Result<String, Ended> {
    let mut line = String::new();
    ended(std::io::stdin().read_line(&mut line).map(|_| line))
}

fn hidden_line() -> Result<String, Ended> {
    ended(hidden::read_line())
}

/// A line without its end is the end of the input.
fn ended(line: std::io::Result<String>) -> Result<String, Ended> {
    match line {
        Ok(line) if !line.is_empty() => Ok(line),
        _ => {
            note("");
            Err(Ended)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(property: &Value, typed: &str) -> Result<Value, String> {
        Field::new("field", property, true, false).read(typed)
    }

    #[test]
    fn what_is_typed_becomes_a_value_of_the_right_type() {
        let titled = json!({"type": "string", "oneOf": [{"const": "a", "title": "First"}, {"const": "2", "title": "Second"}]});
        for (property, typed, value) in [
            (json!({"type": "integer"}), "7", json!(7)),
            (json!({"type": "number"}), "0.5", json!(0.5)),
            (json!({"type": "boolean"}), "Yes", json!(true)),
            (json!({"type": "string"}), "7", json!("7")),
            (json!({"type": "string", "enum": ["x", "y"]}), "2", json!("y")),
            (json!({"type": "string", "enum": ["x", "y"]}), "x", json!("x")),
            (titled.clone(), "First", json!("a")),
            (titled.clone(), "2", json!("2")),
            (titled, "1", json!("a")),
            (
                json!({"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}}),
                "3, 1",
                json!(["z", "x"]),
            ),
        ] {
            assert_eq!(read(&property, typed), Ok(value), "{property} {typed}");
        }
        assert!(read(&json!({"type": "integer"}), "1.5").is_err());
        assert!(read(&json!({"type": "string", "enum": ["x"]}), "2").is_err());
    }

    #[test]
    fn labels_come_from_every_way_to_write_them() {
        let legacy = json!({"enum": ["a", "b"], "enumNames": ["Ah", "Be"]});
        assert_eq!(choices(&legacy)[1], ("b".to_owned(), "Be".to_owned()));
        let many = json!({"anyOf": [{"const": "a", "title": "Ah"}]});
        assert_eq!(choices(&many), [("a".to_owned(), "Ah".to_owned())]);
        assert!(choices(&json!({"type": "string"})).is_empty());
    }
}
