//! A client over a pipe: writes a window of requests, then one new request for each answer.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::Instant;

use super::request::{Request, response_id};
use super::{Options, Stats, Until};

/// Large enough that a whole window of requests fits into the pipe: a single-threaded client must never wait for the
/// server to read while the server waits for it to read.
const PIPE_BYTES: usize = 1 << 20;
const CHUNK: usize = 1 << 16;

/// The pipes to a server and what has been read from it.
pub(super) struct Stdio {
    requests: ChildStdin,
    responses: ChildStdout,
    buffer: Vec<u8>,
    /// The part of the buffer that holds bytes not yet taken.
    held: std::ops::Range<usize>,
    next_id: u64,
}

impl Stdio {
    /// Shakes hands.
    pub(super) fn connect(child: &mut Child, options: &Options) -> io::Result<Stdio> {
        let missing = || io::Error::other("the server has no pipes");
        let requests = child.stdin.take().ok_or_else(missing)?;
        let responses = child.stdout.take().ok_or_else(missing)?;
        // Where the system allows no larger pipe, the window still fits unless the arguments are huge.
        let _ = rustix::pipe::fcntl_setpipe_size(&requests, PIPE_BYTES);
        let mut stdio = Stdio { requests, responses, buffer: vec![0; 4 * CHUNK], held: 0..0, next_id: 1 };
        let mut out = Vec::new();
        Request::first(options).write(0, &mut out);
        out.push(b'\n');
        stdio.requests.write_all(&out)?;
        loop {
            let line = stdio.line()?;
            let line = &stdio.buffer[line];
            if response_id(line) == Some(0) {
                if super::request::is_error(line) {
                    return Err(io::Error::other(String::from_utf8_lossy(line).into_owned()));
                }
                break;
            }
        }
        if !options.stateless {
            stdio.requests.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        }
        Ok(stdio)
    }

    pub(super) fn run(&mut self, request: &Request, in_flight: usize, until: Until) -> io::Result<Stats> {
        let mut stats = Stats::begin();
        let first_id = self.next_id;
        let mut sent: Vec<Instant> = Vec::with_capacity(1 << 16);
        let mut out = Vec::new();
        for _ in 0..in_flight {
            self.push(request, &mut sent, &mut out);
        }
        self.requests.write_all(&out)?;
        let mut missing = in_flight;
        while missing > 0 {
            out.clear();
            let mut line = Some(self.line()?);
            // All answers that one read brought are taken before anything is written.
            while let Some(range) = line {
                let answer = &self.buffer[range];
                let call = response_id(answer)
                    .and_then(|id| id.checked_sub(first_id).map(|index| (id, index as usize)));
                if let Some((id, index)) = call
                    && let Some(&at) = sent.get(index)
                {
                    stats.answer(answer, id, at);
                    missing -= 1;
                    if until.goes_on(sent.len() as u64, stats.begun()) {
                        self.push(request, &mut sent, &mut out);
                        missing += 1;
                    }
                }
                line = self.held_line();
            }
            if !out.is_empty() {
                self.requests.write_all(&out)?;
            }
        }
        Ok(stats.end())
    }

    fn push(&mut self, request: &Request, sent: &mut Vec<Instant>, out: &mut Vec<u8>) {
        request.write(self.next_id, out);
        out.push(b'\n');
        self.next_id += 1;
        sent.push(Instant::now());
    }

    /// The next line that is already here.
    fn held_line(&mut self) -> Option<std::ops::Range<usize>> {
        let length = memchr::memchr(b'\n', &self.buffer[self.held.clone()])?;
        let line = self.held.start..self.held.start + length;
        self.held.start += length + 1;
        Some(line)
    }

    /// The next line, waiting for it.
    fn line(&mut self) -> io::Result<std::ops::Range<usize>> {
        loop {
            if let Some(line) = self.held_line() {
                return Ok(line);
            }
            if self.held.is_empty() {
                self.held = 0..0;
            } else if self.held.end + CHUNK > self.buffer.len() {
                self.buffer.copy_within(self.held.clone(), 0);
                self.held = 0..self.held.len();
            }
            if self.held.end + CHUNK > self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let read = self.responses.read(&mut self.buffer[self.held.end..])?;
            if read == 0 {
                return Err(io::Error::other("the server closed its output"));
            }
            self.held.end += read;
        }
    }
}
