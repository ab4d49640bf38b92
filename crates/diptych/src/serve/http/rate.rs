//! The rate limit: a bucket of tokens for every caller.
//!
//! By hand because it is one map and one formula; the crates for it bring concurrent maps and clocks of
//! their own, and keep callers that are long gone unless they are swept by hand.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Who a bucket belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Subject(String),
    Peer(IpAddr),
}

/// How often a caller may call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) per_minute: u32,
    pub(super) burst: u32,
}

/// The buckets of all callers.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: Rate,
    levels: Mutex<Levels>,
}

#[derive(Debug, Default)]
struct Levels {
    buckets: HashMap<Who, Bucket>,
    /// How many buckets there may be before the full ones are swept out.
    sweep_at: usize,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// So few are not worth sweeping.
const SMALL: usize = 1024;

impl Buckets {
    pub(super) fn new(rate: Rate) -> Self {
        Buckets { rate, levels: Mutex::new(Levels { buckets: HashMap::new(), sweep_at: SMALL }) }
    }

    /// Takes a token, or says how long until there is one.
    pub(super) fn take(&self, who: Who, now: Instant) -> Result<(), Duration> {
        let (per_second, burst) =
            (f64::from(self.rate.per_minute.max(1)) / 60.0, f64::from(self.rate.burst.max(1)));
        let filled = |bucket: &Bucket| {
            burst.min(bucket.tokens + now.saturating_duration_since(bucket.at).as_secs_f64() * per_second)
        };
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.buckets.len() >= levels.sweep_at {
            // A full bucket says as much as none.
            levels.buckets.retain(|_, bucket| filled(bucket) < burst);
            levels.sweep_at = SMALL.max(levels.buckets.len() * 2);
        }
        let bucket = levels.buckets.entry(who).or_insert(Bucket { tokens: burst, at: now });
        bucket.tokens = filled(bucket);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.tokens) / per_second));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u32) -> Who {
        Who::Peer(IpAddr::V4(last.into()))
    }

    #[test]
    fn a_burst_then_the_rate() {
        let buckets = Buckets::new(Rate { per_minute: 60, burst: 3 });
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(buckets.take(peer(1), now), Ok(()));
        }
        assert_eq!(buckets.take(peer(1), now), Err(Duration::from_secs(1)));
        assert_eq!(buckets.take(peer(2), now), Ok(()), "callers do not share a bucket");
        let later = now + Duration::from_secs(2);
        assert_eq!(buckets.take(peer(1), later), Ok(()));
        assert_eq!(buckets.take(peer(1), later), Ok(()));
        assert!(buckets.take(peer(1), later).is_err());
    }

    #[test]
    fn callers_that_are_gone_are_forgotten() {
        let buckets = Buckets::new(Rate { per_minute: 600, burst: 1 });
        let mut now = Instant::now();
        for caller in 0..10_000 {
            now += Duration::from_millis(10);
            assert_eq!(buckets.take(peer(caller), now), Ok(()));
        }
        assert!(buckets.levels.lock().unwrap().buckets.len() <= SMALL);
    }
}
