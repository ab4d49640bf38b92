//! A machine of its own for each test: a home folder that goes away, and an environment without surprises.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test file uses a part of it")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The binary under test.
pub const DIPTYCH: &str = env!("CARGO_BIN_EXE_diptych");

/// The example server that asks, works and fails.
pub fn playground() -> String {
    let folder = Path::new(DIPTYCH).parent().unwrap();
    let server = folder.join("examples").join(format!("playground{}", std::env::consts::EXE_SUFFIX));
    assert!(server.exists(), "the example server is not built: run `cargo test -p diptych-cli`");
    server.display().to_string()
}

/// A machine with an empty home.
pub struct Machine {
    home: TempDir,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Machine {
    pub fn new() -> Self {
        Machine { home: TempDir::new().unwrap() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The command, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(DIPTYCH);
        command.args(arguments).env_clear().current_dir(self.home.path());
        for kept in ["PATH", "SystemRoot", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command.env("HOME", self.home.path()).env("USERPROFILE", self.home.path());
        command
    }

    /// The command as words for a client to start, with this machine's home and no settings.
    pub fn words(&self, arguments: &[&str]) -> (String, Vec<String>) {
        let home = format!("HOME={}", self.home.path().display());
        let path = format!("PATH={}", std::env::var("PATH").unwrap_or_default());
        let words = ["-i", &home, &path, DIPTYCH].into_iter().chain(arguments.iter().copied());
        ("env".to_owned(), words.map(str::to_owned).collect())
    }

    /// Runs the command in a pipe.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, &[], "")
    }

    /// Runs the command in a pipe, with variables and something on its standard input.
    pub fn run_with(&self, arguments: &[&str], variables: &[(&str, &str)], input: &str) -> Ended {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code().unwrap_or(-1),
            out: self.redact(&output.stdout),
            err: self.redact(&output.stderr),
        }
    }

    /// The output without what differs from machine to machine.
    fn redact(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.replace(&self.home.path().display().to_string(), "[home]").replace(DIPTYCH, "[diptych]")
    }
}

/// A server over HTTP, and its URL.
pub struct Listening {
    pub child: Child,
    pub url: String,
    _machine: Machine,
}

impl Listening {
    pub fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let machine = Machine::new();
        let mut child = machine
            .command(&[&["serve", "--http", "127.0.0.1:0"], arguments].concat())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("Serving at ").expect(&line).to_owned();
        Listening { child, url, _machine: machine }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
