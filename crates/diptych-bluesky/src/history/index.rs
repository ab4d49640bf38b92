//! The posts of one account in memory, ready to be searched.
//!
//! Built from a snapshot in one pass and thrown away with it. Words go through the same tokenizer and stemmer as everywhere in
//! Diptych, but not into its general index: that one weighs documents of many fields against each other and keeps ids as
//! strings, while here a hundred thousand short texts must be ready within a second or so. Each distinct spelling is analysed once;
//! a posting is one number.

use std::ops::Range;
use std::path::Path;

use diptych_search::typo::Spelling;
use diptych_search::{Kind, compounds, terms};
use foldhash::HashMap;
use jiff::Timestamp;

use super::commit::{self, VerifiedCommit};
use super::error::RepositoryError;
use super::post_key;
use super::query::Media;
use super::record::{PostRecord, account_of};
use super::search::Hit;
use super::snapshot::{Place, PostFile, SnapshotReader, is_damage};

/// How many words a usual post has.
const USUAL_LENGTH: f32 = 20.0;
/// What a word beside the text counts, one in the text being 1.
const CAPTION: f32 = 0.5;
/// Longer words are not offered as corrections.
const LONGEST_SPELLING: usize = 24;

const DAY: i64 = 86_400_000;

/// One post.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// When it was written, in milliseconds.
    pub(crate) created: i64,
    /// Where its key begins in the texts; the text follows the key, captions, links and tags follow the text.
    start: u32,
    key_length: u16,
    text_length: u32,
    length: u32,
    /// Where the accounts begin that it answers or mentions.
    people: u32,
    people_count: u16,
    media: u8,
    place: Place,
}

/// Postings have this many bits for the strength of the word in the post.
const STRENGTH_BITS: u32 = 8;
/// More posts than a posting can number are not indexed.
const MOST_POSTS: usize = 1 << (32 - STRENGTH_BITS);

/// All posts of an account at one commit.
#[derive(Debug)]
pub struct Index {
    pub(crate) commit: VerifiedCommit,
    texts: String,
    pub(crate) rows: Vec<Row>,
    people: Vec<u32>,
    names: HashMap<Box<str>, u32>,
    pub(crate) words: Words,
    file: PostFile,
    records: usize,
}

/// Which words there are and in which posts.
#[derive(Debug, Default)]
pub(crate) struct Words {
    terms: HashMap<Box<str>, u32>,
    /// Where the postings of each term begin, and at last where they end.
    starts: Vec<u32>,
    postings: Vec<u32>,
    pub(crate) spelling: Spelling,
    /// Spellings with their terms, sorted.
    surfaces: Vec<(Box<str>, u32)>,
}

/// A word in a post.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting(u32);

impl Posting {
    pub(crate) fn post(self) -> u32 {
        self.0 >> STRENGTH_BITS
    }

    /// Between 0 and 1.
    pub(crate) fn strength(self) -> f32 {
        (self.0 & ((1 << STRENGTH_BITS) - 1)) as f32 / 255.0
    }
}

impl Words {
    pub(crate) fn term(&self, text: &str) -> Option<u32> {
        self.terms.get(text).copied()
    }

    pub(crate) fn count(&self, term: u32) -> usize {
        (self.starts[term as usize + 1] - self.starts[term as usize]) as usize
    }

    pub(crate) fn postings(&self, term: u32) -> impl ExactSizeIterator<Item = Posting> + Clone {
        let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
        self.postings[range].iter().map(|posting| Posting(*posting))
    }

    /// Whether a post has a term.
    pub(crate) fn posting(&self, term: u32, post: u32) -> Option<Posting> {
        let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
        let postings = &self.postings[range];
        let at = postings.partition_point(|posting| Posting(*posting).post() < post);
        postings.get(at).map(|posting| Posting(*posting)).filter(|posting| posting.post() == post)
    }

    /// Known spellings that begin with `word`, the most common first.
    pub(crate) fn completions(&self, word: &str, most: usize) -> Vec<(&str, u32)> {
        let start = self.surfaces.partition_point(|(surface, _)| surface.as_ref() < word);
        let mut found: Vec<_> = self.surfaces[start..]
            .iter()
            .take_while(|(surface, _)| surface.starts_with(word))
            .take(500)
            .map(|(surface, term)| (surface.as_ref(), *term))
            .collect();
        found.sort_by_key(|(surface, term)| (std::cmp::Reverse(self.count(*term)), surface.len()));
        found.truncate(most);
        found
    }
}

