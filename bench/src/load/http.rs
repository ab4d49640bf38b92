//! A client over HTTP/1.1: one connection for each call in flight, all watched by one thread.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use super::request::{HANDSHAKE_VERSION, Request, STATELESS_VERSION, is_error, response_id};
use super::{Options, Stats, Until};

const PATIENCE: Duration = Duration::from_secs(30);

/// A server's address and the session it gave us.
pub(super) struct Http {
    address: SocketAddr,
    stateless: bool,
    session: Option<String>,
    next_id: u64,
}

impl Http {
    /// Waits until the server listens, and shakes hands.
    pub(super) fn connect(port: u16, options: &Options) -> io::Result<Http> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let begin = Instant::now();
        let mut stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) if begin.elapsed() > PATIENCE => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_micros(300)),
            }
        };
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut http = Http { address, stateless: options.stateless, session: None, next_id: 1 };
        let mut body = Vec::new();
        let first = Request::first(options);
        first.write(0, &mut body);
        let response = http.exchange(&mut stream, first.method, None, &body)?;
        let answer = response.answer();
        if response_id(answer) != Some(0) || is_error(answer) {
            return Err(io::Error::other(format!(
                "{}: {}",
                response.status,
                String::from_utf8_lossy(answer)
            )));
        }
        if !options.stateless {
            http.session = response.session;
            let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            http.exchange(&mut stream, "notifications/initialized", None, initialized)?;
        }
        Ok(http)
    }

    pub(super) fn run(&mut self, request: &Request, in_flight: usize, until: Until) -> io::Result<Stats> {
        let mut poll = Poll::new()?;
        let mut events = Events::with_capacity(1024);
        let mut lanes = Vec::with_capacity(in_flight);
        for index in 0..in_flight {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let mut stream = mio::net::TcpStream::from_std(stream);
            poll.registry().register(&mut stream, Token(index), Interest::READABLE)?;
            lanes.push(Lane { stream, response: Response::default(), id: 0, sent: Instant::now() });
        }
        let mut stats = Stats::begin();
        let mut sent = 0;
        for lane in &mut lanes {
            self.send(lane, request)?;
            sent += 1;
        }
        let mut missing = in_flight;
        let mut chunk = vec![0; 1 << 16];
        while missing > 0 {
            match poll.poll(&mut events, Some(PATIENCE)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                outcome => outcome?,
            }
            if events.is_empty() {
                return Err(io::Error::other("the server stopped answering"));
            }
            for event in &events {
                let lane = &mut lanes[event.token().0];
                // Edge-triggered: each event must be read dry.
                loop {
                    match lane.stream.read(&mut chunk) {
                        Ok(0) => return Err(io::Error::other("the server closed a connection")),
                        Ok(read) => {
                            if lane.response.push(&chunk[..read])? {
                                stats.answer(lane.response.answer(), lane.id, lane.sent);
                                if until.goes_on(sent, stats.begun()) {
                                    self.send(lane, request)?;
                                    sent += 1;
                                } else {
                                    missing -= 1;
                                }
                            }
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(stats.end())
    }

    fn send(&mut self, lane: &mut Lane, request: &Request) -> io::Result<()> {
        let mut body = Vec::with_capacity(512);
        request.write(self.next_id, &mut body);
        lane.response.clear();
        lane.id = self.next_id;
        lane.sent = Instant::now();
        self.next_id += 1;
        let message = self.message(request.method, request.name.as_deref(), &body);
        let mut written = 0;
        while written < message.len() {
            match lane.stream.write(&message[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn exchange(
        &self,
        stream: &mut TcpStream,
        method: &str,
        name: Option<&str>,
        body: &[u8],
    ) -> io::Result<Response> {
        stream.write_all(&self.message(method, name, body))?;
        let mut response = Response::default();
        let mut chunk = [0; 1 << 14];
        loop {
            let read = stream.read(&mut chunk)?;
            if read == 0 {
                return Err(io::Error::other("the server closed the connection"));
            }
            if response.push(&chunk[..read])? {
                return Ok(response);
            }
        }
    }

    fn message(&self, method: &str, name: Option<&str>, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(body.len() + 400);
        let _ = write!(
            out,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        if self.stateless {
            let _ = write!(out, "MCP-Protocol-Version: {STATELESS_VERSION}\r\nMcp-Method: {method}\r\n");
            if let Some(name) = name {
                let _ = write!(out, "Mcp-Name: {name}\r\n");
            }
        } else if method != "initialize" {
            let _ = write!(out, "MCP-Protocol-Version: {HANDSHAKE_VERSION}\r\n");
        }
        if let Some(session) = &self.session {
            let _ = write!(out, "Mcp-Session-Id: {session}\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(body);
        out
    }
}

/// A connection and the call on it.
struct Lane {
    stream: mio::net::TcpStream,
    response: Response,
    id: u64,
    sent: Instant,
}

/// A response as it comes in.
#[derive(Debug, Default)]
struct Response {
    raw: Vec<u8>,
    /// Where the body begins, once the head is here.
    body_at: Option<usize>,
    length: usize,
    chunked: bool,
    events: bool,
    status: u16,
    session: Option<String>,
    body: Vec<u8>,
}

impl Response {
    fn clear(&mut self) {
        self.raw.clear();
        self.body.clear();
        self.body_at = None;
    }

    /// Takes more bytes; true when the response is complete.
    fn push(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.raw.extend_from_slice(bytes);
        if self.body_at.is_none() {
            let Some(end) = memchr::memmem::find(&self.raw, b"\r\n\r\n") else { return Ok(false) };
            self.read_head(end);
            self.body_at = Some(end + 4);
        }
        if self.chunked { self.take_chunks() } else { Ok(self.take_body()) }
    }

    fn read_head(&mut self, end: usize) {
        let head = String::from_utf8_lossy(&self.raw[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        self.status = status.unwrap_or_default();
        (self.length, self.chunked, self.events) = (0, false, false);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => self.length = value.parse().unwrap_or_default(),
                "transfer-encoding" => self.chunked = value.contains("chunked"),
                "content-type" => self.events = value.contains("event-stream"),
                "mcp-session-id" => self.session = Some(value.to_owned()),
                _ => {}
            }
        }
    }

    fn take_body(&mut self) -> bool {
        let at = self.body_at.unwrap_or_default();
        let Some(body) = self.raw.get(at..at + self.length) else { return false };
        self.body.extend_from_slice(body);
        true
    }

    fn take_chunks(&mut self) -> io::Result<bool> {
        loop {
            let at = self.body_at.unwrap_or_default();
            let Some(line) = memchr::memmem::find(&self.raw[at..], b"\r\n") else { return Ok(false) };
            let size = std::str::from_utf8(&self.raw[at..at + line])
                .ok()
                .and_then(|size| usize::from_str_radix(size.split(';').next()?.trim(), 16).ok())
                .ok_or_else(|| io::Error::other("a chunk has no size"))?;
            let data = at + line + 2;
            if self.raw.len() < data + size + 2 {
                return Ok(false);
            }
            if size == 0 {
                return Ok(true);
            }
            self.body.extend_from_slice(&self.raw[data..data + size]);
            self.body_at = Some(data + size + 2);
        }
    }

    /// The JSON-RPC message: the body, or the event that carries an id.
    fn answer(&self) -> &[u8] {
        if !self.events {
            return &self.body;
        }
        let lines = self.body.split(|byte| *byte == b'\n');
        let mut data = lines.filter_map(|line| line.strip_prefix(b"data:")).map(<[u8]>::trim_ascii);
        data.find(|data| response_id(data).is_some()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_may_come_in_pieces() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"id\":1}";
        for cut in 1..whole.len() {
            let mut response = Response::default();
            assert!(!response.push(&whole[..cut]).unwrap());
            assert!(response.push(&whole[cut..]).unwrap());
            assert_eq!(response.answer(), b"{\"id\":1}");
        }
    }

    #[test]
    fn events_are_read_from_chunks() {
        let mut response = Response::default();
        let text = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nMcp-Session-Id: s\r\n\r\n\
            9\r\nid: 0\n\n\r\n\r\n10\r\ndata: {\"id\":7}\n\n\r\n0\r\n\r\n";
        assert!(response.push(text).unwrap());
        assert_eq!(response.answer(), b"{\"id\":7}");
        assert_eq!(response.session.as_deref(), Some("s"));
    }
}
