//! `add_observations` and `delete_observations`.

use diptych::{Cx, Markdown, Present, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fit::{Cut, cut_together, fit_list, room};
use super::{Graph, change, draw, tell};
use crate::store::{AddedObservations, EntityObservations, NewObservations};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AddObservations {
    /// What to add, to which entities.
    observations: Vec<NewObservations>,
}

/// The observations that were added.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ObservationsAdded {
    /// How many were new.
    added: usize,
    /// For each entity, in the order given, those that were new.
    results: Vec<AddedObservations>,
    #[serde(skip)]
    room: usize,
}

impl ObservationsAdded {
    /// A single observation may be larger than a small budget. It is then only counted: an error would hide that
    /// it was added.
    fn squeeze(&mut self) {
        if self.records() == 1 {
            self.results.iter_mut().for_each(|result| fit_list(&mut result.added_observations, self.room));
        }
    }
}

impl Present for ObservationsAdded {
    const KIND: &'static str = "observationsAdded:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Added ").text(draw::count(self.added, "observation", "observations")).literal(".");
        });
        for result in &self.results {
            markdown.bullet(|line| {
                line.code(&result.entity_name).literal(": ").text(result.added_observations.len());
                line.literal(" new");
            });
        }
    }

    fn records(&self) -> usize {
        self.results.iter().map(|result| result.added_observations.len()).sum()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_nested(&mut self.results, keep, |result| &mut result.added_observations);
        self.squeeze();
        None
    }
}

pub(super) async fn add_observations(
    cx: Cx<Graph>,
    arguments: AddObservations,
) -> Result<ObservationsAdded, Stop> {
    let outcome =
        change(&cx, move |graph| graph.store.add_observations(&graph.project, &arguments.observations))
            .await?;
    if outcome.at.is_some() {
        let changed = outcome.results.iter().filter(|result| !result.added_observations.is_empty());
        tell(&cx, changed.map(|result| result.entity_name.as_str()));
    }
    let mut answer = ObservationsAdded { added: outcome.added, results: outcome.results, room: room(&cx) };
    answer.squeeze();
    Ok(answer)
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DeleteObservations {
    /// What to take away, from which entities, word for word.
    deletions: Vec<EntityObservations>,
}

/// The observations that were deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ObservationsDeleted {
    /// Always true, for clients that look for it: a call that fails is an error.
    success: bool,
    /// Always the same, for clients that look for it: `deleted` and `missing` say what happened.
    message: &'static str,
    /// How many were deleted.
    deleted: usize,
    /// For each entity, those deleted.
    results: Vec<EntityObservations>,
    /// For each entity, those it did not have; all of them where it does not exist.
    missing: Vec<EntityObservations>,
    #[serde(skip)]
    room: usize,
}

impl ObservationsDeleted {
    /// As for those added; and an observation that was imported may be of any size.
    fn squeeze(&mut self) {
        if self.records() == 1 {
            for list in [&mut self.results, &mut self.missing] {
                list.iter_mut().for_each(|one| fit_list(&mut one.observations, self.room));
            }
        }
    }
}

impl Present for ObservationsDeleted {
    const KIND: &'static str = "observationsDeleted:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.literal("Deleted ").text(draw::count(self.deleted, "observation", "observations"));
            line.literal(".");
        });
        for result in &self.results {
            markdown.bullet(|line| {
                line.code(&result.entity_name).literal(": ").text(result.observations.len());
                line.literal(" deleted");
            });
        }
        for missing in &self.missing {
            markdown.paragraph(|line| {
                line.literal("Not found at ").code(&missing.entity_name).literal(":");
            });
            draw::observations(markdown, &missing.observations, None);
        }
    }

    fn records(&self) -> usize {
        let count =
            |list: &[EntityObservations]| list.iter().map(|one| one.observations.len()).sum::<usize>();
        count(&self.results) + count(&self.missing)
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        cut_together(keep, &mut [&mut Observed(&mut self.results), &mut Observed(&mut self.missing)]);
        self.squeeze();
        None
    }
}

pub(super) async fn delete_observations(
    cx: Cx<Graph>,
    arguments: DeleteObservations,
) -> Result<ObservationsDeleted, Stop> {
    let outcome =
        change(&cx, move |graph| graph.store.delete_observations(&graph.project, &arguments.deletions))
            .await?;
    if outcome.at.is_some() {
        tell(&cx, outcome.results.iter().map(|result| result.entity_name.as_str()));
    }
    let mut answer = ObservationsDeleted {
        success: true,
        message: "Observations deleted successfully",
        deleted: outcome.deleted,
        results: outcome.results,
        missing: outcome.missing,
        room: room(&cx),
    };
    answer.squeeze();
    Ok(answer)
}

/// Lists of observations, cut by the observation.
struct Observed<'a>(&'a mut Vec<EntityObservations>);

impl Cut for Observed<'_> {
    fn cut_to(&mut self, keep: usize) -> usize {
        cut_nested(self.0, keep, |result| &mut result.observations)
    }
}

/// Cuts the inner lists as if they were one, and drops the outer records that this leaves without any.
fn cut_nested<T>(list: &mut Vec<T>, keep: usize, inner: impl Fn(&mut T) -> &mut Vec<String>) -> usize {
    let mut left = keep;
    list.retain_mut(|one| {
        let observations = inner(one);
        let had_any = !observations.is_empty();
        left -= observations.cut_to(left);
        !had_any || !observations.is_empty()
    });
    keep - left
}
