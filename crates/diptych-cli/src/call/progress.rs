//! Progress, as a bar on the terminal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use diptych::client::Notice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{can_ask, note, tame};

/// How finely the bar is drawn.
const STEPS: u64 = 1000;

/// A progress bar that appears with the first word of progress. Clones are the same bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    bar: Option<ProgressBar>,
    /// Something else is on the terminal.
    aside: bool,
}

impl Progress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what the server says.
    pub(crate) fn show(&self, notice: &Notice) {
        match notice {
            Notice::Progress { done, total, message } => {
                let mut state = self.state();
                if state.aside {
                    return;
                }
                // Drawn on standard error, and not at all when that is no terminal.
                let bar = state
                    .bar
                    .get_or_insert_with(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
                if let Some(message) = message {
                    bar.set_message(tame(message).replace('\n', " "));
                }
                move_to(bar, *done, *total);
            }
            Notice::Log(data) if can_ask() => {
                let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
                self.done();
                note(&tame(&text));
            }
            _ => {}
        }
    }

    /// Keeps the bar away while something else is on the terminal. No lock is held meanwhile: Ctrl-C takes the
    /// bar away as well.
    pub(crate) fn aside<T>(&self, run: impl FnOnce() -> T) -> T {
        self.done();
        self.state().aside = true;
        let result = run();
        self.state().aside = false;
        result
    }

    /// Takes the bar away; the next word of progress brings it back.
    pub(crate) fn done(&self) {
        if let Some(bar) = self.state().bar.take() {
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
