//! Watches the folders of a library and publishes a new catalogue when files change.
//!
//! Events only say *when* to look; what changed is found by comparing the files themselves. So an event
//! that is lost or doubled does no harm, and polling is the same thing with another clock.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch;

use crate::catalogue::Catalogue;
use crate::library::{Shelf, Watch, catalogue_of, report};

/// An editor writes a file in several steps: wait until it has been quiet for this long …
const QUIET: Duration = Duration::from_millis(60);
/// … but no longer than this.
const PATIENCE: Duration = Duration::from_millis(300);
/// After a change look once more: a file in a new folder may have come before the folder was watched.
const SECOND_LOOK: Duration = Duration::from_millis(400);
/// How often to look where no events come.
const POLL: Duration = Duration::from_millis(500);
/// How often to look although events come, for disks that send none for other machines' writes.
const SAFETY: Duration = Duration::from_secs(30);

/// A watch that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watching {
    signals: Sender<Signal>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        // The thread may have ended already.
        let _ = self.signals.send(Signal::Stop);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Changed,
    /// The folder itself went: its watch is gone even if a new one has its name.
    Lost,
    Stop,
}

/// Starts to watch, on a thread of its own.
pub(crate) fn start(shelves: Vec<Shelf>, mode: Watch, current: watch::Sender<Arc<Catalogue>>) -> Watching {
    let (signals, received) = channel();
    let watching = Watching { signals: signals.clone() };
    let watched = Watched { shelves, mode, current, signals, received };
    let thread = thread::Builder::new().name("patterns-watch".into()).spawn(move || watched.run());
    if thread.is_err() {
        tracing::warn!("pattern catalogue: files are not watched, because no thread could be started");
    }
    watching
}

struct Watched {
    shelves: Vec<Shelf>,
    mode: Watch,
    current: watch::Sender<Arc<Catalogue>>,
    signals: Sender<Signal>,
    received: Receiver<Signal>,
}

impl Watched {
    fn run(mut self) {
        let mut watcher = self.watcher();
        // Whatever was written between loading and watching.
        let mut changed = self.look();
        loop {
            let pause = match (self.mode, &watcher) {
                (Watch::Poll(pause), _) => pause,
                (_, None) => POLL,
                (_, Some(_)) if changed => SECOND_LOOK,
                (_, Some(_)) => SAFETY,
            };
            let signal = match self.received.recv_timeout(pause) {
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(signal) => self.settle(signal),
                Err(RecvTimeoutError::Timeout) => None,
            };
            match signal {
                Some(Signal::Stop) => return,
                Some(Signal::Lost) => watcher = None,
                _ => {}
            }
            if watcher.is_none() && self.mode == Watch::Events {
                watcher = self.watcher();
            }
            changed = self.look() || signal.is_some();
        }
    }

    /// Waits for quiet; the gravest signal of those that came counts.
    fn settle(&self, first: Signal) -> Option<Signal> {
        let started = Instant::now();
        let mut gravest = first;
        while started.elapsed() < PATIENCE {
            match self.received.recv_timeout(QUIET) {
                Ok(Signal::Stop) => return Some(Signal::Stop),
                Ok(Signal::Lost) => gravest = Signal::Lost,
                Ok(Signal::Changed) => {}
                Err(_) => break,
            }
        }
        Some(gravest)
    }

    fn look(&mut self) -> bool {
        let mut changed = false;
        for shelf in &mut self.shelves {
            changed |= shelf.refresh();
        }
        if changed {
            let catalogue = Arc::new(catalogue_of(&self.shelves));
            report(self.current.borrow().problems(), catalogue.problems());
            self.current.send_replace(catalogue);
        }
        changed
    }

    /// A watcher over all folders, or none when one of them cannot be watched.
    fn watcher(&self) -> Option<RecommendedWatcher> {
        if self.mode != Watch::Events {
            return None;
        }
        let roots: Vec<PathBuf> = self
            .shelves
            .iter()
            .filter_map(|shelf| match shelf {
                Shelf::Folder(folder) => Some(std::fs::canonicalize(folder.root())),
                Shelf::Embedded => None,
            })
            .collect::<Result<_, _>>()
            .ok()?;
        let signals = self.signals.clone();
        let own = roots.clone();
        let heard = move |event: notify::Result<Event>| {
            if let Some(signal) = signal_of(event, &own) {
                let _ = signals.send(signal);
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        let watch = || -> notify::Result<RecommendedWatcher> {
            let mut watcher = RecommendedWatcher::new(heard, config)?;
            for root in &roots {
                watcher.watch(root, RecursiveMode::Recursive)?;
            }
            Ok(watcher)
        };
        watch().inspect_err(|error| tracing::debug!(%error, "no file events; polling instead")).ok()
    }
}

fn signal_of(event: notify::Result<Event>, roots: &[PathBuf]) -> Option<Signal> {
    let Ok(event) = event else { return Some(Signal::Changed) };
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Signal::Changed),
        // Our own reading must not wake us.
        EventKind::Access(_) => None,
        EventKind::Remove(_) | EventKind::Modify(notify::event::ModifyKind::Name(_))
            if event.paths.iter().any(|path| roots.contains(path)) =>
        {
            Some(Signal::Lost)
        }
        _ => Some(Signal::Changed),
    }
}
