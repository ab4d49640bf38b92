//! The tree of records (a Merkle search tree): walking it, and proving that a part of it has not changed.
//!
//! The shape of the tree follows from its keys alone, so the cache keeps no nodes. Changes to a repository leave out what has
//! not changed; then the tree of the cached keys is built again, and where the new tree refers to one of its nodes, the keys
//! below that node are as they were: hash for hash, so nothing among them was added, changed or deleted. A node that is
//! neither sent nor built proves that the changes do not fit.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use super::cbor::{Cbor, Writer};
use super::content_id::ContentId;
use super::error::RepositoryError;

/// The longest key: a collection and a record key, with room.
const LONGEST_KEY: usize = 1024;

const MALFORMED: RepositoryError = RepositoryError::Malformed("a node of the tree cannot be read");

/// Where the walk gets nodes from and leaves records.
pub(crate) trait Ground {
    /// The node's bytes, if they are there.
    fn node(&mut self, id: ContentId, into: &mut Vec<u8>) -> Result<bool, RepositoryError>;

    /// A record, in the order of the keys.
    fn leaf(&mut self, key: &[u8], value: ContentId) -> Result<(), RepositoryError>;

    /// A node that is not there. Its keys lie strictly between the two; whoever can prove which they are
    /// reports them all as leaves and returns the last of them.
    fn absent(
        &mut self,
        id: ContentId,
        layer: Option<u8>,
        after: &[u8],
        before: Option<&[u8]>,
    ) -> Result<Vec<u8>, RepositoryError>;
}

/// How many leading pairs of zero bits the hash of a key has: the layer it belongs to.
pub(crate) fn layer_of(key: &[u8]) -> u8 {
    let hash: [u8; 32] = Sha256::digest(key).into();
    let mut zeros = 0;
    for byte in hash {
        zeros += byte.leading_zeros();
        if byte != 0 {
            break;
        }
    }
    (zeros / 2) as u8
}

struct Entry {
    key: Vec<u8>,
    value: ContentId,
    /// The subtree after the key.
    right: Option<ContentId>,
}

struct Node {
    /// The subtree before the first key.
    left: Option<ContentId>,
    entries: Vec<Entry>,
}

impl Node {
    fn read(block: &[u8]) -> Result<Self, RepositoryError> {
        let mut node = Node { left: None, entries: Vec::new() };
        let mut cbor = Cbor::new(block);
        let (mut has_entries, mut has_left) = (false, false);
        for _ in 0..cbor.map()? {
            match cbor.text()? {
                "e" => {
                    has_entries = true;
                    let mut key = Vec::new();
                    for _ in 0..cbor.array()? {
                        let entry = read_entry(&mut cbor, &key)?;
                        key.clone_from(&entry.key);
                        node.entries.push(entry);
                    }
                }
                "l" => {
                    has_left = true;
                    node.left = cbor.link_or_null()?.map(ContentId::read).transpose()?;
                }
                _ => return Err(MALFORMED),
            }
        }
        cbor.end()?;
        if has_entries && has_left { Ok(node) } else { Err(MALFORMED) }
    }
}

fn read_entry(cbor: &mut Cbor<'_>, previous: &[u8]) -> Result<Entry, RepositoryError> {
    let (mut shared, mut suffix, mut value, mut right) = (None, None, None, None);
    for _ in 0..cbor.map()? {
        match cbor.text()? {
            "k" => suffix = Some(cbor.bytes()?),
            "p" => shared = usize::try_from(cbor.unsigned()?).ok(),
            "t" => right = cbor.link_or_null()?.map(ContentId::read).transpose()?,
            "v" => value = Some(ContentId::read(cbor.link()?)?),
            _ => return Err(MALFORMED),
        }
    }
    let (Some(shared), Some(suffix), Some(value)) = (shared, suffix, value) else { return Err(MALFORMED) };
    let mut key = previous.get(..shared).ok_or(MALFORMED)?.to_vec();
    key.extend_from_slice(suffix);
    if !is_key(&key) {
        return Err(RepositoryError::Malformed("a record has an impossible key"));
    }
    Ok(Entry { key, value, right })
}

