//! The straight way of a `tools/call`: from its message through the walk to the message that answers it.
//!
//! rmcp's service loop costs several tasks, channels and copies a request. For the one request that servers
//! spend their time on, a transport that knows its client goes past the loop: it reads the call, walks and
//! writes what was rendered. Whatever is not plainly a good call is left to rmcp, which knows every way in
//! which a request can be wrong. Requests to the client have ids that rmcp does not use, so that each answer
//! finds its way back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientResult, JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerRequest, ServerResult,
};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::convert;
use super::envelope::Called;
use super::peer::{ClientWire, Link, Withdrawal};
use crate::server::Server;
use crate::walk::{self, Outcome, Request};
use crate::wire::{Caller, Fault, Lifecycle};

/// How long calls may go on when their client has nothing more to say.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// A call's answer: a whole message without a line end, and the error code when it is a protocol error.
pub(crate) struct Answered {
    pub(crate) message: Vec<u8>,
    pub(crate) fault: Option<i32>,
}

/// Answers a call.
pub(crate) async fn answer<O: Outlet>(
    server: &Server,
    connection: &Arc<Connection>,
    caller: Arc<Caller>,
    called: Called,
    outlet: O,
    cancelled: CancellationToken,
) -> Answered {
    let Called { id, params, meta } = called;
    let link = DirectLink { outlet, replies: Arc::clone(&connection.replies) };
    let request = Request {
        arguments: params.arguments.unwrap_or_default(),
        accept: meta.get("accept").cloned(),
        responses: params.input_responses.unwrap_or_default().into_iter().collect(),
        state: params.request_state,
        session: connection.session_of(&caller),
        wire: Arc::new(ClientWire::new(link, &meta, connection, caller.lifecycle)),
        caller: Arc::clone(&caller),
        cancelled,
    };
    match walk::call_tool(server, &params.name, request).await {
        Outcome::Done(rendered) => Answered {
            message: convert::written(&id, caller.lifecycle == Lifecycle::Stateless, &rendered),
            fault: None,
        },
        Outcome::InputRequired { ask, state } => match convert::input_required(&ask, state) {
            Ok(required) => {
                other(&JsonRpcMessage::response(ServerResult::InputRequiredResult(required), id), None)
            }
            Err(error) => other(&JsonRpcMessage::error(error.clone(), Some(id)), Some(error.code.0)),
        },
        Outcome::Fault(fault) => {
            let error = convert::error(fault);
            let code = error.code.0;
            other(&JsonRpcMessage::error(error, Some(id)), Some(code))
        }
    }
}

fn other(message: &ServerJsonRpcMessage, fault: Option<i32>) -> Answered {
    // rmcp's own messages always serialise.
    Answered { message: serde_json::to_vec(message).unwrap_or_default(), fault }
}

/// The client of a call, where the call says it as it should or its session knows it.
pub(crate) fn caller(connection: &Connection, called: &Called, subject: Option<&str>) -> Option<Arc<Caller>> {
    match called.meta.protocol_version() {
        None => connection.known_caller(),
        Some(stated) if stated == ProtocolVersion::V_2026_07_28 => {
            let capabilities = called.meta.client_capabilities()?;
            let subject = subject.map(str::to_owned);
            Some(Arc::new(connection.stateless_caller(&called.meta, &capabilities, subject)))
        }
        Some(_) => None,
    }
}

/// Where messages for the client go while a call runs.
pub(crate) trait Outlet: Clone + Send + Sync + 'static {
    /// Sends a message, waiting while the client is slow to read.
    fn send(&self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Fault>> + Send;
}

#[derive(Clone)]
struct DirectLink<O> {
    outlet: O,
    replies: Arc<Replies>,
}

impl<O: Outlet> Link for DirectLink<O> {
    async fn notify(&self, notification: ServerNotification) {
        // A client that is gone needs no notice.
        let _ = self.outlet.send(JsonRpcMessage::notification(notification)).await;
    }

    async fn request(&self, request: ServerRequest) -> Result<ClientResult, Fault> {
        let mut expected = self.replies.expect();
        let id = RequestId::Number(expected.id);
        let withdrawal = Withdrawal::of(self, id.clone());
        self.outlet.send(JsonRpcMessage::request(request, id)).await?;
        let result = (&mut expected.reply).await;
        withdrawal.not_needed();
        result.ok().flatten().map(|result| *result).ok_or(Fault)
    }
}

/// An answer that somebody waits for; forgotten when nobody does any more.
struct Expected<'a> {
    id: i64,
    reply: oneshot::Receiver<Option<Box<ClientResult>>>,
    replies: &'a Replies,
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.replies.lock().remove(&self.id);
    }
}

/// Our requests to a client that wait for an answer.
#[derive(Default)]
pub(crate) struct Replies {
    asked: AtomicI64,
    waiting: Mutex<HashMap<i64, oneshot::Sender<Option<Box<ClientResult>>>>>,
}

/// rmcp counts its own requests from 0 and will not get as far as this, and any client can read it.
const FIRST: i64 = 1 << 30;

impl Replies {
    fn expect(&self) -> Expected<'_> {
        let id = FIRST + self.asked.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        self.lock().insert(id, sender);
        Expected { id, reply, replies: self }
    }

    /// Hands an answer to whoever waits for it. `false` when it answers nothing that was asked here.
    pub(crate) fn settle(&self, id: &RequestId, result: Option<Box<ClientResult>>) -> bool {
        let RequestId::Number(id) = id else { return false };
        if let Some(waiting) = self.lock().remove(id) {
            // Whoever asked may be gone by now.
            let _ = waiting.send(result);
        }
        *id >= FIRST
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, oneshot::Sender<Option<Box<ClientResult>>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calls of a connection that run.
#[derive(Default)]
pub(crate) struct Calls {
    tokens: Mutex<HashMap<RequestId, CancellationToken>>,
    tracker: TaskTracker,
}

impl Calls {
    /// Runs a call beside the others, until it ends.
    pub(crate) fn spawn(&self, call: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(call);
    }

    /// Enters a call that can be withdrawn from now on.
    pub(crate) fn enter(&self, id: RequestId) -> CancellationToken {
        let token = CancellationToken::new();
        self.lock().insert(id, token.clone());
        token
    }

    /// Takes a call that has ended out again. `false` when it was withdrawn: nobody waits for its answer.
    pub(crate) fn leave(&self, id: &RequestId) -> bool {
        self.lock().remove(id).is_some()
    }

    /// Withdraws a call. `false` when there is none of that id.
    pub(crate) fn withdraw(&self, id: &RequestId) -> bool {
        let token = self.lock().remove(id);
        if let Some(token) = &token {
            token.cancel();
        }
        token.is_some()
    }

    /// Waits for the calls that run: all of them for a while, then, cancelled, for those past their point of
    /// no return, as long as a call may take. Cancel safe.
    pub(crate) async fn last(&self, since: Instant, time_limit: Duration) {
        self.tracker.close();
        if tokio::time::timeout_at(since + LAST_CALLS, self.tracker.wait()).await.is_err() {
            // Not withdrawn: whoever still reads is told how each call ended.
            self.lock().values().for_each(CancellationToken::cancel);
            let _ = tokio::time::timeout_at(since + LAST_CALLS + time_limit, self.tracker.wait()).await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
