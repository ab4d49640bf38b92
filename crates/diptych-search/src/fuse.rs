//! Fusing two rankings of the same things: by words and by meaning.
//!
//! Both bring scores between 0 and 1 that mean something by themselves: the part of the query that a
//! document covers, and a cosine similarity. So they are added with weights rather than by rank: a
//! ranking that found nothing good has low scores and changes little, where fusing by rank would give
//! its first guess as much as the other's certainty.

use std::collections::BTreeMap;

/// Adds up two rankings, `weight` (0 to 1) being what the semantic one counts; a thing that one of them
/// does not have gets nothing from it. The best come first, equals in the order of their keys.
///
/// ```
/// use diptych_search::fuse;
/// let fused = fuse(&[("a", 0.9), ("b", 0.2)], &[("b", 0.8), ("c", 0.7)], 0.5);
/// assert_eq!(fused.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["b", "a", "c"]);
/// ```
pub fn fuse<K: Ord + Clone>(lexical: &[(K, f32)], semantic: &[(K, f32)], weight: f32) -> Vec<(K, f32)> {
    let weight = if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.5 };
    let mut scores: BTreeMap<K, f32> = BTreeMap::new();
    for (ranking, weight) in [(lexical, 1.0 - weight), (semantic, weight)] {
        for (key, score) in ranking {
            let score = if score.is_finite() { score.clamp(0.0, 1.0) } else { 0.0 };
            *scores.entry(key.clone()).or_default() += weight * score;
        }
    }
    let mut fused: Vec<(K, f32)> = scores.into_iter().collect();
    // The sort is stable, and the map was in the order of the keys.
    fused.sort_by(|a, b| b.1.total_cmp(&a.1));
    fused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_decides_between_two_rankings() {
        let (lexical, semantic) = ([("words", 0.8), ("both", 0.5)], [("meaning", 0.8), ("both", 0.5)]);
        let first = |weight| fuse(&lexical, &semantic, weight)[0].0;
        assert_eq!(first(0.0), "words");
        assert_eq!(first(0.5), "both");
        assert_eq!(first(1.0), "meaning");
    }

    #[test]
    fn an_empty_side_keeps_the_order_of_the_other() {
        let lexical = [("b", 0.9), ("a", 0.5), ("c", 0.5)];
        let order: Vec<_> = fuse(&lexical, &[], 0.6).into_iter().map(|(key, _)| key).collect();
        assert_eq!(order, ["b", "a", "c"]);
    }

    #[test]
    fn numbers_that_make_no_sense_do_no_harm() {
        let fused = fuse(&[(1, f32::NAN), (2, 7.0)], &[(1, -3.0)], f32::NAN);
        assert_eq!(fused, [(2, 0.5), (1, 0.0)]);
    }
}
