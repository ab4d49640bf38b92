//! From a repository export as it arrives to a verified snapshot in the cache.
//!
//! Blocks come in any order, so nothing can be walked before all have arrived. Nodes and posts are set aside in a
//! temporary file, everything else is only remembered by its hash: memory is forty bytes a block, whatever
//! the size of the repository. When the last byte is in, the commit is checked first, then the tree is walked once, and what
//! it says is written in order.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::car::Archive;
use super::cbor::Cbor;
use super::commit::VerifiedCommit;
use super::content_id::ContentId;
use super::error::RepositoryError;
use super::key::SigningKey;
use super::snapshot::{KnownRecords, SnapshotWriter};
use super::tree::{self, Ground, Leaves};
use super::{POST_COLLECTION, post_key};

/// The most blocks of one repository: several times the largest accounts.
const MOST_BLOCKS: usize = 8_000_000;
/// Lengths have this many bits of a place; the rest is the offset.
const LENGTH_BITS: u32 = 24;

/// A repository that is arriving.
pub(crate) struct Intake {
    archive: Archive,
    blocks: Vec<(ContentId, u64)>,
    kept: BufWriter<File>,
    kept_bytes: u64,
    commit: Option<Vec<u8>>,
    received: u64,
    limit: u64,
}

impl Intake {
    /// Starts one; `folder` is where blocks are set aside, and `limit` the most bytes that are taken.
    pub(crate) fn new(folder: &Path, limit: u64) -> Result<Self, RepositoryError> {
        Ok(Intake {
            archive: Archive::default(),
            blocks: Vec::new(),
            kept: BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(folder)?),
            kept_bytes: 0,
            commit: None,
            received: 0,
            limit,
        })
    }

    /// Takes the next piece of the export.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), RepositoryError> {
        self.received += piece.len() as u64;
        if self.received > self.limit {
            return Err(RepositoryError::TooLarge { limit_mb: self.limit >> 20 });
        }
        let Intake { archive, blocks, kept, kept_bytes, commit, .. } = self;
        archive.push(piece, |id, block, is_root| {
            if blocks.len() >= MOST_BLOCKS {
                return Err(RepositoryError::Oversized("it has too many blocks"));
            }
            let length = if is_node(block) || is_post(block) { block.len() as u64 } else { 0 };
            blocks.push((id, (*kept_bytes << LENGTH_BITS) | length));
            if length > 0 {
                kept.write_all(block)?;
                *kept_bytes += length;
            }
            if is_root {
                *commit = Some(block.to_vec());
            }
            Ok(())
        })
    }

    /// The export is complete.
    pub(crate) fn finish(self) -> Result<Received, RepositoryError> {
        self.archive.finish()?;
        let commit = self.commit.ok_or(RepositoryError::MissingBlock("the commit"))?;
        let kept = self.kept.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(Received { commit, blocks: Blocks::new(self.blocks), kept })
    }
}

/// A map of a list `e` and a link `l`.
fn is_node(block: &[u8]) -> bool {
    block.starts_with(&[0xa2, 0x61, b'e'])
}

fn is_post(block: &[u8]) -> bool {
    let mut cbor = Cbor::new(block);
    let Ok(entries) = cbor.map() else { return false };
    for _ in 0..entries {
        match cbor.text() {
            Ok("$type") => return cbor.text().is_ok_and(|name| name == POST_COLLECTION),
            Ok(_) if cbor.skip().is_ok() => {}
            _ => return false,
        }
    }
    false
}

/// Which blocks there are and where. Hashes are spread evenly, so their first two bytes say nearly where to look.
struct Blocks {
    sorted: Vec<(ContentId, u64)>,
    starts: Vec<u32>,
}

impl Blocks {
    fn new(mut sorted: Vec<(ContentId, u64)>) -> Self {
        sorted.sort_unstable();
        let mut starts = vec![0_u32; (1 << 16) + 1];
        for (id, _) in &sorted {
            starts[usize::from(u16::from_be_bytes([id.0[0], id.0[1]])) + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        Blocks { sorted, starts }
    }

    fn find(&self, id: ContentId) -> Option<u64> {
        let bucket = usize::from(u16::from_be_bytes([id.0[0], id.0[1]]));
        let within = &self.sorted[self.starts[bucket] as usize..self.starts[bucket + 1] as usize];
        within.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| within[at].1)
    }
}

/// A repository, or changes to one, that has arrived. Nothing of it is used before its commit has been checked.
pub(crate) struct Received {
    commit: Vec<u8>,
    blocks: Blocks,
    kept: File,
}

impl Received {
    /// Checks whose it is and who signed it.
    pub(crate) fn verify(&self, did: &str, key: &SigningKey) -> Result<VerifiedCommit, RepositoryError> {
        VerifiedCommit::verify(&self.commit, did, key)
    }

