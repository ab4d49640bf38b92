//! `diptych call` in a pipe: answers, formats, exit codes, and what is said when something is wrong.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use std::process::Stdio;

use serde_json::{Value, json};
use support::{Machine, playground};

#[test]
fn a_tool_answers_in_a_pipe_as_plain_markdown() {
    let ended = Machine::new().run(&["call", "search_patterns", "--q", "retry"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.starts_with("## Effect Pattern Search Results for \"retry\"\n"), "{}", ended.out);
    assert!(!ended.out.contains('\u{1b}'));
    assert_eq!(ended.err, "");
}

#[test]
fn json_is_the_machine_panel_alone() {
    let ended = Machine::new().run(&["call", "get_pattern", "--id", "effect-all", "--format", "json"]);
    assert_eq!(ended.code, 0);
    let panel: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(panel["kind"], "patternDetails:v1");
    let ended = Machine::new().run(&["call", "get_pattern", "--id", "effect-all", "--format", "both"]);
    let (text, json) = ended.out.split_once("\n\n{").unwrap();
    assert!(text.starts_with("# "));
    assert_eq!(serde_json::from_str::<Value>(&format!("{{{json}")).unwrap(), panel);
}

#[test]
fn arguments_come_as_flags_as_json_and_on_standard_input() {
    let machine = Machine::new();
    let kind = |arguments: &[&str], input: &str| {
        let ended = machine.run_with(arguments, &[], input);
        assert_eq!(ended.code, 0, "{ended:?}");
        serde_json::from_str::<Value>(&ended.out).unwrap()["query"].clone()
    };
    let expected = json!({"q": "retry", "difficulty": "beginner", "limit": 2, "format": "json"});
    let flags = ["--q", "retry", "--difficulty", "beginner", "--limit", "2", "--format", "json"];
    let object = r#"{"q": "retry", "difficulty": "beginner", "limit": 2, "format": "json"}"#;
    assert_eq!(kind(&[&["call", "search_patterns"], &flags[..]].concat(), ""), expected);
    assert_eq!(kind(&["call", "search_patterns", "--json", object], ""), expected);
    assert_eq!(kind(&["call", "search_patterns", "--json", "-"], object), expected);
    assert_eq!(
        kind(&["call", "search_patterns", "--json", "-", "--q", "retry"], &object.replace("retry", "x")),
        expected
    );
}

#[test]
fn a_tool_that_needs_input_prints_the_payload_and_ends_with_3() {
    let machine = Machine::new();
    let ended = machine.run(&["call", "search_patterns"]);
    assert_eq!(ended.code, 3);
    assert!(ended.out.starts_with("## Search Query Needed"), "{}", ended.out);
    insta::assert_snapshot!(ended.err, @r"
    error: The tool needs more to go on.
    hint: Give --q, or call it at a terminal to be asked.
    ");
    let ended = machine.run(&["call", "search_patterns", "--format", "json"]);
    assert_eq!(ended.code, 3);
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["kind"], "needsInput:v1");
}

#[test]
fn what_is_wrong_is_said_in_a_sentence_with_a_hint() {
    let machine = Machine::new();
    let said = |arguments: &[&str], code: i32| {
        let ended = machine.run(arguments);
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(ended.out, "", "{arguments:?}");
        ended.err
    };
    insta::assert_snapshot!(said(&["call", "serach_patterns"], 2), @r"
    error: There is no tool `serach_patterns`.
    hint: Did you mean `search_patterns`?
    ");
    insta::assert_snapshot!(said(&["call", "frobnicate"], 2), @r"
    error: There is no tool `frobnicate`.
    hint: `diptych tools` lists them.
    ");
    insta::assert_snapshot!(said(&["call", "search_patterns", "--qq", "x"], 2), @r"
    error: unexpected argument '--qq' found

      tip: a similar argument exists: '--q'

    Usage: diptych call search_patterns --q <TEXT>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(said(&["call", "search_patterns", "--difficulty", "hard"], 2), @r"
    error: invalid value 'hard' for '--difficulty <CHOICE>'
      [possible values: beginner, intermediate, advanced]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(said(&["call", "search_patterns", "--limit", "many"], 2), @r"
    error: `--limit` cannot be used: `many` is not a whole number.
    hint: `diptych call search_patterns --help` shows what it takes.
    ");
    insta::assert_snapshot!(said(&["call", "search_patterns", "--q", "retry", "--limit", "1000"], 2), @"error: Invalid input: limit must be at most 100.");
    insta::assert_snapshot!(said(&["call", "search_patterns", "--q", "retry", "--server", "x"], 2), @r"
    error: `--server` is a setting, and no field of `search_patterns`.
    hint: Settings stand before the tool: `diptych call --server … search_patterns`.
    ");
    insta::assert_snapshot!(said(&["call", "search_patterns", "--json", "{"], 2), @r#"
    error: What follows `--json` is not JSON: EOF while parsing an object at line 1 column 1.
    hint: Write the arguments like {"field": "value"}.
    "#);
    insta::assert_snapshot!(said(&["call", "--patterns", "nowhere", "search_patterns", "--q", "x"], 2), @r#"error: The pattern folder "nowhere" cannot be opened. Check that it exists, is a folder and may be read."#);
    insta::assert_snapshot!(said(&["call", "--server", "http://127.0.0.1:9/mcp", "x"], 4), @r"
    error: The server `http://127.0.0.1:9/mcp` does not answer: nothing can be reached at that address.
    hint: Check the address; it ends with the path of the endpoint, often /mcp.
    ");
    insta::assert_snapshot!(said(&["call", "--server", "no-such-program", "x"], 4), @r"
    error: The server `no-such-program` does not answer: no-such-program cannot be started: No such file or directory.
    hint: The command must be there and speak MCP on its standard input and output.
    ");
    insta::assert_snapshot!(said(&["call", "--server", "'", "x"], 2), @r"
    error: `--server` is not a URL and not a command.
    hint: Write a URL such as http://127.0.0.1:8080/mcp, or a command in quotes.
    ");
    insta::assert_snapshot!(said(&["serve", "--htp", "8080"], 2), @r"
    error: unexpected argument '--htp' found

      tip: a similar argument exists: '--http'

    Usage: diptych serve --http <ADDRESS>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(said(&["frobnicate"], 2), @r"
    error: unrecognized subcommand 'frobnicate'

    Usage: diptych [OPTIONS]
           diptych <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn other_servers_are_called_the_same_way() {
    let machine = Machine::new();
    let server = playground();
    let ended = machine.run(&[
        "call",
        "--server",
        &server,
        "plan_trip",
        "--city",
        "Oslo",
        "--by",
        "bike",
        "--days",
        "2",
    ]);
    assert_eq!((ended.code, ended.out.as_str()), (0, "**2** days in Oslo, by bike.\n"), "{}", ended.err);
    let ended = machine.run(&["call", "--server", &server, "fail"]);
    assert_eq!(ended.code, 1);
    assert_eq!(
        (ended.out.as_str(), ended.err.as_str()),
        ("", "error: There is no such thing.\nLook elsewhere.\n")
    );
    let ended = machine.run(&["call", "--server", &server, "fail", "--format", "json"]);
    assert_eq!(ended.code, 1);
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["code"], "NOT_FOUND");
    let ended = machine.run(&["call", "--server", &server, "sign_in"]);
    assert_eq!(ended.code, 3, "a secret is not asked for without a terminal: {ended:?}");
    let ended = machine.run(&["call", "--server", &server, "planned_trip"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("Did you mean `plan_trip`?"), "{}", ended.err);
}

#[test]
fn a_closed_pipe_is_nothing_to_talk_about() {
    for arguments in [
        &["call", "search_patterns", "--q", "retry"][..],
        &["tools", "--json"],
        &["completions", "bash"],
        &["man"],
        &["config"],
        &["doctor"],
        &["--help"],
    ] {
        let mut child = Machine::new()
            .command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}
