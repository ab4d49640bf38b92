//! Searching the catalogue by meaning: nothing waits for it, it is made once, and it never makes a search worse.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests; the step that runs them reads what they say"
)]

#[path = "relevance/questions.rs"]
mod questions;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diptych::Server;
use diptych::client::Client;
use diptych_patterns::{Library, toolset};
use diptych_search::eval::{Case, Report, run};
use diptych_search::{EmbedError, Embedder, LocalModel, Purpose, normalise};
use serde_json::{Value, json};

/// Texts with the same words lie together, and "umbrella" means retrying.
#[derive(Debug, Default)]
struct Words {
    embedded: AtomicUsize,
    fault: Mutex<Option<EmbedError>>,
}

impl Embedder for Words {
    fn model(&self) -> Result<String, EmbedError> {
        Ok("words".to_owned())
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        if let Some(fault) = self.fault.lock().unwrap().clone() {
            return Err(fault);
        }
        self.embedded.fetch_add(texts.len(), Ordering::SeqCst);
        Ok(texts
            .iter()
            .map(|text| {
                let mut vector = vec![0.01; 512];
                for word in text
                    .to_lowercase()
                    .replace("umbrella", "retry retry")
                    .split(|c: char| !c.is_alphanumeric())
                {
                    let hash =
                        word.bytes().fold(7_usize, |hash, byte| hash * 31 % 65_521 + usize::from(byte));
                    vector[hash % 512] += if word == "retry" { 9.0 } else { 1.0 };
                }
                assert!(normalise(&mut vector));
                vector
            })
            .collect())
    }
}

async fn search(library: &Library, query: &str) -> Value {
    let server =
        Server::builder("patterns", "0.0.0").toolset(toolset(library.clone())).strict().build().unwrap();
    let reply = Client::in_process(&server)
        .call("search_patterns", json!({"q": query, "format": "json"}))
        .await
        .unwrap();
    assert!(!reply.is_error, "{}", reply.text());
    reply.structured.unwrap()
}

async fn until_found(library: &Library, query: &str) -> Vec<String> {
    for _ in 0..400 {
        let found = search(library, query).await;
        let ids: Vec<String> = found["patterns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["id"].as_str().unwrap().to_owned())
            .collect();
        if !ids.is_empty() {
            return ids;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("nothing is found by meaning");
}

fn library(words: &Arc<Words>, cache: &Path) -> Library {
    Library::embedded().with_embedder(words.clone(), Some(cache.to_owned()))
}

#[tokio::test]
async fn meaning_finds_what_words_do_not_and_is_made_once() {
    let cache = tempfile::tempdir().unwrap();
    let words = Arc::new(Words::default());
    let first = library(&words, cache.path());
    assert_eq!(
        search(&first, "umbrella").await["metadata"]["totalCount"],
        0,
        "the first search does not wait"
    );
    let ids = until_found(&first, "umbrella").await;
    assert!(ids.len() <= 6 && ids.iter().any(|id| id.contains("retry")), "{ids:?}");
    let made = words.embedded.load(Ordering::SeqCst);
    assert!(made >= Library::embedded().current().len());
    let again = Arc::new(Words::default());
    let found = search(&library(&again, cache.path()), "umbrella").await;
    assert_ne!(found["metadata"]["totalCount"], 0, "what is in the cache is used at once");
    assert_eq!(again.embedded.load(Ordering::SeqCst), 1, "only the query was embedded");
    for entry in std::fs::read_dir(cache.path()).unwrap() {
        std::fs::write(entry.unwrap().path(), b"damaged").unwrap();
    }
    until_found(&library(&again, cache.path()), "umbrella").await;
}

#[tokio::test]
async fn an_embedder_that_fails_changes_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let words = Arc::new(Words::default());
    *words.fault.lock().unwrap() = Some(EmbedError::unavailable("The embedder could not be reached."));
    let library = library(&words, cache.path());
    let plain = search(&Library::embedded(), "retry").await;
    for _ in 0..3 {
        assert_eq!(search(&library, "retry").await, plain);
    }
}

#[test]
fn with_the_real_model_no_kind_of_question_is_answered_worse() {
    let Some(folder) = std::env::var_os("DIPTYCH_TEST_MODEL") else { return };
    let model: Arc<dyn Embedder> = Arc::new(LocalModel::new(folder));
    let catalogue = Library::embedded().current();
    let near = questions::ranking(&catalogue, &*model);
    let (mut by_words, mut fused) = (Vec::new(), Vec::new());
    for (name, group) in questions::GROUPS {
        let cases: Vec<Case<'_>> =
            group.iter().map(|(query, acceptable)| Case { query, acceptable }).collect();
        let ids = |found: diptych_patterns::Found| {
            found.matches.iter().map(|found| found.pattern.id.clone()).collect()
        };
        let lexical = run(&cases, |query| ids(catalogue.find(query, None, None)));
        let hybrid = run(&cases, |query| ids(catalogue.find_fused(query, None, None, &near(query))));
        println!(
            "checked with the real model: {name}: hit@1 {:.3} by words, {:.3} with meaning; hit@3 {:.3}, {:.3}",
            lexical.hit_at(1),
            hybrid.hit_at(1),
            lexical.hit_at(3),
            hybrid.hit_at(3)
        );
        println!("{hybrid}");
        by_words.extend(lexical.outcomes);
        fused.extend(hybrid.outcomes);
    }
    let (by_words, fused) = (Report { outcomes: by_words }, Report { outcomes: fused });
    assert!(fused.hit_at(3) >= by_words.hit_at(3) - 0.001, "{fused}");
    assert!(fused.mean_reciprocal_rank() >= by_words.mean_reciprocal_rank() - 0.01, "{fused}");
    for query in ["error", "service", "concurrency"] {
        assert!(catalogue.find_fused(query, None, None, &near(query)).matches.len() <= 20, "{query}");
    }
    assert!(catalogue.find_fused("effect", None, None, &near("effect")).matches.len() > 20);
    for query in ["kubernetes ingress", "zzqqxx"] {
        let found = catalogue.find_fused(query, None, None, &near(query)).matches;
        assert!(
            found.is_empty(),
            "{query}: {:?}",
            found.iter().map(|found| &found.pattern.id).collect::<Vec<_>>()
        );
    }
}
