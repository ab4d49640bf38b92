//! A verified repository in a file: every key with its record's hash, and the posts themselves.
//!
//! All keys are kept, not only those of posts: with them any part of the tree can be built again, which is how changes are
//! proven (see `tree`). They come in order, each sharing what it can with the one before. A file is written beside its
//! place and moved there when it is complete, so readers see the old state or the new one; it ends with a hash of
//! everything before it. One that is damaged or of another version is as good as none: it can be fetched again.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::commit::VerifiedCommit;
use super::content_id::ContentId;
use super::tree::{self, Leaves};

/// The beginning of every file; the last byte is the version of what follows.
const MAGIC: [u8; 8] = *b"diptyhs\x01";
const BUFFER: usize = 1 << 18;
const HASH: u64 = 32;
/// What no length in a sound file exceeds.
const LONGEST: u64 = 4 * 1024 * 1024;

const END: u8 = 0;
const LEAF: u8 = 1;

/// A file that is being written.
pub(crate) struct SnapshotWriter {
    file: Hashing<BufWriter<NamedTempFile>>,
    last: Vec<u8>,
}

impl SnapshotWriter {
    pub(crate) fn create(folder: &Path, commit: &VerifiedCommit) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, NamedTempFile::new_in(folder)?);
        let mut writer = SnapshotWriter { file: Hashing::new(file), last: Vec::new() };
        writer.file.write_all(&MAGIC)?;
        writer.file.write_all(&commit.data.0)?;
        writer.file.write_all(&commit.id.0)?;
        writer.sized(commit.did.as_bytes())?;
        writer.sized(commit.rev.as_bytes())?;
        Ok(writer)
    }

    /// Adds a record; those that are not posts come without their content.
    pub(crate) fn leaf(&mut self, key: &[u8], value: ContentId, post: Option<&[u8]>) -> io::Result<()> {
        let shared = key.iter().zip(&self.last).take_while(|(left, right)| left == right).count();
        self.file.write_all(&[LEAF])?;
        self.number(shared as u64)?;
        self.sized(&key[shared..])?;
        self.file.write_all(&value.0)?;
        self.sized(post.unwrap_or_default())?;
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Completes the file and moves it to its place.
    pub(crate) fn finish(mut self, place: &Path) -> io::Result<()> {
        self.file.write_all(&[END])?;
        let hash: [u8; 32] = self.file.hash.finalize().into();
        let mut file = self.file.inner;
        file.write_all(&hash)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        // Not synced: a file that a crash left incomplete is noticed by its hash and fetched again.
        file.persist(place).map_err(|error| error.error)?;
        Ok(())
    }

    fn number(&mut self, mut number: u64) -> io::Result<()> {
        let (mut bytes, mut length) = ([0_u8; 10], 0);
        loop {
            bytes[length] = (number & 0x7f) as u8 | if number > 0x7f { 0x80 } else { 0 };
            number >>= 7;
            length += 1;
            if number == 0 {
                return self.file.write_all(&bytes[..length]);
            }
        }
    }

    fn sized(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.number(bytes.len() as u64)?;
        self.file.write_all(bytes)
    }
}

/// Hashes what passes through.
struct Hashing<T> {
    inner: T,
    hash: Sha256,
}

impl<T> Hashing<T> {
    fn new(inner: T) -> Self {
        Hashing { inner, hash: Sha256::new() }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.hash.update(&into[..read]);
        Ok(read)
    }
}

/// A file that is being read, from its first leaf on.
pub(crate) struct SnapshotReader {
    /// Whose state it is, and which.
    pub(crate) commit: VerifiedCommit,
    source: BufReader<Hashing<io::Take<File>>>,
    /// How many bytes have been read.
    at: u64,
}

/// A record as the file has it.
pub(crate) struct Stored<'reader> {
    pub(crate) key: &'reader [u8],
    pub(crate) value: ContentId,
    /// The content, if it is a post.
    pub(crate) post: Option<&'reader [u8]>,
    /// Where in the file the content is.
    pub(crate) place: Place,
}

