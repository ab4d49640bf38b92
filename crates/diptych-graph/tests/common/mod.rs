//! A store in a folder that goes away, and short ways to say things.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

pub mod embedder;
pub mod paraphrases;
pub mod served;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use diptych_graph::store::*;
use tempfile::TempDir;

pub struct TestStore {
    pub folder: TempDir,
    store: Store,
    clock: Arc<AtomicI64>,
}

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl TestStore {
    pub fn new() -> Self {
        Self::with(StoreOptions::default())
    }

    /// With a clock that stands still until it is moved.
    pub fn with(options: StoreOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
        let hand = clock.clone();
        let options = StoreOptions {
            clock: Arc::new(move || Timestamp::from_millis(hand.load(Ordering::SeqCst))),
            ..options
        };
        let store = Store::open(&folder.path().join("graph.db"), options).unwrap();
        Self { folder, store, clock }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("graph.db")
    }

    pub fn pass_millis(&self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    pub fn pass_days(&self, days: i64) {
        self.clock.fetch_add(days * 86_400_000, Ordering::SeqCst);
    }

    pub fn make(&self, name: &str, entity_type: &str, observations: &[&str]) -> EntitiesCreated {
        self.create_entities(&project(), &[entity(name, entity_type, observations)]).unwrap()
    }

    pub fn relate(&self, from: &str, relation_type: &str, to: &str) -> RelationsCreated {
        self.create_relations(&project(), &[relation(from, relation_type, to)]).unwrap()
    }

    pub fn all(&self) -> GraphPage {
        self.read_graph(&scope(), &PageRequest::everything()).unwrap()
    }

    pub fn found(&self, query: &str) -> Vec<String> {
        self.search_for(query, &[], 20).entities.into_iter().map(|entity| entity.name).collect()
    }

    pub fn search_for(&self, query: &str, types: &[&str], limit: usize) -> SearchPage {
        let request = SearchRequest {
            query: query.into(),
            entity_types: texts(types),
            page: PageRequest { limit, cursor: None },
        };
        self.search(&scope(), &request).unwrap()
    }
}

pub fn project() -> Project {
    Project::default()
}

pub fn scope() -> Scope {
    Scope::Project(project())
}

pub fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

pub fn entity(name: &str, entity_type: &str, observations: &[&str]) -> NewEntity {
    NewEntity { name: name.into(), entity_type: entity_type.into(), observations: texts(observations) }
}

pub fn relation(from: &str, relation_type: &str, to: &str) -> NewRelation {
    NewRelation {
        from: from.into(),
        to: to.into(),
        relation_type: relation_type.into(),
        facts: RelationFacts::default(),
    }
}

pub fn key(from: &str, relation_type: &str, to: &str) -> RelationKey {
    RelationKey { from: from.into(), to: to.into(), relation_type: relation_type.into() }
}

pub fn additions(entity_name: &str, contents: &[&str]) -> NewObservations {
    NewObservations { entity_name: entity_name.into(), contents: texts(contents) }
}

pub fn of(entity_name: &str, observations: &[&str]) -> EntityObservations {
    EntityObservations { entity_name: entity_name.into(), observations: texts(observations) }
}

pub fn names(entities: &[Entity]) -> Vec<&str> {
    entities.iter().map(|entity| entity.name.as_str()).collect()
}
