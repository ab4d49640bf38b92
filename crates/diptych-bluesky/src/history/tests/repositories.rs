//! From bytes to an index: whole, cut short, damaged, forged, out of order, changed.

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::history::content_id::ContentId;
use crate::history::synthetic;
use crate::history::{cbor, commit, tree};

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
    let verify = |commit: &[u8]| commit::VerifiedCommit::verify(commit, DID, &key);
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
    let mut writer = cbor::Writer::default();
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
        .filter(|key| tree::layer_of(key.as_bytes()) == 0)
        .take(2)
        .collect();
    let high = (0..60)
        .map(|number| format!("{POST_COLLECTION}/{}", synthetic::key_of(number)))
        .find(|key| tree::layer_of(key.as_bytes()) == 1 && *key > keys[0])
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
