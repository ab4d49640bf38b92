//! Did you mean: the ids nearest to one that does not exist.
//!
//! Two things make an id near: hardly a slip between the two (`efect-service`), or the same words, each
//! forgiven its own slips (`service-layers`, `error-handling` for `error-handling-match`). The greater
//! of the two similarities counts.

use crate::stem::stem;
use crate::tokenize::{Compound, compounds};
use crate::typo::{allowed_slips, slips};

/// The similarity from which an id is worth suggesting.
pub const NEAR_FLOOR: f32 = 0.5;
/// Longer ids are compared by their beginnings.
const LONGEST_ID: usize = 128;

/// An id like another one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearId<'a> {
    /// The id that exists.
    pub id: &'a str,
    /// Between 0 and 1, 1 being the same.
    pub similarity: f32,
}

/// The candidates whose similarity to `id` is at least `floor`, the most similar first, then by id.
///
/// ```
/// use diptych_search::{near, NEAR_FLOOR};
/// let ids = ["effect-service", "service-layer", "effect-all"];
/// assert_eq!(near("efect-service", ids, NEAR_FLOOR)[0].id, "effect-service");
/// assert!(near("definitely-does-not-exist-12345", ids, NEAR_FLOOR).is_empty());
/// ```
pub fn near<'a>(id: &str, candidates: impl IntoIterator<Item = &'a str>, floor: f32) -> Vec<NearId<'a>> {
    let wanted = Shape::new(id);
    let mut found: Vec<NearId<'a>> = candidates
        .into_iter()
        .map(|candidate| NearId { id: candidate, similarity: wanted.similarity(&Shape::new(candidate)) })
        .filter(|near| near.similarity > 0.0 && near.similarity >= floor)
        .collect();
    found.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then_with(|| a.id.cmp(b.id)));
    found.dedup_by(|a, b| a.id == b.id);
    found
}

struct Shape {
    letters: Vec<char>,
    words: Vec<Vec<char>>,
}

impl Shape {
    fn new(id: &str) -> Self {
        let short: String = id.trim().chars().take(LONGEST_ID).collect();
        let mut words = Vec::new();
        for compound in compounds(&short) {
            for word in Compound::parse(compound).segments.into_iter().flatten() {
                let parts = if word.parts.is_empty() { vec![word.whole] } else { word.parts };
                words.extend(parts.iter().map(|part| stem(part).chars().collect()));
            }
        }
        Self { letters: short.to_lowercase().chars().collect(), words }
    }

    fn similarity(&self, other: &Self) -> f32 {
        self.by_letters(other).max(self.by_words(other))
    }

    fn by_letters(&self, other: &Self) -> f32 {
        let longest = self.letters.len().max(other.letters.len());
        if longest == 0 {
            return 0.0;
        }
        // More than a third of the letters wrong is no slip any more.
        slips(&self.letters, &other.letters, longest / 3)
            .map_or(0.0, |distance| 1.0 - distance as f32 / longest as f32)
    }

    /// How much of the letters of both are in words that both have, leaning to the words asked for:
    /// an id that has all of them and more is nearer than one that has half of them and no more.
    fn by_words(&self, other: &Self) -> f32 {
        let mut taken = vec![false; other.words.len()];
        let (mut shared, mut wanted) = (0.0, 0.0);
        for word in &self.words {
            wanted += word.len() as f32;
            let bound = allowed_slips(word.len());
            let best = (0..other.words.len())
                .filter(|index| !taken[*index])
                .filter_map(|index| Some((slips(word, &other.words[index], bound)?, index)))
                .min();
            if let Some((distance, index)) = best {
                taken[index] = true;
                shared += word.len() as f32 * (1.0 - 0.25 * distance as f32).max(0.0);
            }
        }
        let offered: f32 = other.words.iter().map(|word| word.len() as f32).sum();
        if wanted == 0.0 || offered == 0.0 {
            return 0.0;
        }
        let (recall, precision) = (shared / wanted, (shared / offered).min(1.0));
        recall * (0.6 + 0.4 * precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: &[&str] = &[
        "effect-all",
        "effect-forEach",
        "effect-service",
        "error-handling-catch-tag",
        "error-handling-match",
        "error-recovery",
        "service-composition",
        "service-error-handling",
        "service-layer",
        "validation-errors",
        "validation-schema",
    ];

    fn ids(id: &str) -> Vec<&'static str> {
        near(id, IDS.iter().copied(), NEAR_FLOOR).into_iter().map(|near| near.id).collect()
    }

    #[test]
    fn near_misses_find_what_was_meant() {
        assert_eq!(ids("efect-service")[0], "effect-service");
        assert_eq!(ids("service-layers")[0], "service-layer");
        assert_eq!(ids("effect-foreach")[0], "effect-forEach");
        assert_eq!(ids("EffectAll")[0], "effect-all");
        assert_eq!(ids("validaton-schemas")[0], "validation-schema");
        assert_eq!(
            ids("error-handling")[..3],
            ["error-handling-match", "service-error-handling", "error-handling-catch-tag"]
        );
    }

    #[test]
    fn nothing_is_near_to_nonsense() {
        for id in ["definitely-does-not-exist-12345", "", "   ", "xyz", "---", "kubernetes"] {
            assert_eq!(ids(id), Vec::<&str>::new(), "{id}");
        }
    }
}
