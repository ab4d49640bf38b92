//! Who is subscribed to what: so that a toolset need not watch for changes that nobody wants to hear of.

use std::collections::BTreeMap;

use tokio::sync::watch;

/// The resources that clients are subscribed to, on all transports. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Subscriptions(watch::Receiver<BTreeMap<String, usize>>);

impl Subscriptions {
    /// The URIs that at least one client is subscribed to.
    pub fn current(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }

    /// Waits until somebody subscribes or unsubscribes. `false` when the server is gone.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

/// Counts the subscriptions of a server.
#[derive(Debug, Clone)]
pub(crate) struct Counter(watch::Sender<BTreeMap<String, usize>>);

impl Default for Counter {
    fn default() -> Self {
        Counter(watch::Sender::new(BTreeMap::new()))
    }
}

impl Counter {
    pub(crate) fn subscriptions(&self) -> Subscriptions {
        Subscriptions(self.0.subscribe())
    }

    /// Counts one more subscription, for as long as the value lives.
    pub(crate) fn subscribe(&self, uri: &str) -> Subscription {
        self.0.send_modify(|counts| *counts.entry(uri.to_owned()).or_default() += 1);
        Subscription { uri: uri.to_owned(), counter: self.clone() }
    }
}

/// One client's subscription to one resource.
#[derive(Debug)]
pub(crate) struct Subscription {
    uri: String,
    counter: Counter,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.counter.0.send_modify(|counts| {
            if let Some(count) = counts.get_mut(&self.uri) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&self.uri);
                }
            }
        });
    }
}
