//! Which value a setting has, and who says so: flag, then environment, then file, then default.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use toml_edit::{DocumentMut, Item};

use super::{Kind, Scope, Setting, TABLE, Value, repository};
use crate::exit::{Failure, Outcome, plain};
use crate::folders::Folders;
use crate::nearest;

/// The flag that names the configuration file.
pub(super) const FILE: &str = "config";

/// Who says what a setting's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Environment,
    File,
    Default,
}

/// The value of every setting.
#[derive(Debug)]
pub(crate) struct Settings {
    /// In the order of the table.
    values: Vec<(Option<Value>, Origin)>,
    file: PathBuf,
    file_exists: bool,
    pub(crate) folders: Folders,
}

impl Settings {
    /// Finds every value, given the flags of a command.
    pub(crate) fn resolve(flags: &ArgMatches) -> Outcome<Self> {
        let (settings, problems) = Self::resolve_what_can_be(flags)?;
        match problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(settings),
        }
    }

    /// Finds every value that can be found, and what is wrong with the others: those have their defaults.
    pub(crate) fn resolve_what_can_be(flags: &ArgMatches) -> Outcome<(Self, Vec<Failure>)> {
        let variable = |name: &str| std::env::var(name).ok();
        Ok(Self::resolve_with(flags, Folders::find()?, variable, repository::name))
    }

    /// The defaults, with everything that is kept in this folder.
    pub(crate) fn defaults(folder: &Path) -> Self {
        Self::resolve_with(&ArgMatches::default(), Folders::within(folder), |_| None, || None).0
    }

    fn resolve_with(
        flags: &ArgMatches,
        folders: Folders,
        variable: impl Fn(&str) -> Option<String>,
        repository: impl Fn() -> Option<String>,
    ) -> (Self, Vec<Failure>) {
        // A variable that is set to nothing is not set: how shells and containers clear them.
        let variable = |name: &str| variable(name).filter(|text| !text.is_empty());
        let named = flags.try_get_one::<String>(FILE).ok().flatten().cloned();
        let named = named.or_else(|| variable("DIPTYCH_CONFIG"));
        let file = named.as_ref().map_or_else(|| folders.settings_file(), PathBuf::from);
        let (document, mut problems) = read(&folders, &file, named.is_some());
        let file_exists = document.is_some();
        let mut values = Vec::with_capacity(TABLE.len());
        for setting in TABLE {
            let given = given(setting, flags, &variable, document.as_ref(), (&folders, &file));
            let given = given.unwrap_or_else(|problem| {
                problems.push(problem);
                None
            });
            values.push(given.unwrap_or_else(|| (default(setting, &folders, &repository), Origin::Default)));
        }
        (Settings { values, file, file_exists, folders }, problems)
    }

    /// Every setting with its value and who says so.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static Setting, Option<&Value>, Origin)> {
        TABLE
            .into_iter()
            .zip(&self.values)
            .map(|(setting, (value, origin))| (setting, value.as_ref(), *origin))
    }

    fn get(&self, wanted: &Setting) -> Option<&Value> {
        self.all().find(|(setting, ..)| setting.name == wanted.name)?.1
    }

    pub(crate) fn switch(&self, setting: &Setting) -> bool {
        matches!(self.get(setting), Some(Value::Switch(true)))
    }

    pub(crate) fn text(&self, setting: &Setting) -> Option<&str> {
        match self.get(setting) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn count(&self, setting: &Setting) -> Option<u64> {
        match self.get(setting) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    pub(crate) fn address(&self, setting: &Setting) -> Option<SocketAddr> {
        match self.get(setting) {
            Some(Value::Address(address)) => Some(*address),
            _ => None,
        }
    }

    pub(crate) fn list(&self, setting: &Setting) -> &[String] {
        match self.get(setting) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    /// The configuration file, and whether it is there.
    pub(crate) fn file(&self) -> (&Path, bool) {
        (&self.file, self.file_exists)
    }

    /// Who says what a setting's value is.
    pub(crate) fn origin(&self, wanted: &Setting) -> Origin {
        let found = self.all().find(|(setting, ..)| setting.name == wanted.name);
        found.map_or(Origin::Default, |(.., origin)| origin)
    }

    /// What to call a setting when something is wrong with it: where its value comes from.
    pub(crate) fn named(&self, wanted: &Setting) -> String {
        match self.origin(wanted) {
            Origin::Environment => wanted.variable(),
            Origin::File => format!("`{}` in {}", wanted.name, self.folders.show(&self.file)),
            _ => format!("`--{}`", wanted.name),
        }
    }

    /// The flags of this scope that were given, as they would be given again from anywhere.
    pub(crate) fn given(&self, scope: Scope) -> Vec<String> {
        let mut flags = Vec::new();
        for (setting, value, origin) in self.all() {
            let is_asked_for =
                setting.scope == scope || (setting.scope, scope) == (Scope::Model, Scope::Server);
            if !is_asked_for || origin != Origin::Flag {
                continue;
            }
            let flag = format!("--{}", setting.name);
            match value {
                Some(Value::Switch(true)) => flags.push(flag),
                Some(Value::Switch(false)) => flags.push(format!("{flag}=false")),
                Some(Value::Text(text)) if matches!(setting.kind, Kind::File | Kind::Folder) => {
                    flags.extend([flag, absolute(text)]);
                }
                Some(Value::Text(text)) => flags.extend([flag, text.clone()]),
                Some(Value::Count(count)) => flags.extend([flag, count.to_string()]),
                Some(Value::Address(address)) => flags.extend([flag, address.to_string()]),
                Some(Value::List(list)) if setting.kind == Kind::Folders => {
                    for folder in list {
                        flags.extend([flag.clone(), absolute(folder)]);
                    }
                }
                Some(Value::List(list)) => flags.extend([flag, list.join(",")]),
                None => {}
            }
        }
        flags
    }
}

/// The variables that look like settings and are none: a misspelt one would go unnoticed.
pub(crate) fn strangers() -> impl Iterator<Item = String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names
        .filter(|name| name.starts_with("DIPTYCH_") && name != "DIPTYCH_CONFIG")
        .filter(|name| TABLE.iter().all(|setting| setting.variable() != *name))
}

fn unusable(name: &str, problem: &str) -> Failure {
    let end = if problem.ends_with('?') { "" } else { "." };
    Failure::usage(format!("{name} cannot be used: {problem}{end}"))
        .hint("`diptych config` shows every setting and where it comes from.")
}

/// What somebody says a setting's value is, and who.
fn given(
    setting: &'static Setting,
    flags: &ArgMatches,
    variable: &impl Fn(&str) -> Option<String>,
    document: Option<&DocumentMut>,
    (folders, file): (&Folders, &Path),
) -> Outcome<Option<(Option<Value>, Origin)>> {
    if let Some(texts) = flags.try_get_many::<String>(setting.name).ok().flatten() {
        let texts: Vec<String> = texts.cloned().collect();
        let value = Value::parse(setting.kind, &texts);
        let value = value.map_err(|problem| unusable(&format!("`--{}`", setting.name), &problem))?;
        return Ok(Some((Some(value), Origin::Flag)));
    }
    if let Some(text) = variable(&setting.variable()) {
        let value = Value::parse_text(setting.kind, &text);
        let value = value.map_err(|problem| unusable(&setting.variable(), &problem))?;
        return Ok(Some((Some(value), Origin::Environment)));
    }
    let Some(item) = document.and_then(|document| document.get(setting.name)) else { return Ok(None) };
    let name = format!("`{}` in {}", setting.name, folders.show(file));
    let texts = texts(item, setting.kind).map_err(|problem| unusable(&name, problem))?;
    let texts = match setting.kind {
        Kind::Folders | Kind::Folder | Kind::File => texts.iter().map(|text| beside(file, text)).collect(),
        _ => texts,
    };
    let value = Value::parse(setting.kind, &texts).map_err(|problem| unusable(&name, &problem))?;
    Ok(Some((Some(value), Origin::File)))
}

/// What holds when nobody says anything.
fn default(setting: &Setting, folders: &Folders, repository: &impl Fn() -> Option<String>) -> Option<Value> {
    match setting.default {
        "" => None,
        file if matches!(setting.kind, Kind::File | Kind::Folder) => {
            Some(Value::Text(folders.data.join(file).to_string_lossy().into_owned()))
        }
        text if setting.kind == Kind::Project => {
            Some(Value::Text(repository().unwrap_or_else(|| text.to_owned())))
        }
        text => Value::parse_text(setting.kind, text).ok(),
    }
}

/// Reads the configuration file, if there is one. One that was named must be there.
fn read(folders: &Folders, file: &Path, named: bool) -> (Option<DocumentMut>, Vec<Failure>) {
    let shown = folders.show(file);
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => return (None, Vec::new()),
        Err(error) => {
            let error = plain(&error);
            let problem = Failure::usage(format!("The configuration file {shown} cannot be read: {error}."))
                .hint("Name another with `--config` or DIPTYCH_CONFIG, or none: nothing needs one.");
            return (None, vec![problem]);
        }
    };
    let document: DocumentMut = match text.parse() {
        Ok(document) => document,
        Err(error) => {
            let problem =
                format!("The configuration file {shown} is not valid TOML: {}.", first_line(&error));
            let problem =
                Failure::usage(problem).hint("Mend that line, or move the file away: nothing needs it.");
            return (None, vec![problem]);
        }
    };
    let unknown = document.iter().filter(|(key, _)| !TABLE.iter().any(|setting| setting.name == *key));
    let problems = unknown.map(|(key, _)| {
        let hint = nearest::hint(key, TABLE.iter().map(|setting| setting.name));
        Failure::usage(format!("{shown} has `{key}`, which is not a setting."))
            .hint("`diptych config` shows every setting.")
            .maybe_hint(hint)
    });
    let problems = problems.collect();
    (Some(document), problems)
}

