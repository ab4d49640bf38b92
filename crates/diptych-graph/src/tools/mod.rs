//! The toolset itself: what clients see of a store.
//!
//! Each file has the arguments, the functions and the answers of a few tools. What they share is here (the state,
//! and how a tool reaches the store), in `draw` (how records look), in `fit` (how answers stay small enough) and in
//! `fault` (what a client reads of a [`StoreError`]).

mod announce;
mod draw;
mod entities;
mod fault;
mod fit;
mod history;
mod memory;
mod observations;
mod past;
mod prompts;
mod reading;
mod relations;
mod resources;
mod search;
mod semantic;
mod shapes;

use std::path::PathBuf;
use std::sync::Arc;

pub use announce::announce;
use diptych::{Cx, Partial, Stop, Tool, Toolset, prompt, resource, tool};
use diptych_search::Embedder;
pub use memory::Memory;

use crate::meaning::{Meaning, Worker};
use crate::store::{Day, Project, Scope, Store, StoreError, StoreOptions};

/// How many names a completion offers.
const COMPLETIONS: usize = 100;

/// Which graph the toolset serves, and how.
#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// The file that holds the store. It is made, with its folder, at first use.
    pub database: PathBuf,
    /// The project that is written to, and read from unless `across_projects` says otherwise.
    pub project: String,
    /// Whether reading and searching look at all projects of the store.
    pub across_projects: bool,
    /// The rules of the store, its greatest size and its clock.
    pub store: StoreOptions,
    /// What makes the vectors for searches by meaning; without one they are by words.
    pub embedder: Option<Arc<dyn Embedder>>,
}

impl GraphOptions {
    /// The graph of one project in one file, everything else as usual.
    pub fn new(database: impl Into<PathBuf>, project: impl Into<String>) -> Self {
        GraphOptions {
            database: database.into(),
            project: project.into(),
            across_projects: false,
            store: StoreOptions::default(),
            embedder: None,
        }
    }
}

/// An open graph: the state that the tools share. Clones are the same graph.
#[derive(Clone, Debug)]
pub struct Graph {
    store: Arc<Store>,
    project: Project,
    scope: Scope,
    meaning: Option<Arc<Meaning>>,
    worker: Option<Arc<Worker>>,
}

impl Graph {
    fn open(options: GraphOptions) -> Result<Self, StoreError> {
        let project = Project::new(options.project);
        let scope = if options.across_projects { Scope::All } else { Scope::Project(project.clone()) };
        let store = Arc::new(Store::open(&options.database, options.store)?);
        let meaning = options.embedder.map(|embedder| Arc::new(Meaning::new(Arc::clone(&store), embedder)));
        let worker = meaning.as_ref().map(|meaning| Arc::new(Worker::start(Arc::clone(meaning))));
        Ok(Graph { store, project, scope, meaning, worker })
    }
}

