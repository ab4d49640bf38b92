//! Vectors: what is kept of them, and whether the nearest are found.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

use std::collections::BTreeMap;

use diptych_search::{Quantised, Vectors, cosine, normalise, similarity};
use proptest::prelude::*;

const DIMENSIONS: usize = 24;

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    vector[0] += 0.01;
    assert!(normalise(&mut vector));
    vector
}

fn product(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn vector() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-1.0_f32..1.0, DIMENSIONS).prop_map(unit)
}

proptest! {
    #[test]
    fn a_vector_survives_being_kept(vector in vector()) {
        let kept = Quantised::of(&vector);
        let again = Quantised::from_bytes(kept.scale, &kept.to_bytes());
        prop_assert_eq!(&again, &kept);
        prop_assert!(product(&again.vector(), &vector) > 0.995);
    }

    #[test]
    fn the_nearest_are_those_that_a_plain_search_finds(
        changes in prop::collection::vec((0_i64..40, prop::option::of(vector())), 1..120),
        query in vector(),
        limit in 1_usize..12,
        least in -1.0_f32..0.5,
    ) {
        let mut vectors = Vectors::new(DIMENSIONS);
        let mut plain: BTreeMap<i64, Quantised> = BTreeMap::new();
        for (key, change) in changes {
            match change {
                Some(vector) => {
                    let kept = Quantised::of(&vector);
                    prop_assert!(vectors.set(key, u32::try_from(key % 3).unwrap(), &kept));
                    plain.insert(key, kept);
                }
                None => {
                    vectors.remove(key);
                    plain.remove(&key);
                }
            }
        }
        prop_assert_eq!(vectors.len(), plain.len());
        let query = Quantised::of(&query);
        let mut expected: Vec<(i64, f32)> = plain
            .iter()
            .filter(|(key, _)| *key % 3 != 1)
            .map(|(key, kept)| (*key, product(&kept.vector(), &query.vector())))
            .filter(|(_, cosine)| *cosine >= least)
            .collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        expected.truncate(limit);
        let found = vectors.nearest(&query, limit, least, |_, label| label != 1);
        prop_assert!(found.len().abs_diff(expected.len()) <= 1);
        for (found, (_, expected)) in found.iter().zip(&expected) {
            // Which of two equals comes first, and who is just at the limit, is a matter of rounding.
            prop_assert!((found.cosine - expected).abs() < 1e-4);
            prop_assert!((vectors.cosine(found.key, &query).unwrap() - found.cosine).abs() < 1e-6);
        }
    }
}

#[test]
fn many_vectors_are_searched_by_several_threads_with_the_same_result() {
    let mut vectors = Vectors::new(4);
    for key in 0..40_000_i64 {
        let angle = key as f32 / 40_000.0;
        assert!(vectors.set(key, 0, &Quantised::of(&unit(vec![angle.cos(), angle.sin(), 0.0, 0.0]))));
    }
    // Take out what the query is nearest to: the last vector moves into its place.
    let query = Quantised::of(&[1.0, 0.0, 0.0, 0.0]);
    for key in 0..20_000 {
        vectors.remove(key);
    }
    assert_eq!(vectors.len(), 20_000);
    let found = vectors.nearest(&query, 5, 0.0, |_, _| true);
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|found| found.key >= 20_000 && found.key < 22_000), "{found:?}");
    assert!(vectors.memory() < 20_000 * 120);
}

#[test]
fn vectors_of_other_dimensions_are_kept_out() {
    let mut vectors = Vectors::new(3);
    assert!(!vectors.set(1, 0, &Quantised::of(&[1.0, 0.0])));
    assert!(vectors.set(1, 0, &Quantised::of(&[0.0, 1.0, 0.0])));
    assert!(vectors.nearest(&Quantised::of(&[1.0, 0.0]), 3, -1.0, |_, _| true).is_empty());
    assert_eq!(vectors.cosine(2, &Quantised::of(&[1.0, 0.0, 0.0])), None);
    assert!(vectors.nearest(&Quantised::of(&[0.0, 0.0, 0.0]), 3, -1.0, |_, _| true)[0].cosine.abs() < 1e-6);
}

#[test]
fn similarities_are_between_zero_and_one() {
    assert_eq!((similarity(1.0), similarity(0.0), similarity(-1.0)), (1.0, 0.5, 0.0));
    assert!((cosine(0.6) - 0.2).abs() < 1e-6);
    assert!(!normalise(&mut [0.0, 0.0]) && !normalise(&mut [f32::NAN, 1.0]));
}
