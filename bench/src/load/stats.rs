//! What came back, and how long it took.

use std::time::Instant;

use serde_json::{Value, json};

use super::request::{is_error, response_id, verify};

/// Every so many answers are parsed in full; a prime, so that it falls in step with nothing.
const VERIFY_EVERY: usize = 251;

/// The answers of one run.
#[derive(Debug)]
pub(super) struct Stats {
    begin: Instant,
    seconds: f64,
    /// Nanoseconds of each call.
    latencies: Vec<u32>,
    bytes: u64,
    wrong: u64,
    first_wrong: Option<String>,
}

impl Stats {
    pub(super) fn begin() -> Stats {
        Stats {
            begin: Instant::now(),
            seconds: 0.0,
            latencies: Vec::with_capacity(1 << 16),
            bytes: 0,
            wrong: 0,
            first_wrong: None,
        }
    }

    pub(super) fn begun(&self) -> Instant {
        self.begin
    }

    pub(super) fn calls(&self) -> usize {
        self.latencies.len()
    }

    /// Takes the answer to the call `id`, sent at `sent`.
    pub(super) fn answer(&mut self, answer: &[u8], id: u64, sent: Instant) {
        self.latencies.push(sent.elapsed().as_nanos().try_into().unwrap_or(u32::MAX));
        self.bytes += answer.len() as u64;
        let problem = if response_id(answer) != Some(id) {
            Some("the id is not the call's".to_owned())
        } else if is_error(answer) {
            Some("an error".to_owned())
        } else if self.latencies.len() % VERIFY_EVERY == 1 {
            verify(answer).err()
        } else {
            None
        };
        if let Some(problem) = problem {
            self.wrong += 1;
            let start = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
            self.first_wrong.get_or_insert(format!("{problem}: {start}"));
        }
    }

    pub(super) fn end(mut self) -> Stats {
        self.seconds = self.begin.elapsed().as_secs_f64();
        self
    }

    pub(super) fn report(mut self) -> Value {
        self.latencies.sort_unstable();
        let last = self.latencies.len().saturating_sub(1) as f64;
        let quantile =
            |share: f64| self.latencies.get((last * share) as usize).map(|nanos| f64::from(*nanos) / 1e3);
        let calls = self.latencies.len() as f64;
        json!({
            "calls": calls,
            "per_second": calls / self.seconds,
            "p50_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "bytes": self.bytes as f64 / calls.max(1.0),
            "wrong": self.wrong,
            "first_wrong": self.first_wrong,
        })
    }
}
