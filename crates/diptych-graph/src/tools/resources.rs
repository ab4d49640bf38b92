//! The resources: the whole graph, and each entity.

use diptych::{Contents, Cx, NoArguments, Stop, UriTemplate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Graph, ask};
use crate::store::{MissingEntity, PageRequest, StoreError};

/// The whole graph.
pub(super) const GRAPH: &str = "memory://knowledge-graph";
/// Each entity.
pub(super) const ENTITY: &str = "memory://entities/{name}";
/// More records than this are not given at once: read_graph pages through them.
const RECORDS: usize = 20_000;

/// The URI of an entity.
pub(super) fn entity_uri(name: &str) -> String {
    UriTemplate::parse(ENTITY)
        .map_or_else(|_| ENTITY.to_owned(), |template| template.expand(&[("name", name)]))
}

pub(super) async fn graph(cx: Cx<Graph>, _: NoArguments) -> Result<Contents, Stop> {
    ask(&cx, |graph| {
        let page = graph.store.read_graph(&graph.scope, &PageRequest { limit: RECORDS, cursor: None })?;
        let mut contents = json!({"entities": page.entities, "relations": page.relations});
        if let Some(next) = &page.next {
            let summary = graph.store.summary(&graph.scope)?;
            contents["truncated"] = json!({
                "shown": page.entities.len() + page.relations.len(),
                "total": summary.entities + summary.relations,
                "nextCursor": next.to_string(),
            });
        }
        Ok(Contents::json("", &contents))
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EntityPage {
    /// The entity's name.
    name: String,
}

pub(super) async fn entity(cx: Cx<Graph>, page: EntityPage) -> Result<Contents, Stop> {
    ask(&cx, move |graph| {
        let name = page.name;
        let opened = graph.store.open_nodes(&graph.scope, std::slice::from_ref(&name))?;
        if opened.entities.is_empty() {
            return Err(missing(graph, name)?);
        }
        // Across projects there may be several of the same name.
        let contents = json!({"entities": opened.entities, "relations": opened.relations});
        Ok(Contents::json("", &contents).name(name))
    })
    .await
}

/// The error for a name that is none, with those that come nearest.
pub(super) fn missing(graph: &Graph, name: String) -> Result<StoreError, StoreError> {
    let nearest = graph.store.nearest_names(&graph.scope, &name, 3)?;
    Ok(StoreError::MissingEntities(vec![MissingEntity { name, nearest }]))
}
