//! The knowledge graph from the shell.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use serde_json::Value;
use support::Machine;

const ADA: &str = r#"{"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}"#;

#[test]
fn what_one_call_remembers_the_next_one_knows() {
    let machine = Machine::new();
    let ended = machine.run(&["call", "create_entities", "--entities", ADA, "--format", "json"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["created"], 1);
    let ended = machine.run(&["call", "search_nodes", "--query", "program"]);
    assert!(ended.out.contains("Ada"), "{ended:?}");
    assert!(machine.path(".local/share/diptych/graph.db").exists());
    let ended = machine.run(&["call", "search_nodes", "--query", "program", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["kind"], "nodeSearchResults:v1");
    let ended = machine.run(&["call", "--project", "other", "search_nodes", "--query", "program"]);
    assert!(!ended.out.contains("Ada"), "{ended:?}");
}

#[test]
fn each_repository_has_a_memory_of_its_own() {
    let machine = Machine::new();
    machine.run(&["call", "create_entities", "--entities", ADA]);
    machine.write(".git/HEAD", "ref: refs/heads/main\n");
    let name = machine.path("").file_name().unwrap().to_string_lossy().into_owned();
    let shown: Value = serde_json::from_str(&machine.run(&["config", "--json"]).out).unwrap();
    assert_eq!(shown["project"]["value"], name.as_str());
    let knows_ada = |flags: &[&str]| {
        machine.run(&[&["call"], flags, &["open_nodes", "--names", "Ada"]].concat()).out.contains("program")
    };
    assert!(!knows_ada(&[]));
    assert!(knows_ada(&["--project", "default"]));
    assert!(knows_ada(&["--graph-all-projects"]));
    machine.run(&["call", "create_entities", "--entities", ADA]);
    assert!(knows_ada(&["--project", &name]));
}

#[test]
fn nothing_is_made_until_something_is_remembered() {
    let machine = Machine::new();
    for arguments in [&["tools"][..], &["doctor"], &["completions", "bash"], &["graph", "export"], &["serve"]]
    {
        machine.run(arguments);
        assert!(!machine.path(".local").exists(), "{arguments:?}");
    }
}

#[test]
fn a_server_that_only_reads_has_no_tool_that_writes() {
    let machine = Machine::new();
    let ended = machine.run(&["tools", "--read-only"]);
    assert!(ended.out.contains("search_nodes") && !ended.out.contains("create_entities"), "{}", ended.out);
    let ended = machine.run(&["call", "--read-only", "create_entities", "--entities", ADA]);
    assert_eq!(ended.code, 2);
    insta::assert_snapshot!(ended.err, @r"
    error: The tool `create_entities` is part of `graph`, but it changes something, and `read-only` is on.
    hint: `diptych config` shows where the settings come from.
    ");
    let ended = machine.run(&["call", "--toolsets", "patterns", "search_nodes", "--query", "x"]);
    assert_eq!(ended.code, 2);
    insta::assert_snapshot!(ended.err, @r"
    error: The tool `search_nodes` is part of `graph`, but its toolset is not served.
    hint: `diptych config` shows where the settings come from.
    ");
}

#[test]
fn types_can_be_limited() {
    let machine = Machine::new();
    let ended =
        machine.run(&["call", "--graph-entity-types", "place,thing", "create_entities", "--entities", ADA]);
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.err.contains("place"), "{}", ended.err);
}

#[test]
fn a_graph_moves_from_one_store_to_another() {
    let machine = Machine::new();
    machine.run(&["call", "create_entities", "--entities", ADA]);
    let ended = machine.run(&["graph", "export"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("\"name\":\"Ada\""), "{}", ended.out);
    assert_eq!(machine.run(&["graph", "export", "ada.jsonl"]).code, 0);
    assert_eq!(machine.run(&["graph", "export", "ada.jsonl"]).code, 2, "what is there is not overwritten");
    machine.write("memory.jsonl", &format!("{}\nnot json\n", machine.read("ada.jsonl").trim()));
    let ended = machine.run(&["graph", "import", "memory.jsonl", "--graph-db", "new/graph.db"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.err.contains("memory.jsonl:2: "), "{}", ended.err);
    assert!(ended.err.contains("1 entities"), "{}", ended.err);
    assert_eq!(machine.run(&["graph", "backup", "copy.db"]).code, 0);
    assert_eq!(machine.run(&["graph", "check", "--graph-db", "copy.db"]).code, 0);
    let ended = machine.run(&["call", "--graph-db", "copy.db", "read_graph"]);
    assert!(ended.out.contains("Ada"), "{ended:?}");
    let ended = machine.run(&["doctor"]);
    assert!(ended.out.contains("graph.db: 1 entities, 0 relations"), "{}", ended.out);
}

#[test]
fn a_file_that_is_no_store_is_left_alone() {
    let machine = Machine::new();
    machine.write("notes.db", "dear diary, nothing happened today\n");
    let before = machine.read("notes.db");
    for arguments in [
        &["graph", "check", "--graph-db", "notes.db"][..],
        &["call", "--graph-db", "notes.db", "read_graph"],
        &["doctor", "--graph-db", "notes.db"],
    ] {
        let ended = machine.run(arguments);
        assert_eq!(ended.code, 1, "{ended:?}");
        assert_eq!(machine.read("notes.db"), before);
    }
    let ended = machine.run(&["graph", "export", "--graph-db", "missing.db"]);
    assert_eq!(ended.code, 1);
    insta::assert_snapshot!(ended.err, @r"
    error: There is no graph yet: missing.db is not there.
    hint: It is made when something is first remembered. `--graph-db` names another file.
    ");
    let ended = machine.run(&["graph", "import", "missing.jsonl"]);
    assert_eq!(ended.code, 2);
    insta::assert_snapshot!(ended.err, @r"
    error: missing.jsonl cannot be read: no such file or directory.
    hint: Name a file of JSON lines, as `diptych graph export` writes them.
    ");
}

/// A graph in which two names may be one thing.
fn orchard(machine: &Machine) {
    let entities = r#"[
        {"name": "Apple Tree", "entityType": "tree", "observations": ["Blossoms in May."]},
        {"name": "apple-tree", "entityType": "plant", "observations": ["Needs a ladder."]},
        {"name": "Ada", "entityType": "person", "observations": ["Prunes."]}]"#;
    let relations = r#"[{"from": "Ada", "to": "apple-tree", "relationType": "prunes"},
        {"from": "Ada", "to": "Apple Tree", "relationType": "planted"}]"#;
    assert_eq!(machine.run(&["call", "create_entities", "--entities", entities]).code, 0);
    assert_eq!(machine.run(&["call", "create_relations", "--relations", relations]).code, 0);
}

#[test]
fn pairs_are_listed_and_merged_only_on_somebodys_word() {
    let machine = Machine::new();
    orchard(&machine);
    let ended = machine.run(&["graph", "tidy"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    insta::assert_snapshot!("tidy_list", ended.out);
    insta::assert_snapshot!("tidy_list_note", ended.err);
    let ended = machine.run(&["graph", "tidy", "--yes"]);
    assert_eq!(ended.code, 2, "{ended:?}");
    let ended = machine.run(&["graph", "tidy", "--merge", "Apple Tree", "apple-tree"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    insta::assert_snapshot!("tidy_needs_a_word", ended.err);
    let ended = machine.run(&["graph", "tidy", "--merge", "Apple Tree", "apple-tree", "--yes"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    insta::assert_snapshot!("tidy_merged", ended.err);
    let ended = machine.run(&["graph", "tidy"]);
    insta::assert_snapshot!("tidy_done", ended.err);
    let history =
        machine.run(&["call", "get_entity_history", "--entity-name", "apple-tree", "--format", "json"]);
    let history: Value = serde_json::from_str(&history.out).unwrap();
    assert_eq!(history["history"][1]["observations"][1], "Merged into \"Apple Tree\".");
    let ended = machine.run(&["graph", "tidy", "--merge", "Apple Tree", "apple-tree", "--yes"]);
    assert_eq!(ended.code, 1);
    insta::assert_snapshot!("tidy_gone", ended.err);
}

#[test]
fn the_graph_is_drawn_in_every_format() {
    let machine = Machine::new();
    orchard(&machine);
    let ended = machine.run(&["graph", "show"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    insta::assert_snapshot!("show_mermaid", ended.out);
    let ended = machine.run(&["graph", "show", "Apple Tree", "--as", "dot"]);
    insta::assert_snapshot!("show_dot", ended.out);
    let ended = machine.run(&["graph", "show", "Apple Tree", "--depth", "2", "--limit", "2", "--as", "html"]);
    assert!(
        ended.out.starts_with("<!doctype html>") && ended.out.contains("Blossoms in May."),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("Needs a ladder."));
    insta::assert_snapshot!("show_more", ended.err);
    let ended = machine.run(&["graph", "show", "Apfelbaum"]);
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("Entity with name \"Apfelbaum\" not found."), "{}", ended.err);
}
