//! Measuring relevance: does the search put what was meant near the top?
//!
//! For the tests of everything that searches: write down queries with the ids that would satisfy them,
//! run them, and hold the result against a floor.

use std::fmt;

/// A query and the ids that would satisfy the one who asks it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// As a user would type it.
    pub query: &'a str,
    /// Any of these will do.
    pub acceptable: &'a [&'a str],
}

/// The place of the first acceptable id in a ranking, counted from 1.
pub fn place<S: AsRef<str>>(ranking: &[S], acceptable: &[&str]) -> Option<usize> {
    ranking.iter().position(|id| acceptable.contains(&id.as_ref())).map(|index| index + 1)
}

/// What a set of cases came to.
#[derive(Debug, Clone)]
pub struct Report {
    /// Each query, the place of its first acceptable id, and the first five ids it found.
    pub outcomes: Vec<Outcome>,
}

/// What one case came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The query.
    pub query: String,
    /// The place of the first acceptable id, counted from 1.
    pub place: Option<usize>,
    /// What came first instead, or with it.
    pub first: Vec<String>,
}

/// Runs every case through `search`, which returns ids, the best first.
///
/// ```
/// use diptych_search::eval::{Case, run};
/// let cases = [Case { query: "retry", acceptable: &["retry-with-backoff"] }];
/// let report = run(&cases, |_query| vec!["cache".to_owned(), "retry-with-backoff".to_owned()]);
/// assert_eq!(report.hit_at(3), 1.0);
/// assert_eq!(report.mean_reciprocal_rank(), 0.5);
/// ```
pub fn run(cases: &[Case<'_>], mut search: impl FnMut(&str) -> Vec<String>) -> Report {
    let outcomes = cases
        .iter()
        .map(|case| {
            let mut ranking = search(case.query);
            let place = place(&ranking, case.acceptable);
            ranking.truncate(5);
            Outcome { query: case.query.to_owned(), place, first: ranking }
        })
        .collect();
    Report { outcomes }
}

impl Report {
    /// The share of queries with an acceptable id among the first `k`.
    pub fn hit_at(&self, k: usize) -> f64 {
        self.mean(|place| if place <= k { 1.0 } else { 0.0 })
    }

    /// The mean of one over the place of the first acceptable id.
    pub fn mean_reciprocal_rank(&self) -> f64 {
        self.mean(|place| 1.0 / place as f64)
    }

    /// The queries without an acceptable id among the first `k`.
    pub fn misses(&self, k: usize) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(move |outcome| outcome.place.is_none_or(|place| place > k))
    }

    fn mean(&self, worth: impl Fn(usize) -> f64) -> f64 {
        let sum: f64 = self.outcomes.iter().filter_map(|outcome| outcome.place).map(worth).sum();
        sum / self.outcomes.len().max(1) as f64
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hit, rank) = (self.hit_at(3), self.mean_reciprocal_rank());
        writeln!(formatter, "{} queries: hit@3 {hit:.3}, MRR {rank:.3}", self.outcomes.len())?;
        for miss in self.misses(3) {
            let place = miss.place.map_or_else(|| "not found".to_owned(), |place| format!("at {place}"));
            writeln!(formatter, "  \"{}\": {place}; first: {}", miss.query, miss.first.join(", "))?;
        }
        Ok(())
    }
}
