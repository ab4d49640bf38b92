//! The handle that the tools hold: the catalogue as it is now, and word of every change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use diptych_search::Embedder;
use tokio::sync::watch;

use crate::catalogue::{Catalogue, Part};
use crate::embedded;
use crate::folder::{Folder, Limits};
use crate::meaning::Meaning;
use crate::problem::{Problem, Severity};
use crate::watch::{Watching, start};

/// Where patterns come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The catalogue compiled into the binary.
    Embedded,
    /// A folder of Markdown files.
    Folder(PathBuf),
}

impl From<&Path> for Source {
    /// The word `embedded` is the embedded catalogue; anything else is a folder.
    fn from(path: &Path) -> Self {
        if path.as_os_str() == "embedded" { Self::Embedded } else { Self::Folder(path.to_owned()) }
    }
}

/// Whether and how folders are watched for changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watch {
    /// Not at all: the catalogue stays as it was when it was first asked for.
    Off,
    /// By the system's own events; by polling where there are none.
    #[default]
    Events,
    /// By looking every so often, for disks that send no events.
    Poll(Duration),
}

/// How a library is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How much a folder may hold.
    pub limits: Limits,
    /// Whether folders are watched.
    pub watch: Watch,
}

/// Why a library cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// A source is not a folder that can be read.
    #[error(
        "The pattern folder \"{name}\" cannot be opened. Check that it exists, is a folder and may be read."
    )]
    NotAFolder {
        /// The last part of the path that was given.
        name: String,
    },
}

/// The catalogue as it is now. Clones share it.
///
/// Opening is cheap: files are read when the catalogue is first asked for. That first time blocks
/// for as long as reading them takes.
#[derive(Debug, Clone)]
pub struct Library(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sources: Vec<Source>,
    options: Options,
    meaning: Option<Meaning>,
    state: OnceLock<State>,
}

#[derive(Debug)]
struct State {
    current: watch::Sender<Arc<Catalogue>>,
    /// Ends the watching when the last handle goes.
    _watching: Option<Watching>,
}

impl Library {
    /// The embedded catalogue alone.
    #[must_use]
    pub fn embedded() -> Self {
        Self::of(vec![Source::Embedded], Options::default())
    }

    /// Opens sources; later ones win where ids are the same. Without any it is the embedded catalogue.
    ///
    /// # Errors
    /// When a folder cannot be opened.
    pub fn open(sources: impl IntoIterator<Item = Source>, options: Options) -> Result<Self, LibraryError> {
        let mut sources: Vec<Source> = sources.into_iter().collect();
        for source in &sources {
            if let Source::Folder(path) = source
                && std::fs::read_dir(path).is_err()
            {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                return Err(LibraryError::NotAFolder { name });
            }
        }
        if sources.is_empty() {
            sources.push(Source::Embedded);
        }
        Ok(Self::of(sources, options))
    }

    /// The same sources, searched by meaning as well. The vectors are made in the background when they are first
    /// wanted, and kept in files in `cache`, if there is one.
    #[must_use]
    pub fn with_embedder(self, embedder: Arc<dyn Embedder>, cache: Option<PathBuf>) -> Self {
        let (sources, options) = (self.0.sources.clone(), self.0.options);
        let meaning = Some(Meaning::new(embedder, cache));
        Self(Arc::new(Inner { sources, options, meaning, state: OnceLock::new() }))
    }

    pub(crate) fn meaning(&self) -> Option<&Meaning> {
        self.0.meaning.as_ref()
    }

    fn of(sources: Vec<Source>, options: Options) -> Self {
        Self(Arc::new(Inner { sources, options, meaning: None, state: OnceLock::new() }))
    }

    /// The catalogue as it is now. It does not change while it is held.
    #[must_use]
    pub fn current(&self) -> Arc<Catalogue> {
        Arc::clone(&self.state().current.borrow())
    }

    /// Whether the catalogue can change: a folder is among the sources, and it is watched.
    #[must_use]
    pub fn can_change(&self) -> bool {
        let has_folder = self.0.sources.iter().any(|source| matches!(source, Source::Folder(_)));
        has_folder && self.0.options.watch != Watch::Off
    }

    /// Hears of every change; the receiver always has the newest catalogue.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Arc<Catalogue>> {
        self.state().current.subscribe()
    }

    fn state(&self) -> &State {
        self.0.state.get_or_init(|| {
            let mut shelves: Vec<Shelf> =
                self.0.sources.iter().map(|s| Shelf::new(s, self.0.options.limits)).collect();
            for shelf in &mut shelves {
                shelf.refresh();
            }
            let catalogue = catalogue_of(&shelves);
            report(&[], catalogue.problems());
            let current = watch::Sender::new(Arc::new(catalogue));
            let watching = self.can_change().then(|| start(shelves, self.0.options.watch, current.clone()));
            State { current, _watching: watching }
        })
    }
}

/// A source, opened.
#[derive(Debug)]
pub(crate) enum Shelf {
    Embedded,
    Folder(Box<Folder>),
}

impl Shelf {
    fn new(source: &Source, limits: Limits) -> Self {
        match source {
            Source::Embedded => Self::Embedded,
            Source::Folder(path) => Self::Folder(Box::new(Folder::new(path, limits))),
        }
    }

    /// Reads what changed; says whether anything did.
    pub(crate) fn refresh(&mut self) -> bool {
        match self {
            Self::Embedded => false,
            Self::Folder(folder) => folder.refresh(),
        }
    }

    fn part(&self) -> Part<'_> {
        match self {
            Self::Embedded => embedded::part(),
            Self::Folder(folder) => folder.part(),
        }
    }
}

/// The catalogue that the shelves make up together.
pub(crate) fn catalogue_of(shelves: &[Shelf]) -> Catalogue {
    Catalogue::build(&shelves.iter().map(Shelf::part).collect::<Vec<_>>())
}

/// Writes problems to the log that were not there before.
pub(crate) fn report(before: &[Problem], now: &[Problem]) {
    for problem in now.iter().filter(|problem| !before.contains(problem)) {
        match problem.severity {
            Severity::Error => tracing::warn!("pattern catalogue: {problem}"),
            Severity::Warning => tracing::debug!("pattern catalogue: {problem}"),
        }
    }
}
