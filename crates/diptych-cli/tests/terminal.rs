//! The binary at a terminal: prompts, hidden input, the progress bar, Ctrl-C.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]
#![cfg(unix)]

mod support;

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};
use support::{Machine, playground};

/// Long enough for a busy machine; nothing waits for it when all is well.
const PATIENCE: u64 = 60_000;

fn start(machine: &Machine, arguments: &[&str]) -> PtySession {
    let mut command = machine.command(arguments);
    command.env("TERM", "xterm-256color");
    spawn_command(command, Some(PATIENCE)).unwrap()
}

fn play(machine: &Machine, arguments: &[&str]) -> PtySession {
    start(machine, &[&["call", "--server", &playground()], arguments].concat())
}

fn code(session: &PtySession) -> i32 {
    match session.process().wait().unwrap() {
        WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn asks_become_prompts() {
    let machine = Machine::new();
    let mut session = play(&machine, &["plan_trip"]);
    session.exp_string("Where do you want to go?").unwrap();
    session.exp_string("For example: Lisbon, Kyoto.").unwrap();
    session.exp_string("city: ").unwrap();
    session.send_line("").unwrap();
    session.exp_string("This is needed.").unwrap();
    session.send_line("Kyoto").unwrap();
    session.exp_string("How do you get to Kyoto").unwrap();
    session.exp_string("1  By train").unwrap();
    session.exp_string("2  By bicycle").unwrap();
    session.exp_string("by (number): ").unwrap();
    session.send_line("5").unwrap();
    session.exp_string("Please choose a number from 1 to 2.").unwrap();
    session.send_line("2").unwrap();
    session.exp_string("days [3]: ").unwrap();
    session.send_line("").unwrap();
    session.exp_string("\u{1b}[1m3\u{1b}[0m days in Kyoto, by bike.").unwrap();
    session.exp_eof().unwrap();
    assert_eq!(code(&session), 0);
}

#[test]
fn our_own_tools_ask_as_well() {
    let machine = Machine::new();
    let mut session = start(&machine, &["call", "search_patterns"]);
    session.exp_string("What pattern are you looking for?").unwrap();
    session.send_line("retry").unwrap();
    session.exp_string("Effect Pattern Search Results for").unwrap();
    session.exp_eof().unwrap();
    assert_eq!(code(&session), 0);
}

#[test]
fn tidying_asks_about_each_pair() {
    let machine = Machine::new();
    let entities = r#"[{"name": "Apple Tree", "entityType": "t"}, {"name": "apple-tree", "entityType": "t"},
        {"name": "Pear Tree", "entityType": "t"}, {"name": "pear-tree", "entityType": "t"},
        {"name": "Plum Tree", "entityType": "t"}, {"name": "plum-tree", "entityType": "t"}]"#;
    assert_eq!(machine.run(&["call", "create_entities", "--entities", entities]).code, 0);
    let mut session = start(&machine, &["graph", "tidy"]);
    session.exp_string("1 of 3: \"Apple Tree\"").unwrap();
    session.exp_string("\"apple-tree\": differs only in case").unwrap();
    session.exp_string("[q]uit: ").unwrap();
    session.send_line("perhaps").unwrap();
    session.exp_string("Please answer y, s, n or q.").unwrap();
    session.send_line("n").unwrap();
    session.exp_string("2 of 3: ").unwrap();
    session.send_line("s").unwrap();
    session.exp_string("\"Pear Tree\" is part of \"pear-tree\" now").unwrap();
    session.exp_string("3 of 3: ").unwrap();
    session.exp_string("[q]uit: ").unwrap();
    session.send_control('d').unwrap();
    session.exp_eof().unwrap();
    assert_eq!(code(&session), 0);
    let mut session = start(&machine, &["graph", "tidy", "--merge", "Plum Tree", "plum-tree"]);
    session.exp_string("Merge \"plum-tree\" into \"Plum Tree\"?").unwrap();
    session.send_line("y").unwrap();
    session.exp_eof().unwrap();
    let left = machine.run(&["graph", "export"]).out;
    let names: Vec<&str> =
        left.lines().filter_map(|line| line.split("\"name\":\"").nth(1)?.split('"').next()).collect();
    assert_eq!(names, ["Apple Tree", "apple-tree", "pear-tree", "Plum Tree"]);
}

/// A call in a shell, at a terminal that shows what is typed, which then says whether it still does.
fn in_a_shell(machine: &Machine, tool: &str) -> PtySession {
    let call = machine.command(&["call", "--server", &playground(), tool]);
    let words = std::iter::once(call.get_program()).chain(call.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let script =
        format!("stty echo; trap : INT; {}; echo code=$?; stty -a | grep -o '.echo '; true", words.join(" "));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]);
    shell.env_clear().envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    spawn_command(shell, Some(PATIENCE)).unwrap()
}