/// The place and the problem, without the excerpt that the parser draws.
fn first_line(error: &toml_edit::TomlError) -> String {
    let text = error.to_string();
    let place = text.lines().next().unwrap_or_default().trim_start_matches("TOML parse ").to_owned();
    let problem = error.message().trim().trim_end_matches('.').replace('\n', "; ");
    format!("{place}: {problem}")
}

/// The parts of a value in the file.
fn texts(item: &Item, kind: Kind) -> Result<Vec<String>, &'static str> {
    let scalar = |value: &toml_edit::Value| match value {
        toml_edit::Value::String(text) => Some(text.value().clone()),
        toml_edit::Value::Integer(number) => Some(number.value().to_string()),
        toml_edit::Value::Boolean(switch) => Some(switch.value().to_string()),
        _ => None,
    };
    let many = matches!(kind, Kind::List | Kind::Choices(_) | Kind::Folders);
    match item.as_value() {
        Some(toml_edit::Value::Array(items)) if many => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()
        }
        Some(value) => scalar(value).map(|text| vec![text]),
        None => None,
    }
    .ok_or(if many { "it must be a list of texts" } else { "it must be a single value" })
}

/// A path in the file is relative to the file.
fn beside(file: &Path, text: &str) -> String {
    if text == "embedded" {
        return text.to_owned();
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    folder.join(text).to_string_lossy().into_owned()
}

/// A path that means the same from everywhere.
fn absolute(folder: &str) -> String {
    if folder == "embedded" {
        return folder.to_owned();
    }
    std::path::absolute(folder).map_or_else(|_| folder.to_owned(), |path| path.to_string_lossy().into_owned())
}
