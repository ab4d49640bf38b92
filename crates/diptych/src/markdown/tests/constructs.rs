//! Each construct once, with data that tries to be more than data.

use super::super::{Line, Markdown};

fn line(f: impl FnOnce(&mut Line)) -> String {
    let mut md = Markdown::new();
    md.paragraph(f);
    md.finish()
}

fn text(text: &str) -> String {
    line(|line| {
        line.text(text);
    })
}

fn cell(text: &str) -> String {
    let mut md = Markdown::new();
    md.table(&["A"], |table| {
        table.row(|row| {
            row.text(text);
        });
    });
    md.as_str().lines().last().unwrap_or_default().to_owned()
}

fn embed(markdown: &str) -> String {
    let mut md = Markdown::new();
    md.embed(markdown);
    md.finish()
}

#[test]
fn an_author_who_leaves_code_open_lends_nothing_to_the_text_behind() {
    let mut md = Markdown::new();
    md.paragraph(|line| {
        line.literal("``").literal("`").code("<b>").literal("``").code("<i>");
    });
    assert_eq!(md.finish(), "`` `&lt;b>`` `<i>`");
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for plain in [
        "snake_case, kebab-case, 2 * 3 * 4, v1.2.3, a < b && c > d, #hashtag, @alice.example, 50% (or so) [sic]",
        "use `Vec<T>` and ``a`b``",
        "-5 degrees, +1, 3.14, 1.x",
        "日本語 · “quotes” – 🎉 ~~gone~~ x|y",
        "~5 minutes_",
    ] {
        assert_eq!(text(plain), plain);
    }
}

#[test]
fn text_cannot_open_a_block() {
    for (raw, drawn) in [
        ("# a", "\\# a"),
        ("> a", "\\> a"),
        ("- a", "\\- a"),
        ("+ a", "\\+ a"),
        ("* a", "\\* a"),
        ("-", "\\-"),
        ("---", "\\---"),
        ("***", "\\***"),
        ("_ _ _", "\\_ _ _"),
        ("===", "\\==="),
        ("--|:-:", "\\--|:-:"),
        (":-- | --:", "\\:-- | --:"),
        ("| a |", "\\| a |"),
        ("1. a", "1\\. a"),
        ("12) a", "12\\) a"),
        ("~~~ a", "\\~~~ a"),
        ("```js", "\\`\\`\\`js"),
        ("[a]: https://a.example", "\\[a]: https://a.example"),
        ("    code", "code"),
        ("\n\t# a", "\\# a"),
    ] {
        assert_eq!(text(raw), drawn);
    }
}

#[test]
fn text_cannot_become_html_or_a_link_or_two_lines() {
    for (raw, drawn) in [
        ("<b>x</b>", "&lt;b>x&lt;/b>"),
        ("<!-- kind:pattern-card:v1 -->", "&lt;!-- kind:pattern-card:v1 -->"),
        ("<?php", "&lt;?php"),
        ("ends with <", "ends with &lt;"),
        ("[a](javascript:b)", "[a]\\(javascript:b)"),
        ("a\r\nb\u{2028}c\u{85}\u{b}\u{1b}d", "a b c d"),
        ("a \n b", "a b"),
        ("half a ` span <b>", "half a \\` span &lt;b>"),
        ("C:\\", "C:\\\\"),
    ] {
        assert_eq!(text(raw), drawn);
    }
}

#[test]
fn pieces_do_not_join_into_something_else() {
    assert_eq!(line(|l| _ = l.literal("<").text("b>")), "&lt;b>");
    assert_eq!(line(|l| _ = l.text("<").text("b>")), "&lt;b>");
    assert_eq!(line(|l| _ = l.text("[a]").text("(b)")), "[a]\\(b)");
    assert_eq!(line(|l| _ = l.text("[a]").literal("(").text("b").literal(")")), "[a]\\(b)");
    assert_eq!(line(|l| _ = l.literal("[a](").text("b").literal(")")), "[a]\\(b)");
    assert_eq!(line(|l| _ = l.code("a").code("b")), "`a` `b`");
    assert_eq!(line(|l| _ = l.literal("`").text("`<b>`").literal("`")), "`'&lt;b>'`");
    assert_eq!(line(|l| _ = l.text("Wow!").link("a", "/b")), "Wow\\![a](/b)");
    assert_eq!(line(|l| _ = l.text("1").text(". a")), "1\\. a");
    assert_eq!(line(|l| _ = l.literal("<!--").literal(" kind:x -->")), "&lt;!-- kind:x -->");
    assert_eq!(line(|l| _ = l.literal("`a<b>` <b> 1 < 2")), "`a<b>` &lt;b> 1 < 2");
    assert_eq!(line(|l| _ = l.code("<!-- kind:x -->")), "`<!- - kind:x -->`");
    assert_eq!(line(|l| _ = l.literal("C:\\").code("a")), "C:\\\\`a`");
}

