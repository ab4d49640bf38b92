//! What is wrong with a file of a catalogue, where, and what to do about it.

use std::fmt;

/// Whether the file can be served all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file is not served, or only its last good version is.
    Error,
    /// The file is served; something in it could be better.
    Warning,
}

impl Severity {
    /// The word shown to people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Something wrong with a file of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Problem {
    /// The file, relative to the catalogue's folder; `.` is the folder itself.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// Whether the file can be served all the same.
    pub severity: Severity,
    /// What is wrong, as a sentence.
    pub what: String,
    /// What to do about it, as a sentence.
    pub fix: String,
}

impl Problem {
    /// A problem that keeps the file from being served.
    pub fn error(file: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { file: file.into(), line, severity: Severity::Error, what: what.into(), fix: fix.into() }
    }

    /// A problem that does not.
    pub fn warning(file: &str, line: usize, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(file, line, what, fix) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, severity, what, fix } = self;
        write!(formatter, "{file}:{line}: {}: {what} {fix}", severity.as_str())
    }
}
