//! `read_graph` and `open_nodes`.

use diptych::{Cx, Markdown, More, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{keep_touching, room, squeeze};
use super::{Graph, ask, draw};
use crate::store::{Cursor, Entity, GraphPage, GraphSummary, PageRequest, Relation, StoreError};

/// The page that begins at a cursor, as a client sent it.
pub(super) fn page_from(cursor: Option<&str>) -> Result<PageRequest, StoreError> {
    let cursor = cursor.filter(|cursor| !cursor.is_empty()).map(str::parse::<Cursor>).transpose()?;
    Ok(PageRequest { cursor, ..PageRequest::default() })
}

/// Keeps the first records of a page and returns the cursor at which the rest begins.
pub(super) fn cut_page(page: &mut GraphPage, keep: usize, room: usize) -> Option<String> {
    page.next = page.cursor_after(keep);
    page.entities.truncate(keep);
    page.relations.truncate(keep - page.entities.len());
    squeeze_page(page, room);
    page.next.as_ref().map(ToString::to_string)
}

/// Shortens the only record of a page where it would not fit by itself.
pub(super) fn squeeze_page(page: &mut GraphPage, room: usize) {
    if page.entities.len() + page.relations.len() == 1 {
        squeeze(&mut page.entities, &mut page.relations, room);
    }
}

/// What a page leaves out.
pub(super) fn more_of(page: &GraphPage, total: usize) -> Option<More> {
    let next = page.next.as_ref()?;
    Some(More { total, next_cursor: Some(next.to_string()) })
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadGraph {
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

/// The graph, or a page of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WholeGraph {
    /// What the whole graph is made of.
    summary: GraphSummary,
    #[serde(flatten)]
    page: GraphPage,
    #[serde(skip)]
    room: usize,
}

impl Present for WholeGraph {
    const KIND: &'static str = "graph:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        draw::summary(markdown, &self.summary);
        draw::entities(markdown, 2, &self.page.entities);
        draw::relations(markdown, 2, &self.page.relations, false);
    }

    fn records(&self) -> usize {
        self.page.entities.len() + self.page.relations.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_page(&mut self.page, keep, self.room)
    }

    fn more(&self) -> Option<More> {
        let total = self.summary.entities.saturating_add(self.summary.relations);
        more_of(&self.page, usize::try_from(total).unwrap_or(usize::MAX))
    }
}

pub(super) async fn read_graph(cx: Cx<Graph>, arguments: ReadGraph) -> Result<WholeGraph, Stop> {
    let (budget, room) = (cx.budget(), room(&cx));
    ask(&cx, move |graph| {
        let request = page_from(arguments.cursor.as_deref())?;
        let mut page = graph.store.read_graph_within(&graph.scope, &request, budget)?;
        squeeze_page(&mut page, room);
        Ok(WholeGraph { summary: graph.store.summary(&graph.scope)?, page, room })
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OpenNodes {
    /// The exact names of the entities.
    names: Vec<String>,
}

/// Entities by name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Nodes {
    /// Those that exist, in the order in which they were made.
    entities: Vec<Entity>,
    /// The relations that start or end at them.
    relations: Vec<Relation>,
    /// How many of the names exist.
    found: usize,
    /// The names that do not exist.
    missing: Vec<String>,
    /// Present when they have more relations than are given here.
    #[serde(skip_serializing_if = "is_false")]
    more_relations: bool,
    #[serde(skip)]
    room: usize,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl Present for Nodes {
    const KIND: &'static str = "nodes:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Found ").text(draw::count(self.found, "entity", "entities")).literal(".");
        });
        draw::names(markdown, "Not found: ", &self.missing);
        draw::entities(markdown, 2, &self.entities);
        draw::relations(markdown, 2, &self.relations, self.more_relations);
    }

    fn records(&self) -> usize {
        self.entities.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.entities.truncate(keep);
        keep_touching(&self.entities, &mut self.relations);
        self.squeeze();
        None
    }
}

impl Nodes {
    fn squeeze(&mut self) {
        if self.entities.len() == 1 {
            self.more_relations |= squeeze(&mut self.entities, &mut self.relations, self.room);
        }
    }
}

pub(super) async fn open_nodes(cx: Cx<Graph>, arguments: OpenNodes) -> Result<Nodes, Stop> {
    let room = room(&cx);
    // A single entity that fills the answer is squeezed into less.
    let bytes = if arguments.names.len() == 1 { room } else { cx.budget() };
    let opened =
        ask(&cx, move |graph| graph.store.open_nodes_within(&graph.scope, &arguments.names, bytes)).await?;
    let mut nodes = Nodes {
        found: opened.entities.len(),
        entities: opened.entities,
        relations: opened.relations,
        missing: opened.missing,
        more_relations: opened.more_relations,
        room,
    };
    nodes.squeeze();
    Ok(nodes)
}
