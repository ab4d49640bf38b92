//! The server that a command talks to: our own in this process, or someone else's.

use std::time::Duration;

use diptych::client::{Client, ClientError, Dial, Protocol};

use crate::exit::{Exit, Failure, Outcome};
use crate::output::tame;
use crate::settings::{SERVER, SERVER_TOKEN, Settings};
use crate::toolsets;

/// How long a server may take to say hello. Commands that fetch themselves first are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whom to call.
pub(crate) struct Target {
    dial: Dial,
    /// Whose server it is, for people: empty when it is our own.
    pub(crate) other: Option<String>,
}

/// Finds out whom to call. Nothing is connected yet.
pub(crate) fn target(settings: &Settings) -> Outcome<Target> {
    let Some(server) = settings.text(&SERVER) else {
        let server = toolsets::own_server(settings)?;
        return Ok(Target { dial: Client::in_process(&server), other: None });
    };
    let dial = if server.starts_with("http://") || server.starts_with("https://") {
        let dial = Client::url(server);
        match settings.text(&SERVER_TOKEN) {
            Some(token) => dial.token(token),
            None => dial,
        }
    } else {
        let mut words = shlex::split(server).unwrap_or_default().into_iter();
        let Some(program) = words.next() else {
            return Err(Failure::usage(format!(
                "{} is not a URL and not a command.",
                settings.named(&SERVER)
            ))
            .hint("Write a URL such as http://127.0.0.1:8080/mcp, or a command in quotes."));
        };
        Client::command(program, words)
    };
    Ok(Target { dial: dial.protocol(Protocol::Newest), other: Some(server.to_owned()) })
}

impl Target {
    /// Changes how to call.
    pub(crate) fn with(mut self, change: impl FnOnce(Dial) -> Dial) -> Self {
        self.dial = change(self.dial);
        self
    }

    /// Connects, or gives up on a server that says nothing.
    pub(crate) async fn connect(self) -> Outcome<Client> {
        let connected = tokio::time::timeout(PATIENCE, self.dial.named("diptych").connect()).await;
        let connected = connected.unwrap_or_else(|_| {
            Err(ClientError::Connection(format!("not a word in {} seconds", PATIENCE.as_secs())))
        });
        connected.map_err(|error| match &self.other {
            Some(server) => unreachable(server, &error),
            None => failed(&error),
        })
    }
}

fn unreachable(server: &str, error: &ClientError) -> Failure {
    let why = reason(error);
    let hint = if why == NEEDS_TOKEN {
        "Give it with `--server-token`, or better in DIPTYCH_SERVER_TOKEN."
    } else if server.starts_with("http") {
        "Check the address; it ends with the path of the endpoint, often /mcp."
    } else {
        "The command must be there and speak MCP on its standard input and output."
    };
    Failure::new(Exit::Connection, format!("The server `{server}` does not answer: {why}.")).hint(hint)
}

/// What went wrong between us and a server.
pub(crate) fn failed(error: &ClientError) -> Failure {
    match error {
        ClientError::Protocol { code, message, .. } => {
            let exit = if *code == -32602 { Exit::Usage } else { Exit::Failed };
            Failure::new(exit, sentence(&tame(message)))
        }
        other => Failure::new(Exit::Connection, sentence(&other.to_string())),
    }
}

const NEEDS_TOKEN: &str = "it asks for a token";

/// Why a connection failed, without the innards of the library that made it.
fn reason(error: &ClientError) -> String {
    let text = match error {
        ClientError::Connection(reason) => reason.clone(),
        other => other.to_string(),
    };
    let text = text.rsplit("] error: ").next().unwrap_or_default();
    let text =
        text.split(", when ").next().unwrap_or_default().split(" (os error").next().unwrap_or_default();
    if text.contains("Auth required") || text.contains("HTTP 401") {
        return NEEDS_TOKEN.to_owned();
    }
    if text.contains("error sending request") {
        return "nothing can be reached at that address".to_owned();
    }
    tame(text.trim_end_matches('.'))
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
