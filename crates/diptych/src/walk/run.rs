//! Step 3 of the walk: the author's function, inside a time limit, cancellation and a panic guard.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::stop::{Stop, ToolError};

/// Why the function did not come to an end of its own.
pub(crate) enum Interrupted {
    /// The client cancelled or went away: nobody is listening any more.
    Cancelled,
    /// The server is shutting down.
    Shutdown,
}

/// Runs the function. Past `commit` neither the limit nor a cancel stops it.
pub(crate) async fn guarded<T>(
    call: &Call,
    limit: Duration,
    shutdown: &CancellationToken,
    function: impl FnOnce() -> futures_util::future::BoxFuture<'static, Result<T, Stop>>,
) -> Result<Result<T, Stop>, Interrupted> {
    // The function builds its future: that part can panic as well.
    let mut future = match std::panic::catch_unwind(AssertUnwindSafe(function)) {
        Ok(future) => AssertUnwindSafe(future).catch_unwind(),
        Err(panic) => return Ok(Err(panicked(panic.as_ref()).into())),
    };
    // Most functions are done at once: no timer for those.
    if let Some(done) = (&mut future).now_or_never() {
        return Ok(settled(done));
    }
    let stopped = tokio::select! {
        done = &mut future => return Ok(settled(done)),
        () = tokio::time::sleep(limit) => None,
        () = call.cancelled() => Some(Interrupted::Cancelled),
        () = shutdown.cancelled() => Some(Interrupted::Shutdown),
    };
    if call.is_committed() {
        return Ok(settled(future.await));
    }
    match stopped {
        Some(interrupted) => Err(interrupted),
        None => Ok(Err(timed_out(limit).into())),
    }
}

fn settled<T>(done: Result<Result<T, Stop>, Box<dyn Any + Send>>) -> Result<T, Stop> {
    done.unwrap_or_else(|panic| Err(panicked(panic.as_ref()).into()))
}

/// Guards what an author draws or settles: it is their code, and may panic like any other.
pub(crate) fn guard<T>(draw: impl FnOnce() -> T) -> Result<T, ToolError> {
    std::panic::catch_unwind(AssertUnwindSafe(draw)).map_err(|panic| panicked(panic.as_ref()))
}

pub(crate) fn panicked(panic: &(dyn Any + Send)) -> ToolError {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::masked(&format_args!("the tool panicked: {}", text.unwrap_or("no message")))
}

fn timed_out(limit: Duration) -> ToolError {
    ToolError::server(format!("This took longer than the {} allowed and was stopped.", spoken(limit)))
        .hint("Try again, or ask for less at once.")
}

fn spoken(limit: Duration) -> String {
    if limit < Duration::from_secs(1) {
        format!("{} ms", limit.as_millis())
    } else {
        format!("{} s", limit.as_secs())
    }
}
