//! A folder of Markdown files, read file by file and kept up to date by reading again what changed.
//!
//! A file that cannot be read does not take the others with it: it is reported, and its last good
//! version stays. Nothing outside the folder is ever opened, whatever links say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::catalogue::Part;
use crate::manifest::{self, Manifest};
use crate::parse::{Parsed, parse};
use crate::problem::Problem;
use crate::text::humanise;

/// How much a folder may hold before it is taken for a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes one file may have.
    pub file_bytes: u64,
    /// The most files one folder may hold.
    pub files: usize,
    /// The most folders inside each other.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: 2 * 1024 * 1024, files: 50_000, depth: 16 }
    }
}

/// A folder and what was read from it.
#[derive(Debug)]
pub(crate) struct Folder {
    name: String,
    root: PathBuf,
    limits: Limits,
    files: BTreeMap<String, Entry>,
    manifest: (Option<Stamp>, Manifest, Option<Problem>),
    walk_problems: Vec<Problem>,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    good: Option<Arc<Parsed>>,
    broken: Option<Problem>,
}

/// Tells whether a file has to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    bytes: u64,
    /// Read so soon after it was written that a second write may carry the same time.
    is_fresh: bool,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let is_fresh = modified.elapsed().is_ok_and(|age| age < Duration::from_secs(3));
        Self { modified, bytes: metadata.len(), is_fresh }
    }

    fn covers(&self, other: &Self) -> bool {
        self.modified == other.modified && self.bytes == other.bytes && !self.is_fresh
    }
}

impl Folder {
    /// A folder that has not been read yet.
    pub(crate) fn new(root: &Path, limits: Limits) -> Self {
        Self {
            name: name_of(root),
            root: root.to_owned(),
            limits,
            files: BTreeMap::new(),
            manifest: (None, Manifest::default(), None),
            walk_problems: Vec::new(),
        }
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What it adds to a catalogue: its patterns in the order of their files.
    pub(crate) fn part(&self) -> Part<'_> {
        Part {
            name: &self.name,
            manifest: &self.manifest.1,
            patterns: self.files.values().filter_map(|entry| entry.good.as_ref()).collect(),
            problems: self.problems(),
            newest: self.newest(),
        }
    }

    /// What is wrong with the folder and with each file by itself.
    fn problems(&self) -> Vec<Problem> {
        let mut problems = self.walk_problems.clone();
        problems.extend(self.manifest.2.clone());
        for entry in self.files.values() {
            problems.extend(entry.broken.clone());
            if entry.broken.is_none() {
                problems.extend(entry.good.iter().flat_map(|parsed| parsed.problems.clone()));
            }
        }
        problems
    }

    /// When a file of it was last written.
    fn newest(&self) -> Option<SystemTime> {
        let files = self.files.values().map(|entry| entry.stamp.modified);
        files.chain(self.manifest.0.map(|stamp| stamp.modified)).max()
    }

    /// Reads what is new or changed and forgets what is gone. Says whether anything differs.
    pub(crate) fn refresh(&mut self) -> bool {
        let Walk { found, manifest, problems } = walk(&self.root, self.limits);
        let mut changed = problems != self.walk_problems;
        self.walk_problems = problems;

        let present: BTreeSet<&str> = found.iter().map(|found| found.file.as_str()).collect();
        let before = self.files.len();
        self.files.retain(|file, _| present.contains(file.as_str()));
        changed |= before != self.files.len();

        let stale: Vec<&Found> = found
            .iter()
            .filter(|found| {
                !self.files.get(&found.file).is_some_and(|entry| entry.stamp.covers(&found.stamp))
            })
            .collect();
        for (found, read) in stale.iter().zip(read_all(&stale, self.limits)) {
            changed |= self.keep(found, read);
        }
        changed | self.refresh_manifest(manifest.as_ref())
    }

    fn keep(&mut self, found: &Found, read: Result<Parsed, Problem>) -> bool {
        let old = self.files.remove(&found.file);
        let (entry, changed) = match (read, old) {
            (Ok(parsed), Some(Entry { good: Some(good), broken: None, .. })) if good.hash == parsed.hash => {
                (Entry { stamp: found.stamp, good: Some(good), broken: None }, false)
            }
            (Ok(parsed), _) => {
                (Entry { stamp: found.stamp, good: Some(Arc::new(parsed)), broken: None }, true)
            }
            (Err(problem), old) => {
                let changed = old.as_ref().is_none_or(|old| old.broken.as_ref() != Some(&problem));
                let good = old.and_then(|old| old.good);
                (Entry { stamp: found.stamp, good, broken: Some(problem) }, changed)
            }
        };
        self.files.insert(found.file.clone(), entry);
        changed
    }

