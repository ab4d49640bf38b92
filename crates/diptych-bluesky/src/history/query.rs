//! The language of searches: plain words, `"exact phrases"`, `/expressions/` and operators such as `has:image`, each of which
//! a `-` before it turns around.
//!
//! A query is understood or refused with every problem at once; nothing in it is silently dropped. What looks like an
//! operator and is none is a problem too, since a search for the letters `form:alice` is never what was meant; quotes
//! search for such a text.

use std::fmt;

use diptych_search::{NEAR_FLOOR, near};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::expression::Expression;

/// Longer queries are refused: no question is that long.
const LONGEST: usize = 2_000;
const MOST_TERMS: usize = 64;
/// The longest expression.
const LONGEST_EXPRESSION: usize = 500;

const OPERATORS: [&str; 8] = ["from", "to", "has", "before", "after", "likes", "since", "until"];
const MEDIA: [(&str, Media); 11] = [
    ("image", Media::Image),
    ("images", Media::Image),
    ("photo", Media::Image),
    ("picture", Media::Image),
    ("video", Media::Video),
    ("videos", Media::Video),
    ("link", Media::Link),
    ("links", Media::Link),
    ("url", Media::Link),
    ("quote", Media::Quote),
    ("quotes", Media::Quote),
];

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// All of them must hold.
    pub terms: Vec<Term>,
}

/// One thing that must hold, or must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// Whether it was turned around with `-`.
    pub negated: bool,
    /// The thing.
    pub clause: Clause,
}

/// A thing that can be asked of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clause {
    /// It has the word, or one spelled nearly so.
    Word(String),
    /// It has exactly these words, whatever their case.
    Phrase(String),
    /// The expression matches.
    Expression(Expression),
    /// This account wrote it.
    From(String),
    /// It answers or mentions this account.
    To(String),
    /// It carries something.
    Has(Media),
    /// It was written before this moment.
    Before(Moment),
    /// It was written at this moment or after.
    After(Moment),
    /// It has so many likes.
    Likes(Likes),
}

/// What a post can carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Media {
    /// An image.
    Image,
    /// A video.
    Video,
    /// A link, in the text or as a card.
    Link,
    /// Another post.
    Quote,
}

/// A point in time, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970, UTC.
    pub millis: i64,
    written: String,
}