/// The toolset `graph`: 17 tools, the resources `memory://knowledge-graph`, `memory://entities/{name}` and
/// `memory://days/{date}`, and the prompts `init-project`, `get-context`, `remember-work` and `review-context`.
///
/// The store is opened when something is first asked of it, on a thread of its own: no handshake waits for it. Clients
/// hear of what this server writes; [`announce`] tells them what others write to the same file.
///
/// ```
/// use diptych::Server;
/// use diptych_graph::{GraphOptions, toolset};
///
/// # let folder = tempfile::tempdir()?;
/// let options = GraphOptions::new(folder.path().join("graph.db"), "garden");
/// let server = Server::builder("memory", "1.0.0").toolset(toolset(options)).build()?;
/// assert_eq!(server.tools().len(), 17);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn toolset(memory: impl Into<Memory>) -> Toolset<Graph> {
    let memory = memory.into();
    let toolset = Toolset::lazy("graph", move || {
        let memory = memory.clone();
        async move { memory.open().await }
    });
    let tools = writing().into_iter().chain(reading_tools()).chain(remembering());
    let toolset =
        tools.fold(toolset, |toolset, tool| toolset.with(tool.reshape(shapes::camel_case).closed_world()));
    toolset
        .with(
            resource(resources::GRAPH, resources::graph)
                .name("knowledge-graph")
                .title("Knowledge Graph")
                .description("All entities and relations. Subscribe to it to hear of every change.")
                .mime_type("application/json"),
        )
        .with(
            resource(resources::ENTITY, resources::entity)
                .name("entity")
                .title("Entity")
                .description("One entity in full, with the relations that touch it.")
                .mime_type("application/json")
                .complete("name", complete_name),
        )
        .with(
            resource(resources::DAY, resources::day)
                .name("day")
                .title("Day")
                .description(
                    "What a day has changed in the graph: what was learnt, made, changed and deleted.",
                )
                .mime_type("application/json")
                .complete("date", complete_day),
        )
        .with(prompt("init-project", prompts::init_project).title("Start remembering a project").description(
            "Sets up the memory of a project: what it is, what it is for, who and what belongs to it.",
        ))
        .with(
            prompt("get-context", prompts::get_context)
                .title("Recall what is known")
                .description("Brings what is remembered about a task or a topic into the conversation.")
                .complete("entityType", complete_type),
        )
        .with(
            prompt("remember-work", prompts::remember_work)
                .title("Remember work")
                .description("Stores what was done, decided and learnt, where it belongs in the graph.")
                .complete("about", complete_name),
        )
        .with(
            prompt("review-context", prompts::review_context)
                .title("Review the memory")
                .description("Checks what is remembered for gaps, contradictions and things said twice.")
                .complete("about", complete_name),
        )
}

fn writing() -> Vec<Tool<Graph>> {
    vec![
        tool("create_entities", entities::create_entities)
            .title("Create entities")
            .description(
                "Remembers new things: people, components, decisions, anything with a name. A name that exists \
                 already is skipped and left as it is (use add_observations for it); names that look like an \
                 existing one are pointed out.",
            )
            .additive()
            .idempotent(),
        tool("create_relations", relations::create_relations)
            .title("Create relations")
            .description(
                "Connects entities that exist: from, relationType (in active voice, such as depends_on), to. \
                 A relation that exists already is skipped; use update_relation to change one.",
            )
            .additive()
            .idempotent(),
        tool("add_observations", observations::add_observations)
            .title("Add observations")
            .description(
                "Adds facts to entities that exist, one sentence to each observation. Facts that an entity has \
                 already are not added twice.",
            )
            .reshape(shapes::flat_observations)
            .additive()
            .idempotent(),
        tool("delete_entities", entities::delete_entities)
            .title("Delete entities")
            .description(
                "Deletes entities by name, with their observations and every relation that touches them. Their \
                 history stays.",
            )
            .idempotent(),
        tool("delete_observations", observations::delete_observations)
            .title("Delete observations")
            .description("Takes observations away from entities. Each must be given word for word.")
            .idempotent(),
        tool("delete_relations", relations::delete_relations)
            .title("Delete relations")
            .description("Deletes relations by from, to and relationType. The entities stay.")
            .idempotent(),
        tool("update_relation", relations::update_relation)
            .title("Update a relation")
            .description(
                "Changes the strength, confidence or metadata of a relation. What is not given stays as it is; \
                 metadata is replaced as a whole.",
            )
            .reshape(shapes::nested_relation)
            .idempotent(),
    ]
}

