//! The circuit breaker: what is known about the health of one host.
//!
//! By hand, because no well-kept crate has the rules needed here. `failsafe`, the one in wide use (last
//! release 2024), lets every caller through while half-open, reads the system clock, so that tests would
//! have to sleep, and does not hear of a call that was dropped; the others are young or unused.
//!
//! ```text
//!             failures in a row               time is over, one caller
//!   Closed ───────────────────────▶ Open ─────────────────────────────▶ HalfOpen
//!     ▲                              ▲ ▲                                 │  │  │
//!     │                              │ └── probe failed ─────────────────┘  │  │
//!     │                              └──── probe dropped (next may go) ─────┘  │
//!     └─────────────────────────────────── probe answered ─────────────────────┘
//! ```
//!
//! Every change of state starts a new epoch. A permit remembers the epoch it was given in, and what it reports is
//! ignored in a later one: an attempt that was sent before the breaker opened can neither close it nor
//! keep it open.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::class::Host;

/// What callers are told to wait while somebody else's probe is under way, whose end nobody knows.
const PROBE_UNDER_WAY: Duration = Duration::from_secs(1);

/// Opens after some failures in a row and refuses calls for a time. A clone is the same breaker.
#[derive(Clone)]
pub struct Breaker {
    shared: Arc<Shared>,
}

struct Shared {
    failures_to_open: u32,
    open_for: Duration,
    current: Mutex<Current>,
}

struct Current {
    epoch: u64,
    state: State,
}

enum State {
    Closed { failures: u32 },
    Open { since: Instant, wait: Duration },
    HalfOpen,
}

/// What a breaker would do with the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Let it through.
    Closed,
    /// Refuse it; once its time is over, let one through as a probe.
    Open,
    /// Refuse it, because a probe is under way.
    HalfOpen,
}

impl Breaker {
    /// A closed breaker that opens after so many failures in a row (at least one), for so long.
    pub fn new(failures_to_open: u32, open_for: Duration) -> Self {
        let current = Mutex::new(Current { epoch: 0, state: State::Closed { failures: 0 } });
        let shared = Shared { failures_to_open: failures_to_open.max(1), open_for, current };
        Self { shared: Arc::new(shared) }
    }

    /// The state at this moment.
    pub fn state(&self) -> BreakerState {
        match self.shared.lock().state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen => BreakerState::HalfOpen,
        }
    }

    /// How long calls are sure to be refused from now on: zero unless the breaker is open.
    pub fn refuses_for(&self) -> Duration {
        match self.shared.lock().state {
            State::Open { since, wait } => wait.saturating_sub(since.elapsed()),
            State::Closed { .. } | State::HalfOpen => Duration::ZERO,
        }
    }

    /// Asks to make one attempt. Refused with the time after which asking again makes sense.
    pub(super) fn admit(&self) -> Result<Permit, Duration> {
        let mut current = self.shared.lock();
        match current.state {
            State::Closed { .. } => {}
            State::HalfOpen => return Err(PROBE_UNDER_WAY),
            State::Open { since, wait } => {
                let left = wait.saturating_sub(since.elapsed());
                if !left.is_zero() {
                    return Err(left);
                }
                current.enter(State::HalfOpen);
            }
        }
        Ok(Permit { shared: Arc::clone(&self.shared), epoch: current.epoch })
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Breaker").field(&self.state()).finish()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Current> {
        // Every change is a single assignment, so a panic elsewhere cannot leave half of one behind.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn enter(&mut self, state: State) {
        self.epoch += 1;
        self.state = state;
    }
}

/// Leave to make one attempt. Dropped without a report (cancelled, panicked, or a fault of our own) it
/// teaches the breaker nothing, and a probe's place goes to the next caller.
pub(super) struct Permit {
    shared: Arc<Shared>,
    epoch: u64,
}

impl Permit {
    /// Tells the breaker what the attempt showed of the host. The name is for the log.
    pub(super) fn report(self, host: Host, name: &str) {
        let mut current = self.shared.lock();
        if current.epoch != self.epoch {
            return;
        }
        let probe = matches!(current.state, State::HalfOpen);
        match (host, &mut current.state) {
            // Left to the drop of the permit, as if it had been cancelled.
            (Host::Unknown, _) | (_, State::Open { .. }) => {}
            (Host::Answering, State::Closed { failures }) => *failures = 0,
            (Host::Answering, State::HalfOpen) => current.enter(State::Closed { failures: 0 }),
            (Host::Failing, State::Closed { failures }) if *failures + 1 < self.shared.failures_to_open => {
                *failures += 1;
            }
            (Host::Failing, State::Closed { .. } | State::HalfOpen) => {
                current.enter(State::Open { since: Instant::now(), wait: self.shared.open_for });
            }
        }
        let changed = current.epoch != self.epoch;
        // Released before the log is written and before `self` is dropped, which locks again.
        drop(current);
        match host {
            Host::Failing if changed => {
                let open_ms = self.shared.open_for.as_millis();
                tracing::warn!(service = name, probe, open_ms, "the service fails: breaker opened");
            }
            Host::Answering if changed => {
                tracing::warn!(service = name, "the service answers again: breaker closed");
            }
            _ => {}
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut current = self.shared.lock();
        if current.epoch == self.epoch && matches!(current.state, State::HalfOpen) {
            current.enter(State::Open { since: Instant::now(), wait: Duration::ZERO });
        }
    }
}
