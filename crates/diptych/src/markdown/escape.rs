//! What is escaped where. Everything here works on one piece of text and leaves it readable: only what Markdown
//! would read as more than text is touched.

use std::borrow::Cow;

/// Where a piece of inline text stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inline {
    /// In a cell of a table.
    pub(super) cell: bool,
    /// In a code span that a literal has opened, where nothing can be escaped.
    pub(super) open: bool,
    /// Between `*` marks.
    pub(super) strong: bool,
    /// In the brackets of a link or an image.
    pub(super) label: bool,
}

/// Line breaks (all that Unicode and common line splitters know) and control characters.
pub(super) fn is_break_or_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether any byte satisfies `test`, looked at in blocks so that the compiler can use vector instructions.
fn any_byte(text: &str, test: impl Fn(u8) -> bool) -> bool {
    let (blocks, rest) = text.as_bytes().as_chunks::<32>();
    let look = |bytes: &[u8]| bytes.iter().fold(false, |found, byte| found | test(*byte));
    blocks.iter().any(|block| look(block)) || look(rest)
}

/// The first byte of every character that [`is_break_or_control`] knows, and of some harmless ones.
fn may_be_control(byte: u8) -> bool {
    byte < b' ' || byte == 0x7f || byte == 0xc2 || byte == 0xe2
}

/// Whether [`push_inline`] has to look at the text at all.
pub(super) fn needs_escape(text: &str, inline: Inline) -> bool {
    let (cell, strong, label) = (inline.cell, inline.strong, inline.label);
    any_byte(text, |byte| {
        may_be_control(byte)
            | (byte == b'<')
            | (byte == b']')
            | (byte == b'`')
            | (byte == b'\\')
            | (cell & (byte == b'|'))
            | (strong & (byte == b'*'))
            | (label & (byte == b'['))
    })
}

/// Appends text so that it is read as text.
pub(super) fn push_inline(out: &mut String, text: &str, inline: Inline) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    let mut at = 0;
    // Replaces the bytes `at..end` by `with`.
    macro_rules! replace {
        ($end:expr, $with:expr) => {{
            out.push_str(&text[copied..at]);
            out.push_str($with);
            at = $end;
            copied = at;
        }};
    }
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied();
        match bytes[at] {
            b'\\' => match next {
                Some(_) if inline.open => at += 1,
                // The text escapes for itself; the pair stays together.
                Some(byte) if byte.is_ascii_punctuation() => at += 2,
                Some(_) => at += 1,
                None => replace!(at + 1, "\\\\"),
            },
            b'<' if opens_html(next) => replace!(at + 1, "&lt;"),
            b'`' if inline.open => replace!(at + 1, "'"),
            b'`' if inline.label => replace!(at + 1, "\\`"),
            b'`' => {
                let run = run_length(&bytes[at..], b'`');
                if let Some(end) = code_end(bytes, at + run, run) {
                    out.push_str(&text[copied..at + run]);
                    push_code(out, &text[at + run..end - run], inline.cell);
                    copied = end - run;
                    at = end;
                } else {
                    for _ in 0..run {
                        replace!(at + 1, "\\`");
                    }
                }
            }
            b']' if inline.label => replace!(at + 1, "\\]"),
            b'[' if inline.label => replace!(at + 1, "\\["),
            b']' if next == Some(b'(') => replace!(at + 2, "]\\("),
            b'|' if inline.open && has_open_escape(&text[..at]) => at += 1,
            b'|' if inline.cell => replace!(at + 1, "\\|"),
            b'*' if inline.strong => replace!(at + 1, "\\*"),
            byte if may_be_control(byte) => {
                let rest = &text[at..];
                let first = rest.chars().next().unwrap_or(' ');
                if is_break_or_control(first) {
                    let after = rest.trim_start_matches(|c| c == ' ' || is_break_or_control(c));
                    out.push_str(&text[copied..at]);
                    if !out.ends_with(' ') {
                        out.push(' ');
                    }
                    at += rest.len() - after.len();
                    copied = at;
                } else {
                    at += first.len_utf8();
                }
            }
            _ => at += 1,
        }
    }
    out.push_str(&text[copied..]);
}

