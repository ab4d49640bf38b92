//! What of a pattern is searched, and how much each part of it counts.

use std::borrow::Cow;

use diptych_search::Document;

use crate::pattern::{Pattern, SectionKind};

/// The fields, with their weights. A name someone chose for the pattern counts most, then the words of the
/// situation it is for, since that is how people ask; what its text or its code merely mentions counts least.
pub(crate) const FIELDS: [(&str, f32); 9] = [
    ("title", 6.0),
    ("tags", 4.0),
    ("api", 4.0),
    ("summary", 3.0),
    ("useWhen", 3.5),
    ("category", 2.0),
    ("description", 1.5),
    ("body", 1.0),
    ("code", 0.7),
];

/// The texts of a pattern, each with its field.
#[must_use]
pub(crate) fn document(pattern: &Pattern) -> Document<'_> {
    let mut document = Document::new(pattern.id.as_str())
        .field("title", pattern.title.as_str())
        // An id is words too, and so are the names of its groups; but to belong to a group says less of a
        // pattern than what it was named.
        .field("tags", pattern.id.replace(['-', '_'], " "))
        .field("category", pattern.category.as_str())
        .field("summary", pattern.summary.as_str());
    for tag in &pattern.tags {
        document = document.field("tags", tag.as_str());
    }
    for api in &pattern.api {
        document = document.field("api", api.as_str());
    }
    let optional = [("category", &pattern.topic), ("summary", &pattern.rule), ("useWhen", &pattern.use_when)];
    for (field, text) in optional {
        if let Some(text) = text {
            document = document.field(field, text.as_str());
        }
    }
    for text in &pattern.use_cases {
        document = document.field("useWhen", text.as_str());
    }
    for section in &pattern.sections {
        let field = match section.kind {
            SectionKind::Description => "description",
            // Links to other patterns are about those.
            SectionKind::Related => continue,
            _ => "body",
        };
        let (prose, code) = split_code(&section.content);
        document = document.field("body", section.title.as_str()).field(field, prose);
        // What an anti-pattern's code uses is what the pattern is not about.
        if !code.is_empty() && section.kind != SectionKind::AntiPattern {
            document = document.field("code", code);
        }
    }
    document
}

/// Parts prose from fenced code, line by line.
fn split_code(markdown: &str) -> (Cow<'_, str>, String) {
    if !markdown.contains("```") && !markdown.contains("~~~") {
        return (Cow::Borrowed(markdown), String::new());
    }
    let (mut prose, mut code) = (String::with_capacity(markdown.len()), String::new());
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    (Cow::Owned(prose), code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_parted_from_prose() {
        let (prose, code) = split_code("one\n```ts\nlet x = `~~~`\n```\ntwo");
        assert_eq!((prose.as_ref(), code.as_str()), ("one\ntwo\n", "let x = `~~~`\n"));
    }
}
