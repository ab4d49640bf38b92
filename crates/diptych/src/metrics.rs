//! Counts and latencies by tool, for `/metrics`.
//!
//! By hand because it is one struct of atomics and one page of text; a metrics registry would bring more
//! code than it replaces.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// Upper bounds of the latency buckets, in seconds.
const BOUNDS: [f64; 10] = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What is measured about every tool.
#[derive(Default)]
pub(crate) struct Metrics {
    tools: RwLock<BTreeMap<String, Arc<Series>>>,
}

#[derive(Default)]
struct Series {
    calls: AtomicU64,
    errors: AtomicU64,
    micros: AtomicU64,
    buckets: [AtomicU64; BOUNDS.len()],
}

impl Metrics {
    pub(crate) fn record(&self, tool: &str, elapsed: Duration, failed: bool) {
        let series = self.series(tool);
        series.calls.fetch_add(1, Ordering::Relaxed);
        if failed {
            series.errors.fetch_add(1, Ordering::Relaxed);
        }
        series.micros.fetch_add(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        let seconds = elapsed.as_secs_f64();
        for (bound, bucket) in BOUNDS.iter().zip(&series.buckets) {
            if seconds <= *bound {
                bucket.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn series(&self, tool: &str) -> Arc<Series> {
        if let Some(series) = self.tools.read().unwrap_or_else(PoisonError::into_inner).get(tool) {
            return Arc::clone(series);
        }
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tools.entry(tool.to_owned()).or_default())
    }

    /// All of it in Prometheus' text format.
    #[cfg_attr(not(feature = "http"), allow(dead_code))]
    pub(crate) fn prometheus(&self) -> String {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        let mut page = String::new();
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        // Writing to a String cannot fail.
        let _ =
            writeln!(page, "# HELP diptych_calls_total Calls by tool.\n# TYPE diptych_calls_total counter");
        for (tool, series) in tools.iter() {
            let _ = writeln!(page, "diptych_calls_total{{tool=\"{tool}\"}} {}", read(&series.calls));
        }
        let _ = writeln!(
            page,
            "# HELP diptych_errors_total Calls that failed, by tool.\n# TYPE diptych_errors_total counter"
        );
        for (tool, series) in tools.iter() {
            let _ = writeln!(page, "diptych_errors_total{{tool=\"{tool}\"}} {}", read(&series.errors));
        }
        let _ = writeln!(
            page,
            "# HELP diptych_call_seconds How long calls took, by tool.\n# TYPE diptych_call_seconds histogram"
        );
        for (tool, series) in tools.iter() {
            for (bound, bucket) in BOUNDS.iter().zip(&series.buckets) {
                let _ = writeln!(
                    page,
                    "diptych_call_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {}",
                    read(bucket)
                );
            }
            let calls = read(&series.calls);
            let _ = writeln!(page, "diptych_call_seconds_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {calls}");
            let seconds = Duration::from_micros(read(&series.micros)).as_secs_f64();
            let _ = writeln!(page, "diptych_call_seconds_sum{{tool=\"{tool}\"}} {seconds}");
            let _ = writeln!(page, "diptych_call_seconds_count{{tool=\"{tool}\"}} {calls}");
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let metrics = Metrics::default();
        metrics.record("echo", Duration::from_millis(2), false);
        metrics.record("echo", Duration::from_secs(2), true);
        let page = metrics.prometheus();
        for line in [
            "diptych_calls_total{tool=\"echo\"} 2",
            "diptych_errors_total{tool=\"echo\"} 1",
            "diptych_call_seconds_bucket{tool=\"echo\",le=\"0.001\"} 0",
            "diptych_call_seconds_bucket{tool=\"echo\",le=\"0.005\"} 1",
            "diptych_call_seconds_bucket{tool=\"echo\",le=\"5\"} 2",
            "diptych_call_seconds_bucket{tool=\"echo\",le=\"+Inf\"} 2",
            "diptych_call_seconds_sum{tool=\"echo\"} 2.002",
        ] {
            assert!(page.lines().any(|one| one == line), "{line} not in\n{page}");
        }
    }
}
