//! Whatever a catalogue or a caller writes: no table breaks, no marker is forged, no fence is left.

#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::fs;

use diptych::Server;
use diptych::client::Client;
use diptych_patterns::{Library, Options, Source, Watch, toolset};
use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options as Extensions, Parser, Tag, TagEnd};
use serde_json::{Value, json};

/// What could be read as more than text.
const PIECES: [&str; 28] = [
    "|",
    "\\",
    "\\|",
    "`",
    "```",
    "````",
    "~~~",
    "\n",
    "\r\n",
    "\n\n",
    "#",
    "## ",
    "<!-- kind:pattern-card:v1 -->",
    "<!-- kind:pattern-index:v1 -->",
    "<!--",
    "-->",
    "<b>",
    "</details>",
    "[a](b)",
    "](",
    "**",
    "*",
    "- ",
    "> ",
    "\u{202e}",
    "é",
    "word",
    " ",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..8).prop_map(|pieces| pieces.concat())
}

/// A JSON string is a YAML string.
fn yaml(text: &str) -> String {
    Value::from(text).to_string()
}

struct Page {
    rows: usize,
    cells: Vec<usize>,
    comments: usize,
    fences: Vec<(String, String)>,
    headings: usize,
}

fn read(markdown: &str) -> Page {
    let mut page = Page { rows: 0, cells: Vec::new(), comments: 0, fences: Vec::new(), headings: 0 };
    let mut fence: Option<(String, String)> = None;
    for event in Parser::new_ext(markdown, Extensions::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableRow | Tag::TableHead) => {
                page.rows += 1;
                page.cells.push(0);
            }
            Event::Start(Tag::TableCell) => *page.cells.last_mut().unwrap() += 1,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                fence = Some((language.to_string(), String::new()));
            }
            Event::Text(text) => {
                if let Some((_, code)) = &mut fence {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => page.fences.extend(fence.take()),
            Event::Start(Tag::Heading { .. }) => page.headings += 1,
            Event::Html(html) | Event::InlineHtml(html) => {
                page.comments += html.matches("<!-- kind:").count();
            }
            _ => {}
        }
    }
    page
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn server_with(title: &str, tag: &str, note: &str, code: &str) -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let fence = "`".repeat(20);
    for id in ["one", "two"] {
        let file = format!(
            "---\nid: {id}\ntitle: {}\ncategory: {}\ndifficulty: beginner\nsummary: {}\ntags: [gardenword, {}]\nuseWhen: {}\n---\ngardenword\n\n## Example\n\n{fence}ts\n{code}\n{fence}\n\n## Notes\n\n- {}\n",
            yaml(title),
            yaml(title),
            yaml(note),
            yaml(tag),
            yaml(note),
            note.replace(['\n', '\r'], " "),
        );
        fs::write(folder.path().join(format!("{id}.md")), file).unwrap();
    }
    let options = Options { watch: Watch::Off, ..Options::default() };
    let library = Library::open([Source::Folder(folder.path().to_owned())], options).unwrap();
    let server = Server::builder("p", "0").toolset(toolset(library)).strict().build().unwrap();
    (folder, server)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_catalogue_cannot_break_the_panels(
        title in text(), tag in text(), note in text(), code in text(), query in text()
    ) {
        let (_folder, server) = server_with(&title, &tag, &note, &code);
        let q = format!("gardenword {query}");
        let (search, details) = run(async {
            let client = Client::in_process(&server).connect().await.unwrap();
            let search = client.call("search_patterns", json!({"q": q, "format": "both"})).await.unwrap();
            let details = client.call("get_pattern", json!({"id": "one", "format": "both"})).await.unwrap();
            client.close().await;
            (search, details)
        });
        let structured = search.structured.clone().unwrap();
        prop_assert_eq!(&structured["kind"], "patternSearchResults:v1");
        let listed = structured["patterns"].as_array().unwrap().len();
        let markdown = search.text();
        let page = read(&markdown);
        if listed > 0 {
            prop_assert_eq!(page.rows, listed + 1, "{}", markdown);
            prop_assert!(page.cells.iter().all(|cells| *cells == 4), "{}", markdown);
            let markers = 1 + listed;
            prop_assert_eq!(page.comments, markers, "{}", markdown);
            prop_assert_eq!(markdown.matches("<!-- kind:").count(), markers);
            prop_assert_eq!(page.headings, 3 + listed, "{}", markdown);
        }
        // Markers in code are broken by a space.
        let plain = |code: &str| code.replace(' ', "").trim_end().to_owned();
        let code = details.structured.clone().unwrap()["examples"][0]["code"].as_str().map(plain).unwrap_or_default();
        for panel in [&markdown, &details.text()] {
            for (_, shown) in read(panel).fences {
                prop_assert_eq!(plain(&shown), code.as_str(), "{}", panel);
            }
        }
        prop_assert_eq!(read(&details.text()).comments, 1);
    }

    #[test]
    fn a_caller_cannot_break_the_asks_and_prompts(given in text()) {
        let (_folder, server) = server_with("Title", "tag", "note", "x()");
        run(async {
            let client = Client::in_process(&server).connect().await.unwrap();
            let unknown = client.call("get_pattern", json!({"id": format!("zz{given}")})).await.unwrap();
            prop_assert!(!unknown.text().contains("<!-- kind:"), "{}", unknown.text());
            prop_assert_eq!(read(&unknown.text()).headings, 1, "{}", unknown.text());
            let category = client
                .call("search_patterns", json!({"q": "x", "category": format!("zz{given}")}))
                .await
                .unwrap();
            prop_assert!(!category.text().contains("<!-- kind:"), "{}", category.text());
            prop_assert_eq!(read(&category.text()).headings, 1, "{}", category.text());
            let prompt = client.prompt("apply-pattern", json!({"pattern": "one", "code": given})).await.unwrap();
            let text = prompt["messages"][1]["content"]["text"].as_str().unwrap();
            let page = read(text);
            prop_assert_eq!(page.comments, 1, "{}", text);
            prop_assert_eq!(page.fences.len(), 2, "{}", text);
            client.close().await;
            Ok(())
        })?;
    }
}
