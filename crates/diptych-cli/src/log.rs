//! The log, on standard error.

use tracing_subscriber::filter::{EnvFilter, FilterExt as _, FilterFn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::{Failure, Outcome};
use crate::settings::{LOG, Origin, Settings};

/// What has to last for as long as there is something to log.
#[must_use]
pub(crate) struct Log {
    #[cfg(feature = "telemetry")]
    _telemetry: Option<diptych::Telemetry>,
}

/// Starts logging as the settings say.
pub(crate) fn start(settings: &Settings, serving: bool) -> Outcome<Log> {
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
    let registry = tracing_subscriber::registry().with(layer);
    #[cfg(feature = "telemetry")]
    let telemetry = telemetry()?;
    #[cfg(feature = "telemetry")]
    let registry = registry.with(telemetry.as_ref().map(diptych::Telemetry::layer));
    // A second start in one process would be a mistake of ours, and harmless.
    let _ = registry.try_init();
    Ok(Log {
        #[cfg(feature = "telemetry")]
        _telemetry: telemetry,
    })
}

/// The collector that OpenTelemetry's own variable names.
#[cfg(feature = "telemetry")]
fn telemetry() -> Outcome<Option<diptych::Telemetry>> {
    let Ok(collector) = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT") else { return Ok(None) };
    let telemetry = diptych::Telemetry::new("diptych", &collector).map_err(|error| {
        Failure::usage(error.to_string())
            .hint("OTEL_EXPORTER_OTLP_ENDPOINT is an address such as http://127.0.0.1:4318.")
    })?;
    Ok(Some(telemetry))
}
