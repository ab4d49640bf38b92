//! Searching a catalogue by meaning as well, where there is an embedder.
//!
//! The vectors of the patterns are made in the background when a search first wants them, and kept in a file by model and
//! content, so that they are made once. No answer waits for them: until they are there, and whenever the embedder does
//! not answer at once, searches are by words alone.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use diptych_search::{EmbedError, Embedder, Purpose, Quantised, Vectors};

use crate::catalogue::Catalogue;
use crate::hash;

/// How many patterns are embedded together.
const BATCH: usize = 16;
/// How many of the nearest are of interest.
const NEAREST: usize = 30;
/// After a failure nothing is tried for so long.
const PAUSE: Duration = Duration::from_secs(60);
/// How the names of files of vectors begin.
const FILE: &str = "pattern-embeddings-";
/// What a file of vectors begins with.
const MAGIC: &[u8; 8] = b"diptych1";

/// An embedder for the patterns of a library. Clones share it.
#[derive(Clone)]
pub(crate) struct Meaning {
    embedder: Arc<dyn Embedder>,
    /// The folder for the vectors.
    cache: Option<PathBuf>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    ready: RwLock<Option<Ready>>,
    busy: AtomicBool,
    failed: Mutex<Option<Instant>>,
}

/// The vectors of one catalogue, by the places of its patterns.
struct Ready {
    of: Weak<Catalogue>,
    vectors: Vectors,
}

impl fmt::Debug for Meaning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Meaning").field("embedder", &self.embedder).finish_non_exhaustive()
    }
}

impl Meaning {
    pub(crate) fn new(embedder: Arc<dyn Embedder>, cache: Option<PathBuf>) -> Self {
        Self { embedder, cache, shared: Arc::default() }
    }

    /// The places of the patterns nearest to a query, with their cosines, nearest first; `None` while there are no
    /// vectors. It blocks while the query is embedded.
    pub(crate) fn nearest(&self, catalogue: &Arc<Catalogue>, query: &str) -> Option<Vec<(usize, f32)>> {
        if !self.is_ready(catalogue) && !self.recall(catalogue) {
            self.prepare(catalogue);
            return None;
        }
        let vector = match self.embedder.embed(&[query], Purpose::Query) {
            Ok(mut vectors) => vectors.pop()?,
            Err(error) => {
                tracing::debug!("patterns are searched by words alone: {error}");
                return None;
            }
        };
        let ready = self.shared.ready.read().unwrap_or_else(PoisonError::into_inner);
        let ready = ready.as_ref().filter(|ready| ready.is_of(catalogue))?;
        let near = ready.vectors.nearest(&Quantised::of(&vector), NEAREST, 0.0, |_, _| true);
        Some(near.iter().filter_map(|found| Some((usize::try_from(found.key).ok()?, found.cosine))).collect())
    }

    fn is_ready(&self, catalogue: &Arc<Catalogue>) -> bool {
        let ready = self.shared.ready.read().unwrap_or_else(PoisonError::into_inner);
        ready.as_ref().is_some_and(|ready| ready.is_of(catalogue))
    }

    /// Has the vectors of a catalogue made by a thread of its own, unless one is at it.
    fn prepare(&self, catalogue: &Arc<Catalogue>) {
        let failed = *self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some_and(|failed| failed.elapsed() < PAUSE)
            || self.shared.busy.swap(true, Ordering::SeqCst)
        {
            return;
        }
        let (meaning, catalogue) = (self.clone(), Arc::clone(catalogue));
        let started = std::thread::Builder::new().name("patterns".to_owned()).spawn(move || {
            let made = meaning.make(&catalogue);
            let mut failed = meaning.shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
            *failed = made.err().map(|error| {
                tracing::debug!("the patterns have no embeddings: {error}");
                Instant::now()
            });
            meaning.shared.busy.store(false, Ordering::SeqCst);
        });
        if started.is_err() {
            self.shared.busy.store(false, Ordering::SeqCst);
        }
    }

    /// Takes all vectors from the file of a run before, if there is one.
    fn recall(&self, catalogue: &Arc<Catalogue>) -> bool {
        // Whoever has no file shall not wait for the model, whose name the file has.
        let mut files =
            self.cache.as_ref().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        if !files.any(|file| file.file_name().to_string_lossy().starts_with(FILE)) {
            return false;
        }
        let Ok(model) = self.embedder.model() else { return false };
        let kept = self.kept(&model);
        let texts = texts(catalogue);
        let complete = texts.iter().all(|(hash, _)| kept.contains_key(hash));
        if complete {
            self.use_for(catalogue, &texts, &kept);
        }
        complete
    }

