//! Many processes on one store, and processes that are killed while they write.
//!
//! The other processes are this test program, started again as the test `worker` with its orders in the environment.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::*;
use diptych_graph::store::*;

const ORDERS: &str = "DIPTYCH_TEST_WORKER";
const KEPT: &str = "kept: ";

fn start_worker(store: &Path, prefix: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
        .env(ORDERS, format!("{prefix}\n{count}\n{}", store.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing unless it was started by another test.
#[test]
fn worker() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let [prefix, count, path] = orders.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let store = Store::open(Path::new(path), StoreOptions::default()).unwrap();
    for index in 0..count.parse().unwrap() {
        let name = format!("{prefix} {index}");
        store.create_entities(&project(), &[entity(&name, "thing", &["made by a worker"])]).unwrap();
        println!("{KEPT}{name}");
        if index % 5 == 4 {
            let before = format!("{prefix} {}", index - 1);
            store.create_relations(&project(), &[relation(&before, "precedes", &name)]).unwrap();
            store.add_observations(&project(), &[additions(&name, &["and changed"])]).unwrap();
            println!("{KEPT}{before} -> {name}");
        }
    }
}

fn acknowledged(line: &str) -> Option<String> {
    // The test runner may have put something before it on the line.
    line.split_once(KEPT).map(|(_, name)| name.to_owned())
}

fn stored(store: &Store) -> BTreeSet<String> {
    let graph = store.read_graph(&scope(), &PageRequest::everything()).unwrap();
    let relations = graph.relations.iter().map(|relation| format!("{} -> {}", relation.from, relation.to));
    graph.entities.iter().map(|entity| entity.name.clone()).chain(relations).collect()
}

fn run_together(processes: usize, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    // None of them finds a store: they make it at the same time.
    let path = folder.path().join("graph.db");
    let workers: Vec<_> =
        (0..processes).map(|number| start_worker(&path, &format!("w{number}"), count)).collect();
    let mut told = BTreeSet::new();
    for mut worker in workers {
        let output = BufReader::new(worker.stdout.take().unwrap());
        told.extend(output.lines().filter_map(|line| acknowledged(&line.unwrap())));
        assert!(worker.wait().unwrap().success());
    }
    let store = Store::open(&path, StoreOptions::default()).unwrap();
    assert_eq!(told.len(), processes * (count + count / 5));
    assert_eq!(stored(&store), told);
    assert!(store.check_integrity().unwrap().is_empty());
}

#[test]
fn two_processes_lose_nothing() {
    run_together(2, 200);
}

#[test]
fn eight_processes_lose_nothing() {
    run_together(8, 200);
}

#[test]
fn what_was_acknowledged_survives_fifty_kills() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let mut told = BTreeSet::new();
    for round in 0..50 {
        let mut worker = start_worker(&path, &format!("round {round}"), 100_000);
        let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines();
        let enough = told.len() + 1 + round * 7 % 40;
        while told.len() < enough {
            told.extend(lines.next().unwrap().ok().as_deref().and_then(acknowledged));
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
        // What was on its way when it died was acknowledged too.
        told.extend(lines.map_while(Result::ok).filter_map(|line| acknowledged(&line)));
        if round % 10 == 9 {
            let store = Store::open(&path, StoreOptions::default()).unwrap();
            let kept = stored(&store);
            let lost: Vec<_> = told.iter().filter(|name| !kept.contains(*name)).collect();
            assert!(lost.is_empty(), "lost {lost:?}");
            assert_eq!(store.check_integrity().unwrap(), Vec::<String>::new());
            // A record that was being written is there as a whole or not at all.
            assert!(kept.len() <= told.len() + 2 * (round + 1));
        }
    }
}

#[test]
fn a_hundred_writes_at_once_in_one_process_are_all_kept() {
    let store = TestStore::new();
    std::thread::scope(|threads| {
        for number in 0..100 {
            let store = &store;
            threads.spawn(move || {
                store.make(&format!("thing {number}"), "thing", &[]);
                store.open_nodes(&scope(), &[format!("thing {number}")]).unwrap();
            });
        }
    });
    let all = store.all();
    assert_eq!(all.entities.len(), 100);
    let times: BTreeSet<_> = all.entities.iter().map(|entity| entity.created_at).collect();
    assert_eq!(times.len(), 100, "each write has a time of its own");
}

#[test]
fn readers_see_whole_batches_while_others_write() {
    let store = TestStore::new();
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            for round in 0..40 {
                let batch: Vec<_> =
                    (0..5).map(|index| entity(&format!("{round} {index}"), "t", &["x"])).collect();
                store.create_entities(&project(), &batch).unwrap();
            }
        });
        for _ in 0..3 {
            threads.spawn(|| {
                let mut last = 0;
                while last < 200 {
                    let seen = store.all().entities.len();
                    assert!(seen.is_multiple_of(5) && seen >= last);
                    last = seen;
                }
            });
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_watcher_sees_the_changes_of_others() {
    let store = TestStore::new();
    let other = Store::open(&store.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.last_change().unwrap(), None);
    other.create_entities(&project(), &[entity("a", "t", &[])]).unwrap();
    let first = store.last_change_of(&project()).unwrap();
    assert!(first.is_some());
    other.delete_entities(&project(), &texts(&["a"])).unwrap();
    assert!(store.last_change_of(&project()).unwrap() > first);
    assert!(store.summary(&scope()).unwrap().entity_types.is_empty());
}
