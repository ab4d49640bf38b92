//! `catalogue.yaml`: what a catalogue says of itself. It is optional, and so is each of its fields.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Deserialize;

use crate::parse::yaml;
use crate::problem::Problem;
use crate::text::{one_line, shorten};

/// The names that the file may have, at the top of the catalogue's folder.
pub(crate) const FILES: [&str; 2] = ["catalogue.yaml", "catalogue.yml"];

/// What a catalogue says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Its name, as in "Effect Pattern Search Results".
    pub(crate) title: Option<String>,
    pub(crate) version: Option<String>,
    /// The day of this version.
    pub(crate) date: Option<Timestamp>,
    /// The order in which categories are offered; those not named follow by name.
    pub(crate) categories: Vec<String>,
    /// Queries to begin with, for those who have none.
    pub(crate) queries: Vec<String>,
    /// Words that mean the same: each finds the others.
    pub(crate) synonyms: Vec<Vec<String>>,
    /// Words that find others, but are not found by them.
    pub(crate) rewrites: BTreeMap<String, Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Raw {
    title: Option<String>,
    version: Option<String>,
    date: Option<String>,
    categories: Option<Vec<String>>,
    queries: Option<Vec<String>>,
    synonyms: Option<Vec<Vec<String>>>,
    rewrites: Option<BTreeMap<String, Vec<String>>>,
}

impl Manifest {
    /// Reads `catalogue.yaml`.
    pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<Self, Problem> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Problem::error(file, 1, "The file is not UTF-8 text.", "Save it as UTF-8."))?;
        let raw: Raw = yaml::read(text, file, 0)?;
        let date = match raw.date.as_deref().map(str::trim) {
            Some(date) => Some(read_date(date).ok_or_else(|| {
                let line = 1 + text.lines().take_while(|line| !line.starts_with("date:")).count();
                Problem::error(file, line, "The date cannot be read.", "Write it as 2026-01-31.")
            })?),
            None => None,
        };
        let name = |text: String| Some(shorten(&one_line(&text), 100)).filter(|text| !text.is_empty());
        Ok(Self {
            title: raw.title.and_then(name),
            version: raw.version.and_then(name),
            date,
            categories: raw.categories.unwrap_or_default(),
            queries: raw.queries.unwrap_or_default().into_iter().filter_map(name).collect(),
            synonyms: raw.synonyms.unwrap_or_default(),
            rewrites: raw.rewrites.unwrap_or_default(),
        })
    }
}

fn read_date(text: &str) -> Option<Timestamp> {
    if let Ok(timestamp) = text.parse() {
        return Some(timestamp);
    }
    let date: Date = text.parse().ok()?;
    format!("{date}T00:00:00Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_optional() {
        assert_eq!(Manifest::parse("catalogue.yaml", b""), Ok(Manifest::default()));
    }

    #[test]
    fn a_version_stays_the_text_it_is() {
        let manifest = Manifest::parse("catalogue.yaml", b"version: 1.10\ndate: 2026-01-31\n").unwrap();
        assert_eq!(manifest.version.as_deref(), Some("1.10"));
        assert_eq!(manifest.date.unwrap().to_string(), "2026-01-31T00:00:00Z");
    }

    #[test]
    fn a_bad_date_is_reported_with_its_line() {
        let problem = Manifest::parse("catalogue.yaml", b"title: Mine\ndate: soon\n").unwrap_err();
        insta::assert_snapshot!(problem, @"catalogue.yaml:2: error: The date cannot be read. Write it as 2026-01-31.");
    }
}
