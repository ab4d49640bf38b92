//! How much text fits into a post, and how a longer one becomes a thread.

use unicode_segmentation::UnicodeSegmentation;

/// The most characters, as readers count them, that a post may have.
pub(crate) const LONGEST: usize = 300;
/// The most bytes that a post may have.
const MOST_BYTES: usize = 3_000;

/// How many characters a text has, as readers count them.
pub(crate) fn graphemes(text: &str) -> usize {
    text.graphemes(true).count()
}

/// Whether a text fits into one post.
fn fits(text: &str) -> bool {
    text.len() <= MOST_BYTES && graphemes(text) <= LONGEST
}

/// The text in pieces that each fit into a post: cut between paragraphs where possible, else between lines, sentences or
/// words, and only in the middle of a word that is longer than a post.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text.trim();
    while !fits(rest) {
        let window = &rest[..window(rest)];
        let at = cut(window);
        pieces.push(rest[..at].trim_end().to_owned());
        rest = rest[at..].trim_start();
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

/// How many bytes from the start fit into a post.
fn window(text: &str) -> usize {
    let ends = text.grapheme_indices(true).map(|(at, grapheme)| at + grapheme.len());
    // A single character of more than a post's bytes still has to go somewhere.
    ends.take(LONGEST).take_while(|end| *end <= MOST_BYTES).last().unwrap_or_else(|| {
        text.char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .take_while(|end| *end <= MOST_BYTES)
            .last()
            .unwrap_or(text.len())
    })
}

/// The best place to cut: the last of the best kind that does not leave a stump.
fn cut(window: &str) -> usize {
    let least = window.len() / 3;
    let after = |mark: &str| window.rfind(mark).map(|at| at + mark.len()).filter(|at| *at > least);
    let sentence = || [". ", "! ", "? ", "… "].iter().filter_map(|mark| after(mark)).max();
    let word = || {
        let last = window.char_indices().rfind(|(_, c)| c.is_whitespace());
        last.map(|(at, c)| at + c.len_utf8()).filter(|at| !window[..*at].trim().is_empty())
    };
    after("\n\n").or_else(|| after("\n")).or_else(sentence).or_else(word).unwrap_or(window.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_stays_whole() {
        assert_eq!(split(" Hello. "), ["Hello."]);
        assert_eq!(split(""), [""]);
        assert_eq!(split(&"👩‍👩‍👧‍👦".repeat(100)).len(), 1, "a family is one character");
    }

    #[test]
    fn a_long_text_is_cut_where_it_pauses() {
        let paragraph = "Word ".repeat(40).trim().to_owned();
        assert_eq!(split(&format!("{paragraph}\n\n{paragraph}")), [paragraph.clone(), paragraph]);
        let sentences = "This is one sentence of the text. ".repeat(12);
        assert!(split(&sentences).iter().all(|piece| piece.ends_with('.')));
        assert_eq!(split(&"x".repeat(700)).iter().map(String::len).collect::<Vec<_>>(), [300, 300, 100]);
    }

    proptest! {
        #[test]
        fn every_piece_fits_and_no_word_is_lost(text in "(\\PC{0,20}[ \n.!]{0,2}){0,80}") {
            let pieces = split(&text);
            prop_assert!(pieces.iter().all(|piece| fits(piece)));
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&pieces.concat()), letters(&text));
        }
    }
}
