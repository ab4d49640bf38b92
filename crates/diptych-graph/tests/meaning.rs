//! Vectors of entities: what is queued, made, kept and found, whoever dies when.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, one of which is a program for others")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::embedder::Words;
use common::*;
use diptych_graph::store::*;
use diptych_graph::{Meaning, Step};
use diptych_search::{EmbedError, Embedder as _, Purpose};

fn open(path: &Path) -> Arc<Store> {
    Arc::new(Store::open(path, StoreOptions::default()).unwrap())
}

fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    (folder, path)
}

/// Makes what can be made.
fn finish(meaning: &Meaning) -> usize {
    let mut made = 0;
    for _ in 0..10_000 {
        match meaning.step(Purpose::Background).unwrap() {
            Step::Made(count) => made += count,
            Step::Idle => return made,
            other => panic!("{other:?}"),
        }
    }
    panic!("there is no end to it");
}

fn waiting(store: &Store) -> usize {
    store.embedding_progress().unwrap().waiting
}

fn nearest(store: &Store, words: &Words, query: &str) -> Vec<usize> {
    let vector = words.embed(&[query], Purpose::Query).unwrap().remove(0);
    let near = store.nearest_entities(&scope(), &[], &vector, 10, 0.3).unwrap();
    vec![near.made, near.waiting]
}

#[test]
fn a_change_of_text_waits_for_its_vector_and_nothing_else_does() {
    let (_folder, path) = folder();
    let store = open(&path);
    let words = Words::new("words");
    let meaning = Meaning::new(Arc::clone(&store), words.clone());
    let things: Vec<_> =
        (0..40).map(|number| entity(&format!("thing {number}"), "thing", &["is new"])).collect();
    store.create_entities(&project(), &things).unwrap();
    let before = store.last_change().unwrap();
    assert_eq!(waiting(&store), 40);
    assert_eq!(finish(&meaning), 40);
    assert_eq!(store.last_change().unwrap(), before, "making vectors is no change of the graph");
    let progress = store.embedding_progress().unwrap();
    assert_eq!((progress.model.as_deref(), progress.made, progress.waiting), (Some("words"), 40, 0));

    store.create_relations(&project(), &[relation("thing 1", "precedes", "thing 2")]).unwrap();
    assert_eq!(waiting(&store), 0, "a relation changes no text");
    store.add_observations(&project(), &[additions("thing 3", &["is blue"])]).unwrap();
    store.delete_observations(&project(), &[of("thing 4", &["is new"])]).unwrap();
    assert_eq!(waiting(&store), 2);
    assert_eq!(
        store.entity_vector(&scope(), "thing 3").unwrap(),
        None,
        "the old one is not for the new text"
    );
    assert_eq!(finish(&meaning), 2);
    assert!(store.entity_vector(&scope(), "thing 3").unwrap().is_some());

    store.add_observations(&project(), &[additions("thing 5", &["for a moment"])]).unwrap();
    store.delete_observations(&project(), &[of("thing 5", &["for a moment"])]).unwrap();
    let made = words.embedded.load(Ordering::SeqCst);
    finish(&meaning);
    assert_eq!(words.embedded.load(Ordering::SeqCst), made, "what is as it was is not made again");
    store.rebuild_index().unwrap();
    finish(&meaning);
    assert_eq!((words.embedded.load(Ordering::SeqCst), waiting(&store)), (made, 0));

    store.add_observations(&project(), &[additions("thing 6", &["soon gone"])]).unwrap();
    store.delete_entities(&project(), &texts(&["thing 6", "thing 7"])).unwrap();
    assert_eq!((waiting(&store), store.embedding_progress().unwrap().made), (0, 38));
    store.create_entities(&project(), &[entity("thing 7", "thing", &["is new"])]).unwrap();
    assert_eq!(finish(&meaning), 1, "an entity that was made again has lost its vector");
    assert!(store.check_integrity().unwrap().is_empty());
}

