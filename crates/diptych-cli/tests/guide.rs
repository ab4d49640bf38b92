//! What people read is what happens: the commands of the guides are run, and their outputs compared.
//!
//! A fenced block whose first line names a file after the language is written to that file. In a `console` block each
//! line that begins with `$ ` is run, and the lines below it are what it prints; a line `…` stands for any others.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]
#![cfg(unix)]

mod support;

use std::path::Path;
use std::process::Command;

use support::{DIPTYCH, Machine};

/// A fenced block: what is said after the fence, and what is in it.
struct Block {
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let fence: String = line.chars().take_while(|c| *c == '`').collect();
        if fence.len() < 3 {
            continue;
        }
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != fence).collect();
        found.push(Block { info: line[fence.len()..].to_owned(), text: text.join("\n") });
    }
    found
}

/// The commands of a block, each with what it prints.
fn commands(block: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), Vec::new())),
            (None, Some((_, printed))) => printed.push(line.to_owned()),
            (None, None) => panic!("a block begins with `{line}`, which is no command"),
        }
    }
    found
}

fn agrees(printed: &[&str], expected: &[&str]) -> bool {
    match (printed, expected) {
        ([], []) => true,
        (_, ["…", rest @ ..]) => (0..=printed.len()).any(|skipped| agrees(&printed[skipped..], rest)),
        ([one, printed @ ..], [other, expected @ ..]) => {
            one.trim_end() == *other && agrees(printed, expected)
        }
        _ => false,
    }
}

/// Follows a guide from its beginning to its end; returns how many commands it has.
fn follow(page: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let machine = Machine::new();
    let mut run = 0;
    let mut wrong = String::new();
    for block in blocks(&std::fs::read_to_string(path).unwrap()) {
        if let Some((_, file)) = block.info.split_once(' ') {
            machine.write(file, &format!("{}\n", block.text));
        }
        if block.info != "console" {
            continue;
        }
        for (command, expected) in commands(&block.text) {
            run += 1;
            let line = command.replace("cargo run --release --", "diptych");
            let prepared = machine.command(&[]);
            let programs = Path::new(DIPTYCH).parent().unwrap().display();
            let output = Command::new("sh")
                .args(["-c", &format!("exec 2>&1; {line}")])
                .current_dir(machine.path(""))
                .env_clear()
                .envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))))
                .env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()))
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed = printed.replace(&machine.path("").display().to_string(), "/home/you/");
            let printed = printed.replace(DIPTYCH, "/usr/local/bin/diptych");
            let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            if !agrees(&printed.lines().collect::<Vec<_>>(), &expected) {
                wrong.push_str(&format!("$ {command}\n{printed}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{page} does not say what these commands print:\n\n{wrong}");
    run
}

#[test]
fn the_guide_to_catalogues_is_true() {
    assert!(follow("docs/catalogue.md") >= 10);
}

#[test]
fn the_readme_is_true() {
    assert!(follow("README.md") >= 1);
}

#[test]
fn a_line_of_dots_stands_for_any_others() {
    assert!(agrees(&["a", "b", "c"], &["a", "…"]) && agrees(&["a"], &["…", "a", "…"]));
    assert!(
        !agrees(&["a", "b"], &["a"]) && !agrees(&["a"], &["a", "b"]) && !agrees(&["a", "b"], &["…", "a"])
    );
}