    fn make(&self, catalogue: &Arc<Catalogue>) -> Result<(), EmbedError> {
        let model = self.embedder.model()?;
        let mut kept = self.kept(&model);
        let texts = texts(catalogue);
        let missing: Vec<&(u64, String)> =
            texts.iter().filter(|(hash, _)| !kept.contains_key(hash)).collect();
        for batch in missing.chunks(BATCH) {
            let wanted: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
            let vectors = self.embedder.embed(&wanted, Purpose::Background)?;
            kept.extend(batch.iter().zip(vectors).map(|((hash, _), vector)| (*hash, Quantised::of(&vector))));
            // After each batch: a process that is ended early has not worked for nothing.
            if let Some(file) = self.file(&model) {
                write(&file, &kept);
            }
        }
        self.use_for(catalogue, &texts, &kept);
        Ok(())
    }

    fn file(&self, model: &str) -> Option<PathBuf> {
        let name = format!("{FILE}{:016x}.bin", hash::of(model.as_bytes()));
        self.cache.as_ref().map(|folder| folder.join(name))
    }

    fn kept(&self, model: &str) -> HashMap<u64, Quantised> {
        self.file(model).and_then(|file| read(&fs::read(file).ok()?)).unwrap_or_default()
    }

    fn use_for(&self, catalogue: &Arc<Catalogue>, texts: &[(u64, String)], kept: &HashMap<u64, Quantised>) {
        let dimensions =
            texts.first().and_then(|(hash, _)| kept.get(hash)).map_or(0, |kept| kept.steps.len());
        let mut vectors = Vectors::new(dimensions);
        for (place, (hash, _)) in (0_i64..).zip(texts) {
            if let Some(vector) = kept.get(hash) {
                vectors.set(place, 0, vector);
            }
        }
        let ready = Ready { of: Arc::downgrade(catalogue), vectors };
        *self.shared.ready.write().unwrap_or_else(PoisonError::into_inner) = Some(ready);
    }
}

/// What is embedded of each pattern, with its hash, in the order of their places.
fn texts(catalogue: &Catalogue) -> Vec<(u64, String)> {
    let texts = catalogue.patterns().map(|pattern| pattern.embedded_text());
    texts.map(|text| (hash::of(text.as_bytes()), text)).collect()
}

impl Ready {
    fn is_of(&self, catalogue: &Arc<Catalogue>) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(catalogue))
    }
}

/// The vectors of a file; `None` if it is damaged.
fn read(bytes: &[u8]) -> Option<HashMap<u64, Quantised>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (dimensions, rest) = rest.split_first_chunk::<4>()?;
    let dimensions = usize::try_from(u32::from_le_bytes(*dimensions)).ok()?;
    let records = rest.chunks_exact(12 + dimensions);
    if dimensions == 0 || !records.remainder().is_empty() {
        return None;
    }
    records
        .map(|record| {
            let (hash, record) = record.split_first_chunk::<8>()?;
            let (scale, steps) = record.split_first_chunk::<4>()?;
            let scale = f32::from_le_bytes(*scale);
            scale.is_finite().then(|| (u64::from_le_bytes(*hash), Quantised::from_bytes(scale, steps)))
        })
        .collect()
}

/// Writes all vectors, so that a reader finds the old file or the new one. It is a cache: a failure costs time, later.
fn write(file: &Path, kept: &HashMap<u64, Quantised>) {
    let Some(dimensions) = kept.values().next().map(|vector| vector.steps.len()) else { return };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(u32::try_from(dimensions).unwrap_or_default().to_le_bytes());
    for (hash, vector) in kept.iter().filter(|(_, vector)| vector.steps.len() == dimensions) {
        bytes.extend(hash.to_le_bytes());
        bytes.extend(vector.scale.to_le_bytes());
        bytes.extend(vector.to_bytes());
    }
    let written = (|| {
        fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
        let unfinished = file.with_extension(format!("{}.unfinished", std::process::id()));
        fs::write(&unfinished, bytes)?;
        fs::rename(&unfinished, file)
    })();
    if let Err(error) = written {
        tracing::debug!("the embeddings of patterns cannot be kept: {}", error.kind());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_vectors_is_read_as_it_was_written_and_a_damaged_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/vectors.bin");
        let kept: HashMap<u64, Quantised> =
            (0..5).map(|number| (number, Quantised::of(&[number as f32, 1.0, -1.0]))).collect();
        write(&file, &kept);
        let bytes = fs::read(&file).unwrap();
        assert_eq!(read(&bytes), Some(kept));
        for damaged in [&bytes[..bytes.len() - 1], &bytes[1..], &bytes[..10], b""] {
            assert_eq!(read(damaged), None);
        }
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing unfinished stays");
    }
}
