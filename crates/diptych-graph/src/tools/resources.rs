//! The resources: the whole graph, each entity, and each day.

use diptych::{Contents, Cx, NoArguments, Stop, ToolError, UriTemplate};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Graph, ask};
use crate::store::{Day, MissingEntity, PageRequest, Scope, StoreError};

/// The whole graph.
pub(super) const GRAPH: &str = "memory://knowledge-graph";
/// Each entity.
pub(super) const ENTITY: &str = "memory://entities/{name}";
/// Each day.
pub(super) const DAY: &str = "memory://days/{date}";
/// What the URIs of all of them begin with.
pub(super) const SCHEME: &str = "memory://";
/// More records than this are not given at once: read_graph pages through them.
const RECORDS: usize = 20_000;
/// A day that has changed more entities or relations than this is told in part.
const CHANGES: usize = 2_000;

/// The URI of an entity.
pub(super) fn entity_uri(name: &str) -> String {
    UriTemplate::parse(ENTITY)
        .map_or_else(|_| ENTITY.to_owned(), |template| template.expand(&[("name", name)]))
}

/// The URI of a day.
pub(super) fn day_uri(day: Day) -> String {
    DAY.replace("{date}", &day.to_string())
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

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DayPage {
    /// The day in UTC, such as 2026-01-31.
    date: String,
}

pub(super) async fn day(cx: Cx<Graph>, page: DayPage) -> Result<Contents, Stop> {
    let Ok(day) = page.date.parse::<Day>() else {
        let problem = format!("{:?} is not a date.", page.date);
        return Err(ToolError::not_found(problem).hint("Write it as in 2026-01-31.").into());
    };
    ask(&cx, move |graph| Ok(Contents::json("", &day_contents(graph, day)?).name(day.to_string()))).await
}

fn day_contents(graph: &Graph, day: Day) -> Result<Value, StoreError> {
    let changes = graph.store.changes_on(&graph.scope, day, CHANGES)?;
    let mut contents = json!({
        "date": day.to_string(),
        "entities": changes.entities,
        "relations": changes.relations,
    });
    if changes.more {
        contents["truncated"] = json!({"shown": changes.entities.len() + changes.relations.len()});
    }
    Ok(contents)
}

/// A number that is another when the contents of a resource are.
pub(super) fn state(graph: &Graph, uri: &str) -> Result<u64, StoreError> {
    let variable = |template: &str, name: &str| {
        let template = UriTemplate::parse(template).ok()?;
        let variables = template.matches(uri)?;
        variables.into_iter().find(|(variable, _)| *variable == name).map(|(_, value)| value)
    };
    let text = if let Some(name) = variable(ENTITY, "name") {
        let opened = graph.store.open_nodes(&graph.scope, &[name])?;
        json!({"entities": opened.entities, "relations": opened.relations}).to_string()
    } else if let Some(day) = variable(DAY, "date").and_then(|date| date.parse::<Day>().ok()) {
        day_contents(graph, day)?.to_string()
    } else {
        let last = match &graph.scope {
            Scope::All => graph.store.last_change()?,
            Scope::Project(project) => graph.store.last_change_of(project)?,
        };
        last.map(|last| last.to_string()).unwrap_or_default()
    };
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(&text, &mut hasher);
    Ok(std::hash::Hasher::finish(&hasher))
}