/// A range of like counts, both ends in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Likes {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl Likes {
    /// Whether a count is in the range.
    pub fn holds(self, count: u64) -> bool {
        (self.least..=self.most).contains(&count)
    }
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A sentence.
    pub problem: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl Query {
    /// Reads a query. `now` is what spans such as `after:7d` count back from.
    ///
    /// # Errors
    /// Every problem that it has.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, Vec<Problem>> {
        if text.len() > LONGEST {
            return Err(vec![problem(format!("A query has at most {LONGEST} characters."))]);
        }
        let mut reader = Reader { rest: text, now, problems: Vec::new(), terms: Vec::new() };
        while reader.next() {}
        if reader.terms.len() > MOST_TERMS {
            reader.problems.push(problem(format!("A query has at most {MOST_TERMS} parts.")));
        }
        if reader.problems.is_empty() { Ok(Query { terms: reader.terms }) } else { Err(reader.problems) }
    }

    /// The words and phrases that posts must have, as they were typed: what another search engine understands too.
    pub fn plain_text(&self) -> String {
        let mut parts = Vec::new();
        for term in &self.terms {
            if !term.negated && matches!(term.clause, Clause::Word(_) | Clause::Phrase(_)) {
                parts.push(term.to_string());
            }
        }
        parts.join(" ")
    }

    /// The accounts that are named, `from:` and `to:` alike.
    pub fn people(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| match &term.clause {
            Clause::From(name) | Clause::To(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The ranges of likes that are asked for, and whether each is turned around.
    pub fn likes(&self) -> impl Iterator<Item = (bool, Likes)> {
        self.terms.iter().filter_map(|term| match term.clause {
            Clause::Likes(likes) => Some((term.negated, likes)),
            _ => None,
        })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            write!(formatter, "{}{term}", if index > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", if self.negated { "-" } else { "" }, self.clause)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Clause::Word(word) => formatter.write_str(word),
            Clause::Phrase(phrase) => write!(formatter, "\"{phrase}\""),
            Clause::Expression(expression) => write!(formatter, "/{expression}/"),
            Clause::From(account) => write!(formatter, "from:{account}"),
            Clause::To(account) => write!(formatter, "to:{account}"),
            Clause::Has(Media::Image) => formatter.write_str("has:image"),
            Clause::Has(Media::Video) => formatter.write_str("has:video"),
            Clause::Has(Media::Link) => formatter.write_str("has:link"),
            Clause::Has(Media::Quote) => formatter.write_str("has:quote"),
            Clause::Before(moment) => write!(formatter, "before:{}", moment.written),
            Clause::After(moment) => write!(formatter, "after:{}", moment.written),
            Clause::Likes(likes) => match (likes.least, likes.most) {
                (least, u64::MAX) => write!(formatter, "likes:{least}"),
                (least, most) => write!(formatter, "likes:{least}..{most}"),
            },
        }
    }
}

fn problem(problem: impl Into<String>) -> Problem {
    Problem { problem: problem.into(), suggestion: None }
}

struct Reader<'text> {
    rest: &'text str,
    now: Timestamp,
    problems: Vec<Problem>,
    terms: Vec<Term>,
}

impl Reader<'_> {
    /// Reads one term; whether there may be another.
    fn next(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return false;
        }
        // A lone `-` or a row of them is a dash in a sentence.
        let negated = self.rest.starts_with('-')
            && self.rest[1..].chars().next().is_some_and(|next| next != '-' && !next.is_whitespace());
        if negated {
            self.rest = &self.rest[1..];
        }
        let clause = if let Some(inner) = self.rest.strip_prefix('"') {
            self.phrase(inner)
        } else if let Some((expression, after)) = expression(self.rest) {
            self.rest = after;
            self.compile(expression)
        } else {
            let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
            let (word, after) = self.rest.split_at(end);
            self.rest = after;
            self.word(word)
        };
        if let Some(clause) = clause {
            self.terms.push(Term { negated, clause });
        }
        true
    }

    /// A phrase that is not closed goes on to the end.
    fn phrase<'a>(&mut self, inner: &'a str) -> Option<Clause>
    where
        Self: 'a,
    {
        let end = inner.find('"').unwrap_or(inner.len());
        let phrase = inner[..end].split_whitespace().collect::<Vec<_>>().join(" ");
        let consumed = (end + 1).min(inner.len());
        self.rest = &self.rest[1 + consumed..];
        (!phrase.is_empty()).then_some(Clause::Phrase(phrase))
    }

    fn compile(&mut self, expression: &str) -> Option<Clause> {
        if expression.len() > LONGEST_EXPRESSION {
            self.problems
                .push(problem(format!("An expression has at most {LONGEST_EXPRESSION} characters.")));
            return None;
        }
        match Expression::compile(expression) {
            Ok(expression) => return Some(Clause::Expression(expression)),
            Err(regex::Error::CompiledTooBig(_)) => {
                self.problems.push(problem(format!(
                    "The expression /{expression}/ is too large; use fewer repetitions."
                )));
            }
            Err(_) => self.problems.push(Problem {
                problem: format!("The expression /{expression}/ cannot be understood."),
                suggestion: Some(format!("\"{}\"", expression.replace(['\\', '"'], ""))),
            }),
        }
        None
    }

    fn word(&mut self, word: &str) -> Option<Clause> {
        // A dash or a bracket between words asks for nothing.
        if word.chars().all(|letter| letter.is_ascii_punctuation()) {
            return None;
        }
        let Some((name, value)) = word.split_once(':') else { return Some(Clause::Word(word.to_owned())) };
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        // Links and identities have colons, and so does the end of "note:".
        if !is_name || value.is_empty() || value.starts_with("//") || value.starts_with(':') || name == "did"
        {
            return Some(Clause::Word(word.to_owned()));
        }
        match name.to_ascii_lowercase().as_str() {
            "from" => self.account(value).map(Clause::From),
            "to" => self.account(value).map(Clause::To),
            "has" => self.media(value).map(Clause::Has),
            "before" | "until" => self.moment(name, value).map(Clause::Before),
            "after" | "since" => self.moment(name, value).map(Clause::After),
            "likes" => self.likes(value).map(Clause::Likes),
            unknown => {
                let nearest = nearest(unknown, &OPERATORS);
                self.problems.push(Problem {
                    problem: match nearest {
                        Some(near) => format!("There is no operator `{name}:`. Did you mean `{near}:`?"),
                        None => format!(
                            "There is no operator `{name}:`. There are `from:`, `to:`, `has:`, `before:`, `after:` and `likes:`."
                        ),
                    },
                    suggestion: Some(match nearest {
                        Some(near) => format!("{near}:{value}"),
                        None => format!("\"{}\"", word.replace('"', "")),
                    }),
                });
                None
            }
        }
    }

    fn account(&mut self, value: &str) -> Option<String> {
        let name = value.trim_start_matches('@').trim_end_matches(',');
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-_:%".contains(letter);
        if name.is_empty() || name.len() > 2048 || !name.chars().all(allowed) {
            self.problems.push(problem(format!("`{value}` is not a handle or DID.")));
            return None;
        }
        Some(if name.starts_with("did:") { name.to_owned() } else { name.to_ascii_lowercase() })
    }

    fn media(&mut self, value: &str) -> Option<Media> {
        let wanted = value.to_ascii_lowercase();
        let found = MEDIA.iter().find(|(name, _)| *name == wanted).map(|(_, media)| *media);
        if found.is_none() {
            let nearest = nearest(&wanted, &MEDIA.map(|(name, _)| name));
            self.problems.push(Problem {
                problem: format!("`has:{value}` is not known; there are `has:image`, `has:video`, `has:link` and `has:quote`."),
                suggestion: nearest.map(|near| format!("has:{near}")),
            });
        }
        found
    }

    fn moment(&mut self, name: &str, value: &str) -> Option<Moment> {
        let millis = moment(value, self.now);
        if millis.is_none() {
            self.problems.push(Problem {
                problem: format!(
                    "`{name}:{value}` is not a time; write a year, a month or a day such as 2024-05-17, or a span such as 30d."
                ),
                suggestion: None,
            });
        }
        Some(Moment { millis: millis?, written: value.to_owned() })
    }

    fn likes(&mut self, value: &str) -> Option<Likes> {
        let number = |text: &str| text.parse::<u64>().ok();
        let above = |least: u64| Likes { least, most: u64::MAX };
        let found = if let Some(text) = value.strip_prefix(">=") {
            number(text).map(above)
        } else if let Some(text) = value.strip_prefix('>') {
            number(text).and_then(|number| number.checked_add(1)).map(above)
        } else if let Some(text) = value.strip_prefix("<=") {
            number(text).map(|most| Likes { least: 0, most })
        } else if let Some(text) = value.strip_prefix('<') {
            number(text).and_then(|number| number.checked_sub(1)).map(|most| Likes { least: 0, most })
        } else if let Some(text) = value.strip_prefix('=') {
            number(text).map(|exactly| Likes { least: exactly, most: exactly })
        } else if let Some((least, most)) = value.split_once("..") {
            number(least)
                .zip(number(most))
                .filter(|(least, most)| least <= most)
                .map(|(least, most)| Likes { least, most })
        } else {
            number(value.trim_end_matches('+')).map(above)
        };
        if found.is_none() {
            self.problems.push(problem(format!(
                "`likes:{value}` is not a number of likes; write `likes:10` for at least ten, `likes:<10` or `likes:10..20`."
            )));
        }
        found
    }
}

