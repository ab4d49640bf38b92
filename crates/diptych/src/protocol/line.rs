//! The line transport: one JSON message a line, over any pair of streams.
//!
//! Ours rather than rmcp's for four reasons. Garbage is answered (-32700) instead of swallowed, at most ten
//! times a second. A line that is too long is answered (-32801) instead of filling the memory. Results are
//! written as they were rendered, with the blocks' `mimeType`. And answers that are ready at the same time
//! leave in one write.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ClientResult, ErrorCode, ErrorData, InitializeRequestParams,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::connection::Connection;
use super::convert;
use super::direct::{self, Outlet};
use super::envelope::{Called, Envelope, Kind};
use crate::server::Server;
use crate::wire::{Caller, Fault};

/// The longest line that is read, unless said otherwise.
pub(crate) const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// Bytes that may wait for a client that does not read before answers wait as well.
const BACKLOG: usize = 8 * 1024 * 1024;

/// How long a client that does not read keeps the connection from closing.
const FAREWELL: Duration = Duration::from_secs(2);

/// The most complaints about bad lines within a second.
const COMPLAINTS: u32 = 10;

/// A server's end of a connection that speaks in lines.
pub(crate) struct LineTransport<R> {
    reader: R,
    /// What was read and not yet taken, from `start` on; up to `scanned` it holds no line end.
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    limit: usize,
    /// Inside a line that is too long: everything up to its end is thrown away.
    skipping: bool,
    complaints: (Instant, u32),
    outbox: Arc<Outbox>,
    writer: Option<JoinHandle<io::Result<()>>>,
    server: Server,
    connection: Arc<Connection>,
    /// What the client said of itself, until the server has answered.
    greeting: Option<InitializeRequestParams>,
    /// When the client had nothing more to say.
    ended: Option<tokio::time::Instant>,
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    pub(crate) fn new(
        reader: R,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        limit: usize,
        server: Server,
        connection: Arc<Connection>,
    ) -> Self {
        let outbox = Arc::new(Outbox::default());
        let writing = tokio::spawn(Arc::clone(&outbox).write_all(writer));
        LineTransport {
            reader,
            buffer: Vec::with_capacity(8 * 1024),
            start: 0,
            scanned: 0,
            limit,
            skipping: false,
            complaints: (Instant::now(), 0),
            outbox,
            writer: Some(writing),
            server,
            connection,
            greeting: None,
            ended: None,
        }
    }

