//! Pictures of a graph: Mermaid and Graphviz sources, and a page for a browser.
//!
//! Names, types and observations are whatever somebody stored, so each format has its own way of writing them down, in
//! which no character of theirs can end a label or begin a tag.

mod dot;
mod html;
mod mermaid;

use std::collections::HashMap;

use crate::store::{Entity, GraphPart, Relation};

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// The source of a Mermaid flowchart, for Markdown.
    Mermaid,
    /// The source of a Graphviz drawing.
    Dot,
    /// A page that needs nothing but itself, to be panned, zoomed and searched.
    Html,
}

/// A part of a graph, to be drawn. `title` names it, on the page alone.
#[must_use]
pub fn picture(part: &GraphPart, title: &str, format: PictureFormat) -> String {
    match format {
        PictureFormat::Mermaid => mermaid::draw(part),
        PictureFormat::Dot => dot::draw(part),
        PictureFormat::Html => html::draw(part, title),
    }
}

/// The relations of a part, each with the places of its ends among the entities.
fn edges(part: &GraphPart) -> impl Iterator<Item = (usize, usize, &Relation)> {
    let places: HashMap<&str, usize> =
        part.entities.iter().enumerate().map(|(place, entity)| (entity.name.as_str(), place)).collect();
    part.relations.iter().filter_map(move |relation| {
        Some((*places.get(&*relation.from)?, *places.get(&*relation.to)?, relation))
    })
}

/// What is written on an entity: its name, and its type below.
fn label(entity: &Entity) -> [&str; 2] {
    [&entity.name, &entity.entity_type]
}
