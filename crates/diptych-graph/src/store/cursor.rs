//! Where a list goes on: opaque to callers, bound to the question that it belongs to.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::StoreError;

/// Where to go on with a list. Callers keep it as text and give it back unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Of the question: a cursor is refused by any other.
    question: u32,
    place: Place,
}

/// A place between two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// After an entity of a graph.
    Entity { project: i64, position: i64 },
    /// After a relation of a graph.
    Relation { project: i64, position: i64 },
    /// Within one tier of the results of a search: so many done, or all down to this id.
    Tier { tier: i64, done: i64 },
    /// After a version.
    Version { version: i64 },
}

impl Cursor {
    pub(crate) fn new(question: u64, place: Place) -> Self {
        Self { question: shorten(question), place }
    }

    /// The place, if the cursor belongs to this question.
    pub(crate) fn place(&self, question: u64) -> Result<Place, StoreError> {
        if self.question == shorten(question) { Ok(self.place) } else { Err(StoreError::BadCursor) }
    }
}

fn shorten(question: u64) -> u32 {
    (question ^ (question >> 32)) as u32
}

impl fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, one, two) = match self.place {
            Place::Entity { project, position } => ('e', project, position),
            Place::Relation { project, position } => ('r', project, position),
            Place::Tier { tier, done } => ('t', tier, done),
            Place::Version { version } => ('v', version, 0),
        };
        formatter.write_str(&URL_SAFE_NO_PAD.encode(format!("{:x}.{kind}.{one}.{two}", self.question)))
    }
}

impl FromStr for Cursor {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        parse(text).ok_or(StoreError::BadCursor)
    }
}

fn parse(text: &str) -> Option<Cursor> {
    let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let [question, kind, one, two] = plain.split('.').collect::<Vec<_>>().try_into().ok()?;
    let question = u32::from_str_radix(question, 16).ok()?;
    let (one, two): (i64, i64) = (one.parse().ok()?, two.parse().ok()?);
    let place = match kind {
        "e" => Place::Entity { project: one, position: two },
        "r" => Place::Relation { project: one, position: two },
        "t" if one >= 0 && two >= 0 => Place::Tier { tier: one, done: two },
        "v" => Place::Version { version: one },
        _ => return None,
    };
    Some(Cursor { question, place })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_as_it_was(question: u64, project in 0..i64::MAX, position in 0..i64::MAX) {
            for place in [
                Place::Entity { project, position },
                Place::Relation { project, position },
                Place::Tier { tier: project, done: position },
                Place::Version { version: position },
            ] {
                let cursor: Cursor = Cursor::new(question, place).to_string().parse().unwrap();
                prop_assert_eq!(cursor.place(question).unwrap(), place);
                prop_assert!(cursor.place(question ^ 1).is_err());
            }
        }

        #[test]
        fn no_text_makes_the_parser_fail_otherwise_than_with_an_error(text in ".*") {
            let _ = text.parse::<Cursor>();
        }
    }
}
