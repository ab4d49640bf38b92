//! Measures building and searching an index over 60, 300 and 10,000 synthetic documents of 8 KB.
//!
//! `cargo run --release -p diptych-search --example bench`

use std::io::Write;
use std::time::{Duration, Instant};

use diptych_search::{Document, Index};

/// A small generator with a fixed seed: the same documents on every run and machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    /// A place in a list whose entries are as unevenly used as the words of a language.
    fn uneven(&mut self, below: usize) -> usize {
        let fraction = self.roll(1_000_000) as f64 / 1_000_000.0;
        ((below as f64).powf(fraction) as usize).saturating_sub(1).min(below - 1)
    }
}

const SYLLABLES: &[&str] = &[
    "re", "con", "ser", "vice", "stre", "am", "fi", "ber", "lay", "er", "sche", "dule", "que", "ue", "val",
    "id", "ate", "map", "tag", "catch", "all", "run", "time", "out", "ca", "che", "lo", "gic", "par", "al",
    "lel", "ing",
];

fn vocabulary(dice: &mut Dice, size: usize) -> Vec<String> {
    (0..size)
        .map(|index| {
            let mut word: String =
                (0..2 + dice.roll(3)).map(|_| SYLLABLES[dice.roll(SYLLABLES.len())]).collect();
            match index % 12 {
                0 => word = format!("Effect.{word}"),
                1 => word = format!("{word}Value{}", index % 97),
                _ => {}
            }
            word
        })
        .collect()
}

fn text(dice: &mut Dice, words: &[String], bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(&words[dice.uneven(words.len())]);
        text.push(if dice.roll(12) == 0 { '\n' } else { ' ' });
    }
    text
}

struct Source {
    id: String,
    title: String,
    summary: String,
    body: String,
    code: String,
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| documents | text MB | build ms | query p50 µs | p99 µs | worst µs |")?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|")?;
    for count in [60, 300, 10_000] {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let words = vocabulary(&mut dice, 20_000);
        let sources: Vec<Source> = (0..count)
            .map(|index| Source {
                id: format!("document-{index}"),
                title: text(&mut dice, &words, 40),
                summary: text(&mut dice, &words, 150),
                body: text(&mut dice, &words, 5_000),
                code: text(&mut dice, &words, 3_000),
            })
            .collect();
        let started = Instant::now();
        let index = Index::builder()
            .field("title", 5.0)
            .field("summary", 3.0)
            .field("body", 1.0)
            .field("code", 0.6)
            .build(sources.iter().map(|source| {
                Document::new(source.id.as_str())
                    .field("title", source.title.as_str())
                    .field("summary", source.summary.as_str())
                    .field("body", source.body.as_str())
                    .field("code", source.code.as_str())
            }))?;
        let built = started.elapsed();
        // Words, questions of common and rare words, and misspellings.
        let queries: Vec<String> = (0..2_000)
            .map(|turn| {
                let mut word = || words[dice.uneven(words.len())].clone();
                match turn % 4 {
                    0 => word(),
                    1 => format!("{} {}", word(), word()),
                    2 => format!("how do I run {} in parallel with {} and {}?", word(), word(), word()),
                    _ => {
                        let mut misspelt: Vec<char> = word().chars().collect();
                        misspelt.swap(1, 2);
                        format!("{} {}x", misspelt.iter().collect::<String>(), word())
                    }
                }
            })
            .collect();
        let mut times: Vec<Duration> = queries
            .iter()
            .map(|query| {
                let started = Instant::now();
                std::hint::black_box(index.search(query));
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        writeln!(
            out,
            "| {count} | {:.1} | {:.1} | {} | {} | {} |",
            sources.iter().map(|source| source.body.len() + source.code.len()).sum::<usize>() as f64 / 1e6,
            built.as_secs_f64() * 1e3,
            percentile(&times, 50).as_micros(),
            percentile(&times, 99).as_micros(),
            percentile(&times, 100).as_micros(),
        )?;
    }
    Ok(())
}
