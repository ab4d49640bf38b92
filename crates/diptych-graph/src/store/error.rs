//! What can go wrong in the store, in words that may be shown to anybody.
//!
//! Messages name what the caller named (entities, relations, positions in a batch) and never a path, a statement
//! or a value that was bound to one. What the log needs beyond that is in [`StoreError::detail`].

use std::fmt;

use rusqlite::ErrorCode;

use super::model::RelationKey;

/// One thing in the input that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where it is in the input, such as `entities[2].name`.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// An entity that was named and does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingEntity {
    /// The name as given.
    pub name: String,
    /// Existing names close to it, nearest first.
    pub nearest: Vec<String>,
}

/// Why the file behind the store could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file or its folder may not be written.
    ReadOnly,
    /// The file is damaged.
    Corrupt,
    /// No room is left on the disk.
    DiskFull,
    /// The file is something else than a store.
    NotAStore,
    /// The file was written by a newer version of the program.
    NewerVersion {
        /// The version of its layout.
        found: i64,
        /// The newest layout that this program knows.
        supported: i64,
    },
    /// Other processes kept the file locked for too long.
    Busy,
    /// The file cannot be opened or made.
    CannotOpen,
    /// The target of a backup exists already.
    TargetExists,
    /// Reading or writing failed.
    Input,
    /// Anything else: a mistake of ours.
    Internal,
}

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The input breaks the rules for names, types, observations or numbers; all violations at once.
    #[error("Invalid input: {}", join_violations(.0))]
    Invalid(Vec<Violation>),
    /// Entities were named that do not exist.
    #[error("{}", missing_message(.0))]
    MissingEntities(Vec<MissingEntity>),
    /// No such relation exists between these ends.
    #[error("No relation {} exists.", describe(.0))]
    MissingRelation(RelationKey),
    /// The cursor was not made by this operation with these arguments.
    #[error("This cursor does not belong to this query.")]
    BadCursor,
    /// The file behind the store could not be used.
    #[error("{}", fault_message(.fault))]
    File {
        /// What is the matter with it.
        fault: Fault,
        /// For the log alone: may name paths and statements.
        detail: Detail,
    },
}

/// Text for the log. It prints nothing of itself where an error is shown.
#[derive(Clone, Default)]
pub struct Detail(String);

impl fmt::Debug for Detail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

impl StoreError {
    pub(crate) fn file(fault: Fault, detail: impl fmt::Display) -> Self {
        Self::File { fault, detail: Detail(detail.to_string()) }
    }

    pub(crate) fn invalid(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid(vec![Violation { path: path.into(), problem: problem.into() }])
    }

    /// Adds to the text that goes to the log.
    pub(crate) fn with_detail(self, more: impl fmt::Display) -> Self {
        match self {
            Self::File { fault, detail } => Self::file(fault, format_args!("{} ({more})", detail.0)),
            other => other,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(_) => None,
            Self::MissingEntities(_) => Some("Create the entity first, or use one of the names that exist."),
            Self::MissingRelation(_) => Some("Open one of its ends to see which relations it has."),
            Self::BadCursor => Some("Leave the cursor out to start from the beginning."),
            Self::File { fault, .. } => Some(match fault {
                Fault::ReadOnly => "Make the file and its folder writable, or choose another file.",
                Fault::Corrupt => {
                    "Restore the last backup, or export what can still be read into a new store."
                }
                Fault::DiskFull => "Free some space and try again; nothing that was acknowledged is lost.",
                Fault::NotAStore => "Choose another file for the store.",
                Fault::NewerVersion { .. } => "Update this program, or choose another file for the store.",
                Fault::Busy => "Try again in a moment.",
                Fault::CannotOpen => "Check that the folder exists and may be written.",
                Fault::TargetExists => "Choose a name that is not taken.",
                Fault::Input => "Check the disk and its connection, then try again.",
                Fault::Internal => "Try again; if it happens again, the log has the details.",
            }),
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::File { fault: Fault::Busy | Fault::DiskFull | Fault::Input, .. })
    }

    /// What the log should say beyond the message: paths, statements, the engine's own words. Never for users.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::File { detail, .. } => Some(&detail.0),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let fault = match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Fault::ReadOnly,
            Some(ErrorCode::DatabaseCorrupt) => Fault::Corrupt,
            Some(ErrorCode::NotADatabase) => Fault::NotAStore,
            Some(ErrorCode::DiskFull) => Fault::DiskFull,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy,
            Some(ErrorCode::CannotOpen) => Fault::CannotOpen,
            Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => Fault::Input,
            _ => Fault::Internal,
        };
        Self::file(fault, error)
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let fault = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Fault::ReadOnly,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Fault::DiskFull,
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => Fault::CannotOpen,
            ErrorKind::AlreadyExists => Fault::TargetExists,
            _ => Fault::Input,
        };
        Self::file(fault, error)
    }
}

fn fault_message(fault: &Fault) -> String {
    match fault {
        Fault::ReadOnly => "The store cannot be written: its file or folder is read-only.".into(),
        Fault::Corrupt => "The store's file is damaged.".into(),
        Fault::DiskFull => "The disk is full, so nothing was stored.".into(),
        Fault::NotAStore => "The file is not a graph store.".into(),
        Fault::NewerVersion { found, supported } => format!(
            "The store was written by a newer version of this program (layout {found}; this one knows up to {supported})."
        ),
        Fault::Busy => "The store is busy: another process has been writing for too long.".into(),
        Fault::CannotOpen => "The store's file cannot be opened.".into(),
        Fault::TargetExists => "A file of that name exists already, and nothing was written over it.".into(),
        Fault::Input => "Reading or writing the store's file failed.".into(),
        Fault::Internal => "The store could not do this.".into(),
    }
}

fn join_violations(violations: &[Violation]) -> String {
    violations
        .iter()
        .map(|violation| format!("{} {}", violation.path, violation.problem))
        .collect::<Vec<_>>()
        .join("; ")
}

fn missing_message(missing: &[MissingEntity]) -> String {
    missing
        .iter()
        .map(|MissingEntity { name, nearest }| {
            let mut sentence = format!("Entity with name {name:?} not found.");
            if !nearest.is_empty() {
                let names = nearest.iter().map(|near| format!("{near:?}")).collect::<Vec<_>>().join(", ");
                sentence.push_str(&format!(" Nearest names: {names}."));
            }
            sentence
        })
        .collect::<Vec<_>>()
        .join(" ")
}

fn describe(key: &RelationKey) -> String {
    format!("{:?} from {:?} to {:?}", key.relation_type, key.from, key.to)
}