    fn refresh_manifest(&mut self, found: Option<&Found>) -> bool {
        let Some(found) = found else {
            return self.manifest.0.is_some() && {
                self.manifest = (None, Manifest::default(), None);
                true
            };
        };
        if self.manifest.0.is_some_and(|stamp| stamp.covers(&found.stamp)) {
            return false;
        }
        let read = read_file(found, self.limits).and_then(|bytes| Manifest::parse(&found.file, &bytes));
        let (manifest, problem) = match read {
            Ok(manifest) => (manifest, None),
            Err(problem) => (self.manifest.1.clone(), Some(problem)),
        };
        let changed = self.manifest.1 != manifest || self.manifest.2 != problem;
        self.manifest = (Some(found.stamp), manifest, problem);
        changed
    }
}

/// A folder's name as a catalogue's: `effect-patterns` is `Effect`.
pub(crate) fn title_of(folder_name: &str) -> String {
    let name = humanise(folder_name);
    let lower = name.to_lowercase();
    let words =
        lower.strip_suffix(" patterns").or_else(|| lower.strip_suffix(" pattern")).map_or(0, str::len);
    match words {
        0 => name,
        kept => name.get(..kept).unwrap_or(&name).to_owned(),
    }
}

fn name_of(root: &Path) -> String {
    let absolute = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    absolute.file_name().map_or_else(|| "patterns".into(), |name| name.to_string_lossy().into_owned())
}

struct Found {
    /// Relative to the folder, with `/`.
    file: String,
    path: PathBuf,
    stamp: Stamp,
}

#[derive(Default)]
struct Walk {
    found: Vec<Found>,
    manifest: Option<Found>,
    problems: Vec<Problem>,
}

/// Finds the files of a folder, in the order of their names, without following links to folders.
fn walk(root: &Path, limits: Limits) -> Walk {
    let mut walk = Walk::default();
    let Ok(root) = fs::canonicalize(root) else {
        walk.problems.push(Problem::error(
            ".",
            1,
            "The folder cannot be opened.",
            "Check that it exists and may be read.",
        ));
        return walk;
    };
    let mut links = Vec::new();
    walk_folder(&mut walk, &mut links, &root, "", limits, 0);

    // A link to a file of the same folder is that file under a second name: served once.
    let mut real: BTreeSet<PathBuf> = walk.found.iter().map(|found| found.path.clone()).collect();
    for (file, path) in links {
        follow(&mut walk, &mut real, &root, file, &path);
    }
    walk.found.sort_by(|a, b| a.file.cmp(&b.file));
    if walk.found.len() > limits.files {
        let (found, most) = (walk.found.len(), limits.files);
        walk.problems.push(Problem::error(
            ".",
            1,
            format!("The folder holds {found} pattern files, more than the {most} allowed; the others are left out."),
            "Name a smaller folder, or raise the limit.",
        ));
        walk.found.truncate(most);
    }
    if walk.found.is_empty() && walk.problems.is_empty() {
        walk.problems.push(Problem::error(
            ".",
            1,
            "The folder holds no pattern: no .md or .mdx file was found in it.",
            "Name the folder that holds them, or start one with `diptych patterns new`.",
        ));
    }
    walk
}

fn walk_folder(
    walk: &mut Walk,
    links: &mut Vec<(String, PathBuf)>,
    folder: &Path,
    prefix: &str,
    limits: Limits,
    depth: usize,
) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return walk.problems.push(unreadable(if prefix.is_empty() { "." } else { prefix }, &error));
        }
    };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "node_modules" {
            continue;
        }
        let file = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            links.push((file, entry.path()));
        } else if kind.is_dir() {
            if depth >= limits.depth {
                walk.problems.push(Problem::error(
                    &file,
                    1,
                    format!("The folder is more than {} folders deep.", limits.depth),
                    "Move its files further up.",
                ));
            } else {
                walk_folder(walk, links, &entry.path(), &file, limits, depth + 1);
            }
        } else if kind.is_file() {
            let Ok(metadata) = entry.metadata() else { continue };
            let found = Found { file, path: entry.path(), stamp: Stamp::of(&metadata) };
            if depth == 0 && manifest::FILES.contains(&name.as_str()) {
                walk.manifest = Some(found);
            } else if is_pattern_file(&name) {
                walk.found.push(found);
            }
        }
    }
}

