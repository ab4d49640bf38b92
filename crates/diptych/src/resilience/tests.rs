//! The rules of calls that leave the machine, on a clock that does not take its time.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::{Instant, advance, sleep};

use super::*;

/// An HTTP status and its `Retry-After`, the commonest error of the outside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("status {0}, token=hunter2")]
struct Status(u16, Option<Duration>);

impl Classify for Status {
    fn class(&self) -> Class {
        Class::of_status(self.0, self.1)
    }
}

const fn status(code: u16) -> Status {
    Status(code, None)
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A host that answers from a script, then with 200, and remembers when it was called.
#[derive(Clone, Default)]
struct Script {
    replies: Arc<Mutex<Vec<Status>>>,
    calls: Arc<Mutex<Vec<Instant>>>,
}

impl Script {
    fn new(replies: impl IntoIterator<Item = Status>) -> Self {
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.reverse();
        Self { replies: Arc::new(Mutex::new(replies)), ..Self::default() }
    }

    async fn reply(&self) -> Result<&'static str, Status> {
        self.calls.lock().unwrap().push(Instant::now());
        self.replies.lock().unwrap().pop().map_or(Ok("ok"), Err)
    }

    fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    /// The time between one call and the next.
    fn gaps(&self) -> Vec<Duration> {
        self.calls.lock().unwrap().windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

fn outside() -> Outside {
    Outside::new("test service", Policy::default())
}

/// A service whose breaker has just opened.
async fn opened() -> Outside {
    let outside = outside();
    let script = Script::new([status(500), status(500), status(500)]);
    outside.call(|| script.reply()).await.unwrap_err();
    assert_eq!(outside.breaker().state(), BreakerState::Open);
    outside
}

fn assert_within(actual: Duration, least: Duration, most: Duration) {
    // Tokio's timer is exact to the millisecond, rounded up.
    let most = most + Duration::from_millis(2);
    assert!((least..=most).contains(&actual), "{actual:?} is not within {least:?} and {most:?}");
}

#[tokio::test(start_paused = true)]
async fn a_success_is_one_attempt() {
    let script = Script::default();
    assert_eq!(outside().call(|| script.reply()).await, Ok("ok"));
    assert_eq!(script.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_host_is_asked_three_times_with_growing_waits() {
    let script = Script::new([status(502), status(502), status(503)]);
    assert_eq!(outside().call(|| script.reply()).await, Err(Failure::Failed(status(503))));
    let gaps = script.gaps();
    assert_eq!(gaps.len(), 2);
    assert_within(gaps[0], seconds(1), seconds(2));
    assert_within(gaps[1], seconds(2), seconds(3));
}

#[tokio::test(start_paused = true)]
async fn a_passing_fault_is_not_seen_by_the_caller() {
    let outside = outside();
    let script = Script::new([status(500), status(500)]);
    assert_eq!(outside.call(|| script.reply()).await, Ok("ok"));
    // The row of failures is over: two more do not open the breaker.
    let script = Script::new([status(500), status(500)]);
    assert_eq!(outside.call(|| script.reply()).await, Ok("ok"));
}

#[tokio::test(start_paused = true)]
async fn not_found_is_neither_retried_nor_held_against_the_host() {
    let outside = outside();
    for _ in 0..10 {
        let script = Script::new([status(404)]);
        let failure = outside.call(|| script.reply()).await.unwrap_err();
        assert_eq!(failure, Failure::Failed(status(404)));
        assert!(!failure.is_retryable());
        assert_eq!(script.count(), 1);
    }
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_is_retried_when_the_host_says_and_not_held_against_it() {
    let outside = outside();
    let busy = Status(429, Some(seconds(7)));
    let script = Script::new(vec![busy.clone(); 3]);
    let failure = outside.call(|| script.reply()).await.unwrap_err();
    assert_eq!(failure, Failure::Failed(busy));
    assert_eq!(failure.retry_after(), Some(seconds(7)));
    assert!(failure.is_retryable());
    for gap in script.gaps() {
        assert_within(gap, seconds(7), seconds(8));
    }
    assert_eq!(script.count(), 3);
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_asks_for_an_hour_is_not_waited_for() {
    let started = Instant::now();
    let script = Script::new([Status(429, Some(seconds(3600)))]);
    let failure = outside().call(|| script.reply()).await.unwrap_err();
    assert_eq!(failure.retry_after(), Some(seconds(3600)));
    assert_eq!((script.count(), started.elapsed()), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_host_is_given_the_time_it_asks_for_and_counted() {
    let outside = outside();
    let script = Script::new(vec![Status(503, Some(seconds(4))); 3]);
    outside.call(|| script.reply()).await.unwrap_err();
    assert_within(script.gaps()[0], seconds(4), seconds(5));
    assert_eq!(outside.breaker().state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_its_own_time_limit_and_timeouts_count() {
    let outside = outside();
    let attempts = AtomicUsize::new(0);
    let started = Instant::now();
    let failure = outside
        .call(|| {
            attempts.fetch_add(1, Ordering::SeqCst);
            pending::<Result<(), Status>>()
        })
        .await
        .unwrap_err();
    assert_eq!(failure, Failure::TimedOut { limit: seconds(10) });
    assert!(failure.is_retryable());
    assert_eq!(attempts.load(Ordering::SeqCst), 3);
    assert_within(started.elapsed(), seconds(33), seconds(35) + Duration::from_millis(6));
    assert_eq!(outside.breaker().state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_can_be_given_more_time() {
    let slow = || async {
        sleep(seconds(20)).await;
        Ok::<_, Status>("uploaded")
    };
    assert_eq!(outside().within(seconds(60)).call(slow).await, Ok("uploaded"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_must_not_happen_twice_does_not() {
    let outside = outside();
    let script = Script::new([status(500)]);
    assert_eq!(outside.once().call(|| script.reply()).await, Err(Failure::Failed(status(500))));
    assert_eq!(script.count(), 1);
    // It shares the breaker with the service it came from.
    for _ in 0..2 {
        outside.once().call(|| async { Err::<(), _>(status(500)) }).await.unwrap_err();
    }
    assert_eq!(outside.breaker().state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_answers_without_calling_and_says_when_to_return() {
    let outside = opened().await;
    advance(seconds(12)).await;
    let script = Script::default();
    let failure = outside.call(|| script.reply()).await.unwrap_err();
    assert_eq!(failure, Failure::Open { retry_after: seconds(18) });
    assert_eq!(failure.to_string(), "Service temporarily unavailable");
    assert_eq!(failure.retry_after(), Some(seconds(18)));
    assert!(failure.is_retryable());
    assert_eq!(script.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_good_probe_closes_the_breaker() {
    let outside = opened().await;
    advance(seconds(30)).await;
    let script = Script::default();
    assert_eq!(outside.call(|| script.reply()).await, Ok("ok"));
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_bad_probe_opens_it_again_at_once_and_is_not_retried() {
    let outside = opened().await;
    advance(seconds(30)).await;
    let probed = Instant::now();
    let script = Script::new(vec![status(500); 3]);
    // The caller gets the error it met, not "unavailable", and does not sleep for a refusal.
    assert_eq!(outside.call(|| script.reply()).await, Err(Failure::Failed(status(500))));
    assert_eq!((script.count(), probed.elapsed()), (1, Duration::ZERO));
    assert_eq!(outside.breaker().refuses_for(), seconds(30));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_refused_closes_the_breaker_for_the_host_answers() {
    let outside = opened().await;
    advance(seconds(30)).await;
    outside.call(|| async { Err::<(), _>(status(404)) }).await.unwrap_err();
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_left_teaches_nothing() {
    let outside = opened().await;
    advance(seconds(30)).await;
    outside.call_with(|()| Class::LOCAL, || async { Err::<(), ()>(()) }).await.unwrap_err();
    assert_eq!(outside.breaker().state(), BreakerState::Open);
    assert_eq!(outside.breaker().refuses_for(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn of_many_callers_one_is_the_probe() {
    let outside = opened().await;
    advance(seconds(30)).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..100)
        .map(|_| {
            let (outside, sent) = (outside.clone(), Arc::clone(&sent));
            tokio::spawn(async move {
                let operation = || async {
                    sent.fetch_add(1, Ordering::SeqCst);
                    sleep(seconds(1)).await;
                    Ok::<_, Status>(())
                };
                outside.call(operation).await
            })
        })
        .collect();
    let mut answered = 0;
    for caller in callers {
        match caller.await.unwrap() {
            Ok(()) => answered += 1,
            Err(failure) => assert_eq!(failure, Failure::Open { retry_after: seconds(1) }),
        }
    }
    assert_eq!((answered, sent.load(Ordering::SeqCst)), (1, 1));
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[test]
fn of_many_threads_one_is_the_probe() {
    let breaker = Breaker::new(1, Duration::ZERO);
    breaker.admit().ok().unwrap().report(Host::Failing, "test service");
    let start = std::sync::Barrier::new(8);
    let permits: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    breaker.admit().ok()
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(permits.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_leaves_its_place_to_the_next_caller() {
    let outside = opened().await;
    advance(seconds(30)).await;
    let probe = outside.call(|| async {
        pending::<()>().await;
        Ok::<_, Status>(())
    });
    tokio::time::timeout(seconds(2), probe).await.unwrap_err();
    let script = Script::default();
    assert_eq!(outside.call(|| script.reply()).await, Ok("ok"));
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_known_to_be_under_way_until_it_is_cancelled() {
    let outside = opened().await;
    advance(seconds(30)).await;
    let probe = tokio::spawn({
        let outside = outside.clone();
        async move { outside.call(pending::<Result<(), Status>>).await }
    });
    tokio::task::yield_now().await;
    assert_eq!(outside.breaker().state(), BreakerState::HalfOpen);
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    assert_eq!(outside.breaker().state(), BreakerState::Open);
    assert_eq!(outside.breaker().refuses_for(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_panics_does_not_block_the_next() {
    let outside = opened().await;
    advance(seconds(30)).await;
    let probe = tokio::spawn({
        let outside = outside.clone();
        async move {
            let operation = || async {
                if true {
                    panic!("on purpose");
                }
                Ok::<_, Status>(())
            };
            outside.call(operation).await
        }
    });
    assert!(probe.await.unwrap_err().is_panic());
    let script = Script::default();
    assert_eq!(outside.call(|| script.reply()).await, Ok("ok"));
}

#[tokio::test(start_paused = true)]
async fn cancelled_calls_are_no_failures() {
    let outside = outside();
    for _ in 0..10 {
        let call = outside.call(pending::<Result<(), Status>>);
        tokio::time::timeout(seconds(1), call).await.unwrap_err();
    }
    assert_eq!(outside.breaker().state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn news_from_before_the_breaker_opened_changes_nothing() {
    let breaker = Breaker::new(1, seconds(30));
    let [good, bad, during_probe, dropped_during_probe, after_probe, opens] =
        [(); 6].map(|()| breaker.admit().ok().unwrap());
    opens.report(Host::Failing, "test service");
    advance(seconds(10)).await;
    good.report(Host::Answering, "test service");
    assert_eq!(breaker.state(), BreakerState::Open);
    bad.report(Host::Failing, "test service");
    assert_eq!(breaker.refuses_for(), seconds(20));
    advance(seconds(20)).await;
    let probe = breaker.admit().ok().unwrap();
    during_probe.report(Host::Answering, "test service");
    drop(dropped_during_probe);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    probe.report(Host::Answering, "test service");
    after_probe.report(Host::Failing, "test service");
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_slept_through_the_opening_is_refused() {
    let outside = outside();
    let script = Script::new(vec![status(500); 5]);
    let first = outside.call(|| script.reply());
    let second = async {
        sleep(Duration::from_millis(500)).await;
        for _ in 0..2 {
            outside.once().call(|| script.reply()).await.unwrap_err();
        }
    };
    let (first, ()) = tokio::join!(first, second);
    assert!(matches!(first, Err(Failure::Open { .. })), "{first:?}");
    assert_eq!(script.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn numbers_that_make_no_sense_are_read_as_the_nearest_that_do() {
    let policy = Policy { attempts: 0, failures_to_open: 0, factor: f32::NAN, ..Policy::default() };
    let outside = Outside::new("test service", policy);
    let script = Script::new([status(500)]);
    assert_eq!(outside.call(|| script.reply()).await, Err(Failure::Failed(status(500))));
    assert_eq!(outside.breaker().state(), BreakerState::Open);
    let endless = Policy { jitter: Duration::MAX, open_for: Duration::MAX, ..policy };
    assert!(endless.jitters().take(100).count() == 100);
    let outside = Outside::new("test service", endless);
    outside.call(|| async { Err::<(), _>(status(500)) }).await.unwrap_err();
    assert_eq!(outside.breaker().refuses_for(), Duration::MAX);
}

#[test]
fn statuses_have_the_classes_the_contract_gives_them() {
    for (code, class, name) in [
        (400, Class::REFUSED, "refused"),
        (401, Class::REFUSED, "refused"),
        (404, Class::REFUSED, "refused"),
        (408, Class::BUSY, "busy"),
        (429, Class::BUSY, "busy"),
        (500, Class::BROKEN, "broken"),
        (503, Class::BROKEN, "broken"),
    ] {
        assert_eq!((Class::of_status(code, None), class.to_string().as_str()), (class, name), "{code}");
    }
    let wait = seconds(3);
    assert_eq!(Class::of_status(404, Some(wait)), Class::REFUSED);
    assert_eq!(Class::of_status(503, Some(wait)).retry, Retry::After(wait));
    assert_eq!(Class::of_status(503, Some(wait)).host, Host::Failing);
}

#[test]
fn the_log_has_the_class_and_never_the_error() {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let scenario = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let outside = opened().await;
            outside.call(|| async { Ok::<_, Status>(()) }).await.unwrap_err();
            advance(seconds(30)).await;
            outside.call(|| async { Ok::<_, Status>(()) }).await.unwrap();
        });
    };
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        // An event that another test's thread meets first is held to interest nobody, since nobody listens
        // on that thread: meet them all, have the interest asked for anew on this thread, and begin again.
        scenario();
        tracing::callsite::rebuild_interest_cache();
        scenario();
    });
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for expected in [
        "attempt failed service=\"test service\" attempt=3 class=broken timed_out=false",
        "trying again service=\"test service\"",
        "WARN",
        "breaker opened",
        "not called: the breaker is open",
        "breaker closed",
    ] {
        assert!(log.contains(expected), "no {expected:?} in:\n{log}");
    }
    assert!(!log.contains("hunter2"), "{log}");
}

proptest! {
    #[test]
    fn every_wait_is_the_power_plus_at_most_the_jitter(
        first in 0..5_000u64,
        factor in 1..4u8,
        jitter in 0..5_000u64,
        attempts in 1..7usize,
    ) {
        let policy = Policy {
            attempts,
            first_wait: Duration::from_millis(first),
            factor: f32::from(factor),
            jitter: Duration::from_millis(jitter),
            failures_to_open: u32::MAX,
            ..Policy::default()
        };
        let script = Script::new(vec![status(500); attempts]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let outside = Outside::new("test service", policy);
            outside.call(|| script.reply()).await.unwrap_err();
        });
        let gaps = script.gaps();
        prop_assert_eq!(gaps.len(), attempts - 1);
        let mut least = policy.first_wait;
        for gap in gaps {
            assert_within(gap, least, least + policy.jitter);
            least = (least * u32::from(factor)).min(policy.longest_wait);
        }
    }

    #[test]
    fn jitter_is_spread_over_its_whole_range(jitter in 1..100_000u64) {
        let policy = Policy { jitter: Duration::from_millis(jitter), ..Policy::default() };
        let drawn: Vec<_> = policy.jitters().take(200).collect();
        prop_assert!(drawn.iter().all(|drawn| *drawn <= policy.jitter));
        // The chance of two hundred draws on one side of the middle is one in 2^199.
        prop_assert!(drawn.iter().any(|drawn| *drawn > policy.jitter / 2));
        prop_assert!(drawn.iter().any(|drawn| *drawn < policy.jitter / 2));
    }
}
