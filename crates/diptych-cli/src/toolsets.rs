//! The toolsets, and the server that they make.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use diptych::{Server, Structured};
use diptych_bluesky::{BlueskyOptions, Secrets};
use diptych_graph::{GraphOptions, Memory, Timestamp};
use diptych_patterns::{Library, Options, Source};

use crate::embedder;
use crate::exit::{Failure, Outcome};
use crate::settings::{
    BLUESKY_APPVIEW, BLUESKY_DNS, BLUESKY_PASSWORD_FORM, BLUESKY_PLC, BLUESKY_SECRETS, BLUESKY_SERVICE,
    BUDGET, GRAPH_ALL_PROJECTS, GRAPH_DB, GRAPH_ENTITY_TYPES, GRAPH_RELATION_TYPES, PATTERNS, PROJECT,
    READ_ONLY, STRUCTURED, Settings, TIME_LIMIT, TOOLSETS,
};

/// The names of the toolsets.
pub(crate) const NAMES: [&str; 3] = ["patterns", "graph", "bluesky"];

/// All of them, as the setting is written.
pub(crate) const ALL: &str = "patterns,graph,bluesky";

/// Makes the server that the settings describe. Nothing is opened yet: that happens when a tool first needs it.
pub(crate) fn server(settings: &Settings) -> Outcome<Server> {
    let structured = match settings.text(&STRUCTURED) {
        Some("always") => Structured::Always,
        Some("never") => Structured::Never,
        _ => Structured::Auto,
    };
    let (server, sources) = build(settings, structured, settings.list(&TOOLSETS))?;
    if tokio::runtime::Handle::try_current().is_ok() {
        if let Some(library) = &sources.library {
            diptych_patterns::announce(&server, library);
        }
        if let Some(memory) = &sources.memory {
            diptych_graph::announce(&server, memory);
        }
    }
    Ok(server)
}

/// The same server for ourselves: we always read the structured panel.
pub(crate) fn own_server(settings: &Settings) -> Outcome<Server> {
    build(settings, Structured::Always, settings.list(&TOOLSETS)).map(|(server, _)| server)
}

/// What others may change while a server runs.
#[derive(Default)]
struct Sources {
    library: Option<Library>,
    memory: Option<Memory>,
}

fn build(
    settings: &Settings,
    structured: Structured,
    served: &[impl AsRef<str>],
) -> Outcome<(Server, Sources)> {
    let mut sources = Sources::default();
    let mut builder = Server::builder("diptych", env!("CARGO_PKG_VERSION"))
        .title("Diptych")
        .read_only(settings.switch(&READ_ONLY))
        .structured(structured);
    if let Some(tokens) = settings.count(&BUDGET) {
        builder = builder.budget(usize::try_from(tokens).unwrap_or(usize::MAX));
    }
    if let Some(seconds) = settings.count(&TIME_LIMIT) {
        builder = builder.time_limit(Duration::from_secs(seconds));
    }
    // One for all toolsets: the model is loaded once.
    let embedder = embedder::embedder(settings)?;
    for name in NAMES.into_iter().filter(|name| served.iter().any(|one| one.as_ref() == *name)) {
        builder = match name {
            "patterns" => {
                let mut library = library(settings)?;
                if let Some(embedder) = &embedder {
                    library =
                        library.with_embedder(Arc::clone(embedder), Some(settings.folders.cache.clone()));
                }
                sources.library = Some(library.clone());
                builder.toolset(diptych_patterns::toolset(library))
            }
            "graph" => {
                let mut options = graph(settings);
                options.embedder.clone_from(&embedder);
                let memory = Memory::from(options);
                sources.memory = Some(memory.clone());
                builder.toolset(diptych_graph::toolset(memory))
            }
            _ => builder.toolset(diptych_bluesky::toolset(bluesky(settings))),
        };
    }
    let server =
        builder.build().map_err(|error| Failure::failed(format!("The server cannot be made. {error}")))?;
    Ok((server, sources))
}

