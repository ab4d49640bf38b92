//! Figures of the store at several sizes: `cargo run --release -p diptych-graph --example graph_bench [-- 1000 10000 100000]`.
//!
//! The text is made up from 20,000 words whose frequencies fall as those of a language do, the commonest being in
//! almost every observation. Each entity has three observations and, on average, two relations.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::time::{Duration, Instant};

use diptych_graph::store::*;

/// A small generator, so that every run has the same text.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % bound as u64).unwrap()
    }

    /// A rank among the words, low ones far more often.
    fn rank(&mut self, words: usize) -> usize {
        let share = self.roll() as f64 / u64::MAX as f64;
        ((words as f64).powf(share) as usize - 1).min(words - 1)
    }
}

fn word(rank: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ka", "lo", "mi", "ten", "sor", "vel", "dri", "po", "nu", "gar", "bel", "fin", "ros", "tu", "que",
        "han", "wi", "zor", "pla", "em",
    ];
    let mut rest = rank + 20;
    let mut text = String::new();
    while rest > 0 {
        text.push_str(SYLLABLES[rest % 20]);
        rest /= 20;
    }
    text
}

fn sentence(dice: &mut Dice, length: usize) -> String {
    (0..length).map(|_| word(dice.rank(20_000))).collect::<Vec<_>>().join(" ")
}

fn entity(dice: &mut Dice, index: usize) -> NewEntity {
    NewEntity {
        name: format!("{} {} {index}", word(dice.rank(20_000)), word(dice.below(20_000))),
        entity_type: ["person", "service", "decision", "file", "task"][dice.below(5)].into(),
        observations: (0..3).map(|_| sentence(dice, 9)).collect(),
    }
}

struct Report {
    out: std::io::Stdout,
}

impl Report {
    fn line(&mut self, what: &str, mut times: Vec<Duration>) {
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        writeln!(
            self.out,
            "  {what:<38} p50 {:>8.3}  p99 {:>8.3}  max {:>8.3} ms",
            at(0.5),
            at(0.99),
            at(1.0)
        )
        .unwrap();
    }
}

fn timed<T>(mut run: impl FnMut(usize) -> T, rounds: usize) -> Vec<Duration> {
    (0..rounds)
        .map(|round| {
            let start = Instant::now();
            std::hint::black_box(run(round));
            start.elapsed()
        })
        .collect()
}

/// The memory of this process in MB, where the system tells it.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
}

type Query<'a> = Box<dyn Fn(usize) -> String + 'a>;

