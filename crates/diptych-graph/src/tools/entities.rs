//! `create_entities` and `delete_entities`.

use diptych::{Cx, Markdown, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{cut_together, room, squeeze};
use super::{Graph, change, draw, tell};
use crate::store::{Entity, NewEntity, SimilarName};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateEntities {
    /// What to remember.
    entities: Vec<NewEntity>,
}

/// The entities that were made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntitiesCreated {
    /// How many were made.
    created: usize,
    /// Those made.
    entities: Vec<Entity>,
    /// The names that existed already, and were left as they are.
    skipped: Vec<String>,
    /// New names that look like existing ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    similar: Vec<SimilarName>,
    #[serde(skip)]
    room: usize,
}

impl EntitiesCreated {
    fn squeeze(&mut self) {
        if self.records() == 1 {
            squeeze(&mut self.entities, &mut Vec::new(), self.room);
        }
    }
}

impl Present for EntitiesCreated {
    const KIND: &'static str = "entitiesCreated:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Created ").text(draw::count(self.created, "entity", "entities"));
            line.literal(if self.entities.is_empty() { "." } else { ": " });
            draw::list(line, &self.entities, |line, entity| {
                line.code(&entity.name);
            });
        });
        draw::names(markdown, "Skipped, because they exist already: ", &self.skipped);
        for similar in &self.similar {
            markdown.bullet(|line| {
                line.code(&similar.name).literal(" looks like ").code(&similar.existing).literal(": it ");
                line.text(&similar.reason).literal(".");
            });
        }
    }

    fn records(&self) -> usize {
        self.entities.len() + self.skipped.len() + self.similar.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_together(keep, &mut [&mut self.entities, &mut self.skipped, &mut self.similar]);
        self.squeeze();
        None
    }
}

pub(super) async fn create_entities(
    cx: Cx<Graph>,
    arguments: CreateEntities,
) -> Result<EntitiesCreated, Stop> {
    let outcome =
        change(&cx, move |graph| graph.store.create_entities(&graph.project, &arguments.entities)).await?;
    if outcome.at.is_some() {
        tell(&cx, outcome.entities.iter().map(|entity| entity.name.as_str()));
    }
    let mut answer = EntitiesCreated {
        created: outcome.entities.len(),
        entities: outcome.entities,
        skipped: outcome.skipped,
        similar: outcome.similar,
        room: room(&cx),
    };
    answer.squeeze();
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeleteEntities {
    /// The names of the entities to delete.
    entity_names: Vec<String>,
}

/// The entities that were deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntitiesDeleted {
    /// Always true, for clients that look for it: a call that fails is an error.
    success: bool,
    /// Always the same, for clients that look for it: `deleted` and `missing` say what happened.
    message: &'static str,
    /// How many were deleted.
    deleted: usize,
    /// The names of those deleted.
    entity_names: Vec<String>,
    /// The names that did not exist.
    missing: Vec<String>,
    /// How many relations were deleted with them.
    relations_deleted: usize,
}

impl Present for EntitiesDeleted {
    const KIND: &'static str = "entitiesDeleted:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Deleted ").text(draw::count(self.deleted, "entity", "entities")).literal(" and ");
            line.text(draw::count(self.relations_deleted, "relation", "relations"));
            line.literal(if self.entity_names.is_empty() { "." } else { ": " });
            draw::list(line, &self.entity_names, |line, name| {
                line.code(name);
            });
        });
        draw::names(markdown, "Not found: ", &self.missing);
    }

    fn records(&self) -> usize {
        self.entity_names.len() + self.missing.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_together(keep, &mut [&mut self.entity_names, &mut self.missing]);
        None
    }
}

pub(super) async fn delete_entities(
    cx: Cx<Graph>,
    arguments: DeleteEntities,
) -> Result<EntitiesDeleted, Stop> {
    let outcome =
        change(&cx, move |graph| graph.store.delete_entities(&graph.project, &arguments.entity_names))
            .await?;
    if outcome.at.is_some() {
        tell(&cx, outcome.entity_names.iter().map(String::as_str));
    }
    Ok(EntitiesDeleted {
        success: true,
        message: "Entities deleted successfully",
        deleted: outcome.entity_names.len(),
        entity_names: outcome.entity_names,
        missing: outcome.missing,
        relations_deleted: outcome.relations_deleted,
    })
}
