//! Reading the JSON lines that server-memory keeps its graph in.
//!
//! Such files have been through a lot: two processes have written them at once, lines are cut off or run together,
//! relations lead to entities that are gone. Whatever can be read is taken, everything else is reported with its
//! line, and doing it again changes nothing.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::{Fault, StoreError};
use super::model::{NewEntity, NewObservations, Project, RelationFacts, RelationKey};
use super::transaction::Write;
use super::validate::{self, Rules};
use super::{Store, entities, observations, relations, rows};

/// How many records go into one transaction: few enough that other processes never wait long for their turn.
const CHUNK: usize = 500;

/// Something in the file that could not be taken as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what became of it.
    pub problem: String,
}

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// How many entities were made.
    pub entities_created: usize,
    /// How many were there already.
    pub entities_existing: usize,
    /// How many observations were added to entities that were there already.
    pub observations_added: usize,
    /// How many relations were made.
    pub relations_created: usize,
    /// How many were there already.
    pub relations_existing: usize,
    /// What could not be taken as it is.
    pub problems: Vec<ImportProblem>,
}

impl ImportReport {
    fn problem(&mut self, line: usize, problem: impl Into<String>) {
        self.problems.push(ImportProblem { line, problem: problem.into() });
    }
}

struct ImportedEntity {
    line: usize,
    new: NewEntity,
}

struct ImportedRelation {
    line: usize,
    key: RelationKey,
    facts: RelationFacts,
}

impl Store {
    /// Takes the JSON lines of a server-memory file into a project.
    ///
    /// It happens in several transactions. An import that was interrupted is completed by doing it again.
    pub fn import(&self, project: &Project, mut input: impl BufRead) -> Result<ImportReport, StoreError> {
        validate::project(project)?;
        let mut report = ImportReport::default();
        let mut relations = Vec::new();
        let mut chunk = Vec::new();
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            if input.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            let Ok(text) = std::str::from_utf8(&bytes) else {
                report.problem(line, "is not UTF-8 and was left out");
                continue;
            };
            let text = if line == 1 { text.trim_start_matches('\u{feff}') } else { text };
            parse_line(&self.options.rules, line, text, &mut chunk, &mut relations, &mut report);
            if chunk.len() >= CHUNK {
                self.import_entities(project, &std::mem::take(&mut chunk), &mut report)?;
            }
        }
        self.import_entities(project, &chunk, &mut report)?;
        // Relations wait for the end: a file that was put together from others may name an entity before it comes.
        for chunk in relations.chunks(CHUNK) {
            self.write(project, |write| {
                chunk.iter().try_for_each(|relation| import_relation(write, relation, &mut report))
            })?;
        }
        // All that was asked for is kept by now; an index that stays in pieces is only slower.
        if report.entities_created >= CHUNK
            && let Err(error) = self.join_index()
        {
            tracing::warn!(detail = error.detail(), "the index was not joined: {error}");
        }
        report.problems.sort_by_key(|problem| problem.line);
        Ok(report)
    }

    fn import_entities(
        &self,
        project: &Project,
        chunk: &[ImportedEntity],
        report: &mut ImportReport,
    ) -> Result<(), StoreError> {
        if chunk.is_empty() {
            return Ok(());
        }
        self.write(project, |write| import_entities(write, chunk, report))
    }
}

/// Takes what a line holds: usually one record, sometimes several, sometimes a piece.
fn parse_line(
    rules: &Rules,
    line: usize,
    text: &str,
    entities: &mut Vec<ImportedEntity>,
    relations: &mut Vec<ImportedRelation>,
    report: &mut ImportReport,
) {
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let Ok(value) = value else {
            report.problem(line, "is not complete JSON; what could be read of it was kept");
            return;
        };
        let Value::Object(object) = value else {
            report.problem(
                line,
                "holds something that is neither an entity nor a relation, which was left out",
            );
            continue;
        };
        let taken = match object.get("type").and_then(Value::as_str) {
            Some("entity") => parse_entity(rules, line, object, report).map(|entity| entities.push(entity)),
            Some("relation") => {
                parse_relation(rules, line, object, report).map(|relation| relations.push(relation))
            }
            _ => Err("holds something that is neither an entity nor a relation, which was left out".into()),
        };
        if let Err(problem) = taken {
            report.problem(line, problem);
        }
    }
}

