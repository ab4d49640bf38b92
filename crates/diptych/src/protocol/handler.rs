//! rmcp's handler over a [`Server`]: each request becomes a walk, each outcome a result or an error.

#![allow(
    deprecated,
    reason = "logging and resource subscriptions are deprecated in MCP, but clients still use them"
)]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    InputResponses, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use super::connection::Connection;
use super::convert;
use super::peer::ClientWire;
use crate::complete;
use crate::schema::JsonObject;
use crate::server::{Change, Server};
use crate::walk::{self, Completed, Outcome, Request};
use crate::wire::Lifecycle;

/// One connection to a server. Cheap to make: HTTP makes one for every stateless request.
pub(crate) struct Handler {
    server: Server,
    connection: Arc<Connection>,
    /// Whether the transport takes results that are already serialised.
    splices: bool,
}

impl Handler {
    pub(crate) fn new(server: Server, connection: Arc<Connection>, splices: bool) -> Self {
        Handler { server, connection, splices }
    }

    fn request(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: Option<JsonObject>,
        responses: Option<InputResponses>,
        state: Option<String>,
    ) -> Request {
        let caller = self.connection.caller(context);
        Request {
            arguments: arguments.unwrap_or_default(),
            accept: context.meta.get("accept").cloned(),
            responses: responses.unwrap_or_default().into_iter().collect(),
            state,
            session: self.connection.session_of(&caller),
            wire: Arc::new(ClientWire::new(
                context.peer.clone(),
                &context.meta,
                &self.connection,
                caller.lifecycle,
            )),
            caller,
            cancelled: context.ct.clone(),
        }
    }

    /// What 2026-07-28 removed does not exist there. rmcp sees to it over HTTP, but not on other transports.
    fn only_in_a_session(&self, context: &RequestContext<RoleServer>, method: &str) -> Result<(), ErrorData> {
        match self.connection.caller(context).lifecycle() {
            Lifecycle::Session => Ok(()),
            Lifecycle::Stateless => Err(unknown_method(method)),
        }
    }

    /// Sends this client what changes, from now until it is gone.
    fn forward(&self, context: &NotificationContext<RoleServer>) {
        if self.connection.forwarding.swap(true, Ordering::Relaxed) {
            return;
        }
        let (peer, connection) = (context.peer.clone(), Arc::downgrade(&self.connection));
        let gone = self.connection.gone.clone();
        let mut changes = self.server.changes();
        tokio::spawn(async move {
            loop {
                let heard = tokio::select! {
                    heard = changes.next() => heard,
                    () = gone.cancelled() => return,
                };
                let (Some(heard), Some(connection)) = (heard, connection.upgrade()) else { return };
                for change in heard {
                    let sent = match change {
                        Change::Tools => peer.notify_tool_list_changed().await,
                        Change::Prompts => peer.notify_prompt_list_changed().await,
                        Change::Resources => peer.notify_resource_list_changed().await,
                        Change::Resource(uri) if connection.is_subscribed(&uri) => {
                            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
                        }
                        Change::Resource(_) => Ok(()),
                    };
                    if sent.is_err() && peer.is_transport_closed() {
                        return;
                    }
                }
            }
        });
    }
}

fn unknown_method(method: &str) -> ErrorData {
    let method: String = method.chars().filter(|c| !c.is_control()).take(80).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("Unknown method: {method}"), None)
}

