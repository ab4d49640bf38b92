//! The panels of the pattern tools, drawn from data: the texts are contract.

use super::super::Markdown;

struct Card {
    id: &'static str,
    title: &'static str,
    category: &'static str,
    difficulty: &'static str,
    tags: &'static [&'static str],
    use_when: &'static str,
    api: &'static str,
    example: &'static str,
    notes: &'static [&'static str],
}

fn index_only(
    id: &'static str,
    title: &'static str,
    category: &'static str,
    difficulty: &'static str,
    tags: &'static [&'static str],
) -> Card {
    Card { id, title, category, difficulty, tags, use_when: "", api: "", example: "", notes: &[] }
}

fn draw_card(md: &mut Markdown, card: &Card) {
    md.heading(1, card.title).marker("pattern-card:v1").paragraph(|line| {
        line.literal("**Category:** ").text(card.category);
        line.literal(" | **Difficulty:** ").text(card.difficulty);
    });
    md.paragraph(|line| {
        line.literal("**Use when:** ").text(card.use_when);
    });
    md.paragraph(|line| {
        line.literal("**API:** ").code(card.api);
    });
    md.paragraph(|line| {
        line.literal("**Example:**");
    });
    md.fence("typescript", card.example);
    if !card.notes.is_empty() {
        md.paragraph(|line| {
            line.literal("**Notes:**");
        });
        for note in card.notes {
            md.bullet(|line| {
                line.text(note);
            });
        }
    }
}

fn draw_search(md: &mut Markdown, query: &str, cards: &[Card], shown: usize) {
    md.heading_with(2, |line| {
        line.literal("Effect Pattern Search Results for \"").text(query).literal("\"");
    });
    md.paragraph(|line| {
        line.literal("Found ").bold(cards.len()).literal(
            " matching patterns. Detailed documentation for the top results follows. Use pattern IDs from the \
             Index with 'get_pattern' for additional deep-dives.",
        );
    });
    md.heading(2, "Index").marker("pattern-index:v1");
    md.table(&["Pattern", "Category", "Difficulty", "Tags"], |table| {
        for card in cards {
            table.row(|row| {
                row.cell(|line| {
                    line.bold(card.title).literal(" (").code(card.id).literal(")");
                });
                row.text(card.category).text(card.difficulty).text(card.tags.join(", "));
            });
        }
    });
    md.heading_with(2, |line| {
        line.literal("Top ").text(shown).literal(" Patterns");
    });
    for card in &cards[..shown] {
        draw_card(md, card);
    }
}

