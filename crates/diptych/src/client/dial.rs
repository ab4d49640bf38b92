//! Whom to call, and as what kind of client.

#![allow(deprecated, reason = "sampling and roots are deprecated in MCP, but servers still use them")]

use std::ffi::OsString;
use std::process::Stdio;
use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitationCapability, FormElicitationCapability, Implementation,
    ProtocolVersion, RootsCapabilities, SamplingCapability, UrlElicitationCapability,
};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Map, Value};

use super::answers::{Answers, Response, Script};
use super::side::ClientSide;
use super::{Client, ClientError, Reply, object, web};
use crate::protocol::connection::SECRETS;
use crate::server::Server;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub enum Protocol {
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    /// The newest that the server speaks.
    Newest,
}

impl Protocol {
    /// The versions that servers are tested with.
    pub const TESTED: [Protocol; 3] = [Protocol::V2025_06_18, Protocol::V2025_11_25, Protocol::V2026_07_28];

    fn lifecycle(self) -> ClientLifecycleMode {
        let newest = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Protocol::V2025_06_18 | Protocol::V2025_11_25 => ClientLifecycleMode::Initialize,
            Protocol::V2026_07_28 => ClientLifecycleMode::Discover { preferred_versions: newest },
            Protocol::Newest => ClientLifecycleMode::Auto {
                preferred_versions: newest,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
        }
    }

    fn handshake(self) -> ProtocolVersion {
        match self {
            Protocol::V2025_06_18 => ProtocolVersion::V_2025_06_18,
            _ => ProtocolVersion::V_2025_11_25,
        }
    }
}

enum Target {
    Server(Server),
    Command(OsString, Vec<OsString>, Vec<(OsString, OsString)>),
    Url(String),
}

/// Whom to call, and as what kind of client. Without further words: a client of 2025-11-25 that cannot be asked.
///
/// ```
/// # use diptych::{Cx, NoArguments, Server, Stop, Text, Toolset, tool};
/// use diptych::client::Client;
/// # async fn hello(_cx: Cx, _: NoArguments) -> Result<Text, Stop> { Ok(Text::new("Hello!")) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let tools = Toolset::new("greetings", ()).with(tool("hello", hello).description("Says hello."));
/// # let server = Server::builder("greeter", "1.0.0").toolset(tools).build()?;
/// let reply = Client::in_process(&server).call("hello", serde_json::json!({})).await?;
/// assert_eq!(reply.text(), "Hello!");
/// # Ok(()) }
/// ```
pub struct Dial {
    target: Target,
    protocol: Protocol,
    name: String,
    capabilities: ClientCapabilities,
    script: Arc<Script>,
    answers: Option<Arc<dyn Answers>>,
    sample: Option<String>,
    roots: Vec<String>,
    token: Option<String>,
    quiet: bool,
}

impl Client {
    /// Calls a server in this process.
    pub fn in_process(server: &Server) -> Dial {
        Dial::new(Target::Server(server.clone()))
    }

    /// Starts a command and calls the server that it is, over its standard input and output.
    pub fn command<A: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Dial {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Dial::new(Target::Command(program.into(), arguments, Vec::new()))
    }

    /// Calls a server over Streamable HTTP.
    pub fn url(url: impl Into<String>) -> Dial {
        Dial::new(Target::Url(url.into()))
    }
}

impl Dial {
    fn new(target: Target) -> Self {
        Dial {
            target,
            protocol: Protocol::V2025_11_25,
            name: "diptych-client".to_owned(),
            capabilities: ClientCapabilities::default(),
            script: Arc::default(),
            answers: None,
            sample: None,
            roots: Vec::new(),
            token: None,
            quiet: false,
        }
    }

