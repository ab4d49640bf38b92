//! Ids that look like one that does not exist.

/// Ids less alike than this are not offered: a wrong guess is worse than none.
const FLOOR: f64 = 0.6;

/// The ids most like `wanted`, best first, at most `most`.
pub(crate) fn near<'a>(wanted: &str, ids: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = wanted.trim().to_lowercase();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut scored: Vec<(f64, &str)> = ids
        .map(|id| (likeness(&wanted, &id.to_lowercase()), id))
        .filter(|(score, _)| *score >= FLOOR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.truncate(most);
    scored.into_iter().map(|(_, id)| id).collect()
}

/// The better of two readings: the whole spelling, and the words in any order.
fn likeness(wanted: &str, id: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(wanted, id).max(by_words(wanted, id))
}

fn by_words(wanted: &str, id: &str) -> f64 {
    let is_break = |c: char| !c.is_alphanumeric();
    let wanted: Vec<&str> = wanted.split(is_break).filter(|word| !word.is_empty()).take(12).collect();
    let theirs: Vec<&str> = id.split(is_break).filter(|word| !word.is_empty()).collect();
    if wanted.is_empty() || theirs.is_empty() {
        return 0.0;
    }
    let best = |word: &str, others: &[&str]| {
        others
            .iter()
            .map(|other| strsim::normalized_damerau_levenshtein(word, other))
            // Below this two words share letters by chance.
            .filter(|similarity| *similarity >= 0.7)
            .fold(0.0, f64::max)
    };
    let found: Vec<f64> = wanted.iter().map(|word| best(word, &theirs)).collect();
    let covered = found.iter().sum::<f64>() / count(&wanted);
    let both = (found.iter().sum::<f64>() + theirs.iter().map(|word| best(word, &wanted)).sum::<f64>())
        / (count(&wanted) + count(&theirs));
    // `retry` alone may well mean `retry-with-backoff`: nothing that was asked for is missing there.
    let is_covered = found.iter().all(|similarity| *similarity > 0.0);
    if is_covered { both.max(0.65 * covered) } else { both }
}

#[expect(clippy::cast_precision_loss, reason = "an id has a few words")]
fn count(words: &[&str]) -> f64 {
    words.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 6] = [
        "effect-service",
        "error-handling-match",
        "error-handling-catch-tag",
        "service-layer",
        "validation-schema",
        "effect-forEach",
    ];

    fn check(wanted: &str, expected: &[&str]) {
        assert_eq!(near(wanted, IDS.into_iter(), 5), expected, "{wanted}");
    }

    #[test]
    fn slips_of_the_pen_and_other_orders_are_found() {
        check("efect-servce", &["effect-service"]);
        check("effect-foreach", &["effect-forEach", "effect-service"]);
        check("validation", &["validation-schema"]);
        check("schema validation", &["validation-schema"]);
        check("error-handling", &["error-handling-match", "error-handling-catch-tag"]);
    }

    #[test]
    fn what_is_like_nothing_finds_nothing() {
        check("definitely-does-not-exist-12345", &[]);
        check("  ", &[]);
        check("---", &[]);
    }

    #[test]
    fn no_more_than_asked_for() {
        assert_eq!(near("error-handling", IDS.into_iter(), 1), ["error-handling-match"]);
    }
}
