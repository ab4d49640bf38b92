//! A tool's input schema as a shell command, and the command's flags as the tool's arguments.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Read as _;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use diptych::Format;
use serde_json::{Map, Value};

use super::Asked;
use crate::command::misunderstood;
use crate::exit::{Failure, Outcome};
use crate::output::tame;
use crate::settings::TABLE;

/// The flag that keeps a call from asking.
pub(crate) const NO_INPUT_FLAG: &str = "--no-input";

/// The flags that every tool's command has, beside its fields.
const OWN: [&str; 4] = ["format", "json", "no-input", "help"];

/// A tool as a shell command.
pub(crate) struct ToolCommand {
    command: Command,
    fields: Vec<Field>,
    /// Whether the tool itself takes our `format`.
    takes_format: bool,
}

/// A field of the schema, and the flag that it has become.
struct Field {
    name: String,
    flag: String,
    kind: Kind,
}

/// How a flag's text becomes a value.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text,
    Number {
        whole: bool,
    },
    Switch,
    /// One of several types: the first that the text can be.
    Any(Vec<Kind>),
    Choice(Vec<(String, Option<String>)>),
    List(Box<Kind>),
    Json,
}

impl ToolCommand {
    /// The command of a tool, from its definition as it came over the protocol.
    pub(crate) fn new(definition: &Value) -> Self {
        let schema = &definition["inputSchema"];
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let required: HashSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let takes_format = properties.get(Format::ARGUMENT).is_some_and(|property| is_ours(schema, property));
        let name = tame(definition["name"].as_str().unwrap_or_default());
        let mut command = Command::new(name.clone())
            .bin_name(format!("diptych call {name}"))
            .no_binary_name(true)
            .about(tame(definition["description"].as_str().unwrap_or_default()));
        let mut fields: Vec<Field> = Vec::new();
        let mut taken: HashSet<String> = OWN.map(str::to_owned).into();
        for (name, property) in properties {
            if takes_format && name == Format::ARGUMENT {
                continue;
            }
            let flag = flag(name, |flag| taken.contains(flag));
            taken.insert(flag.clone());
            let kind = Kind::of(schema, property, 0);
            let mut argument = argument(schema, &flag, property, &kind, required.contains(name.as_str()));
            // As the schema spells it is fine as well.
            let speakable = name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
            if speakable && taken.insert(name.clone()) {
                argument = argument.alias(name.clone());
            }
            command = command.arg(argument);
            fields.push(Field { name: name.clone(), flag, kind });
        }
        ToolCommand { command: command.args(own_arguments()), fields, takes_format }
    }

    /// The command itself, for help, completions and manuals.
    pub(crate) fn command(&self) -> &Command {
        &self.command
    }

    /// The flag of a field.
    pub(crate) fn flag_of(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.name == name).map(|field| field.flag.as_str())
    }

    /// Reads the words after the tool's name.
    pub(crate) fn read(&self, words: Vec<&OsString>) -> Outcome<Asked> {
        let matches = self
            .command
            .clone()
            .try_get_matches_from(words)
            .map_err(|error| self.misplaced(&error).unwrap_or_else(|| misunderstood(&error)))?;
        let mut arguments = match matches.get_one::<String>("json") {
            Some(text) => object(text)?,
            None => Map::new(),
        };
        for field in &self.fields {
            if let Some(texts) = matches.get_many::<String>(&field.flag) {
                let texts: Vec<&str> = texts.map(String::as_str).collect();
                let value = field.kind.read(&texts).map_err(|problem| {
                    Failure::usage(format!("`--{}` cannot be used: {problem}.", field.flag)).hint(format!(
                        "`{} --help` shows what it takes.",
                        self.command.get_bin_name().unwrap_or_default()
                    ))
                })?;
                arguments.insert(field.name.clone(), value);
            }
        }
        let format = self.format(&matches, &mut arguments);
        Ok(Asked { arguments, format })
    }

    /// A setting that stands where the tool's fields do.
    fn misplaced(&self, error: &clap::Error) -> Option<Failure> {
        let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
        let is_setting = TABLE.iter().any(|setting| flag.strip_prefix("--") == Some(setting.name));
        let tool = self.command.get_name();
        (error.kind() == ErrorKind::UnknownArgument && is_setting).then(|| {
            Failure::usage(format!("`{flag}` is a setting, and no field of `{tool}`."))
                .hint(format!("Settings stand before the tool: `diptych call {flag} … {tool}`."))
        })
    }

    /// How to show the answer. A tool that takes our `format` is told it; of others we show what we get.
    fn format(&self, matches: &ArgMatches, arguments: &mut Map<String, Value>) -> Format {
        let flag = matches.get_one::<String>("format").map(String::as_str);
        let format = Format::ALL.into_iter();
        if !self.takes_format {
            return format.into_iter().find(|format| Some(format.as_str()) == flag).unwrap_or_default();
        }
        if let Some(flag) = flag {
            arguments.insert(Format::ARGUMENT.to_owned(), Value::from(flag));
        }
        let chosen = arguments.get(Format::ARGUMENT).and_then(Value::as_str);
        format.into_iter().find(|format| Some(format.as_str()) == chosen).unwrap_or_default()
    }
}

