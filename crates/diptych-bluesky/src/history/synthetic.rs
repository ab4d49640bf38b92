//! Repositories that nobody wrote: made, signed and exported as a server would, for tests and measurements.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek, SeekFrom, Write};
use std::path::PathBuf;

use diptych::ToolError;
use futures_util::StreamExt as _;
use k256::ecdsa::signature::Signer as _;

use super::POST_COLLECTION;
use super::cbor::Writer;
use super::content_id::ContentId;
use super::histories::{self, Origin};
use super::key::SigningKey;
use super::tree::{self, Leaves};

/// Someone who signs commits.
#[derive(Debug, Clone)]
pub struct Author {
    /// The account.
    pub did: String,
    signer: Signer,
}

#[derive(Debug, Clone)]
enum Signer {
    Secp256k1(Box<k256::ecdsa::SigningKey>),
    P256(Box<p256::ecdsa::SigningKey>),
}

impl Author {
    /// An account that signs with the curve most accounts use.
    pub fn secp256k1(did: &str, seed: u8) -> Self {
        let key = k256::ecdsa::SigningKey::from_slice(&[seed.max(1); 32]);
        let key = key.unwrap_or_else(|_| unreachable!("small numbers are keys"));
        Author { did: did.to_owned(), signer: Signer::Secp256k1(Box::new(key)) }
    }

    /// An account that signs with the other curve.
    pub fn p256(did: &str, seed: u8) -> Self {
        let key = p256::ecdsa::SigningKey::from_slice(&[seed.max(1); 32]);
        let key = key.unwrap_or_else(|_| unreachable!("small numbers are keys"));
        Author { did: did.to_owned(), signer: Signer::P256(Box::new(key)) }
    }

    /// The public key as DID documents write it.
    pub fn public_key(&self) -> String {
        let (codec, point): ([u8; 2], Vec<u8>) = match &self.signer {
            Signer::Secp256k1(key) => {
                ([0xe7, 0x01], key.verifying_key().to_sec1_point(true).as_bytes().to_vec())
            }
            Signer::P256(key) => ([0x80, 0x24], key.verifying_key().to_sec1_point(true).as_bytes().to_vec()),
        };
        format!("z{}", bs58::encode([codec.as_slice(), &point].concat()).into_string())
    }

    /// The public key as older DID documents write it.
    pub fn bare_public_key(&self) -> String {
        let point = match &self.signer {
            Signer::Secp256k1(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            Signer::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
        };
        format!("z{}", bs58::encode(point).into_string())
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match &self.signer {
            Signer::Secp256k1(key) => {
                let signature: k256::ecdsa::Signature = key.sign(message);
                signature.normalize_s().to_vec()
            }
            Signer::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.normalize_s().to_vec()
            }
        }
    }

    /// A signed commit to a tree.
    pub fn commit(&self, rev: &str, data: ContentId) -> Vec<u8> {
        let fields = |signature: Option<&[u8]>| {
            let mut writer = Writer::default();
            writer.map(5 + u64::from(signature.is_some()));
            writer.text("did");
            writer.text(&self.did);
            writer.text("rev");
            writer.text(rev);
            if let Some(signature) = signature {
                writer.text("sig");
                writer.bytes(signature);
            }
            writer.text("data");
            writer.link(&data.bytes());
            writer.text("prev");
            writer.null();
            writer.text("version");
            writer.unsigned(3);
            writer.0
        };
        let signature = self.sign(&fields(None));
        fields(Some(&signature))
    }
}

/// An exported repository in a file, as a place that histories come from.
#[derive(Debug, Clone)]
pub struct ExportFile {
    /// The file.
    pub car: PathBuf,
    /// Who signed it.
    pub author: Author,
}

impl Origin for ExportFile {
    async fn key(&self, _fresh: bool) -> Result<SigningKey, ToolError> {
        Ok(SigningKey::parse(&self.author.public_key())?)
    }

    async fn latest(&self) -> Result<String, ToolError> {
        Ok(key_of(2_000_000_000))
    }

    async fn export(&self, _since: Option<&str>) -> Result<histories::Export, ToolError> {
        let mut file = File::open(&self.car)?;
        let total = Some(file.metadata()?.len());
        let pieces = std::iter::from_fn(move || {
            let mut piece = vec![0; 64 * 1024];
            match file.read(&mut piece) {
                Ok(0) => None,
                Ok(length) => {
                    piece.truncate(length);
                    Some(Ok(piece))
                }
                Err(error) => Some(Err(error.into())),
            }
        });
        Ok(histories::Export { total, pieces: futures_util::stream::iter(pieces).boxed() })
    }
}

