//! The official conformance suite against the fixture server `crates/diptych/examples/conformance.rs`, at both lifecycles.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::server::Server;
use crate::steps::{Context, Tally};
use crate::versions::CONFORMANCE_RUNS;

const LIMIT: Duration = Duration::from_secs(10 * 60);

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let Some(fixture) = context.example("diptych", "conformance")? else {
        return Ok(Tally::skipped("crates/diptych/examples/conformance.rs does not exist yet"));
    };
    let node = context.cache.node(&mut context.log)?;
    let suite = context.cache.conformance(&mut context.log)?;
    let mut tally = Tally::default();
    for (version, scenarios, checks) in CONFORMANCE_RUNS {
        let results = context.target.join("xtask/conformance").join(version);
        if results.exists() {
            fs::remove_dir_all(&results).map_err(|error| format!("cannot clear old results: {error}"))?;
        }
        // A server of its own for each version: no run may lean on what another left behind.
        let server = Server::start(&fixture, |port| vec![format!("127.0.0.1:{port}")], &mut context.log)?;
        let mut command = Command::new(&node);
        command
            .arg(&suite)
            .args(["server", "--url", &server.url, "--suite", "all", "--spec-version", version, "-o"])
            .arg(&results);
        let finished = context.log.run(command, LIMIT)?;
        drop(server);
        let mut counted = count(&finished.output, version, scenarios, checks);
        let problems = problems(&results);
        for line in &problems {
            context.log.note(line);
        }
        // What the specification only recommends fails no run, but is told.
        let warnings = problems.iter().filter(|line| line.starts_with("WARNING")).count();
        if warnings > 0 {
            counted.note.push_str(&format!(", {warnings} warnings"));
        }
        if !finished.success && counted.failed == 0 {
            return Err(format!("the conformance suite at {version} failed without naming a failed check"));
        }
        tally.add(&counted);
    }
    Ok(tally)
}

/// Reads the summary: `✓ ping: 2 passed, 0 failed` for each scenario.
fn count(output: &str, version: &str, scenarios: usize, checks: usize) -> Tally {
    let mut tally = Tally::default();
    let mut seen = 0;
    for line in output.lines() {
        let line = line.trim();
        if !(line.starts_with('✓') || line.starts_with('✗')) {
            continue;
        }
        let Some((_, counts)) = line.rsplit_once(": ") else { continue };
        let Some((passed, failed)) = counts.split_once(" passed, ") else { continue };
        let failed = failed.trim_end_matches(" failed");
        if let (Ok(passed), Ok(failed)) = (passed.parse::<usize>(), failed.parse::<usize>()) {
            seen += 1;
            tally.passed += passed;
            tally.failed += failed;
        }
    }
    let made = tally.passed + tally.failed;
    tally.note = format!("{version}: {seen} scenarios, {made} checks");
    if seen < scenarios || made < checks {
        tally.failed += 1;
        tally.note.push_str(&format!(", but {scenarios} and {checks} are expected"));
    }
    tally
}

/// What the suite wrote about each check that did not pass.
fn problems(results: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let folders = fs::read_dir(results).into_iter().flatten().flatten();
    for folder in folders {
        let Ok(text) = fs::read_to_string(folder.path().join("checks.json")) else { continue };
        let checks: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        for check in checks {
            if let Some(status @ ("FAILURE" | "WARNING")) = check["status"].as_str() {
                let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
                let scenario = folder.file_name().to_string_lossy().into_owned();
                let details =
                    if status == "FAILURE" { format!("\n  {}", check["details"]) } else { String::new() };
                lines.push(format!("{status} {scenario} {}: {}{details}", text("id"), text("errorMessage")));
            }
        }
    }
    lines.sort();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let output = "=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ tools-list: 3 passed, 1 failed\n\nTotal: 5 passed, 1 failed\n";
        let tally = count(output, "2025-11-25", 2, 6);
        assert_eq!((tally.passed, tally.failed), (5, 1));
        assert_eq!(tally.note, "2025-11-25: 2 scenarios, 6 checks");
    }

    #[test]
    fn a_suite_that_runs_too_little_fails() {
        for (scenarios, checks) in [(33, 2), (1, 3)] {
            let tally = count("✓ ping: 2 passed, 0 failed\n", "2025-11-25", scenarios, checks);
            assert_eq!(tally.failed, 1);
            let expected = format!("but {scenarios} and {checks} are expected");
            assert!(tally.note.ends_with(&expected), "{}", tally.note);
        }
    }

    #[test]
    fn what_went_wrong_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("server-ping");
        fs::create_dir(&scenario).unwrap();
        let checks = r#"[{"id":"ping","status":"FAILURE","errorMessage":"no pong","details":{"a":1}},
            {"id":"fine","status":"SUCCESS"},{"id":"meh","status":"WARNING","errorMessage":"should"}]"#;
        fs::write(scenario.join("checks.json"), checks).unwrap();
        assert_eq!(
            problems(folder.path()),
            ["FAILURE server-ping ping: no pong\n  {\"a\":1}", "WARNING server-ping meh: should"]
        );
    }
}
