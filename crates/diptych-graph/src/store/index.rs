//! Keeping the full-text tables in step with the entities, in the same transaction as each change.

use rusqlite::{Connection, params};

use super::Store;
use super::error::StoreError;
use super::{embeddings, rows, vocabulary, words};

/// Files a new entity.
pub(crate) fn add(
    connection: &Connection,
    id: i64,
    name: &str,
    entity_type: &str,
    observations: &[String],
) -> Result<(), StoreError> {
    let (name_text, tag) = (words::for_index(name), words::type_tag(entity_type));
    connection
        .prepare_cached("INSERT OR REPLACE INTO name_text (rowid, name, tag) VALUES (?1, ?2, ?3)")?
        .execute(params![id, name_text, tag])?;
    let mut file =
        connection.prepare_cached("INSERT OR IGNORE INTO name_key (key, entity) VALUES (?1, ?2)")?;
    for key in words::name_keys(name) {
        file.execute(params![key, id])?;
    }
    let body = replace(connection, id, &name_text, entity_type, observations)?;
    vocabulary::learn(connection, &[&name_text, " ", &words::for_index(entity_type), " ", &body].concat())
}

/// Files an entity again after its observations changed; `new` are those whose words may be unknown.
pub(crate) fn update(
    connection: &Connection,
    id: i64,
    name: &str,
    entity_type: &str,
    observations: &[String],
    new: &[String],
) -> Result<(), StoreError> {
    replace(connection, id, &words::for_index(name), entity_type, observations)?;
    new.iter().try_for_each(|content| vocabulary::learn(connection, &words::for_index(content)))
}

/// Takes an entity out. Its name keys stay, for they belong to its name; whoever uses them asks if it lives.
pub(crate) fn remove(connection: &Connection, id: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM name_text WHERE rowid = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM full_text WHERE rowid = ?1")?.execute([id])?;
    embeddings::forget(connection, id)
}

fn replace(
    connection: &Connection,
    id: i64,
    name_text: &str,
    entity_type: &str,
    observations: &[String],
) -> Result<String, StoreError> {
    let body = observations.iter().map(|content| words::for_index(content)).collect::<Vec<_>>().join(" ");
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO full_text (rowid, name, kind, body, tag) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![id, name_text, words::for_index(entity_type), body, words::type_tag(entity_type)])?;
    embeddings::queue(connection, id)?;
    Ok(body)
}

impl Store {
    /// Brings each full-text table into one piece. A search looks for every word in every piece, and a large import
    /// leaves many.
    pub(crate) fn join_index(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let transaction = writer.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(
            "INSERT INTO full_text (full_text) VALUES ('optimize');
             INSERT INTO name_text (name_text) VALUES ('optimize');
             INSERT INTO term_gram (term_gram) VALUES ('optimize');",
        )?;
        transaction.commit()?;
        Ok(())
    }

    /// Makes all indexes anew from the entities, in one transaction.
    pub fn rebuild_index(&self) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let transaction = writer.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(
            "INSERT INTO name_text (name_text) VALUES ('delete-all');
             INSERT INTO full_text (full_text) VALUES ('delete-all'); DELETE FROM name_key;
             DELETE FROM term_deletion; DELETE FROM term;
             INSERT INTO term_gram (term_gram) VALUES ('rebuild');",
        )?;
        let mut last = -1;
        loop {
            let page = rows::live_ids_after(&transaction, last, 1_000)?;
            let Some(end) = page.last() else { break };
            last = *end;
            for entity in rows::entities(&transaction, &page)? {
                add(&transaction, entity.id, &entity.name, &entity.entity_type, &entity.observations)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }
}
