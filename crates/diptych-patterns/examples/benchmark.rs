//! How long a catalogue takes to load and to search, at 60, 300 and 10,000 patterns.
//!
//! `cargo xtask bench patterns`
//!
//! The files are the embedded catalogue's, over and over, with words of their own mixed in, so that the
//! vocabulary grows with the number of files as it does in life.

#![allow(clippy::print_stdout, reason = "the report is what it is for")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs, process};

use diptych_patterns::{Library, Options, Source, Watch};

const SIZES: [usize; 3] = [60, 300, 10_000];

const QUERIES: [&str; 12] = [
    "Effect.all",
    "catchTag",
    "retry with backoff",
    "how do I run several effects in parallel?",
    "close the database connection when the program ends",
    "semaphor",
    "dependancy injection",
    "error",
    "effect",
    "stream",
    "Schedule.exponential",
    "validate user input and collect all errors instead of the first one",
];

fn main() -> Result<(), Box<dyn Error>> {
    // Each size is measured in a process of its own, so that memory is its own too.
    if let Some(size) = env::args().nth(1) {
        return measure(size.parse()?);
    }
    let started = Instant::now();
    let embedded = Library::embedded().current();
    println!(
        "The embedded catalogue: {} patterns in {:.0} ms.\n",
        embedded.len(),
        started.elapsed().as_secs_f64() * 1e3
    );
    println!("| patterns | load ms | memory MB | search p50 µs | p99 µs | slowest query | edit served ms |");
    println!("|---:|---:|---:|---:|---:|---|---:|");
    for size in SIZES {
        process::Command::new(env::current_exe()?).arg(size.to_string()).status()?;
    }
    Ok(())
}

fn measure(size: usize) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    write_catalogue(folder.path(), size)?;
    let before = resident();
    let library = Library::open(
        [Source::Folder(folder.path().to_owned())],
        Options { watch: Watch::Events, ..Options::default() },
    )?;
    let started = Instant::now();
    let catalogue = library.current();
    let load = started.elapsed();
    assert_eq!(catalogue.len(), size);
    let memory = resident().saturating_sub(before);

    // The watch is set up on a thread of its own, which reads every folder.
    std::thread::sleep(Duration::from_secs(5));
    let rounds = if size > 1000 { 50 } else { 200 };
    let mut times = Vec::new();
    let mut slowest = (Duration::ZERO, "");
    for round in 0..rounds {
        for query in QUERIES {
            let started = Instant::now();
            let found = catalogue.find(query, None, None);
            let time = started.elapsed();
            std::hint::black_box(found);
            // The first rounds warm the caches.
            if round >= rounds / 10 {
                times.push(time);
                slowest = slowest.max((time, query));
            }
        }
    }
    times.sort_unstable();
    let edited = edit(&library, folder.path())?;
    println!(
        "| {size} | {:.0} | {} | {} | {} | {} ({} µs) | {:.0} |",
        load.as_secs_f64() * 1e3,
        memory / 1024,
        times[times.len() / 2].as_micros(),
        times[times.len() * 99 / 100].as_micros(),
        slowest.1,
        slowest.0.as_micros(),
        edited.as_secs_f64() * 1e3,
    );
    Ok(())
}

/// How long it takes until an edit is served.
fn edit(library: &Library, folder: &Path) -> Result<Duration, Box<dyn Error>> {
    let file = folder.join("group-0/pattern-0.md");
    let text = fs::read_to_string(&file)?.replacen("title: ", "title: Edited ", 1);
    let started = Instant::now();
    fs::write(file, text)?;
    while !library.current().get("pattern-0").is_some_and(|pattern| pattern.title.starts_with("Edited")) {
        std::thread::sleep(Duration::from_millis(2));
        if started.elapsed() > Duration::from_secs(30) {
            return Err("the edit was never served".into());
        }
    }
    Ok(started.elapsed())
}

fn write_catalogue(folder: &Path, size: usize) -> Result<(), Box<dyn Error>> {
    let embedded = Library::embedded().current();
    let patterns: Vec<_> = embedded.patterns().collect();
    for number in 0..size {
        let pattern = patterns[number % patterns.len()];
        let group = folder.join(format!("group-{}", number % 20));
        fs::create_dir_all(&group)?;
        let mut text = format!(
            "---\nid: pattern-{number}\ntitle: {:?}\ndifficulty: {}\nsummary: {:?}\ntags: {:?}\n---\n\n",
            format!("{} {}", pattern.title, word(number)),
            pattern.difficulty,
            pattern.summary,
            pattern.tags,
        );
        for section in &pattern.sections {
            writeln!(text, "## {}\n\n{}\n", section.title, section.content)?;
        }
        writeln!(text, "## More\n\n{}", (0..30).map(|n| word(number * 7 + n)).collect::<Vec<_>>().join(" "))?;
        fs::write(group.join(format!("pattern-{number}.md")), text)?;
    }
    Ok(())
}

/// A word that looks like one; different numbers give different words, up to some thousands.
fn word(number: usize) -> String {
    let syllables = ["ba", "ke", "li", "mo", "nu", "pra", "ste", "vi", "dor", "gan", "hel", "tis", "ru"];
    let mut rest = number.wrapping_mul(2_654_435_761) % 28_561;
    let mut word = String::new();
    for _ in 0..4 {
        word.push_str(syllables[rest % syllables.len()]);
        rest /= syllables.len();
    }
    word
}

/// Resident memory in KB, where the system tells.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1))
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}
