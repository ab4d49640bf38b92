//! Search by meaning, as clients see it: modes, reasons, and what the arguments do.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::embedder::Words;
use common::served::Memory;
use diptych::testing::Contract;
use diptych_search::EmbedError;
use serde_json::{Value, json};

/// A small garden whose vectors are there.
async fn garden(words: &Arc<Words>) -> Memory {
    let memory = Memory::with(25_000, |options| options.embedder = Some(words.clone()));
    memory
        .done(
            "create_entities",
            json!({"entities": [
                {"name": "Ada", "entityType": "person", "observations": ["Plants pears.", "Owns a ladder."]},
                {"name": "old tree", "entityType": "plant", "observations": ["Bears apples in autumn."]},
                {"name": "south wall", "entityType": "place", "observations": ["Is warm and high."]},
                {"name": "shed", "entityType": "place", "observations": ["Holds a ladder."]}
            ]}),
        )
        .await;
    settled(&memory).await;
    memory
}

/// Waits until all vectors are made.
async fn settled(memory: &Memory) {
    for _ in 0..400 {
        let found = memory.done("semantic_search", json!({"query": "anything"})).await;
        if found.get("reason").is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the vectors are not made");
}

fn names(found: &Value) -> Vec<&str> {
    found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["entity"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn meaning_and_words_find_together() {
    let memory = garden(&Words::new("words")).await;
    let found = memory.done("semantic_search", json!({"query": "fruit in autumn"})).await;
    assert_eq!(found["mode"], "hybrid");
    assert_eq!(names(&found)[0], "old tree");
    let similarity = found["results"][0]["similarity"].as_f64().unwrap();
    assert!((0.6..=1.0).contains(&similarity), "{similarity}");
    let found = memory.done("semantic_search", json!({"query": "fruit", "hybridSearch": false})).await;
    assert_eq!((found["mode"].as_str().unwrap(), names(&found)), ("semantic", vec!["old tree"]));
}

#[tokio::test]
async fn the_arguments_decide() {
    let memory = garden(&Words::new("words")).await;
    let ladder = json!({"query": "ladder", "minSimilarity": 0.5, "limit": 2});
    assert_eq!(memory.done("semantic_search", ladder.clone()).await["count"], 2);
    let mut asked = ladder.clone();
    asked["entityTypes"] = json!(["PERSON"]);
    assert_eq!(names(&memory.done("semantic_search", asked).await), ["Ada"]);
    asked = ladder.clone();
    asked["limit"] = json!(1);
    assert_eq!(memory.done("semantic_search", asked).await["count"], 1);
    for (least, count) in [(0.99, 0), (0.0, 4)] {
        asked = json!({"query": "ladder", "min_similarity": least, "hybrid_search": false});
        assert_eq!(memory.done("semantic_search", asked).await["count"], count, "{least}");
    }
    for least in [0.55, 0.7, 0.8] {
        let found =
            memory.done("semantic_search", json!({"query": "a warm ladder", "minSimilarity": least})).await;
        for result in found["results"].as_array().unwrap() {
            assert!(result["similarity"].as_f64().unwrap() >= least - 1e-3, "{result}");
        }
    }
    // By meaning the tree with its apples, by words the shed.
    let asked = |weight: f64| json!({"query": "fruit fruit fruit shed", "minSimilarity": 0.0, "semanticWeight": weight});
    assert_eq!(names(&memory.done("semantic_search", asked(1.0)).await)[0], "old tree");
    assert_eq!(names(&memory.done("semantic_search", asked(0.0)).await)[0], "shed");
    let error = memory.fails("semantic_search", json!({"query": "x", "semanticWeight": 2})).await;
    assert_eq!(error["code"], "CLIENT_ERROR");
}

#[tokio::test]
async fn an_answer_says_why_it_is_not_the_one_asked_for() {
    let words = Words::new("words");
    let memory = garden(&words).await;
    words.fail(Some(EmbedError::unavailable("The embedder could not be reached.")));
    let found = memory.done("semantic_search", json!({"query": "ladder"})).await;
    assert_eq!((found["mode"].as_str(), found["count"].as_u64()), (Some("lexical"), Some(2)));
    let reason = found["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("The embedder could not be reached. So the query was searched for by its words;"),
        "{reason}"
    );
    assert!(found["results"][0].get("similarity").is_none());
    // A write goes on as if nothing had happened.
    memory.done("create_entities", json!({"entities": [{"name": "barrow", "entityType": "thing"}]})).await;
    words.fail(None);
    let found = memory.done("semantic_search", json!({"query": "barrow thing"})).await;
    assert_eq!(found["mode"], "hybrid");
    assert_eq!(names(&found)[0], "barrow", "what has no vector yet is found by its words");
    settled(&memory).await;
    assert!(
        memory.done("semantic_search", json!({"query": "barrow thing"})).await["results"][0]
            .get("similarity")
            .is_some()
    );
}

#[tokio::test]
async fn vectors_of_another_model_are_not_compared() {
    let old = Words::new("old");
    let memory = garden(&old).await;
    let other = Words { slow: Duration::from_secs(2), ..Words::named("new") };
    let later = Memory::with(25_000, |options| {
        options.database = memory.path();
        options.embedder = Some(Arc::new(other));
    });
    let found = later.done("semantic_search", json!({"query": "ladder"})).await;
    assert_eq!(found["mode"], "lexical");
    assert!(found["reason"].as_str().unwrap().contains("made"), "{found}");
}

#[tokio::test]
async fn what_the_tools_answer_with_an_embedder() {
    let words = Words::new("words-96");
    let memory = garden(&words).await;
    insta::assert_snapshot!(
        "search",
        memory.panels("semantic_search", json!({"query": "apple", "limit": 1})).await
    );
    let panels = memory.panels("get_entity_embedding", json!({"entityName": "Ada"})).await;
    let (before, numbers) = panels.split_once("\"embedding\": [").unwrap();
    let after = numbers.split_once(']').unwrap().1;
    insta::assert_snapshot!("embedding", format!("{before}\"embedding\": [numbers]{after}"));
    let kept = memory.done("get_entity_embedding", json!({"entityName": "Ada"})).await;
    let length: f64 =
        kept["embedding"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap().powi(2)).sum();
    assert!((length - 1.0).abs() < 0.01, "{length}");
    assert_eq!(kept["dimensions"], kept["embedding"].as_array().unwrap().len());
    let problems = Contract::of(&memory.server)
        .answers("semantic_search", json!({"query": "fruit"}))
        .answers("semantic_search", json!({"query": "fruit", "hybridSearch": false}))
        .answers("get_entity_embedding", json!({"entityName": "Ada"}))
        .fails("semantic_search", json!({"query": ""}))
        .fails("get_entity_embedding", json!({"entityName": "Adda"}))
        .problems()
        .await;
    // The other tools' calls are given where they are tested.
    let of_ours = |problem: &&String| {
        problem.starts_with("semantic_search") || problem.starts_with("get_entity_embedding")
    };
    assert_eq!(problems.iter().filter(of_ours).collect::<Vec<_>>(), Vec::<&String>::new());
}
