//! `get_graph_at_time` and `get_decayed_graph`.

use diptych::{Cx, Markdown, More, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::room;
use super::reading::{cut_page, more_of, page_from, squeeze_page};
use super::{Graph, ask, draw};
use crate::store::{Decay, GraphPage, NotATime, StoreError, Timestamp};

/// A moment as clients write it: milliseconds since 1970, or ISO 8601.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Moment {
    /// Milliseconds since 1970.
    Millis(f64),
    /// ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31.
    Text(String),
}

impl Moment {
    fn read(&self, argument: &str) -> Result<Timestamp, StoreError> {
        match self {
            // A number beyond the range of dates is brought to its end.
            #[allow(clippy::cast_possible_truncation)]
            Moment::Millis(millis) => Ok(Timestamp::from_millis(*millis as i64)),
            Moment::Text(text) => text.parse().map_err(|NotATime| {
                StoreError::invalid(
                    argument,
                    "must be milliseconds since 1970 or an ISO 8601 time such as 2026-01-31T12:00:00Z",
                )
            }),
        }
    }
}

/// How many records a graph of the past has in all. Counted only where a page does not show them all.
fn total(graph: &Graph, page: &GraphPage, at: Timestamp, is_first: bool) -> Result<usize, StoreError> {
    if is_first && page.next.is_none() {
        return Ok(page.entities.len() + page.relations.len());
    }
    graph.store.records_at(&graph.scope, at)
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GetGraphAtTime {
    /// The moment: milliseconds since 1970, or ISO 8601.
    timestamp: Moment,
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

/// The graph as it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GraphAtTime {
    /// The moment.
    timestamp: Timestamp,
    /// The graph as it was then.
    graph: GraphPage,
    #[serde(skip)]
    total: usize,
    #[serde(skip)]
    room: usize,
}

impl Present for GraphAtTime {
    const KIND: &'static str = "graphAtTime:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("The graph at ").text(self.timestamp);
            line.literal(if self.total == 0 { " was empty." } else { ":" });
        });
        draw::entities(markdown, 2, &self.graph.entities);
        draw::relations(markdown, 2, &self.graph.relations, false);
    }

    fn records(&self) -> usize {
        self.graph.entities.len() + self.graph.relations.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_page(&mut self.graph, keep, self.room)
    }

    fn more(&self) -> Option<More> {
        more_of(&self.graph, self.total)
    }
}

pub(super) async fn get_graph_at_time(cx: Cx<Graph>, arguments: GetGraphAtTime) -> Result<GraphAtTime, Stop> {
    let room = room(&cx);
    ask(&cx, move |graph| {
        let timestamp = arguments.timestamp.read("timestamp")?;
        let request = page_from(arguments.cursor.as_deref())?;
        let mut page = graph.store.graph_at(&graph.scope, timestamp, &request)?;
        squeeze_page(&mut page, room);
        let total = total(graph, &page, timestamp, request.cursor.is_none())?;
        Ok(GraphAtTime { timestamp, graph: page, total, room })
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GetDecayedGraph {
    /// The moment to which confidence has faded: milliseconds since 1970, or ISO 8601. Now, without it.
    reference_time: Option<Moment>,
    /// After how many days a confidence has halved.
    #[serde(default = "thirty")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    half_life_days: f64,
    /// The least that is left of a confidence, 0 to 1.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0, max = 1))]
    min_confidence: f64,
    /// Where to go on, from the answer before.
    cursor: Option<String>,
}

fn thirty() -> f64 {
    30.0
}

fn tenth() -> f64 {
    0.1
}

/// The graph with faded confidences.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DecayedGraph {
    /// The moment to which confidence has faded.
    reference_time: Timestamp,
    /// After how many days a confidence has halved.
    half_life_days: f64,
    /// The graph at that moment.
    graph: GraphPage,
    #[serde(skip)]
    total: usize,
    #[serde(skip)]
    room: usize,
}

impl Present for DecayedGraph {
    const KIND: &'static str = "decayedGraph:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Confidence at ").text(self.reference_time).literal(", half-life ");
            line.text(self.half_life_days).literal(" days.");
        });
        draw::entities(markdown, 2, &self.graph.entities);
        draw::relations(markdown, 2, &self.graph.relations, false);
    }

    fn records(&self) -> usize {
        self.graph.entities.len() + self.graph.relations.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_page(&mut self.graph, keep, self.room).map(|cursor| dated(self.reference_time, &cursor))
    }

    fn more(&self) -> Option<More> {
        let mut more = more_of(&self.graph, self.total)?;
        more.next_cursor = more.next_cursor.map(|cursor| dated(self.reference_time, &cursor));
        Some(more)
    }
}

pub(super) async fn get_decayed_graph(
    cx: Cx<Graph>,
    arguments: GetDecayedGraph,
) -> Result<DecayedGraph, Stop> {
    let room = room(&cx);
    ask(&cx, move |graph| {
        let (begun, cursor) = undated(arguments.cursor.as_deref());
        let reference_time = match (&arguments.reference_time, begun) {
            (Some(moment), _) => moment.read("referenceTime")?,
            (None, Some(begun)) => begun,
            (None, None) => graph.store.now()?,
        };
        let request = page_from(cursor)?;
        let half_life_days = arguments.half_life_days;
        let decay = Decay { half_life_days, floor: arguments.min_confidence };
        let mut page = graph.store.decayed_graph(&graph.scope, reference_time, &decay, &request)?;
        squeeze_page(&mut page, room);
        let total = total(graph, &page, reference_time, request.cursor.is_none())?;
        Ok(DecayedGraph { reference_time, half_life_days, graph: page, total, room })
    })
    .await
}

/// A cursor with the moment at which the first page was made: the next ones are of the same graph.
fn dated(moment: Timestamp, cursor: &str) -> String {
    format!("{}~{cursor}", moment.as_millis())
}

fn undated(cursor: Option<&str>) -> (Option<Timestamp>, Option<&str>) {
    match cursor.and_then(|cursor| cursor.split_once('~')) {
        Some((moment, cursor)) => (moment.parse().ok().map(Timestamp::from_millis), Some(cursor)),
        None => (None, cursor),
    }
}
