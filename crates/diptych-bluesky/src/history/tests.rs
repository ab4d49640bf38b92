//! Repositories that are whole, damaged, forged and changed, from their bytes to an index.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

use std::path::PathBuf;
use std::sync::Mutex;

use diptych::ToolError;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use proptest::prelude::*;

use super::content_id::ContentId;
use super::histories::{Export, Histories, KnownAccount, Origin};
use super::index::Index;
use super::intake::Intake;
use super::query::Query;
use super::search::{Found, People, Quality};
use super::snapshot::KnownRecords;
use super::synthetic::{self, Author, Chance, PostExtras, Repository};
use super::{POST_COLLECTION, RepositoryError, SigningKey};

const DID: &str = "did:plc:alice";

fn alice() -> Author {
    Author::secp256k1(DID, 7)
}

fn repository(posts: u64) -> Repository {
    let mut repository = Repository::new(alice());
    for number in 0..posts {
        repository.post(number, &format!("post number {number} about sourdough"));
        repository.like(number);
    }
    repository
}

/// Takes an export, in pieces of this size, into a folder of its own.
fn take(bytes: &[u8], piece: usize, author: &Author) -> Result<Index, RepositoryError> {
    take_changes(bytes, piece, author, &tempfile::tempdir().unwrap(), false)
}

fn take_changes(
    bytes: &[u8],
    piece: usize,
    author: &Author,
    folder: &tempfile::TempDir,
    changes: bool,
) -> Result<Index, RepositoryError> {
    let place: PathBuf = folder.path().join("it");
    let mut intake = Intake::new(folder.path(), 1 << 30)?;
    for piece in bytes.chunks(piece) {
        intake.push(piece)?;
    }
    let received = intake.finish()?;
    let commit = received.verify(DID, &SigningKey::parse(&author.public_key())?)?;
    let known = if changes { KnownRecords::read(&place)? } else { None };
    received.store(&commit, folder.path(), &place, known.as_ref())?;
    Ok(Index::read(&place)?.unwrap())
}

fn texts(index: &Index) -> Vec<String> {
    (0..index.len() as u32).map(|post| index.text(post).to_owned()).collect()
}

fn expected(repository: &Repository) -> Vec<String> {
    let posts = repository.records.iter().filter(|(key, _)| key.starts_with(POST_COLLECTION));
    posts.map(|(_, record)| super::record::PostRecord::read(record).unwrap().text.to_owned()).collect()
}

#[test]
fn an_intact_repository_is_read_whatever_the_pieces() {
    for author in [alice(), Author::p256(DID, 9)] {
        let repository = Repository { author, ..repository(60) };
        let bytes = repository.export().bytes();
        for piece in [1, 7, 1000, bytes.len()] {
            let index = take(&bytes, piece, &repository.author).unwrap();
            assert_eq!(texts(&index), expected(&repository));
            assert_eq!((index.len(), index.records()), (60, 120));
            assert_eq!(index.commit().rev, repository.rev());
        }
    }
    let empty = Repository::new(alice());
    assert!(take(&empty.export().bytes(), 100, &empty.author).unwrap().is_empty());
}

