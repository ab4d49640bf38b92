//! `cargo xtask bench binary`: the first moments of the binary, in each profile: start to first answer, idle memory,
//! size.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::measurement::{Measurement, median, number};
use crate::run::end_with_descendants;

const HELP: &str = "\
cargo xtask bench binary [--release | --dist]

Without an option both profiles are built and measured; `dist` takes long to build. The report is printed and kept in
the target folder.
";
/// How often each is started.
const STARTS: usize = 25;
/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const CALLS: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_patterns","arguments":{"q":"retry"}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_graph","arguments":{}}}"#,
];

/// What one start of the binary took.
#[derive(Default)]
struct Start {
    hello_ms: f64,
    tools_ms: f64,
    first_call_ms: f64,
}

/// The memory of a process, in kilobytes.
#[derive(Clone, Copy)]
struct Memory {
    resident: f64,
    /// The part that is not mapped from the binary and the libraries.
    own: f64,
}

pub(super) fn command(arguments: &[String]) -> Result<bool, String> {
    let profiles: &[&str] = match arguments {
        [] => &["release", "dist"],
        [one] if one == "--release" => &["release"],
        [one] if one == "--dist" => &["dist"],
        _ => return Err(HELP.to_owned()),
    };
    let mut measurement = Measurement::new("binary")?;
    let mut report = String::from(
        "# The first moments of the binary\n\n\
         Medians; the targets are 30 ms to the first answer, 20 MB idle, 25 MB of file. Memory is read one second after \
         the tools were listed, and again after a call to each toolset.\n\n\
         | profile | first answer ms | tools listed ms | first call answered ms | idle MB (own) | after calls MB (own) | file MB |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for profile in profiles {
        measurement.build(&[
            "build",
            "--profile",
            profile,
            "--package",
            "diptych-cli",
            "--bin",
            "diptych",
        ])?;
        let target = &measurement.target;
        let binary = target.join(profile).join(format!("diptych{}", std::env::consts::EXE_SUFFIX));
        report.push_str(&measure(profile, &binary, &target.join("xtask/bench-home"))?);
    }
    measurement.keep(&report)
}

fn measure(profile: &str, binary: &Path, home: &Path) -> Result<String, String> {
    let size = std::fs::metadata(binary).map_err(|error| format!("there is no binary: {error}"))?.len();
    let mut starts = Vec::new();
    let (mut idle, mut after) = (None, None);
    for number in 0..=STARTS {
        // A home of its own, so that no graph is found and none is left.
        let home: PathBuf = home.join(number.to_string());
        std::fs::create_dir_all(&home).map_err(|error| format!("cannot make a home folder: {error}"))?;
        let mut server = Running::start(binary, &home)?;
        let mut start = Start { hello_ms: server.ask(HELLO)?, ..Start::default() };
        server.tell(READY)?;
        start.tools_ms = server.ask(LIST)?;
        // The last one is looked at instead of being timed.
        if number == STARTS {
            std::thread::sleep(IDLE);
            idle = memory(server.child.id());
        }
        start.first_call_ms = server.ask(CALLS[0])?;
        if number == STARTS {
            server.ask(CALLS[1])?;
            std::thread::sleep(IDLE);
            after = memory(server.child.id());
        } else {
            starts.push(start);
        }
        drop(server);
        let _ = std::fs::remove_dir_all(&home);
    }
    let time = |part: fn(&Start) -> f64| number(median(starts.iter().map(part).collect()), 1);
    let megabytes = |memory: Option<Memory>| {
        let part = |kilobytes: fn(Memory) -> f64| number(memory.map(|memory| kilobytes(memory) / 1024.0), 1);
        format!("{} ({})", part(|memory| memory.resident), part(|memory| memory.own))
    };
    let mut row = String::new();
    let _ = writeln!(
        row,
        "| {profile} | {} | {} | {} | {} | {} | {} |",
        time(|start| start.hello_ms),
        time(|start| start.tools_ms),
        time(|start| start.first_call_ms),
        megabytes(idle),
        megabytes(after),
        number(Some(size as f64 / 1e6), 1)
    );
    Ok(row)
}

/// The binary, serving.
struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    started: Instant,
}

impl Running {
    fn start(binary: &Path, home: &Path) -> Result<Running, String> {
        let mut command = Command::new(binary);
        command.arg("serve").env_clear().env("HOME", home);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().map_err(|error| format!("cannot start the binary: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the binary has no standard streams".to_owned());
        };
        Ok(Running { child, stdin, stdout: BufReader::new(stdout), started })
    }

    fn tell(&mut self, message: &str) -> Result<(), String> {
        writeln!(self.stdin, "{message}").map_err(|error| format!("the binary does not listen: {error}"))
    }

    /// Milliseconds from the start to the answer.
    fn ask(&mut self, message: &str) -> Result<f64, String> {
        self.tell(message)?;
        let mut line = String::new();
        self.stdout.read_line(&mut line).map_err(|error| format!("the binary does not answer: {error}"))?;
        let took = self.started.elapsed().as_secs_f64() * 1e3;
        let answer: Value =
            serde_json::from_str(&line).map_err(|_| format!("the binary answered {line:?}"))?;
        if answer["result"].is_object() { Ok(took) } else { Err(format!("the binary answered {line}")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end_with_descendants(&mut self.child);
    }
}

/// The memory of a process; only Linux tells.
fn memory(process: u32) -> Option<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let of = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    Some(Memory { resident: of("VmRSS:")?, own: of("RssAnon:")? })
}
