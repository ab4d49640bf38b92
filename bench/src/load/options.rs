//! The load generator's command line.

use std::time::Duration;

/// How to use it.
pub const USAGE: &str = "\
load [--http] [--stateless] --tool NAME --arguments JSON [--cold N] [--alone N] [--in-flight 1,32,256]
     [--seconds S] [--warm-up S] -- COMMAND [ARGUMENT…]

With --http, the word {port} in the command is replaced by a free port, and the endpoint is /mcp there.
--stateless speaks 2026-07-28, otherwise 2025-11-25.";

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// Speak HTTP rather than stdio.
    pub http: bool,
    /// Speak 2026-07-28 rather than 2025-11-25.
    pub stateless: bool,
    /// The tool to call.
    pub tool: String,
    /// Its arguments, as JSON.
    pub arguments: serde_json::Value,
    /// How often to start the process only to see how long its first answer takes.
    pub cold_starts: usize,
    /// How many calls to make one after another.
    pub calls_alone: u64,
    /// How many calls to keep in flight, for each measurement.
    pub in_flight: Vec<usize>,
    /// How long each measurement lasts.
    pub duration: Duration,
    /// How long each is preceded by calls that are not measured.
    pub warm_up: Duration,
    /// The server's command.
    pub command: Vec<String>,
}

impl Options {
    /// Reads the command line; an error is a sentence for the user.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            http: false,
            stateless: false,
            tool: String::new(),
            arguments: serde_json::Value::Null,
            cold_starts: 0,
            calls_alone: 2000,
            in_flight: vec![1, 32, 256],
            duration: Duration::from_secs(1),
            warm_up: Duration::from_millis(300),
            command: Vec::new(),
        };
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n\n{USAGE}"));
            match word.as_str() {
                "--http" => options.http = true,
                "--stateless" => options.stateless = true,
                "--tool" => options.tool = value()?,
                "--arguments" => options.arguments = parse(&value()?)?,
                "--cold" => options.cold_starts = parse(&value()?)?,
                "--alone" => options.calls_alone = parse(&value()?)?,
                "--in-flight" => options.in_flight = parse(&format!("[{}]", value()?))?,
                "--seconds" => options.duration = Duration::from_secs_f64(parse(&value()?)?),
                "--warm-up" => options.warm_up = Duration::from_secs_f64(parse(&value()?)?),
                "--" => {
                    options.command = words.collect();
                    break;
                }
                other => return Err(format!("{other:?} is no option\n\n{USAGE}")),
            }
        }
        if options.command.is_empty() {
            return Err(format!("there is no command of a server\n\n{USAGE}"));
        }
        Ok(options)
    }
}

/// Numbers, lists of numbers and arguments are all spelled as JSON.
fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("{text:?} is not a fitting value: {error}"))
}