/// A repository that can be changed and exported.
#[derive(Debug, Clone)]
pub struct Repository {
    /// Whose it is.
    pub author: Author,
    /// Records by key.
    pub records: BTreeMap<String, Vec<u8>>,
    /// Counts commits.
    pub commits: u64,
}

/// An export in the parts that it can be cut between: the header, then block after block.
#[derive(Debug, Clone)]
pub struct Export {
    /// The parts.
    pub sections: Vec<Vec<u8>>,
}

impl Export {
    /// The whole.
    pub fn bytes(&self) -> Vec<u8> {
        self.sections.concat()
    }
}

struct Sorted<'records>(Vec<(&'records str, ContentId)>);

impl Leaves for Sorted<'_> {
    fn key(&self, at: usize) -> &[u8] {
        self.0[at].0.as_bytes()
    }

    fn value(&self, at: usize) -> ContentId {
        self.0[at].1
    }
}

impl Repository {
    /// An empty one.
    pub fn new(author: Author) -> Self {
        Repository { author, records: BTreeMap::new(), commits: 1 }
    }

    /// Adds or changes a post; returns its key within the collection.
    pub fn post(&mut self, number: u64, text: &str) -> String {
        let key = key_of(number);
        self.records.insert(format!("{POST_COLLECTION}/{key}"), post(text, time_of(number)));
        self.commits += 1;
        key
    }

    /// Adds a like.
    pub fn like(&mut self, number: u64) {
        self.records.insert(format!("app.bsky.feed.like/{}", key_of(number)), like(number));
        self.commits += 1;
    }

    /// Deletes a record; whether it was there.
    pub fn delete(&mut self, key: &str) -> bool {
        self.commits += 1;
        self.records.remove(key).is_some()
    }

    /// The revision of the latest commit.
    pub fn rev(&self) -> String {
        key_of(1_000_000_000 + self.commits)
    }

    fn blocks(&self) -> (ContentId, Vec<(ContentId, Vec<u8>)>) {
        let mut blocks: Vec<(ContentId, Vec<u8>)> = Vec::new();
        let mut leaves = Vec::new();
        for (key, record) in &self.records {
            let id = ContentId::of(record);
            leaves.push((key.as_str(), id));
            blocks.push((id, record.clone()));
        }
        let count = leaves.len();
        let root =
            tree::build(&Sorted(leaves), count, &mut |node| blocks.push((node.id, node.block.to_vec())));
        let commit = self.author.commit(&self.rev(), root);
        let id = ContentId::of(&commit);
        blocks.push((id, commit));
        // Servers send blocks in no particular order.
        blocks.sort_unstable();
        blocks.dedup();
        (id, blocks)
    }

    /// Everything.
    pub fn export(&self) -> Export {
        let (root, blocks) = self.blocks();
        archive(root, blocks.iter().map(|(id, block)| (*id, block.as_slice())))
    }

    /// What is new since an earlier state: the blocks that it did not have.
    pub fn changes_since(&self, earlier: &Repository) -> Export {
        let known: BTreeSet<ContentId> = earlier.blocks().1.into_iter().map(|(id, _)| id).collect();
        let (root, blocks) = self.blocks();
        let new = blocks.iter().filter(|(id, _)| !known.contains(id));
        archive(root, new.map(|(id, block)| (*id, block.as_slice())))
    }
}

/// An export of these blocks.
pub fn archive<'a>(root: ContentId, blocks: impl IntoIterator<Item = (ContentId, &'a [u8])>) -> Export {
    let mut sections = vec![section(&[&header(root)])];
    sections.extend(blocks.into_iter().map(|(id, block)| section(&[&id.bytes(), block])));
    Export { sections }
}

fn header(root: ContentId) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.map(2);
    writer.text("roots");
    writer.array(1);
    writer.link(&root.bytes());
    writer.text("version");
    writer.unsigned(1);
    writer.0
}