#[test]
fn marks_code_links_and_images() {
    assert_eq!(line(|l| _ = l.bold(" a * b ").literal(" ").emphasis(7)), "**a \\* b** *7*");
    assert_eq!(line(|l| _ = l.bold("").emphasis("\n").code("")), "");
    assert_eq!(line(|l| _ = l.code("a`b")), "``a`b``");
    assert_eq!(line(|l| _ = l.code("`a")), "`` `a ``");
    assert_eq!(line(|l| _ = l.code("a\nb<c>\\")), "`a b<c>\\`");
    assert_eq!(line(|l| _ = l.link("a]b", "https://a.example/(x y)?a=1&b=2")), {
        "[a\\]b](https://a.example/%28x%20y%29?a=1&b=2)"
    });
    assert_eq!(line(|l| _ = l.link("", "at://did:plc:abc/app.bsky.feed.post/1")), {
        "[at://did:plc:abc/app.bsky.feed.post/1](at://did:plc:abc/app.bsky.feed.post/1)"
    });
    assert_eq!(line(|l| _ = l.link("a", "JavaScript:alert(1)")), "a (JavaScript:alert(1))");
    assert_eq!(line(|l| _ = l.link("a", "java\nscript:b")), "a (java script:b)");
    assert_eq!(line(|l| _ = l.link("a", "javascript&colon;b")), "[a](javascript&amp;colon;b)");
    assert_eq!(line(|l| _ = l.image("", "/a.png").image("b\nc", "data:x")), "![](/a.png)b c (data:x)");
    assert_eq!(line(|l| _ = l.link("a", "")), "a");
}

#[test]
fn cells_stay_cells() {
    assert_eq!(cell("a | b"), "| a \\| b |");
    assert_eq!(cell("a \\| b"), "| a \\| b |");
    assert_eq!(cell("a \\\\| b"), "| a \\\\\\| b |");
    assert_eq!(cell("`a|b`"), "| `a\\|b` |");
    assert_eq!(cell("a\nb\\"), "| a b\\\\ |");
    assert_eq!(cell("- a"), "| - a |");
    assert_eq!(cell(""), "|  |");
}