#[test]
fn a_text_that_changes_while_its_vector_is_made_is_not_forgotten() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.create_entities(&project(), &[entity("tree", "plant", &[]), entity("bush", "plant", &[])]).unwrap();
    store.adopt_model("words").unwrap();
    let claimed = store.claim_texts(10, Duration::from_secs(60)).unwrap();
    assert_eq!(
        claimed.iter().map(|claimed| claimed.text.as_str()).collect::<Vec<_>>(),
        ["tree, plant.", "bush, plant."]
    );
    assert!(store.claim_texts(10, Duration::from_secs(60)).unwrap().is_empty(), "claimed is claimed");
    store.add_observations(&project(), &[additions("tree", &["has grown"])]).unwrap();
    let vectors = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
    assert!(store.keep_vectors("words", &claimed, &vectors).unwrap());
    assert_eq!(waiting(&store), 1);
    let again = store.claim_texts(10, Duration::from_secs(60)).unwrap();
    assert_eq!(again[0].text, "tree, plant. has grown");
    assert!(store.keep_vectors("words", &again, &[vec![1.0, 0.0]]).unwrap());
    assert_eq!(waiting(&store), 0);
}

#[test]
fn another_model_makes_all_vectors_anew() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.create_entities(&project(), &[entity("tree", "plant", &[]), entity("bush", "plant", &[])]).unwrap();
    let old = Words::new("old");
    let first = Meaning::new(Arc::clone(&store), old.clone());
    assert_eq!(finish(&first), 2);
    assert_eq!(nearest(&store, &old, "tree"), [2, 0]);

    let second = Meaning::new(open(&path), Words::new("new"));
    assert_eq!(finish(&second), 2);
    assert_eq!(store.embedding_progress().unwrap().model.as_deref(), Some("new"));
    assert_eq!(store.entity_vector(&scope(), "tree").unwrap().unwrap().model, "new");
    // The first process has to see that it is no longer its store.
    store.create_entities(&project(), &[entity("herb", "plant", &[])]).unwrap();
    assert_eq!(first.step(Purpose::Background).unwrap(), Step::OtherModel);
    assert_eq!(finish(&second), 1, "what it had claimed is free again");

    // The same name, but other dimensions: another model after all.
    store.create_entities(&project(), &[entity("moss", "plant", &[])]).unwrap();
    let claimed = store.claim_texts(1, Duration::from_secs(60)).unwrap();
    assert!(store.keep_vectors("new", &claimed, &[vec![1.0, 0.0, 0.0]]).unwrap());
    let progress = store.embedding_progress().unwrap();
    assert_eq!((progress.made, progress.waiting), (1, 3));
}

#[test]
fn a_failing_embedder_costs_no_write_and_a_refused_text_keeps_nobody_back() {
    let (_folder, path) = folder();
    let store = open(&path);
    let words = Words::new("words");
    let meaning = Meaning::new(Arc::clone(&store), words.clone());
    words.fail(Some(EmbedError::unavailable("The embedder could not be reached.")));
    store.create_entities(&project(), &[entity("tree", "plant", &[])]).unwrap();
    assert!(matches!(
        meaning.step(Purpose::Background).unwrap(),
        Step::Failed(EmbedError::Unavailable { .. })
    ));
    assert!(
        matches!(meaning.step(Purpose::Background).unwrap(), Step::Failed(_)),
        "it is there for the next try"
    );
    words.fail(None);
    assert_eq!(finish(&meaning), 1);

    store
        .create_entities(
            &project(),
            &[
                entity("bad", "plant", &["unspeakable"]),
                entity("bush", "plant", &[]),
                entity("herb", "plant", &[]),
            ],
        )
        .unwrap();
    // The three fail together, and then one by one as their time comes.
    let mut refusals = 0;
    for _ in 0..600 {
        match meaning.step(Purpose::Background).unwrap() {
            Step::Failed(EmbedError::Refused(_)) => refusals += 1,
            Step::Idle => std::thread::sleep(Duration::from_millis(20)),
            Step::Made(_) => {}
            other => panic!("{other:?}"),
        }
        if waiting(&store) == 1 {
            break;
        }
    }
    assert_eq!(waiting(&store), 1, "only the one that is refused is left");
    assert!(refusals >= 1);
    assert!(store.next_text_due().unwrap().is_some());
}