/// A page of a list: from the entry after the one that the cursor names.
fn page<T>(
    entries: &[T],
    name: impl Fn(&T) -> &str,
    request: Option<PaginatedRequestParams>,
    size: usize,
) -> Result<(&[T], Option<String>), ErrorData> {
    let start = match request.and_then(|request| request.cursor) {
        None => 0,
        Some(cursor) => {
            let last = URL_SAFE_NO_PAD.decode(&cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let position = last.and_then(|last| entries.iter().position(|entry| name(entry) == last));
            position.ok_or_else(|| {
                ErrorData::invalid_params(
                    "The cursor is not one of this list. Start again without a cursor.",
                    None,
                )
            })? + 1
        }
    };
    let end = entries.len().min(start + size);
    let page = &entries[start..end];
    let next =
        (end < entries.len()).then(|| page.last().map(|entry| URL_SAFE_NO_PAD.encode(name(entry)))).flatten();
    Ok((page, next))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let settings = self.server.settings();
        let mut implementation = Implementation::new(settings.name.clone(), settings.version.clone());
        implementation.title.clone_from(&settings.title);
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let mut config = ServerConfig::new(capabilities).with_server_info(implementation);
        config.instructions.clone_from(&settings.instructions);
        config
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let request = self.request(&context, params.arguments, params.input_responses, params.request_state);
        match walk::call_tool(&self.server, &params.name, request).await {
            Outcome::Done(rendered) if self.splices => {
                Ok(CallToolResponse::Complete(convert::splice(&rendered)))
            }
            Outcome::Done(rendered) => Ok(CallToolResponse::Complete(convert::result(rendered))),
            Outcome::InputRequired { ask, state } => {
                convert::input_required(&ask, state).map(CallToolResponse::InputRequired)
            }
            Outcome::Fault(fault) => Err(convert::error(fault)),
        }
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let settings = self.server.settings();
        let caller = self.connection.caller(&context);
        let with_output = settings.structured.for_client(caller.name()).is_sent();
        let registry = self.server.registry();
        let mut tools = Vec::with_capacity(registry.tools.len());
        for entry in &registry.tools {
            tools.push(convert::tool(&entry.definition, with_output));
            let aliases = entry.rules.aliases.iter();
            tools.extend(aliases.map(|alias| convert::alias(&entry.definition, alias, with_output)));
        }
        let (page, next) = page(&tools, |tool| &tool.name, params, settings.page_size)?;
        Ok(ListToolsResult { tools: page.to_vec(), next_cursor: next, ..ListToolsResult::default() })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let registry = self.server.registry();
        registry.tool(name).map(|(tool, _)| convert::tool(&tool.definition, false))
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let registry = self.server.registry();
        let size = self.server.settings().page_size;
        let (page, next) = page(&registry.prompts, |prompt| &prompt.definition.name, params, size)?;
        let prompts = page.iter().map(|prompt| convert::prompt(&prompt.definition)).collect();
        Ok(ListPromptsResult { prompts, next_cursor: next, ..ListPromptsResult::default() })
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let request = self.request(&context, params.arguments, params.input_responses, params.request_state);
        match walk::get_prompt(&self.server, &params.name, request).await {
            Outcome::Done((messages, description)) => {
                Ok(GetPromptResponse::Complete(convert::messages(messages, description)))
            }
            Outcome::InputRequired { ask, state } => {
                convert::input_required(&ask, state).map(GetPromptResponse::InputRequired)
            }
            Outcome::Fault(fault) => Err(convert::error(fault)),
        }
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let registry = self.server.registry();
        let fixed: Vec<_> = registry.resources.iter().filter(|one| one.template.is_none()).collect();
        let (page, next) = page(&fixed, |one| &one.definition.uri, params, self.server.settings().page_size)?;
        let resources = page.iter().map(|one| convert::resource(&one.definition)).collect();
        Ok(ListResourcesResult { resources, next_cursor: next, ..ListResourcesResult::default() })
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let registry = self.server.registry();
        let templates: Vec<_> = registry.resources.iter().filter(|one| one.template.is_some()).collect();
        let (page, next) =
            page(&templates, |one| &one.definition.uri, params, self.server.settings().page_size)?;
        let resource_templates = page.iter().map(|one| convert::template(&one.definition)).collect();
        Ok(ListResourceTemplatesResult { resource_templates, next_cursor: next, ..Default::default() })
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let request = self.request(&context, None, params.input_responses, params.request_state);
        match walk::read_resource(&self.server, &params.uri, request).await {
            Outcome::Done(contents) => {
                Ok(ReadResourceResponse::Complete(ReadResourceResult::new(convert::contents(&contents))))
            }
            Outcome::InputRequired { ask, state } => {
                convert::input_required(&ask, state).map(ReadResourceResponse::InputRequired)
            }
            Outcome::Fault(fault) => Err(convert::error(fault)),
        }
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let others: Map<String, Value> = params
            .context
            .and_then(|context| context.arguments)
            .into_iter()
            .flatten()
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        let partial = json!({"value": params.argument.value, "others": others});
        let subject = match &params.r#ref {
            Reference::Prompt(prompt) => Completed::Prompt(&prompt.name),
            Reference::Resource(resource) => Completed::Resource(&resource.uri),
            _ => return Err(ErrorData::invalid_params("Only prompts and resources can be completed.", None)),
        };
        let registry = self.server.registry();
        let request = self.request(&context, None, None, None);
        match walk::complete(&self.server, &registry, subject, &params.argument.name, partial, request).await
        {
            Outcome::Done(mut values) => {
                let total = values.len();
                values.truncate(complete::MOST);
                let mut info = CompletionInfo::default();
                info.values = values;
                info.total = u32::try_from(total).ok();
                info.has_more = Some(total > complete::MOST);
                Ok(CompleteResult::new(info))
            }
            Outcome::InputRequired { .. } => Err(ErrorData::internal_error("A completion cannot ask.", None)),
            Outcome::Fault(fault) => Err(convert::error(fault)),
        }
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.only_in_a_session(&context, "ping")
    }

    async fn set_level(
        &self,
        params: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.only_in_a_session(&context, "logging/setLevel")?;
        self.connection.set_log_level(convert::level_in(params.level));
        Ok(())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.only_in_a_session(&context, "resources/subscribe")?;
        let registry = self.server.registry();
        if registry.resource(&params.uri).is_none() {
            let message = walk::route::unknown("resource", &params.uri, registry.resource_uris());
            return Err(ErrorData::resource_not_found(message, Some(json!({"uri": params.uri}))));
        }
        let subscription = self.server.subscribe(&params.uri);
        self.connection.subscribe(params.uri, subscription);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.only_in_a_session(&context, "resources/unsubscribe")?;
        self.connection.unsubscribe(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.server.changes();
        let (sink, accepted) = (context.sink(), context.accepted());
        let uris = accepted.resource_subscriptions.iter().flatten();
        let _subscriptions: Vec<_> = uris.map(|uri| self.server.subscribe(uri)).collect();
        loop {
            let heard = tokio::select! {
                heard = changes.next() => heard,
                () = context.cancelled() => return Ok(()),
                () = self.server.stopping().cancelled() => return Ok(()),
            };
            let Some(heard) = heard else { return Ok(()) };
            for change in heard {
                let sent = match change {
                    Change::Tools if accepted.tools_list_changed == Some(true) => {
                        sink.notify_tool_list_changed().await
                    }
                    Change::Prompts if accepted.prompts_list_changed == Some(true) => {
                        sink.notify_prompt_list_changed().await
                    }
                    Change::Resources if accepted.resources_list_changed == Some(true) => {
                        sink.notify_resource_list_changed().await
                    }
                    Change::Resource(uri)
                        if accepted
                            .resource_subscriptions
                            .as_ref()
                            .is_some_and(|uris| uris.contains(&uri)) =>
                    {
                        sink.notify_resource_updated(uri).await
                    }
                    _ => Ok(()),
                };
                if sent.is_err() {
                    return Ok(());
                }
            }
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.connection.learn(&context.peer, &context.extensions);
        self.forward(&context);
    }

    /// What rmcp could not read as one of MCP's requests. A known method with params of the wrong shape is
    /// the caller's fault, not an unknown method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let removed @ ("initialize"
        | "ping"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe") = request.method.as_str()
        {
            self.only_in_a_session(&context, removed)?;
        }
        let problem = match request.method.as_str() {
            "tools/call" => "`params` must have a `name` and, if any, `arguments` that are an object.",
            "prompts/get" => "`params` must have a `name` and, if any, `arguments` that are an object.",
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                "`params` must have a `uri`."
            }
            "completion/complete" => "`params` must have a `ref` and an `argument`.",
            "logging/setLevel" => "`params` must have a `level` that MCP knows.",
            "initialize"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "subscriptions/listen" => "`params` does not have the shape that this method takes.",
            method => return Err(unknown_method(method)),
        };
        Err(ErrorData::invalid_params(problem, None))
    }
}