/// The flags that every tool's command has.
fn own_arguments() -> [Arg; 3] {
    let formats = Format::ALL.map(Format::as_str);
    [
        Arg::new("format")
            .long("format")
            .value_name("FORMAT")
            .value_parser(PossibleValuesParser::new(formats))
            .help("What to print: the text, the machine panel alone, or both [default: markdown]")
            .help_heading("Output"),
        Arg::new("json")
            .long("json")
            .value_name("OBJECT")
            .help(
                "All arguments as one JSON object, or `-` to read it from standard input; flags win over it",
            )
            .help_heading("Input"),
        Arg::new("no-input")
            .long("no-input")
            .action(ArgAction::SetTrue)
            .help("Never ask; print what is missing instead")
            .help_heading("Input"),
    ]
}

/// The flag of a field: its name in the shell's way, unless that is taken.
fn flag(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = kebab(name);
    if !plain.is_empty() && !taken(&plain) {
        return plain;
    }
    let base = format!("field-{plain}");
    let mut numbered = base.clone();
    let mut number = 2;
    while taken(&numbered) {
        numbered = format!("{base}-{number}");
        number += 1;
    }
    numbered
}

/// `limitCards` and `limit_cards` are `limit-cards`.
fn kebab(name: &str) -> String {
    let mut flag = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            if !flag.is_empty() && !flag.ends_with('-') {
                flag.push('-');
            }
            flag.push(character.to_ascii_lowercase());
        } else if character.is_alphanumeric() {
            flag.push(character);
        } else if !flag.is_empty() && !flag.ends_with('-') {
            flag.push('-');
        }
    }
    flag.trim_end_matches('-').to_owned()
}

fn argument(schema: &Value, flag: &str, property: &Value, kind: &Kind, required: bool) -> Arg {
    let resolved = resolve(schema, property);
    let described = property.get("description").or_else(|| resolved.get("description"));
    let mut help = tame(described.and_then(Value::as_str).unwrap_or_default()).replace('\n', " ");
    if required {
        help.push_str(" [required]");
    }
    if let Some(default) =
        property.get("default").or_else(|| resolved.get("default")).filter(|one| !one.is_null())
    {
        let shown = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        help.push_str(&format!(" [default: {}]", tame(&shown)));
    }
    if matches!(kind, Kind::List(_)) {
        help.push_str(" [can be given several times]");
    }
    let argument = Arg::new(flag.to_owned())
        .long(flag.to_owned())
        .help(help.trim().to_owned())
        .help_heading("Fields")
        .value_name(kind.value_name())
        .allow_negative_numbers(true);
    match kind {
        Kind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .hide_possible_values(true)
            .value_parser(PossibleValuesParser::new(["true", "false"])),
        Kind::Choice(choices) => argument.value_parser(possible(choices)),
        Kind::List(item) => {
            let argument = argument.action(ArgAction::Append);
            match item.as_ref() {
                Kind::Choice(choices) => argument.value_delimiter(',').value_parser(possible(choices)),
                _ => argument,
            }
        }
        _ => argument,
    }
}

fn possible(choices: &[(String, Option<String>)]) -> PossibleValuesParser {
    PossibleValuesParser::new(choices.iter().map(|(value, help)| {
        let possible = PossibleValue::new(value.clone());
        match help {
            Some(help) => possible.help(help.clone()),
            None => possible,
        }
    }))
}

