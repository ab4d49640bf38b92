//! The local model with its real weights, held against numbers that another implementation made from them.
//!
//! `cargo xtask test semantic` installs the weights and names their folder; without that there is nothing to test.
#![cfg(feature = "local")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests; the step that runs them reads what they say"
)]

use diptych_search::local::KNOWN_MODEL;
use diptych_search::{Embedder as _, LocalModel, Purpose, Quantised};
use serde::Deserialize;

/// Names the folder of the real model.
const FOLDER: &str = "DIPTYCH_TEST_MODEL";

#[derive(Deserialize)]
struct Reference {
    texts: Vec<String>,
    tokens: Vec<Vec<u32>>,
    first: Vec<Vec<f32>>,
    cosines: Vec<(usize, usize, f32)>,
}

#[test]
fn tokens_vectors_and_cosines_are_those_of_the_reference() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let reference: Reference = serde_json::from_str(include_str!("reference.json")).unwrap();
    let model = LocalModel::new(folder);
    assert_eq!(model.model().unwrap(), KNOWN_MODEL);
    let texts: Vec<&str> = reference.texts.iter().map(String::as_str).collect();
    for (text, tokens) in texts.iter().zip(&reference.tokens) {
        assert_eq!(&model.tokens(text).unwrap(), tokens, "{text}");
    }
    let vectors = model.embed(&texts, Purpose::Bulk).unwrap();
    for ((vector, first), text) in vectors.iter().zip(&reference.first).zip(&texts) {
        assert!(vector.iter().zip(first).all(|(a, b)| (a - b).abs() < 1e-4), "{text}");
    }
    let (mut worst, mut worst_kept) = (0.0_f32, 0.0_f32);
    for (one, other, expected) in &reference.cosines {
        let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        worst = worst.max((cosine(&vectors[*one], &vectors[*other]) - expected).abs());
        let kept = [*one, *other].map(|number| Quantised::of(&vectors[number]).vector());
        worst_kept = worst_kept.max((cosine(&kept[0], &kept[1]) - expected).abs());
    }
    assert!(worst < 1e-3, "a cosine is off by {worst}");
    assert!(worst_kept < 1e-2, "a cosine of vectors as they are kept is off by {worst_kept}");
    println!(
        "checked with the real model: {} cosines, off by {worst:.7} at most, {worst_kept:.4} as kept",
        reference.cosines.len()
    );
}
