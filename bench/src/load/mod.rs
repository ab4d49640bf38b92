//! The load generator: one server process, one JSON report.
//!
//! It is single-threaded on purpose: with two cores, the server has one to itself.

mod http;
mod machine;
pub mod options;
mod request;
mod stats;
mod stdio;

use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use options::Options;
use request::Request;
use stats::Stats;

/// A client that has shaken hands with the server.
enum Connection {
    Stdio(Box<stdio::Stdio>),
    Http(http::Http),
}

impl Connection {
    /// Keeps `in_flight` calls going until `until` says stop, and returns what came back.
    fn run(&mut self, request: &Request, in_flight: usize, until: Until) -> io::Result<Stats> {
        match self {
            Connection::Stdio(connection) => connection.run(request, in_flight, until),
            Connection::Http(connection) => connection.run(request, in_flight, until),
        }
    }
}

/// When a run ends.
#[derive(Clone, Copy)]
enum Until {
    /// After so many calls, or after so long if that comes first.
    Calls(u64, Duration),
    /// After so long.
    Elapsed(Duration),
}

impl Until {
    fn goes_on(self, sent: u64, begin: Instant) -> bool {
        match self {
            Until::Calls(calls, limit) => sent < calls && begin.elapsed() < limit,
            Until::Elapsed(limit) => begin.elapsed() < limit,
        }
    }
}

/// A server process with a client connected to it; ended when dropped.
struct Session {
    child: Child,
    connection: Option<Connection>,
    /// From the start of the process to its first answer.
    first_answer: Duration,
}

impl Session {
    fn start(options: &Options) -> io::Result<Session> {
        let begin = Instant::now();
        let mut command = Command::new(&options.command[0]);
        command.stderr(Stdio::null());
        if options.http {
            let port = free_port()?;
            command.args(options.command[1..].iter().map(|word| word.replace("{port}", &port.to_string())));
            let mut session = Session {
                child: command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?,
                connection: None,
                first_answer: Duration::ZERO,
            };
            let http = http::Http::connect(port, options)?;
            session.first_answer = begin.elapsed();
            session.connection = Some(Connection::Http(http));
            Ok(session)
        } else {
            command.args(&options.command[1..]);
            let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let mut session = Session { child, connection: None, first_answer: Duration::ZERO };
            let stdio = stdio::Stdio::connect(&mut session.child, options)?;
            session.first_answer = begin.elapsed();
            session.connection = Some(Connection::Stdio(Box::new(stdio)));
            Ok(session)
        }
    }

    fn run(&mut self, request: &Request, in_flight: usize, until: Until) -> io::Result<Stats> {
        let connection = self.connection.as_mut().ok_or_else(|| io::Error::other("not connected"))?;
        connection.run(request, in_flight, until)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Closing the pipes first lets a server on stdio leave by itself.
        self.connection = None;
        machine::terminate(&self.child);
        for _ in 0..40 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures one server as the options say.
pub fn measure(options: &Options) -> io::Result<Value> {
    let mut cold = Vec::new();
    for _ in 0..options.cold_starts {
        cold.push(millis(Session::start(options)?.first_answer));
    }
    let mut report = json!({"cold_ms": cold});
    if options.in_flight.is_empty() {
        return Ok(report);
    }
    let mut session = Session::start(options)?;
    let server = session.child.id();
    std::thread::sleep(Duration::from_millis(200));
    report["rss_idle_kb"] = json!(machine::resident_kb(server));

    let call = Request::call(options);
    let limit = Duration::from_secs(6);
    session.run(&call, 1, Until::Calls(500, options.warm_up))?;
    report["alone"] = session.run(&call, 1, Until::Calls(options.calls_alone, limit))?.report();
    for &in_flight in &options.in_flight {
        session.run(&call, in_flight, Until::Elapsed(options.warm_up))?;
        let before = machine::Usage::now(server);
        let stats = session.run(&call, in_flight, Until::Elapsed(options.duration))?;
        let used = machine::Usage::now(server).since(&before);
        let calls = stats.calls() as f64;
        let mut entry = stats.report();
        entry["server_cpu_us"] = json!(used.server_us / calls);
        entry["client_cpu_us"] = json!(used.client_us / calls);
        entry["foreign"] = json!(used.foreign_share());
        report[format!("at_{in_flight}")] = entry;
    }
    report["rss_after_kb"] = json!(machine::resident_kb(server));
    Ok(report)
}

fn free_port() -> io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
