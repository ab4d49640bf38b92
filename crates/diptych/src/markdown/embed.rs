//! Foreign Markdown inside a panel: kept as it is, but contained. Whatever it leaves open must not swallow what is
//! drawn after it.
//!
//! A fence or comment that begins in the first column is certainly one of the outermost level, and is closed or
//! unmade. One that is indented may belong to a list item; it is kept only if it means the same either way, that is
//! if its end is indented like its beginning and nothing between is indented less.

use super::escape;

/// The text without blank lines at its start and white space at its end. Indentation of the first line stays.
pub(super) fn trim_blank_lines(markdown: &str) -> &str {
    let markdown = markdown.trim_end();
    let mut start = 0;
    for line in markdown.split_inclusive(['\n', '\r']) {
        if !line.trim().is_empty() {
            break;
        }
        start += line.len();
    }
    &markdown[start..]
}

pub(super) fn draw(out: &mut String, markdown: &str, deeper: u8) {
    let mut clean = String::with_capacity(markdown.len());
    escape::push_verbatim(&mut clean, markdown);
    let mut rest = clean.as_str();
    while !rest.is_empty() {
        let (line, after) = next_line(rest);
        let (indent, content) = indentation(line);
        let mut taken = line.len();
        if indent <= 3 {
            if let Some(fence) = Fence::opening(content, indent) {
                match fence.length(after) {
                    Some(length) => taken = rest.len() - after.len() + length,
                    None if fence.indent == 0 => {
                        out.push_str(rest);
                        out.push('\n');
                        out.extend(std::iter::repeat_n(char::from(fence.mark), fence.run));
                        return;
                    }
                    None => {
                        let before = line.len() - content.len() + fence.at;
                        out.push_str(&line[..before]);
                        out.push('\\');
                        out.push_str(&line[before..]);
                        taken = 0;
                    }
                }
            } else if let Some(end) = html_end(content) {
                // An indented one is kept only on a single line.
                let within = if indent == 0 { rest } else { line };
                match find_ignoring_case(within, end) {
                    Some(found) => taken = next_line_end(rest, found + end.len()),
                    None => {
                        out.push_str(&line[..line.len() - content.len()]);
                        out.push_str("&lt;");
                        out.push_str(&content[1..]);
                        taken = 0;
                    }
                }
            } else if deeper > 0 {
                let level = escape::run_length(content.as_bytes(), b'#');
                let is_heading = (1..=6).contains(&level)
                    && content.as_bytes().get(level).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
                if is_heading {
                    let more = usize::from(deeper).min(6 - level);
                    out.extend(std::iter::repeat_n('#', more));
                    out.push_str(content);
                    taken = 0;
                }
            }
        }
        out.push_str(&rest[..taken]);
        // What was rewritten counts as the whole line.
        rest = &rest[taken.max(line.len())..];
        if let Some(next) = rest.strip_prefix('\n') {
            out.push('\n');
            rest = next;
        }
    }
}

struct Fence {
    mark: u8,
    run: usize,
    /// The column in which the fence begins.
    indent: usize,
    /// Where it begins in the content of its line: behind the mark of a list item, if there is one.
    at: usize,
}

impl Fence {
    fn opening(content: &str, indent: usize) -> Option<Self> {
        let at = list_mark(content);
        let fence = &content.as_bytes()[at..];
        let mark = *fence.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let run = escape::run_length(fence, mark);
        let opens = run >= 3 && !(mark == b'`' && fence[run..].contains(&b'`'));
        opens.then_some(Self { mark, run, indent: indent + at, at })
    }

    /// How far into the lines after the opening one the fence certainly reaches, its closing line included.
    fn length(&self, lines: &str) -> Option<usize> {
        let mut rest = lines;
        while !rest.is_empty() {
            let (line, after) = next_line(rest);
            let (indent, content) = indentation(line);
            let run = escape::run_length(content.as_bytes(), self.mark);
            if indent <= 3.max(self.indent) && run >= self.run && content[run..].trim().is_empty() {
                // One that is indented otherwise than it was opened may not be seen as its end by every reader.
                return (self.indent == 0 || indent == self.indent)
                    .then(|| lines.len() - rest.len() + line.len());
            }
            if !content.is_empty() && indent < self.indent {
                return None;
            }
            rest = after;
        }
        None
    }
}

/// The width of the mark of a list item and the spaces behind it.
fn list_mark(content: &str) -> usize {
    let bytes = content.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mark = match bytes.get(digits) {
        Some(b'-' | b'+' | b'*') if digits == 0 => 1,
        Some(b'.' | b')') if digits > 0 => digits + 1,
        _ => return 0,
    };
    match escape::run_length(&bytes[mark..], b' ') {
        spaces @ 1..=4 => mark + spaces,
        _ => 0,
    }
}

/// What ends the HTML block that begins here, for those kinds that do not end at a blank line.
fn html_end(content: &str) -> Option<&'static str> {
    let tag = content.strip_prefix('<')?;
    for (start, end) in [("!--", "-->"), ("![CDATA[", "]]>"), ("!", ">"), ("?", "?>")] {
        if tag.starts_with(start) {
            return Some(end);
        }
    }
    [("script", "</script>"), ("pre", "</pre>"), ("style", "</style>"), ("textarea", "</textarea>")]
        .into_iter()
        .find(|(name, _)| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
        .map(|(_, end)| end)
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

fn next_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

fn next_line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |at| from + at)
}

/// The column in which the content of a line begins, and the content.
fn indentation(line: &str) -> (usize, &str) {
    let content = line.trim_start_matches([' ', '\t']);
    let column = line[..line.len() - content.len()].bytes().fold(0, |column, byte| match byte {
        b'\t' => column / 4 * 4 + 4,
        _ => column + 1,
    });
    (column, content)
}
