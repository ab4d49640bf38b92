//! Light English stemming: "retries", "retrying" and "retry" become one term.
//!
//! This is Porter's second English stemmer, written by hand: the crate the field once used for it has
//! had no release for years, carries eighteen languages and pulls in a serializer, for the two hundred
//! lines that are needed here. Irregular verbs are added to it, since people ask in the past tense. Words that are not plain ASCII letters are left as they are.

use std::borrow::Cow;

/// The stem of a lower-case word. Words of other alphabets, words with digits and very short words
/// come back unchanged.
///
/// ```
/// assert_eq!(diptych_search::stem("retries"), diptych_search::stem("retrying"));
/// assert_eq!(diptych_search::stem("http2"), "http2");
/// ```
pub fn stem(word: &str) -> Cow<'_, str> {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(word);
    }
    if let Some((_, fixed)) = EXCEPTIONS.iter().find(|(from, _)| *from == word) {
        return Cow::Borrowed(fixed);
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word, |(form, _)| form) {
        return stem(IRREGULAR[at].1);
    }
    let mut stemmer = Stemmer::new(word);
    stemmer.plural();
    if !STOP_AFTER_PLURAL.contains(&stemmer.text()) {
        stemmer.past_and_gerund();
        stemmer.final_y();
        stemmer.long_suffixes();
        stemmer.middle_suffixes();
        stemmer.short_suffixes();
        stemmer.final_e_and_l();
    }
    let stemmed = stemmer.finish();
    if stemmed == word { Cow::Borrowed(word) } else { Cow::Owned(stemmed) }
}

/// Words the rules would get wrong.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Past forms that no rule leads back to their verb. Those that are at least as often another word (left,
/// found, bound, saw, bit) are left alone.
#[rustfmt::skip]
const IRREGULAR: &[(&str, &str)] = &[
    ("ate", "eat"), ("began", "begin"), ("begun", "begin"), ("bent", "bend"), ("blew", "blow"),
    ("blown", "blow"), ("bought", "buy"), ("bred", "breed"), ("broke", "break"), ("broken", "break"),
    ("brought", "bring"), ("built", "build"), ("came", "come"), ("caught", "catch"), ("chose", "choose"),
    ("chosen", "choose"), ("crept", "creep"), ("dealt", "deal"), ("drank", "drink"), ("drawn", "draw"),
    ("drew", "draw"), ("driven", "drive"), ("drove", "drive"), ("drunk", "drink"), ("dug", "dig"),
    ("eaten", "eat"), ("fallen", "fall"), ("fed", "feed"), ("fled", "flee"), ("flew", "fly"),
    ("flown", "fly"), ("flung", "fling"), ("forbade", "forbid"), ("forbidden", "forbid"),
    ("forgave", "forgive"), ("forgiven", "forgive"), ("forgot", "forget"), ("forgotten", "forget"),
    ("fought", "fight"), ("froze", "freeze"), ("frozen", "freeze"), ("gave", "give"), ("given", "give"),
    ("gone", "go"), ("grew", "grow"), ("grown", "grow"), ("heard", "hear"), ("held", "hold"),
    ("hid", "hide"), ("hidden", "hide"), ("hung", "hang"), ("kept", "keep"), ("knew", "know"),
    ("known", "know"), ("laid", "lay"), ("led", "lead"), ("lent", "lend"), ("lost", "lose"),
    ("made", "make"), ("meant", "mean"), ("met", "meet"), ("mistaken", "mistake"), ("mistook", "mistake"),
    ("overridden", "override"), ("overrode", "override"), ("overwritten", "overwrite"),
    ("overwrote", "overwrite"), ("paid", "pay"), ("proven", "prove"), ("ran", "run"), ("rang", "ring"),
    ("rebuilt", "rebuild"), ("reran", "rerun"), ("rewritten", "rewrite"), ("rewrote", "rewrite"),
    ("ridden", "ride"), ("risen", "rise"), ("said", "say"), ("sang", "sing"), ("sank", "sink"),
    ("sat", "sit"), ("seen", "see"), ("sent", "send"), ("shaken", "shake"), ("shook", "shake"),
    ("shown", "show"), ("shrank", "shrink"), ("shrunk", "shrink"), ("slept", "sleep"), ("slid", "slide"),
    ("sold", "sell"), ("sought", "seek"), ("spent", "spend"), ("spoke", "speak"), ("spoken", "speak"),
    ("spun", "spin"), ("stole", "steal"), ("stolen", "steal"), ("stood", "stand"), ("struck", "strike"),
    ("stuck", "stick"), ("sung", "sing"), ("sunk", "sink"), ("swam", "swim"), ("swept", "sweep"),
    ("swore", "swear"), ("sworn", "swear"), ("swung", "swing"), ("taken", "take"), ("taught", "teach"),
    ("thought", "think"), ("threw", "throw"), ("thrown", "throw"), ("told", "tell"), ("took", "take"),
    ("tore", "tear"), ("torn", "tear"), ("understood", "understand"), ("unwound", "unwind"), ("went", "go"),
    ("withdrawn", "withdraw"), ("withdrew", "withdraw"), ("withheld", "withhold"), ("woke", "wake"),
    ("woken", "wake"), ("won", "win"), ("wore", "wear"), ("worn", "wear"), ("wove", "weave"),
    ("woven", "weave"), ("written", "write"), ("wrote", "write"), ("wrung", "wring"),
];