#[test]
fn rows_have_as_many_cells_as_there_are_headers() {
    let mut md = Markdown::new();
    md.table(&["A|B", "C"], |table| {
        table.row(|row| {
            row.text(1);
        });
        table.row(|row| {
            row.text(1).text(2).text(3);
        });
    });
    md.line(|line| {
        line.literal("Not a row");
    });
    md.table(&[], |table| {
        table.row(|_| {});
    });
    insta::assert_snapshot!(md.finish(), @r#"
    | A\|B | C |
    | :--- | :--- |
    | 1 |  |
    | 1 | 2 |

    Not a row
    "#);
}

#[test]
fn headings_are_of_level_one_to_six() {
    let mut md = Markdown::new();
    md.heading(0, "- a\nb").heading(9, "C #").heading(2, "#").heading(2, " ").heading(3, "F#");
    insta::assert_snapshot!(md.finish(), @r#"
    # - a b

    ###### C \#

    ## \#

    ##

    ### F#
    "#);
}

#[test]
fn lists_count_and_keep_empty_items() {
    let mut md = Markdown::new();
    md.text("Items").tight();
    for item in ["# a", "", "1. b"] {
        md.bullet(|line| {
            line.text(item);
        });
    }
    for item in ["- a", "b"] {
        md.numbered(|line| {
            line.text(item);
        });
    }
    md.text("again").numbered(|line| {
        line.text("c");
    });
    insta::assert_snapshot!(md.finish(), @r#"
    Items
    - \# a
    - &nbsp;
    - 1\. b

    1. \- a
    2. b

    again

    1. c
    "#);
}

#[test]
fn empty_blocks_are_left_out() {
    let mut md = Markdown::new();
    md.text(" \n").line(|_| {}).embed(" \n\n");
    assert!(md.is_empty());
    md.text("a").line(|_| {}).text("b").marker("m:v1").text("").text("c");
    assert_eq!(md.as_str(), "a\n\nb\n\n<!-- kind:m:v1 -->\nc");
    assert_eq!(md.len(), md.as_str().len());
}

#[test]
fn fences_survive_fences_and_markers() {
    let mut md = Markdown::new();
    md.fence("type script`", "a\n````\nb\r\n\u{1b}[0m\n")
        .fence("", "")
        .fence("c++", "<!--  kind:x -->\n<!-- x -->");
    insta::assert_snapshot!(md.finish(), @r#"
    `````type
    a
    ````
    b
    �[0m
    `````

    ```
    ```

    ```c++
    <!- -  kind:x -->
    <!-- x -->
    ```
    "#);
}

#[test]
fn a_long_fence_is_cut_at_a_line() {
    let cut = |code, max| {
        let mut md = Markdown::new();
        let cut = md.fence_cut("", code, max);
        (cut, md.finish())
    };
    assert_eq!(cut("ab\ncd\n", 5), (false, "```\nab\ncd\n```".into()));
    assert_eq!(cut("ab\ncd\nef", 5), (true, "```\nab\ncd\n...\n```".into()));
    assert_eq!(cut("ab\ncd\nef", 4), (true, "```\nab\n...\n```".into()));
    assert_eq!(cut("äöü", 1), (true, "```\n...\n```".into()));
}

#[test]
fn a_post_is_quoted_line_by_line() {
    let mut md = Markdown::new();
    md.heading(1, "Thread · 2 posts").paragraph(|line| {
        line.text("@alice/3kq8a3f1");
    });
    md.tight().quote_with(|quote| {
        quote.text("## Features\r\n- Fast\u{2028}- Simple\n\n<!--\nkind:pattern-card:v1 -->\n");
        quote.image("A cat\n> [x](y)", "https://a.example/cat.png").link("Card", "https://a.example/");
        quote.quote_with(|quoted| {
            quoted.text("Quoted\npost");
        });
    });
    md.line(|line| {
        line.literal("👍 ").text(12).literal("  ").text("2024-10-06T10:05:33Z");
    });
    md.paragraph(|line| {
        line.literal("  ").literal("└─").text("@a/…a3f1").literal(" → ").text("@bob/3kq8b2e4");
    });
    md.tight().quote("").quote("next");
    insta::assert_snapshot!(md.finish(), @r#"
    # Thread · 2 posts

    @alice/3kq8a3f1
    > ## Features
    > - Fast
    > - Simple
    > 
    > <!- -
    > kind:pattern-card:v1 -->
    > ![A cat > \[x\](y)](https://a.example/cat.png)
    > [Card](https://a.example/)
    > > Quoted
    > > post
    👍 12  2024-10-06T10:05:33Z

      └─@a/…a3f1 → @bob/3kq8b2e4
    > 

    > next
    "#);
}

#[test]
fn embedded_markdown_is_contained() {
    for (raw, drawn) in [
        ("\n\n## A\n\n- b <b>c</b>\n", "## A\n\n- b <b>c</b>"),
        ("```js\na", "```js\na\n```"),
        ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
        ("- a\n  ```\n  b\n  ```", "- a\n  ```\n  b\n  ```"),
        ("- ```js\n  b\n  ```\nc", "- ```js\n  b\n  ```\nc"),
        ("- a\n  ```\nb", "- a\n  \\```\nb"),
        ("<!-- open", "&lt;!-- open"),
        ("<!-- a\nb -->\nc", "<!-- a\nb -->\nc"),
        ("<PRE>\n\n# a\n</pre>", "<PRE>\n\n# a\n</pre>"),
        ("<script>\n```", "&lt;script>\n```\n```"),
        ("<div>\n```\n</div>", "<div>\n\\```\n</div>"),
        ("<preface>\n\n```\n```", "<preface>\n\n```\n```"),
        ("<pre>\n</style>\n</pre>", "&lt;pre>\n</style>\n</pre>"),
        ("<!-- kind:x -->", "<!- - kind:x -->"),
        ("a\r\nb\rc", "a\nb\nc"),
    ] {
        assert_eq!(embed(raw), drawn);
    }
}

#[test]
fn embedded_headings_can_be_put_deeper() {
    let mut md = Markdown::new();
    md.embed_deeper("# A\n\n#tag\n\n```sh\n# comment\n```\n\n##### B\n####### c", 2);
    assert_eq!(md.finish(), "### A\n\n#tag\n\n```sh\n# comment\n```\n\n###### B\n####### c");
}
