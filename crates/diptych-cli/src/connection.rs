//! The server that a command talks to: our own in this process, or someone else's.

use std::time::Duration;

use diptych::Server;
use diptych::client::{Client, ClientError, Dial, Protocol};

use crate::call::Terminal;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::tame;
use crate::settings::{SERVER, SERVER_TOKEN, Settings};
use crate::toolsets;

/// How long a server may take to say hello. Commands that fetch themselves first are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whom to call, and who answers when it asks.
pub(crate) struct Target {
    server: Whose,
    terminal: Option<Terminal>,
}

/// Whose server it is.
enum Whose {
    Ours(Server),
    Url { url: String, token: Option<String> },
    Command { line: String, words: Vec<String> },
}

/// Finds out whom to call. Nothing is connected yet.
pub(crate) fn target(settings: &Settings) -> Outcome<Target> {
    let server = match settings.text(&SERVER) {
        None => Whose::Ours(toolsets::own_server(settings)?),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            Whose::Url { url: url.to_owned(), token: settings.text(&SERVER_TOKEN).map(str::to_owned) }
        }
        Some(line) => {
            let words = shlex::split(line).filter(|words| !words.is_empty()).ok_or_else(|| {
                Failure::usage(format!("{} is not a URL and not a command.", settings.named(&SERVER)))
                    .hint("Write a URL such as http://127.0.0.1:8080/mcp, or a command in quotes.")
            })?;
            Whose::Command { line: line.to_owned(), words }
        }
    };
    Ok(Target { server, terminal: None })
}

impl Target {
    /// The server's URL or command, when it is not our own.
    pub(crate) fn other(&self) -> Option<&str> {
        match &self.server {
            Whose::Ours(_) => None,
            Whose::Url { url, .. } => Some(url),
            Whose::Command { line, .. } => Some(line),
        }
    }

    /// Lets the person at the terminal answer what the server asks.
    pub(crate) fn answered_by(mut self, terminal: Terminal) -> Self {
        self.terminal = Some(terminal);
        self
    }

    fn dial(&self, protocol: Protocol) -> Dial {
        let dial = match &self.server {
            Whose::Ours(server) => Client::in_process(server),
            Whose::Url { url, token: Some(token) } => Client::url(url).token(token),
            Whose::Url { url, token: None } => Client::url(url),
            Whose::Command { words, .. } => Client::command(&words[0], &words[1..]),
        };
        let dial = dial.named("diptych").protocol(protocol);
        match &self.terminal {
            Some(terminal) => dial.answered_by(terminal.clone()),
            None => dial,
        }
    }

    /// Connects, or gives up on a server that says nothing.
    ///
    /// A session comes first: only there a server may ask for secrets. A server that has none is asked again in
    /// the newest way.
    pub(crate) async fn connect(self) -> Outcome<Client> {
        let connect = async {
            match self.dial(Protocol::V2025_11_25).connect().await {
                Err(ClientError::Protocol { .. }) => self.dial(Protocol::Newest).connect().await,
                connected => connected,
            }
        };
        let connected = tokio::time::timeout(PATIENCE, connect).await.unwrap_or_else(|_| {
            Err(ClientError::Connection(format!("not a word in {} seconds", PATIENCE.as_secs())))
        });
        connected.map_err(|error| match self.other() {
            Some(server) => unreachable(server, &error),
            None => failed(&error),
        })
    }
}

fn unreachable(server: &str, error: &ClientError) -> Failure {
    let why = match error {
        ClientError::Unauthorized => "it asks for a token".to_owned(),
        ClientError::Connection(reason) => tame(reason.split(" (os error").next().unwrap_or_default()),
        other => tame(other.to_string().trim_end_matches('.')),
    };
    let hint = if matches!(error, ClientError::Unauthorized) {
        "Give it with `--server-token`, or better in DIPTYCH_SERVER_TOKEN."
    } else if why.contains("certificate") {
        "On Linux, SSL_CERT_FILE names the file of the authorities to trust; elsewhere the system keeps them."
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

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}
