//! The toolset itself: what clients see of the network.

mod search;

use std::sync::Arc;
use std::time::Duration;

use diptych::{Cx, Stop, ToolError, Toolset, tool};
use serde_json::json;

use crate::history::{self, Histories};
use crate::identity::Directory;
use crate::network::{Anonymous, Caller, Web};
use crate::options::BlueskyOptions;
use crate::reference::Shown;

/// How long fetching a whole history may take.
const FETCHING: Duration = Duration::from_secs(15 * 60);

/// The state that the tools share.
#[derive(Debug)]
pub struct Bluesky {
    /// Which network, and where things are kept.
    pub(crate) options: BlueskyOptions,
    pub(crate) web: Web,
    pub(crate) directory: Arc<Directory>,
    pub(crate) histories: Histories,
}

impl Bluesky {
    /// The public view of the network, without an account.
    pub(crate) fn public(&self) -> Anonymous {
        Anonymous { web: self.web.clone(), service: self.options.appview.clone() }
    }
}

/// In whose eyes to read: those of the public.
pub(crate) async fn reader(cx: &Cx<Bluesky>, _account: Option<&str>) -> Result<Box<dyn Caller>, Stop> {
    Ok(Box::new(cx.state().public()))
}

/// The posts that this caller was shown.
pub(crate) fn shown(cx: &Cx<Bluesky>) -> Arc<Shown> {
    cx.storage().get_or_put(Shown::default)
}

/// An argument that is not what it should be.
pub(crate) fn invalid(path: &str, problem: &str) -> ToolError {
    ToolError::client(format!("Invalid input: {path} {problem}"))
        .detail("violations", json!([{"path": path, "problem": problem}]))
}

/// The toolset `bluesky`.
#[must_use]
pub fn toolset(options: BlueskyOptions) -> Toolset<Bluesky> {
    let web = Web::new(&options);
    let directory = Arc::new(Directory::new(web.clone(), &options));
    let histories = Histories::new(options.cache.join("histories"), history::DEFAULT_LIMIT);
    Toolset::new("bluesky", Bluesky { options, web, directory, histories }).with(
        tool("search", search::search)
            .title("Search posts")
            .description(search::DESCRIPTION)
            .read_only()
            .time_limit(FETCHING),
    )
}
