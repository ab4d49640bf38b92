//! The log, on standard error.

use tracing_subscriber::filter::{EnvFilter, FilterExt as _, FilterFn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::{Failure, Outcome};
use crate::settings::{LOG, Settings};

/// Starts logging as the settings say.
pub(crate) fn start(settings: &Settings) -> Outcome<()> {
    let wanted = settings.text(&LOG).unwrap_or_default();
    let filter = EnvFilter::try_new(wanted).map_err(|error| {
        Failure::usage(format!("{} is not a log filter: {error}.", settings.named(&LOG)))
            .hint("Use a level such as `info`, or one for each module, such as `warn,diptych=debug`.")
    })?;
    // rmcp writes whole requests and results below `info`, secrets included: never, whatever is asked for.
    let discreet = FilterFn::new(|metadata| {
        !metadata.target().starts_with("rmcp") || *metadata.level() <= tracing::Level::INFO
    });
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(console::colors_enabled_stderr())
        .with_filter(filter.and(discreet));
    // A second start in one process would be a mistake of ours, and harmless.
    let _ = tracing_subscriber::registry().with(layer).try_init();
    Ok(())
}
