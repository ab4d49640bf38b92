//! A graph before it is opened: what the toolset and whoever watches the file have in common.

use std::sync::Arc;

use diptych::{Masked as _, ToolError};
use tokio::sync::OnceCell;

use super::{Graph, GraphOptions};

/// A graph that is opened when something is first asked of it. Clones are the same graph.
#[derive(Clone, Debug)]
pub struct Memory {
    options: GraphOptions,
    graph: Arc<OnceCell<Graph>>,
}

impl From<GraphOptions> for Memory {
    fn from(options: GraphOptions) -> Self {
        Memory { options, graph: Arc::default() }
    }
}

impl Memory {
    /// The open graph. When opening fails, the next call tries again.
    pub(super) async fn open(&self) -> Result<Graph, ToolError> {
        let open = || async {
            let options = self.options.clone();
            let opened = tokio::task::spawn_blocking(move || Graph::open(options)).await.masked()?;
            opened.map_err(ToolError::from)
        };
        self.graph.get_or_try_init(open).await.cloned()
    }
}