    /// Sets a variable in the environment of the command. Anything else has no environment of its own.
    #[must_use]
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        if let Target::Command(_, _, environment) = &mut self.target {
            environment.push((name.into(), value.into()));
        }
        self
    }

    /// The protocol version to speak.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// The name to give oneself.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// A bearer token for a URL.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Keeps a command's standard error to itself.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Can show forms, but is not told what to answer: asks fail unless answers follow.
    #[must_use]
    pub fn elicits(mut self) -> Self {
        self.modes().form.get_or_insert_with(FormElicitationCapability::default);
        self
    }

    /// Can open pages.
    #[must_use]
    pub fn opens_pages(mut self) -> Self {
        self.modes().url.get_or_insert_with(UrlElicitationCapability::default);
        self
    }

    fn modes(&mut self) -> &mut ElicitationCapability {
        self.capabilities.elicitation.get_or_insert_default()
    }

    /// Answers the next ask with these values.
    #[must_use]
    pub fn accepts(self, content: Value) -> Self {
        self.responds(Response::Accept(object(content)))
    }

    /// Declines the next ask.
    #[must_use]
    pub fn declines(self) -> Self {
        self.responds(Response::Decline)
    }

    /// Cancels the next ask.
    #[must_use]
    pub fn cancels(self) -> Self {
        self.responds(Response::Cancel)
    }

    /// Fails at the next ask.
    #[must_use]
    pub fn fails(self) -> Self {
        self.responds(Response::Fail)
    }

    fn responds(self, response: Response) -> Self {
        self.script.push(response);
        self.elicits()
    }

    /// The script, to see afterwards what was asked.
    pub fn script(&self) -> Arc<Script> {
        Arc::clone(&self.script)
    }

    /// Lets someone else answer, forms and pages, and secrets without showing them.
    #[must_use]
    pub fn answered_by(mut self, answers: impl Answers) -> Self {
        self.answers = Some(Arc::new(answers));
        self.capabilities.experimental.get_or_insert_default().insert(SECRETS.to_owned(), Map::new());
        self.elicits().opens_pages()
    }

    /// Has a model that always says this.
    #[must_use]
    pub fn samples(mut self, text: impl Into<String>) -> Self {
        self.sample = Some(text.into());
        self.capabilities.sampling = Some(SamplingCapability::default());
        self
    }

    /// Works in this folder.
    #[must_use]
    pub fn root(mut self, uri: impl Into<String>) -> Self {
        self.roots.push(uri.into());
        self.capabilities.roots = Some(RootsCapabilities::default());
        self
    }

    /// Connects.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub async fn connect(self) -> Result<Client, ClientError> {
        let config =
            ClientConfig::new(self.capabilities, Implementation::new(self.name, env!("CARGO_PKG_VERSION")))
                .with_protocol_version(self.protocol.handshake());
        let answers: Arc<dyn Answers> = match self.answers {
            Some(answers) => answers,
            None => self.script,
        };
        let side = ClientSide::new(config, answers, self.sample, self.roots);
        let lifecycle = self.protocol.lifecycle();
        let (running, serving) = match self.target {
            Target::Server(server) => {
                let (ours, theirs) = tokio::io::duplex(256 * 1024);
                let (reader, writer) = tokio::io::split(theirs);
                let serving = tokio::spawn(async move {
                    if let Err(error) = server.serve_stream(reader, writer).await {
                        tracing::debug!(%error, "the connection within the process ended");
                    }
                });
                (serve_client_with_lifecycle(side, tokio::io::split(ours), lifecycle).await, Some(serving))
            }
            Target::Command(program, arguments, environment) => {
                let mut command = tokio::process::Command::new(&program);
                command.args(arguments).envs(environment);
                let stderr = if self.quiet { Stdio::null() } else { Stdio::inherit() };
                let (process, _) =
                    TokioChildProcess::builder(command).stderr(stderr).spawn().map_err(|error| {
                        ClientError::Connection(format!(
                            "{} cannot be started: {error}",
                            program.to_string_lossy()
                        ))
                    })?;
                (serve_client_with_lifecycle(side, process, lifecycle).await, None)
            }
            Target::Url(url) => {
                let client = web::client(&url)?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(url);
                config.auth_header = self.token;
                let transport = StreamableHttpClientTransport::with_client(client, config);
                (serve_client_with_lifecycle(side, transport, lifecycle).await, None)
            }
        };
        Ok(Client { running: running.map_err(refused)?, serving })
    }

    /// Connects, calls one tool and hangs up.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn call(self, tool: &str, arguments: Value) -> Result<Reply, ClientError> {
        let client = self.connect().await?;
        let reply = client.call(tool, arguments).await;
        client.close().await;
        reply
    }
}

impl std::fmt::Debug for Dial {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Dial")
            .field("protocol", &self.protocol)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn refused(error: ClientInitializeError) -> ClientError {
    match error {
        ClientInitializeError::JsonRpcError(error) => ClientError::Protocol {
            code: error.code.0,
            message: error.message.into_owned(),
            data: error.data,
        },
        ClientInitializeError::ConnectionClosed(_) => {
            ClientError::Connection("it ended before it said hello".to_owned())
        }
        ClientInitializeError::TransportError { error, .. } => {
            // The types of the transport are not ours to match; what they say has to do.
            let said = error.to_string();
            if said.contains("Auth required") || said.contains("HTTP 401") {
                return ClientError::Unauthorized;
            }
            // rmcp does not hand on what lies deeper, but shows it.
            if format!("{:?}", error.error).contains("InvalidCertificate") {
                let problem = "its certificate is not one that this machine trusts";
                return ClientError::Connection(problem.to_owned());
            }
            if said.contains("error sending request") {
                return ClientError::Connection("nothing can be reached at that address".to_owned());
            }
            let mut cause: &dyn std::error::Error = error.error.as_ref();
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            ClientError::Connection(cause.to_string().trim_end_matches('.').to_owned())
        }
        other => {
            tracing::debug!(error = %other, "the handshake failed");
            ClientError::Connection("it does not speak MCP, or not here".to_owned())
        }
    }
}
