//! What a query finds.

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::history::query::Clause;
use crate::history::search::Quality;
use crate::history::synthetic::{self, Chance, PostExtras};

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
        let Some(Clause::Expression(expression)) = query.terms.first().map(|term| &term.clause) else {
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