#[test]
fn secrets_are_not_shown() {
    let machine = Machine::new();
    let mut session = in_a_shell(&machine, "plan_trip");
    session.exp_string("city: ").unwrap();
    session.send_line("Reykjavik").unwrap();
    session.exp_string("Reykjavik").unwrap();
    session.exp_string("How do you get to").unwrap();
    let mut session = in_a_shell(&machine, "sign_in");
    session.exp_string("Password (not shown): ").unwrap();
    session.send_line("hush-hush").unwrap();
    let shown = session.exp_string("Signed in with 9 characters.").unwrap();
    assert!(!shown.contains("hush"), "{shown}");
    session.exp_string("code=0").unwrap();
    let rest = session.exp_eof().unwrap();
    assert!(!rest.contains("-echo"), "{rest}");
}

#[test]
fn ctrl_c_in_a_prompt_ends_with_130_and_gives_the_terminal_back() {
    let machine = Machine::new();
    for (tool, prompt) in [("plan_trip", "city: "), ("sign_in", "Password (not shown): ")] {
        let mut session = in_a_shell(&machine, tool);
        session.exp_string(prompt).unwrap();
        session.send_control('c').unwrap();
        session.exp_string("Interrupted").unwrap();
        session.exp_string("code=130").unwrap();
        let rest = session.exp_eof().unwrap();
        assert!(rest.contains(" echo") && !rest.contains("-echo"), "{rest}");
    }
}

#[test]
fn pages_are_shown_and_agreed_to() {
    let machine = Machine::new();
    for (answer, shown, ended) in [("", "Welcome back.", 0), ("n", "Visit Needed", 3)] {
        let mut session = play(&machine, &["visit"]);
        session.exp_string("Have a look around first.").unwrap();
        session.exp_string("https://example.com/tour").unwrap();
        session.exp_string("Go on? [Y/n] ").unwrap();
        session.send_line(answer).unwrap();
        let rest = session.exp_eof().unwrap();
        assert!(rest.replace("\u{1b}[1m", "").replace("\u{1b}[4m", "").contains(shown), "{rest}");
        assert_eq!(code(&session), ended);
    }
}

#[test]
fn the_end_of_the_input_refuses_the_ask() {
    let machine = Machine::new();
    let mut session = play(&machine, &["plan_trip"]);
    session.exp_string("city: ").unwrap();
    session.send_control('d').unwrap();
    session.exp_string("City Needed").unwrap();
    session.exp_eof().unwrap();
    assert_eq!(code(&session), 3);
}

#[test]
fn nobody_is_asked_who_does_not_want_to_be() {
    let machine = Machine::new();
    for arguments in [["plan_trip", "--no-input"], ["plan_trip", "--format=json"]] {
        let mut session = play(&machine, &arguments);
        let shown = session.exp_eof().unwrap();
        assert!(!shown.contains("city: "), "{shown}");
        assert_eq!(code(&session), 3);
    }
}

#[test]
fn progress_is_a_bar_that_goes_away() {
    let machine = Machine::new();
    let mut session = play(&machine, &["work"]);
    session.exp_regex(r"\d+% step \d+").unwrap();
    let rest = session.exp_eof().unwrap();
    assert!(rest.contains("Done."), "{rest}");
    assert_eq!(code(&session), 0);
}

#[test]
fn ctrl_c_interrupts_a_call() {
    let machine = Machine::new();
    let mut session = play(&machine, &["wait"]);
    session.exp_string("waiting").unwrap();
    session.send_control('c').unwrap();
    session.exp_string("Interrupted").unwrap();
    session.exp_eof().unwrap();
    assert_eq!(code(&session), 130);
}

#[test]
fn answers_cannot_steer_the_terminal() {
    let machine = Machine::new();
    let mut session = play(&machine, &["steer"]);
    let shown = session.exp_eof().unwrap();
    assert!(shown.contains("[2Jb") && !shown.contains("\u{1b}[2J"), "{shown:?}");
}

#[test]
fn serving_at_a_terminal_says_what_it_waits_for() {
    let machine = Machine::new();
    for arguments in [&[][..], &["serve"]] {
        let mut session = start(&machine, arguments);
        session.exp_string("waits for an MCP client").unwrap();
        session.exp_string("diptych install claude-code").unwrap();
        session.exp_string("diptych call search_patterns --help").unwrap();
        session.exp_string("Ctrl-C ends it.").unwrap();
        session.send_control('c').unwrap();
        session.exp_eof().unwrap();
        assert_eq!(code(&session), 0);
    }
}
