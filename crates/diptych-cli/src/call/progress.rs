//! Progress, as a bar on the terminal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diptych::client::Notice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{can_ask, note, tame};

/// How finely the bar is drawn.
const STEPS: u64 = 1000;

/// A progress bar that appears with the first word of progress. Clones are the same bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<Option<ProgressBar>>>);

impl Progress {
    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what the server says.
    pub(crate) fn show(&self, notice: &Notice) {
        match notice {
            Notice::Progress { done, total, message } => {
                let mut bar = self.bar();
                // Drawn on standard error, and not at all when that is no terminal.
                let bar = bar
                    .get_or_insert_with(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
                if let Some(message) = message {
                    bar.set_message(tame(message).replace('\n', " "));
                }
                move_to(bar, *done, *total);
            }
            Notice::Log(data) if can_ask() => {
                let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
                self.aside(|| note(&tame(&text)));
            }
            _ => {}
        }
    }

    /// Takes the bar away while something else is on the terminal.
    pub(crate) fn aside<T>(&self, run: impl FnOnce() -> T) -> T {
        let bar = self.bar().clone();
        match bar {
            Some(bar) => bar.suspend(run),
            None => run(),
        }
    }

    /// Takes the bar away for good.
    pub(crate) fn done(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }
}

fn move_to(bar: &ProgressBar, done: f64, total: Option<f64>) {
    let template = match total {
        Some(_) => "{bar:24.cyan} {percent:>3}% {wide_msg}",
        None => "{spinner:.cyan} {wide_msg}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    match total.filter(|total| *total > 0.0) {
        Some(total) => {
            bar.set_length(STEPS);
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and STEPS"
            )]
            bar.set_position((done / total * STEPS as f64).clamp(0.0, STEPS as f64) as u64);
        }
        None => bar.tick(),
    }
}