/// An expression between slashes at the beginning of the text, and what follows it. A path such as `/r/rust` is none: its
/// second slash is not at the end of a word.
fn expression(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('/')?;
    let mut escaped = false;
    for (at, letter) in inner.char_indices() {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == '/' {
            let after = &inner[at + 1..];
            if at > 0 && after.chars().next().is_none_or(char::is_whitespace) {
                return Some((&inner[..at], after));
            }
        }
    }
    None
}

fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    near(word, known.iter().copied(), NEAR_FLOOR).first().map(|near| near.id)
}

/// The beginning of a year, month or day; a timestamp; or a span back from now.
fn moment(text: &str, now: Timestamp) -> Option<i64> {
    let start = |year: i16, month: i8, day: i8| {
        let date = Date::new(year, month, day).ok()?;
        Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
    };
    let today = || Zoned::new(now, TimeZone::UTC).date();
    match text {
        "today" | "now" => return Some(today().to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()),
        "yesterday" => {
            return Some(
                today().yesterday().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond(),
            );
        }
        _ => {}
    }
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if let (Ok(number), false) = (number.parse::<i32>(), unit.is_empty()) {
        let span = match unit {
            "h" => Some(number.hours()),
            "d" => Some(number.days()),
            "w" => Some(number.weeks()),
            "m" => Some(number.months()),
            "y" => Some(number.years()),
            _ => None,
        };
        if let Some(span) = span {
            let then = Zoned::new(now, TimeZone::UTC).checked_sub(span).ok()?;
            return Some(then.timestamp().as_millisecond());
        }
    }
    let parts: Vec<&str> = text.split('-').collect();
    let plain =
        |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts.as_slice() {
        [year] if plain(year, 4) => start(year.parse().ok()?, 1, 1),
        [year, month] if plain(year, 4) && plain(month, 2) => {
            start(year.parse().ok()?, month.parse().ok()?, 1)
        }
        [year, month, day] if plain(year, 4) && plain(month, 2) && plain(day, 2) => {
            start(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
        }
        _ => text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        "2024-06-15T12:00:00Z".parse().unwrap()
    }

    fn read(text: &str) -> String {
        let query = Query::parse(text, now()).unwrap();
        query.terms.iter().map(|term| format!("{term:?}\n")).collect()
    }

    fn problems(text: &str) -> Vec<(String, Option<String>)> {
        let problems = Query::parse(text, now()).unwrap_err();
        problems.into_iter().map(|problem| (problem.problem, problem.suggestion)).collect()
    }

    #[test]
    fn every_part_of_the_language() {
        insta::assert_snapshot!(read(
            r#"sourdough -rye "wild yeast" -"no knead" /cr(u|o)mb/ from:@Alice.Test to:did:plc:abc has:photo -has:video
            before:2024 after:2023-05-17 likes:>9 -likes:3..5"#
        ));
    }

    #[test]
    fn what_only_looks_like_the_language_is_words() {
        insta::assert_snapshot!(read(
            r#"https://example.com/a 12:30 note: /r/rust and/or - -- 6" did:plc:abc tokio::spawn "unclosed phrase"#
        ));
    }

    #[test]
    fn problems_come_together_with_what_was_meant() {
        insta::assert_debug_snapshot!(problems(
            "form:alice bfore:2024 colour:red has:imge before:tuesday likes:many /(/ /a{500}{500}{500}/ to:a!b"
        ));
    }

    #[test]
    fn times_are_read() {
        let at = |text: &str| {
            moment(text, now()).map(|millis| Timestamp::from_millisecond(millis).unwrap().to_string())
        };
        for (text, expected) in [
            ("2023", Some("2023-01-01T00:00:00Z")),
            ("2023-05", Some("2023-05-01T00:00:00Z")),
            ("2023-05-17", Some("2023-05-17T00:00:00Z")),
            ("2023-05-17T10:00:00+02:00", Some("2023-05-17T08:00:00Z")),
            ("7d", Some("2024-06-08T12:00:00Z")),
            ("1m", Some("2024-05-15T12:00:00Z")),
            ("yesterday", Some("2024-06-14T00:00:00Z")),
            ("2023-02-30", None),
            ("99999999999y", None),
            ("17", None),
        ] {
            assert_eq!(at(text).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,60}") {
            let _ = Query::parse(&text, now());
        }

        #[test]
        fn a_query_written_down_is_the_same_query(
            text in r#"([-"/:a-d ]|from:|to:|has:image|before:2024|after:3d|likes:[<>]?[0-9]|\\|é|日){0,24}"#
        ) {
            if let Ok(query) = Query::parse(&text, now()) {
                let again = Query::parse(&query.to_string(), now());
                prop_assert_eq!(again, Ok(query));
            }
        }
    }
}