#[test]
fn cut_between_blocks_it_is_incomplete() {
    let repository = repository(20);
    let export = repository.export();
    for sections in 0..export.sections.len() {
        let error = take(&export.sections[..sections].concat(), 64, &repository.author).unwrap_err();
        assert!(
            matches!(error, RepositoryError::MissingBlock(_))
                || (sections == 0 && matches!(error, RepositoryError::CutShort)),
            "{sections}: {error}"
        );
    }
    // A block less anywhere is noticed, whatever it is.
    for missing in 1..export.sections.len() {
        let mut sections = export.sections.clone();
        sections.remove(missing);
        let error = take(&sections.concat(), 4096, &repository.author).unwrap_err();
        assert!(matches!(error, RepositoryError::MissingBlock(_)), "{missing}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn cut_anywhere_it_is_refused(part in 0.0_f64..1.0) {
        let repository = repository(8);
        let bytes = repository.export().bytes();
        let cut = ((bytes.len() as f64) * part) as usize;
        let error = take(&bytes[..cut], 512, &repository.author).unwrap_err();
        prop_assert!(matches!(error, RepositoryError::CutShort | RepositoryError::MissingBlock(_)), "{}", error);
    }

    #[test]
    fn one_changed_bit_is_noticed(part in 0.0_f64..1.0, bit in 0_u8..8) {
        let repository = repository(6);
        let mut bytes = repository.export().bytes();
        let at = ((bytes.len() as f64) * part) as usize;
        bytes[at] ^= 1 << bit;
        prop_assert!(take(&bytes, 512, &repository.author).is_err());
    }

    #[test]
    fn a_damaged_cache_is_no_cache(part in 0.0_f64..1.0, bit in 0_u8..8, cut in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        take_changes(&repository(5).export().bytes(), 4096, &alice(), &folder, false).unwrap();
        let place = folder.path().join("it");
        let mut bytes = std::fs::read(&place).unwrap();
        let at = ((bytes.len() as f64) * part) as usize;
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        std::fs::write(&place, bytes).unwrap();
        prop_assert!(Index::read(&place).unwrap().is_none());
        prop_assert!(KnownRecords::read(&place).unwrap().is_none());
    }

    #[test]
    fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(take(&bytes, 64, &alice()).is_err());
    }

    /// Whatever happened between two states, the changes lead from one to the other or are refused.
    #[test]
    fn changes_lead_to_the_same_state_as_everything(
        before in 0_u64..120,
        changes in proptest::collection::vec((0_u8..4, 0_u64..150), 1..40),
    ) {
        let earlier = repository(before);
        let mut later = earlier.clone();
        for (change, number) in changes {
            let key = synthetic::key_of(number);
            match change {
                0 => { later.post(number, &format!("changed {number}")); }
                1 => { later.delete(&format!("{POST_COLLECTION}/{key}")); }
                2 => later.like(number + 1000),
                _ => { later.delete(&format!("app.bsky.feed.like/{key}")); }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        take_changes(&earlier.export().bytes(), 4096, &earlier.author, &folder, false).unwrap();
        let index = take_changes(&later.changes_since(&earlier).bytes(), 4096, &later.author, &folder, true).unwrap();
        prop_assert_eq!(texts(&index), expected(&later));
        prop_assert_eq!(index.records(), later.records.len());
        prop_assert_eq!(&index.commit().rev, &later.rev());
    }
}

#[test]
fn a_forged_signature_is_refused() {
    let repository = repository(3);
    let bytes = repository.export().bytes();
    // Someone else's key, on either curve.
    for author in [Author::secp256k1(DID, 8), Author::p256(DID, 7)] {
        assert!(matches!(take(&bytes, 4096, &author), Err(RepositoryError::ForgedSignature)));
    }
    // Someone else's account, rightly signed.
    let bob = Repository { author: Author::secp256k1("did:plc:bob", 7), ..repository };
    let error = take(&bob.export().bytes(), 4096, &bob.author).unwrap_err();
    assert!(matches!(error, RepositoryError::WrongAccount));
}

#[test]
fn the_other_form_of_a_signature_is_refused() {
    // `s` and `n - s` verify alike; only the lower of the two is allowed.
    let order = k256_order();
    let message = b"message";
    let repository = repository(1);
    let commit = repository.author.commit(&repository.rev(), ContentId::of(message));
    let key = SigningKey::parse(&repository.author.public_key()).unwrap();
    let verify = |commit: &[u8]| super::commit::VerifiedCommit::verify(commit, DID, &key);
    assert!(verify(&commit).is_ok());
    let at = commit.windows(4).position(|window| window == b"csig").unwrap() + 4 + 2;
    let mut other = commit.clone();
    let mut borrow = 0_i16;
    for index in (0..32).rev() {
        let difference = i16::from(order[index]) - i16::from(commit[at + 32 + index]) - borrow;
        borrow = i16::from(difference < 0);
        other[at + 32 + index] = (difference + 256 * borrow) as u8;
    }
    assert!(matches!(verify(&other), Err(RepositoryError::ForgedSignature)));
}

fn k256_order() -> [u8; 32] {
    let mut order = [0xff; 32];
    order[15] = 0xfe;
    order[16..].copy_from_slice(&[
        0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
    ]);
    order
}

#[test]
fn keys_are_read_in_every_form() {
    for author in [alice(), Author::p256(DID, 9)] {
        let key = SigningKey::parse(&author.public_key()).unwrap();
        assert_eq!(SigningKey::parse(&format!("did:key:{}", author.public_key())).unwrap(), key);
        assert_eq!(SigningKey::parse(&author.bare_public_key()).unwrap(), key);
    }
}

#[test]
fn keys_that_are_none_are_refused() {
    for key in [
        "",
        "z",
        "zQ3shNotAKey",
        "did:key:zDnaeNOPE",
        "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    ] {
        assert!(matches!(SigningKey::parse(key), Err(RepositoryError::NoSigningKey)), "{key}");
    }
}

/// An export whose tree is this one node.
fn export_of_node(entries: &[(&str, u64)], records: &[(&str, ContentId)]) -> Vec<u8> {
    let mut writer = super::cbor::Writer::default();
    writer.map(2);
    writer.text("e");
    writer.array(entries.len());
    for ((suffix, shared), (_, value)) in entries.iter().zip(records) {
        writer.map(4);
        writer.text("k");
        writer.bytes(suffix.as_bytes());
        writer.text("p");
        writer.unsigned(*shared);
        writer.text("t");
        writer.null();
        writer.text("v");
        writer.link(&value.bytes());
    }
    writer.text("l");
    writer.null();
    let node = writer.0;
    let commit = alice().commit(&synthetic::key_of(1), ContentId::of(&node));
    let record = synthetic::post("text", Timestamp::UNIX_EPOCH);
    let blocks = [&commit, &node, &record].map(|block| (ContentId::of(block), block.as_slice()));
    synthetic::archive(ContentId::of(&commit), blocks).bytes()
}

#[test]
fn a_tree_that_is_out_of_order_or_shape_is_refused() {
    let value = ContentId::of(&synthetic::post("text", Timestamp::UNIX_EPOCH));
    let take_node = |entries: &[(&str, u64)]| {
        let records: Vec<(&str, ContentId)> = entries.iter().map(|(key, _)| (*key, value)).collect();
        take(&export_of_node(entries, &records), 4096, &alice()).map(|index| index.len())
    };
    // Keys of the lowest layer, found by trying.
    let keys: Vec<String> = (0..60)
        .map(|number| format!("{POST_COLLECTION}/{}", synthetic::key_of(number)))
        .filter(|key| super::tree::layer_of(key.as_bytes()) == 0)
        .take(2)
        .collect();
    let high = (0..60)
        .map(|number| format!("{POST_COLLECTION}/{}", synthetic::key_of(number)))
        .find(|key| super::tree::layer_of(key.as_bytes()) == 1 && *key > keys[0])
        .unwrap();
    assert_eq!(take_node(&[(&keys[0], 0), (&keys[1], 0)]).unwrap(), 2);
    for (entries, problem) in [
        (vec![(keys[1].as_str(), 0), (keys[0].as_str(), 0)], "out of order"),
        (vec![(keys[0].as_str(), 0), (keys[0].as_str(), 0)], "out of order"),
        (vec![(keys[0].as_str(), 0), (high.as_str(), 0)], "wrong depth"),
        (vec![(keys[0].as_str(), 3)], "cannot be read"),
        (vec![("no-slash", 0)], "impossible key"),
        (vec![("two/slashes/here", 0)], "impossible key"),
        (vec![("app.bsky.feed.post/\u{e9}", 0)], "impossible key"),
    ] {
        let error = take_node(&entries).unwrap_err();
        assert!(matches!(error, RepositoryError::Malformed(_)), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn changes_without_what_they_rest_on_are_refused() {
    let earlier = repository(100);
    let mut later = earlier.clone();
    later.post(500, "new");
    let changes = later.changes_since(&earlier).bytes();
    // Nothing is known: the tree has holes.
    assert!(matches!(take(&changes, 4096, &later.author), Err(RepositoryError::MissingBlock(_))));
    // Something else is known: the holes do not fit.
    let folder = tempfile::tempdir().unwrap();
    let mut other = earlier.clone();
    other.delete(&format!("{POST_COLLECTION}/{}", synthetic::key_of(3)));
    take_changes(&other.export().bytes(), 4096, &other.author, &folder, false).unwrap();
    let error = take_changes(&changes, 4096, &later.author, &folder, true).unwrap_err();
    assert!(matches!(error, RepositoryError::UnprovenChanges), "{error}");
}

#[test]
fn what_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = repository(30).export().bytes();
    let mut intake = Intake::new(folder.path(), 1000).unwrap();
    let error = bytes.chunks(100).try_for_each(|piece| intake.push(piece)).unwrap_err();
    assert!(matches!(error, RepositoryError::TooLarge { .. }));
    // A block that claims to be larger than any is refused before it arrives.
    let mut intake = Intake::new(folder.path(), u64::MAX).unwrap();
    let header = &repository(1).export().sections[0];
    intake.push(header).unwrap();
    let error = intake.push(&[0xff, 0xff, 0xff, 0x7f]).unwrap_err();
    assert!(matches!(error, RepositoryError::Oversized(_)));
}

#[test]
fn a_large_repository_is_read_in_little_memory() {
    // The million is for the benchmark; the way is the same.
    let folder = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile_in(folder.path()).unwrap();
    synthetic::write_large(&file, &alice(), 20_000, 180_000).unwrap();
    let mut intake = Intake::new(folder.path(), 1 << 30).unwrap();
    let mut source = &file;
    std::io::Seek::rewind(&mut source).unwrap();
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = std::io::Read::read(&mut source, &mut piece).unwrap();
        if length == 0 {
            break;
        }
        intake.push(&piece[..length]).unwrap();
    }
    let received = intake.finish().unwrap();
    let commit = received.verify(DID, &SigningKey::parse(&alice().public_key()).unwrap()).unwrap();
    let place = folder.path().join("it");
    received.store(&commit, folder.path(), &place, None).unwrap();
    let index = Index::read(&place).unwrap().unwrap();
    assert_eq!((index.len(), index.records()), (20_000, 200_000));
}

// Searching.

fn searchable() -> Index {
    let mut repository = Repository::new(alice());
    let mut add = |number: u64, text: &str, extras: PostExtras| {
        let time: Timestamp = format!("2024-{:02}-10T12:00:00Z", number + 1).parse().unwrap();
        let record = synthetic::rich_post(text, time, &extras);
        repository
            .records
            .insert(format!("{POST_COLLECTION}/{}", synthetic::key_of(number * 30_000 + 280_000)), record);
    };
    add(0, "Sourdough bread needs patience. The crumb was open!", PostExtras::default());
    add(
        1,
        "My bread failed again",
        PostExtras {
            images: vec!["A flat loaf of sourdough on a table".to_owned()],
            ..PostExtras::default()
        },
    );
    add(
        2,
        "@bob.test have you tried rye? \u{1f35e}",
        PostExtras { mention: Some("did:plc:bob".to_owned()), ..PostExtras::default() },
    );
    add(
        3,
        "I agree completely",
        PostExtras {
            parent: Some("at://did:plc:bob/app.bsky.feed.post/3k".to_owned()),
            ..PostExtras::default()
        },
    );
    add(
        4,
        "A recipe: https://example.com/bread",
        PostExtras { link: Some("https://example.com/bread".to_owned()), ..PostExtras::default() },
    );
    add(5, "サワードウのパンを焼きました", PostExtras::default());
    add(
        6,
        "This one is quoted: catchTag is an operator; category theory",
        PostExtras {
            quote: Some("at://did:plc:bob/app.bsky.feed.post/3k".to_owned()),
            ..PostExtras::default()
        },
    );
    take(&repository.export().bytes(), 4096, &repository.author).unwrap()
}

fn find(index: &Index, query: &str) -> Found {
    let query = Query::parse(query, "2024-12-31T00:00:00Z".parse().unwrap()).unwrap();
    let people: People = [("bob.test", "did:plc:bob"), ("alice.test", DID)]
        .into_iter()
        .map(|(name, did)| (name.to_owned(), did.to_owned()))
        .collect();
    index.search(&query, &people, 0, 100)
}

/// The posts that a query finds, by the month they were written in.
fn months(index: &Index, query: &str) -> Vec<i8> {
    let month = |post: u32| {
        let time = Timestamp::from_millisecond(index.rows[post as usize].created).unwrap();
        time.to_zoned(jiff::tz::TimeZone::UTC).month()
    };
    find(index, query).hits.iter().map(|hit| month(hit.post)).collect()
}

#[test]
fn posts_are_found() {
    let index = searchable();
    for (query, expected) in [
        // Words: in any form, in descriptions too, where they count for less.
        ("sourdough", vec![1, 2]),
        ("bread", vec![5, 2, 1]),
        ("bread crumbs", vec![1]),
        ("-bread sourdough", vec![]),
        // Phrases and expressions.
        ("\"sourdough bread\"", vec![1]),
        ("\"bread sourdough\"", vec![]),
        ("\"bread NEEDS patience\"", vec![1]),
        ("\"cat\"", vec![]),
        ("\"catchtag\"", vec![7]),
        ("/cat\\w+ theory/", vec![7]),
        ("/^my/", vec![2]),
        ("-/e/ -has:image", vec![6]),
        // Operators.
        ("from:alice.test crumb", vec![1]),
        ("from:bob.test", vec![]),
        ("-from:bob.test rye", vec![3]),
        ("to:bob.test", vec![4, 3]),
        ("to:did:plc:bob -rye", vec![4]),
        ("to:carol.test", vec![]),
        ("has:image", vec![2]),
        ("has:link", vec![5]),
        ("has:quote", vec![7]),
        ("has:video", vec![]),
        ("before:2024-02-10", vec![1]),
        ("after:2024-06", vec![7, 6]),
        ("after:2024-03 before:2024-05", vec![4, 3]),
        // Other scripts, and what is no word.
        ("パン", vec![6]),
        ("\u{1f35e}", vec![3]),
        // Misspelt, begun, and nothing that fits.
        ("sourdogh", vec![1, 2]),
        ("recip", vec![5]),
        ("https://example.com/bread", vec![5]),
        ("/example\\.com/", vec![5]),
        ("zeppelin", vec![]),
        // No words at all: the newest first.
        ("", vec![7, 6, 5, 4, 3, 2, 1]),
    ] {
        assert_eq!(months(&index, query), expected, "{query}");
    }
}

#[test]
fn how_well_it_fits_is_said() {
    let index = searchable();
    assert_eq!(find(&index, "bread").quality, Quality::Everything);
    let corrected = find(&index, "sourdogh");
    assert_eq!(corrected.quality, Quality::Corrected);
    assert_eq!(corrected.corrections, [("sourdogh".to_owned(), "sourdough".to_owned())]);
    let some = find(&index, "patience zeppelin");
    assert_eq!((some.quality, some.total), (Quality::SomeWords, 1));
}

#[test]
fn a_slip_that_a_post_shares_finds_the_common_word_too() {
    let mut repository = Repository::new(alice());
    for number in 0..12 {
        repository.post(number, if number == 5 { "a recieved parcel" } else { "a received parcel" });
    }
    let index = take(&repository.export().bytes(), 4096, &repository.author).unwrap();
    let found = find(&index, "recieved");
    assert_eq!(found.total, 12);
    assert_eq!(index.text(found.hits[0].post), "a recieved parcel");
}

#[test]
fn an_expression_cannot_take_forever() {
    let index = take(&repository(100).export().bytes(), 4096, &alice()).unwrap();
    let query = Query::parse("/(p|o|s|t| )+x?/", Timestamp::now()).unwrap();
    let patient = index.search(&query, &People::default(), 0, 1000);
    assert_eq!((patient.total, patient.gave_up), (100, false));
    let hasty = index.search_within(&query, &People::default(), 0, 1000, std::time::Duration::ZERO);
    assert!(hasty.gave_up && hasty.total < 100);
}

#[test]
fn pages_are_parts_of_the_whole() {
    let index = take(&repository(50).export().bytes(), 4096, &alice()).unwrap();
    let query = Query::parse("sourdough -17", Timestamp::now()).unwrap();
    let all = index.search(&query, &People::default(), 0, 1000);
    assert_eq!((all.total, all.hits.len()), (49, 49));
    let mut pages = Vec::new();
    for page in 0..10 {
        pages.extend(index.search(&query, &People::default(), page * 7, 7).hits);
    }
    assert_eq!(pages, all.hits);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// An expression finds the posts that it finds one by one, whatever it may match across two of them.
    #[test]
    fn expressions_find_what_they_find_one_by_one(
        texts in proptest::collection::vec("[ab é]{0,5}", 1..40),
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", "b", "é", r"\w", r"\s", r"\W", "[^a]", r"\b", ".", "(a|b )", "a+", "b*", "a?", "^", "$", r"\B",
            ]),
            1..5,
        ),
        skip in 1_u64..4,
    ) {
        let Ok(query) = Query::parse(&format!("/{}/", pieces.concat()), Timestamp::now()) else { return Ok(()) };
        let Some(super::query::Clause::Expression(expression)) = query.terms.first().map(|term| &term.clause) else {
            return Ok(());
        };
        let mut repository = Repository::new(alice());
        for (number, text) in texts.iter().enumerate() {
            repository.post(number as u64 * skip, text);
        }
        let index = take(&repository.export().bytes(), 1 << 16, &repository.author).unwrap();
        let expected: Vec<u32> =
            (0..index.len() as u32).filter(|post| expression.is_match(index.searchable(*post))).collect();
        let mut found: Vec<u32> =
            index.search(&query, &People::default(), 0, 100).hits.iter().map(|hit| hit.post).collect();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    /// A phrase is found where looking at every text finds it.
    #[test]
    fn phrases_are_found_as_if_all_was_read(seed in any::<u64>(), length in 1_usize..4) {
        let mut chance = Chance::new(seed);
        let mut repository = Repository::new(alice());
        let mut texts = Vec::new();
        for number in 0..40 {
            let text = synthetic::text(&mut chance);
            repository.post(number, &text);
            texts.push(text);
        }
        let index = take(&repository.export().bytes(), 1 << 16, &repository.author).unwrap();
        let words: Vec<&str> = texts[chance.below(40) as usize].split(' ').collect();
        let start = chance.below(words.len() as u64 - 3) as usize;
        let phrase = words[start..start + length].join(" ").replace('"', "");
        let bounded = regex::Regex::new(&format!("(?i){}", regex::escape(&phrase))).unwrap();
        let expected = texts.iter().filter(|text| bounded.find_iter(text).any(|found| {
            let of_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            let before = text[..found.start()].chars().next_back();
            let after = text[found.end()..].chars().next();
            !(of_word(before) && of_word(phrase.chars().next()) || of_word(after) && of_word(phrase.chars().next_back()))
        })).count();
        let query = Query::parse(&format!("\"{phrase}\""), Timestamp::now()).unwrap();
        let found = index.search(&query, &People::default(), 0, 100);
        prop_assert_eq!(found.total, expected, "{}", phrase);
        prop_assert!(expected > 0);
    }
}

// Keeping up to date.

/// A server that can be changed, cut off and made to lie.
struct Server {
    states: Mutex<Vec<Repository>>,
    fault: Mutex<Fault>,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    Dead,
    CutShort,
    /// Sends what is new since a state that the caller does not have.
    WrongChanges,
    /// The identity still names the old key.
    OldKey,
}

impl Server {
    fn new(repository: Repository) -> Self {
        Server {
            states: Mutex::new(vec![repository]),
            fault: Mutex::new(Fault::None),
            asked: Mutex::default(),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Repository)) {
        let mut states = self.states.lock().unwrap();
        let mut next = states.last().unwrap().clone();
        change(&mut next);
        states.push(next);
    }

    fn fail(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Origin for Server {
    async fn key(&self, fresh: bool) -> Result<SigningKey, ToolError> {
        let old = *self.fault.lock().unwrap() == Fault::OldKey && !fresh;
        let author = if old { Author::secp256k1(DID, 99) } else { alice() };
        Ok(SigningKey::parse(&author.public_key())?)
    }

    async fn latest(&self) -> Result<String, ToolError> {
        if *self.fault.lock().unwrap() == Fault::Dead {
            return Err(ToolError::network("The account's server cannot be reached."));
        }
        Ok(self.states.lock().unwrap().last().unwrap().rev())
    }

    async fn export(&self, since: Option<&str>) -> Result<Export, ToolError> {
        self.asked.lock().unwrap().push(since.map_or("everything", |_| "changes").to_owned());
        let states = self.states.lock().unwrap();
        let fault = *self.fault.lock().unwrap();
        let latest = states.last().unwrap();
        let earlier = since.and_then(|since| states.iter().find(|state| state.rev() == since));
        let mut bytes = match earlier {
            Some(_) if fault == Fault::WrongChanges => {
                let sections = latest.changes_since(latest).sections;
                sections.concat()
            }
            Some(earlier) => latest.changes_since(earlier).bytes(),
            None => latest.export().bytes(),
        };
        if fault == Fault::CutShort {
            bytes.truncate(bytes.len() / 2);
        }
        let pieces: Vec<_> = bytes.chunks(1000).map(|piece| Ok(piece.to_vec())).collect();
        Ok(Export { total: Some(bytes.len() as u64), pieces: futures_util::stream::iter(pieces).boxed() })
    }
}

fn quiet<'a>(_: u64, _: Option<u64>) -> BoxFuture<'a, ()> {
    Box::pin(async {})
}

#[tokio::test]
async fn a_history_is_fetched_once_and_then_kept_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path().join("cache"), 1 << 30);
    let server = Server::new(repository(50));
    let first = histories.current(DID, &server, &quiet).await.unwrap();
    assert_eq!((first.index.len(), server.asked()), (50, vec!["everything".to_owned()]));
    // Nothing new: nothing is fetched.
    histories.current(DID, &server, &quiet).await.unwrap();
    assert!(server.asked().is_empty());
    // A post more and one less.
    server.change(|repository| {
        repository.post(900, "a zeppelin");
        repository.delete(&format!("{POST_COLLECTION}/{}", synthetic::key_of(3)));
    });
    let second = histories.current(DID, &server, &quiet).await.unwrap();
    assert_eq!((second.index.len(), server.asked()), (50, vec!["changes".to_owned()]));
    assert_eq!(find(&second.index, "zeppelin").total, 1);
    assert_eq!(find(&second.index, "\"number 3 about\"").total, 0);
    // Another process, later, starts from the same file.
    let others = Histories::new(folder.path().join("cache"), 1 << 30);
    assert_eq!(others.current(DID, &server, &quiet).await.unwrap().index.len(), 50);
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn without_a_network_what_is_known_answers() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path(), 1 << 30);
    let server = Server::new(repository(5));
    server.fail(Fault::Dead);
    let error = histories.current(DID, &server, &quiet).await.unwrap_err();
    assert_eq!(error.message(), "The account's server cannot be reached.");
    server.fail(Fault::None);
    let before = Timestamp::now();
    histories.current(DID, &server, &quiet).await.unwrap();
    for fault in [Fault::Dead, Fault::CutShort] {
        server.change(|repository| {
            repository.post(900, "unseen");
        });
        server.fail(fault);
        let history = histories.current(DID, &server, &quiet).await.unwrap();
        assert_eq!((history.index.len(), history.behind.is_some()), (5, true));
        assert!(history.checked.as_second() >= before.as_second() - 1);
    }
    server.fail(Fault::None);
    let history = histories.current(DID, &server, &quiet).await.unwrap();
    assert_eq!((history.index.len(), history.behind.is_none()), (6, true));
}