/// Appends inline Markdown of the author. Only HTML outside code, line breaks and, in a cell, pipes are touched.
pub(super) fn push_literal(out: &mut String, markdown: &str, Inline { cell, open, .. }: Inline) {
    if !markdown.bytes().any(|byte| byte < b' ' || byte == b'<' || (cell && byte == b'|')) {
        out.push_str(markdown);
        return;
    }
    let bytes = markdown.as_bytes();
    // Where the code span that we are in ends.
    let mut code = 0;
    let mut tick = 0;
    for (at, c) in markdown.char_indices() {
        let next = bytes.get(at + 1).copied();
        match c {
            '`' if !open && at >= code.max(tick) && !has_open_escape(&markdown[..at]) => {
                let run = run_length(&bytes[at..], b'`');
                tick = at + run;
                code = code_end(bytes, tick, run).unwrap_or(code);
                out.push('`');
            }
            '<' if at >= code && opens_html(next) => out.push_str("&lt;"),
            '|' if cell && !has_open_escape(out) => out.push_str("\\|"),
            '\0'..='\x1f' => out.push(' '),
            c => out.push(c),
        }
    }
}

/// Whether a `<` with this behind it can begin a tag or comment. At the end of a piece anything may follow.
fn opens_html(next: Option<u8>) -> bool {
    next.is_none_or(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?'))
}

/// Appends the inside of a code span, where only line breaks and, in a cell, pipes mean anything.
pub(super) fn push_code(out: &mut String, code: &str, cell: bool) {
    if !any_byte(code, |byte| may_be_control(byte) | (cell & (byte == b'|'))) {
        out.push_str(code);
        return;
    }
    for c in code.chars() {
        match c {
            // A pipe that an odd number of backslashes precedes is escaped for every reader of tables.
            '|' if cell && !has_open_escape(out) => out.push_str("\\|"),
            c if is_break_or_control(c) => out.push(' '),
            c => out.push(c),
        }
    }
}

/// Appends text of several lines as it is, except for markers and control characters (a terminal would obey them).
pub(super) fn push_verbatim(out: &mut String, text: &str) {
    let text = break_markers(text);
    if !any_byte(&text, |byte| {
        (byte < b' ') & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f) | (byte == 0xc2)
    }) {
        out.push_str(&text);
        return;
    }
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// The text with every `<!--` that begins a marker made visible as `<!- -`. At the end of the text too, since what
/// follows there is not known.
pub(super) fn break_markers(text: &str) -> Cow<'_, str> {
    if !any_byte(text, |byte| byte == b'<') {
        return Cow::Borrowed(text);
    }
    let mut broken = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find("<!--") {
        let at = from + found;
        from = at + 4;
        let inside = text[from..].trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
        let is_marker = inside.as_bytes().get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case(b"kind:"));
        if is_marker || inside.is_empty() {
            broken.push_str(&text[copied..at]);
            broken.push_str("<!- -");
            copied = from;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    broken.push_str(&text[copied..]);
    Cow::Owned(broken)
}

/// The first line of the text and, if a line break ended it, what comes after.
pub(super) fn split_line(text: &str) -> (&str, Option<&str>) {
    let bytes = text.as_bytes();
    let mut from = 0;
    // By bytes, since most lines are plain: only these can begin a line break.
    while let Some(found) =
        bytes[from..].iter().position(|byte| matches!(byte, b'\n'..=b'\r' | 0x1c..=0x1e | 0xc2 | 0xe2))
    {
        let at = from + found;
        let width = match bytes[at..] {
            [b'\r', b'\n', ..] | [0xc2, 0x85, ..] => 2,
            [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
            [0xc2 | 0xe2, ..] => 0,
            _ => 1,
        };
        if width > 0 {
            return (&text[..at], Some(&text[at + width..]));
        }
        from = at + 1;
    }
    (text, None)
}

/// Where a backslash has to go so that a line of text is not read as a block of another kind.
pub(super) fn block_opener(line: &str) -> Option<usize> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let line = &line.as_bytes()[indent..];
    let first = *line.first()?;
    let run = run_length(line, first);
    let ends = |at: usize| line.get(at).is_none_or(|byte| *byte == b' ');
    let only = |allowed: &[u8]| line.iter().all(|byte| allowed.contains(byte));
    let is_rule = || only(&[first, b' ']) && line.iter().filter(|byte| **byte == first).count() >= 3;
    let at = match first {
        b'>' | b'|' => 0,
        b'#' if run <= 6 && ends(run) => 0,
        b'+' if ends(1) => 0,
        b'*' if ends(1) || is_rule() => 0,
        b'_' if is_rule() => 0,
        // Also what would underline a paragraph or be the second row of a table.
        b'-' if ends(1) || only(b"-:| ") => 0,
        b':' if only(b"-:| ") && line.contains(&b'-') => 0,
        b'=' if only(b"= ") => 0,
        b'~' if run >= 3 => 0,
        b'`' if run >= 3 && !line[run..].contains(&b'`') => 0,
        // A link reference definition would vanish.
        b'[' if line.windows(2).any(|pair| pair == b"]:") => 0,
        b'0'..=b'9' => {
            let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match line.get(digits) {
                Some(b'.' | b')') if digits <= 9 && ends(digits + 1) => digits,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(indent + at)
}

/// Whether a URL may be the target of a link. Everything before a colon that stands before the path is a scheme.
pub(super) fn is_allowed_url(url: &str) -> bool {
    match url.find([':', '/', '?', '#']) {
        _ if url.is_empty() => false,
        Some(at) if url[at..].starts_with(':') => {
            ["http", "https", "at", "mailto"].iter().any(|scheme| url[..at].eq_ignore_ascii_case(scheme))
        }
        _ => true,
    }
}

/// Appends the target of a link, with everything percent-encoded that could end it.
pub(super) fn push_url(out: &mut String, url: &str) {
    for (at, c) in url.char_indices() {
        match c {
            '(' | ')' | '<' | '>' | '\\' | '`' | '"' | '|' | '[' | ']' => push_percent(out, c),
            c if c.is_whitespace() || is_break_or_control(c) => push_percent(out, c),
            '&' if is_entity(&url[at + 1..]) => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
}

fn push_percent(out: &mut String, c: char) {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        out.push('%');
        for digit in [byte >> 4, byte & 15] {
            out.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
        }
    }
}

/// Whether what follows an ampersand makes it an entity, which a target would decode: `&colon;` is a colon.
fn is_entity(after: &str) -> bool {
    let name = after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#').count();
    name > 0 && after.as_bytes().get(name) == Some(&b';')
}

/// The run of backticks that opened the code span in which a literal ends, `open` being the one in which it
/// begins; 0 is none. Only a run of the same length closes it.
pub(super) fn open_code(literal: &str, open: usize) -> usize {
    let bytes = literal.as_bytes();
    let mut at = match open {
        0 => 0,
        run => match code_end(bytes, 0, run) {
            Some(end) => end,
            None => return open,
        },
    };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let run = run_length(&bytes[at..], b'`');
                match code_end(bytes, at + run, run) {
                    Some(end) => at = end,
                    None => return run,
                }
            }
            _ => at += 1,
        }
    }
    0
}

/// The longest run of `byte` in the text.
pub(super) fn longest_run(text: &str, byte: u8) -> usize {
    if !any_byte(text, |found| found == byte) {
        return 0;
    }
    let (mut longest, mut rest) = (0, text.as_bytes());
    while let Some(start) = rest.iter().position(|found| *found == byte) {
        let run = run_length(&rest[start..], byte);
        longest = longest.max(run);
        rest = &rest[start + run..];
    }
    longest
}

/// Whether the text ends with a backslash that would escape what follows.
pub(super) fn has_open_escape(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

pub(super) fn run_length(bytes: &[u8], byte: u8) -> usize {
    bytes.iter().take_while(|found| **found == byte).count()
}

/// The end of the code span whose opening run of `run` backticks ends at `from`.
fn code_end(bytes: &[u8], from: usize, run: usize) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        if bytes[at] == b'`' {
            let found = run_length(&bytes[at..], b'`');
            at += found;
            if found == run {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}