/// A length and what has it.
pub fn section(parts: &[&[u8]]) -> Vec<u8> {
    let mut length = parts.iter().map(|part| part.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(length + 5);
    while length > 0x7f {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// A key made from a clock that counts minutes.
pub fn key_of(number: u64) -> String {
    const LETTERS: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
    let mut clock = (time_of(number).as_microsecond() as u64) << 10;
    let mut letters = [0; 13];
    for letter in letters.iter_mut().rev() {
        *letter = LETTERS[(clock & 31) as usize];
        clock >>= 5;
    }
    letters.iter().map(|letter| char::from(*letter)).collect()
}

fn time_of(number: u64) -> jiff::Timestamp {
    let micros = 1_680_000_000_000_000_i64 + i64::try_from(number).unwrap_or(0) * 97_000_000;
    jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// A post record with nothing but a text.
pub fn post(text: &str, created: jiff::Timestamp) -> Vec<u8> {
    rich_post(text, created, &PostExtras::default())
}

/// What a post may have beside its text.
#[derive(Debug, Clone, Default)]
pub struct PostExtras {
    /// The post that it answers.
    pub parent: Option<String>,
    /// Images' descriptions.
    pub images: Vec<String>,
    /// A link of the text.
    pub link: Option<String>,
    /// An account that the text mentions.
    pub mention: Option<String>,
    /// A post that it quotes.
    pub quote: Option<String>,
}

/// A post record.
pub fn rich_post(text: &str, created: jiff::Timestamp, extras: &PostExtras) -> Vec<u8> {
    let mut writer = Writer::default();
    let some_id = ContentId::of(b"").bytes();
    let has_facets = extras.link.is_some() || extras.mention.is_some();
    let has_embed = !extras.images.is_empty() || extras.quote.is_some();
    writer.map(4 + u64::from(extras.parent.is_some()) + u64::from(has_facets) + u64::from(has_embed));
    writer.text("text");
    writer.text(text);
    writer.text("$type");
    writer.text(POST_COLLECTION);
    let link = |writer: &mut Writer, uri: &str| {
        writer.map(2);
        writer.text("cid");
        writer.text(&ContentId::of(uri.as_bytes()).to_string());
        writer.text("uri");
        writer.text(uri);
    };
    if has_embed {
        writer.text("embed");
        if let Some(quote) = &extras.quote {
            writer.map(2);
            writer.text("$type");
            writer.text("app.bsky.embed.record");
            writer.text("record");
            link(&mut writer, quote);
        } else {
            writer.map(2);
            writer.text("$type");
            writer.text("app.bsky.embed.images");
            writer.text("images");
            writer.array(extras.images.len());
            for alt in &extras.images {
                writer.map(2);
                writer.text("alt");
                writer.text(alt);
                writer.text("image");
                writer.map(4);
                writer.text("ref");
                writer.link(&some_id);
                writer.text("size");
                writer.unsigned(100);
                writer.text("$type");
                writer.text("blob");
                writer.text("mimeType");
                writer.text("image/png");
            }
        }
    }
    writer.text("langs");
    writer.array(1);
    writer.text("en");
    if let Some(parent) = &extras.parent {
        writer.text("reply");
        writer.map(2);
        writer.text("root");
        link(&mut writer, parent);
        writer.text("parent");
        link(&mut writer, parent);
    }
    if has_facets {
        let features = [
            extras.link.as_ref().map(|link| ("app.bsky.richtext.facet#link", "uri", link)),
            extras.mention.as_ref().map(|did| ("app.bsky.richtext.facet#mention", "did", did)),
        ];
        writer.text("facets");
        writer.array(features.iter().flatten().count());
        for (kind, name, value) in features.into_iter().flatten() {
            writer.map(2);
            writer.text("index");
            writer.map(2);
            writer.text("byteEnd");
            writer.unsigned(1);
            writer.text("byteStart");
            writer.unsigned(0);
            writer.text("features");
            writer.array(1);
            writer.map(2);
            writer.text(name);
            writer.text(value);
            writer.text("$type");
            writer.text(kind);
        }
    }
    writer.text("createdAt");
    writer.text(&created.to_string());
    writer.0
}

/// A like of some post.
fn like(number: u64) -> Vec<u8> {
    let mut writer = Writer::default();
    let uri = format!("at://did:plc:{:024}/{POST_COLLECTION}/{}", number % 9973, key_of(number));
    writer.map(3);
    writer.text("$type");
    writer.text("app.bsky.feed.like");
    writer.text("subject");
    writer.map(2);
    writer.text("cid");
    writer.text(&ContentId::of(uri.as_bytes()).to_string());
    writer.text("uri");
    writer.text(&uri);
    writer.text("createdAt");
    writer.text(&time_of(number).to_string());
    writer.0
}

/// Numbers that look like chance and are the same every time.
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// Starts a row of numbers.
    pub fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number, below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }
}

const SYLLABLES: [&str; 40] = [
    "ba", "ker", "mo", "tin", "sal", "dre", "gu", "lor", "vi", "en", "pa", "shi", "ro", "ma", "tel", "qua",
    "zi", "fon", "ha", "wen", "ly", "cro", "du", "ster", "al", "ne", "ing", "oth", "er", "co", "pli", "sta",
    "ge", "um", "fi", "jo", "and", "the", "to", "is",
];

/// A word: the lower its number, the shorter and the more common.
pub fn word(number: u64) -> String {
    let mut text = String::new();
    let mut rest = number + 1;
    while rest > 0 {
        text.push_str(SYLLABLES[(rest % 40) as usize]);
        rest /= 40;
    }
    text
}

/// A text of some twenty words, most of them common: like posts, half of a history's words are the same two hundred, and
/// there is always one that nobody used before.
pub fn text(chance: &mut Chance) -> String {
    let mut text = String::new();
    for position in 0..8 + chance.below(24) {
        if position > 0 {
            text.push(' ');
        }
        let spread = [200, 4_000, 40_000][chance.below(20).min(8).saturating_sub(6) as usize];
        let word = word(chance.below(spread));
        if chance.below(9) == 0 {
            let mut letters = word.chars();
            text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            text.push_str(letters.as_str());
        } else {
            text.push_str(&word);
        }
        if chance.below(12) == 0 {
            text.push_str([",", ".", "!", " \u{2014}"][chance.below(4) as usize]);
        }
    }
    if chance.below(20) == 0 {
        text.push_str(&format!(" https://example.com/{}", word(chance.below(1_000_000))));
    }
    text
}

/// Writes the export of a large repository: so many posts among so many likes. Memory is what the tree needs.
///
/// # Errors
/// When it cannot be written.
pub fn write_large(file: impl Write + Seek, author: &Author, posts: u64, likes: u64) -> io::Result<String> {
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let empty = section(&[&header(ContentId([0; 32]))]);
    file.write_all(&empty)?;
    let mut chance = Chance::new(7);
    let mut leaves: Vec<(String, ContentId)> = Vec::new();
    let mut add = |key: String, record: &[u8], file: &mut BufWriter<_>| -> io::Result<()> {
        let id = ContentId::of(record);
        file.write_all(&section(&[&id.bytes(), record]))?;
        leaves.push((key, id));
        Ok(())
    };
    for number in 0..likes {
        add(format!("app.bsky.feed.like/{}", key_of(number)), &like(number), &mut file)?;
    }
    for number in 0..posts {
        let extras = PostExtras {
            parent: (chance.below(3) == 0).then(|| {
                format!("at://did:plc:{:024}/{POST_COLLECTION}/{}", chance.below(500), key_of(number / 2))
            }),
            images: if chance.below(8) == 0 { vec![text(&mut chance)] } else { Vec::new() },
            link: (chance.below(10) == 0).then(|| format!("https://example.com/{number}")),
            mention: None,
            quote: None,
        };
        let record = rich_post(&text(&mut chance), time_of(number), &extras);
        add(format!("{POST_COLLECTION}/{}", key_of(number)), &record, &mut file)?;
    }
    let sorted = Sorted(leaves.iter().map(|(key, id)| (key.as_str(), *id)).collect());
    let mut written = Ok(());
    let root = tree::build(&sorted, leaves.len(), &mut |node| {
        if written.is_ok() {
            written = file.write_all(&section(&[&node.id.bytes(), node.block]));
        }
    });
    written?;
    let rev = key_of(2_000_000_000);
    let commit = author.commit(&rev, root);
    let id = ContentId::of(&commit);
    file.write_all(&section(&[&id.bytes(), &commit]))?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&section(&[&header(id)]))?;
    file.flush()?;
    Ok(rev)
}

/// A record in the JSON form of the AT Protocol.
pub fn json(record: &[u8]) -> serde_json::Value {
    super::cbor::Cbor::new(record).json().unwrap_or_default()
}
