//! The settings of calls that leave the machine, and the waits that follow from them.

use std::time::Duration;

use backon::{Backoff, BackoffBuilder, ConstantBuilder, ExponentialBuilder};

/// How calls to the outside are made. Plain numbers, all settable:
/// `Policy { attempts: 5, ..Policy::default() }`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// The time limit of one attempt (10 s).
    pub timeout: Duration,
    /// How many attempts a call has, the first included (3). Zero is read as one.
    pub attempts: usize,
    /// The wait before the second attempt (1 s).
    pub first_wait: Duration,
    /// What each further wait is multiplied by (2).
    pub factor: f32,
    /// The most that chance adds to a wait, so that many callers do not return at the same moment (1 s).
    pub jitter: Duration,
    /// Where the waits stop growing; a host that asks for more than this is not waited for (60 s).
    pub longest_wait: Duration,
    /// How many failed attempts in a row open the breaker (3). Zero is read as one.
    pub failures_to_open: u32,
    /// How long the breaker stays open before it lets one attempt through (30 s).
    pub open_for: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            attempts: 3,
            first_wait: Duration::from_secs(1),
            factor: 2.0,
            jitter: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            failures_to_open: 3,
            open_for: Duration::from_secs(30),
        }
    }
}

impl Policy {
    /// The waits between attempts, without jitter.
    pub(super) fn waits(&self) -> impl Backoff + use<> {
        ExponentialBuilder::new()
            .with_min_delay(self.first_wait.min(self.longest_wait))
            .with_factor(self.factor)
            .with_max_delay(self.longest_wait)
            .with_max_times(self.attempts.saturating_sub(1))
            .build()
    }

    /// What chance adds to each wait. Backon's own jitter grows with the wait (up to its double) and ours is
    /// bounded, so a constant backoff of a second, which yields from one up to two, serves as the dice.
    pub(super) fn jitters(&self) -> impl Iterator<Item = Duration> + Send + Sync + Unpin + use<> {
        let size = self.jitter;
        let second = Duration::from_secs(1);
        let dice = ConstantBuilder::new().with_delay(second).with_jitter().without_max_times().build();
        dice.map(move |thrown| size.mul_f64(thrown.saturating_sub(second).as_secs_f64()))
    }
}
