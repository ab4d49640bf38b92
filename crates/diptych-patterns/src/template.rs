//! The file that a new pattern starts from.

use crate::pattern::Difficulty;
use crate::text::{one_line, slug};

/// The text of a new pattern's file, complete enough to be served as it is.
///
/// ```
/// use diptych_patterns::{Difficulty, new_pattern};
/// let file = new_pattern("retry-twice", "Retry Twice", "scheduling", Difficulty::Beginner);
/// assert!(file.starts_with("---\nid: retry-twice\ntitle: \"Retry Twice\"\n"));
/// ```
#[must_use]
pub fn new_pattern(id: &str, title: &str, category: &str, difficulty: Difficulty) -> String {
    let id = slug(id);
    let title = quoted(title);
    let category = quoted(category);
    format!(
        r#"---
id: {id}
title: {title}
category: {category}
difficulty: {difficulty}
summary: "One or two sentences on what it does and why; at most 200 characters."
tags: []
api: []
useWhen: "The situation in which it fits."
avoidWhen: "The situation in which something else is better."
useCases: []
related: []
---

What the pattern is and how it works, in a few paragraphs. This text is searched.

## Example

One line on what the code shows.

```typescript
// A complete example.
```

## Notes

- Something to keep in mind.

## Anti-pattern

What people do instead, and what goes wrong then.
"#
    )
}

/// A YAML text in double quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}