impl Kind {
    fn of(schema: &Value, property: &Value, depth: usize) -> Kind {
        // A schema may refer to itself; whatever is that deep is written as JSON.
        if depth > 8 {
            return Kind::Json;
        }
        let property = resolve(schema, property);
        if let Some(choices) = closed_set(property) {
            return Kind::Choice(choices);
        }
        let branches = ["anyOf", "oneOf"].iter().find_map(|key| property.get(*key)).and_then(Value::as_array);
        if let Some(branches) = branches {
            let kinds = branches
                .iter()
                .map(|branch| resolve(schema, branch))
                .filter(|branch| branch["type"] != "null")
                .map(|branch| Kind::of(schema, branch, depth + 1));
            return Kind::any(kinds.collect());
        }
        match &property["type"] {
            Value::String(name) => Kind::named(schema, property, name, depth),
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
                Kind::any(names.map(|name| Kind::named(schema, property, name, depth)).collect())
            }
            _ => Kind::Json,
        }
    }

    fn named(schema: &Value, property: &Value, name: &str, depth: usize) -> Kind {
        match name {
            "string" => Kind::Text,
            "integer" => Kind::Number { whole: true },
            "number" => Kind::Number { whole: false },
            "boolean" => Kind::Switch,
            "array" => Kind::List(Box::new(Kind::of(schema, &property["items"], depth + 1))),
            _ => Kind::Json,
        }
    }

    fn any(mut kinds: Vec<Kind>) -> Kind {
        kinds.dedup();
        match kinds.len() {
            0 => Kind::Json,
            1 => kinds.remove(0),
            _ => {
                // Text can be anything, so it comes last.
                kinds.sort_by_key(|kind| *kind == Kind::Text);
                Kind::Any(kinds)
            }
        }
    }

    fn value_name(&self) -> &'static str {
        match self {
            Kind::Text | Kind::Any(_) => "TEXT",
            Kind::Number { .. } => "NUMBER",
            Kind::Switch => "BOOL",
            Kind::Choice(_) => "CHOICE",
            Kind::List(item) => item.value_name(),
            Kind::Json => "JSON",
        }
    }

    fn read(&self, texts: &[&str]) -> Result<Value, String> {
        let Kind::List(item) = self else {
            return self.read_one(texts.last().copied().unwrap_or_default());
        };
        let mut items = Vec::new();
        for text in texts {
            // A whole list as JSON is as good as its items one by one.
            match serde_json::from_str(text) {
                Ok(Value::Array(list)) if **item != Kind::Text => items.extend(list),
                Ok(Value::Array(list)) if list.iter().all(Value::is_string) => items.extend(list),
                _ => items.push(item.read_one(text)?),
            }
        }
        Ok(Value::Array(items))
    }

    fn read_one(&self, text: &str) -> Result<Value, String> {
        match self {
            Kind::Text | Kind::Choice(_) => Ok(Value::String(text.to_owned())),
            Kind::Number { whole } => {
                let number: Option<serde_json::Number> = serde_json::from_str(text.trim()).ok();
                let needed = if *whole { "a whole number" } else { "a number" };
                number
                    .filter(|number| !whole || !number.is_f64())
                    .map(Value::Number)
                    .ok_or_else(|| format!("`{text}` is not {needed}"))
            }
            Kind::Switch => Ok(Value::Bool(text == "true")),
            Kind::Any(kinds) => kinds
                .iter()
                .find_map(|kind| match kind {
                    Kind::Switch => matches!(text, "true" | "false").then(|| Value::Bool(text == "true")),
                    Kind::List(_) => serde_json::from_str(text).ok().filter(Value::is_array),
                    kind => kind.read_one(text).ok(),
                })
                .ok_or_else(|| format!("`{text}` is not what it takes")),
            Kind::List(_) | Kind::Json => {
                serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
            }
        }
    }
}

