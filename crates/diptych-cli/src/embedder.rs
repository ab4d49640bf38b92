//! Which embedder the settings ask for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use diptych_embed::{HttpEmbedder, HttpOptions};
use diptych_search::Embedder;

use crate::exit::{Failure, Outcome};
use crate::settings::{EMBEDDER, EMBEDDER_KEY, EMBEDDER_MODEL, EMBEDDER_URL, MODEL_FOLDER, Settings};

/// What searches by meaning are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The model in the model folder.
    Local,
    /// A service.
    Http,
    /// Nothing: they are made by words.
    None,
}

/// The way that the settings choose: by themselves the service if one is named, else the model if it is installed.
pub(crate) fn way(settings: &Settings) -> Way {
    match settings.text(&EMBEDDER) {
        Some("local") => Way::Local,
        Some("http") => Way::Http,
        Some("none") => Way::None,
        _ if settings.text(&EMBEDDER_URL).is_some() => Way::Http,
        _ if is_installed(&folder(settings)) => Way::Local,
        _ => Way::None,
    }
}

/// Where the local model is, or would be.
pub(crate) fn folder(settings: &Settings) -> PathBuf {
    settings.text(&MODEL_FOLDER).unwrap_or(MODEL_FOLDER.default).into()
}

/// The embedder. Nothing of it is loaded or called yet.
pub(crate) fn embedder(settings: &Settings) -> Outcome<Option<Arc<dyn Embedder>>> {
    match way(settings) {
        Way::None => Ok(None),
        Way::Local => local(&folder(settings)).map(Some),
        Way::Http => {
            let Some(url) = settings.text(&EMBEDDER_URL) else {
                return Err(Failure::usage("The embedder is to be a service, but its URL is missing.")
                    .hint("`--embedder-url` names it, such as http://127.0.0.1:11434/v1."));
            };
            let model = settings.text(&EMBEDDER_MODEL).unwrap_or_default();
            let mut options = HttpOptions::new(url, model);
            options.key = settings.text(&EMBEDDER_KEY).map(str::to_owned);
            let made = HttpEmbedder::new(options).map_err(|error| {
                Failure::usage(error.to_string())
                    .hint("`diptych config` shows every setting and where it comes from.")
            })?;
            Ok(Some(Arc::new(made)))
        }
    }
}

/// Whether a model is in a folder, and this program can run it.
#[cfg(feature = "local-model")]
pub(crate) fn is_installed(folder: &Path) -> bool {
    diptych_search::LocalModel::is_in(folder)
}

#[cfg(feature = "local-model")]
fn local(folder: &Path) -> Outcome<Arc<dyn Embedder>> {
    if !is_installed(folder) {
        return Err(Failure::usage("The embedder is to be the local model, but that is not installed.")
            .hint("`diptych model install` puts it in place."));
    }
    Ok(Arc::new(diptych_search::LocalModel::new(folder)))
}

/// Whether a model is in a folder, and this program can run it.
#[cfg(not(feature = "local-model"))]
pub(crate) fn is_installed(_folder: &Path) -> bool {
    false
}

#[cfg(not(feature = "local-model"))]
fn local(_folder: &Path) -> Outcome<Arc<dyn Embedder>> {
    Err(Failure::usage(
        "This program was built without the feature `local-model`, so it cannot run a model itself.",
    )
    .hint("`--embedder http` uses a service."))
}
