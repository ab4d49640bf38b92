//! `cargo xtask bench toolkit`: the toolkit beside a bare rmcp server, the TypeScript SDK and the floor, in one session, alternating.
//!
//! It reports ratios and never judges them: absolute figures of a shared machine mean little, and differences under
//! 1.25 times are noise.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::measurement::{Measurement, cores, median, number, ratio};
use super::{HELP, target_folder};
use crate::install::Cache;
use crate::run::Log;
use crate::steps::cargo;

const RUN_LIMIT: Duration = Duration::from_secs(120);
/// The parts of a run: calls one after another, so many at a time, and one at a time with client and server on one core.
const PARTS: [&str; 5] = ["alone", ON_ONE_CORE, "at_1", "at_32", "at_256"];
/// With one call at a time on two cores, most of the time passes while a core wakes up, whatever the server does.
const ON_ONE_CORE: &str = "at_1_on_one_core";
/// Above this share of the machine used by others, a run is repeated.
const FOREIGN: f64 = 0.10;
const TRIES: usize = 3;

/// The calls: the same bytes to every server, and as nearly the same bytes back as the contract allows.
const TOOLS: [(&str, &str); 2] =
    [("echo", r#"{"message":"hello world"}"#), ("search", r#"{"q":"alpha","limit":10}"#)];

/// Servers that are compared with each other; the first is the base of the ratios.
struct Group {
    name: &'static str,
    about: &'static str,
    http: bool,
    stateless: bool,
    peers: &'static [Peer],
}

struct Peer {
    name: &'static str,
    program: Program,
    arguments: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Program {
    Diptych,
    BareRmcp,
    TypeScript,
    Floor,
}

const GROUPS: [Group; 3] = [
    Group {
        name: "stdio",
        about: "2025-11-25 over pipes; the base is rmcp's `stdio_pipes()`",
        http: false,
        stateless: false,
        peers: &[
            Peer { name: "bare rmcp", program: Program::BareRmcp, arguments: &[] },
            Peer { name: "TypeScript SDK", program: Program::TypeScript, arguments: &[] },
            Peer { name: "Diptych", program: Program::Diptych, arguments: &[] },
            Peer { name: "floor", program: Program::Floor, arguments: &[] },
        ],
    },
    Group {
        name: "http-2026-07-28",
        about: "HTTP without sessions; the base is rmcp's stateless JSON mode",
        http: true,
        stateless: true,
        peers: &[
            Peer {
                name: "bare rmcp",
                program: Program::BareRmcp,
                arguments: &["--http", "{port}", "--json"],
            },
            Peer { name: "Diptych", program: Program::Diptych, arguments: &["--http", "{port}"] },
            Peer { name: "floor", program: Program::Floor, arguments: &["--http", "{port}"] },
        ],
    },
    Group {
        name: "http-2025-11-25",
        about: "HTTP after a handshake; the base is rmcp's stateless JSON mode",
        http: true,
        stateless: false,
        peers: &[
            Peer {
                name: "bare rmcp",
                program: Program::BareRmcp,
                arguments: &["--http", "{port}", "--json"],
            },
            Peer {
                name: "bare rmcp, sessions",
                program: Program::BareRmcp,
                arguments: &["--http", "{port}"],
            },
            Peer { name: "Diptych", program: Program::Diptych, arguments: &["--http", "{port}"] },
            Peer { name: "floor", program: Program::Floor, arguments: &["--http", "{port}"] },
        ],
    },
];

/// How thorough a run is.
struct Effort {
    rounds: usize,
    cold_starts: usize,
    seconds: &'static str,
    only: Option<String>,
}

/// `cargo xtask bench toolkit …`.
pub(super) fn command(arguments: &[String]) -> Result<bool, String> {
    let effort = parse(arguments)?;
    let mut measurement = Measurement::new("toolkit")?;
    let programs = Programs::build(&mut measurement)?;
    let begin = Instant::now();
    let mut report = String::from("# Speed of the toolkit beside its peers\n");
    let _ = writeln!(
        report,
        "\nMedians of {} alternating rounds in one session, {} cores. Ratios are to the first line of each table; \
         differences under 1.25 times are noise. Every answer's id is checked, every 251st is parsed in full.",
        effort.rounds,
        cores()
    );
    for group in GROUPS.iter().filter(|group| effort.only.as_deref().is_none_or(|only| only == group.name)) {
        eprintln!("measuring {}", group.name);
        report.push_str(&measure_group(group, &programs, &effort, &mut measurement.log)?);
    }
    let _ = writeln!(report, "\nMeasured in {} s.", begin.elapsed().as_secs());
    measurement.keep(&report)
}

fn parse(arguments: &[String]) -> Result<Effort, String> {
    let mut effort = Effort { rounds: 3, cold_starts: 10, seconds: "1.0", only: None };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match (word.as_str(), words.as_slice().first()) {
            ("--quick", _) => effort = Effort { rounds: 1, cold_starts: 3, seconds: "0.5", ..effort },
            ("--rounds", Some(rounds)) => {
                effort.rounds = rounds
                    .parse()
                    .ok()
                    .filter(|rounds| *rounds > 0)
                    .ok_or_else(|| format!("{rounds:?} is no number of rounds"))?;
                words.next();
            }
            ("--only", Some(name)) if GROUPS.iter().any(|group| group.name == *name) => {
                effort.only = Some((*name).clone());
                words.next();
            }
            _ => return Err(format!("{word:?} is not understood here\n\n{HELP}")),
        }
    }
    Ok(effort)
}

/// The programs, built for release.
struct Programs {
    load: PathBuf,
    floor: PathBuf,
    bare_rmcp: PathBuf,
    diptych: PathBuf,
    /// Node, the script, and where the script finds its SDK.
    node: PathBuf,
    script: PathBuf,
    typescript_sdk: PathBuf,
}

impl Programs {
    fn build(measurement: &mut Measurement) -> Result<Programs, String> {
        let bench = target_folder(&measurement.target);
        let mut peers = cargo();
        peers.current_dir(measurement.root.join("bench")).env("CARGO_TARGET_DIR", &bench);
        peers.args(["build", "--release"]);
        measurement.build_with(peers)?;
        // As it would be shipped; bare rmcp is built with link-time optimisation too.
        measurement.build(&["build", "--profile", "dist", "--package", "diptych", "--example", "bench"])?;
        let Measurement { root, target, log, .. } = measurement;
        let cache = Cache::find()?;
        let program = |name: &str| bench.join("release").join(name);
        Ok(Programs {
            load: program("load"),
            floor: program("floor"),
            bare_rmcp: program("bare-rmcp"),
            diptych: target.join("dist/examples/bench"),
            node: cache.node(log)?,
            script: root.join("bench/typescript/server.mjs"),
            typescript_sdk: cache.typescript_sdk(log)?,
        })
    }

    /// How a peer is started.
    fn command(&self, program: Program) -> Vec<&Path> {
        match program {
            Program::Diptych => vec![&self.diptych],
            Program::BareRmcp => vec![&self.bare_rmcp],
            Program::TypeScript => vec![&self.node, &self.script],
            Program::Floor => vec![&self.floor],
        }
    }
}

fn measure_group(
    group: &Group,
    programs: &Programs,
    effort: &Effort,
    log: &mut Log,
) -> Result<String, String> {
    let peers = group.peers;
    let load = |arguments: &[&str], peer: &Peer, on_one_core: bool| {
        let mut command = Command::new(if on_one_core { Path::new("taskset") } else { &programs.load });
        if on_one_core {
            command.args(["--cpu-list", "0"]).arg(&programs.load);
        }
        if group.http {
            command.arg("--http");
        }
        if group.stateless {
            command.arg("--stateless");
        }
        command.args(arguments).arg("--").args(programs.command(peer.program)).args(peer.arguments);
        command.env("RUST_LOG", "warn").env("MCP_SDK", &programs.typescript_sdk);
        command
    };

    let mut cold: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for _ in 0..effort.cold_starts {
        for (index, peer) in peers.iter().enumerate() {
            let report = run(log, load(&["--cold", "1", "--in-flight", ""], peer, false))?;
            cold[index].extend(report["cold_ms"].as_array().into_iter().flatten().filter_map(Value::as_f64));
        }
    }

    let mut text = format!("\n## {}\n\n{}\n", group.name, group.about);
    for (tool, arguments) in TOOLS {
        let mut runs: Vec<Vec<Value>> = vec![Vec::new(); peers.len()];
        for round in 0..effort.rounds {
            let mut order: Vec<usize> = (0..peers.len()).collect();
            // ABAB, then BABA: what drifts, drifts for all.
            if round % 2 == 1 {
                order.reverse();
            }
            for index in order {
                let options = ["--tool", tool, "--arguments", arguments, "--seconds", effort.seconds];
                let mut measured = quiet_run(log, || load(&options, &peers[index], false))?;
                let options = [&options[..], &["--in-flight", "1"]].concat();
                let mut on_one_core = quiet_run(log, || load(&options, &peers[index], true))?;
                measured[ON_ONE_CORE] = on_one_core["at_1"].take();
                runs[index].push(measured);
            }
        }
        let rows: Vec<Measured<'_>> = peers
            .iter()
            .zip(&cold)
            .zip(&runs)
            .map(|((peer, cold), runs)| Measured { name: peer.name, cold, runs })
            .collect();
        text.push_str(&table(tool, &rows));
    }
    Ok(text)
}

/// The run that others disturbed least, of a few.
fn quiet_run(log: &mut Log, command: impl Fn() -> Command) -> Result<Value, String> {
    let mut best: Option<Value> = None;
    for _ in 0..TRIES {
        let report = run(log, command())?;
        let disturbed = foreign(&report);
        if best.as_ref().is_none_or(|best| disturbed < foreign(best)) {
            best = Some(report);
        }
        if disturbed < FOREIGN {
            break;
        }
    }
    best.ok_or_else(|| "nothing was measured".to_owned())
}

fn run(log: &mut Log, command: Command) -> Result<Value, String> {
    let output = log.capture(command, RUN_LIMIT)?.expect("a measurement")?;
    serde_json::from_str(&output).map_err(|error| format!("the load generator's report is not JSON: {error}"))
}

/// The largest share of the machine that others used in any part of a run.
fn foreign(report: &Value) -> f64 {
    let shares = PARTS.iter().filter_map(|part| report[part]["foreign"].as_f64());
    shares.fold(0.0, f64::max)
}

struct Measured<'a> {
    name: &'a str,
    cold: &'a [f64],
    runs: &'a [Value],
}

impl Measured<'_> {
    fn median(&self, part: &str, key: &str) -> Option<f64> {
        median(self.runs.iter().filter_map(|run| run[part][key].as_f64()).collect())
    }

    fn top(&self, key: &str) -> Option<f64> {
        median(self.runs.iter().filter_map(|run| run[key].as_f64()).collect())
    }

    fn wrong(&self) -> u64 {
        let parts = self.runs.iter().flat_map(|run| PARTS.iter().map(move |part| &run[part]));
        parts.filter_map(|part| part["wrong"].as_u64()).sum()
    }
}

