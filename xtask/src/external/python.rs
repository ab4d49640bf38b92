//! The official Python client, independent of ours, against the examples and the binary: over stdio and HTTP, at three
//! protocol versions. The scripts are in `xtask/python`.

use std::process::Command;
use std::time::Duration;

use super::servers::{BINARY, Subject, for_each};
use crate::server::Server;
use crate::steps::{Context, Tally};

const LIMIT: Duration = Duration::from_secs(16 * 60);
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
/// The example that asks for a city and then for the days; `asks.py` knows its answers.
const ASKING: &str = "asks";

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let python = context.cache.python(&mut context.log)?.python;
    for_each(context, |context, subject| {
        let mut tally = Tally::default();
        let scripts: &[&str] = match subject.name.as_str() {
            ASKING => &["any_server.py", "asks.py"],
            BINARY => &["any_server.py", "binary.py"],
            _ => &["any_server.py"],
        };
        for script in scripts {
            let script = context.root.join("xtask/python").join(script);
            let client = || {
                let mut command = Command::new(&python);
                command.arg(&script).arg("--protocols").args(VERSIONS);
                command
            };
            let mut command = client();
            command.arg("--stdio").arg(&subject.program);
            tally.add(&checks(context, command)?);
            if subject.serves_http {
                let server = Server::start(&subject.program, Subject::http, &mut context.log)?;
                let mut command = client();
                command.args(["--url", &server.url]);
                tally.add(&checks(context, command)?);
            }
        }
        Ok(tally)
    })
}

/// Runs one script; each of its lines begins with `ok` or `not ok`.
pub(super) fn checks(context: &mut Context, mut command: Command) -> Result<Tally, String> {
    command.env("RUST_LOG", "warn").env("PYTHONDONTWRITEBYTECODE", "1");
    let finished = context.log.run(command, LIMIT)?;
    let mut tally = count(&finished.output);
    if !finished.success && tally.failed == 0 {
        tally.failed += 1;
    }
    if tally.passed + tally.failed == 0 {
        return Err("a script made no checks".to_owned());
    }
    Ok(tally)
}

fn count(output: &str) -> Tally {
    let starting = |start: &str| output.lines().filter(|line| line.starts_with(start)).count();
    Tally { passed: starting("ok "), failed: starting("not ok "), ..Tally::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_of_a_script_are_counted() {
        let tally = count("ok lists tools\nnot ok echo: no text\n  detail\nok calls\n");
        assert_eq!((tally.passed, tally.failed), (2, 1));
    }
}
