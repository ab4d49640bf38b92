//! What the machine spends: on the server, on us, and on anybody else meanwhile.

use std::fs;
use std::process::Child;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

/// The kernel counts processor time in hundredths of a second on every Linux of today.
const TICK_US: f64 = 1e4;

/// Asks the server to end.
pub(super) fn terminate(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// The memory that the process holds, in KB.
pub(super) fn resident_kb(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok())
}

/// Processor time so far, in µs.
#[derive(Debug)]
pub(super) struct Usage {
    at: Instant,
    pub(super) server_us: f64,
    pub(super) client_us: f64,
    machine_us: f64,
    wall_us: f64,
}

impl Usage {
    pub(super) fn now(server: u32) -> Usage {
        Usage {
            at: Instant::now(),
            server_us: process_us(&server.to_string()),
            client_us: process_us("self"),
            machine_us: machine_us(),
            wall_us: 0.0,
        }
    }

    pub(super) fn since(self, before: &Usage) -> Usage {
        Usage {
            server_us: self.server_us - before.server_us,
            client_us: self.client_us - before.client_us,
            machine_us: self.machine_us - before.machine_us,
            wall_us: (self.at - before.at).as_secs_f64() * 1e6,
            at: self.at,
        }
    }

    /// The share of the machine that others used: what makes a measurement doubtful.
    pub(super) fn foreign_share(&self) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        ((self.machine_us - self.server_us - self.client_us) / self.wall_us / cores).max(0.0)
    }
}

fn process_us(process: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th field after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK_US
}

/// All that is not idle or waiting for a disk, including what a host took away.
fn machine_us() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let fields: Vec<f64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|ticks| ticks.parse().ok())
        .collect();
    let idle: f64 = fields.iter().skip(3).take(2).sum();
    (fields.iter().sum::<f64>() - idle) * TICK_US
}
