//! Word of what others write: several servers may share a file, and each has subscribers of its own.

use std::collections::HashMap;
use std::time::Duration;

use diptych::{Server, Subscriptions};
use tokio::task::JoinHandle;

use super::{Graph, Memory, resources};
use crate::store::StoreError;

/// How often the file is looked at while somebody is subscribed.
const PAUSE: Duration = Duration::from_millis(500);

/// Tells the subscribers of a server whenever another process has changed what they are subscribed to, until the task
/// is aborted or the server's runtime ends. To be called once, within a runtime, for a server that has the memory's
/// [`toolset`](crate::toolset). While nobody is subscribed, nothing is read or even opened.
pub fn announce(server: &Server, memory: &Memory) -> JoinHandle<()> {
    let (server, memory) = (server.clone(), memory.clone());
    tokio::spawn(async move {
        let mut subscriptions = server.subscriptions();
        let mut watch: Option<Watch> = None;
        loop {
            let wanted = ours(&subscriptions);
            if wanted.is_empty() {
                watch = None;
                if !subscriptions.changed().await {
                    return;
                }
                continue;
            }
            watch = match look(&memory, watch, wanted).await {
                Ok((watch, changed)) => {
                    changed.into_iter().for_each(|uri| server.resource_updated(uri));
                    Some(watch)
                }
                // A store that cannot be read says so to whoever calls a tool.
                Err(()) => None,
            };
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                alive = subscriptions.changed() => if !alive { return },
            }
        }
    })
}

/// The subscriptions that are about the graph.
fn ours(subscriptions: &Subscriptions) -> Vec<String> {
    let mut uris = subscriptions.current();
    uris.retain(|uri| uri.starts_with(resources::SCHEME));
    uris
}

/// What was seen at the last look.
struct Watch {
    writes: i64,
    states: HashMap<String, u64>,
}

async fn look(
    memory: &Memory,
    watch: Option<Watch>,
    wanted: Vec<String>,
) -> Result<(Watch, Vec<String>), ()> {
    let graph = memory.open().await.map_err(drop)?;
    let looked = tokio::task::spawn_blocking(move || compare(&graph, watch, wanted)).await;
    looked.map_err(drop)?.map_err(drop)
}

fn compare(
    graph: &Graph,
    watch: Option<Watch>,
    wanted: Vec<String>,
) -> Result<(Watch, Vec<String>), StoreError> {
    let writes = graph.store.writes_of_others()?;
    let mut watch = watch.unwrap_or_else(|| Watch { writes, states: HashMap::new() });
    let anything_new = watch.writes != writes;
    let mut states = HashMap::new();
    let mut changed = Vec::new();
    for uri in wanted {
        let known = watch.states.remove(&uri);
        let state = match known {
            Some(state) if !anything_new => state,
            _ => resources::state(graph, &uri)?,
        };
        if known.is_some_and(|known| known != state) {
            changed.push(uri.clone());
        }
        states.insert(uri, state);
    }
    Ok((Watch { writes, states }, changed))
}
