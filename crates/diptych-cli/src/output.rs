//! The two streams: results on standard output, everything else on standard error.
//!
//! No other module writes to standard output: while serving it belongs to the protocol.

use std::io::{IsTerminal as _, Write as _};

use console::Style;

use crate::exit::{Exit, Failure, Outcome, plain};

/// Writes a result and ends the line.
pub(crate) fn line(text: &str) -> Outcome<()> {
    bytes(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
}

/// Writes a result as it is.
pub(crate) fn bytes(bytes: &[u8]) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        // Whoever read our output has seen enough.
        std::io::ErrorKind::BrokenPipe => Failure::quiet(Exit::Done),
        _ => Failure::failed(format!("The result could not be written: {}.", plain(&error))),
    })
}

/// Whether results go to a person's terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Whether a person can be asked: we can show a question and read the answer.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Says something to the person, beside the result.
pub(crate) fn note(text: &str) {
    // When standard error is closed there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Says something without ending the line.
pub(crate) fn ask(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// An answer to a question, and the words that mean it.
pub(crate) struct Choice<'a, T> {
    pub(crate) words: &'a [&'a str],
    pub(crate) means: T,
}

/// Asks until an answer is one of the choices. `None`: the person ended the input.
pub(crate) fn choose<T: Copy>(question: &str, choices: &[Choice<'_, T>], otherwise: &str) -> Option<T> {
    loop {
        ask(question);
        let mut typed = String::new();
        match std::io::stdin().read_line(&mut typed) {
            Ok(1..) => {}
            _ => {
                note("");
                return None;
            }
        }
        let typed = typed.trim().to_lowercase();
        match choices.iter().find(|choice| choice.words.contains(&typed.as_str())) {
            Some(choice) => return Some(choice.means),
            None => note(otherwise),
        }
    }
}

/// Says why the command failed.
pub(crate) fn complain(failure: &Failure) {
    if failure.message.is_empty() {
        return;
    }
    let red = Style::new().for_stderr().red().bold();
    note(&format!("{} {}", red.apply_to("error:"), failure.message));
    if let Some(hint) = &failure.hint {
        note(&format!("{} {hint}", Style::new().for_stderr().cyan().bold().apply_to("hint:")));
    }
}

/// Rows in aligned columns; at a terminal, no wider than it.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(console::measure_text_width(cell));
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| console::pad_str(cell, width, console::Alignment::Left, None));
        let line = cells.collect::<Vec<_>>().join("  ");
        let line = line.trim_end();
        match is_terminal().then(|| usize::from(console::Term::stdout().size().1)) {
            Some(width) => text.push_str(&console::truncate_str(line, width.max(40), "…")),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Text from elsewhere without what would steer the terminal that shows it.
pub(crate) fn tame(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        // Marks that turn the reading direction make text look like something else.
        .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_steer_the_terminal() {
        assert_eq!(tame("a\x1b[31mred\x07\r\n\tb\u{9b}2J\u{202e}c"), "a[31mred\n\tb2Jc");
    }
}
