//! A server with the toolset, on a store whose clock stands still until something is written or it is moved.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use diptych::Server;
use diptych::client::{Client, Reply};
use diptych_graph::store::Timestamp;
use diptych_graph::{GraphOptions, StoreOptions, toolset};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct Memory {
    pub folder: TempDir,
    pub server: Server,
    pub options: GraphOptions,
    clock: Arc<AtomicI64>,
}

impl Memory {
    pub fn new() -> Self {
        Self::with(25_000, |_| ())
    }

    pub fn with(budget: usize, change: impl FnOnce(&mut GraphOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
        let hand = clock.clone();
        let mut options = GraphOptions::new(folder.path().join("deep").join("graph.db"), "garden");
        options.store = StoreOptions {
            clock: Arc::new(move || Timestamp::from_millis(hand.load(Ordering::SeqCst))),
            ..StoreOptions::default()
        };
        change(&mut options);
        let server = Server::builder("memory", "0.0.0")
            .toolset(toolset(options.clone()))
            .budget(budget)
            .strict()
            .build()
            .unwrap();
        Memory { folder, server, options, clock }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("deep").join("graph.db")
    }

    pub fn pass_days(&self, days: i64) {
        self.clock.fetch_add(days * 86_400_000, Ordering::SeqCst);
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Reply {
        Client::in_process(&self.server).call(tool, arguments).await.unwrap()
    }

    /// The structured panel of a call that must succeed.
    pub async fn done(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments).await;
        assert!(!reply.is_error, "{}", reply.text());
        reply.structured.unwrap()
    }

    /// The structured panel of a call that must fail.
    pub async fn fails(&self, tool: &str, arguments: Value) -> Value {
        let reply = self.call(tool, arguments).await;
        assert!(reply.is_error, "{}", reply.text());
        reply.structured.unwrap()
    }

    /// Both panels of a call, as a person would lay them side by side.
    pub async fn panels(&self, tool: &str, mut arguments: Value) -> String {
        arguments["format"] = json!("both");
        let reply = self.call(tool, arguments).await;
        let texts: Vec<&str> = reply.content.iter().map(|block| block["text"].as_str().unwrap()).collect();
        texts.join("\n\n=====\n\n")
    }
}

/// A small graph: two people, a project, a decision.
pub async fn garden() -> Memory {
    garden_with(None).await
}

/// The same, with an embedder.
pub async fn garden_with(embedder: Option<Arc<super::embedder::Words>>) -> Memory {
    let memory = Memory::with(25_000, |options| options.embedder = embedder.map(|embedder| embedder as _));
    memory
        .done(
            "create_entities",
            json!({"entities": [
                {"name": "Ada", "entityType": "person", "observations": ["Plants trees.", "Likes | pipes\nand new lines"]},
                {"name": "Bo", "entityType": "person", "observations": []},
                {"name": "orchard_2026", "entityType": "project", "observations": ["Forty apple trees."]}
            ]}),
        )
        .await;
    memory
        .done(
            "create_relations",
            json!({"relations": [
                {"from": "Ada", "to": "orchard_2026", "relationType": "works_on", "strength": 0.9, "confidence": 0.8, "metadata": {"since": "spring"}},
                {"from": "Bo", "to": "Ada", "relationType": "helps"}
            ]}),
        )
        .await;
    memory
}
