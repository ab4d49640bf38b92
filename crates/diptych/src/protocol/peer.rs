//! The walk's [`Wire`], over an rmcp peer or any other way to a client.

#![allow(
    deprecated,
    reason = "sampling, roots and logging are deprecated in MCP, but clients still have them"
)]

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientResult, CreateMessageRequest,
    CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema,
    ListRootsRequest, LoggingMessageNotification, LoggingMessageNotificationParam, ProgressNotification,
    ProgressNotificationParam, ProgressToken, RequestId, RequestMetaObject, SamplingMessage,
    ServerNotification, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions};
use serde_json::{Map, Value};

use super::connection::Connection;
use super::convert;
use crate::sample::Sample;
use crate::wire::{Dialog, Fault, Level, Lifecycle, Reaction, Wire};

/// A way to one client, while its request runs.
pub(crate) trait Link: Clone + Send + Sync + 'static {
    fn notify(&self, notification: ServerNotification) -> impl Future<Output = ()> + Send;
    fn request(&self, request: ServerRequest) -> impl Future<Output = Result<ClientResult, Fault>> + Send;
}

/// The client of one request.
pub(crate) struct ClientWire<L> {
    link: L,
    progress_token: Option<ProgressToken>,
    connection: Arc<Connection>,
    lifecycle: Lifecycle,
    /// The level that a stateless request asked for; without one it gets no messages.
    stated_level: Option<Level>,
}

impl<L: Link> ClientWire<L> {
    pub(crate) fn new(
        link: L,
        meta: &RequestMetaObject,
        connection: &Arc<Connection>,
        lifecycle: Lifecycle,
    ) -> Self {
        ClientWire {
            link,
            progress_token: meta.get_progress_token(),
            connection: Arc::clone(connection),
            lifecycle,
            stated_level: meta.log_level().map(convert::level_in),
        }
    }
}

impl<L: Link> Wire for ClientWire<L> {
    fn wants_progress(&self) -> bool {
        self.progress_token.is_some()
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<String>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(token) = self.progress_token.clone() else { return };
            let mut progress = ProgressNotificationParam::new(token, done);
            progress.total = total;
            progress.message = message;
            let progress = ProgressNotification::new(progress);
            self.link.notify(ServerNotification::ProgressNotification(progress)).await;
        })
    }

    fn log(&self, level: Level, logger: String, data: Value) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let wanted = match self.lifecycle {
                Lifecycle::Session => self.connection.wants_log(level),
                Lifecycle::Stateless => self.stated_level.is_some_and(|wanted| level >= wanted),
            };
            if wanted {
                let message =
                    LoggingMessageNotificationParam::new(convert::level_out(level), data).with_logger(logger);
                let message = LoggingMessageNotification::new(message);
                self.link.notify(ServerNotification::LoggingMessageNotification(message)).await;
            }
        })
    }

    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, Result<Reaction, Fault>> {
        Box::pin(async move {
            let params = elicitation(dialog).ok_or(Fault)?;
            let result = self.link.request(ServerRequest::ElicitRequest(ElicitRequest::new(params))).await?;
            let ClientResult::ElicitResult(result) = result else { return Err(Fault) };
            Ok(match result.action {
                ElicitationAction::Accept => Reaction::Accepted(match result.content {
                    Some(Value::Object(content)) => content,
                    _ => Map::new(),
                }),
                ElicitationAction::Decline => Reaction::Declined,
                // Whatever else a later protocol may bring, it is not consent.
                _ => Reaction::Cancelled,
            })
        })
    }

    fn sample(&self, sample: Sample) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async move {
            let request = CreateMessageRequest::new(sampling(sample));
            match self.link.request(ServerRequest::CreateMessageRequest(request)).await? {
                ClientResult::CreateMessageResult(result) => serde_json::to_value(result).map_err(|_| Fault),
                _ => Err(Fault),
            }
        })
    }

    fn roots(&self) -> BoxFuture<'_, Result<Value, Fault>> {
        Box::pin(async move {
            match self.link.request(ServerRequest::ListRootsRequest(ListRootsRequest::default())).await? {
                ClientResult::ListRootsResult(result) => serde_json::to_value(result).map_err(|_| Fault),
                _ => Err(Fault),
            }
        })
    }
}

impl Link for Peer<RoleServer> {
    async fn notify(&self, notification: ServerNotification) {
        // A client that is gone needs no notice.
        let _ = self.send_notification(notification).await;
    }

    /// Sends a request that is withdrawn when nobody waits for its answer any more.
    async fn request(&self, request: ServerRequest) -> Result<ClientResult, Fault> {
        let handle = self
            .send_request_with_option(request, PeerRequestOptions::no_options())
            .await
            .map_err(|_| Fault)?;
        let withdrawal = Withdrawal::of(self, handle.id.clone());
        let result = handle.await_response().await;
        withdrawal.not_needed();
        result.map_err(|_| Fault)
    }
}

/// Tells the client to close a dialog when the call that opened it is gone before the answer came.
pub(super) struct Withdrawal<L: Link> {
    link: L,
    request: Option<RequestId>,
}

impl<L: Link> Withdrawal<L> {
    pub(super) fn of(link: &L, request: RequestId) -> Self {
        Withdrawal { link: link.clone(), request: Some(request) }
    }

    pub(super) fn not_needed(mut self) {
        self.request = None;
    }
}

impl<L: Link> Drop for Withdrawal<L> {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let reason = Some("the call was cancelled".to_owned());
        let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(request), reason));
        let link = self.link.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                link.notify(ServerNotification::CancelledNotification(cancelled)).await;
            });
        }
    }
}

/// A dialog as rmcp sends it, to a session or inside `input_required`.
pub(crate) fn elicitation(dialog: Dialog) -> Option<ElicitRequestParams> {
    Some(match dialog {
        Dialog::Form { message, schema, secrets } => ElicitRequestParams::FormElicitationParams {
            meta: (!secrets.is_empty()).then(|| {
                let mut meta = rmcp::model::RequestMetaObject::new();
                meta.0.0.insert(super::connection::SECRETS.to_owned(), Value::from(secrets));
                meta
            }),
            message,
            requested_schema: ElicitationSchema::from_json_schema(schema).ok()?,
        },
        Dialog::Page { message, url, flow } => {
            ElicitRequestParams::UrlElicitationParams { meta: None, message, url, elicitation_id: flow }
        }
    })
}

/// A sample as rmcp sends it.
pub(crate) fn sampling(sample: Sample) -> CreateMessageRequestParams {
    let params =
        CreateMessageRequestParams::new(vec![SamplingMessage::user_text(sample.prompt)], sample.max_tokens);
    match sample.system {
        Some(system) => params.with_system_prompt(system),
        None => params,
    }
}
