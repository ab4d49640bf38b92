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
    // Below a line that begins with a tag, up to the next blank one: text or HTML, depending on the tag.
    let mut below_tag = false;
    while !rest.is_empty() {
        let (line, after) = next_line(rest);
        let (indent, content) = indentation(line);
        let before = line.len() - content.len();
        let mut taken = line.len();
        below_tag &= !content.is_empty();
        if indent <= 3 {
            if let Some(fence) = Fence::opening(content, indent) {
                match fence.length(after).filter(|_| !below_tag) {
                    Some(length) => taken = rest.len() - after.len() + length,
                    None if fence.indent == 0 && !below_tag => {
                        out.push_str(rest);
                        out.push('\n');
                        out.extend(std::iter::repeat_n(char::from(fence.mark), fence.run));
                        return;
                    }
                    None => {
                        out.push_str(&line[..before + fence.at]);
                        out.push('\\');
                        out.push_str(&line[before + fence.at..]);
                        taken = 0;
                    }
                }
            } else if let Some(end) = html_end(&rest[before..]) {
                // One that is indented is kept only on a single line.
                let single = indent > 0 || below_tag;
                match end.filter(|end| !single || before + end <= line.len()) {
                    Some(end) => taken = next_line_end(rest, before + end),
                    None => {
                        out.push_str(&line[..before]);
                        out.push_str("&lt;");
                        out.push_str(&content[1..]);
                        taken = 0;
                    }
                }
            } else if content.as_bytes().first() == Some(&b'<') {
                below_tag = true;
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

/// The tags whose content runs to an end tag, blank lines or not.
const RAW_TAGS: [&str; 4] = ["script", "pre", "style", "textarea"];

/// If an HTML block begins here of a kind that does not end at a blank line: where in `text`, which begins with the
/// block, its end is. `Some(None)` if it has none.
fn html_end(text: &str) -> Option<Option<usize>> {
    let tag = text.strip_prefix('<')?;
    let is_declaration = tag.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
    for (start, end) in [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")] {
        if tag.starts_with(start) && (start != "!" || is_declaration) {
            return Some(text.find(end).map(|at| at + end.len()));
        }
    }
    let name = tag.bytes().take_while(u8::is_ascii_alphabetic).count();
    let is_raw = RAW_TAGS.iter().any(|raw| tag[..name].eq_ignore_ascii_case(raw))
        && tag.as_bytes().get(name).is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'>'));
    // Readers differ in whether another end tag ends it too; one that is followed by its own is safe with all.
    is_raw.then(|| {
        let (at, end) = RAW_TAGS
            .iter()
            .filter_map(|raw| Some((find_ignoring_case(text, &format!("</{raw}>"))?, raw)))
            .min_by_key(|(at, _)| *at)?;
        tag[..name].eq_ignore_ascii_case(end).then_some(at + end.len() + 3)
    })
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