/// Follows a reference into the same schema.
fn resolve<'a>(schema: &'a Value, property: &'a Value) -> &'a Value {
    let mut property = property;
    for _ in 0..8 {
        let Some(pointer) = property["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'))
        else {
            break;
        };
        match schema.pointer(pointer) {
            Some(target) => property = target,
            None => break,
        }
    }
    property
}

/// The texts of a closed set, each with what it means.
fn closed_set(property: &Value) -> Option<Vec<(String, Option<String>)>> {
    if let Some(values) = property["enum"].as_array() {
        let texts = values.iter().filter(|value| !value.is_null());
        return texts.map(|value| Some((value.as_str()?.to_owned(), None))).collect();
    }
    let branches = property["oneOf"].as_array().or_else(|| property["anyOf"].as_array())?;
    branches
        .iter()
        .filter(|branch| branch["type"] != "null")
        .map(|branch| {
            let help = branch["description"].as_str().or_else(|| branch["title"].as_str());
            Some((branch["const"].as_str()?.to_owned(), help.map(|help| tame(help).replace('\n', " "))))
        })
        .collect::<Option<Vec<_>>>()
        .filter(|choices| !choices.is_empty())
}

/// Whether a property called `format` is the one that the toolkit adds to every tool.
fn is_ours(schema: &Value, property: &Value) -> bool {
    let values: Option<Vec<String>> =
        closed_set(resolve(schema, property)).map(|set| set.into_iter().map(|(value, _)| value).collect());
    values.is_some_and(|values| values == Format::ALL.map(Format::as_str))
}

/// A JSON object, given or on standard input.
fn object(text: &str) -> Outcome<Map<String, Value>> {
    let mut read = String::new();
    let (text, what) = if text == "-" {
        std::io::stdin()
            .read_to_string(&mut read)
            .map_err(|error| Failure::usage(format!("Standard input cannot be read: {error}.")))?;
        (read.as_str(), "What came on standard input")
    } else {
        (text, "What follows `--json`")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Failure::usage(format!("{what} is JSON, but not an object."))),
        Err(error) => Err(Failure::usage(format!("{what} is not JSON: {error}."))),
    }
    .map_err(|failure| failure.hint("Write the arguments like {\"field\": \"value\"}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> ToolCommand {
        ToolCommand::new(&json!({
            "name": "make", "description": "Makes it.",
            "inputSchema": {
                "type": "object",
                "required": ["name"],
                "$defs": {"Level": {"oneOf": [{"const": "low", "description": "A little."}, {"const": "high"}]}},
                "properties": {
                    "name": {"type": "string", "description": "What to call it."},
                    "limitCards": {"type": ["integer", "null"], "default": 3},
                    "deep": {"type": "boolean"},
                    "level": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "entities": {"type": "array", "items": {"type": "object"}},
                    "timestamp": {"type": ["string", "integer"]},
                    "metadata": {"type": "object"},
                    "json": {"type": "string"},
                    "format": {"type": "string", "enum": ["markdown", "json", "both"]},
                },
            },
        }))
    }

    fn read(words: &[&str]) -> Outcome<Asked> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        tool().read(words.iter().collect())
    }

    #[test]
    fn flags_become_arguments_of_the_schemas_types() {
        let asked = read(&[
            "--name",
            "x",
            "--limit-cards",
            "-5",
            "--deep",
            "--level",
            "high",
            "--tags",
            "a,b",
            "--tags",
            "c",
            "--entities",
            r#"{"a":1}"#,
            "--entities",
            r#"[{"b":2},{"c":3}]"#,
            "--timestamp",
            "17",
            "--metadata",
            r#"{"k":null}"#,
            "--field-json",
            "own",
            "--format",
            "both",
        ])
        .unwrap();
        assert_eq!(asked.format, Format::Both);
        assert_eq!(
            Value::Object(asked.arguments),
            json!({
                "name": "x", "limitCards": -5, "deep": true, "level": "high", "tags": ["a,b", "c"],
                "entities": [{"a": 1}, {"b": 2}, {"c": 3}], "timestamp": 17, "metadata": {"k": null},
                "json": "own", "format": "both",
            })
        );
        let asked = read(&["--timestamp", "2026-01-01", "--limitCards", "2", "--deep=false"]).unwrap();
        assert_eq!(
            Value::Object(asked.arguments),
            json!({"limitCards": 2, "deep": false, "timestamp": "2026-01-01"})
        );
    }

    #[test]
    fn flags_go_before_what_json_says() {
        let asked =
            read(&["--json", r#"{"name": "a", "deep": true, "format": "json"}"#, "--name", "b"]).unwrap();
        assert_eq!(Value::Object(asked.arguments), json!({"name": "b", "deep": true, "format": "json"}));
        assert_eq!(asked.format, Format::Json);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for words in [
            ["--limit-cards", "many"],
            ["--limit-cards", "1.5"],
            ["--metadata", "{"],
            ["--json", "[]"],
            ["--json", "{"],
            ["--level", "middle"],
            ["--nmae", "x"],
        ] {
            assert!(read(&words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn names_become_flags() {
        for (name, flag) in [
            ("limitCards", "limit-cards"),
            ("q", "q"),
            ("snake_case", "snake-case"),
            ("URL", "u-r-l"),
            ("_x.", "x"),
        ] {
            assert_eq!(kebab(name), flag);
        }
        tool().command.debug_assert();
    }
}
