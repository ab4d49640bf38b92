//! Text to tokens, as BERT's tokenizer does it: clean, part, then cut words into the longest known pieces.
//!
//! By hand, because the library that can do this (`tokenizers`) brings a training suite, two regular-expression engines
//! and fifty crates, for what is said in a hundred lines. The tests hold it against that library's own tokens.

use foldhash::{HashMap, HashMapExt};
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization as _;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory as _};

/// Words with more characters than this are not cut, but unknown.
const LONGEST_WORD: usize = 100;
/// More text than this is not looked at: a token is at least a character, but hardly ever sixty.
const BYTES_PER_TOKEN: usize = 64;

#[derive(Deserialize)]
struct File {
    normalizer: Normalizer,
    model: Model,
}

#[derive(Deserialize)]
struct Normalizer {
    #[serde(rename = "type")]
    kind: String,
    lowercase: bool,
    strip_accents: Option<bool>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    vocab: std::collections::HashMap<String, u32>,
}

/// A vocabulary and how text is brought to it.
pub(super) struct WordPiece {
    /// Pieces that begin a word.
    starts: HashMap<Box<str>, u32>,
    /// Pieces that go on with one.
    rests: HashMap<Box<str>, u32>,
    lowercase: bool,
    strip_accents: bool,
    start: u32,
    end: u32,
    unknown: u32,
    greatest: usize,
}

impl WordPiece {
    /// Reads `tokenizer.json`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file: File = serde_json::from_slice(bytes).map_err(|_| "is not a WordPiece tokenizer")?;
        let kind = file.model.kind.as_deref().unwrap_or("WordPiece");
        if kind != "WordPiece" || file.normalizer.kind != "BertNormalizer" {
            return Err("is not a WordPiece tokenizer".to_owned());
        }
        let special =
            |name: &str| file.model.vocab.get(name).copied().ok_or_else(|| format!("has no {name}"));
        let (start, end, unknown) = (special("[CLS]")?, special("[SEP]")?, special("[UNK]")?);
        let greatest = file.model.vocab.values().copied().max().unwrap_or_default() as usize;
        let (mut starts, mut rests) = (HashMap::with_capacity(file.model.vocab.len()), HashMap::new());
        for (piece, number) in file.model.vocab {
            match piece.strip_prefix("##") {
                Some(rest) if !rest.is_empty() => rests.insert(rest.into(), number),
                _ => starts.insert(piece.into(), number),
            };
        }
        let lowercase = file.normalizer.lowercase;
        let strip_accents = file.normalizer.strip_accents.unwrap_or(lowercase);
        Ok(Self { starts, rests, lowercase, strip_accents, start, end, unknown, greatest })
    }

    /// The greatest token.
    pub(super) fn greatest(&self) -> usize {
        self.greatest
    }

    /// The tokens of a text between the marks of its start and end, at most so many in all. Names of marks in the
    /// text itself are text.
    pub(super) fn tokens(&self, text: &str, most: usize) -> Vec<u32> {
        let mut text = text;
        if text.len() > most * BYTES_PER_TOKEN {
            text = &text[..text.floor_char_boundary(most * BYTES_PER_TOKEN)];
        }
        let mut tokens = vec![self.start];
        let mut word = String::new();
        for c in self.clean(text).chars() {
            if c.is_whitespace() {
                self.cut(&mut word, &mut tokens);
            } else if is_punctuation(c) {
                self.cut(&mut word, &mut tokens);
                word.push(c);
                self.cut(&mut word, &mut tokens);
            } else {
                word.push(c);
            }
            if tokens.len() >= most {
                break;
            }
        }
        self.cut(&mut word, &mut tokens);
        tokens.truncate(most.saturating_sub(1));
        tokens.push(self.end);
        tokens
    }

    fn clean(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for c in text.chars() {
            if matches!(c, '\t' | '\n' | '\r') {
                clean.push(' ');
            } else if c == '\u{fffd}' || is_invisible(c) {
            } else if c.is_whitespace() {
                clean.push(' ');
            } else if is_ideograph(c) {
                clean.extend([' ', c, ' ']);
            } else {
                clean.push(c);
            }
        }
        if self.strip_accents && !clean.is_ascii() {
            clean = clean
                .nfd()
                .filter(|c| c.is_ascii() || c.general_category() != GeneralCategory::NonspacingMark)
                .collect();
        }
        if self.lowercase {
            clean = clean.chars().flat_map(char::to_lowercase).collect();
        }
        clean
    }

    /// Takes a word, and adds its pieces.
    fn cut(&self, word: &mut String, tokens: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        let mut rest = word.as_str();
        if rest.len() > LONGEST_WORD && rest.chars().count() > LONGEST_WORD {
            rest = "";
            tokens.push(self.unknown);
        }
        let mut known = &self.starts;
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let longest =
                ends.map(|end| (end, known.get(&rest[..end]))).find_map(|(end, piece)| Some((end, *piece?)));
            match longest {
                Some((end, piece)) => {
                    tokens.push(piece);
                    rest = &rest[end..];
                }
                None => {
                    tokens.truncate(before);
                    tokens.push(self.unknown);
                    rest = "";
                }
            }
            known = &self.rests;
        }
        word.clear();
    }
}

fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    use GeneralCategory::{Control, Format, PrivateUse};
    matches!(c.general_category(), Control | Format | PrivateUse)
}

fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Characters that are words by themselves.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c),
        0x4E00..=0x9FFF | 0x3400..=0x4DBF | 0x2_0000..=0x2_A6DF | 0x2_A700..=0x2_B73F | 0x2_B740..=0x2_B81F
        | 0x2_B920..=0x2_CEAF | 0xF900..=0xFAFF | 0x2_F800..=0x2_FA1F)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PIECES: [&str; 16] = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe", ",", "the", "##s", "字", "a",
        "##a", "!", "tree",
    ];

    fn sample() -> WordPiece {
        let vocab: serde_json::Map<String, serde_json::Value> =
            PIECES.iter().enumerate().map(|(number, piece)| ((*piece).to_owned(), number.into())).collect();
        let file = serde_json::json!({
            "normalizer": {"type": "BertNormalizer", "lowercase": true, "strip_accents": null},
            "model": {"type": "WordPiece", "vocab": vocab},
        });
        WordPiece::read(&serde_json::to_vec(&file).unwrap()).unwrap()
    }

    fn pieces(text: &str) -> String {
        let tokens = sample().tokens(text, 256);
        tokens[1..tokens.len() - 1].iter().map(|token| PIECES[*token as usize]).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_cut_into_their_longest_pieces() {
        assert_eq!(pieces("unaffable"), "un ##aff ##able");
        assert_eq!(pieces("The trees, CAFÉ!"), "the tree ##s , cafe !");
        assert_eq!(pieces("cafe\u{301}\tca\u{200b}fe"), "cafe cafe");
        assert_eq!(pieces("the字字"), "the 字 字");
        assert_eq!(pieces("xyz unxyz the"), "[UNK] [UNK] the");
        assert_eq!(pieces(&"a".repeat(101)), "[UNK]");
        assert_eq!(pieces(&"a".repeat(100)).split(' ').count(), 100);
        assert_eq!(pieces(" \u{0} "), "");
    }

    #[test]
    fn files_that_are_none_are_refused() {
        for text in [
            "",
            "[]",
            "{\"model\": {}}",
            "{\"normalizer\":{\"type\":\"NFC\",\"lowercase\":true},\"model\":{\"vocab\":{}}}",
        ] {
            assert!(WordPiece::read(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_tokens_within_the_limit(text in "\\PC{0,200}|[\\s\\S]{0,80}", most in 2_usize..40) {
            let tokens = sample().tokens(&text, most);
            prop_assert!((2..=most).contains(&tokens.len()));
            prop_assert_eq!((tokens[0], tokens[tokens.len() - 1]), (2, 3));
            let all = sample().tokens(&text, 10_000);
            prop_assert_eq!(&tokens[..tokens.len() - 1], &all[..tokens.len() - 1]);
        }

        #[test]
        fn case_and_blanks_change_nothing(text in "[a-zA-Z ,!]{0,60}") {
            let padded = format!("  {} ", text.to_uppercase().replace(' ', " \n "));
            prop_assert_eq!(sample().tokens(&text, 256), sample().tokens(&padded, 256));
        }
    }
}
