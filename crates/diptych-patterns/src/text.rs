//! Small things done to text in several places.

/// One line: runs of white space become one space, control characters go.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// At most `limit` characters, cut between words, with `…` where something was left out.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let (room, _) = text.char_indices().nth(limit.saturating_sub(1)).unwrap_or((cut, ' '));
    let kept = &text[..room];
    let kept = kept.rfind(' ').map_or(kept, |space| &kept[..space]);
    format!("{}…", kept.trim_end_matches(|c: char| c.is_whitespace() || ".,;:…".contains(c)))
}

/// The first sentence of a text.
pub(crate) fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(". ").map(|(at, _)| at + 1).next().unwrap_or(text.len());
    &text[..end]
}

/// A name that fits in a URI and in a code span: letters, digits, `.`, `_` and `-`.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            slug.push(c);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
        if slug.len() >= 100 {
            break;
        }
    }
    slug.trim_matches(['-', '.']).to_owned()
}

/// A slug as words: `retry-with-backoff` is `Retry with backoff`.
pub(crate) fn humanise(slug: &str) -> String {
    let words = one_line(&slug.replace(['-', '_'], " "));
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortening_cuts_between_words_and_keeps_the_limit() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("one two three four", 12), "one two…");
        assert_eq!(shorten("exactly ten", 11), "exactly ten");
        assert_eq!(shorten("ééééééééééé", 5), "éééé…");
    }

    #[test]
    fn slugs_are_safe_in_uris() {
        assert_eq!(slug("Retry: with `backoff`!"), "Retry-with-backoff");
        assert_eq!(slug("../../etc"), "etc");
        assert_eq!(slug("日本"), "");
        assert_eq!(humanise("retry-with_backoff"), "Retry with backoff");
    }
}
