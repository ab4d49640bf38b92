//! Flag, then environment, then file, then default.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use serde_json::Value;
use support::Machine;

const FILE: &str = ".config/diptych/diptych.toml";

/// The value of a setting, and where it comes from.
fn setting(machine: &Machine, arguments: &[&str], variables: &[(&str, &str)], name: &str) -> (Value, String) {
    let ended = machine.run_with(&[&["config", "--json"], arguments].concat(), variables, "");
    assert_eq!(ended.code, 0, "{ended:?}");
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    (all[name]["value"].clone(), all[name]["from"].as_str().unwrap().to_owned())
}

#[test]
fn each_place_wins_over_the_next() {
    let machine = Machine::new();
    let budget = |arguments: &[&str], variables: &[(&str, &str)]| {
        let (value, from) = setting(&machine, arguments, variables, "budget");
        (value.as_u64().unwrap(), from)
    };
    assert_eq!(budget(&[], &[]), (25_000, "default".to_owned()));
    machine.write(FILE, "budget = 1000\n");
    assert_eq!(budget(&[], &[]), (1_000, "diptych.toml".to_owned()));
    let variable = [("DIPTYCH_BUDGET", "2000")];
    assert_eq!(budget(&[], &variable), (2_000, "DIPTYCH_BUDGET".to_owned()));
    assert_eq!(budget(&["--budget", "3000"], &variable), (3_000, "--budget".to_owned()));
    assert_eq!(budget(&[], &[("DIPTYCH_BUDGET", "")]), (1_000, "diptych.toml".to_owned()));
}

#[test]
fn every_setting_can_be_given_in_every_place() {
    let machine = Machine::new();
    let ended = machine.run(&["config", "--json"]);
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    for (name, shown) in all.as_object().unwrap() {
        let (text, toml) = match (name.as_str(), &shown["value"]) {
            ("structured", _) => ("always", "\"always\"".to_owned()),
            ("toolsets", _) => ("patterns", "[\"patterns\"]".to_owned()),
            ("embedder", _) => ("none", "\"none\"".to_owned()),
            ("bluesky-secrets", _) => ("file", "\"file\"".to_owned()),
            ("model-folder", _) => ("/model", "\"/model\"".to_owned()),
            ("graph-db", _) => ("/graph.db", "\"/graph.db\"".to_owned()),
            ("http", _) => ("127.0.0.1:1", "\"127.0.0.1:1\"".to_owned()),
            ("http-rate", _) | (_, Value::Number(_)) => ("123", "123".to_owned()),
            (_, Value::Bool(_)) => ("true", "true".to_owned()),
            (
                "patterns"
                | "http-hosts"
                | "http-origins"
                | "http-scopes"
                | "graph-entity-types"
                | "graph-relation-types",
                _,
            ) => ("embedded", "[\"embedded\"]".to_owned()),
            _ => ("info", "\"info\"".to_owned()),
        };
        let flag = format!("--{name}={text}");
        let by_flag = setting(&machine, &[&flag], &[], name);
        assert_eq!(by_flag.1, format!("--{name}"));
        let variable = format!("DIPTYCH_{}", name.replace('-', "_").to_uppercase());
        let by_variable = setting(&machine, &[], &[(&variable, text)], name);
        assert_eq!(by_variable, (by_flag.0.clone(), variable));
        let file = machine.write("own.toml", &format!("{name} = {toml}\n"));
        let by_file = setting(&machine, &["--config", file.to_str().unwrap()], &[], name);
        assert_eq!(by_file, (by_flag.0, "diptych.toml".to_owned()));
    }
}

#[test]
fn folders_in_the_file_are_beside_the_file() {
    let machine = Machine::new();
    machine.write(FILE, "patterns = [\"embedded\", \"mine\"]\n");
    let ended = machine.run(&["config", "--json"]);
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(all["patterns"]["value"], serde_json::json!(["embedded", "[home]/.config/diptych/mine"]));
}

#[test]
fn secrets_are_not_shown() {
    let machine = Machine::new();
    for arguments in [&["config"][..], &["config", "--json"], &["doctor"]] {
        let ended = machine.run_with(arguments, &[("DIPTYCH_HTTP_TOKEN", "hush-hush")], "");
        assert!(!ended.out.contains("hush-hush") && !ended.err.contains("hush-hush"), "{ended:?}");
    }
}

