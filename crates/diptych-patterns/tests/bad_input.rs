//! Whatever is wrong with a folder: a clear message with file and line, and the rest is served.

#![expect(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::fs;
use std::path::Path;

use diptych_patterns::{Library, Limits, Options, Source, Watch, lint};
use tempfile::TempDir;

const GOOD: &str = "\
---
id: good
title: A Good One
category: test
difficulty: beginner
summary: Nothing is wrong with it.
---

It is good.

## Example

```typescript
good()
```
";

/// A folder with one good file and whatever else is written into it.
fn folder(prepare: impl FnOnce(&Path)) -> TempDir {
    let folder = tempfile::Builder::new().prefix("shelf").tempdir().unwrap();
    fs::write(folder.path().join("good.md"), GOOD).unwrap();
    prepare(folder.path());
    folder
}

/// The problems, one a line; checks that the good file is served all the same.
fn problems_of(folder: &TempDir) -> String {
    let options = Options { watch: Watch::Off, ..Options::default() };
    let library = Library::open([Source::Folder(folder.path().to_owned())], options).unwrap();
    let catalogue = library.current();
    assert!(catalogue.get("good").is_some(), "the rest is served");
    let problems = lint(folder.path(), Limits::default());
    assert_eq!(catalogue.problems(), problems, "loading and linting see the same");
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let text = lines.join("\n");
    assert!(!text.contains(&*folder.path().to_string_lossy()), "no absolute path in {text}");
    text
}

fn with(text: &str) -> String {
    GOOD.replace("id: good\n", text)
}

#[test]
fn a_good_folder_has_no_problems() {
    assert_eq!(problems_of(&folder(|_| {})), "");
}

#[test]
fn an_empty_folder() {
    let empty = tempfile::tempdir().unwrap();
    let problems = lint(empty.path(), Limits::default());
    insta::assert_snapshot!(problems[0]);
    let library = Library::open([Source::Folder(empty.path().to_owned())], Options::default()).unwrap();
    assert!(library.current().is_empty());
    assert_eq!(library.current().find("anything", None, None).matches.len(), 0);
}

#[test]
fn a_folder_that_does_not_exist() {
    let missing = tempfile::tempdir().unwrap().path().join("not-there");
    let error = Library::open([Source::Folder(missing.clone())], Options::default()).unwrap_err();
    insta::assert_snapshot!(error);
    insta::assert_snapshot!(lint(&missing, Limits::default())[0]);
}

#[test]
fn a_file_of_fifty_megabytes() {
    let folder = folder(|path| {
        // Sparse: it has the size without taking the space.
        fs::File::create(path.join("huge.md")).unwrap().set_len(50 * 1024 * 1024).unwrap();
    });
    insta::assert_snapshot!(problems_of(&folder));
}

#[test]
fn the_limit_of_a_file_can_be_set() {
    let folder = folder(|path| fs::write(path.join("long.md"), "x".repeat(2000)).unwrap());
    let limits = Limits { file_bytes: 1000, ..Limits::default() };
    insta::assert_snapshot!(lint(folder.path(), limits)[0]);
}

#[test]
fn more_files_than_allowed() {
    let folder = folder(|path| {
        for name in ["x", "y", "z"] {
            fs::write(path.join(format!("{name}.md")), with(&format!("id: {name}\n"))).unwrap();
        }
    });
    let limits = Limits { files: 2, ..Limits::default() };
    insta::assert_snapshot!(lint(folder.path(), limits)[0]);
}

#[test]
fn bytes_that_are_not_utf_8() {
    let folder = folder(|path| fs::write(path.join("latin.md"), b"---\ntitle: caf\xe9\n---\n").unwrap());
    insta::assert_snapshot!(problems_of(&folder));
}

#[test]
fn an_empty_file() {
    insta::assert_snapshot!(problems_of(&folder(|path| fs::write(path.join("void.md"), " \n").unwrap())));
}

#[test]
fn two_files_with_the_same_id() {
    let folder = folder(|path| {
        fs::create_dir(path.join("more")).unwrap();
        fs::write(path.join("more/other.md"), GOOD).unwrap();
    });
    insta::assert_snapshot!(problems_of(&folder));
}

