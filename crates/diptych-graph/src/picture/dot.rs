//! The source of a Graphviz drawing.

use super::{edges, label};
use crate::store::GraphPart;

pub(super) fn draw(part: &GraphPart) -> String {
    let mut text =
        String::from("digraph graph_of_memories {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    for (place, entity) in part.entities.iter().enumerate() {
        let [name, kind] = label(entity).map(escaped);
        text.push_str(&format!("  n{place} [label=\"{name}\\n({kind})\"];\n"));
    }
    for (from, to, relation) in edges(part) {
        text.push_str(&format!("  n{from} -> n{to} [label=\"{}\"];\n", escaped(&relation.relation_type)));
    }
    text.push_str("}\n");
    text
}

/// Text inside a quoted string. A backslash begins an escape there, and an ampersand an HTML entity.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}