/// A link is followed to a file inside the folder; to anywhere else it is reported.
fn follow(walk: &mut Walk, real: &mut BTreeSet<PathBuf>, root: &Path, file: String, path: &Path) {
    let name = file.rsplit('/').next().unwrap_or(&file).to_owned();
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) => {
            let what =
                if is_loop(&error) { "The link leads in a circle." } else { "The link leads to nothing." };
            return walk.problems.push(Problem::error(&file, 1, what, "Delete it or mend it."));
        }
    };
    if !target.starts_with(root) {
        return walk.problems.push(Problem::error(
            &file,
            1,
            "The link leads out of the catalogue's folder, so it is not followed.",
            "Put the file itself there, or name its folder as a catalogue of its own.",
        ));
    }
    if target.is_dir() {
        let above = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
        if above.is_some_and(|above| above.starts_with(&target)) {
            walk.problems.push(Problem::error(
                &file,
                1,
                "The link leads back to a folder above it, in a circle; it is not followed.",
                "Delete it.",
            ));
        }
        return;
    }
    let Ok(metadata) = fs::metadata(&target) else { return };
    if metadata.is_file() && is_pattern_file(&name) && real.insert(target.clone()) {
        walk.found.push(Found { file, path: target, stamp: Stamp::of(&metadata) });
    }
}

fn is_loop(error: &io::Error) -> bool {
    // `ErrorKind::FilesystemLoop` is not stable yet; 40 is ELOOP on Linux, 62 on macOS and the BSDs.
    matches!(error.raw_os_error(), Some(40 | 62))
}

fn is_pattern_file(name: &str) -> bool {
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_markdown = extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("mdx");
    let is_about_the_folder =
        ["readme", "license", "licence", "changelog", "contributing", "code_of_conduct", "security"]
            .iter()
            .any(|word| stem.eq_ignore_ascii_case(word));
    is_markdown && !stem.is_empty() && !is_about_the_folder
}

fn unreadable(file: &str, error: &io::Error) -> Problem {
    let what = match error.kind() {
        io::ErrorKind::PermissionDenied => "It may not be read.",
        io::ErrorKind::NotFound => "It is gone.",
        _ => "It cannot be read.",
    };
    Problem::error(file, 1, what, "Check its permissions and the disk it is on.")
}

fn read_file(found: &Found, limits: Limits) -> Result<Vec<u8>, Problem> {
    let too_large = |bytes: u64| {
        Problem::error(
            &found.file,
            1,
            format!("The file has {}, more than the {} allowed.", size(bytes), size(limits.file_bytes)),
            "Split it, or raise the limit.",
        )
    };
    if found.stamp.bytes > limits.file_bytes {
        return Err(too_large(found.stamp.bytes));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.stamp.bytes).unwrap_or_default());
    fs::File::open(&found.path)
        // A file that grows while it is read must not get past the limit either.
        .and_then(|file| file.take(limits.file_bytes + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(&found.file, &error))?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= limits.file_bytes => Ok(bytes),
        _ => Err(too_large(found.stamp.bytes.max(limits.file_bytes + 1))),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        _ => format!("{} MB", bytes.div_ceil(1024 * 1024)),
    }
}

/// Reads and parses files, on several threads when there are many.
fn read_all(stale: &[&Found], limits: Limits) -> Vec<Result<Parsed, Problem>> {
    let read = |found: &&Found| read_file(found, limits).and_then(|bytes| parse(&found.file, &bytes));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if stale.len() < 32 || threads == 1 {
        return stale.iter().map(read).collect();
    }
    let share = stale.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = stale
            .chunks(share)
            .map(|chunk| (chunk, scope.spawn(move || chunk.iter().map(read).collect::<Vec<_>>())))
            .collect();
        workers
            .into_iter()
            .flat_map(|(chunk, worker)| {
                worker
                    .join()
                    .unwrap_or_else(|_| chunk.iter().map(|found| Err(crashed(&found.file))).collect())
            })
            .collect()
    })
}

fn crashed(file: &str) -> Problem {
    Problem::error(file, 1, "Reading the file, or one beside it, failed unexpectedly.", "Please report it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_lends_its_name_to_the_title() {
        assert_eq!(title_of("effect-patterns"), "Effect");
        assert_eq!(title_of("team_handbook"), "Team handbook");
        assert_eq!(title_of("patterns"), "Patterns");
    }

    #[test]
    fn files_about_the_folder_are_no_patterns() {
        assert!(is_pattern_file("retry.md") && is_pattern_file("retry.MDX"));
        assert!(
            !is_pattern_file("README.md") && !is_pattern_file("LICENSE") && !is_pattern_file("notes.txt")
        );
    }

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(
            (size(10), size(1025), size(50_000_000)),
            ("10 bytes".into(), "2 KB".into(), "48 MB".into())
        );
    }
}