#[tokio::test]
async fn changes_that_prove_nothing_lead_to_a_full_fetch() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path(), 1 << 30);
    let server = Server::new(repository(40));
    histories.current(DID, &server, &quiet).await.unwrap();
    server.asked();
    server.change(|repository| {
        repository.post(900, "new");
    });
    server.fail(Fault::WrongChanges);
    assert_eq!(histories.current(DID, &server, &quiet).await.unwrap().index.len(), 41);
    assert_eq!(server.asked(), ["changes", "everything"]);
    // So does a damaged cache.
    let place = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let place =
        place.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "history")).unwrap();
    let mut bytes = std::fs::read(&place).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&place, bytes).unwrap();
    let others = Histories::new(folder.path(), 1 << 30);
    assert_eq!(others.current(DID, &server, &quiet).await.unwrap().index.len(), 41);
    assert_eq!(server.asked(), ["everything"]);
}

#[tokio::test]
async fn a_new_key_is_looked_up_and_a_step_back_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path(), 1 << 30);
    let server = Server::new(repository(4));
    server.fail(Fault::OldKey);
    assert_eq!(histories.current(DID, &server, &quiet).await.unwrap().index.len(), 4);
    let old = Server::new(repository(2));
    let history = histories.current(DID, &old, &quiet).await.unwrap();
    assert_eq!(history.index.len(), 4);
    assert!(history.behind.unwrap().message().contains("older state"));
}

#[tokio::test]
async fn two_at_once_fetch_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::new(repository(30));
    let (one, two) = (Histories::new(folder.path(), 1 << 30), Histories::new(folder.path(), 1 << 30));
    let (first, second) = tokio::join!(one.current(DID, &server, &quiet), two.current(DID, &server, &quiet));
    assert_eq!((first.unwrap().index.len(), second.unwrap().index.len()), (30, 30));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn accounts_are_remembered_and_files_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let histories = Histories::new(folder.path().join("cache"), 1 << 30);
    assert_eq!(histories.noted("alice.test"), None);
    let account = KnownAccount {
        did: DID.to_owned(),
        handle: Some("alice.test".to_owned()),
        pds: Some("https://pds.example.com".to_owned()),
    };
    histories.note(&account);
    assert_eq!(histories.noted("alice.test").as_ref(), Some(&account));
    assert_eq!(histories.noted(DID).as_ref(), Some(&account));
    histories.current(DID, &Server::new(repository(1)), &quiet).await.unwrap();
    #[cfg(unix)]
    for entry in std::fs::read_dir(folder.path().join("cache")).unwrap() {
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.unwrap().metadata().unwrap().permissions());
        assert_eq!(mode & 0o077, 0);
    }
}