fn parse_entity(
    rules: &Rules,
    line: usize,
    object: Map<String, Value>,
    report: &mut ImportReport,
) -> Result<ImportedEntity, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Raw {
        name: String,
        entity_type: String,
        #[serde(default)]
        observations: Vec<Value>,
    }
    let raw: Raw = serde_json::from_value(Value::Object(object)).map_err(|_| {
        "has an entity without a name, a type or a list of observations, which was left out".to_owned()
    })?;
    let named = |problem: String| format!("has an entity whose name {problem}; it was left out");
    validate::name(&raw.name).map_err(named)?;
    validate::entity_type(rules, &raw.entity_type)
        .map_err(|problem| format!("has the entity {:?} whose type {problem}; it was left out", raw.name))?;
    let mut observations = Vec::with_capacity(raw.observations.len());
    for value in raw.observations {
        match value {
            Value::String(text) if !text.is_empty() => observations.push(text),
            _ => report.problem(
                line,
                format!("has an observation of {:?} that is no text, which was left out", raw.name),
            ),
        }
    }
    Ok(ImportedEntity { line, new: NewEntity { name: raw.name, entity_type: raw.entity_type, observations } })
}

fn parse_relation(
    rules: &Rules,
    line: usize,
    object: Map<String, Value>,
    report: &mut ImportReport,
) -> Result<ImportedRelation, String> {
    let key: RelationKey = serde_json::from_value(Value::Object(object.clone()))
        .map_err(|_| "has a relation without its two ends or its type, which was left out".to_owned())?;
    validate::relation_type(rules, &key.relation_type)
        .map_err(|problem| format!("has a relation whose type {problem}; it was left out"))?;
    // The facts are ours: another program may have put anything there.
    let mut facts: RelationFacts = serde_json::from_value(Value::Object(object)).unwrap_or_else(|_| {
        report.problem(
            line,
            "has a relation whose strength, confidence or metadata cannot be used; it was taken without",
        );
        RelationFacts::default()
    });
    if validate::facts(&facts).is_err() {
        report.problem(
            line,
            "has a relation whose strength or confidence is not from 0 to 1; it was taken without",
        );
        (facts.strength, facts.confidence) = (None, None);
    }
    if key.from == key.to {
        report.problem(line, format!("has a relation from {:?} to itself, which was kept", key.from));
    }
    Ok(ImportedRelation { line, key, facts })
}

fn import_entities(
    write: &Write<'_>,
    chunk: &[ImportedEntity],
    report: &mut ImportReport,
) -> Result<(), StoreError> {
    // An entity that is made here and comes again in this chunk must change once, not twice, in one transaction.
    let mut fresh: Vec<NewEntity> = Vec::new();
    let mut additions: Vec<NewObservations> = Vec::new();
    for ImportedEntity { line, new } in chunk {
        if let Some(first) = fresh.iter_mut().find(|first| first.name == new.name) {
            report.entities_existing += 1;
            let other_type = if first.entity_type == new.entity_type {
                String::new()
            } else {
                format!(", and it stays {:?}", first.entity_type)
            };
            report.problem(
                *line,
                format!(
                    "has the entity {:?} once more; its observations were put together{other_type}",
                    new.name
                ),
            );
            let more: Vec<String> = new
                .observations
                .iter()
                .filter(|content| !first.observations.contains(content))
                .cloned()
                .collect();
            report.observations_added += more.len();
            first.observations.extend(more);
            continue;
        }
        match rows::entity_by_name(write.connection, write.project, &new.name)?.filter(|row| row.is_live) {
            Some(row) => {
                report.entities_existing += 1;
                if row.entity_type != new.entity_type {
                    report.problem(
                        *line,
                        format!(
                            "has the entity {:?} with another type; it stays {:?}",
                            new.name, row.entity_type
                        ),
                    );
                }
                additions.push(NewObservations {
                    entity_name: new.name.clone(),
                    contents: new.observations.clone(),
                });
            }
            None => fresh.push(new.clone()),
        }
    }
    for new in &fresh {
        let deleted = rows::entity_by_name(write.connection, write.project, &new.name)?;
        entities::create(write, deleted, new)?;
        report.entities_created += 1;
    }
    report.observations_added += observations::add(write, &additions)?.added;
    Ok(())
}

fn import_relation(
    write: &Write<'_>,
    relation: &ImportedRelation,
    report: &mut ImportReport,
) -> Result<(), StoreError> {
    let ImportedRelation { line, key, facts } = relation;
    let ends = (
        rows::live_id(write.connection, write.project, &key.from)?,
        rows::live_id(write.connection, write.project, &key.to)?,
    );
    let (Some(from), Some(to)) = ends else {
        let gone = if ends.0.is_none() { &key.from } else { &key.to };
        report.problem(*line, format!("has a relation with {gone:?}, which does not exist; it was left out"));
        return Ok(());
    };
    match relations::create(write, (from, to), key, facts)? {
        Some(_) => report.relations_created += 1,
        None => report.relations_existing += 1,
    }
    Ok(())
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::file(Fault::Internal, error)
    }
}
