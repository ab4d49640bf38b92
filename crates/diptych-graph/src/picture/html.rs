//! A page for a browser. All that it shows is data inside one JSON block, put on the page as text by its script.

use serde_json::json;

use super::edges;
use crate::store::GraphPart;

const PAGE: &str = include_str!("page.html");

pub(super) fn draw(part: &GraphPart, title: &str) -> String {
    let nodes: Vec<_> = part
        .entities
        .iter()
        .map(|entity| {
            json!({"name": entity.name, "type": entity.entity_type, "observations": entity.observations,
                "updatedAt": entity.updated_at})
        })
        .collect();
    let links: Vec<_> =
        edges(part).map(|(from, to, relation)| json!([from, to, relation.relation_type])).collect();
    let data = json!({"title": title, "nodes": nodes, "links": links, "more": part.more});
    PAGE.replace("{\"data\": null}", &inert(&data.to_string()))
}

/// JSON in which nothing means anything to HTML: inside strings, these characters can be written by their numbers, and
/// outside of strings they do not occur.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            character => out.push(character),
        }
    }
    out
}
