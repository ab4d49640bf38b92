//! Confidence that fades: what was not confirmed for long is believed less.

use super::error::StoreError;
use super::model::Scope;
use super::page::{self, GraphPage, PageRequest};
use super::time::Timestamp;
use super::{Store, validate};

const MILLIS_OF_A_DAY: f64 = 86_400_000.0;

/// How confidence fades.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// After how many days a confidence has halved.
    pub half_life_days: f64,
    /// The least that is left of it.
    pub floor: f64,
}

impl Default for Decay {
    fn default() -> Self {
        Self { half_life_days: 30.0, floor: 0.1 }
    }
}

impl Decay {
    /// What is left of a confidence that was stated at one time, at another: `max(floor, c · 0.5^(age / half-life))`.
    pub fn apply(&self, confidence: f64, stated: Timestamp, at: Timestamp) -> f64 {
        let age = (at.as_millis() - stated.as_millis()).max(0) as f64 / MILLIS_OF_A_DAY;
        (confidence * 0.5_f64.powf(age / self.half_life_days)).max(self.floor)
    }

    fn check(&self) -> Result<(), StoreError> {
        if !(self.half_life_days.is_finite() && self.half_life_days > 0.0) {
            return Err(StoreError::invalid("halfLifeDays", "must be greater than 0"));
        }
        validate::share(Some(self.floor)).map_err(|problem| StoreError::invalid("minConfidence", problem))
    }
}

impl Store {
    /// The graph as it was at a reference time (the future included), each confidence being what is left of it then.
    ///
    /// A relation's confidence ages from its last change. One without a confidence stays without.
    pub fn decayed_graph(
        &self,
        scope: &Scope,
        reference: Timestamp,
        decay: &Decay,
        request: &PageRequest,
    ) -> Result<GraphPage, StoreError> {
        decay.check()?;
        let mut page =
            self.read(|connection| page::graph(connection, scope, Some(reference), request, usize::MAX))?;
        for relation in &mut page.relations {
            relation.confidence =
                relation.confidence.map(|confidence| decay.apply(confidence, relation.updated_at, reference));
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_halves_with_each_half_life_down_to_the_floor() {
        let decay = Decay { half_life_days: 10.0, floor: 0.1 };
        let stated = Timestamp::from_millis(0);
        let after = |days: i64| decay.apply(0.8, stated, Timestamp::from_millis(days * 86_400_000));
        assert_eq!(after(0), 0.8);
        assert!((after(10) - 0.4).abs() < 1e-12 && (after(20) - 0.2).abs() < 1e-12);
        assert_eq!(after(1_000), 0.1);
        assert_eq!(after(-5), 0.8);
    }
}
