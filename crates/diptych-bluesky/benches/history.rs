//! How fast a history is read, made searchable and searched, and what memory that takes.
//!
//! `cargo bench -p diptych-bluesky --features synthetic --bench history [-- --quick]`. Each stage runs in a process of its own, so
//! that its peak of memory is its own. Figures are printed as a
//! Markdown table; they are for reading, not for judging.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints its figures and says where it fails"
)]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use diptych_bluesky::history::synthetic::{self, Author, Chance, ExportFile};
use diptych_bluesky::history::{Histories, Index, People, Query};
use futures_util::future::BoxFuture;

const DID: &str = "did:plc:synthetic";

fn author() -> Author {
    Author::secp256k1(DID, 7)
}

fn quiet<'a>(_: u64, _: Option<u64>) -> BoxFuture<'a, ()> {
    Box::pin(async {})
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.first().map(String::as_str) {
        Some("make") => make(Path::new(&arguments[1]), number(&arguments[2]), number(&arguments[3])),
        Some("fetch") => fetch(Path::new(&arguments[1]), Path::new(&arguments[2])),
        Some("load") => load(Path::new(&arguments[1])),
        Some("search") => search(Path::new(&arguments[1])),
        _ => all(arguments.iter().any(|argument| argument == "--quick")),
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

fn make(car: &Path, posts: u64, likes: u64) {
    synthetic::write_large(File::create(car).unwrap(), &author(), posts, likes).unwrap();
}

fn all(quick: bool) {
    let folder = tempfile::tempdir().unwrap();
    let sizes: &[(&str, u64, u64)] = if quick {
        &[("10k posts", 10_000, 0), ("100k records, 20k of them posts", 20_000, 80_000)]
    } else {
        &[("100k posts", 100_000, 0), ("1M records, 200k of them posts", 200_000, 800_000)]
    };
    println!("| repository | stage | figures |\n|---|---|---|");
    for (name, posts, likes) in sizes {
        let car = folder.path().join("repository.car");
        make(&car, *posts, *likes);
        let cache = folder.path().join(name.replace(' ', "-"));
        for (stage, rounds) in [("fetch", 1), ("load", 3), ("search", 1)] {
            for _ in 0..rounds {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.arg(stage);
                if stage == "fetch" {
                    command.arg(&car);
                }
                let output = command.arg(&cache).output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                for line in text.lines() {
                    println!("| {name} | {stage} | {line} |");
                }
            }
        }
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Reads, verifies, keeps and indexes.
fn fetch(car: &Path, cache: &Path) {
    let histories = Histories::new(cache, 8 << 30);
    let size = car.metadata().unwrap().len() as f64 / 1e6;
    let start = Instant::now();
    let history =
        run(histories.current(DID, &ExportFile { car: car.to_owned(), author: author() }, &quiet)).unwrap();
    assert!(history.behind.is_none());
    let took = start.elapsed().as_secs_f64();
    let index = &history.index;
    println!(
        "{size:.0} MB from the first byte to searchable in {took:.2} s ({:.2} s of CPU): {:.0} MB/s, {:.0} records/s, {:.0} posts/s; peak {} MB",
        cpu(),
        size / took,
        index.records() as f64 / took,
        index.len() as f64 / took,
        memory("VmHWM")
    );
}

/// From a file in the cache to the first answer.
fn load(cache: &Path) {
    let histories = Histories::new(cache, 8 << 30);
    let start = Instant::now();
    let history = run(histories.known(DID, None)).unwrap().unwrap();
    let loaded = start.elapsed();
    let found = find(&history.index, &synthetic::word(150)).1;
    println!(
        "cold cache to searchable {:.2} s ({:.2} s of CPU), first answer ({found} found) after {:.2} s: {:.0} posts/s; {} MB in use, peak {} MB",
        loaded.as_secs_f64(),
        cpu(),
        start.elapsed().as_secs_f64(),
        history.index.len() as f64 / loaded.as_secs_f64(),
        memory("VmRSS"),
        memory("VmHWM")
    );
}

fn find(index: &Index, query: &str) -> (Duration, usize) {
    let start = Instant::now();
    let query = Query::parse(query, jiff::Timestamp::now()).unwrap();
    let found = index.search(&query, &People::default(), 0, 25);
    (start.elapsed(), found.total)
}

type MakeQuery = fn(&mut Chance) -> String;

/// Searches of every kind, in turn.
fn search(cache: &Path) {
    let histories = Histories::new(cache, 8 << 30);
    let history = run(histories.known(DID, None)).unwrap().unwrap();
    let mut chance = Chance::new(99);
    let kinds: [(&str, MakeQuery); 11] = [
        ("a common word", |chance| synthetic::word(chance.below(40))),
        ("a rare word", |chance| synthetic::word(4_000 + chance.below(30_000))),
        ("two words", |chance| {
            format!("{} {}", synthetic::word(chance.below(200)), synthetic::word(chance.below(4_000)))
        }),
        ("five words", |chance| (0..5).map(|_| synthetic::word(chance.below(200)) + " ").collect()),
        ("a misspelt word", |chance| {
            let mut word = synthetic::word(2_000 + chance.below(30_000));
            word.insert(3, 'x');
            word
        }),
        ("a phrase", |chance| {
            format!("\"{} {}\"", synthetic::word(chance.below(200)), synthetic::word(chance.below(200)))
        }),
        ("an expression with words", |chance| {
            let words = [0; 3].map(|_| synthetic::word(chance.below(4_000)));
            format!("/{}( {}|{})/", words[0], words[1], words[2])
        }),
        ("an expression of a shape", |_| "/[a-z]{4}, [A-Z]\\w+!/".to_owned()),
        ("an expression with boundaries", |chance| {
            format!("/\\b{}\\w*ing\\b/", synthetic::word(chance.below(40)))
        }),
        ("operators alone", |_| "has:image after:2023-04-01 -before:2023-03-29".to_owned()),
        ("words and operators", |chance| {
            format!(
                "{} has:link -{} after:2023-03-29",
                synthetic::word(chance.below(200)),
                synthetic::word(chance.below(200))
            )
        }),
    ];
    let (mut everything, mut expressions) = (Vec::new(), Vec::new());
    for (name, make) in kinds {
        let mut took: Vec<Duration> = Vec::new();
        let (mut total, before) = (0, cpu());
        for _ in 0..200 {
            let (time, found) = find(&history.index, &make(&mut chance));
            took.push(time);
            total += found;
        }
        if name.starts_with("an expression") { &mut expressions } else { &mut everything }
            .extend_from_slice(&took);
        let each = (cpu() - before) * 1e3 / 200.0;
        println!(
            "{name}: {}, {each:.2} ms of CPU and {} found on average",
            quantiles(&mut took),
            total / 200
        );
    }
    println!("all but expressions: {}", quantiles(&mut everything));
    println!("all expressions: {}", quantiles(&mut expressions));
    println!("all: {}", quantiles(&mut [everything, expressions].concat()));
}

fn quantiles(took: &mut [Duration]) -> String {
    took.sort_unstable();
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    format!("p50 {:.2} ms, p99 {:.2} ms", at(0.5), at(0.99))
}

/// The seconds of CPU that this process has used. On a machine that others use too, this is the steadier figure.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    // User and system time, in hundredths of a second.
    (ticks(11) + ticks(12)) / 100.0
}

/// A line of the process's own figures, in MB.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
