//! `diptych install` and `uninstall`: our entry in a client's configuration.
//!
//! A file that cannot be read as what it should be is refused and left as it is; everything else in it,
//! comments included, is kept, and the file as it was is kept beside it.

mod clients;
mod entry;
mod json;
mod toml;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};

use clients::Syntax;
pub(crate) use clients::{CLIENTS, ClientFile, can_start};
pub(crate) use entry::Entry;

use crate::exit::{Exit, Failure, Outcome, plain};
use crate::folders::Folders;
use crate::output;
use crate::settings::{self, Scope, Settings};

/// Why a configuration cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is not what it should be; where and why.
    Malformed(String),
    /// Our place in it is taken by something else.
    Shape(String),
    /// An entry of that name runs something else.
    Taken,
}

/// `diptych install`.
pub(crate) fn install_command() -> Command {
    with_client(Command::new("install").about("Add this server to a client's configuration"))
        .arg(
            Arg::new("print")
                .long("print")
                .action(ArgAction::SetTrue)
                .help("Show the entry and where it would go; change nothing"),
        )
        .arg(
            Arg::new("force")
                .long("force")
                .action(ArgAction::SetTrue)
                .help("Replace an entry of that name even if it runs something else"),
        )
        .args(settings::arguments(&[Scope::Server]))
        .after_help("Settings given here are written into the entry.")
}

/// `diptych uninstall`.
pub(crate) fn uninstall_command() -> Command {
    with_client(Command::new("uninstall").about("Remove this server from a client's configuration"))
}

fn with_client(command: Command) -> Command {
    command
        .arg(
            Arg::new("client")
                .value_name("CLIENT")
                .required(true)
                .value_parser(PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))
                .help("The client"),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .default_value("diptych")
                .value_parser(|name: &str| match entry::valid_name(name) {
                    true => Ok(name.to_owned()),
                    false => Err("use 1 to 64 letters, digits, `-` or `_`"),
                })
                .help("What the client calls the server"),
        )
        .arg(
            Arg::new("file")
                .long("file")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("The client's configuration file, where it is not in its usual place"),
        )
}

/// What the flags of both commands say.
struct Wanted {
    client: &'static ClientFile,
    name: String,
    file: PathBuf,
}

impl Wanted {
    fn new(settings: &Settings, flags: &ArgMatches) -> Outcome<Self> {
        let text = |name: &str| flags.get_one::<String>(name).cloned();
        let chosen = text("client").unwrap_or_default();
        let client = CLIENTS.iter().find(|client| client.name == chosen);
        let client = client.ok_or_else(|| Failure::usage(format!("There is no client `{chosen}`.")))?;
        let file = match text("file") {
            Some(file) => PathBuf::from(file),
            None => (client.file)(&settings.folders),
        };
        Ok(Wanted { client, name: text("name").unwrap_or_default(), file })
    }

    fn failure(&self, folders: &Folders, problem: Problem) -> Failure {
        let file = folders.show(&self.file);
        match problem {
            Problem::Malformed(why) => {
                Failure::failed(format!("{file} cannot be read, so it was left as it is: {why}."))
                    .hint("Mend it, or see `--print` for what to add by hand.")
            }
            Problem::Shape(why) => Failure::failed(format!("{file} was left as it is: {why}."))
                .hint("Mend it, or see `--print` for what to add by hand."),
            Problem::Taken => Failure::failed(format!(
                "{file} has another server called `{}`, so it was left as it is.",
                self.name
            ))
            .hint("Choose another name with `--name`, or replace it with `--force`."),
        }
    }
}

/// Adds our entry.
pub(crate) fn install(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let wanted = Wanted::new(settings, flags)?;
    let entry = Entry::ours(settings)?;
    let folders = &settings.folders;
    if flags.get_flag("print") {
        let printed = wanted
            .client
            .added("", &wanted.name, &entry, true)
            .map_err(|problem| wanted.failure(folders, problem))?;
        output::line(&printed)?;
        output::note(&format!("For {}", folders.show(&wanted.file)));
        return Ok(Exit::Done);
    }
    let before = read(folders, &wanted.file)?;
    let after = wanted
        .client
        .added(before.as_deref().unwrap_or_default(), &wanted.name, &entry, flags.get_flag("force"))
        .map_err(|problem| wanted.failure(folders, problem))?;
    if before.as_ref() == Some(&after) {
        output::note(&format!("{} has it already.", folders.show(&wanted.file)));
        return Ok(Exit::Done);
    }
    let backup = replace(folders, &wanted.file, before.as_deref(), &after)?;
    told(folders, &wanted, "Added", "to", backup.as_deref());
    output::note(wanted.client.next);
    Ok(Exit::Done)
}

/// Removes our entry.
pub(crate) fn uninstall(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let wanted = Wanted::new(settings, flags)?;
    let folders = &settings.folders;
    let before = read(folders, &wanted.file)?;
    let after = match &before {
        None => None,
        Some(before) => {
            wanted.client.removed(before, &wanted.name).map_err(|problem| wanted.failure(folders, problem))?
        }
    };
    let Some(after) = after else {
        output::note(&format!("{} has no server called `{}`.", folders.show(&wanted.file), wanted.name));
        return Ok(Exit::Done);
    };
    let backup = replace(folders, &wanted.file, before.as_deref(), &after)?;
    told(folders, &wanted, "Removed", "from", backup.as_deref());
    Ok(Exit::Done)
}

fn told(folders: &Folders, wanted: &Wanted, what: &str, way: &str, backup: Option<&Path>) {
    output::note(&format!("{what} `{}` {way} {}", wanted.name, folders.show(&wanted.file)));
    if let Some(backup) = backup {
        output::note(&format!("The file as it was: {}", folders.show(backup)));
    }
}

/// A configuration file's text; `None` when there is no file.
pub(crate) fn read(folders: &Folders, file: &Path) -> Outcome<Option<String>> {
    match std::fs::read(file) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Failure::failed(format!(
                "{} cannot be read, so it was left as it is: it is not UTF-8 text.",
                folders.show(file)
            ))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(Failure::failed(format!("{} cannot be read: {}.", folders.show(file), plain(&error))))
        }
    }
}

/// Puts new text in a file's place at once, so that no reader ever sees half of it, after keeping the old text
/// beside it.
fn replace(folders: &Folders, file: &Path, before: Option<&str>, after: &str) -> Outcome<Option<PathBuf>> {
    let failed = |error: std::io::Error| {
        Failure::failed(format!("{} cannot be written: {}.", folders.show(file), plain(&error)))
            .hint("`--print` shows what to add by hand.")
    };
    // What a link points to is replaced, not the link.
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    fresh.write_all(after.as_bytes()).and_then(|()| fresh.as_file().sync_all()).map_err(failed)?;
    let backup = match before {
        None => None,
        Some(_) => {
            let mut name = file.file_name().unwrap_or_default().to_owned();
            name.push(".before-diptych");
            let backup = file.with_file_name(name);
            std::fs::copy(&file, &backup).map_err(failed)?;
            let permissions = std::fs::metadata(&file).map_err(failed)?.permissions();
            fresh.as_file().set_permissions(permissions).map_err(failed)?;
            Some(backup)
        }
    };
    fresh.persist(&file).map_err(|error| failed(error.error))?;
    Ok(backup)
}