fn table(tool: &str, rows: &[Measured<'_>]) -> String {
    let mut text = format!("\n### {tool}\n\n| server | first answer ms | p50 / p99 µs |");
    for part in &PARTS[1..] {
        let _ = write!(text, " calls/s {} |", part.replace('_', " "));
    }
    let _ =
        writeln!(text, " server CPU µs a call at 256 | RSS idle / after MB | bytes | wrong | others' CPU |");
    let _ = writeln!(text, "|---|{}", "---:|".repeat(6 + PARTS.len()));
    let Some(base) = rows.first() else { return text };
    for row in rows {
        let _ = write!(
            text,
            "| {} | {} | {} / {} |",
            row.name,
            number(median(row.cold.to_vec()), 1),
            number(row.median("alone", "p50_us"), 0),
            number(row.median("alone", "p99_us"), 0)
        );
        for part in &PARTS[1..] {
            let (own, other) = (row.median(part, "per_second"), base.median(part, "per_second"));
            let _ = write!(text, " {} ({}) |", number(own, 0), ratio(own, other));
        }
        let (own, other) = (row.median("at_256", "server_cpu_us"), base.median("at_256", "server_cpu_us"));
        let megabytes = |key: &str| number(row.top(key).map(|kilobytes| kilobytes / 1024.0), 1);
        let disturbed = row.runs.iter().map(foreign).fold(0.0, f64::max) * 100.0;
        let _ = writeln!(
            text,
            " {} ({}) | {} / {} | {} | {} | {disturbed:.0} % |",
            number(own, 1),
            ratio(own, other),
            megabytes("rss_idle_kb"),
            megabytes("rss_after_kb"),
            number(row.median("at_1", "bytes"), 0),
            row.wrong()
        );
    }
    for row in rows {
        let mut parts = row.runs.iter().flat_map(|run| PARTS.iter().map(move |part| &run[part]));
        if let Some(what) = parts.find_map(|part| part["first_wrong"].as_str()) {
            let _ = writeln!(text, "\n{} answered wrongly: `{}`", row.name, what.replace('`', "'"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_has_a_row_for_each_server_with_ratios_to_the_first() {
        let run = |speed: f64| {
            let at = json!({"per_second": speed, "server_cpu_us": 10.0, "foreign": 0.02, "bytes": 120.0, "wrong": 0});
            json!({"alone": {"p50_us": 70.0, "p99_us": 100.0, "wrong": 0}, ON_ONE_CORE: at, "at_1": at,
                "at_32": at, "at_256": at, "rss_idle_kb": 6144, "rss_after_kb": 8192})
        };
        let (slow, fast) = ([run(1000.0)], [run(2500.0)]);
        let rows = [
            Measured { name: "bare rmcp", cold: &[2.5], runs: &slow },
            Measured { name: "Diptych", cold: &[3.0], runs: &fast },
        ];
        let text = table("echo", &rows);
        assert!(text.contains("| Diptych | 3.0 | 70 / 100 | 2,500 (2.50×) |"), "{text}");
        assert!(text.contains(" 10.0 (1.00×) | 6.0 / 8.0 | 120 | 0 | 2 % |"), "{text}");
    }

    #[test]
    fn options_are_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let effort = parse(&words("--quick --only stdio")).unwrap();
        assert_eq!((effort.rounds, effort.only.as_deref()), (1, Some("stdio")));
        assert_eq!(parse(&words("--rounds 5")).unwrap().rounds, 5);
        assert!(parse(&words("--only nothing")).is_err());
        assert!(parse(&words("--rounds 0")).is_err());
    }
}
