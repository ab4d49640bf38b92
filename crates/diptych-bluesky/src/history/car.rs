//! The archive format of repository exports (CAR, version 1), read as it arrives.
//!
//! Bytes are pushed in, in pieces of any size, and blocks come out, each checked against the hash in its name. No more than
//! one block and one piece are held. Crates that read this format exist, `shrike` the best of them; they hand
//! out owned blocks from a reader that pulls, where an HTTP body and a blocking worker want to push, and their ids and trees
//! come with a second set of hash and signature code. These are 120 lines.

use super::cbor::Cbor;
use super::content_id::{self, ContentId};
use super::error::RepositoryError;

/// The longest header. It holds a version and the ids of the roots.
const LONGEST_HEADER: u64 = 64 * 1024;
/// The longest block. The protocol's records end at one megabyte; the rest is for writers that are generous.
const LONGEST_BLOCK: u64 = 2 * 1024 * 1024 + content_id::LENGTH as u64;

/// An archive that is being read.
#[derive(Default)]
pub(crate) struct Archive {
    root: Option<ContentId>,
    /// What has arrived and does not make a block yet.
    pending: Vec<u8>,
}

impl Archive {
    /// Takes the next piece and calls `block` for each block that is complete with it, and says of each whether it is the
    /// root.
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        mut block: impl FnMut(ContentId, &[u8], bool) -> Result<(), RepositoryError>,
    ) -> Result<(), RepositoryError> {
        // Most of a piece is whole blocks: only what straddles its edges is copied.
        let mut joined = Vec::new();
        let mut rest = piece;
        if !self.pending.is_empty() {
            joined = std::mem::take(&mut self.pending);
            joined.extend_from_slice(piece);
            rest = &joined;
        }
        while let Some((section, after)) = section(rest, self.root.is_none())? {
            match self.root {
                None => self.root = Some(header(section)?),
                Some(root) => {
                    let (id, content) = section
                        .split_at_checked(content_id::LENGTH)
                        .ok_or(RepositoryError::Malformed("a block has no content id"))?;
                    let id = ContentId::read(id)?;
                    if ContentId::of(content) != id {
                        return Err(RepositoryError::HashMismatch);
                    }
                    block(id, content, id == root)?;
                }
            }
            rest = after;
        }
        if joined.is_empty() {
            self.pending.extend_from_slice(rest);
        } else {
            let done = joined.len() - rest.len();
            joined.drain(..done);
            self.pending = joined;
        }
        Ok(())
    }

    /// Says that there is no more: it must not end in the middle of something.
    pub(crate) fn finish(&self) -> Result<(), RepositoryError> {
        if self.pending.is_empty() && self.root.is_some() { Ok(()) } else { Err(RepositoryError::CutShort) }
    }
}

type Section<'bytes> = Option<(&'bytes [u8], &'bytes [u8])>;

/// The next section and what comes after it, if all of it is there.
fn section(bytes: &[u8], is_header: bool) -> Result<Section<'_>, RepositoryError> {
    let mut length = 0_u64;
    for (index, byte) in bytes.iter().enumerate() {
        // Seven bits a byte; a length that needs more than five of them is beyond every limit.
        if index == 5 {
            return Err(RepositoryError::Oversized("a block is too long"));
        }
        length |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            if length == 0 {
                return Err(RepositoryError::NotARepository("it has an empty section"));
            }
            if length > if is_header { LONGEST_HEADER } else { LONGEST_BLOCK } {
                return Err(if is_header {
                    RepositoryError::NotARepository("its header is too long")
                } else {
                    RepositoryError::Oversized("a block is too long")
                });
            }
            // The limits are far below what a `usize` holds.
            return Ok(bytes[index + 1..].split_at_checked(length as usize));
        }
    }
    Ok(None)
}

fn header(bytes: &[u8]) -> Result<ContentId, RepositoryError> {
    let (mut version, mut root, mut roots) = (None, None, 0);
    Cbor::new(bytes)
        .fields(|key, mut value| match key {
            "version" => version = value.unsigned().ok(),
            "roots" => {
                let _ = value.items(|mut item| {
                    roots += 1;
                    root = root.or_else(|| item.link().ok().and_then(|link| ContentId::read(link).ok()));
                });
            }
            _ => {}
        })
        .map_err(|_| RepositoryError::NotARepository("its header cannot be read"))?;
    match (version, root, roots) {
        (Some(1), Some(root), 1) => Ok(root),
        (Some(1), ..) => Err(RepositoryError::NotARepository("it has no root, or several")),
        _ => Err(RepositoryError::NotARepository("its version is unknown")),
    }
}