impl Index {
    /// Reads a snapshot. Nothing when there is none that can be used.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, RepositoryError> {
        let Some(reader) = SnapshotReader::open(path)? else { return Ok(None) };
        let commit = reader.commit.clone();
        let latest = commit::time_of(&commit.rev).unwrap_or(i64::MAX);
        let mut build = Build { latest, ..Build::default() };
        let read = reader.records(|record| {
            build.records += 1;
            if let (Some(key), Some(content)) = (post_key(record.key), record.post) {
                build.add(key, content, record.place);
            }
            Ok(())
        });
        match read {
            Ok(file) => Ok(Some(build.finish(commit, file))),
            Err(error) if is_damage(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// How many posts there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many records the repository has in all, likes and follows included.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The commit that this is the state of.
    pub fn commit(&self) -> &VerifiedCommit {
        &self.commit
    }

    /// A post's record key.
    pub(crate) fn key(&self, post: u32) -> &str {
        let row = &self.rows[post as usize];
        &self.texts[row.start as usize..row.start as usize + usize::from(row.key_length)]
    }

    /// All texts, one after the other, with other things between them.
    pub(crate) fn texts(&self) -> &str {
        &self.texts
    }

    /// Where in all texts a post's is.
    pub(crate) fn span(&self, post: u32) -> Range<usize> {
        let row = &self.rows[post as usize];
        let start = row.start as usize + usize::from(row.key_length);
        start..start + row.length as usize
    }

    /// A post's text and, after it, its captions, links and tags.
    pub(crate) fn searchable(&self, post: u32) -> &str {
        &self.texts[self.span(post)]
    }

    /// A post's text.
    pub(crate) fn text(&self, post: u32) -> &str {
        &self.searchable(post)[..self.rows[post as usize].text_length as usize]
    }

    pub(crate) fn has(&self, post: u32, media: Media) -> bool {
        self.rows[post as usize].media & bit(media) != 0
    }

    /// The number of an account that posts answer or mention.
    pub(crate) fn person(&self, did: &str) -> Option<u32> {
        self.names.get(did).copied()
    }

    /// The accounts that a post answers or mentions.
    pub(crate) fn people(&self, post: u32) -> &[u32] {
        let row = &self.rows[post as usize];
        &self.people[row.people as usize..][..usize::from(row.people_count)]
    }

    /// A found post's record key.
    pub(crate) fn key_of(&self, hit: Hit) -> &str {
        self.key(hit.post)
    }

    /// The whole record of a found post, in the JSON form of the AT Protocol.
    pub(crate) fn record_json(&self, hit: Hit) -> Result<serde_json::Value, RepositoryError> {
        let record = self.file.post(self.rows[hit.post as usize].place)?;
        super::cbor::Cbor::new(&record).json()
    }
}

fn bit(media: Media) -> u8 {
    match media {
        Media::Image => 1,
        Media::Video => 2,
        Media::Link => 4,
        Media::Quote => 8,
    }
}

/// An index that is being built.
#[derive(Default)]
struct Build {
    texts: String,
    rows: Vec<Row>,
    people: Vec<u32>,
    names: HashMap<Box<str>, u32>,
    terms: HashMap<Box<str>, u32>,
    /// What each spelling of the posts stands for.
    spellings: Spellings,
    analysed: Vec<(u32, f32)>,
    surfaces: HashMap<Box<str>, u32>,
    /// Term and posting, in the order of the posts.
    found: Vec<(u32, u32)>,
    /// The terms of the post at hand.
    own: Vec<(u32, f32)>,
    records: usize,
    /// When the latest commit was made.
    latest: i64,
}

/// Where the terms of a spelling are in `analysed`, and how many.
type Analysed = (u32, u8);

/// Every spelling so far. Nearly all are short and stand in the table itself: looking one up is what building an index
/// mostly does, and each step to another place in memory is felt.
#[derive(Default)]
struct Spellings {
    short: HashMap<u128, Analysed>,
    long: HashMap<Box<str>, Analysed>,
}

impl Spellings {
    /// Up to fifteen bytes and their number.
    fn packed(spelling: &str) -> Option<u128> {
        let mut bytes = [0; 16];
        bytes.get_mut(..spelling.len()).filter(|_| spelling.len() < 16)?.copy_from_slice(spelling.as_bytes());
        bytes[15] = spelling.len() as u8;
        Some(u128::from_le_bytes(bytes))
    }

    fn get(&self, spelling: &str) -> Option<Analysed> {
        match Self::packed(spelling) {
            Some(short) => self.short.get(&short).copied(),
            None => self.long.get(spelling).copied(),
        }
    }

    fn insert(&mut self, spelling: &str, analysed: Analysed) {
        match Self::packed(spelling) {
            Some(short) => self.short.insert(short, analysed),
            None => self.long.insert(spelling.into(), analysed),
        };
    }
}

impl Build {
    fn add(&mut self, key: &str, content: &[u8], place: Place) {
        let Some(post) = PostRecord::read(content) else { return };
        if self.rows.len() >= MOST_POSTS || self.texts.len() + content.len() + key.len() > u32::MAX as usize {
            return;
        }
        let number = self.rows.len() as u32;
        let start = self.texts.len();
        self.texts.push_str(key);
        self.texts.push_str(post.text);
        for extra in post.captions.iter().chain(&post.links).chain(&post.tags) {
            self.texts.push('\n');
            self.texts.push_str(extra);
        }
        let people = self.people.len();
        for did in post.parent.and_then(account_of).into_iter().chain(post.mentions.iter().copied()) {
            let person = intern(&mut self.names, did);
            if !self.people[people..].contains(&person) && self.people.len() - people < usize::from(u16::MAX)
            {
                self.people.push(person);
            }
        }
        let created = written_at(post.created_at, key, self.latest);
        let media = [
            (post.has_image, Media::Image),
            (post.has_video, Media::Video),
            (!post.links.is_empty(), Media::Link),
            (post.quote.is_some(), Media::Quote),
        ];
        self.rows.push(Row {
            created,
            start: start as u32,
            // Keys have at most 1,024 bytes.
            key_length: key.len() as u16,
            text_length: post.text.len() as u32,
            length: (self.texts.len() - start - key.len()) as u32,
            people: people as u32,
            people_count: (self.people.len() - people) as u16,
            media: media.iter().filter(|(has, _)| *has).map(|(_, media)| bit(*media)).sum(),
            place,
        });
        self.own.clear();
        let mut length = self.words(post.text, 1.0);
        for extra in post.captions.iter().chain(&post.links).chain(&post.tags) {
            length += CAPTION * self.words(extra, CAPTION);
        }
        self.own.sort_unstable_by_key(|(term, _)| *term);
        let long = 0.5 + 0.5 * length / USUAL_LENGTH;
        for same in self.own.chunk_by(|left, right| left.0 == right.0) {
            let share: f32 = same.iter().map(|(_, share)| share).sum();
            let strength = (share / (share + 0.4 * long) * 255.0).clamp(1.0, 255.0);
            self.found.push((same[0].0, (number << STRENGTH_BITS) | strength as u32));
        }
    }

    /// Adds the words of a text to those of the post at hand; returns how many there are.
    fn words(&mut self, text: &str, weight: f32) -> f32 {
        let mut count = 0.0;
        for spelling in compounds(text) {
            count += 1.0;
            let (start, length) = match self.spellings.get(spelling) {
                Some(known) => known,
                None => self.analyse(spelling),
            };
            let analysed = &self.analysed[start as usize..start as usize + usize::from(length)];
            self.own.extend(analysed.iter().map(|(term, share)| (*term, share * weight)));
        }
        count
    }

    fn analyse(&mut self, spelling: &str) -> Analysed {
        let start = self.analysed.len() as u32;
        for term in terms(spelling).into_iter().take(255) {
            let number = intern(&mut self.terms, &term.text);
            self.analysed.push((number, term.share));
            if term.kind != Kind::Part && term.surface.len() <= LONGEST_SPELLING {
                self.surfaces.entry(term.surface.into_boxed_str()).or_insert(number);
            }
        }
        let known = (start, (self.analysed.len() as u32 - start) as u8);
        self.spellings.insert(spelling, known);
        known
    }

    fn finish(self, commit: VerifiedCommit, file: PostFile) -> Index {
        drop((self.spellings, self.analysed));
        let mut starts = vec![0_u32; self.terms.len() + 1];
        for (term, _) in &self.found {
            starts[*term as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        let mut postings = vec![0_u32; self.found.len()];
        for (term, posting) in &self.found {
            let place = &mut next[*term as usize];
            postings[*place as usize] = *posting;
            *place += 1;
        }
        let mut surfaces: Vec<(Box<str>, u32)> = self.surfaces.into_iter().collect();
        surfaces.sort_unstable();
        let mut spelling = Spelling::default();
        for (surface, term) in &surfaces {
            let count = starts[*term as usize + 1] - starts[*term as usize];
            spelling.add(surface, count);
        }
        let mut texts = self.texts;
        texts.shrink_to_fit();
        let mut rows = self.rows;
        rows.shrink_to_fit();
        Index {
            commit,
            texts,
            rows,
            people: self.people,
            names: self.names,
            words: Words { terms: self.terms, starts, postings, spelling, surfaces },
            file,
            records: self.records,
        }
    }
}

/// When a post was written: what it says, unless that lies after the latest commit. Nobody writes tomorrow's post today.
fn written_at(says: Option<&str>, key: &str, latest: i64) -> i64 {
    let says = says.and_then(|text| text.parse::<Timestamp>().ok()).map(Timestamp::as_millisecond);
    let made = || commit::time_of(key).unwrap_or(0).min(latest);
    says.filter(|says| *says <= latest.saturating_add(DAY)).unwrap_or_else(made)
}

fn intern(names: &mut HashMap<Box<str>, u32>, name: &str) -> u32 {
    if let Some(number) = names.get(name) {
        return *number;
    }
    let number = names.len() as u32;
    names.insert(name.into(), number);
    number
}
