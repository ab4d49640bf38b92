//! Toolsets: named groups of tools, prompts and resources that share a state.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use crate::answer::Panels;
use crate::call::Cx;
use crate::prompt::{Messages, Prompt, PromptDefinition};
use crate::resource::{Reading, Resource, ResourceDefinition};
use crate::stop::ToolError;
use crate::tool::{Bound, Rules, Run, Tool, ToolDefinition};

/// A named group of tools, prompts and resources.
pub struct Toolset<S = ()> {
    name: String,
    state: State<S>,
    tools: Vec<Tool<S>>,
    prompts: Vec<Prompt<S>>,
    resources: Vec<Resource<S>>,
}

/// State that is there, or that is opened when a tool first needs it.
enum State<S> {
    Ready(Arc<S>),
    Lazy(Arc<Lazy<S>>),
}

impl<S> Clone for State<S> {
    fn clone(&self) -> Self {
        match self {
            State::Ready(state) => State::Ready(Arc::clone(state)),
            State::Lazy(lazy) => State::Lazy(Arc::clone(lazy)),
        }
    }
}

struct Lazy<S> {
    cell: OnceCell<Arc<S>>,
    open: Box<dyn Fn() -> BoxFuture<'static, Result<S, ToolError>> + Send + Sync>,
}

impl<S: Send + Sync + 'static> Toolset<S> {
    /// A toolset whose tools share `state`.
    pub fn new(name: impl Into<String>, state: S) -> Self {
        Self::of(name.into(), State::Ready(Arc::new(state)))
    }

    /// A toolset whose state is opened at first use, after the handshake. When opening fails, that call
    /// fails and the next one tries again.
    pub fn lazy<F, Fut>(name: impl Into<String>, open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, ToolError>> + Send + 'static,
    {
        let open = Box::new(move || -> BoxFuture<'static, _> { Box::pin(open()) });
        Self::of(name.into(), State::Lazy(Arc::new(Lazy { cell: OnceCell::new(), open })))
    }

    fn of(name: String, state: State<S>) -> Self {
        Toolset { name, state, tools: Vec::new(), prompts: Vec::new(), resources: Vec::new() }
    }

    /// Adds a tool, a prompt or a resource.
    #[must_use]
    pub fn with(mut self, part: impl Part<S>) -> Self {
        part.join(&mut self);
        self
    }

    /// Forgets the type of the state: what a server is made of.
    pub(crate) fn bind(self) -> BoundToolset {
        let state = &self.state;
        let completions = |list: Vec<(String, Run<S, Vec<String>>)>| -> Vec<(String, Bound<Vec<String>>)> {
            list.into_iter().map(|(argument, run)| (argument, bind(state, run))).collect()
        };
        BoundToolset {
            name: self.name,
            tools: self
                .tools
                .into_iter()
                .map(|tool| BoundTool {
                    definition: tool.definition,
                    run: bind(state, tool.run),
                    rules: tool.rules,
                })
                .collect(),
            prompts: self
                .prompts
                .into_iter()
                .map(|prompt| BoundPrompt {
                    definition: prompt.definition,
                    run: bind(state, prompt.run),
                    completions: completions(prompt.completions),
                })
                .collect(),
            resources: self
                .resources
                .into_iter()
                .map(|resource| BoundResource {
                    definition: resource.definition,
                    run: bind(state, resource.run),
                    completions: completions(resource.completions),
                })
                .collect(),
        }
    }
}

fn bind<S: Send + Sync + 'static, T: 'static>(state: &State<S>, run: Run<S, T>) -> Bound<T> {
    match state.clone() {
        State::Ready(state) => {
            Arc::new(move |call, arguments| run(Cx::new(Arc::clone(&state), call), arguments))
        }
        State::Lazy(lazy) => Arc::new(move |call, arguments| {
            let (lazy, run) = (Arc::clone(&lazy), Arc::clone(&run));
            Box::pin(async move {
                let state = lazy.cell.get_or_try_init(|| async { (lazy.open)().await.map(Arc::new) }).await?;
                run(Cx::new(Arc::clone(state), call), arguments).await
            })
        }),
    }
}

impl<S> std::fmt::Debug for Toolset<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Toolset")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .field("prompts", &self.prompts)
            .field("resources", &self.resources)
            .finish_non_exhaustive()
    }
}

/// What a toolset is made of: [`Tool`], [`Prompt`] or [`Resource`].
pub trait Part<S> {
    /// Adds itself.
    fn join(self, toolset: &mut Toolset<S>);
}

impl<S> Part<S> for Tool<S> {
    fn join(self, toolset: &mut Toolset<S>) {
        toolset.tools.push(self);
    }
}

impl<S> Part<S> for Prompt<S> {
    fn join(self, toolset: &mut Toolset<S>) {
        toolset.prompts.push(self);
    }
}

impl<S> Part<S> for Resource<S> {
    fn join(self, toolset: &mut Toolset<S>) {
        toolset.resources.push(self);
    }
}

/// A toolset with its state inside.
pub(crate) struct BoundToolset {
    pub(crate) name: String,
    pub(crate) tools: Vec<BoundTool>,
    pub(crate) prompts: Vec<BoundPrompt>,
    pub(crate) resources: Vec<BoundResource>,
}

pub(crate) struct BoundTool {
    pub(crate) definition: ToolDefinition,
    pub(crate) run: Bound<Box<dyn Panels>>,
    pub(crate) rules: Rules,
}

pub(crate) struct BoundPrompt {
    pub(crate) definition: PromptDefinition,
    pub(crate) run: Bound<Messages>,
    pub(crate) completions: Vec<(String, Bound<Vec<String>>)>,
}

pub(crate) struct BoundResource {
    pub(crate) definition: ResourceDefinition,
    pub(crate) run: Bound<Reading>,
    pub(crate) completions: Vec<(String, Bound<Vec<String>>)>,
}
