//! What people read when they ask what there is.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use support::Machine;

#[test]
fn help_names_every_command() {
    let ended = Machine::new().run(&["--help"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    insta::assert_snapshot!("help", ended.out);
}

#[test]
fn a_tools_help_comes_from_its_schema() {
    let ended = Machine::new().run(&["call", "search_patterns", "--help"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    insta::assert_snapshot!("help_search_patterns", ended.out);
    let ended = Machine::new().run(&["call", "--help"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("  search_patterns  "), "{}", ended.out);
    let ended = Machine::new().run(&["call"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
}

#[test]
fn lists_are_for_people_or_for_programs() {
    let machine = Machine::new();
    for what in ["tools", "prompts", "resources"] {
        let ended = machine.run(&[what]);
        assert_eq!(ended.code, 0, "{ended:?}");
        insta::assert_snapshot!(what, ended.out);
        let ended = machine.run(&[what, "--json"]);
        let definitions: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        assert!(definitions.as_array().unwrap().iter().all(|one| one["name"].is_string()), "{definitions}");
    }
}

#[test]
fn the_doctor_of_a_fresh_machine_is_content() {
    let ended = Machine::new().run(&["doctor"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    insta::assert_snapshot!("doctor", ended.out);
}

#[test]
fn settings_are_shown_with_where_they_come_from() {
    let ended = Machine::new().run_with(&["config", "--budget", "900"], &[("DIPTYCH_READ_ONLY", "true")], "");
    insta::assert_snapshot!("config", ended.out);
}

#[test]
fn completions_know_commands_tools_fields_and_choices() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = Machine::new().run(&["completions", shell]);
        assert_eq!(ended.code, 0);
        for known in ["doctor", "search_patterns", "difficulty"] {
            assert!(ended.out.contains(known), "{shell} does not know {known}");
        }
        // These shells' completions have choices.
        if ["bash", "zsh", "fish"].contains(&shell) {
            assert!(ended.out.contains("intermediate"), "{shell}");
        }
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let machine = Machine::new();
    let ended = machine.run(&["man"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("doctor") && ended.out.contains("130"), "{}", ended.out);
    let ended = machine.run(&["man", "patterns", "lint"]);
    assert!(ended.out.contains(".TH diptych-patterns-lint 1"), "{}", ended.out);
    let ended = machine.run(&["man", "call", "search_patterns"]);
    assert!(ended.out.contains("limit\\-cards"), "{}", ended.out);
    let ended = machine.run(&["man", "dcotor"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    insta::assert_snapshot!(ended.err, @r"
    error: There is no command `dcotor` here.
    hint: Did you mean `doctor`?
    ");
    assert_eq!(machine.run(&["man", "--into", "nowhere"]).code, 2);
    std::fs::create_dir(machine.path("pages")).unwrap();
    assert_eq!(machine.run(&["man", "--into", "pages"]).code, 0);
    for page in ["diptych.1", "diptych-serve.1", "diptych-graph-export.1", "diptych-call-get_pattern.1"] {
        assert!(machine.path("pages").join(page).exists(), "{page}");
    }
    assert!(!machine.path("pages/diptych-docs.1").exists());
}

#[test]
fn the_reference_is_made_from_the_definitions_and_is_always_the_same() {
    let ended = Machine::new().run(&["docs"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let made: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    for (file, known) in [
        ("docs/tools.md", "### `needsInput:v1`"),
        ("docs/tools/patterns.md", "## `search_patterns`"),
        ("docs/tools/graph.md", "\"createdAt\": \"2026-01-31T09:00:00.000Z\""),
        ("docs/settings.md", "DIPTYCH_GRAPH_DB"),
        ("docs/commands.md", "## `diptych patterns lint`"),
        ("packaging/manifest.json", "\"DIPTYCH_READ_ONLY\": \"${user_config.read_only}\""),
        ("packaging/server.json", "\"name\": \"DIPTYCH_READ_ONLY\""),
        ("Containerfile", "io.modelcontextprotocol.server.name"),
    ] {
        let text = made["files"][file].as_str().unwrap_or_else(|| panic!("{file} is not made"));
        assert!(text.contains(known), "{file} has no {known}");
        assert!(!text.contains("[home]"), "{file} names a path of this machine");
    }
    let sections = &made["sections"]["README.md"];
    assert!(sections["commands"].as_str().unwrap().contains("| `diptych doctor` |"), "{sections}");
    assert!(sections["settings"].as_str().unwrap().contains("| `--read-only` |"), "{sections}");
    assert_eq!(Machine::new().run(&["docs"]).out, ended.out);
}

#[test]
fn the_version_is_the_crates() {
    let ended = Machine::new().run(&["--version"]);
    assert_eq!(ended.out, format!("diptych {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn resources_are_read_and_prompts_are_got() {
    let machine = Machine::new();
    let ended = machine.run(&["read", "patterns://patterns/effect-all"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains("Effect.all"), "{}", ended.out);
    let ended = machine.run(&["read", "patterns://nowhere"]);
    assert_ne!(ended.code, 0);
    assert!(ended.err.contains("`diptych resources`"), "{}", ended.err);
    let ended =
        machine.run(&["prompt", "apply-pattern", "--arg", "pattern=effect-all", "--arg", "code=let a = 1"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.starts_with("user:\n") && ended.out.contains("let a = 1"), "{}", ended.out);
    let ended = machine.run(&["prompt", "apply-pattern", "--arg", "pattern"]);
    assert_eq!(ended.code, 2);
    let server = support::playground();
    let picture = machine.command(&["read", "play://picture", "--server", &server]).output().unwrap();
    assert_eq!(picture.stdout, [0, 159, 146, 150]);
}

#[test]
fn catalogues_are_started_checked_and_searched() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("mine")).unwrap();
    let ended =
        machine.run(&["patterns", "new", "retry-twice", "--folder", "mine", "--category", "scheduling"]);
    assert_eq!((ended.code, ended.out.trim()), (0, "mine/retry-twice.md"), "{ended:?}");
    assert_eq!(machine.run(&["patterns", "new", "retry-twice", "--folder", "mine"]).code, 2);
    assert!(machine.run(&["patterns", "new", "other"]).out.contains("title: \"Other\""));
    let ended = machine.run(&["patterns", "lint", "mine"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    machine.write("mine/broken.md", "---\nid: [\n---\n");
    let ended = machine.run(&["patterns", "lint", "mine"]);
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("broken.md:"), "{}", ended.out);
    assert_eq!(machine.run(&["patterns", "lint", "nowhere"]).code, 2);
    let ended = machine.run(&["patterns", "search", "run", "in", "parallel"]);
    assert_eq!(ended.code, 0);
    assert!(ended.out.contains("effect-all"), "{}", ended.out);
    let ended = machine.run(&["patterns", "search", "parallel", "--explain"]);
    assert!(ended.out.contains("\"parallel\" decides 100%"), "{}", ended.out);
    let ended = machine.run(&["patterns", "search", "twice", "--patterns", "mine"]);
    assert!(ended.out.contains("retry-twice"), "{ended:?}");
}