    /// The next message for rmcp. Cancel safe: what was read stays in the buffer.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        while self.ended.is_none() {
            while let Some((from, to)) = self.next_line() {
                let line = trimmed(&self.buffer[from..to]);
                if let Some(message) = self.take(read(line)) {
                    return Some(message);
                }
            }
            if self.start > 0 {
                self.buffer.drain(..self.start);
                self.scanned -= self.start;
                self.start = 0;
            }
            if self.buffer.len() > self.limit {
                if !self.skipping {
                    let message =
                        format!("The message is larger than the {} bytes that are read.", self.limit);
                    self.complain(ErrorData::new(ErrorCode(-32801), message, None), None);
                }
                self.skipping = true;
                self.buffer.clear();
                self.scanned = 0;
            }
            self.buffer.reserve(8 * 1024);
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) => {
                    self.ended = Some(tokio::time::Instant::now());
                    // What is left came without a line end.
                    let rest = std::mem::take(&mut self.buffer);
                    self.scanned = 0;
                    if !self.skipping
                        && let Some(message) = self.take(read(trimmed(&rest)))
                    {
                        return Some(message);
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "reading failed");
                    return None;
                }
            }
        }
        // rmcp goes on serving until it is told that nothing more will come.
        if let Some(ended) = self.ended {
            self.connection.calls.last(ended, self.server.settings().time_limit).await;
        }
        None
    }

    /// Sees to a message that needs nothing of rmcp, and returns any other.
    fn take(&mut self, read: Result<Option<Incoming>, Bad>) -> Option<ClientJsonRpcMessage> {
        match read {
            Ok(None) => None,
            Ok(Some(Incoming::Rmcp(message))) => {
                if let JsonRpcMessage::Request(request) = message.as_ref()
                    && let ClientRequest::InitializeRequest(initialize) = &request.request
                {
                    self.greeting = Some(initialize.params.clone());
                }
                Some(*message)
            }
            Ok(Some(Incoming::Call(called))) => {
                match direct::caller(&self.connection, &called, None) {
                    // rmcp's loop has to have begun: until then only it knows what may come first.
                    Some(caller) if self.connection.has_begun() => {
                        self.call(caller, *called);
                        None
                    }
                    _ => Some(called.into_message()),
                }
            }
            Ok(Some(Incoming::Withdrawn(id, message))) => {
                if self.connection.calls.withdraw(&id) {
                    None
                } else {
                    Some(*message)
                }
            }
            Ok(Some(Incoming::Reply(id, result, message))) => {
                if self.connection.replies.settle(&id, result) {
                    None
                } else {
                    Some(*message)
                }
            }
            Err(Bad { id, error }) => {
                self.complain(error, id);
                None
            }
        }
    }

    /// Starts a call beside the others.
    fn call(&self, caller: Arc<Caller>, called: Called) {
        let (server, connection) = (self.server.clone(), Arc::clone(&self.connection));
        let outlet = LineOutlet(Arc::clone(&self.outbox));
        let token = self.connection.calls.enter(called.id.clone());
        self.connection.calls.spawn(async move {
            let id = called.id.clone();
            let outbox = Arc::clone(&outlet.0);
            let answered = direct::answer(&server, &connection, caller, called, outlet, token).await;
            if connection.calls.leave(&id) {
                outbox.send(&answered.message).await;
            }
        });
    }

    /// Where the next whole line stands in the buffer.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        loop {
            let end = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n');
            let Some(end) = end.map(|end| self.scanned + end) else {
                self.scanned = self.buffer.len();
                return None;
            };
            let from = self.start;
            self.start = end + 1;
            self.scanned = self.start;
            if !std::mem::take(&mut self.skipping) {
                return Some((from, end));
            }
        }
    }

    /// Answers a bad line, unless too many were answered within the last second.
    fn complain(&mut self, error: ErrorData, id: Option<RequestId>) {
        let (since, count) = &mut self.complaints;
        if since.elapsed() >= Duration::from_secs(1) {
            (*since, *count) = (Instant::now(), 0);
        }
        *count += 1;
        tracing::warn!(code = error.code.0, "a message that cannot be read");
        if *count <= COMPLAINTS || id.is_some() {
            self.outbox.push(|out| write_message(out, &ServerJsonRpcMessage::error(error, id)));
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    /// Serialises at once, so that messages leave in the order in which they were sent.
    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(agreed) = &response.result
            && let Some(greeting) = self.greeting.take()
        {
            // From here on its calls go the straight way.
            self.connection.meet(&greeting, &agreed.protocol_version, None, None);
        }
        let waiting = self.outbox.push(|out| write_message(out, &message));
        let outbox = Arc::clone(&self.outbox);
        async move {
            if waiting > BACKLOG {
                outbox.drained().await;
            }
            outbox.check()
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<ClientJsonRpcMessage>> + Send {
        self.next()
    }

    async fn close(&mut self) -> io::Result<()> {
        // What still runs was told to stop; past its point of no return it is waited for.
        let now = *self.ended.get_or_insert_with(tokio::time::Instant::now);
        self.connection.calls.last(now, self.server.settings().time_limit).await;
        self.outbox.close();
        match self.writer.take() {
            Some(mut writer) => match tokio::time::timeout(FAREWELL, &mut writer).await {
                Ok(written) => written.unwrap_or_else(|error| Err(io::Error::other(error))),
                Err(_) => {
                    writer.abort();
                    Err(io::ErrorKind::TimedOut.into())
                }
            },
            None => Ok(()),
        }
    }
}

impl<R> Drop for LineTransport<R> {
    fn drop(&mut self) {
        self.outbox.close();
    }
}

/// Bytes on their way out. Whoever sends appends; one task takes all there is and writes it at once.
#[derive(Default)]
struct Outbox {
    state: Mutex<Pending>,
    filled: Notify,
    emptied: Notify,
}

#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    closed: bool,
    broken: bool,
}

impl Outbox {
    fn lock(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends what `write` writes, and returns how many bytes are waiting.
    fn push(&self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let mut pending = self.lock();
        if pending.broken {
            return 0;
        }
        write(&mut pending.bytes);
        let waiting = pending.bytes.len();
        drop(pending);
        self.filled.notify_one();
        waiting
    }

    /// Sends a whole message, and waits while the client is slow to read.
    async fn send(&self, message: &[u8]) {
        let waiting = self.push(|out| {
            out.extend_from_slice(message);
            out.push(b'\n');
        });
        if waiting > BACKLOG {
            self.drained().await;
        }
    }

    fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
    }

    fn check(&self) -> io::Result<()> {
        if self.lock().broken { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    async fn drained(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let pending = self.lock();
                if pending.broken || pending.bytes.len() <= BACKLOG {
                    return;
                }
            }
            emptied.await;
        }
    }

    async fn write_all(self: Arc<Self>, mut writer: impl AsyncWrite + Send + Unpin) -> io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            let filled = self.filled.notified();
            let closed = {
                let mut pending = self.lock();
                std::mem::swap(&mut bytes, &mut pending.bytes);
                pending.closed
            };
            if bytes.is_empty() {
                if closed {
                    return writer.shutdown().await;
                }
                filled.await;
                continue;
            }
            let written = match writer.write_all(&bytes).await {
                Ok(()) => writer.flush().await,
                failed => failed,
            };
            bytes.clear();
            // A large answer should not keep its memory for ever.
            bytes.shrink_to(256 * 1024);
            if let Err(error) = written {
                self.lock().broken = true;
                self.emptied.notify_waiters();
                return Err(error);
            }
            self.emptied.notify_waiters();
        }
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii()
}

