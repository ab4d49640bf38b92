//! Both formats, what is taken from where, and that nothing makes the reader stumble.

use proptest::prelude::*;

use super::*;

fn pattern(file: &str, text: &str) -> Pattern {
    let parsed = parse(file, text.as_bytes()).unwrap();
    assert_eq!(parsed.problems, [], "{file}");
    Pattern::clone(&parsed.pattern)
}

fn warnings(file: &str, text: &str) -> String {
    let parsed = parse(file, text.as_bytes()).unwrap();
    parsed.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn our_own_format() {
    let text = "\
---
id: water-plants
title: Water the Plants
category: garden
difficulty: beginner
summary: Water each plant before it wilts.
tags: [garden, Can.pour]
useWhen: The soil is dry.
avoidWhen: It rains.
useCases: [balcony, greenhouse]
related: [mow-lawn]
---

Plants need water.

Not too much.

## Example

Pour slowly.

```typescript
can.pour() // # not a heading
```

## Example: with a hose

```ts
hose.open()
```

## Notes

- Mornings are best,
  evenings will do.
- Not the leaves.

## Anti-pattern

All at once.

```typescript
flood()
```
";
    insta::assert_debug_snapshot!(pattern("garden/water-plants.md", text));
}

#[test]
fn the_communitys_first_template() {
    let text = "\
---
title: Mow the Lawn
id: mow-lawn
skillLevel: advanced
applicationPatternId: outdoor-work
summary: >-
  Mow in straight lines and
  let nothing lie.
tags:
  - lawn
rule:
  description: >-
    Mow on dry days.
related:
  - water-plants
author: someone
lessonOrder: 3
---

# Mow the Lawn Well

## Guideline

Mow in lines.

---

## Rationale

It looks better.

---

## Good Example

A square lawn.

```typescript
mower.run()
```

**Explanation:**

- The blade is sharp.

## When to Use This Pattern

✅ **Use it when:**

- The grass is high
- The sun shines

❌ **Avoid when:**

- There are hedgehogs

## See Also

- [Water](./water-plants.mdx) - before or after
";
    let parsed = parse("garden/lawn/mow.mdx", text.as_bytes()).unwrap();
    assert_eq!(parsed.problems, []);
    assert_eq!(parsed.related_files, ["garden/lawn/water-plants.mdx"]);
    insta::assert_debug_snapshot!(parsed.pattern);
}

#[test]
fn the_communitys_second_template() {
    let text = "\
---
id: rake-leaves
title: Rake the Leaves
category: autumn
skillLevel: intermediate
tags: [leaves]
summary: Rake.
---

# Problem

Leaves lie everywhere.

# Solution

```typescript
// # first
rake()
```

# Why This Works

| tool | speed |
|------|-------|
| rake | slow  |

# When to Use

- In autumn

# Related Patterns

- [Mow](./mow.md)
";
    insta::assert_debug_snapshot!(pattern("garden/rake.mdx", text));
}

#[test]
fn what_a_file_does_not_say_is_taken_from_where_it_can_be_found() {
    let text = "# Dig a Hole\n\nA hole is dug with a spade. More follows.\n\n```\ndig()\n```\n";
    let parsed = parse("earth/dig_hole.md", text.as_bytes()).unwrap();
    let pattern = &parsed.pattern;
    assert_eq!(
        (pattern.id.as_str(), pattern.title.as_str(), pattern.category.as_str(), pattern.difficulty),
        ("dig_hole", "Dig a Hole", "earth", Difficulty::Intermediate)
    );
    assert_eq!(pattern.summary, "A hole is dug with a spade.");
    assert_eq!(pattern.examples[0].language, "text");
    assert_eq!(parse("top.md", b"text").unwrap().pattern.category, "general");
}

#[test]
fn line_endings_and_byte_order_marks_do_not_matter() {
    let unix = "---\nid: a\ntitle: A\ndifficulty: beginner\nsummary: S.\n---\n\nText.\n\n## Example\n\n```ts\nx\ny\n```\n";
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    assert_eq!(pattern("a.md", unix), pattern("a.md", &windows));
}

#[test]
fn what_could_be_better_is_said_with_its_line() {
    let long = "word ".repeat(50);
    let text = format!(
        "---\nid: ../evil id\ntitle: T\ndifficulty: wizard\nsummary: {long}\nuseWehn: never\n---\n\nSee [this](../../secret.md), [that](/etc/hosts)\nor [those](https://example.org/x).\n"
    );
    insta::assert_snapshot!("a_careless_file", warnings("a/b.md", &text));
    insta::assert_snapshot!(
        "a_sparse_file",
        warnings("a/b.md", "---\ntags: one\n---\n## Example\n```ts\nx\n```")
    );
    insta::assert_snapshot!("a_file_without_front_matter", warnings("a/b.md", "just text"));
}

#[test]
fn a_list_may_be_a_single_value_and_values_may_be_empty() {
    let text = "---\nid: a\ntitle: 2026\ndifficulty: beginner\nsummary: S\ntags: one\napi:\nuseCases: [1.0, true, ~, x]\nrelated: ~\nuseWhen: [first, second]\n---\nText\n## Example\n```ts\nx\n```";
    let pattern = pattern("a.md", text);
    assert_eq!(pattern.title, "2026");
    assert_eq!(pattern.tags, ["one"]);
    assert_eq!((pattern.api.len(), pattern.related.len()), (0, 0));
    assert_eq!(pattern.use_cases, ["1.0", "true", "x"]);
    assert_eq!(pattern.use_when.as_deref(), Some("first; second"));
}

#[test]
fn a_long_summary_is_served_cut() {
    let text = format!("---\nsummary: {}\n---\nText", "word ".repeat(60));
    let parsed = parse("a.md", text.as_bytes()).unwrap();
    assert!(parsed.pattern.summary.chars().count() <= SUMMARY_LIMIT);
    assert!(parsed.pattern.summary.ends_with('…'));
}

#[test]
fn a_template_is_a_pattern_without_problems() {
    let text = crate::new_pattern("it-s", "It's \"quoted\": \\ yes", "a: b", Difficulty::Advanced);
    let pattern = pattern("new.md", &text);
    assert_eq!(
        (pattern.title.as_str(), pattern.category.as_str(), pattern.difficulty),
        ("It's \"quoted\": \\ yes", "a: b", Difficulty::Advanced)
    );
}

fn check_promises(file: &str, parsed: &Parsed) {
    let pattern = &parsed.pattern;
    assert!(!pattern.id.is_empty() && !pattern.title.is_empty() && !pattern.category.is_empty());
    assert!(pattern.id.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)));
    assert!(pattern.summary.chars().count() <= SUMMARY_LIMIT);
    assert!(!pattern.title.contains('\n') && !pattern.summary.contains('\n'));
    assert!(parsed.problems.iter().all(|problem| problem.line >= 1 && problem.file == file));
}