fn reading_tools() -> Vec<Tool<Graph>> {
    vec![
        tool("read_graph", reading::read_graph)
            .title("Read the graph")
            .description(
                "Returns a summary of the whole graph, then its entities and relations in the order in which they \
                 were made. A large graph comes in pages; to find something, search_nodes is quicker.",
            )
            .read_only(),
        tool("search_nodes", search::search_nodes)
            .title("Search nodes")
            .description(
                "Finds entities by words in their names, types and observations, best first, misspelt words \
                 included, with the relations that touch them. An empty query finds everything.",
            )
            .read_only(),
        tool("open_nodes", reading::open_nodes)
            .title("Open nodes")
            .description("Returns entities by their exact names, with the relations that touch them.")
            .read_only(),
        tool("get_relation", relations::get_relation)
            .title("Get a relation")
            .description("Returns one relation with its strength, confidence, metadata and version.")
            .read_only(),
        tool("semantic_search", semantic::semantic_search)
            .title("Search by meaning")
            .description(
                "Finds entities by meaning, and by words as well unless told otherwise. Without an embedder it searches \
                 by words alone, and says so in mode and reason.",
            )
            .read_only(),
        tool("get_entity_embedding", semantic::get_entity_embedding)
            .title("Get an entity's embedding")
            .description("Returns the vector that stands for an entity in searches by meaning.")
            .read_only(),
    ]
}

fn remembering() -> Vec<Tool<Graph>> {
    vec![
        tool("get_entity_history", history::get_entity_history)
            .title("Get an entity's history")
            .description("Returns every version of an entity, oldest first, even of one that was deleted.")
            .read_only(),
        tool("get_relation_history", history::get_relation_history)
            .title("Get a relation's history")
            .description("Returns every version of a relation, oldest first, even of one that was deleted.")
            .read_only(),
        tool("get_graph_at_time", past::get_graph_at_time)
            .title("Get the graph at a time")
            .description("Returns the graph as it was at a moment in the past.")
            .read_only(),
        tool("get_decayed_graph", past::get_decayed_graph)
            .title("Get the decayed graph")
            .description(
                "Returns the graph with the confidence of each relation faded by its age: halved with every \
                 half-life since the relation last changed.",
            )
            .read_only(),
    ]
}

/// Asks the store something, on a thread that may block.
async fn ask<T: Send + 'static>(
    cx: &Cx<Graph>,
    question: impl FnOnce(&Graph) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Stop> {
    let graph: Arc<Graph> = cx.shared_state();
    Ok(cx.blocking(move || question(&graph)).await??)
}

/// Writes to the store. Once begun it is seen through: a client that goes away meanwhile does not undo it.
async fn change<T: Send + 'static>(
    cx: &Cx<Graph>,
    write: impl FnOnce(&Graph) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Stop> {
    cx.commit();
    let outcome = ask(cx, write).await;
    if let Some(worker) = &cx.state().worker {
        worker.wake();
    }
    outcome
}

/// Tells subscribers that the graph has changed, and these entities in it.
fn tell<'a>(cx: &Cx<Graph>, entities: impl IntoIterator<Item = &'a str>) {
    for name in entities {
        cx.server().resource_updated(resources::entity_uri(name));
    }
    cx.server().resource_updated(resources::day_uri(Day::of(cx.state().store.clock())));
    // Last, because a slow listener loses the oldest notices first.
    cx.server().resource_updated(resources::GRAPH);
}

async fn complete_name(cx: Cx<Graph>, typed: Partial) -> Result<Vec<String>, Stop> {
    ask(&cx, move |graph| graph.store.names_beginning(&graph.scope, &typed.value, COMPLETIONS)).await
}

async fn complete_day(cx: Cx<Graph>, typed: Partial) -> Result<Vec<String>, Stop> {
    let days = ask(&cx, |graph| graph.store.days(&graph.scope)).await?;
    Ok(typed.filter(days.iter().map(ToString::to_string)))
}

async fn complete_type(cx: Cx<Graph>, typed: Partial) -> Result<Vec<String>, Stop> {
    let summary = ask(&cx, |graph| graph.store.summary(&graph.scope)).await?;
    Ok(typed.filter(summary.entity_types.iter().map(|counted| &counted.name)))
}
