//! The settings: as a table, and as a file with every default.

use super::{GENERATED, cell};
use crate::settings::{Kind, Setting, TABLE, Value};

/// One row for each.
pub(super) fn table() -> String {
    let mut out = String::from(
        "| flag | environment | `diptych.toml` | default | what it does |\n|---|---|---|---|---|\n",
    );
    for setting in TABLE {
        let value = match setting.kind {
            Kind::Switch => String::new(),
            _ => format!(" {}", setting.value_name()),
        };
        let default = match setting.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        out.push_str(&format!(
            "| `--{}{value}` | `{}` | `{}` | {default} | {}{} |\n",
            setting.name,
            setting.variable(),
            setting.name,
            cell(setting.help),
            choices(setting),
        ));
    }
    out.push_str(
        "| `--config FILE` | `DIPTYCH_CONFIG` |  | `diptych.toml` | The configuration file; by default it is in the configuration folder |\n",
    );
    out
}

fn choices(setting: &Setting) -> String {
    match setting.kind {
        Kind::Choice(choices) | Kind::Choices(choices) => {
            let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
            format!(" ({})", choices.join(", "))
        }
        _ => String::new(),
    }
}

/// The page.
pub(super) fn page() -> String {
    format!(
        "{GENERATED}\n# Settings\n\n\
         Every setting can be given in three places. A flag wins over the environment, the environment over the file, \
         the file over the default. `diptych config` shows each value and where it comes from; `diptych doctor` \
         prints the folders.\n\n\
         {}\n\
         In the environment a list is separated by commas and folders as in `PATH`; a variable that is set to nothing \
         is not set. Paths in the file are relative to the file.\n\n\
         Servers that are called over https must have a certificate of an authority that the system trusts. On Linux, \
         `SSL_CERT_FILE` names a file of the authorities to trust instead, such as that of a company of its own.\n\n\
         ## The file\n\n\
         This is a `diptych.toml` with every setting. All of them are optional.\n\n\
         ```toml\n{}```\n",
        table(),
        file()
    )
}

fn file() -> String {
    let mut out = String::new();
    for (number, setting) in TABLE.into_iter().enumerate() {
        let gap = if number == 0 { "" } else { "\n" };
        out.push_str(&format!("{gap}# {}\n# {} = {}\n", setting.help, setting.name, toml(setting)));
    }
    out
}

/// The default, or a value that shows what one looks like.
fn toml(setting: &Setting) -> String {
    let quoted = |text: &str| format!("{text:?}");
    let list = |parts: Vec<String>| format!("[{}]", parts.join(", "));
    match Value::parse_text(setting.kind, setting.default) {
        Ok(Value::Switch(switch)) => switch.to_string(),
        Ok(Value::Count(count)) => count.to_string(),
        Ok(Value::List(parts)) => list(parts.iter().map(|part| quoted(part)).collect()),
        Ok(Value::Text(text)) => quoted(&text),
        Ok(Value::Address(address)) => quoted(&address.to_string()),
        Err(_) => match setting.kind {
            Kind::Count { least } => (least * 60).to_string(),
            Kind::Address => quoted("127.0.0.1:8080"),
            _ => quoted(""),
        },
    }
}
