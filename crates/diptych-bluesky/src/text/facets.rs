//! Facets as Markdown: the ranges of a post's text that are links.
//!
//! The text itself is its author's and stays as it is. What comes out is only ever put into a quote, so that whatever it
//! contains stays inside.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::identity::Did;

/// A link in a post's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Link {
    /// What the reader sees.
    pub(crate) text: String,
    /// Where it leads.
    pub(crate) url: String,
}

/// The text with its links written as Markdown, and the links. A link that shows its own address stays as it is, and so
/// does a tag, which says it all.
pub(crate) fn draw_facets(text: &str, facets: &Value) -> (String, Vec<Link>) {
    let mut ranges: Vec<(usize, usize, String)> =
        facets.as_array().into_iter().flatten().filter_map(|facet| range(text, facet)).collect();
    ranges.sort();
    let (mut out, mut links, mut at) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (start, end, url) in ranges {
        // Of two that overlap the first counts.
        if start < at {
            continue;
        }
        let label = &text[start..end];
        out.push_str(&text[at..start]);
        if label == url {
            out.push_str(label);
        } else {
            out.push('[');
            push_label(&mut out, label);
            out.push_str("](");
            push_target(&mut out, &url);
            out.push(')');
        }
        links.push(Link { text: label.to_owned(), url });
        at = end;
    }
    out.push_str(&text[at..]);
    (out, links)
}

/// The range and target of a facet, if it has both. Ranges count bytes, and strangers count wrongly.
fn range(text: &str, facet: &Value) -> Option<(usize, usize, String)> {
    let offset = |name: &str| usize::try_from(facet["index"][name].as_u64()?).ok();
    let (start, end) = (offset("byteStart")?, offset("byteEnd")?);
    if start >= end || !text.is_char_boundary(start) || !text.is_char_boundary(end) || end > text.len() {
        return None;
    }
    let url =
        facet["features"].as_array()?.iter().find_map(|feature| match feature["$type"].as_str()? {
            "app.bsky.richtext.facet#link" => {
                feature["uri"].as_str().filter(|uri| is_web(uri)).map(str::to_owned)
            }
            "app.bsky.richtext.facet#mention" => {
                let did = Did::parse(feature["did"].as_str()?)?;
                Some(format!("https://bsky.app/profile/{did}"))
            }
            _ => None,
        })?;
    Some((start, end, url))
}

fn is_web(uri: &str) -> bool {
    uri.len() <= 2_048 && (uri.starts_with("https://") || uri.starts_with("http://"))
}

fn push_label(out: &mut String, label: &str) {
    for c in label.chars() {
        if matches!(c, '[' | ']' | '\\' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Everything that could end the target, or a line, is written as its percent code.
fn push_target(out: &mut String, url: &str) {
    let mut bytes = [0; 4];
    for c in url.chars() {
        if c.is_whitespace()
            || c.is_control()
            || matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | '\\' | '`' | '"' | '\u{2028}' | '\u{2029}')
        {
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn link(start: usize, end: usize, uri: &str) -> Value {
        json!({"index": {"byteStart": start, "byteEnd": end},
               "features": [{"$type": "app.bsky.richtext.facet#link", "uri": uri}]})
    }

    #[test]
    fn facets_become_links() {
        let text = "see example.com/a_b… and https://x.example 🦀";
        let facets = json!([link(4, 22, "https://example.com/a_b?c=(d)"), link(27, 44, "https://x.example")]);
        let (drawn, links) = draw_facets(text, &facets);
        assert_eq!(
            drawn,
            "see [example.com/a_b…](https://example.com/a_b?c=%28d%29) and https://x.example 🦀"
        );
        assert_eq!(links.len(), 2);
    }

    #[test]
    fn wrong_facets_are_not_there() {
        let text = "é [x] y";
        for facet in [
            link(1, 3, "https://a.example"),
            link(0, 99, "https://a.example"),
            link(3, 3, "https://a.example"),
            link(3, 1, "https://a.example"),
            link(0, 2, "javascript:alert(1)"),
            json!({"index": {}, "features": []}),
            json!("facet"),
        ] {
            assert_eq!(draw_facets(text, &json!([facet])), (text.to_owned(), vec![]));
        }
        let overlap = json!([link(0, 5, "https://a.example"), link(3, 6, "https://b.example")]);
        assert_eq!(draw_facets(text, &overlap).0, "[é \\[x](https://a.example)] y");
    }

    proptest! {
        #[test]
        fn any_facets_over_any_text(
            text in "\\PC{0,40}",
            facets in proptest::collection::vec((0usize..60, 0usize..60, "(https?://)?\\PC{0,20}"), 0..5)
        ) {
            let facets: Vec<Value> = facets.iter().map(|(start, end, uri)| link(*start, *end, uri)).collect();
            let (drawn, links) = draw_facets(&text, &Value::from(facets));
            prop_assert!(drawn.len() >= text.len());
            prop_assert!(links.iter().all(|link| text.contains(&link.text)));
            prop_assert_eq!(drawn.lines().count(), text.lines().count());
        }
    }
}
