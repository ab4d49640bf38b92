//! What a section is for, told from the words of its heading.

use crate::pattern::SectionKind;

/// The kind of the section below a heading.
pub(super) fn kind_of(heading: &str) -> SectionKind {
    let words = words(heading);
    let starts = |prefix: &str| {
        words.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
    };
    let any = |prefixes: &[&str]| prefixes.iter().any(|prefix| starts(prefix));

    if any(&[
        "anti pattern",
        "anti patterns",
        "antipattern",
        "antipatterns",
        "bad example",
        "common mistakes",
    ]) || any(&["pitfalls", "common pitfalls", "what not to do"])
    {
        SectionKind::AntiPattern
    } else if any(&["when not to use", "avoid when", "when to avoid", "do not use when", "don't use when"]) {
        SectionKind::AvoidWhen
    } else if any(&["when to use", "use when", "use this when"]) {
        SectionKind::UseWhen
    } else if any(&["use case", "use cases"]) {
        SectionKind::UseCases
    } else if any(&[
        "example",
        "examples",
        "good example",
        "good examples",
        "solution",
        "implementation",
        "advanced",
    ]) || words.ends_with(" example")
        || words.ends_with(" examples")
        || words.contains(" example: ")
    {
        SectionKind::Example
    } else if any(&[
        "notes",
        "note",
        "key points",
        "key takeaways",
        "tips",
        "caveats",
        "best practices",
        "gotchas",
    ]) {
        SectionKind::Notes
    } else if any(&["rationale", "why this works", "why", "motivation", "discussion"]) {
        SectionKind::Rationale
    } else if any(&["related", "see also", "what's next", "next steps", "further reading", "references"]) {
        SectionKind::Related
    } else if any(&["description", "overview", "guideline", "problem", "introduction", "intent", "summary"]) {
        SectionKind::Description
    } else {
        SectionKind::Other
    }
}

/// Lower case, without emoji and the like, `-` read as a space.
fn words(heading: &str) -> String {
    let plain: String = heading
        .to_lowercase()
        .replace('’', "'")
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, ':' | '\'') { c } else { ' ' })
        .collect();
    crate::text::one_line(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_both_formats_are_told_apart() {
        for (heading, expected) in [
            ("Example", SectionKind::Example),
            ("Example: with a limit", SectionKind::Example),
            ("Good Example: Retrying an API Call", SectionKind::Example),
            ("Real-World Example", SectionKind::Example),
            ("Solution", SectionKind::Example),
            ("Advanced: Deferred with Timeout", SectionKind::Example),
            ("❌ Bad Example", SectionKind::AntiPattern),
            ("Anti-Pattern", SectionKind::AntiPattern),
            ("Anti-Patterns to avoid", SectionKind::AntiPattern),
            ("Notes", SectionKind::Notes),
            ("Key Points", SectionKind::Notes),
            ("When to Use This Pattern", SectionKind::UseWhen),
            ("When Not to Use", SectionKind::AvoidWhen),
            ("Use Case", SectionKind::UseCases),
            ("Rationale", SectionKind::Rationale),
            ("Why This Works", SectionKind::Rationale),
            ("See Also", SectionKind::Related),
            ("What’s Next?", SectionKind::Related),
            ("Guideline", SectionKind::Description),
            ("Problem", SectionKind::Description),
            ("Problems with promises", SectionKind::Other),
            ("Quick Reference", SectionKind::Other),
            ("", SectionKind::Other),
        ] {
            assert_eq!(kind_of(heading), expected, "{heading}");
        }
    }
}
