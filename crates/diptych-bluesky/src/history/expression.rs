//! Regular expressions of queries: bounded in memory, and made ready for looking at a hundred thousand texts.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// The most memory that a compiled expression may take.
const MEMORY: usize = 512 * 1024;

/// A regular expression that is small enough to be used on a whole history.
#[derive(Debug, Clone)]
pub struct Expression {
    regex: Regex,
    /// The same without `\b`, where it has any: whatever the one matches, the other does. What looks for the edges of words
    /// is slow on texts beyond ASCII, so it only looks where this one found something.
    screen: Option<Regex>,
}

impl Expression {
    /// Compiles it, if it fits into the memory that one may take.
    pub(crate) fn compile(written: &str) -> Result<Self, regex::Error> {
        let regex = compile(written)?;
        let screen = without_edges(written).and_then(|screen| compile(&screen).ok());
        Ok(Expression { regex, screen })
    }

    /// Whether it looks for the edges of words.
    pub(crate) fn has_edges(&self) -> bool {
        self.screen.is_some()
    }

    /// What can look at several texts as one: where it finds nothing, the expression matches in none of them. Nothing when
    /// the expression asks where a text begins or ends.
    pub(crate) fn sieve(&self) -> Option<&Regex> {
        let sieve = self.screen.as_ref().unwrap_or(&self.regex);
        let asks_for_place = ["^", "$", r"\A", r"\z", r"\b", r"\B", r"\<", r"\>"];
        (!asks_for_place.iter().any(|place| sieve.as_str().contains(place))).then_some(sieve)
    }

    /// Whether it matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.screen.as_ref().is_none_or(|screen| screen.is_match(text)) && self.regex.is_match(text)
    }
}

fn compile(written: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(written)
        .case_insensitive(true)
        .size_limit(MEMORY)
        .dfa_size_limit(4 * MEMORY)
        .nest_limit(40)
        .build()
}

/// The expression without its `\b`, if it has any. Taking a condition away only ever lets more pass.
fn without_edges(written: &str) -> Option<String> {
    let mut screen = String::new();
    let mut letters = written.chars().peekable();
    let mut any = false;
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            screen.push(letter);
            continue;
        }
        match letters.next() {
            Some('b') if letters.peek() != Some(&'{') => any = true,
            Some(escaped) => screen.extend(['\\', escaped]),
            None => return None,
        }
    }
    any.then_some(screen)
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.regex.as_str() == other.regex.as_str()
    }
}

impl Eq for Expression {}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.regex.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_screen_lets_everything_pass_that_matches(
            written in r"(a|b|é|\\b|\\B|\\w|\\\\|\.|\(|\)|\||\+|\?|\*|\[a\]| ){1,8}",
            text in "[abé _.]{0,12}",
        ) {
            if let Ok(regex) = compile(&written) {
                let expression = Expression::compile(&written).unwrap();
                prop_assert_eq!(expression.is_match(&text), regex.is_match(&text));
            }
        }
    }
}