/// Why a line is not a message, and whom to tell.
#[derive(Debug)]
struct Bad {
    id: Option<RequestId>,
    error: ErrorData,
}

const NOT_A_MESSAGE: &str = "The message is not a JSON-RPC 2.0 request, notification or response.";

/// A line that is a message.
enum Incoming {
    Call(Box<Called>),
    Withdrawn(RequestId, Box<ClientJsonRpcMessage>),
    Reply(RequestId, Option<Box<ClientResult>>, Box<ClientJsonRpcMessage>),
    Rmcp(Box<ClientJsonRpcMessage>),
}

/// Reads a line; an empty one is nothing.
fn read(line: &[u8]) -> Result<Option<Incoming>, Bad> {
    if line.is_empty() {
        return Ok(None);
    }
    let nobody = |error| Bad { id: None, error };
    if line.first() == Some(&b'[') && serde_json::from_slice::<&RawValue>(line).is_ok() {
        let problem = "Batches are not supported: send one message a line.";
        return Err(nobody(ErrorData::invalid_request(problem, None)));
    }
    let envelope = Envelope::read(line).map_err(|error| {
        nobody(if error.is_data() {
            ErrorData::invalid_request(NOT_A_MESSAGE, None)
        } else {
            ErrorData::parse_error("The line is not valid JSON.", None)
        })
    })?;
    let kind = envelope.kind();
    if let Kind::Call(called) = kind {
        return Ok(Some(Incoming::Call(called)));
    }
    let message = serde_json::from_slice(line)
        .map_err(|_| Bad { id: envelope.id(), error: ErrorData::invalid_request(NOT_A_MESSAGE, None) })?;
    let message = Box::new(message);
    Ok(Some(match kind {
        Kind::Withdrawn(id) => Incoming::Withdrawn(id, message),
        Kind::Reply(id, result) => Incoming::Reply(id, result, message),
        Kind::Call(_) | Kind::Other => Incoming::Rmcp(message),
    }))
}

/// Where the messages of a call that goes the straight way leave.
#[derive(Clone)]
struct LineOutlet(Arc<Outbox>);

impl Outlet for LineOutlet {
    async fn send(&self, message: ServerJsonRpcMessage) -> Result<(), Fault> {
        let message = serde_json::to_vec(&message).map_err(|_| Fault)?;
        self.0.send(&message).await;
        self.0.check().map_err(|_| Fault)
    }
}

