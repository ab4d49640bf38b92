//! Spans for an OpenTelemetry collector: every call is one, with its tool, its client and how it ended.
//!
//! ```no_run
//! use tracing_subscriber::layer::SubscriberExt as _;
//! use tracing_subscriber::util::SubscriberInitExt as _;
//!
//! let telemetry = diptych::Telemetry::new("my-server", "http://127.0.0.1:4318")?;
//! tracing_subscriber::registry().with(telemetry.layer()).init();
//! // Serve; what was not sent yet is sent when `telemetry` is dropped.
//! # Ok::<(), diptych::TelemetryError>(())
//! ```

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::registry::LookupSpan;

/// A connection to a collector, which lasts until it is dropped.
#[derive(Debug)]
pub struct Telemetry(SdkTracerProvider);

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("Spans cannot be sent to the collector: {0}.")]
pub struct TelemetryError(String);

impl Telemetry {
    /// Sends spans, as those of this service, to a collector that takes OTLP over HTTP, such as
    /// `http://127.0.0.1:4318`. Nothing is sent before there is a span, and a collector that cannot be reached
    /// only costs its spans.
    ///
    /// # Errors
    /// When the address is not one.
    pub fn new(service: impl Into<String>, collector: &str) -> Result<Self, TelemetryError> {
        crate::tls::prepare();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{}/v1/traces", collector.trim_end_matches('/')))
            .build()
            .map_err(|error| TelemetryError(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(Resource::builder().with_service_name(service.into()).build())
            .build();
        Ok(Telemetry(provider))
    }

    /// The layer that hears of the spans. It takes the toolkit's own and nothing else: what other crates write
    /// may carry whole requests.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let ours = FilterFn::new(|metadata| metadata.is_span() && metadata.target().starts_with("diptych"));
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("diptych")).with_filter(ours)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }
}