#[test]
fn what_cannot_be_used_says_where_it_comes_from() {
    let machine = Machine::new();
    let said = |arguments: &[&str], variables: &[(&str, &str)]| {
        let ended = machine.run_with(arguments, variables, "");
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{ended:?}");
        ended.err
    };
    insta::assert_snapshot!(said(&["tools"], &[("DIPTYCH_BUDGET", "lots")]), @r"
    error: DIPTYCH_BUDGET cannot be used: it must be a whole number from 100.
    hint: `diptych config` shows every setting and where it comes from.
    ");
    insta::assert_snapshot!(said(&["tools"], &[("DIPTYCH_TOOLSETS", "patterns,paterns")]), @r"
    error: DIPTYCH_TOOLSETS cannot be used: it must be one of patterns, graph, bluesky. Did you mean `patterns`?
    hint: `diptych config` shows every setting and where it comes from.
    ");
    insta::assert_snapshot!(said(&["tools"], &[("DIPTYCH_LOG", "=,=")]), @r"
    error: DIPTYCH_LOG is not a log filter: invalid filter directive.
    hint: Use a level such as `info`, or one for each module, such as `warn,diptych=debug`.
    ");
    insta::assert_snapshot!(said(&["serve", "--http", "nowhere"], &[]), @r"
    error: invalid value 'nowhere' for '--http <ADDRESS>': it must be an address with a port, such as 127.0.0.1:8080

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(said(&["tools", "--config", "missing.toml"], &[]), @r"
    error: The configuration file missing.toml cannot be read: no such file or directory.
    hint: Name another with `--config` or DIPTYCH_CONFIG, or none: nothing needs one.
    ");
    machine.write(FILE, "read-only = \"perhaps\"\n");
    insta::assert_snapshot!(said(&["tools"], &[]), @r"
    error: `read-only` in ~/.config/diptych/diptych.toml cannot be used: it must be true or false.
    hint: `diptych config` shows every setting and where it comes from.
    ");
    machine.write(FILE, "readonly = true\n");
    insta::assert_snapshot!(said(&["tools"], &[]), @r"
    error: ~/.config/diptych/diptych.toml has `readonly`, which is not a setting.
    hint: Did you mean `read-only`?
    ");
    machine.write(FILE, "read-only = \n");
    insta::assert_snapshot!(said(&["tools"], &[]), @r"
    error: The configuration file ~/.config/diptych/diptych.toml is not valid TOML: error at line 1, column 13: string values must be quoted, expected literal string.
    hint: Mend that line, or move the file away: nothing needs it.
    ");
}

#[test]
fn the_doctor_goes_on_where_other_commands_stop() {
    let machine = Machine::new();
    let settings = |variables: &[(&str, &str)]| {
        let ended = machine.run_with(&["doctor"], variables, "");
        assert_eq!((ended.code, ended.err.as_str()), (1, ""), "{ended:?}");
        assert!(ended.out.contains("\npatterns     ok "), "the other checks are made: {}", ended.out);
        let lines = ended.out.lines().skip_while(|line| !line.starts_with("settings"));
        lines.take_while(|line| !line.starts_with("folders")).collect::<Vec<_>>().join("\n")
    };
    machine.write(FILE, "read-only = \n");
    insta::assert_snapshot!(settings(&[]), @r"
    settings     WRONG  The configuration file ~/.config/diptych/diptych.toml is not valid TOML: error at line 1, column 13: string values must be quoted, expected literal string.
                        Mend that line, or move the file away: nothing needs it.
    ");
    machine.write(FILE, "readonly = true\nbudget = 1\n");
    insta::assert_snapshot!(settings(&[("DIPTYCH_LOG", "=,=")]), @r"
    settings     WRONG  ~/.config/diptych/diptych.toml has `readonly`, which is not a setting.
                        Did you mean `read-only`?
                 WRONG  `budget` in ~/.config/diptych/diptych.toml cannot be used: it must be a whole number from 100.
                        `diptych config` shows every setting and where it comes from.
                 WRONG  DIPTYCH_LOG is not a log filter: invalid filter directive.
                        Use a level such as `info`, or one for each module, such as `warn,diptych=debug`.
    ");
}

#[test]
fn the_log_never_shows_what_is_sent() {
    let ended =
        Machine::new().run(&["call", "--log", "trace", "search_patterns", "--q", "needle-in-haystack"]);
    assert!(!ended.err.contains("needle-in-haystack"), "{}", ended.err);
}
