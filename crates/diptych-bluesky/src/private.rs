//! Files that only the user can read, shared by all processes of that user.
//!
//! Whoever changes one holds a lock from reading to writing, so that nobody writes over what they have not seen; a file is
//! replaced as a whole, so that a reader never sees half of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file in a folder of the user's own.
#[derive(Debug, Clone)]
pub(crate) struct PrivateFile {
    folder: PathBuf,
    name: &'static str,
}

/// The only leave to change a file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(#[allow(dead_code, reason = "an open file is the lock")] File);

impl PrivateFile {
    /// The file of that name; `name` is without its extension, which is always `.json`.
    pub(crate) fn new(folder: &Path, name: &'static str) -> Self {
        PrivateFile { folder: folder.to_owned(), name }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.name))
    }

    /// Waits until nobody else changes it. Makes the folder where there is none.
    pub(crate) fn lock(&self) -> io::Result<Lock> {
        make_folder(&self.folder)?;
        let lock = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(self.folder.join(format!("{}.lock", self.name)))?;
        lock.lock()?;
        Ok(Lock(lock))
    }

    /// What is in it, or nothing where there is none.
    pub(crate) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces it.
    pub(crate) fn replace(&self, _lock: &Lock, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.folder.join(format!("{}.{}.part", self.name, std::process::id()));
        let _ = fs::remove_file(&fresh);
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, self.path())
    }

    /// Whether others can read it.
    pub(crate) fn is_open_to_others(&self) -> bool {
        #[cfg(unix)]
        if let Ok(about) = fs::metadata(self.path()) {
            return std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0;
        }
        false
    }
}

/// For the user alone.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_by_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = PrivateFile::new(&folder.path().join("deep/down"), "things");
        assert_eq!(file.read().unwrap(), None);
        let lock = file.lock().unwrap();
        for bytes in [b"one".as_slice(), b"other"] {
            file.replace(&lock, bytes).unwrap();
            assert_eq!(file.read().unwrap().unwrap(), bytes);
        }
        assert!(!file.is_open_to_others());
        let left: Vec<_> =
            fs::read_dir(&file.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file.folder).unwrap().permissions().mode() & 0o777, 0o700);
            fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).unwrap();
            assert!(file.is_open_to_others());
        }
    }
}
