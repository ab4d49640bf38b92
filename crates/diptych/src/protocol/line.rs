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
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::convert;

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
}

impl<R: AsyncRead + Send + Unpin> LineTransport<R> {
    pub(crate) fn new(reader: R, writer: impl AsyncWrite + Send + Unpin + 'static, limit: usize) -> Self {
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
        }
    }

    /// The next message. Cancel safe: what was read stays in the buffer.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            while let Some((from, to)) = self.next_line() {
                let line = trimmed(&self.buffer[from..to]);
                if line.is_empty() {
                    continue;
                }
                match parse(line) {
                    Ok(message) => return Some(message),
                    Err(Bad { id, error }) => self.complain(error, id),
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
                Ok(0) => return self.last(),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "reading failed");
                    return None;
                }
            }
        }
    }

    /// What is left when the stream ends without a line end.
    fn last(&mut self) -> Option<ClientJsonRpcMessage> {
        let rest = std::mem::take(&mut self.buffer);
        self.scanned = 0;
        let line = trimmed(&rest);
        if self.skipping || line.is_empty() {
            return None;
        }
        parse(line).map_err(|Bad { id, error }| self.complain(error, id)).ok()
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

/// The members that tell one kind of message from another.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Reads a message. By method first: going through rmcp's union of all requests costs several times as much
/// for the one that matters, `tools/call`.
fn parse(line: &[u8]) -> Result<ClientJsonRpcMessage, Bad> {
    let nobody = |error| Bad { id: None, error };
    if line.first() == Some(&b'[') && serde_json::from_slice::<&RawValue>(line).is_ok() {
        let problem = "Batches are not supported: send one message a line.";
        return Err(nobody(ErrorData::invalid_request(problem, None)));
    }
    let envelope: Envelope<'_> = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return Err(nobody(ErrorData::invalid_request(NOT_A_MESSAGE, None)));
        }
        Err(_) => return Err(nobody(ErrorData::parse_error("The line is not valid JSON.", None))),
    };
    let id = envelope.id.and_then(|id| serde_json::from_str::<RequestId>(id.get()).ok());
    let called = envelope.method.is_some_and(|method| method.get() == "\"tools/call\"");
    if called
        && envelope.jsonrpc.is_some_and(|version| version.get() == "\"2.0\"")
        && let Some(id) = &id
        && let Some(params) = envelope.params
        && let Ok(mut params) = serde_json::from_str::<CallToolRequestParams>(params.get())
    {
        let meta = params.meta.take();
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        return Ok(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id.clone()));
    }
    serde_json::from_slice(line)
        .map_err(|_| Bad { id, error: ErrorData::invalid_request(NOT_A_MESSAGE, None) })
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
        let mut transport = LineTransport::new(reader, writer, limit);
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

        #[test]
        fn the_fast_way_reads_what_rmcp_reads(name in "[a-z]{1,8}", text in ".{0,20}", id in any::<u32>(), token in prop::option::of("[a-z]{1,5}")) {
            let mut message = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {"text": text}}});
            if let Some(token) = token {
                message["params"]["_meta"] = serde_json::json!({"progressToken": token});
            }
            let line = message.to_string();
            let ours = parse(line.as_bytes()).unwrap();
            let theirs: ClientJsonRpcMessage = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(serde_json::to_value(&ours).unwrap(), serde_json::to_value(&theirs).unwrap());
        }
    }
}