#[test]
fn yaml_that_cannot_be_read() {
    for (name, yaml) in [
        ("unclosed_quote", "id: bad\ntitle: \"never closed\n"),
        ("colon_in_a_text", "id: bad\ntitle: Retry: twice\n"),
        ("tab", "id: bad\ntags:\n\t- one\n"),
        ("a_list_at_the_top", "- id\n- title\n"),
        ("a_map_for_a_text", "id: bad\ntitle: {a: b}\n"),
        ("given_twice", "id: bad\nid: worse\n"),
        ("unknown_alias", "id: *nothing\n"),
    ] {
        let text = format!("---\n{yaml}---\nText\n");
        let folder = folder(|path| fs::write(path.join("bad.md"), text).unwrap());
        insta::assert_snapshot!(name, problems_of(&folder));
    }
}

#[test]
fn a_front_matter_that_is_never_closed() {
    let folder = folder(|path| fs::write(path.join("open.md"), "---\nid: open\ntitle: Open\n").unwrap());
    insta::assert_snapshot!(problems_of(&folder));
}

#[test]
fn a_yaml_bomb() {
    let mut bomb = String::from("id: bomb\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..10 {
        let before = level - 1;
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![format!("*a{before}"); 9].join(", ")));
    }
    for (name, yaml) in [
        ("a_bomb_of_aliases", format!("{bomb}tags: *a9\n")),
        ("a_bomb_of_aliases_in_a_field_that_is_not_read", bomb),
        ("a_bomb_of_levels", format!("id: deep\ntags: {}{}\n", "[".repeat(500), "]".repeat(500))),
        ("a_bomb_of_values", format!("id: wide\ntags: [{}]\n", "x,".repeat(20_000))),
        ("a_bomb_of_text", format!("id: long\ntitle: {}\n", "x".repeat(100_000))),
    ] {
        let text = format!("---\n{yaml}---\nText\n");
        let folder = folder(|path| fs::write(path.join("bomb.md"), text).unwrap());
        insta::assert_snapshot!(name, problems_of(&folder));
    }
}

#[test]
fn a_related_id_that_does_not_resolve() {
    let text = with("id: lonely\nrelated:\n  - good\n  - nobody\n");
    let folder = folder(|path| fs::write(path.join("lonely.md"), text).unwrap());
    insta::assert_snapshot!(problems_of(&folder));
}

#[test]
fn a_catalogue_file_that_cannot_be_read() {
    let folder = folder(|path| fs::write(path.join("catalogue.yaml"), "title: [a\n").unwrap());
    insta::assert_snapshot!(problems_of(&folder));
    fs::write(folder.path().join("catalogue.yaml"), "rewrites:\n  null: [nothing]\n").unwrap();
    insta::assert_snapshot!("null_for_a_text", problems_of(&folder));
}

#[test]
fn folders_too_deep() {
    let folder = folder(|path| {
        let deep = path.join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("deep.md"), with("id: deep\n")).unwrap();
    });
    let limits = Limits { depth: 2, ..Limits::default() };
    insta::assert_snapshot!(lint(folder.path(), limits)[0]);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_that_lead_in_a_circle() {
        let folder = folder(|path| {
            fs::create_dir(path.join("inner")).unwrap();
            symlink(path, path.join("inner/up")).unwrap();
            symlink("self.md", path.join("self.md")).unwrap();
        });
        insta::assert_snapshot!(problems_of(&folder));
    }

    #[test]
    fn links_that_lead_outside() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.md"), with("id: secret\n")).unwrap();
        let folder = folder(|path| {
            symlink(outside.path().join("secret.md"), path.join("file.md")).unwrap();
            symlink(outside.path(), path.join("whole")).unwrap();
            symlink(path.join("gone"), path.join("dangling.md")).unwrap();
        });
        insta::assert_snapshot!(problems_of(&folder));
        let library = Library::open([Source::Folder(folder.path().to_owned())], Options::default()).unwrap();
        assert!(library.current().get("secret").is_none());
    }

    #[test]
    fn a_link_inside_the_folder_is_the_same_file_once() {
        let folder = folder(|path| {
            symlink(path.join("good.md"), path.join("also-good.md")).unwrap();
            fs::create_dir(path.join(".data")).unwrap();
            fs::write(path.join(".data/mounted.md"), with("id: mounted\n")).unwrap();
            symlink(path.join(".data/mounted.md"), path.join("mounted.md")).unwrap();
        });
        assert_eq!(problems_of(&folder), "");
        let library = Library::open([Source::Folder(folder.path().to_owned())], Options::default()).unwrap();
        assert_eq!(library.current().len(), 2);
    }
}
