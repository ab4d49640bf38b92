//! Running other programs: each with its output in the step's log, a time limit, and no way to read the terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The log of one step: all that the programs it started have printed.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Whether it said it succeeded.
    pub(crate) success: bool,
    /// What it printed: both streams after [`Log::run`], stdout alone after [`Log::capture`].
    pub(crate) output: String,
    status: ExitStatus,
}

impl Finished {
    /// The output, or a sentence that says how `what` ended.
    pub(crate) fn expect(self, what: &str) -> Result<String, String> {
        if self.success { Ok(self.output) } else { Err(format!("{what} failed ({})", self.status)) }
    }
}

impl Log {
    pub(crate) fn create(path: PathBuf) -> Result<Log, String> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make the folder for logs: {error}"))?;
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(&path)
            .and_then(|file| file.set_len(0).map(|()| file))
            .map_err(|error| format!("cannot write the log {}: {error}", path.display()))?;
        Ok(Log { path, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line of our own.
    pub(crate) fn note(&mut self, line: &str) {
        // A log that cannot be written must not stop the tests it is about.
        let _ = writeln!(self.file, "{line}");
    }

    /// Where a program's output can go besides the terminal.
    pub(crate) fn stream(&self) -> Result<Stdio, String> {
        self.file.try_clone().map(Stdio::from).map_err(|error| format!("cannot share the log: {error}"))
    }

    /// Runs a program to its end, both its streams in the log.
    pub(crate) fn run(&mut self, mut command: Command, limit: Duration) -> Result<Finished, String> {
        let start = self.announce(&command);
        command.stdin(Stdio::null()).stdout(self.stream()?).stderr(self.stream()?);
        let child = spawn(&mut command)?;
        let status = wait(child, limit, &command)?;
        Ok(Finished { success: status.success(), output: self.since(start), status })
    }

    /// Runs a program to its end, its stdout returned alone (and logged afterwards).
    pub(crate) fn capture(&mut self, mut command: Command, limit: Duration) -> Result<Finished, String> {
        self.announce(&command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(self.stream()?);
        let mut child = spawn(&mut command)?;
        let stdout = child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stdout) = stdout {
                let _ = stdout.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let status = wait(child, limit, &command)?;
        let output = reader.join().unwrap_or_default();
        self.note(output.trim_end());
        Ok(Finished { success: status.success(), output, status })
    }

    /// The whole log so far.
    pub(crate) fn text(&self) -> String {
        self.since(0)
    }

    fn announce(&mut self, command: &Command) -> u64 {
        self.note(&format!("$ {}", spelled(command)));
        self.file.metadata().map(|data| data.len()).unwrap_or_default()
    }

    fn since(&self, start: u64) -> String {
        let mut bytes = Vec::new();
        if let Ok(mut file) = File::open(&self.path)
            && file.seek(SeekFrom::Start(start)).is_ok()
        {
            let _ = file.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The command as a person would type it.
fn spelled(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

fn spawn(command: &mut Command) -> Result<Child, String> {
    command
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", command.get_program().to_string_lossy()))
}

fn wait(mut child: Child, limit: Duration, command: &Command) -> Result<ExitStatus, String> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                end_with_descendants(&mut child);
                return Err(format!("{} did not end within {} s", spelled(command), limit.as_secs()));
            }
            Err(error) => return Err(format!("cannot wait for {}: {error}", spelled(command))),
        }
    }
}

/// Ends a program and all that it started. (They share our process group, so that Ctrl-C reaches them too.)
pub(crate) fn end_with_descendants(child: &mut Child) {
    let mut doomed = vec![child.id().to_string()];
    let mut next = 0;
    while next < doomed.len() {
        // Only Linux tells the children; elsewhere the one process has to do.
        let list = format!("/proc/{0}/task/{0}/children", doomed[next]);
        let children = std::fs::read_to_string(list).unwrap_or_default();
        doomed.extend(children.split_whitespace().map(str::to_owned));
        next += 1;
    }
    // The standard library can only end the process that it started itself.
    let _ = Command::new("kill")
        .arg("-KILL")
        .args(&doomed[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> (tempfile::TempDir, Log) {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path().join("step.log")).unwrap();
        (folder, log)
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_logged_and_returned() {
        let (_folder, mut log) = log();
        let finished = log.run(shell("echo one; echo two >&2"), Duration::from_secs(20)).unwrap();
        assert!(finished.success);
        assert_eq!(finished.output, "one\ntwo\n");
        assert_eq!(log.text(), "$ sh -c echo one; echo two >&2\none\ntwo\n");
    }

    #[test]
    fn captured_stdout_is_alone() {
        let (_folder, mut log) = log();
        let finished =
            log.capture(shell("echo noise >&2; echo '{}'; exit 3"), Duration::from_secs(20)).unwrap();
        assert!(!finished.success);
        assert_eq!(finished.output, "{}\n");
        assert!(finished.expect("the shell").unwrap_err().starts_with("the shell failed"));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_all_it_started() {
        let (_folder, mut log) = log();
        // The pipe only ends once the sleeper that holds its other end is gone.
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut command = shell("sleep 600 >&2 & wait");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
        let mut child = command.spawn().unwrap();
        drop(command);
        std::thread::sleep(Duration::from_millis(200));
        end_with_descendants(&mut child);
        assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), 0);

        let problem = log.run(shell("sleep 600"), Duration::from_millis(200)).unwrap_err();
        assert!(problem.contains("did not end within"), "{problem}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let (_folder, mut log) = log();
        let problem = log.run(Command::new("no-such-program"), Duration::from_secs(1)).unwrap_err();
        assert!(problem.starts_with("cannot start no-such-program"), "{problem}");
    }
}