    /// Walks the tree of its commit and writes what it says to `place`. With `known`, what arrived may be changes only; what
    /// they leave out is taken from there, if it can be proven to be unchanged.
    pub(crate) fn store(
        self,
        commit: &VerifiedCommit,
        folder: &Path,
        place: &Path,
        known: Option<&KnownRecords>,
    ) -> Result<(), RepositoryError> {
        let writer = SnapshotWriter::create(folder, commit)?;
        let mut ground = Arrived { blocks: self.blocks, kept: self.kept, writer, known, post: Vec::new() };
        tree::walk(commit.data, &mut ground)?;
        ground.writer.finish(place)?;
        Ok(())
    }
}

struct Arrived<'known> {
    blocks: Blocks,
    kept: File,
    writer: SnapshotWriter,
    known: Option<&'known KnownRecords>,
    post: Vec<u8>,
}

impl Arrived<'_> {
    /// Reads a block that was set aside.
    fn read(kept: &mut File, place: u64, into: &mut Vec<u8>) -> Result<(), RepositoryError> {
        let length = place & ((1 << LENGTH_BITS) - 1);
        into.clear();
        into.resize(length as usize, 0);
        kept.seek(SeekFrom::Start(place >> LENGTH_BITS))?;
        kept.read_exact(into)?;
        Ok(())
    }

    /// Writes a record of which the hash alone arrived, if it is known already.
    fn leaf_from_known(&mut self, key: &[u8], value: ContentId) -> Result<(), RepositoryError> {
        let Some(known) = self.known else { return Err(RepositoryError::MissingBlock("a record")) };
        let mut post = None;
        if post_key(key).is_some() {
            let at = known.first(|other| other >= key);
            let same = (at < known.len() && known.key(at) == key && known.value(at) == value).then_some(at);
            let at = same.or_else(|| known.with_value(value)).ok_or(RepositoryError::UnprovenChanges)?;
            post = known.post(at)?;
        }
        self.writer.leaf(key, value, post.as_deref())?;
        Ok(())
    }
}

impl Ground for Arrived<'_> {
    fn node(&mut self, id: ContentId, into: &mut Vec<u8>) -> Result<bool, RepositoryError> {
        let Some(place) = self.blocks.find(id) else { return Ok(false) };
        Self::read(&mut self.kept, place, into)?;
        Ok(true)
    }

    fn leaf(&mut self, key: &[u8], value: ContentId) -> Result<(), RepositoryError> {
        let Some(place) = self.blocks.find(value) else { return self.leaf_from_known(key, value) };
        let mut post = None;
        if post_key(key).is_some() {
            Self::read(&mut self.kept, place, &mut self.post)?;
            // A record of another type under a post's key is not a post.
            post = is_post(&self.post).then_some(self.post.as_slice());
        }
        self.writer.leaf(key, value, post)?;
        Ok(())
    }

    fn absent(
        &mut self,
        id: ContentId,
        layer: Option<u8>,
        after: &[u8],
        before: Option<&[u8]>,
    ) -> Result<Vec<u8>, RepositoryError> {
        let Some(known) = self.known else { return Err(RepositoryError::MissingBlock("a part of its tree")) };
        let subtree = known.below(id).ok_or(RepositoryError::UnprovenChanges)?;
        let (start, end) = (subtree.start, subtree.end);
        // An empty tree is the only one without keys, and it has no place in another.
        if start == end {
            return if layer.is_none() { Ok(Vec::new()) } else { Err(RepositoryError::UnprovenChanges) };
        }
        let fits = known.key(start) > after && before.is_none_or(|before| known.key(end - 1) < before);
        if !fits || layer.is_some_and(|layer| layer != subtree.layer) {
            return Err(RepositoryError::Malformed("the records are out of order"));
        }
        for at in start..end {
            let post = known.post(at)?;
            self.writer.leaf(known.key(at), known.value(at), post.as_deref())?;
        }
        Ok(known.key(end - 1).to_vec())
    }
}
