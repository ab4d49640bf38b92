//! The log, on standard error.

use tracing_subscriber::filter::{EnvFilter, FilterExt as _, FilterFn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::{Failure, Outcome};
use crate::settings::{LOG, Origin, Settings};

/// Starts logging as the settings say.
pub(crate) fn start(settings: &Settings, serving: bool) -> Outcome<()> {
    let mut wanted = settings.text(&LOG).unwrap_or_default().to_owned();
    // As a client we say ourselves what went wrong; the protocol's own words are for those who ask for them.
    if !serving && settings.origin(&LOG) == Origin::Default {
        wanted.push_str(&format!(",{}=off", diptych::PROTOCOL_LOG));
    }
    let filter = EnvFilter::try_new(wanted).map_err(|error| {
        Failure::usage(format!("{} is not a log filter: {error}.", settings.named(&LOG)))
            .hint("Use a level such as `info`, or one for each module, such as `warn,diptych=debug`.")
    })?;
    let discreet = FilterFn::new(diptych::is_discreet);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(console::colors_enabled_stderr())
        .with_filter(filter.and(discreet));
    // A second start in one process would be a mistake of ours, and harmless.
    let _ = tracing_subscriber::registry().with(layer).try_init();
    Ok(())
}
