//! Answers that fit: a record that is larger than an answer may be is shown in part.
//!
//! The toolkit cuts lists between records. What it cannot cut is a list of one, so a page that has come down to a
//! single record is squeezed here: observations beyond the room are counted instead of shown, relations dropped.

use diptych::Call;
use serde::Serialize;

use crate::store::{Entity, EntityVersion, Relation};

/// The most bytes that one record may take in JSON: Markdown and JSON together may say everything three times over.
pub(super) fn room(call: &Call) -> usize {
    call.budget() / 3
}

/// How many bytes a value takes as JSON.
fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}

/// Squeezes one entity and the relations that came with it. Says whether relations had to go.
pub(super) fn squeeze(entities: &mut [Entity], relations: &mut Vec<Relation>, room: usize) -> bool {
    let mut taken: usize = entities.iter().map(size).sum();
    if taken + size(relations) <= room {
        return false;
    }
    if let [entity] = entities {
        entity.omitted_observations =
            shorten(&mut entity.observations, entity.omitted_observations, room / 2);
        taken = size(entity);
    }
    let before = relations.len();
    fit_list(relations, room.saturating_sub(taken));
    relations.len() < before
}

/// Squeezes one version of an entity.
pub(super) fn squeeze_version(versions: &mut [EntityVersion], room: usize) {
    if let [version] = versions
        && size(version) > room
    {
        version.omitted_observations =
            shorten(&mut version.observations, version.omitted_observations, room / 2);
    }
}

/// Keeps the first records, as many as fit.
pub(super) fn fit_list<T: Serialize>(list: &mut Vec<T>, room: usize) {
    let mut left = room;
    let fitting = list.iter().take_while(|record| {
        let bytes = size(record);
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    });
    let kept = fitting.count();
    list.truncate(kept);
}

fn shorten(observations: &mut Vec<String>, omitted: Option<usize>, room: usize) -> Option<usize> {
    let before = observations.len();
    fit_list(observations, room);
    let gone = before - observations.len() + omitted.unwrap_or_default();
    (gone > 0).then_some(gone)
}

/// Keeps the relations that touch one of these entities.
pub(super) fn keep_touching(entities: &[Entity], relations: &mut Vec<Relation>) {
    let names: std::collections::HashSet<(&str, Option<&str>)> =
        entities.iter().map(|entity| (entity.name.as_str(), entity.project.as_deref())).collect();
    relations.retain(|relation| {
        let project = relation.project.as_deref();
        names.contains(&(relation.from.as_str(), project)) || names.contains(&(relation.to.as_str(), project))
    });
}

/// Cuts several lists as if they were one, the first records first.
pub(super) fn cut_together(mut keep: usize, lists: &mut [&mut dyn Cut]) {
    for list in lists {
        keep -= list.cut_to(keep);
    }
}

/// A list that can be cut.
pub(super) trait Cut {
    /// Keeps at most so many records and says how many are left.
    fn cut_to(&mut self, keep: usize) -> usize;
}

impl<T> Cut for Vec<T> {
    fn cut_to(&mut self, keep: usize) -> usize {
        self.truncate(keep);
        self.len()
    }
}
