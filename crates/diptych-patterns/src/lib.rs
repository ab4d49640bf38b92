//! The toolset `patterns`: a catalogue of code patterns that answers questions.
//!
//! A [`Library`] hands out the [`Catalogue`] as it is now: the embedded one, or folders of Markdown files
//! that are watched. A catalogue finds patterns by question ([`Catalogue::find`]) and by id
//! ([`Catalogue::get`]). [`toolset`] puts a library to use: two tools, two resources and two prompts.
//!
//! ```
//! use diptych_patterns::Library;
//!
//! let catalogue = Library::embedded().current();
//! let found = catalogue.find("run effects in parallel", None, None);
//! assert!(found.matches.iter().any(|found| found.pattern.id == "effect-all"));
//! ```

mod catalogue;
mod documents;
mod embedded;
mod folder;
mod hash;
mod library;
mod lint;
mod manifest;
mod meaning;
mod parse;
mod pattern;
mod problem;
mod template;
mod text;
mod tools;
mod watch;

pub use catalogue::{Catalogue, Count, Found, Match, Provenance};
pub use folder::Limits;
pub use library::{Library, LibraryError, Options, Source, Watch};
pub use lint::lint;
pub use parse::{Parsed, parse};
pub use pattern::{Difficulty, Example, Pattern, SUMMARY_LIMIT, Section, SectionKind, UnknownDifficulty};
pub use problem::{Problem, Severity};
pub use template::new_pattern;
pub use tools::{announce, toolset};
