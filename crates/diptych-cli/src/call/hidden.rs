//! Reading a line without showing it.
//!
//! Written by hand because the terminal must show what is typed again when Ctrl-C ends the prompt, which the
//! crates for this leave to the shell.

#[cfg(unix)]
pub(crate) use unix::{read_line, restore};

#[cfg(not(unix))]
pub(crate) fn read_line() -> std::io::Result<String> {
    console::Term::stderr().read_secure_line()
}

#[cfg(not(unix))]
pub(crate) fn restore() {}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::{Mutex, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// How the terminal was before it stopped showing what is typed.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Reads a line from the terminal at standard input without showing it.
    pub(crate) fn read_line() -> io::Result<String> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // The end of the line is still shown, so that what follows starts on its own.
        silent.local_modes.insert(LocalModes::ECHONL);
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        restore();
        read.map(|_| line)
    }

    /// Lets the terminal show again what is typed.
    pub(crate) fn restore() {
        if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // When the terminal has gone there is nothing to restore.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
        }
    }
}
