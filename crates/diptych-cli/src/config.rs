//! `diptych config`: every setting, its value and where it comes from.

use std::path::Path;

use clap::ArgMatches;
use serde_json::{Map, json};

use crate::exit::{Exit, Outcome};
use crate::output;
use crate::settings::{Kind, Origin, Setting, Settings, Value};

/// Shows the settings.
pub(crate) fn config(settings: &Settings, flags: &ArgMatches) -> Outcome {
    if flags.get_flag("as-json") {
        let all: Map<String, serde_json::Value> = settings
            .all()
            .map(|(setting, value, origin)| {
                let from = source(setting, origin);
                let shown = match value.map(|value| machine(setting, value)) {
                    Some(value) => json!({"value": value, "from": from}),
                    None => json!({"from": from}),
                };
                (setting.name.to_owned(), shown)
            })
            .collect();
        output::line(&format!("{:#}", serde_json::Value::Object(all)))?;
        return Ok(Exit::Done);
    }
    let (file, exists) = settings.file();
    let rows: Vec<[String; 3]> = settings
        .all()
        .map(|(setting, value, origin)| {
            let shown = match value {
                Some(Value::Text(file)) if matches!(setting.kind, Kind::File | Kind::Folder) => {
                    settings.folders.show(Path::new(file))
                }
                value => show(setting, value),
            };
            [setting.name.to_owned(), shown, source(setting, origin)]
        })
        .collect();
    let mut text = output::columns(&rows);
    let state = if exists { "" } else { " (not there; nothing needs it)" };
    text.push_str(&format!("\nfile: {}{state}\n", settings.folders.show(file)));
    output::line(&text)?;
    Ok(Exit::Done)
}

fn source(setting: &Setting, origin: Origin) -> String {
    match origin {
        Origin::Flag => format!("--{}", setting.name),
        Origin::Environment => setting.variable(),
        Origin::File => "diptych.toml".to_owned(),
        Origin::Default => "default".to_owned(),
    }
}

fn machine(setting: &Setting, value: &Value) -> serde_json::Value {
    match value {
        Value::Switch(switch) => json!(switch),
        Value::Count(count) => json!(count),
        Value::List(list) => json!(list),
        Value::Text(_) | Value::Address(_) => json!(show(setting, Some(value))),
    }
}

fn show(setting: &Setting, value: Option<&Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(_) if setting.kind == Kind::Secret => "(set)".to_owned(),
        Some(Value::Switch(switch)) => switch.to_string(),
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Count(count)) => count.to_string(),
        Some(Value::Address(address)) => address.to_string(),
        Some(Value::List(list)) => list.join(","),
    }
}
