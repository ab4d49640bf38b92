//! How records look in Markdown: compact, in a stable order, names as code so that they can be copied, and what
//! somebody wrote in a quote of its own.

use diptych::{Line, Markdown};

use crate::store::{Entity, GraphSummary, Relation, RelationKey, Timestamp, TypeCount};

/// An entity: a line about it, then each observation in a quote.
pub(super) fn entity(markdown: &mut Markdown, entity: &Entity) {
    markdown.paragraph(|line| {
        line.code(&entity.name).literal(" (").text(&entity.entity_type).literal(") · v").text(entity.version);
        line.literal(" · ").text(day(entity.updated_at));
        project(line, entity.project.as_deref());
    });
    observations(markdown, &entity.observations, entity.omitted_observations);
}

/// Observations, each in a quote.
pub(super) fn observations(markdown: &mut Markdown, observations: &[String], omitted: Option<usize>) {
    for (index, observation) in observations.iter().enumerate() {
        if index == 0 {
            markdown.tight();
        }
        markdown.quote(observation);
    }
    if let Some(omitted) = omitted {
        markdown.paragraph(|line| {
            line.text(count(omitted, "more observation", "more observations"));
            line.literal(" left out: the resource `memory://entities/{name}` has all.");
        });
    }
}

/// Entities under a heading, if there are any.
pub(super) fn entities(markdown: &mut Markdown, level: u8, entities: &[Entity]) {
    if !entities.is_empty() {
        markdown.heading(level, "Entities");
        entities.iter().for_each(|one| entity(markdown, one));
    }
}

/// Relations under a heading, if there are any.
pub(super) fn relations(markdown: &mut Markdown, level: u8, relations: &[Relation], more: bool) {
    if !relations.is_empty() {
        markdown.heading(level, "Relations");
        for one in relations {
            markdown.bullet(|line| relation(line, one));
        }
    }
    if more {
        markdown.paragraph(|line| {
            line.literal("There are more relations than are shown here.");
        });
    }
}

/// A relation on a line.
pub(super) fn relation(line: &mut Line, relation: &Relation) {
    ends(line, &relation.from, &relation.relation_type, &relation.to);
    facts(line, relation.strength, relation.confidence, relation.metadata.as_ref());
    project(line, relation.project.as_deref());
}

/// The strength, confidence and metadata of a relation, in brackets.
pub(super) fn facts(
    line: &mut Line,
    strength: Option<f64>,
    confidence: Option<f64>,
    metadata: Option<&serde_json::Map<String, serde_json::Value>>,
) {
    let mut first = true;
    let mut next = |line: &mut Line| {
        line.literal(if std::mem::take(&mut first) { " (" } else { ", " });
    };
    for (label, value) in [("strength ", strength), ("confidence ", confidence)] {
        if let Some(value) = value {
            next(line);
            line.literal(label).text(rounded(value));
        }
    }
    if let Some(metadata) = metadata {
        next(line);
        line.code(serde_json::to_string(metadata).unwrap_or_default());
    }
    if !first {
        line.literal(")");
    }
}

/// What tells a relation apart, on a line.
pub(super) fn key(line: &mut Line, key: &RelationKey) {
    ends(line, &key.from, &key.relation_type, &key.to);
}

fn ends(line: &mut Line, from: &str, relation_type: &str, to: &str) {
    line.code(from).literal(" → ").code(relation_type).literal(" → ").code(to);
}

fn project(line: &mut Line, project: Option<&str>) {
    if let Some(project) = project {
        line.literal(" · project ").code(project);
    }
}

/// What a graph is made of.
pub(super) fn summary(markdown: &mut Markdown, summary: &GraphSummary) {
    markdown.paragraph(|line| {
        line.text(count(summary.entities, "entity", "entities")).literal(", ");
        line.text(count(summary.relations, "relation", "relations")).literal(".");
    });
    let types = |line: &mut Line, types: &[TypeCount]| {
        list(line, types, |line, counted| {
            line.text(&counted.name).literal(" ").text(counted.count);
        });
    };
    if !summary.entity_types.is_empty() {
        markdown.bullet(|line| {
            line.literal("Entity types: ");
            types(line, &summary.entity_types);
        });
    }
    if !summary.relation_types.is_empty() {
        markdown.bullet(|line| {
            line.literal("Relation types: ");
            types(line, &summary.relation_types);
        });
    }
    if !summary.most_connected.is_empty() {
        markdown.bullet(|line| {
            line.literal("Most connected: ");
            list(line, &summary.most_connected, |line, connected| {
                line.code(&connected.name).literal(" ").text(connected.relations);
            });
        });
    }
}

/// A label and names, on a line of its own; nothing without names.
pub(super) fn names(markdown: &mut Markdown, label: &'static str, names: &[String]) {
    if !names.is_empty() {
        markdown.paragraph(|line| {
            line.literal(label);
            list(line, names, |line, name| {
                line.code(name);
            });
        });
    }
}

/// Things with commas between them.
pub(super) fn list<T>(line: &mut Line, things: &[T], draw: impl Fn(&mut Line, &T)) {
    for (index, thing) in things.iter().enumerate() {
        if index > 0 {
            line.literal(", ");
        }
        draw(line, thing);
    }
}

/// A number with its noun.
pub(super) fn count(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

/// Faded confidences have endless digits; the JSON panel has them all.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

fn day(time: Timestamp) -> String {
    let mut text = time.to_string();
    if let Some(end) = text.find('T') {
        text.truncate(end);
    }
    text
}
