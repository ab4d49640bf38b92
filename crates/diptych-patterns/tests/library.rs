//! Folders as catalogues: merging, provenance, and following changes to real files.

#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diptych_patterns::{Catalogue, Library, Options, Severity, Source, Watch};
use tempfile::TempDir;

fn write(folder: &Path, file: &str, id: &str, title: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = format!(
        "---\nid: {id}\ntitle: {title}\ndifficulty: beginner\nsummary: About {title}.\n---\nText.\n\n## Example\n\n```ts\nx()\n```\n"
    );
    fs::write(path, text).unwrap();
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("garden-patterns").tempdir().unwrap()
}

fn open(folders: &[&Path], watch: Watch) -> Library {
    let sources = folders.iter().map(|path| Source::from(*path));
    Library::open(sources, Options { watch, ..Options::default() }).unwrap()
}

/// Waits, up to a generous bound, until the catalogue is as wanted.
fn eventually(library: &Library, what: &str, wanted: impl Fn(&Catalogue) -> bool) -> Arc<Catalogue> {
    let started = Instant::now();
    loop {
        let catalogue = library.current();
        if wanted(&catalogue) {
            return catalogue;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "never came true: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn title<'a>(catalogue: &'a Catalogue, id: &str) -> Option<&'a str> {
    catalogue.get(id).map(|pattern| pattern.title.as_str())
}

#[test]
fn folders_replace_the_embedded_catalogue_unless_it_is_named() {
    let folder = folder();
    write(folder.path(), "own.md", "effect-all", "Our Own");
    let alone = open(&[folder.path()], Watch::Off).current();
    assert_eq!(alone.len(), 1);

    let embedded = Library::embedded().current();
    let both = open(&[Path::new("embedded"), folder.path()], Watch::Off).current();
    assert_eq!(both.len(), embedded.len());
    assert_eq!(title(&both, "effect-all"), Some("Our Own"));

    let first = open(&[folder.path(), Path::new("embedded")], Watch::Off).current();
    assert_eq!(title(&first, "effect-all"), title(&embedded, "effect-all"));
}

#[test]
fn later_folders_win_and_problems_name_their_folder() {
    let (one, two) = (folder(), folder());
    write(one.path(), "a.md", "shared", "First");
    write(one.path(), "b.md", "only-first", "Only First");
    write(two.path(), "a.md", "shared", "Second");
    fs::write(two.path().join("bad.md"), "---\nnever closed").unwrap();
    let catalogue = open(&[one.path(), two.path()], Watch::Off).current();
    assert_eq!(title(&catalogue, "shared"), Some("Second"));
    assert_eq!(catalogue.len(), 2);
    let name = two.path().file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(catalogue.problems()[0].file, format!("{name}/bad.md"));
}

#[test]
fn a_catalogue_says_where_it_comes_from() {
    let folder = folder();
    write(folder.path(), "soil/dig.md", "dig", "Dig");
    let unnamed = open(&[folder.path()], Watch::Off).current();
    assert!(unnamed.provenance().version.starts_with("content-"));

    fs::write(
        folder.path().join("catalogue.yaml"),
        "title: Garden\nversion: 2.10\ncategories: [soil, air]\n",
    )
    .unwrap();
    write(folder.path(), "air/breathe.md", "breathe", "Breathe");
    write(folder.path(), "zoo/feed.md", "feed", "Feed");
    let catalogue = open(&[folder.path()], Watch::Off).current();
    let provenance = catalogue.provenance();
    assert_eq!(catalogue.title(), "Garden");
    assert_eq!(
        (provenance.source.as_str(), provenance.version.as_str(), provenance.marker),
        ("Garden pattern catalogue", "2.10", "v1")
    );
    let newest = fs::metadata(folder.path().join("zoo/feed.md")).unwrap().modified().unwrap();
    let seconds = newest.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let timestamp: Vec<&str> = provenance.timestamp.split('.').collect();
    assert_eq!(timestamp[1].len(), "000Z".len(), "{provenance:?}");
    assert!(timestamp[0].ends_with(&format!(":{:02}", seconds % 60)), "{provenance:?}");
    let categories: Vec<&str> = catalogue.categories().iter().map(|count| count.of.as_str()).collect();
    assert_eq!(categories, ["soil", "air", "zoo"]);
    assert!(!format!("{provenance:?}").contains(&*folder.path().to_string_lossy()));
}

#[test]
fn a_catalogue_may_add_synonyms() {
    let folder = folder();
    write(folder.path(), "dig.md", "dig", "Dig a Hole");
    write(folder.path(), "rake.md", "rake", "Rake Leaves");
    let finds = |library: &Library| library.current().find("excavate", None, None).matches.len();
    assert_eq!(finds(&open(&[folder.path()], Watch::Off)), 0);
    fs::write(folder.path().join("catalogue.yaml"), "synonyms:\n  - [dig, excavate]\n").unwrap();
    assert_eq!(finds(&open(&[folder.path()], Watch::Off)), 1);
}

#[test]
fn related_patterns_are_those_that_exist() {
    let folder = folder();
    write(folder.path(), "a/one.md", "one", "One");
    let two = "---\nid: two\ntitle: Two\n---\nText\n\n## See Also\n\n- [One](./one.md)\n- [Web](https://example.org)\n- [None](./none.md)\n";
    fs::write(folder.path().join("a/two.md"), two).unwrap();
    let catalogue = open(&[folder.path()], Watch::Off).current();
    assert_eq!(catalogue.get("two").unwrap().related, ["one"]);
}

fn follows_changes(watch: Watch) {
    let folder = folder();
    write(folder.path(), "a.md", "a", "First");
    let library = open(&[folder.path()], watch);
    let mut changes = library.subscribe();
    changes.mark_unchanged();
    let held = library.current();

    write(folder.path(), "a.md", "a", "Second");
    eventually(&library, "an edit is served", |now| title(now, "a") == Some("Second"));
    assert!(changes.has_changed().unwrap(), "subscribers hear of it");
    assert_eq!(title(&held, "a"), Some("First"), "what is held does not change");

    write(folder.path(), "deep/er/b.md", "b", "New");
    eventually(&library, "a new file in a new folder is served", |now| title(now, "b") == Some("New"));

    fs::write(folder.path().join("a.md"), "---\ntitle: \"broken\n---\n").unwrap();
    let broken = eventually(&library, "a broken file is reported", |now| {
        now.problems().iter().any(|problem| problem.file == "a.md" && problem.severity == Severity::Error)
    });
    assert_eq!(title(&broken, "a"), Some("Second"), "its last good version stays");

    write(folder.path(), "a.md", "a", "Mended");
    let mended = eventually(&library, "a mended file is served", |now| title(now, "a") == Some("Mended"));
    assert!(mended.problems().iter().all(|problem| problem.severity == Severity::Warning));

    fs::remove_file(folder.path().join("a.md")).unwrap();
    eventually(&library, "a deleted file is gone", |now| now.get("a").is_none());

    fs::write(folder.path().join("catalogue.yaml"), "title: Renamed\n").unwrap();
    eventually(&library, "the catalogue's own file counts too", |now| now.title() == "Renamed");

    let other = folder.path().join("c.md.tmp");
    write(folder.path(), "c.md.tmp", "c", "Moved");
    fs::rename(other, folder.path().join("c.md")).unwrap();
    eventually(&library, "a file moved into place is served", |now| title(now, "c") == Some("Moved"));
}

#[test]
fn changes_are_followed_by_events() {
    follows_changes(Watch::Events);
}

#[test]
fn changes_are_followed_by_polling() {
    follows_changes(Watch::Poll(Duration::from_millis(20)));
}

#[test]
fn a_folder_that_goes_and_comes_back_is_followed() {
    let outer = folder();
    let inner = outer.path().join("inner");
    write(&inner, "a.md", "a", "Before");
    let library = open(&[&inner], Watch::Events);
    assert_eq!(title(&library.current(), "a"), Some("Before"));
    fs::rename(&inner, outer.path().join("away")).unwrap();
    eventually(&library, "what is gone is gone", Catalogue::is_empty);
    write(&inner, "a.md", "a", "After");
    eventually(&library, "what is back is served", |now| title(now, "a") == Some("After"));
    write(&inner, "a.md", "a", "Edited");
    eventually(&library, "and watched again", |now| title(now, "a") == Some("Edited"));
}

#[test]
fn without_watching_the_catalogue_stays_as_it_was() {
    let folder = folder();
    write(folder.path(), "a.md", "a", "First");
    let library = open(&[folder.path()], Watch::Off);
    assert_eq!(title(&library.current(), "a"), Some("First"));
    write(folder.path(), "a.md", "a", "Second");
    assert_eq!(title(&library.current(), "a"), Some("First"));
}
