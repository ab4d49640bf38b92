//! One client for tests, for `diptych call` and for calling other people's servers.
//!
//! It speaks to a server in this process, to a command or to a URL, as a client of any protocol version
//! with any capabilities, and answers asks as it was told to.

mod answers;
mod dial;
mod side;
mod web;

use rmcp::RoleClient;
use rmcp::model::{
    ArgumentInfo, CallToolRequestParams, CompleteRequestParams, CompletionContext, GetPromptRequestParams,
    ReadResourceRequestParams, Reference, SubscribeRequestParams,
};
use rmcp::service::{RunningService, ServiceError};
use serde_json::{Map, Value};

pub use answers::{Answers, Question, Response, Script};
pub use dial::{Dial, Protocol};
use side::ClientSide;
pub use side::Notice;

/// A connected client.
pub struct Client {
    running: RunningService<RoleClient, ClientSide>,
    /// The server's own task, when it runs in this process.
    serving: Option<tokio::task::JoinHandle<()>>,
}

/// What went wrong between the client and the server. Failed tools are not errors: see [`Reply::is_error`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server could not be reached, or hung up.
    #[error("The server could not be reached: {0}.")]
    Connection(String),
    /// The server wants to know who calls.
    #[error("The server asks for a token that it knows.")]
    Unauthorized,
    /// The server answered with a protocol error.
    #[error("{message} (protocol error {code})")]
    Protocol {
        /// The JSON-RPC code.
        code: i32,
        /// What the server says.
        message: String,
        /// What else it says.
        data: Option<Value>,
    },
}

impl From<ServiceError> for ClientError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => ClientError::Protocol {
                code: error.code.0,
                message: error.message.into_owned(),
                data: error.data,
            },
            // The rest is said in our words: rmcp's name its types.
            other => {
                tracing::debug!(error = %other, "a request failed");
                ClientError::Connection(broken(&other).to_owned())
            }
        }
    }
}

fn broken(error: &ServiceError) -> &'static str {
    match error {
        ServiceError::TransportClosed => "it closed the connection",
        ServiceError::TransportSend(_) => "the message could not be sent",
        ServiceError::UnexpectedResponse => "it answered something else than what was asked",
        ServiceError::Cancelled { .. } => "the request was cancelled",
        ServiceError::Timeout { .. } => "it took too long to answer",
        ServiceError::InputRequiredRoundsExceeded { .. } => "it asked more often than is sensible",
        _ => "the connection failed",
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The content blocks, as they came.
    pub content: Vec<Value>,
    /// The structured panel, if it came.
    pub structured: Option<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
}

impl Reply {
    /// The text of all text blocks but the JSON panel's.
    pub fn text(&self) -> String {
        let texts =
            self.content.iter().filter(|block| !is_json(block)).filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// The JSON panel: the last block where there is one, else the structured panel.
    pub fn json(&self) -> Option<Value> {
        let block = self.content.last().filter(|block| is_json(block));
        let parsed = block.and_then(|block| serde_json::from_str(block["text"].as_str()?).ok());
        parsed.or_else(|| self.structured.clone())
    }

    /// The kind of the answer.
    pub fn kind(&self) -> Option<String> {
        self.json()?.get("kind")?.as_str().map(str::to_owned)
    }
}

fn is_json(block: &Value) -> bool {
    block["_meta"]["mimeType"] == "application/json"
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl Client {
    /// Calls a tool. Asks are answered on the way, as the [`Dial`] was told.
    ///
    /// # Errors
    /// When the server cannot be reached, or answers with a protocol error.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Reply, ClientError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(object(arguments));
        let result = self.running.call_tool(params).await?;
        let content = result.content.iter().map(serde_json::to_value).collect::<Result<_, _>>();
        Ok(Reply {
            content: content.map_err(|error| ClientError::Connection(error.to_string()))?,
            structured: result.structured_content,
            is_error: result.is_error == Some(true),
        })
    }

    /// The definitions of all tools, as they came.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn tools(&self) -> Result<Vec<Value>, ClientError> {
        values(self.running.peer().list_all_tools().await?)
    }

    /// The definitions of all prompts.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn prompts(&self) -> Result<Vec<Value>, ClientError> {
        values(self.running.peer().list_all_prompts().await?)
    }

    /// The definitions of all resources, then of all templates.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn resources(&self) -> Result<Vec<Value>, ClientError> {
        let mut all = values(self.running.peer().list_all_resources().await?)?;
        all.extend(values(self.running.peer().list_all_resource_templates().await?)?);
        Ok(all)
    }

    /// Gets a prompt: its result as it came.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, ClientError> {
        let params = GetPromptRequestParams::new(name).with_arguments(object(arguments));
        value(self.running.get_prompt(params).await?)
    }

    /// Reads a resource: its result as it came.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn read(&self, uri: &str) -> Result<Value, ClientError> {
        value(self.running.read_resource(ReadResourceRequestParams::new(uri)).await?)
    }

    /// Completes an argument of a prompt.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn complete_prompt(
        &self,
        prompt: &str,
        argument: &str,
        typed: &str,
    ) -> Result<Value, ClientError> {
        self.complete(Reference::for_prompt(prompt), argument, typed, &[]).await
    }

    /// Completes a variable of a resource template, given the other variables.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub async fn complete_resource(
        &self,
        template: &str,
        variable: &str,
        typed: &str,
        others: &[(&str, &str)],
    ) -> Result<Value, ClientError> {
        self.complete(Reference::for_resource(template), variable, typed, others).await
    }

    async fn complete(
        &self,
        subject: Reference,
        argument: &str,
        typed: &str,
        others: &[(&str, &str)],
    ) -> Result<Value, ClientError> {
        let others = others.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let params = CompleteRequestParams::new(subject, ArgumentInfo::new(argument, typed))
            .with_context(CompletionContext::with_arguments(others));
        let result = self.running.peer().complete(params).await?;
        value(result.completion)
    }

    /// Subscribes to a resource, in a session (before 2026-07-28).
    ///
    /// # Errors
    /// As for [`Client::call`].
    #[allow(deprecated, reason = "how sessions subscribe")]
    pub async fn subscribe(&self, uri: &str) -> Result<(), ClientError> {
        Ok(self.running.peer().subscribe(SubscribeRequestParams::new(uri)).await?)
    }

    /// What the server says about itself: its name, version, capabilities and instructions.
    pub fn server(&self) -> Option<Value> {
        self.running.peer().peer_info().and_then(|info| serde_json::to_value(info.as_ref()).ok())
    }

    /// The next notification of the server, or `None` when it has hung up.
    pub async fn notice(&self) -> Option<Notice> {
        self.running.service().notice().await
    }

    /// Hangs up, and waits until the server has noticed.
    pub async fn close(self) {
        let _ = self.running.cancel().await;
        if let Some(serving) = self.serving {
            let _ = serving.await;
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}

fn value(result: impl serde::Serialize) -> Result<Value, ClientError> {
    serde_json::to_value(result).map_err(|error| ClientError::Connection(error.to_string()))
}

fn values(list: Vec<impl serde::Serialize>) -> Result<Vec<Value>, ClientError> {
    list.into_iter().map(value).collect()
}
