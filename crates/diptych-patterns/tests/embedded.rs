//! The embedded catalogue keeps its promises.

use std::collections::BTreeSet;
use std::path::Path;

use diptych_patterns::{Library, Limits, Options, Source, Watch, lint};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalogue")
}

#[test]
fn nothing_is_wrong_with_any_file() {
    let problems: Vec<String> = lint(&folder(), Limits::default()).iter().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(Library::embedded().current().problems(), []);
}

#[test]
fn what_is_compiled_in_is_what_is_in_the_folder() {
    let options = Options { watch: Watch::Off, ..Options::default() };
    let read = Library::open([Source::Folder(folder())], options).unwrap().current();
    let embedded = Library::embedded().current();
    assert_eq!(embedded.len(), read.len());
    for (compiled, on_disk) in embedded.patterns().zip(read.patterns()) {
        assert!(compiled == on_disk, "{} differs from {}", compiled.id, on_disk.file);
    }
    assert_eq!(embedded.title(), read.title());
}

#[test]
fn every_pattern_is_complete() {
    let catalogue = Library::embedded().current();
    assert!(catalogue.len() >= 60, "{} patterns", catalogue.len());
    for pattern in catalogue.patterns() {
        let id = &pattern.id;
        assert!(
            pattern.file.ends_with(&format!("{}/{id}.md", pattern.category)),
            "{id} is in {}",
            pattern.file
        );
        assert!(!pattern.tags.is_empty() && !pattern.api_names().is_empty(), "{id} has tags and API names");
        assert!(pattern.use_when.is_some() && pattern.avoid_when.is_some(), "{id} says when");
        assert!(!pattern.notes.is_empty(), "{id} has notes");
        assert!(!pattern.related.is_empty(), "{id} has related patterns");
        assert!(
            pattern.examples.iter().all(|example| example.language == "typescript"),
            "{id} is TypeScript"
        );
        assert!(
            pattern.examples.iter().all(|example| example.description.is_some()),
            "{id} says what it shows"
        );
        assert_ne!(pattern.description, pattern.summary, "{id} has a description of its own");
    }
}

#[test]
fn ids_differ_in_more_than_their_case() {
    let catalogue = Library::embedded().current();
    let lower: BTreeSet<String> = catalogue.patterns().map(|pattern| pattern.id.to_lowercase()).collect();
    assert_eq!(lower.len(), catalogue.len());
}

#[test]
fn the_categories_are_offered_in_their_order() {
    let catalogue = Library::embedded().current();
    let categories: Vec<&str> = catalogue.categories().iter().map(|count| count.of.as_str()).collect();
    assert_eq!(
        categories,
        [
            "error-handling",
            "service",
            "validation",
            "composition",
            "concurrency",
            "streams",
            "resource",
            "scheduling"
        ]
    );
    let counted: usize = catalogue.categories().iter().map(|count| count.patterns).sum();
    assert_eq!(counted, catalogue.len());
    let difficulties: Vec<&str> = catalogue.difficulties().iter().map(|count| count.of.as_str()).collect();
    assert_eq!(difficulties, ["beginner", "intermediate", "advanced"]);
}

#[test]
fn the_well_known_ids_are_there() {
    let catalogue = Library::embedded().current();
    let lines: Vec<String> = [
        "effect-service",
        "error-handling-match",
        "error-handling-catch-tag",
        "service-error-handling",
        "validation-errors",
        "error-recovery",
        "service-layer",
        "service-composition",
        "effect-all",
        "effect-forEach",
        "validation-schema",
    ]
    .iter()
    .map(|id| {
        let pattern = catalogue.get(id).unwrap_or_else(|| panic!("{id} is missing"));
        format!(
            "{id} | {} | {} | {} | {}",
            pattern.title,
            pattern.category,
            pattern.difficulty,
            pattern.tags.join(", ")
        )
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn its_provenance_is_fixed() {
    insta::assert_debug_snapshot!(Library::embedded().current().provenance());
}

#[test]
fn near_ids_are_near() {
    let catalogue = Library::embedded().current();
    assert_eq!(catalogue.near_ids("definitely-does-not-exist-12345"), Vec::<&str>::new());
    assert_eq!(catalogue.near_ids("efect-servise")[0], "effect-service");
    assert!(catalogue.near_ids("error-handling").contains(&"error-handling-match"));
    assert_eq!(catalogue.near_ids("stream").len(), 5, "no more than five");
}
