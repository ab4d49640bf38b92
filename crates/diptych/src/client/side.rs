//! The client's side of the protocol: answering the server, and hearing what it announces.

#![allow(
    deprecated,
    reason = "sampling, roots and logging are deprecated in MCP, but servers still use them"
)]

use std::sync::Arc;

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ResourceUpdatedNotificationParam, Role, Root, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use super::answers::{Answers, Question, Response};
use crate::protocol::connection::SECRETS;

/// Something the server announced.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// How far a call is.
    Progress {
        /// What is done.
        done: f64,
        /// Of how much, if that is known.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// A log message.
    Log(Value),
    /// The list of tools has changed.
    ToolsChanged,
    /// The list of prompts has changed.
    PromptsChanged,
    /// The list of resources has changed.
    ResourcesChanged,
    /// A resource that was subscribed to has new contents.
    ResourceUpdated(String),
}

pub(crate) struct ClientSide {
    config: ClientConfig,
    answers: Arc<dyn Answers>,
    sample: Option<String>,
    roots: Vec<String>,
    notices: mpsc::UnboundedSender<Notice>,
    heard: Mutex<mpsc::UnboundedReceiver<Notice>>,
}

impl ClientSide {
    pub(crate) fn new(
        config: ClientConfig,
        answers: Arc<dyn Answers>,
        sample: Option<String>,
        roots: Vec<String>,
    ) -> Self {
        let (notices, heard) = mpsc::unbounded_channel();
        ClientSide { config, answers, sample, roots, notices, heard: Mutex::new(heard) }
    }

    pub(crate) async fn notice(&self) -> Option<Notice> {
        self.heard.lock().await.recv().await
    }

    fn hear(&self, notice: Notice) {
        // The receiver lives as long as this side does.
        let _ = self.notices.send(notice);
    }
}

impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let question = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let secrets = context.meta.get(SECRETS).and_then(Value::as_array);
                Question::Form {
                    message,
                    schema: serde_json::to_value(requested_schema).unwrap_or_default(),
                    secrets: secrets
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect(),
                }
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => Question::Page { message, url },
            _ => return Ok(ElicitResult::new(ElicitationAction::Cancel)),
        };
        match self.answers.answer(question).await {
            Response::Accept(content) => {
                Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)))
            }
            Response::Decline => Ok(ElicitResult::new(ElicitationAction::Decline)),
            Response::Cancel => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            Response::Fail => Err(ErrorData::internal_error("The dialog could not be shown.", None)),
        }
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        match &self.sample {
            Some(text) => {
                let message = SamplingMessage::new(
                    Role::Assistant,
                    rmcp::model::SamplingMessageContentBlock::text(text.clone()),
                );
                Ok(CreateMessageResult::new(message, "scripted".to_owned()))
            }
            None => Err(ErrorData::internal_error("There is no model to ask.", None)),
        }
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.iter().cloned().map(Root::new).collect()))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.hear(Notice::Progress { done: params.progress, total: params.total, message: params.message });
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.hear(Notice::Log(params.data));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.hear(Notice::ResourceUpdated(params.uri));
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.hear(Notice::ResourcesChanged);
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.hear(Notice::ToolsChanged);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.hear(Notice::PromptsChanged);
    }
}
