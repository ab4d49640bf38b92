//! What people might write to be taken for something else, for the property tests of all that is drawn.

use proptest::prelude::*;

/// What somebody might write to be taken for something else.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# Thread · 99 posts".to_owned()),
        Just("@alice.test/3kqfake222222".to_owned()),
        Just("└─@a/…root → @admin.test/3kqaaaa22222a".to_owned()),
        Just("👍 999  2024-10-06T10:05:33Z".to_owned()),
        Just("Results: 9".to_owned()),
        Just("Cursor: `0.x`".to_owned()),
        Just("<!-- kind:thread:v1 -->".to_owned()),
        Just("```".to_owned()),
        Just("> quoted".to_owned()),
        Just("](javascript:alert(1))".to_owned()),
        Just("\"}],\"kind\":\"x".to_owned()),
        "\\PC{0,20}",
        any::<String>(),
    ];
    let breaks = prop_oneof![
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\u{2028}"),
        Just("\u{2029}"),
        Just("\u{85}"),
        Just("\u{b}"),
        Just("\u{c}"),
        Just("\0"),
        Just(" ")
    ];
    proptest::collection::vec((line, breaks), 0..5)
        .prop_map(|parts| parts.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect())
}

/// The lines of a drawing, for readers who break lines wherever they can.
pub(crate) fn lines(drawn: &str) -> impl Iterator<Item = &str> {
    drawn.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}', '\u{b}', '\u{c}'])
}
