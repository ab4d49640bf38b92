//! Entries in TOML files. What we do not touch stays as it was written, comments included.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::{Entry, Problem};

fn parse(text: &str) -> Result<DocumentMut, Problem> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let place = error.to_string();
        let place =
            place.lines().next().unwrap_or_default().trim_start_matches("TOML parse error ").to_owned();
        Problem::Malformed(format!("{} {place}", error.message().trim().replace('\n', "; ")))
    })
}

fn servers<'a>(document: &'a DocumentMut, key: &str) -> Result<Option<&'a dyn TableLike>, Problem> {
    match document.get(key) {
        None => Ok(None),
        Some(item) => item
            .as_table_like()
            .map(Some)
            .ok_or_else(|| Problem::Shape(format!("`{key}` in it is not a table"))),
    }
}

fn command(item: &Item) -> Option<&str> {
    item.as_table_like()?.get("command")?.as_str()
}

pub(super) fn added(
    text: &str,
    key: &str,
    name: &str,
    entry: &Entry,
    force: bool,
) -> Result<String, Problem> {
    let mut document = parse(text)?;
    if let Some(current) = servers(&document, key)?.and_then(|servers| servers.get(name))
        && !force
        && !command(current).is_some_and(Entry::is_ours)
    {
        return Err(Problem::Taken);
    }
    let servers = document.entry(key).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let taken = || Problem::Shape(format!("`{key}` in it is not a table"));
    let servers = servers.as_table_like_mut().ok_or_else(taken)?;
    if servers.get(name).and_then(Item::as_table_like).is_none() {
        servers.insert(name, Item::Table(Table::new()));
    }
    let ours = servers.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(taken)?;
    ours.insert("command", value(&entry.command));
    ours.insert("args", value(entry.arguments.iter().collect::<Array>()));
    Ok(document.to_string())
}

pub(super) fn removed(text: &str, key: &str, name: &str) -> Result<Option<String>, Problem> {
    let mut document = parse(text)?;
    if servers(&document, key)?.is_none_or(|servers| !servers.contains_key(name)) {
        return Ok(None);
    }
    if let Some(servers) = document.get_mut(key).and_then(Item::as_table_like_mut) {
        servers.remove(name);
    }
    Ok(Some(document.to_string()))
}

pub(super) fn commands(text: &str, key: &str) -> Result<Vec<(String, String)>, Problem> {
    let document = parse(text)?;
    let Some(servers) = servers(&document, key)? else { return Ok(Vec::new()) };
    let entries =
        servers.iter().filter_map(|(name, item)| Some((name.to_owned(), command(item)?.to_owned())));
    Ok(entries.collect())
}