/// Where a post's content is in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl SnapshotReader {
    /// Opens a file. Nothing when there is none that can be used.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let source = file.take(length.saturating_sub(HASH));
        let nobody = VerifiedCommit {
            did: String::new(),
            rev: String::new(),
            data: ContentId([0; 32]),
            id: ContentId([0; 32]),
        };
        let mut reader = SnapshotReader {
            commit: nobody,
            source: BufReader::with_capacity(BUFFER, Hashing::new(source)),
            at: 0,
        };
        match reader.head() {
            Ok(true) => Ok(Some(reader)),
            Ok(false) => Ok(None),
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn head(&mut self) -> io::Result<bool> {
        let mut magic = [0; 8];
        self.exact(&mut magic)?;
        if magic != MAGIC {
            return Ok(false);
        }
        let (mut data, mut id) = ([0; 32], [0; 32]);
        self.exact(&mut data)?;
        self.exact(&mut id)?;
        let (mut did, mut rev) = (Vec::new(), Vec::new());
        self.sized(&mut did)?;
        self.sized(&mut rev)?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| damaged());
        self.commit =
            VerifiedCommit { did: text(did)?, rev: text(rev)?, data: ContentId(data), id: ContentId(id) };
        Ok(true)
    }

    fn exact(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.source.read_exact(into)?;
        self.at += into.len() as u64;
        Ok(())
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let mut byte = [0];
            self.exact(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// Appends as many bytes as the length before them says.
    fn sized(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let length = self.number()?;
        if length > LONGEST {
            return Err(damaged());
        }
        let start = into.len();
        into.resize(start + length as usize, 0);
        self.exact(&mut into[start..])?;
        Ok(length as usize)
    }

    /// Visits every record in the order of the keys. What was seen counts only if this returns without an error: the
    /// hash comes last. Returns the file, for reading posts from their places.
    pub(crate) fn records(
        mut self,
        mut visit: impl FnMut(Stored<'_>) -> io::Result<()>,
    ) -> io::Result<PostFile> {
        let (mut key, mut post) = (Vec::new(), Vec::new());
        loop {
            let mut marker = [0];
            self.exact(&mut marker)?;
            match marker[0] {
                LEAF => {
                    let shared = self.number()?;
                    if shared > key.len() as u64 {
                        return Err(damaged());
                    }
                    key.truncate(shared as usize);
                    self.sized(&mut key)?;
                    let mut value = ContentId([0; 32]);
                    self.exact(&mut value.0)?;
                    post.clear();
                    let length = self.sized(&mut post)?;
                    let place = Place { offset: self.at - length as u64, length: length as u32 };
                    let post = (length > 0).then_some(post.as_slice());
                    visit(Stored { key: &key, value, post, place })?;
                }
                END => break,
                _ => return Err(damaged()),
            }
        }
        if !self.source.fill_buf()?.is_empty() {
            return Err(damaged());
        }
        let Hashing { inner, hash } = self.source.into_inner();
        let mut file = inner.into_inner();
        let mut expected = [0; 32];
        file.seek(SeekFrom::Start(self.at))?;
        file.read_exact(&mut expected)?;
        if expected != <[u8; 32]>::from(hash.finalize()) {
            return Err(damaged());
        }
        Ok(PostFile(Mutex::new(file)))
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is damaged")
}

/// Whether the file itself is at fault, so that fetching again mends it.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

/// A file that was read to its end. It stays what it was even when another takes its place in the folder.
#[derive(Debug)]
pub(crate) struct PostFile(Mutex<File>);

impl PostFile {
    /// Reads one post.
    pub(crate) fn post(&self, place: Place) -> io::Result<Vec<u8>> {
        let mut content = vec![0; place.length as usize];
        // Where the file is read is one for all who read it.
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(place.offset))?;
        file.read_exact(&mut content)?;
        Ok(content)
    }
}

/// All records of a file, in memory: what changes are applied to.
pub(crate) struct KnownRecords {
    pub(crate) commit: VerifiedCommit,
    keys: Vec<u8>,
    ends: Vec<u64>,
    values: Vec<ContentId>,
    places: Vec<Place>,
    file: PostFile,
    subtrees: HashMap<ContentId, Subtree>,
}

/// Which records are below a node of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subtree {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) layer: u8,
}

impl KnownRecords {
    /// Reads a file. Nothing when there is none that can be used.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let Some(reader) = SnapshotReader::open(path)? else { return Ok(None) };
        let commit = reader.commit.clone();
        let (mut keys, mut ends, mut values, mut places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let read = reader.records(|record| {
            keys.extend_from_slice(record.key);
            ends.push(keys.len() as u64);
            values.push(record.value);
            places.push(record.place);
            Ok(())
        });
        match read {
            Ok(file) => {
                let subtrees = HashMap::default();
                let mut known = KnownRecords { commit, keys, ends, values, places, file, subtrees };
                let mut subtrees = HashMap::default();
                let root = tree::build(&known, known.len(), &mut |node| {
                    let subtree =
                        Subtree { start: node.leaves.start, end: node.leaves.end, layer: node.layer };
                    subtrees.insert(node.id, subtree);
                });
                known.subtrees = subtrees;
                // What the commit does not vouch for is of no use.
                Ok(Some(known).filter(|known| known.commit.data == root))
            }
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The first record whose key fulfils `is_beyond`, which must hold for all keys after one it holds for.
    pub(crate) fn first(&self, is_beyond: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_beyond(self.key(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// The records below a node of the tree, if it is one of this tree.
    pub(crate) fn below(&self, node: ContentId) -> Option<Subtree> {
        self.subtrees.get(&node).copied()
    }

    /// The content of a record, if it is a post.
    pub(crate) fn post(&self, at: usize) -> io::Result<Option<Vec<u8>>> {
        let place = self.places[at];
        if place.length == 0 { Ok(None) } else { self.file.post(place).map(Some) }
    }

    /// A record of that hash, wherever it is.
    pub(crate) fn with_value(&self, value: ContentId) -> Option<usize> {
        self.values.iter().position(|known| *known == value)
    }
}

impl Leaves for KnownRecords {
    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[at] as usize]
    }

    fn value(&self, at: usize) -> ContentId {
        self.values[at]
    }
}
