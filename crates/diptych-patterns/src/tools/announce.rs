//! Word of changes: what clients have read or subscribed to may no longer be what is served.

use std::sync::Arc;

use diptych::Server;
use tokio::task::JoinHandle;

use super::resources::{CATALOGUE, pattern_uri};
use crate::{Catalogue, Library};

/// Tells the clients of a server whenever its library changes, until the task is aborted or the server's
/// runtime ends. To be called once, within a runtime, for a server that has the library's
/// [`toolset`](crate::toolset).
///
/// A library that cannot change is not even read for this.
pub fn announce(server: &Server, library: &Library) -> JoinHandle<()> {
    let (server, library) = (server.clone(), library.clone());
    tokio::spawn(async move {
        if !library.can_change() {
            return;
        }
        // Reading the folders blocks.
        let Ok(mut changes) = tokio::task::spawn_blocking(move || library.subscribe()).await else { return };
        let mut before = Arc::clone(&changes.borrow_and_update());
        while changes.changed().await.is_ok() {
            let now = Arc::clone(&changes.borrow_and_update());
            tell(&server, &before, &now).await;
            before = now;
        }
    })
}

async fn tell(server: &Server, before: &Catalogue, now: &Catalogue) {
    let added = now.patterns().any(|pattern| before.get(&pattern.id).is_none());
    let gone: Vec<_> = before.patterns().filter(|pattern| now.get(&pattern.id).is_none()).collect();
    if added || !gone.is_empty() {
        server.resources_changed();
    }
    let changed =
        now.patterns().filter(|pattern| before.get(&pattern.id).is_some_and(|earlier| earlier != *pattern));
    let touched: Vec<String> =
        gone.into_iter().chain(changed).map(|pattern| pattern_uri(&pattern.id)).collect();
    server.resource_updated(CATALOGUE);
    for (number, uri) in touched.into_iter().enumerate() {
        server.resource_updated(uri);
        // A whole folder may have changed: those who forward this need a chance to keep up.
        if number % 32 == 31 {
            tokio::task::yield_now().await;
        }
    }
}
