//! `create_relations`, `delete_relations`, `get_relation` and `update_relation`.

use diptych::{Cx, Markdown, Present, Stop, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{cut_together, room, squeeze};
use super::{Graph, ask, change, draw, tell};
use crate::store::{NewRelation, Relation, RelationFacts, RelationKey};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateRelations {
    /// The connections to remember. Both ends must exist.
    relations: Vec<NewRelation>,
}

/// The relations that were made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RelationsCreated {
    /// How many were made.
    created: usize,
    /// Those made.
    relations: Vec<Relation>,
    /// Those that existed already, and were left as they are.
    skipped: Vec<RelationKey>,
    #[serde(skip)]
    room: usize,
}

impl RelationsCreated {
    /// One relation may be larger than a small budget, and what was made must not be hidden behind an error.
    fn squeeze(&mut self) {
        if self.records() == 1 {
            squeeze(&mut [], &mut self.relations, self.room);
        }
    }
}

impl Present for RelationsCreated {
    const KIND: &'static str = "relationsCreated:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Created ").text(draw::count(self.created, "relation", "relations")).literal(".");
        });
        for relation in &self.relations {
            markdown.bullet(|line| draw::relation(line, relation));
        }
        keys(markdown, "Skipped, because they exist already:", &self.skipped);
    }

    fn records(&self) -> usize {
        self.relations.len() + self.skipped.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_together(keep, &mut [&mut self.relations, &mut self.skipped]);
        self.squeeze();
        None
    }
}

pub(super) async fn create_relations(
    cx: Cx<Graph>,
    arguments: CreateRelations,
) -> Result<RelationsCreated, Stop> {
    let outcome =
        change(&cx, move |graph| graph.store.create_relations(&graph.project, &arguments.relations)).await?;
    if outcome.at.is_some() {
        tell(&cx, ends(outcome.relations.iter().map(|relation| (&relation.from, &relation.to))));
    }
    let mut answer = RelationsCreated {
        created: outcome.relations.len(),
        relations: outcome.relations,
        skipped: outcome.skipped,
        room: room(&cx),
    };
    answer.squeeze();
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DeleteRelations {
    /// The relations to delete.
    relations: Vec<RelationKey>,
}

/// The relations that were deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RelationsDeleted {
    /// Always true, for clients that look for it: a call that fails is an error.
    success: bool,
    /// Always the same, for clients that look for it: `deleted` and `missing` say what happened.
    message: &'static str,
    /// How many were deleted.
    deleted: usize,
    /// Those deleted.
    relations: Vec<RelationKey>,
    /// Those that did not exist.
    missing: Vec<RelationKey>,
}

impl Present for RelationsDeleted {
    const KIND: &'static str = "relationsDeleted:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Deleted ").text(draw::count(self.deleted, "relation", "relations")).literal(".");
        });
        for key in &self.relations {
            markdown.bullet(|line| draw::key(line, key));
        }
        keys(markdown, "Not found:", &self.missing);
    }

    fn records(&self) -> usize {
        self.relations.len() + self.missing.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_together(keep, &mut [&mut self.relations, &mut self.missing]);
        None
    }
}

pub(super) async fn delete_relations(
    cx: Cx<Graph>,
    arguments: DeleteRelations,
) -> Result<RelationsDeleted, Stop> {
    let outcome =
        change(&cx, move |graph| graph.store.delete_relations(&graph.project, &arguments.relations)).await?;
    if outcome.at.is_some() {
        tell(&cx, ends(outcome.relations.iter().map(|key| (&key.from, &key.to))));
    }
    Ok(RelationsDeleted {
        success: true,
        message: "Relations deleted successfully",
        deleted: outcome.relations.len(),
        relations: outcome.relations,
        missing: outcome.missing,
    })
}

/// One relation.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RelationFound {
    #[serde(flatten)]
    relation: Relation,
}

impl Present for RelationFound {
    const KIND: &'static str = "relation:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        let relation = &self.relation;
        markdown.paragraph(|line| draw::relation(line, relation));
        markdown.line(|line| {
            line.literal("Version ").text(relation.version).literal(", made ").text(relation.created_at);
            line.literal(", last changed ").text(relation.updated_at).literal(".");
        });
    }
}

pub(super) async fn get_relation(cx: Cx<Graph>, key: RelationKey) -> Result<RelationFound, Stop> {
    let relation = ask(&cx, move |graph| graph.store.get_relation(&graph.project, &key)).await?;
    Ok(RelationFound { relation })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdateRelation {
    /// The name of the entity it starts at.
    from: String,
    /// The name of the entity it leads to.
    to: String,
    /// What sort of connection it is.
    relation_type: String,
    /// How strong it is, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    strength: Option<f64>,
    /// How sure it is, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// Whatever else is known about it; replaces what was known before.
    metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

pub(super) async fn update_relation(cx: Cx<Graph>, arguments: UpdateRelation) -> Result<RelationFound, Stop> {
    let UpdateRelation { from, to, relation_type, strength, confidence, metadata } = arguments;
    let facts = RelationFacts { strength, confidence, metadata };
    if facts == RelationFacts::default() {
        return Err(ToolError::client("Nothing was given to change.")
            .hint("Give strength, confidence or metadata.")
            .into());
    }
    let key = RelationKey { from, to, relation_type };
    let (before, relation) = change(&cx, move |graph| {
        let before = graph.store.get_relation(&graph.project, &key)?.version;
        Ok((before, graph.store.update_relation(&graph.project, &key, &facts)?))
    })
    .await?;
    if relation.version != before {
        tell(&cx, [relation.from.as_str(), relation.to.as_str()]);
    }
    Ok(RelationFound { relation })
}

fn keys(markdown: &mut Markdown, label: &'static str, keys: &[RelationKey]) {
    if !keys.is_empty() {
        markdown.paragraph(|line| {
            line.literal(label);
        });
        for key in keys {
            markdown.bullet(|line| draw::key(line, key));
        }
    }
}

/// The names at either end, each once.
fn ends<'a>(
    relations: impl Iterator<Item = (&'a String, &'a String)>,
) -> std::collections::BTreeSet<&'a str> {
    relations.flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect()
}
