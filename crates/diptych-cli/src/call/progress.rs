//! Progress, as a bar on the terminal.

use diptych::client::Notice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{can_ask, note, tame};

/// How finely the bar is drawn.
const STEPS: f64 = 1000.0;

/// A progress bar that appears with the first word of progress. Clones are the same bar.
#[derive(Debug, Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Self {
        // Drawn on standard error, and not at all when that is no terminal.
        Progress(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()))
    }

    /// Shows what the server says.
    pub(crate) fn show(&self, notice: &Notice) {
        match notice {
            Notice::Progress { done, total, message } => {
                match total.filter(|total| *total > 0.0) {
                    Some(total) => {
                        self.style("{bar:24.cyan} {percent:>3}% {wide_msg}");
                        #[allow(
                            clippy::cast_possible_truncation,
                            clippy::cast_sign_loss,
                            reason = "between 0 and STEPS"
                        )]
                        let steps = (done / total * STEPS).clamp(0.0, STEPS) as u64;
                        #[allow(
                            clippy::cast_possible_truncation,
                            clippy::cast_sign_loss,
                            reason = "a constant"
                        )]
                        self.0.set_length(STEPS as u64);
                        self.0.set_position(steps);
                    }
                    None => {
                        self.style("{spinner:.cyan} {wide_msg}");
                        self.0.tick();
                    }
                }
                if let Some(message) = message {
                    self.0.set_message(tame(message).replace('\n', " "));
                }
            }
            Notice::Log(data) => {
                let text = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
                if can_ask() {
                    self.aside(|| note(&tame(&text)));
                }
            }
            _ => {}
        }
    }

    fn style(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
    }

    /// Takes the bar away while something else is on the terminal.
    pub(crate) fn aside<T>(&self, run: impl FnOnce() -> T) -> T {
        self.0.suspend(run)
    }

    /// Takes the bar away for good.
    pub(crate) fn done(&self) {
        self.0.finish_and_clear();
    }
}
