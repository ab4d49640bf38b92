//! Does search by meaning find what people ask for in other words? With the real model.
//!
//! `cargo xtask test semantic` installs the weights and names their folder; without that there is nothing to test.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests; the step that runs them reads what they say"
)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::paraphrases::{BY_WORDS, Line, PARAPHRASES};
use common::served::Memory;
use diptych_search::LocalModel;
use diptych_search::eval::{Outcome, Report, place};
use serde_json::{Value, json};

const FOLDER: &str = "DIPTYCH_TEST_MODEL";
/// What hybrid may be worse than the better of the two.
const TOLERANCE: f64 = 0.02;
/// The least share of paraphrases with their entity among the first five.
const FLOOR: f64 = 0.9;

#[derive(Clone, Copy)]
enum Way {
    Lexical,
    Semantic,
    Hybrid,
}

async fn report(memory: &Memory, lines: &[Line], way: Way) -> Report {
    let mut outcomes = Vec::new();
    for (name, _, _, query) in lines {
        let found: Vec<String> = match way {
            Way::Lexical => {
                let found = memory.done("search_nodes", json!({"query": query, "limit": 10})).await;
                names(found["entities"].as_array().unwrap().iter())
            }
            _ => {
                let hybrid = matches!(way, Way::Hybrid);
                let found =
                    memory.done("semantic_search", json!({"query": query, "hybridSearch": hybrid})).await;
                assert_eq!(found["mode"], if hybrid { "hybrid" } else { "semantic" }, "{found}");
                names(found["results"].as_array().unwrap().iter().map(|result| &result["entity"]))
            }
        };
        let at = place(&found, &[name]);
        outcomes.push(Outcome {
            query: (*query).to_owned(),
            place: at,
            first: found.into_iter().take(3).collect(),
        });
    }
    Report { outcomes }
}

fn names<'a>(entities: impl Iterator<Item = &'a Value>) -> Vec<String> {
    entities.map(|entity| entity["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn hybrid_is_as_good_as_the_better_of_words_and_meaning() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let memory = Memory::with(25_000, |options| {
        options.embedder = Some(Arc::new(LocalModel::new(folder)));
    });
    let all: Vec<Line> = PARAPHRASES.into_iter().chain(BY_WORDS).collect();
    let entities: Vec<Value> = all
        .iter()
        .map(|(name, kind, known, _)| json!({"name": name, "entityType": kind, "observations": [known]}))
        .collect();
    memory.done("create_entities", json!({"entities": entities})).await;
    for attempt in 0.. {
        let found = memory.done("semantic_search", json!({"query": "anything"})).await;
        if found.get("reason").is_none() {
            break;
        }
        assert!(attempt < 1_200, "{found}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for (title, lines) in [("paraphrases", &PARAPHRASES[..]), ("by words", &BY_WORDS[..]), ("all", &all[..])]
    {
        let mut shares = Vec::new();
        for (name, way) in [("lexical", Way::Lexical), ("semantic", Way::Semantic), ("hybrid", Way::Hybrid)] {
            let report = report(&memory, lines, way).await;
            let (first, five) = (report.hit_at(1), report.hit_at(5));
            println!(
                "checked with the real model: {title}, {name}: recall@1 {first:.3}, recall@5 {five:.3} of {}",
                lines.len()
            );
            if matches!(way, Way::Hybrid) {
                for miss in report.misses(1) {
                    println!("    {:?} at {:?}, first {:?}", miss.query, miss.place, miss.first);
                }
            }
            shares.push((first, five));
        }
        let [lexical, semantic, hybrid] = shares[..] else { unreachable!() };
        assert!(hybrid.0 >= lexical.0.max(semantic.0) - TOLERANCE, "{title}: recall@1");
        assert!(hybrid.1 >= lexical.1.max(semantic.1) - TOLERANCE, "{title}: recall@5");
        assert!(hybrid.1 >= FLOOR, "{title}: recall@5 {}", hybrid.1);
    }
}