proptest! {
    #[test]
    fn any_bytes_are_a_pattern_or_a_problem(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        match parse("x/y.md", &bytes) {
            Ok(parsed) => check_promises("x/y.md", &parsed),
            Err(problem) => prop_assert!(problem.line >= 1),
        }
    }

    #[test]
    fn any_text_with_a_front_matter_is_a_pattern_or_a_problem(
        yaml in "(([a-zA-Z]{1,8}|id|title|tags|rule|summary|related): ?[ -~\\n]{0,30}\n){0,8}",
        body in "(#{0,3} ?[ -~é]{0,20}\n|```[a-z]{0,4}\n|- [a-z]{0,9}\n|\\[a\\]\\([./a-z]{0,9}\\)\n|---\n|\n){0,20}",
    ) {
        let text = format!("---\n{yaml}---\n{body}");
        let lines = text.lines().count();
        match parse("x/y.md", text.as_bytes()) {
            Ok(parsed) => {
                check_promises("x/y.md", &parsed);
                prop_assert!(parsed.problems.iter().all(|problem| problem.line <= lines + 1));
            }
            Err(problem) => prop_assert!((1..=lines + 1).contains(&problem.line), "{problem}"),
        }
    }

    #[test]
    fn any_name_of_a_file_gives_a_safe_id(file in "\\PC{1,40}") {
        check_promises(&file, &parse(&file, b"text").unwrap());
    }
}