#[test]
fn a_search_is_drawn_as_the_contract_says() {
    let cards = [
        Card {
            id: "error-handling-match",
            title: "Error Handling with Match",
            category: "error-handling",
            difficulty: "beginner",
            tags: &["Effect.match", "error-handling"],
            use_when: "You need to handle multiple error types in a type-safe way.",
            api: "Effect.match",
            example: "export const handleError = Effect.match({\n  onFailure: (error) => Effect.succeed(`Error: \
                      ${error}`),\n  onSuccess: (value) => Effect.succeed(`Success: ${value}`)\n});",
            notes: &[
                "Use Effect.match for exhaustive error handling",
                "Provides type safety for error cases",
            ],
        },
        Card {
            id: "error-handling-catch-tag",
            title: "Error Handling with catchTag",
            category: "error-handling",
            difficulty: "intermediate",
            tags: &["Effect.catchTag", "error-handling"],
            use_when: "You need to catch specific error types.",
            api: "Effect.catchTag",
            example: "const result = yield* operation.pipe(\n  Effect.catchTag(\"NetworkError\", (e) => \
                      Effect.succeed(\"fallback\"))\n);",
            notes: &[],
        },
        Card {
            id: "service-error-handling",
            title: "Service Error Handling",
            category: "service",
            difficulty: "intermediate",
            tags: &["Effect.Service", "error-handling"],
            use_when: "Handling errors in Effect services.",
            api: "Effect.Service",
            example: "export class MyService extends Effect.Service<MyService>()(\n  \"MyService\",\n  {\n    sync: () \
                      => ({\n      handleError: (error) => Effect.succeed(\"handled\")\n    })\n  }\n);",
            notes: &[],
        },
        index_only(
            "validation-errors",
            "Validation Errors",
            "validation",
            "beginner",
            &["Effect", "validation"],
        ),
        index_only(
            "error-recovery",
            "Error Recovery",
            "error-handling",
            "advanced",
            &["Effect.retry", "error-handling"],
        ),
    ];
    let mut md = Markdown::new();
    draw_search(&mut md, "error", &cards, 3);
    assert_eq!(md.drawn().markers("pattern-index:v1"), 1);
    assert_eq!(md.drawn().markers("pattern-card:v1"), 3);
    assert_eq!(md.drawn().markers("unknown"), 0);
    assert_eq!(md.drawn().total(), 4);
    insta::assert_snapshot!(md.as_str(), @r#"
    ## Effect Pattern Search Results for "error"

    Found **5** matching patterns. Detailed documentation for the top results follows. Use pattern IDs from the Index with 'get_pattern' for additional deep-dives.

    ## Index

    <!-- kind:pattern-index:v1 -->
    | Pattern | Category | Difficulty | Tags |
    | :--- | :--- | :--- | :--- |
    | **Error Handling with Match** (`error-handling-match`) | error-handling | beginner | Effect.match, error-handling |
    | **Error Handling with catchTag** (`error-handling-catch-tag`) | error-handling | intermediate | Effect.catchTag, error-handling |
    | **Service Error Handling** (`service-error-handling`) | service | intermediate | Effect.Service, error-handling |
    | **Validation Errors** (`validation-errors`) | validation | beginner | Effect, validation |
    | **Error Recovery** (`error-recovery`) | error-handling | advanced | Effect.retry, error-handling |

    ## Top 3 Patterns

    # Error Handling with Match

    <!-- kind:pattern-card:v1 -->
    **Category:** error-handling | **Difficulty:** beginner

    **Use when:** You need to handle multiple error types in a type-safe way.

    **API:** `Effect.match`

    **Example:**

    ```typescript
    export const handleError = Effect.match({
      onFailure: (error) => Effect.succeed(`Error: ${error}`),
      onSuccess: (value) => Effect.succeed(`Success: ${value}`)
    });
    ```

    **Notes:**

    - Use Effect.match for exhaustive error handling
    - Provides type safety for error cases

    # Error Handling with catchTag

    <!-- kind:pattern-card:v1 -->
    **Category:** error-handling | **Difficulty:** intermediate

    **Use when:** You need to catch specific error types.

    **API:** `Effect.catchTag`

    **Example:**

    ```typescript
    const result = yield* operation.pipe(
      Effect.catchTag("NetworkError", (e) => Effect.succeed("fallback"))
    );
    ```

    # Service Error Handling

    <!-- kind:pattern-card:v1 -->
    **Category:** service | **Difficulty:** intermediate

    **Use when:** Handling errors in Effect services.

    **API:** `Effect.Service`

    **Example:**

    ```typescript
    export class MyService extends Effect.Service<MyService>()(
      "MyService",
      {
        sync: () => ({
          handleError: (error) => Effect.succeed("handled")
        })
      }
    );
    ```
    "#);
}

#[test]
fn a_pattern_is_drawn_as_the_contract_says() {
    let mut md = Markdown::new();
    draw_card(
        &mut md,
        &Card {
            id: "effect-service",
            title: "Effect.Service Pattern",
            category: "service",
            difficulty: "intermediate",
            tags: &[],
            use_when: "You need to create reusable, testable services with dependency injection.",
            api: "Effect.Service",
            example: "export class MyService extends Effect.Service<MyService>()(\n  \"MyService\",\n  {\n    sync: () \
                      => ({\n      method: () => Effect.succeed(\"result\")\n    })\n  }\n);",
            notes: &["Use Effect.Service for dependency injection", "Provides testability and modularity"],
        },
    );
    insta::assert_snapshot!(md.finish(), @r#"
    # Effect.Service Pattern

    <!-- kind:pattern-card:v1 -->
    **Category:** service | **Difficulty:** intermediate

    **Use when:** You need to create reusable, testable services with dependency injection.

    **API:** `Effect.Service`

    **Example:**

    ```typescript
    export class MyService extends Effect.Service<MyService>()(
      "MyService",
      {
        sync: () => ({
          method: () => Effect.succeed("result")
        })
      }
    );
    ```

    **Notes:**

    - Use Effect.Service for dependency injection
    - Provides testability and modularity
    "#);
}

#[test]
fn an_ask_lists_its_filters_directly_below_their_label() {
    let mut md = Markdown::new();
    md.heading(2, "Narrow Your Search").text("Found 45 patterns.").paragraph(|line| {
        line.literal("**Available filters:**");
    });
    for (label, values) in [("Category", ["service", "streams"]), ("Difficulty", ["beginner", "advanced"])] {
        md.tight().bullet(|line| {
            line.text(label).literal(": ").text(values.join(", "));
        });
    }
    insta::assert_snapshot!(md.finish(), @r#"
    ## Narrow Your Search

    Found 45 patterns.

    **Available filters:**
    - Category: service, streams
    - Difficulty: beginner, advanced
    "#);
}
