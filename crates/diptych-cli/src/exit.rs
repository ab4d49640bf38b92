//! How a command ends: the exit codes, and what a person reads when it fails.

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    NeedsInput,
    Connection,
    Interrupted,
}

impl Exit {
    /// Every way to end, for the documentation.
    pub(crate) const ALL: [Exit; 6] =
        [Exit::Done, Exit::Failed, Exit::Usage, Exit::NeedsInput, Exit::Connection, Exit::Interrupted];

    /// The code that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::NeedsInput => 3,
            Exit::Connection => 4,
            // What shells report for a command that Ctrl-C ended.
            Exit::Interrupted => 130,
        }
    }

    /// What the code means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "The command did what it was asked; a tool answered.",
            Exit::Failed => "The tool failed, or a check found problems.",
            Exit::Usage => {
                "The command was not understood: a flag, an argument, a tool's name, a setting or a file is wrong."
            }
            Exit::NeedsInput => {
                "The tool needs input that was not given, and there was no terminal to ask at, or the ask was refused."
            }
            Exit::Connection => {
                "A server could not be reached or started, or an address could not be listened on."
            }
            Exit::Interrupted => "Interrupted with Ctrl-C.",
        }
    }
}

/// What a command ends with.
pub(crate) type Outcome<T = Exit> = Result<T, Failure>;

/// Why a command failed: a sentence, and a hint where there is one.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), hint: None }
    }

    /// The command was not understood.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }

    /// What was tried did not work.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Failure::new(Exit::Failed, message)
    }

    /// Ends without a word: whoever listened has gone, or has been told already.
    pub(crate) fn quiet(exit: Exit) -> Self {
        Failure::new(exit, "")
    }

    /// What to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The hint, if there is one.
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }
}

/// A system's error without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