/// Writes a message and its line end.
fn write_message(out: &mut Vec<u8>, message: &ServerJsonRpcMessage) {
    let start = out.len();
    let written = match message {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::CallToolResult(result) => match convert::spliced(result) {
                Some(members) => write_spliced(out, &response.id, result.result_type.is_some(), members),
                None => serde_json::to_writer(&mut *out, message),
            },
            _ => serde_json::to_writer(&mut *out, message),
        },
        _ => serde_json::to_writer(&mut *out, message),
    };
    match written {
        Ok(()) => out.push(b'\n'),
        Err(error) => {
            tracing::error!(%error, "a message that cannot be written");
            out.truncate(start);
        }
    }
}

fn write_spliced(out: &mut Vec<u8>, id: &RequestId, typed: bool, members: &str) -> serde_json::Result<()> {
    out.reserve(members.len() + 96);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    serde_json::to_writer(&mut *out, id)?;
    out.extend_from_slice(b",\"result\":{");
    if typed {
        out.extend_from_slice(b"\"resultType\":\"complete\",");
    }
    out.extend_from_slice(members.as_bytes());
    out.extend_from_slice(b"}}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the transport reads from, and answers to, these bytes, split into reads of the given size.
    async fn exchange(bytes: Vec<u8>, chunk: usize, limit: usize) -> (usize, String) {
        let (client, server) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(server);
        let server = Server::builder("lines", "1.0.0").build().unwrap();
        let mut transport =
            LineTransport::new(reader, writer, limit, server, Arc::new(Connection::over_streams()));
        let (mut answers, mut feed) = tokio::io::split(client);
        let feeding = tokio::spawn(async move {
            for piece in bytes.chunks(chunk.max(1)) {
                feed.write_all(piece).await.unwrap();
            }
            feed.shutdown().await.unwrap();
        });
        let mut messages = 0;
        while transport.receive().await.is_some() {
            messages += 1;
        }
        transport.close().await.unwrap();
        drop(transport);
        feeding.await.unwrap();
        let mut text = String::new();
        answers.read_to_string(&mut text).await.unwrap();
        (messages, text)
    }

    const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";

    #[tokio::test]
    async fn garbage_is_answered_and_what_follows_is_read() {
        let lines = format!("nonsense\n{PING}\r\n\n[1]\n{{\"jsonrpc\":\"2.0\",\"id\":7}}\n{PING}");
        let (messages, answers) = exchange(lines.into_bytes(), 7, LINE_LIMIT).await;
        assert_eq!(messages, 2);
        insta::assert_snapshot!(answers, @r#"
        {"jsonrpc":"2.0","error":{"code":-32700,"message":"The line is not valid JSON."}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"Batches are not supported: send one message a line."}}
        {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"The message is not a JSON-RPC 2.0 request, notification or response."}}
        "#);
    }

    #[tokio::test]
    async fn too_long_a_line_is_refused_once_and_skipped() {
        let lines = format!("{}\n{PING}\n", "x".repeat(100_000));
        let (messages, answers) = exchange(lines.into_bytes(), 1000, 8192).await;
        assert_eq!(messages, 1);
        insta::assert_snapshot!(answers, @r#"{"jsonrpc":"2.0","error":{"code":-32801,"message":"The message is larger than the 8192 bytes that are read."}}"#);
    }

    #[tokio::test]
    async fn complaints_are_capped() {
        let (messages, answers) = exchange(b"x\n".repeat(500), 4096, LINE_LIMIT).await;
        assert_eq!(messages, 0);
        assert!(answers.lines().count() <= 20, "{answers}");
        assert!(answers.lines().count() >= 10, "{answers}");
    }

    proptest! {
        #[test]
        fn whatever_comes_the_last_message_is_read(junk in prop::collection::vec(any::<u8>(), 0..400), chunk in 1usize..64) {
            let mut bytes = junk;
            bytes.push(b'\n');
            bytes.extend_from_slice(PING.as_bytes());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (messages, _) = runtime.block_on(exchange(bytes, chunk, LINE_LIMIT));
            prop_assert!(messages >= 1);
        }
    }
}
