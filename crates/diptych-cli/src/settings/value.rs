//! Values of settings, and how they are read from text.

use std::net::SocketAddr;

use super::Kind;
use crate::nearest;

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Switch(bool),
    Text(String),
    Count(u64),
    Address(SocketAddr),
    List(Vec<String>),
}

impl Value {
    /// Reads a value from one text, as environment variables have it.
    pub(crate) fn parse_text(kind: Kind, text: &str) -> Result<Value, String> {
        let texts: Vec<String> = match kind {
            Kind::List | Kind::Choices(_) => {
                text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
            }
            Kind::Folders => {
                std::env::split_paths(text).map(|path| path.to_string_lossy().into_owned()).collect()
            }
            _ => vec![text.to_owned()],
        };
        Value::parse(kind, &texts)
    }

    /// Reads a value from its parts. The error says what is needed instead.
    pub(crate) fn parse(kind: Kind, texts: &[String]) -> Result<Value, String> {
        let text = texts.first().map(String::as_str).unwrap_or_default();
        match kind {
            Kind::Switch => match text {
                "true" | "1" | "yes" | "on" => Ok(Value::Switch(true)),
                "false" | "0" | "no" | "off" => Ok(Value::Switch(false)),
                _ => Err("it must be true or false".to_owned()),
            },
            Kind::Text | Kind::Secret | Kind::File | Kind::Folder | Kind::Project => {
                Ok(Value::Text(text.to_owned()))
            }
            Kind::Choice(choices) => choice(text, choices).map(Value::Text),
            Kind::Count { least } => match text.parse::<u64>() {
                Ok(count) if count >= least => Ok(Value::Count(count)),
                _ => Err(format!("it must be a whole number from {least}")),
            },
            Kind::Address => address(text).map(Value::Address),
            Kind::List | Kind::Folders => Ok(Value::List(texts.to_vec())),
            Kind::Choices(choices) => {
                texts.iter().map(|text| choice(text, choices)).collect::<Result<_, _>>().map(Value::List)
            }
        }
    }
}

fn choice(text: &str, choices: &[&str]) -> Result<String, String> {
    if choices.contains(&text) {
        return Ok(text.to_owned());
    }
    let meant = nearest::hint(text, choices.iter().copied()).map(|hint| format!(". {hint}"));
    Err(format!("it must be one of {}{}", choices.join(", "), meant.unwrap_or_default()))
}

/// An address, a port of this machine, or `localhost` with a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    port.parse()
        .map(local)
        .or_else(|_| text.parse())
        .map_err(|_| "it must be an address with a port, such as 127.0.0.1:8080".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_can_be_short() {
        for text in ["8080", ":8080", "localhost:8080", "127.0.0.1:8080"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:8080", "{text}");
        }
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        assert!(address("example.com:80").is_err());
    }

    #[test]
    fn what_does_not_fit_says_what_would() {
        let problem = |kind, text| Value::parse_text(kind, text).unwrap_err();
        assert_eq!(problem(Kind::Switch, "maybe"), "it must be true or false");
        assert_eq!(problem(Kind::Count { least: 1 }, "0"), "it must be a whole number from 1");
        let choices = Kind::Choices(&["patterns", "graph"]);
        assert_eq!(
            problem(choices, "graph,patern"),
            "it must be one of patterns, graph. Did you mean `patterns`?"
        );
        assert_eq!(
            Value::parse_text(choices, "graph, patterns,").unwrap(),
            Value::List(vec!["graph".to_owned(), "patterns".to_owned()])
        );
    }
}