#[test]
fn what_other_processes_make_is_found_at_once() {
    let (_folder, path) = folder();
    let (here, there) = (open(&path), open(&path));
    let words = Words::new("words");
    let elsewhere = Meaning::new(Arc::clone(&there), words.clone());
    assert_eq!(nearest(&here, &words, "apple"), [0, 0], "nothing at all is no problem");
    there
        .create_entities(&project(), &[entity("apple", "fruit", &[]), entity("stone", "thing", &[])])
        .unwrap();
    assert_eq!(nearest(&here, &words, "apple")[0], 0);
    finish(&elsewhere);
    assert_eq!(nearest(&here, &words, "apple"), [2, 0]);
    there.create_entities(&project(), &[entity("pear", "fruit", &[])]).unwrap();
    assert_eq!(nearest(&here, &words, "apple"), [2, 1]);
    finish(&elsewhere);
    assert_eq!(nearest(&here, &words, "apple"), [3, 0]);
    there.delete_entities(&project(), &texts(&["apple"])).unwrap();
    assert_eq!(nearest(&here, &words, "apple"), [2, 0]);
    assert!(here.mirror_memory() > 0);
}

#[test]
fn a_store_from_before_there_were_vectors_gets_them() {
    let (_folder, path) = folder();
    let store = open(&path);
    store.create_entities(&project(), &[entity("tree", "plant", &[]), entity("bush", "plant", &[])]).unwrap();
    store.delete_entities(&project(), &texts(&["bush"])).unwrap();
    drop(store);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(
        "DROP TABLE embedding; DROP TABLE embedding_queue; DROP TABLE embedding_model; PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(file);
    assert_eq!(waiting(&open(&path)), 1);
}

const ORDERS: &str = "DIPTYCH_TEST_EMBEDDING_WORKER";

/// Does nothing unless it was started by another test. Its orders: `write` things and say which, or `embed` slowly and
/// say how many were made.
#[test]
fn worker() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let (order, path) = orders.split_once('\n').unwrap();
    let store = open(Path::new(path));
    if order == "embed" {
        let words = Words { slow: Duration::from_millis(20), ..Words::named("words") };
        let meaning = Meaning::new(Arc::clone(&store), Arc::new(words)).lease(Duration::from_millis(300));
        // Not for ever, should nobody come to kill it.
        for _ in 0..3_000 {
            match meaning.step(Purpose::Background).unwrap() {
                Step::Made(count) => println!("kept: {count}"),
                Step::Idle => std::thread::sleep(Duration::from_millis(5)),
                other => panic!("{other:?}"),
            }
        }
    } else {
        for number in 0..100_000 {
            let name = format!("{order} {number}");
            store.create_entities(&project(), &[entity(&name, "thing", &["made by a worker"])]).unwrap();
            println!("kept: {name}");
        }
    }
}

fn start(order: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
        .env(ORDERS, format!("{order}\n{}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a process after it said so many things; gives all that it said.
fn kill_after(mut child: Child, count: usize) -> Vec<String> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = |line: &str| line.split_once("kept: ").map(|(_, told)| told.to_owned());
    let mut all = Vec::new();
    while all.len() < count {
        all.extend(told(&lines.next().unwrap().unwrap()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    all.extend(lines.map_while(Result::ok).filter_map(|line| told(&line)));
    all
}

#[test]
fn kills_of_writers_and_embedders_lose_no_vector() {
    let (_folder, path) = folder();
    let mut told = BTreeSet::new();
    for round in 0..8 {
        // Two make vectors while a third writes; all are killed in the middle of it.
        let embedders = [start("embed", &path), start("embed", &path)];
        told.extend(kill_after(start(&format!("round {round}"), &path), 5 + round * 9));
        for embedder in embedders {
            kill_after(embedder, 0);
        }
    }
    told.extend(kill_after(start("last", &path), 3));
    let store = open(&path);
    let progress = store.embedding_progress().unwrap();
    let entities = store.read_graph(&scope(), &PageRequest::everything()).unwrap().entities;
    assert!(entities.len() >= told.len());
    assert_eq!(
        progress.made + progress.waiting,
        entities.len(),
        "every entity has a vector or waits for one"
    );
    assert!(progress.made > 0 && progress.waiting > 0, "{progress:?}");
    // The claims of the dead run out.
    let meaning = Meaning::new(Arc::clone(&store), Words::new("words"));
    for _ in 0..200 {
        finish(&meaning);
        if waiting(&store) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(store.embedding_progress().unwrap().made, entities.len());
    assert!(store.check_integrity().unwrap().is_empty());
}