const STOP_AFTER_PLURAL: &[&str] =
    &["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

const DOUBLES: &[&[u8]] = &[b"bb", b"dd", b"ff", b"gg", b"mm", b"nn", b"pp", b"rr", b"tt"];

struct Stemmer {
    /// Consonant `y` is written `Y`, so that it is not taken for a vowel.
    word: Vec<u8>,
    /// Where the first and second region begin: suffixes are only removed inside them.
    first: usize,
    second: usize,
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

impl Stemmer {
    fn new(text: &str) -> Self {
        let mut word = text.as_bytes().to_vec();
        for index in 0..word.len() {
            if word[index] == b'y' && (index == 0 || is_vowel(word[index - 1])) {
                word[index] = b'Y';
            }
        }
        let first = ["gener", "commun", "arsen"]
            .iter()
            .find(|prefix| text.starts_with(*prefix))
            .map_or_else(|| region_after(&word, 0), |prefix| prefix.len());
        let second = region_after(&word, first);
        Self { word, first, second }
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.word).unwrap_or_default()
    }

    fn finish(mut self) -> String {
        self.word.make_ascii_lowercase();
        String::from_utf8(self.word).unwrap_or_default()
    }

    fn ends(&self, suffix: &str) -> bool {
        self.word.ends_with(suffix.as_bytes())
    }

    fn cut(&mut self, count: usize) {
        let length = self.word.len().saturating_sub(count);
        self.word.truncate(length);
    }

    fn replace(&mut self, suffix: &str, with: &str) {
        self.cut(suffix.len());
        self.word.extend_from_slice(with.as_bytes());
    }

    /// Whether what stands before the last `count` letters has a vowel.
    fn vowel_before(&self, count: usize) -> bool {
        self.word[..self.word.len().saturating_sub(count)].iter().any(|letter| is_vowel(*letter))
    }

    fn in_first(&self, suffix: &str) -> bool {
        self.word.len().saturating_sub(suffix.len()) >= self.first
    }

    fn in_second(&self, suffix: &str) -> bool {
        self.word.len().saturating_sub(suffix.len()) >= self.second
    }

    fn ends_in_short_syllable(&self, length: usize) -> bool {
        let word = &self.word[..length.min(self.word.len())];
        match word {
            [a, b] => is_vowel(*a) && !is_vowel(*b),
            [.., a, b, c] => {
                !is_vowel(*a) && is_vowel(*b) && !is_vowel(*c) && !matches!(c, b'w' | b'x' | b'Y')
            }
            _ => false,
        }
    }

    fn is_short(&self) -> bool {
        self.first >= self.word.len() && self.ends_in_short_syllable(self.word.len())
    }

    fn plural(&mut self) {
        if self.ends("sses") {
            self.cut(2);
        } else if self.ends("ied") || self.ends("ies") {
            self.cut(if self.word.len() > 4 { 2 } else { 1 });
        } else if self.ends("us") || self.ends("ss") {
        } else if self.ends("s") && self.vowel_before(2) {
            self.cut(1);
        }
    }

    fn past_and_gerund(&mut self) {
        for suffix in ["eedly", "eed"] {
            if self.ends(suffix) {
                if self.in_first(suffix) {
                    self.replace(suffix, "ee");
                }
                return;
            }
        }
        for suffix in ["ingly", "edly", "ing", "ed"] {
            if self.ends(suffix) {
                if !self.vowel_before(suffix.len()) {
                    return;
                }
                self.cut(suffix.len());
                if self.ends("at") || self.ends("bl") || self.ends("iz") {
                    self.word.push(b'e');
                } else if DOUBLES.iter().any(|double| self.word.ends_with(double)) {
                    self.cut(1);
                } else if self.is_short() {
                    self.word.push(b'e');
                }
                return;
            }
        }
    }

    fn final_y(&mut self) {
        let length = self.word.len();
        if length > 2 && matches!(self.word[length - 1], b'y' | b'Y') && !is_vowel(self.word[length - 2]) {
            self.word[length - 1] = b'i';
        }
    }

    fn long_suffixes(&mut self) {
        const RULES: &[(&str, &str)] = &[
            ("ization", "ize"),
            ("ational", "ate"),
            ("fulness", "ful"),
            ("ousness", "ous"),
            ("iveness", "ive"),
            ("tional", "tion"),
            ("biliti", "ble"),
            ("lessli", "less"),
            ("entli", "ent"),
            ("ation", "ate"),
            ("alism", "al"),
            ("aliti", "al"),
            ("ousli", "ous"),
            ("iviti", "ive"),
            ("fulli", "ful"),
            ("enci", "ence"),
            ("anci", "ance"),
            ("abli", "able"),
            ("izer", "ize"),
            ("ator", "ate"),
            ("alli", "al"),
            ("bli", "ble"),
        ];
        if self.rewrite(RULES) {
        } else if self.ends("ogi") {
            if self.in_first("ogi") && self.word[..self.word.len() - 3].ends_with(b"l") {
                self.cut(1);
            }
        } else if self.ends("li") && self.in_first("li") {
            let before = self.word[..self.word.len() - 2].last().copied();
            if before.is_some_and(|letter| b"cdeghkmnrt".contains(&letter)) {
                self.cut(2);
            }
        }
    }

    fn middle_suffixes(&mut self) {
        const RULES: &[(&str, &str)] = &[
            ("ational", "ate"),
            ("tional", "tion"),
            ("alize", "al"),
            ("icate", "ic"),
            ("iciti", "ic"),
            ("ical", "ic"),
            ("ness", ""),
            ("ful", ""),
        ];
        if !self.rewrite(RULES) && self.ends("ative") && self.in_second("ative") {
            self.cut(5);
        }
    }

    /// Applies the first rule whose suffix the word has, if it lies in the first region. True when a
    /// suffix was found, whether it was replaced or not: the rules are tried longest first.
    fn rewrite(&mut self, rules: &[(&str, &str)]) -> bool {
        let Some((suffix, with)) = rules.iter().find(|(suffix, _)| self.ends(suffix)) else {
            return false;
        };
        if self.in_first(suffix) {
            self.replace(suffix, with);
        }
        true
    }

    fn short_suffixes(&mut self) {
        const SUFFIXES: &[&str] = &[
            "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive",
            "ize", "al", "er", "ic",
        ];
        if let Some(suffix) = SUFFIXES.iter().find(|suffix| self.ends(suffix)) {
            if self.in_second(suffix) {
                self.cut(suffix.len());
            }
        } else if self.ends("ion") && self.in_second("ion") {
            let before = self.word[..self.word.len() - 3].last().copied();
            if matches!(before, Some(b's' | b't')) {
                self.cut(3);
            }
        }
    }

    fn final_e_and_l(&mut self) {
        let length = self.word.len();
        if self.ends("e") {
            let keeps = self.ends_in_short_syllable(length - 1);
            if self.in_second("e") || (self.in_first("e") && !keeps) {
                self.cut(1);
            }
        } else if self.ends("ll") && self.in_second("l") {
            self.cut(1);
        }
    }
}

/// The end of the first vowel-then-consonant pair at or after `start`.
fn region_after(word: &[u8], start: usize) -> usize {
    (start + 1..word.len())
        .find(|index| !is_vowel(word[*index]) && is_vowel(word[*index - 1]))
        .map_or(word.len(), |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(words: &[&str]) {
        for word in words {
            assert_eq!(stem(word), stem(words[0]), "{word} and {}", words[0]);
        }
    }

    #[test]
    fn forms_of_one_word_share_a_stem() {
        same(&["retry", "retries", "retrying", "retried"]);
        same(&["service", "services"]);
        same(&["concurrency", "concurrent", "concurrently"]);
        same(&["validate", "validation", "validating", "validated"]);
        same(&["schedule", "schedules", "scheduling"]);
        same(&["dependency", "dependencies"]);
        same(&["cache", "caching", "cached"]);
        same(&["map", "mapping", "mapped"]);
        same(&["transform", "transformation", "transforms"]);
        same(&["accumulate", "accumulating", "accumulation"]);
        same(&["interrupt", "interruption", "interrupted"]);
    }

    #[test]
    fn irregular_verbs_share_the_stem_of_their_verb() {
        assert!(IRREGULAR.is_sorted());
        same(&["send", "sends", "sending", "sent"]);
        same(&["write", "writes", "writing", "wrote", "written"]);
        same(&["override", "overriding", "overridden"]);
        same(&["build", "builds", "built"]);
        assert_ne!(stem("left"), stem("leave"));
    }

    #[test]
    fn known_stems_of_the_algorithm() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("gas", "gas"),
            ("agreed", "agre"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("generically", "generic"),
            ("generate", "generat"),
            ("knightly", "knight"),
            ("communication", "communic"),
            ("consistency", "consist"),
            ("controlled", "control"),
            ("succeed", "succeed"),
            ("playing", "play"),
            ("sky", "sky"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn other_words_stay() {
        for word in ["sha256", "größe", "重试", "a", "", "Effect"] {
            assert_eq!(stem(word), word);
        }
    }
}