fn measure(size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let project = Project::default();
    let scope = Scope::from(&project);
    let mut dice = Dice(42);
    let mut report = Report { out: std::io::stdout() };
    let names: Vec<String>;
    {
        let store = Store::open(&path, StoreOptions::default()).unwrap();
        let start = Instant::now();
        let all: Vec<NewEntity> = (0..size).map(|index| entity(&mut dice, index)).collect();
        for batch in all.chunks(500) {
            store.create_entities(&project, batch).unwrap();
        }
        let entities = start.elapsed();
        names = all.into_iter().map(|entity| entity.name).collect();
        let start = Instant::now();
        let relations: Vec<NewRelation> = (0..size * 2)
            .map(|index| NewRelation {
                from: names[dice.below(size)].clone(),
                to: names[dice.rank(size)].clone(),
                relation_type: ["uses", "knows", "depends on"][index % 3].into(),
                facts: RelationFacts { confidence: Some(0.9), ..RelationFacts::default() },
            })
            .collect();
        for batch in relations.chunks(1_000) {
            store.create_relations(&project, batch).unwrap();
        }
        writeln!(
            report.out,
            "{size} entities: filled in {:.1} s, {} relations in {:.1} s; {:.0} MB on disk",
            entities.as_secs_f64(),
            size * 2,
            start.elapsed().as_secs_f64(),
            std::fs::metadata(&path).unwrap().len() as f64 / 1e6
        )
        .unwrap();
    }
    let start = Instant::now();
    let store = Store::open(&path, StoreOptions::default()).unwrap();
    writeln!(report.out, "  open the store: {:.1} ms", start.elapsed().as_secs_f64() * 1e3).unwrap();

    let search = |query: String| {
        let request = SearchRequest {
            query,
            page: PageRequest { limit: 20, cursor: None },
            ..SearchRequest::default()
        };
        store.search(&scope, &request).unwrap().entities.len()
    };
    let misspell = |rank: usize| {
        let mut text = word(rank);
        text.remove(text.len() / 2);
        text
    };
    let queries: [(&str, Query<'_>); 10] = [
        ("search: rare word", Box::new(|round| word(5_000 + round * 31))),
        ("search: the 50 commonest words", Box::new(|round| word(round % 50))),
        (
            "search: any word by frequency",
            Box::new(|round| word(Dice(round as u64 * 7_919 + 1).rank(20_000))),
        ),
        (
            "search: two common words",
            Box::new(|round| format!("{} {}", word(round % 20), word(20 + round % 30))),
        ),
        (
            "search: common and rare word",
            Box::new(|round| format!("{} {}", word(round % 20), word(3_000 + round * 7))),
        ),
        (
            "search: six words, no match of all",
            Box::new(|round| (0..6).map(|n| word(round * 5 + n * 90)).collect::<Vec<_>>().join(" ")),
        ),
        ("search: part of a word", Box::new(|round| word(400 + round)[1..5].to_owned())),
        ("search: misspelt word", Box::new(move |round| misspell(1_000 + round * 3))),
        ("search: exact name", Box::new(|round| names[round * 7 % size].clone())),
        ("search: a syllable", Box::new(|round| word(round % 20)[..2].to_owned())),
    ];
    for (what, query) in &queries {
        report.line(what, timed(|round| search(query(round)), 300));
    }
    let typed = |round: usize| {
        let request = SearchRequest {
            query: word(round % 50),
            entity_types: vec!["decision".into()],
            page: PageRequest { limit: 20, cursor: None },
        };
        store.search(&scope, &request).unwrap().entities.len()
    };
    report.line("search: common word of one type", timed(typed, 300));
    report.line(
        "open one",
        timed(|round| store.open_nodes(&scope, &[names[round * 13 % size].clone()]).unwrap(), 1_000),
    );
    report.line(
        "create one",
        timed(|round| store.create_entities(&project, &[entity(&mut dice, size + round)]).unwrap(), 2_000),
    );
    let relate = |round: usize| {
        let relation = NewRelation {
            from: names[round * 17 % size].clone(),
            to: names[(round * 29 + 1) % size].clone(),
            relation_type: "newly".into(),
            facts: RelationFacts::default(),
        };
        store.create_relations(&project, &[relation]).unwrap()
    };
    report.line("relate one", timed(relate, 1_000));
    let mut dice = Dice(7);
    let add = |round: usize| {
        let contents = vec![sentence(&mut dice, 9)];
        store
            .add_observations(
                &project,
                &[NewObservations { entity_name: names[round * 3 % size].clone(), contents }],
            )
            .unwrap()
    };
    report.line("add one observation", timed(add, 1_000));
    let mut dice = Dice(9);
    let batch = |round: usize| {
        let batch: Vec<NewEntity> =
            (0..100).map(|index| entity(&mut dice, size * 2 + round * 100 + index)).collect();
        store.create_entities(&project, &batch).unwrap()
    };
    report.line("create a hundred", timed(batch, 20));
    report.line(
        "read a page of 200",
        timed(|_| store.read_graph(&scope, &PageRequest { limit: 200, cursor: None }).unwrap(), 100),
    );
    let summary = |round: usize| {
        store
            .add_observations(
                &project,
                &[NewObservations { entity_name: names[0].clone(), contents: vec![format!("{round}")] }],
            )
            .unwrap();
        store.summary(&scope).unwrap()
    };
    report.line("summary after a write", timed(summary, 10));
    report.line("summary again", timed(|_| store.summary(&scope).unwrap(), 100));
    report.line(
        "history of one",
        timed(
            |round| {
                store.entity_history(&project, &names[round * 3 % size], &PageRequest::default()).unwrap()
            },
            500,
        ),
    );
    let then = store.now().unwrap();
    report.line(
        "graph at a time, a page of 200",
        timed(|_| store.graph_at(&scope, then, &PageRequest { limit: 200, cursor: None }).unwrap(), 10),
    );
    report.line("last change", timed(|_| store.last_change().unwrap(), 1_000));
    writeln!(report.out, "  memory: {:.0} MB", resident()).unwrap();
}

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    for size in if sizes.is_empty() { vec![1_000, 10_000, 100_000] } else { sizes } {
        measure(size);
    }
}
