//! The rules for what goes in. All violations of a batch are reported at once, each with its place.

use std::collections::BTreeSet;

use super::error::{StoreError, Violation};
use super::model::{NewEntity, NewObservations, NewRelation, Project, RelationFacts};

/// The longest name or type, in characters.
const NAME_LENGTH: usize = 200;
/// The longest new observation, in characters.
const OBSERVATION_LENGTH: usize = 5_000;
/// The largest new metadata, in bytes of JSON. Whatever is stored must fit into an answer.
const METADATA_SIZE: usize = 20_000;

/// Which types are allowed, where that is restricted.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// If given, the only types that new entities may have.
    pub entity_types: Option<BTreeSet<String>>,
    /// If given, the only types that new relations may have.
    pub relation_types: Option<BTreeSet<String>>,
}

/// Collects what is wrong with a batch.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn check(&mut self, path: impl FnOnce() -> String, result: Result<(), String>) {
        if let Err(problem) = result {
            self.0.push(Violation { path: path(), problem });
        }
    }

    fn finish(self) -> Result<(), StoreError> {
        if self.0.is_empty() { Ok(()) } else { Err(StoreError::Invalid(self.0)) }
    }
}

pub(crate) fn project(project: &Project) -> Result<(), StoreError> {
    name(project.as_str()).map_err(|problem| StoreError::invalid("project", problem))
}

pub(crate) fn entities(rules: &Rules, entities: &[NewEntity]) -> Result<(), StoreError> {
    let mut findings = Findings::default();
    for (index, entity) in entities.iter().enumerate() {
        findings.check(|| format!("entities[{index}].name"), name(&entity.name));
        findings.check(|| format!("entities[{index}].entityType"), entity_type(rules, &entity.entity_type));
        for (place, content) in entity.observations.iter().enumerate() {
            findings.check(|| format!("entities[{index}].observations[{place}]"), observation(content));
        }
    }
    findings.finish()
}

pub(crate) fn relations(rules: &Rules, relations: &[NewRelation]) -> Result<(), StoreError> {
    let mut findings = Findings::default();
    for (index, relation) in relations.iter().enumerate() {
        let path = |field: &str| format!("relations[{index}].{field}");
        findings.check(|| path("from"), name(&relation.from));
        findings.check(|| path("to"), name(&relation.to));
        findings.check(|| path("relationType"), relation_type(rules, &relation.relation_type));
        check_facts(&mut findings, path, &relation.facts);
    }
    findings.finish()
}

pub(crate) fn facts(facts: &RelationFacts) -> Result<(), StoreError> {
    let mut findings = Findings::default();
    check_facts(&mut findings, str::to_owned, facts);
    findings.finish()
}

pub(crate) fn observations(additions: &[NewObservations]) -> Result<(), StoreError> {
    let mut findings = Findings::default();
    for (index, addition) in additions.iter().enumerate() {
        for (place, content) in addition.contents.iter().enumerate() {
            findings.check(|| format!("observations[{index}].contents[{place}]"), observation(content));
        }
    }
    findings.finish()
}

fn check_facts(findings: &mut Findings, path: impl Fn(&str) -> String, facts: &RelationFacts) {
    findings.check(|| path("strength"), share(facts.strength));
    findings.check(|| path("confidence"), share(facts.confidence));
    findings.check(|| path("metadata"), metadata(facts));
}

pub(crate) fn name(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        Err("must not be empty".into())
    } else if length > NAME_LENGTH {
        Err(format!("has {length} characters; at most {NAME_LENGTH} are allowed"))
    } else if text.chars().any(char::is_control) {
        Err("must not contain line breaks or other control characters".into())
    } else {
        Ok(())
    }
}

pub(crate) fn entity_type(rules: &Rules, text: &str) -> Result<(), String> {
    name(text).and_then(|()| allowed(rules.entity_types.as_ref(), text))
}

pub(crate) fn relation_type(rules: &Rules, text: &str) -> Result<(), String> {
    name(text).and_then(|()| allowed(rules.relation_types.as_ref(), text))
}

fn allowed(types: Option<&BTreeSet<String>>, text: &str) -> Result<(), String> {
    match types {
        Some(types) if !types.contains(text) => {
            let list = types.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            Err(format!("must be one of: {list}"))
        }
        _ => Ok(()),
    }
}

fn observation(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if length == 0 {
        Err("must not be empty".into())
    } else if length > OBSERVATION_LENGTH {
        Err(format!("has {length} characters; at most {OBSERVATION_LENGTH} are allowed: split it"))
    } else {
        Ok(())
    }
}

fn metadata(facts: &RelationFacts) -> Result<(), String> {
    let size = facts
        .metadata
        .as_ref()
        .and_then(|metadata| serde_json::to_vec(metadata).ok())
        .map_or(0, |json| json.len());
    if size > METADATA_SIZE {
        return Err(format!("takes {size} bytes as JSON; at most {METADATA_SIZE} are allowed"));
    }
    Ok(())
}

/// A strength or a confidence.
pub(crate) fn share(value: Option<f64>) -> Result<(), String> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => Err("must be a number from 0 to 1".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_violations_are_reported_with_their_places() {
        let entity = |name: &str, kind: &str, observations: &[&str]| NewEntity {
            name: name.into(),
            entity_type: kind.into(),
            observations: observations.iter().map(|text| (*text).to_owned()).collect(),
        };
        let long = "x".repeat(5_001);
        let batch = [entity("", "person", &["ok", ""]), entity("two\nlines", &"t".repeat(201), &[&long])];
        let Err(StoreError::Invalid(violations)) = entities(&Rules::default(), &batch) else { panic!() };
        let places: Vec<_> = violations.iter().map(|violation| violation.path.as_str()).collect();
        assert_eq!(
            places,
            [
                "entities[0].name",
                "entities[0].observations[1]",
                "entities[1].name",
                "entities[1].entityType",
                "entities[1].observations[0]"
            ]
        );
    }

    #[test]
    fn lengths_are_counted_in_characters() {
        assert!(name(&"é".repeat(200)).is_ok());
        assert!(name(&"é".repeat(201)).is_err());
        assert!(observation(&"字".repeat(5_000)).is_ok());
    }

    #[test]
    fn an_allow_list_is_named_in_the_error() {
        let rules =
            Rules { entity_types: Some(["task".to_owned(), "person".to_owned()].into()), ..Rules::default() };
        assert_eq!(entity_type(&rules, "persn"), Err("must be one of: person, task".into()));
    }

    #[test]
    fn metadata_fits_into_an_answer() {
        let facts = |length: usize| RelationFacts {
            metadata: serde_json::json!({"note": "x".repeat(length)}).as_object().cloned(),
            ..RelationFacts::default()
        };
        assert!(super::facts(&facts(19_000)).is_ok());
        let Err(StoreError::Invalid(violations)) = super::facts(&facts(20_000)) else { panic!() };
        assert_eq!(violations[0].path, "metadata");
    }

    #[test]
    fn strength_is_a_share() {
        assert!(share(Some(1.0)).is_ok() && share(Some(0.0)).is_ok() && share(None).is_ok());
        assert!(share(Some(1.1)).is_err() && share(Some(-0.1)).is_err() && share(Some(f64::NAN)).is_err());
    }
}
