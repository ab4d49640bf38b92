//! `mcp-assert`: static rules over the tools (`lint`) and bad input thrown at them (`fuzz`), over stdio.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::servers::{BINARY, for_each};
use crate::steps::{Context, Tally};

const LIMIT: Duration = Duration::from_secs(10 * 60);
/// The fuzzer's own share of chance; the same in every run.
const SEED: &str = "42";
/// Inputs for each tool.
const RUNS: &str = "60";

/// What the rules find on the binary and what is so on purpose: a rule, the argument, and why.
const INTENDED: [(&str, &str, &str); 10] = [
    ("E105", "args.from", "the names in a memory are its user's own words"),
    ("E105", "args.to", "the names in a memory are its user's own words"),
    ("E105", "args.entityName", "the names in a memory are its user's own words"),
    ("E105", "args.relationType", "the kinds of relations are their user's own words"),
    ("E105", "args.cursor", "a cursor is whatever the last page said"),
    ("E105", "args.account", "accounts go by many kinds of names, and all are taken"),
    ("E105", "args.handle", "accounts go by many kinds of names, and all are taken"),
    ("E102", "args.timestamp.type", "a time is a number or a text, and the schema lists both"),
    ("E102", "args.referenceTime.type", "a time is a number or a text, and the schema lists both"),
    ("E112", "args.password", "an app password may be given; the description says which kind"),
];

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let program = context.cache.python(&mut context.log)?.mcp_assert;
    for_each(context, |context, subject| {
        let mut tally = lint(context, &program, &subject.name, &subject.program)?;
        tally.add(&fuzz(context, &program, &subject.name, &subject.program)?);
        Ok(tally)
    })
}

fn command(program: &Path, subcommand: &str, server: &Path) -> Command {
    let mut command = Command::new(program);
    command.args([subcommand, "--json", "--server"]).arg(server);
    // It never reads the server's stderr: a server that logs would block once the pipe is full.
    command.env("RUST_LOG", "off");
    command
}

fn lint(context: &mut Context, program: &Path, name: &str, server: &Path) -> Result<Tally, String> {
    let finished = context.log.capture(command(program, "lint", server), LIMIT)?;
    let report: Value = serde_json::from_str(&finished.output)
        .map_err(|_| format!("mcp-assert lint gave no report for the server {name}"))?;
    let errors = report["errors"].as_u64().unwrap_or(1) as usize;
    let failed = errors.saturating_sub(if name == BINARY { intended(&report) } else { 0 });
    if report["tools"].as_u64().unwrap_or_default() == 0 {
        return Err(format!("mcp-assert found no tools on the server {name}"));
    }
    Ok(Tally { passed: usize::from(failed == 0), failed, ..Tally::default() })
}

/// How many of the errors are so on purpose.
fn intended(report: &Value) -> usize {
    let findings = report["findings"].as_array().into_iter().flatten();
    let is_intended = |finding: &&Value| {
        finding["severity"] == "error"
            && INTENDED.iter().any(|(code, field, _)| finding["code"] == *code && finding["field"] == *field)
    };
    findings.filter(is_intended).count()
}

fn fuzz(context: &mut Context, program: &Path, name: &str, server: &Path) -> Result<Tally, String> {
    let mut command = command(program, "fuzz", server);
    command.args(["--seed", SEED, "--runs", RUNS]);
    let finished = context.log.capture(command, LIMIT)?;
    let report: Value = serde_json::from_str(&finished.output)
        .map_err(|_| format!("mcp-assert fuzz gave no report for the server {name}"))?;
    let tally = fuzz_results(&report);
    if tally.passed + tally.failed == 0 {
        return Err(format!("mcp-assert fuzzed no tools on the server {name}"));
    }
    Ok(tally)
}

/// Counts what the fuzzer found, without the inputs that it could not send: it makes NaN and infinity for numbers, for
/// which JSON has no spelling, and counts its own failure to write them against the server.
fn fuzz_results(report: &Value) -> Tally {
    let mut tally = Tally::default();
    for tool in report["tools"].as_array().into_iter().flatten() {
        tally.passed += tool["passed"].as_u64().unwrap_or_default() as usize;
        for failure in tool["failures"].as_array().into_iter().flatten() {
            let never_sent = failure["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("failed to marshal request: json: unsupported value"));
            if !never_sent {
                tally.failed += 1;
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_so_on_purpose_is_let_pass() {
        let finding = |code: &str, severity: &str, field: &str| json!({"code": code, "severity": severity, "field": field});
        let report = json!({"errors": 3, "findings": [
            finding("E105", "error", "args.from"), finding("E105", "error", "args.text"),
            finding("E112", "error", "args.from"), finding("E105", "warning", "args.from")]});
        assert_eq!(intended(&report), 1);
    }

    #[test]
    fn inputs_that_were_never_sent_are_not_counted() {
        let never_sent = "transport error: failed to marshal request: json: unsupported value: NaN";
        let report = json!({"tools": [
            {"tool": "echo", "runs": 50, "passed": 50},
            {"tool": "add", "runs": 50, "passed": 47, "failures": [
                {"label": "a: NaN", "status": "crash", "detail": never_sent},
                {"label": "null args", "status": "crash", "detail": "json-rpc error -32602"},
                {"label": "a: big", "status": "timeout", "detail": "timed out after 15s"}]}]});
        assert_eq!(fuzz_results(&report), Tally { passed: 97, failed: 2, ..Tally::default() });
    }
}
