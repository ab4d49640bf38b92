//! The source of a Mermaid flowchart.

use super::{edges, label};
use crate::store::GraphPart;

pub(super) fn draw(part: &GraphPart) -> String {
    let mut text = String::from("flowchart LR\n");
    for (place, entity) in part.entities.iter().enumerate() {
        let [name, kind] = label(entity).map(escaped);
        text.push_str(&format!("  n{place}[\"{name}<br/>({kind})\"]\n"));
    }
    for (from, to, relation) in edges(part) {
        text.push_str(&format!("  n{from} -->|\"{}\"| n{to}\n", escaped(&relation.relation_type)));
    }
    text
}

/// Text inside a quoted label. Mermaid reads labels as HTML, as Markdown and for directives of its own, so whatever is
/// neither a letter nor a digit is written by its number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' ' | '_' => out.push(character),
            character if character.is_control() => out.push(' '),
            character if character.is_alphanumeric() => out.push(character),
            character => out.push_str(&format!("#{};", u32::from(character))),
        }
    }
    out
}
