//! `get_entity_history` and `get_relation_history`.

use diptych::{Cx, Markdown, More, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{room, squeeze_version};
use super::reading::page_from;
use super::{Graph, ask, draw};
use crate::store::{EntityVersion, HistoryPage, Numbered, RelationKey, RelationVersion, Timestamp};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GetEntityHistory {
    /// The name of the entity.
    entity_name: String,
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

/// Every version of an entity, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntityHistory {
    /// The entity's name.
    entity_name: String,
    /// The versions, oldest first.
    #[serde(serialize_with = "versions")]
    #[schemars(with = "Vec<EntityVersion>")]
    history: HistoryPage<EntityVersion>,
    /// How many versions there are in all.
    total_versions: u64,
    #[serde(skip)]
    room: usize,
}

fn versions<V: Serialize, S: serde::Serializer>(
    page: &HistoryPage<V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    page.versions.serialize(serializer)
}

impl Present for EntityHistory {
    const KIND: &'static str = "entityHistory:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.code(&self.entity_name).literal(": ");
            line.text(draw::count(self.total_versions, "version", "versions")).literal(".");
        });
        for version in &self.history.versions {
            markdown.paragraph(|line| {
                line.literal("v")
                    .text(version.version)
                    .literal(" (")
                    .text(&version.entity_type)
                    .literal(") ");
                span(line, version.valid_from, version.valid_to);
            });
            draw::observations(markdown, &version.observations, version.omitted_observations);
        }
    }

    fn records(&self) -> usize {
        self.history.versions.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        let cursor = cut(&mut self.history, keep);
        squeeze_version(&mut self.history.versions, self.room);
        cursor
    }

    fn more(&self) -> Option<More> {
        more(&self.history)
    }
}

pub(super) async fn get_entity_history(
    cx: Cx<Graph>,
    arguments: GetEntityHistory,
) -> Result<EntityHistory, Stop> {
    let room = room(&cx);
    ask(&cx, move |graph| {
        let page = page_from(arguments.cursor.as_deref())?;
        let entity_name = arguments.entity_name;
        let mut history = graph.store.entity_history(&graph.project, &entity_name, &page)?;
        squeeze_version(&mut history.versions, room);
        Ok(EntityHistory { entity_name, total_versions: history.total, history, room })
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GetRelationHistory {
    /// The name of the entity it starts at.
    from: String,
    /// The name of the entity it leads to.
    to: String,
    /// What sort of connection it is.
    relation_type: String,
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

/// Every version of a relation, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RelationHistory {
    #[serde(flatten)]
    key: RelationKey,
    /// The versions, oldest first.
    #[serde(serialize_with = "versions")]
    #[schemars(with = "Vec<RelationVersion>")]
    history: HistoryPage<RelationVersion>,
    /// How many versions there are in all.
    total_versions: u64,
}

impl Present for RelationHistory {
    const KIND: &'static str = "relationHistory:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            draw::key(line, &self.key);
            line.literal(": ").text(draw::count(self.total_versions, "version", "versions")).literal(".");
        });
        for version in &self.history.versions {
            markdown.bullet(|line| {
                line.literal("v").text(version.version).literal(" ");
                span(line, version.valid_from, version.valid_to);
                draw::facts(line, version.strength, version.confidence, version.metadata.as_ref());
            });
        }
    }

    fn records(&self) -> usize {
        self.history.versions.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut(&mut self.history, keep)
    }

    fn more(&self) -> Option<More> {
        more(&self.history)
    }
}

pub(super) async fn get_relation_history(
    cx: Cx<Graph>,
    arguments: GetRelationHistory,
) -> Result<RelationHistory, Stop> {
    ask(&cx, move |graph| {
        let page = page_from(arguments.cursor.as_deref())?;
        let GetRelationHistory { from, to, relation_type, .. } = arguments;
        let key = RelationKey { from, to, relation_type };
        let history = graph.store.relation_history(&graph.project, &key, &page)?;
        Ok(RelationHistory { key, total_versions: history.total, history })
    })
    .await
}

fn cut<V: Numbered>(page: &mut HistoryPage<V>, keep: usize) -> Option<String> {
    page.next = page.cursor_after(keep);
    page.versions.truncate(keep);
    page.next.as_ref().map(ToString::to_string)
}

fn more<V>(page: &HistoryPage<V>) -> Option<More> {
    let next = page.next.as_ref()?;
    Some(More {
        total: usize::try_from(page.total).unwrap_or(usize::MAX),
        next_cursor: Some(next.to_string()),
    })
}

fn span(line: &mut diptych::Line, from: Timestamp, to: Option<Timestamp>) {
    line.literal("from ").text(from);
    match to {
        Some(to) => line.literal(" to ").text(to),
        None => line.literal(" until now"),
    };
}