/// Every toolset on its default: what help, completions and documentation are made from.
pub(crate) fn everything() -> Outcome<Server> {
    let builder = Server::builder("diptych", env!("CARGO_PKG_VERSION"));
    let builder = builder.toolset(diptych_patterns::toolset(Library::embedded()));
    // Nothing is called, so no file is ever made.
    let builder = builder.toolset(diptych_graph::toolset(GraphOptions::new("graph.db", "default")));
    let builder = builder.toolset(diptych_bluesky::toolset(BlueskyOptions::new("bluesky", "bluesky")));
    builder.build().map_err(|error| Failure::failed(format!("The server cannot be made. {error}")))
}

/// One toolset on its default, with its files in a folder of its own, by a clock that shows milliseconds since 1970:
/// what samples are made on.
pub(crate) fn alone(name: &str, folder: &Path, clock: &Arc<AtomicI64>) -> Outcome<Server> {
    let settings = Settings::defaults(folder);
    if name != "graph" {
        return build(&settings, Structured::Always, &[name]).map(|(server, _)| server);
    }
    let mut options = graph(&settings);
    let clock = Arc::clone(clock);
    options.store.clock = Arc::new(move || Timestamp::from_millis(clock.load(Ordering::Relaxed)));
    let builder = Server::builder("diptych", env!("CARGO_PKG_VERSION")).structured(Structured::Always);
    let built = builder.toolset(diptych_graph::toolset(options)).build();
    built.map_err(|error| Failure::failed(format!("The server cannot be made. {error}")))
}

/// The toolset of a tool, whatever the settings are.
pub(crate) fn toolset_of(tool: &str) -> Option<String> {
    everything().ok()?.toolset_of(tool)
}

/// The library of patterns that the settings name.
pub(crate) fn library(settings: &Settings) -> Outcome<Library> {
    let sources = settings.list(&PATTERNS).iter().map(|folder| Source::from(Path::new(folder)));
    Library::open(sources, Options::default()).map_err(|error| Failure::usage(error.to_string()))
}

/// The knowledge graph that the settings name.
pub(crate) fn graph(settings: &Settings) -> GraphOptions {
    let file = settings.text(&GRAPH_DB).unwrap_or(GRAPH_DB.default);
    let mut options = GraphOptions::new(file, settings.text(&PROJECT).unwrap_or_default());
    options.across_projects = settings.switch(&GRAPH_ALL_PROJECTS);
    let types = |setting| {
        let types = settings.list(setting);
        (!types.is_empty()).then(|| types.iter().cloned().collect())
    };
    options.store.rules.entity_types = types(&GRAPH_ENTITY_TYPES);
    options.store.rules.relation_types = types(&GRAPH_RELATION_TYPES);
    options
}

/// The network that the settings name, with its logins in the data folder and its histories in the cache folder.
pub(crate) fn bluesky(settings: &Settings) -> BlueskyOptions {
    let folders = &settings.folders;
    let mut options = BlueskyOptions::new(folders.data.join("bluesky"), folders.cache.join("bluesky"));
    for (setting, address) in [
        (&BLUESKY_APPVIEW, &mut options.appview),
        (&BLUESKY_PLC, &mut options.plc),
        (&BLUESKY_SERVICE, &mut options.service),
        (&BLUESKY_DNS, &mut options.dns),
    ] {
        if let Some(text) = settings.text(setting) {
            *address = text.trim_end_matches('/').to_owned();
        }
    }
    // The one word that means no address.
    if options.dns == "off" {
        options.dns.clear();
    }
    options.password_form = settings.switch(&BLUESKY_PASSWORD_FORM);
    options.read_only = settings.switch(&READ_ONLY);
    options.secrets = match settings.text(&BLUESKY_SECRETS) {
        Some("keyring") => Secrets::Keyring,
        Some("file") => Secrets::File,
        _ => Secrets::Auto,
    };
    options
}
