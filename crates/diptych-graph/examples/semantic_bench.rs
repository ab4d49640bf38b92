//! What searches by meaning cost: `cargo xtask bench semantic`, or
//! `cargo run --release -p diptych-graph --example semantic_bench -- MODEL_FOLDER [10000 100000]`.
//!
//! Texts to embed, queries and their vectors are real. The vectors of the entities are made up, since a scan takes as long
//! for any, and making a hundred thousand would take most of an hour.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark for people at a terminal")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use diptych::Server;
use diptych::client::Client;
use diptych_graph::store::{NewEntity, Project, Scope, Store, StoreOptions};
use diptych_graph::{GraphOptions, toolset};
use diptych_search::{Embedder as _, LocalModel, Purpose, normalise};
use serde_json::json;

const ROUNDS: usize = 300;
const WORDS: [&str; 48] = [
    "orchard", "invoice", "server", "customer", "deadline", "holiday", "bridge", "ladder", "contract",
    "winter", "meeting", "garden", "database", "password", "library", "engine", "teacher", "market",
    "ticket", "harbour", "payment", "forest", "kitchen", "release", "doctor", "railway", "project", "summer",
    "machine", "village", "update", "concert", "battery", "weather", "backup", "journey", "printer",
    "recipe", "network", "window", "budget", "island", "schedule", "camera", "report", "mountain",
    "language", "storage",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn word(&mut self) -> String {
        // A number now and then, so that not every word is in a fiftieth of all texts.
        let word = WORDS[usize::try_from(self.roll() % 48).unwrap()];
        if self.roll().is_multiple_of(3) { format!("{word}{}", self.roll() % 2_000) } else { word.to_owned() }
    }

    fn sentence(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        let mut vector: Vec<f32> =
            (0..dimensions).map(|_| (self.roll() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect();
        assert!(normalise(&mut vector));
        vector
    }
}

/// The median and the 99th percentile in milliseconds, and the processor time of all threads for each round, which says
/// more where others are at work.
fn times(rounds: usize, mut run: impl FnMut(usize)) -> String {
    let before = processor_time();
    let mut times: Vec<Duration> = (0..rounds)
        .map(|round| {
            let start = Instant::now();
            run(round);
            start.elapsed()
        })
        .collect();
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    let processor = (processor_time() - before) / rounds as f64;
    format!("{:.2} / {:.2} ({processor:.1})", at(50), at(99))
}

/// What this process has had so far, in milliseconds, to the hundredth of a second.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) * 10.0
}

fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    format!("{} MB", kilobytes / 1024)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().expect("the folder of the model");
    let mut sizes: Vec<usize> = arguments[1..].iter().map(|size| size.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000];
    }
    let mut dice = Dice(42);
    let model = Arc::new(LocalModel::new(folder));
    println!("# Searches by meaning\n\n| what | figure |\n|---|---:|");
    println!("| memory before the model is loaded | {} |", resident());
    let start = Instant::now();
    let name = model.model().unwrap();
    println!("| loading {name} | {:.0} ms |", start.elapsed().as_secs_f64() * 1e3);
    println!("| memory with the model | {} |", resident());
    let dimensions = model.embed(&["x"], Purpose::Query).unwrap()[0].len();
    let texts: Vec<String> =
        (0..128).map(|_| format!("{}, note. {}", dice.sentence(2), dice.sentence(20))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let tokens: usize = texts.iter().map(|text| model.tokens(text).unwrap().len()).sum();
    for (way, purpose) in
        [("in the background, one thread", Purpose::Background), ("in bulk, all cores", Purpose::Bulk)]
    {
        let start = Instant::now();
        model.embed(&texts, purpose).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "| embedding {way}, texts of {} tokens | {:.0} texts/s, {:.0} tokens/s |",
            tokens / texts.len(),
            texts.len() as f64 / seconds,
            tokens as f64 / seconds
        );
    }
    let queries: Vec<String> = (0..ROUNDS).map(|_| dice.sentence(7)).collect();
    let embedding = times(100, |round| drop(model.embed(&[&queries[round]], Purpose::Query).unwrap()));
    println!("| embedding a query of 7 words, p50 / p99 (processor) | {embedding} ms |");

    println!(
        "\n| entities | vectors in memory | first search | scan, p50 / p99 (processor) ms | semantic call | hybrid call | resident |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for size in sizes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.db");
        fill(&path, &name, size, dimensions, &mut dice);
        let store = Store::open(&path, StoreOptions::default()).unwrap();
        let vectors: Vec<Vec<f32>> = (0..ROUNDS).map(|_| dice.vector(dimensions)).collect();
        let scope = Scope::Project(Project::default());
        let start = Instant::now();
        store.nearest_entities(&scope, &[], &vectors[0], 60, -1.0).unwrap();
        let first = start.elapsed().as_secs_f64() * 1e3;
        let scan = times(ROUNDS, |round| {
            drop(store.nearest_entities(&scope, &[], &vectors[round], 60, -1.0).unwrap());
        });
        let memory = store.mirror_memory() as f64 / 1e6;
        drop(store);
        let mut options = GraphOptions::new(&path, Project::default().as_str());
        options.embedder = Some(model.clone());
        let server = Server::builder("bench", "0.0.0").toolset(toolset(options)).build().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let call = |query: &str, hybrid: bool| {
            let arguments = json!({"query": query, "hybridSearch": hybrid, "minSimilarity": 0.0});
            let reply =
                runtime.block_on(Client::in_process(&server).call("semantic_search", arguments)).unwrap();
            assert_eq!(reply.structured.unwrap()["mode"], if hybrid { "hybrid" } else { "semantic" });
        };
        call("first", true);
        let semantic = times(ROUNDS, |round| call(&queries[round], false));
        let hybrid = times(ROUNDS, |round| call(&queries[round], true));
        println!(
            "| {size} | {memory:.1} MB | {first:.0} ms | {scan} | {semantic} | {hybrid} | {} |",
            resident()
        );
    }
}

/// A store with so many entities, all of which have vectors.
fn fill(path: &std::path::Path, model: &str, size: usize, dimensions: usize, dice: &mut Dice) {
    let store = Store::open(path, StoreOptions::default()).unwrap();
    for start in (0..size).step_by(1_000) {
        let batch: Vec<NewEntity> = (start..size.min(start + 1_000))
            .map(|number| NewEntity {
                name: format!("{} {number}", dice.word()),
                entity_type: ["person", "service", "decision", "file", "task"][number % 5].into(),
                observations: (0..3).map(|_| dice.sentence(9)).collect(),
            })
            .collect();
        store.create_entities(&Project::default(), &batch).unwrap();
    }
    store.adopt_model(model).unwrap();
    loop {
        let texts = store.claim_texts(1_000, Duration::from_secs(600)).unwrap();
        if texts.is_empty() {
            return;
        }
        let vectors: Vec<Vec<f32>> = texts.iter().map(|_| dice.vector(dimensions)).collect();
        assert!(store.keep_vectors(model, &texts, &vectors).unwrap());
    }
}
