//! Writing a project as the JSON lines that server-memory keeps its graph in.

use std::io::Write;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Store;
use super::error::{Fault, StoreError};
use super::model::Project;
use super::page::{self, PageRequest};

/// How many records are held in memory at a time.
const CHUNK: usize = 1_000;

/// A line. What server-memory does not know comes last and only where there is any; it skips what it does not know.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Line<'a> {
    Entity {
        name: &'a str,
        entity_type: &'a str,
        observations: &'a [String],
    },
    Relation {
        from: &'a str,
        to: &'a str,
        relation_type: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        strength: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        confidence: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a Map<String, Value>>,
    },
}

impl Store {
    /// Writes a project, as it is at this moment, as JSON lines; says how many.
    pub fn export(&self, project: &Project, output: &mut dyn Write) -> Result<usize, StoreError> {
        let scope = project.into();
        self.read(|connection| {
            let mut request = PageRequest { limit: CHUNK, cursor: None };
            let mut lines = 0;
            loop {
                let page = page::graph(connection, &scope, None, &request, usize::MAX)?;
                let entities = page.entities.iter().map(|entity| Line::Entity {
                    name: &entity.name,
                    entity_type: &entity.entity_type,
                    observations: &entity.observations,
                });
                let relations = page.relations.iter().map(|relation| Line::Relation {
                    from: &relation.from,
                    to: &relation.to,
                    relation_type: &relation.relation_type,
                    strength: relation.strength,
                    confidence: relation.confidence,
                    metadata: relation.metadata.as_ref(),
                });
                for line in entities.chain(relations) {
                    let text = serde_json::to_string(&line)
                        .map_err(|error| StoreError::file(Fault::Internal, error))?;
                    writeln!(output, "{text}")?;
                    lines += 1;
                }
                request.cursor = page.next;
                if request.cursor.is_none() {
                    output.flush()?;
                    return Ok(lines);
                }
            }
        })
    }
}