/// A collection, a slash and a record key.
fn is_key(key: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_~-:./".contains(byte);
    let mut parts = key.split(|byte| *byte == b'/');
    key.len() <= LONGEST_KEY
        && key.iter().all(allowed)
        && parts.next().is_some_and(|collection| !collection.is_empty())
        && parts.next().is_some_and(|record| !record.is_empty())
        && parts.next().is_none()
}

/// Visits every record below `root` in the order of the keys, checking order and depth on the way.
pub(crate) fn walk(root: ContentId, ground: &mut impl Ground) -> Result<(), RepositoryError> {
    let mut walk = Walk { ground, last: Vec::new(), block: Vec::new() };
    walk.node(root, None, None)
}

struct Walk<'ground, G> {
    ground: &'ground mut G,
    /// The last key that was visited.
    last: Vec<u8>,
    block: Vec<u8>,
}

impl<G: Ground> Walk<'_, G> {
    /// Recursion is bounded: each step down is one layer down, and there are 128 at most.
    fn node(
        &mut self,
        id: ContentId,
        layer: Option<u8>,
        before: Option<&[u8]>,
    ) -> Result<(), RepositoryError> {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        if !self.ground.node(id, &mut block)? {
            self.block = block;
            self.last = self.ground.absent(id, layer, &self.last, before)?;
            return Ok(());
        }
        let node = Node::read(&block)?;
        self.block = block;
        let is_root = layer.is_none();
        let layer = match (layer, node.entries.first()) {
            (Some(layer), _) => layer,
            (None, Some(first)) => layer_of(&first.key),
            (None, None) => 0,
        };
        // A node without keys only ever bridges a layer. So each subtree has a key, and since keys only grow, no
        // subtree can be visited twice.
        if node.entries.is_empty() && (is_root != node.left.is_none() || (!is_root && layer == 0)) {
            return Err(RepositoryError::Malformed("the tree has an empty node"));
        }
        let first = node.entries.first().map(|entry| entry.key.as_slice()).or(before);
        self.below(node.left, layer, first)?;
        for (index, entry) in node.entries.iter().enumerate() {
            if entry.key <= self.last {
                return Err(RepositoryError::Malformed("the records are out of order"));
            }
            if layer_of(&entry.key) != layer {
                return Err(RepositoryError::Malformed("a record is at the wrong depth of the tree"));
            }
            self.ground.leaf(&entry.key, entry.value)?;
            self.last.clone_from(&entry.key);
            let next = node.entries.get(index + 1).map(|entry| entry.key.as_slice()).or(before);
            self.below(entry.right, layer, next)?;
        }
        Ok(())
    }

    fn below(
        &mut self,
        child: Option<ContentId>,
        layer: u8,
        before: Option<&[u8]>,
    ) -> Result<(), RepositoryError> {
        let Some(child) = child else { return Ok(()) };
        let layer = layer
            .checked_sub(1)
            .ok_or(RepositoryError::Malformed("the tree is deeper than its keys allow"))?;
        self.node(child, Some(layer), before)
    }
}

/// Keys in order with the records they stand for.
pub(crate) trait Leaves {
    fn key(&self, at: usize) -> &[u8];
    fn value(&self, at: usize) -> ContentId;
}

/// A node of a tree that was built from its leaves.
pub(crate) struct Built<'node> {
    pub(crate) id: ContentId,
    #[cfg_attr(not(any(test, feature = "synthetic")), expect(dead_code, reason = "for making repositories"))]
    pub(crate) block: &'node [u8],
    /// The leaves below it.
    pub(crate) leaves: Range<usize>,
    pub(crate) layer: u8,
}

/// Builds the tree that has exactly these leaves, calls `emit` with each of its nodes, and returns the root.
pub(crate) fn build(leaves: &impl Leaves, count: usize, emit: &mut dyn FnMut(Built<'_>)) -> ContentId {
    let layers: Vec<u8> = (0..count).map(|at| layer_of(leaves.key(at))).collect();
    let highest = layers.iter().copied().max().unwrap_or(0);
    Builder { leaves, layers: &layers, emit }.node(0..count, highest)
}

struct Builder<'a, L> {
    leaves: &'a L,
    layers: &'a [u8],
    emit: &'a mut dyn FnMut(Built<'_>),
}

