//! Diptych: a toolkit for MCP servers whose answers have two panels.
//!
//! A tool's answer is shown to people and models as Markdown and to programs as schema-checked JSON, and
//! neither panel ever disagrees with the other. Write one typed function; the toolkit validates, asks for
//! what is missing in whatever way the client can hear, runs safely, renders and checks.
//!
//! ```
//! use diptych::{Cx, Server, Stop, Text, Toolset, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Echo {
//!     /// What to say back.
//!     message: String,
//! }
//!
//! async fn echo(_cx: Cx, arguments: Echo) -> Result<Text, Stop> {
//!     Ok(Text::new(arguments.message))
//! }
//!
//! let toolset = Toolset::new("echo", ()).with(tool("echo", echo).description("Says it back.").read_only());
//! let server = Server::builder("echo", "1.0.0").toolset(toolset).build()?;
//! // server.serve_stdio().await?;
//! # Ok::<(), diptych::BuildError>(())
//! ```
//!
//! The modules follow the walk of a call: route, admit, run, ask, render, check. See `ARCHITECTURE.md`.
//!
//! # Features
//!
//! All but the last are on by default.
//!
//! | feature | what it brings |
//! |---|---|
//! | `http` | serving over Streamable HTTP; TLS is the business of a proxy in front |
//! | `oauth` | access tokens of an OAuth issuer, whose keys are fetched over https |
//! | `client` | the client, for commands and for URLs over http and https, and the contract check |
//! | `tls` | calls over https, for the others and for toolsets that make some |
//! | `telemetry` | spans for an OpenTelemetry collector |
//!
//! Whoever is called over https must have a certificate of an authority that the system trusts. On Linux,
//! `SSL_CERT_FILE` names a file of the authorities to trust instead.
//!
//! With an issuer, tokens are checked by a provider for the crate `jsonwebtoken` that cannot sign. A program that signs with that
//! crate as well installs a provider of its own first.

#![cfg_attr(
    not(feature = "http"),
    allow(dead_code, reason = "some of what the transports share is of use to HTTP alone")
)]

/// The guide, so that its code is compiled and run like any other example.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/toolkit.md")]
struct Guide;

mod answer;
mod build;
mod call;
#[cfg(feature = "client")]
pub mod client;
mod complete;
mod content;
mod field;
mod format;
#[cfg(feature = "tls")]
mod loopback;
mod markdown;
mod metrics;
mod needs;
mod profile;
mod prompt;
mod protocol;
mod registry;
pub mod resilience;
mod resource;
mod sample;
mod schema;
mod serve;
mod server;
mod stop;
mod subscription;
#[cfg(feature = "telemetry")]
mod telemetry;
mod template;
#[cfg(feature = "client")]
pub mod testing;
#[cfg(feature = "tls")]
pub mod tls;
mod tool;
mod toolset;
mod walk;
mod wire;

pub use answer::{Answer, Either, More, Panels, Present, Text};
pub use build::{BuildError, Builder, Problem};
pub use call::{Call, Cx, Session, Storage};
pub use complete::Partial;
pub use content::{Annotations as ContentAnnotations, Audience, Content, Contents};
pub use field::{Choice, Field};
pub use format::Format;
pub use markdown::{Drawn, Line, Markdown, Quote, Row, Table};
pub use needs::{NeedsInput, OrAsk};
pub use profile::Structured;
pub use prompt::{ArgumentDefinition, Messages, Prompt, PromptDefinition, prompt};
pub use protocol::{PROTOCOL_LOG, is_discreet};
pub use resource::{Reading, Resource, ResourceDefinition, resource};
pub use sample::{Root, Roots, Sample, Sampled};
pub use schema::{JsonObject, NoArguments};
#[cfg(feature = "oauth")]
pub use serve::Issuer;
pub use serve::ServeError;
#[cfg(feature = "http")]
pub use serve::{BoundHttp, Http};
pub use server::Server;
pub use stop::{Code, Masked, Stop, ToolError};
pub use subscription::Subscriptions;
#[cfg(feature = "telemetry")]
pub use telemetry::{Telemetry, TelemetryError};
pub use template::{TemplateError, UriTemplate};
pub use tool::{Annotations as ToolAnnotations, Icon, Tool, ToolDefinition, plain, tool};
pub use toolset::{Part, Toolset};
pub use wire::{Caller, Capability, Level, Lifecycle};