impl<L: Leaves> Builder<'_, L> {
    fn node(&mut self, range: Range<usize>, layer: u8) -> ContentId {
        let own: Vec<usize> = range.clone().filter(|at| self.layers[*at] == layer).collect();
        let first = own.first().copied().unwrap_or(range.end);
        let left = self.below(range.start..first, layer);
        let mut writer = Writer::default();
        writer.map(2);
        writer.text("e");
        writer.array(own.len());
        let mut previous: &[u8] = &[];
        let leaves = self.leaves;
        for (index, at) in own.iter().enumerate() {
            let key = leaves.key(*at);
            let shared = key.iter().zip(previous).take_while(|(left, right)| left == right).count();
            let end = own.get(index + 1).copied().unwrap_or(range.end);
            let right = self.below(at + 1..end, layer);
            writer.map(4);
            writer.text("k");
            writer.bytes(&key[shared..]);
            writer.text("p");
            writer.unsigned(shared as u64);
            writer.text("t");
            link(&mut writer, right);
            writer.text("v");
            link(&mut writer, Some(leaves.value(*at)));
            previous = key;
        }
        writer.text("l");
        link(&mut writer, left);
        let id = ContentId::of(&writer.0);
        (self.emit)(Built { id, block: &writer.0, leaves: range, layer });
        id
    }

    fn below(&mut self, range: Range<usize>, layer: u8) -> Option<ContentId> {
        (!range.is_empty()).then(|| self.node(range, layer - 1))
    }
}

fn link(writer: &mut Writer, id: Option<ContentId>) {
    match id {
        Some(id) => writer.link(&id.bytes()),
        None => writer.null(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_layers() {
        // From the protocol's specification.
        for (key, layer) in [
            ("2653ae71", 0),
            ("blue", 1),
            ("app.bsky.feed.post/454397e440ec", 4),
            ("app.bsky.feed.post/9adeb165882c", 8),
        ] {
            assert_eq!(layer_of(key.as_bytes()), layer, "{key}");
        }
    }

    struct List(Vec<(Vec<u8>, ContentId)>);

    impl Leaves for List {
        fn key(&self, at: usize) -> &[u8] {
            &self.0[at].0
        }
        fn value(&self, at: usize) -> ContentId {
            self.0[at].1
        }
    }

    #[test]
    fn known_trees_have_known_roots() {
        // From the protocol's interoperability tests: the empty tree and two small ones, all with one value.
        let value: [u8; 32] = {
            let text = "bafyreie5cvv4h45feadgeuwhbcutmh6t2ceseocckahdoe6uat64zmz454";
            let mut bits = (0_u32, 0_u32);
            let mut bytes = Vec::new();
            for letter in text[1..].bytes() {
                let digit = if letter < b'a' { letter - b'2' + 26 } else { letter - b'a' };
                bits = ((bits.0 << 5) | u32::from(digit), bits.1 + 5);
                if bits.1 >= 8 {
                    bits.1 -= 8;
                    bytes.push((bits.0 >> bits.1) as u8);
                    bits.0 &= (1 << bits.1) - 1;
                }
            }
            bytes[4..36].try_into().unwrap()
        };
        let root = |keys: &[&str]| {
            let leaves = List(keys.iter().map(|key| (key.as_bytes().to_vec(), ContentId(value))).collect());
            build(&leaves, keys.len(), &mut |_| {}).to_string()
        };
        assert_eq!(root(&[]), "bafyreie5737gdxlw5i64vzichcalba3z2v5n6icifvx5xytvske7mr3hpm");
        assert_eq!(
            root(&["com.example.record/3jqfcqzm3fo2j"]),
            "bafyreibj4lsc3aqnrvphp5xmrnfoorvru4wynt6lwidqbm2623a6tatzdu"
        );
        assert_eq!(
            root(&["com.example.record/3jqfcqzm3fx2j"]),
            "bafyreih7wfei65pxzhauoibu3ls7jgmkju4bspy4t2ha2qdjnzqvoy33ai"
        );
    }
}
