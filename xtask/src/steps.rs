//! The steps of `cargo xtask test`: what they are, how they run, and the summary at the end.
//!
//! A failing step never keeps the next one from running, so that one run tells all there is to mend.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::install::Cache;
use crate::run::Log;
use crate::{docs, external, install, invariants, packaging};

/// Long enough for a cold build on two cores.
pub(crate) const BUILD_LIMIT: Duration = Duration::from_secs(45 * 60);
/// How much of a failed step's log is shown: the end of it, where the reason is.
const SHOWN_LINES: usize = 150;

/// What a step works with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    pub(crate) cache: Cache,
    pub(crate) log: Log,
}

/// How many checks a step made and how they ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// What a reader of the summary should know besides.
    pub(crate) note: String,
}

impl Tally {
    pub(crate) fn one_passed() -> Tally {
        Tally { passed: 1, ..Tally::default() }
    }

    pub(crate) fn skipped(why: impl Into<String>) -> Tally {
        Tally { skipped: 1, note: why.into(), ..Tally::default() }
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        if !other.note.is_empty() {
            if !self.note.is_empty() {
                self.note.push_str("; ");
            }
            self.note.push_str(&other.note);
        }
    }
}

type Outcome = Result<Tally, String>;

struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Context) -> Outcome,
}

const STEPS: &[Step] = &[
    Step { name: "format", about: "cargo fmt, checked only", run: format },
    Step { name: "lint", about: "clippy and rustdoc over everything, warnings are errors", run: lint },
    Step { name: "invariants", about: "what ARCHITECTURE.md promises of the sources", run: invariants },
    Step { name: "unit", about: "cargo test over the workspace", run: unit },
    Step { name: "telemetry", about: "spans reach an OpenTelemetry collector", run: telemetry },
    Step {
        name: "docs",
        about: "the generated documentation and packaging are what is there",
        run: docs::step,
    },
    Step {
        name: "packaging",
        about: "the bundle, server.json and the container file, against what is published of them",
        run: packaging::step,
    },
    Step { name: "bench", about: "the benchmark's own workspace compiles, lint clean", run: bench_workspace },
    Step {
        name: "conformance",
        about: "the MCP conformance suite at both lifecycles",
        run: external::conformance::step,
    },
    Step {
        name: "python",
        about: "the official Python client over stdio and HTTP, at three versions",
        run: external::python::step,
    },
    Step { name: "inspector", about: "the MCP inspector's command line", run: external::inspector::step },
    Step { name: "assert", about: "mcp-assert: lint and fuzz over stdio", run: external::assert::step },
    Step {
        name: "memory",
        about: "the graph's tools beside server-memory: the same calls, the same answers",
        run: external::memory::step,
    },
    Step {
        name: "bluesky",
        about: "the toolset bluesky on a real AT Protocol network on loopback",
        run: external::bluesky::step,
    },
    Step {
        name: "keyring",
        about: "the logins of bluesky in a real keyring, on a bus of its own",
        run: external::keyring::step,
    },
    Step {
        name: "catalogue",
        about: "the catalogue's examples, type-checked against the real packages",
        run: external::catalogue::step,
    },
    Step {
        name: "semantic",
        about: "search by meaning with the real model: its numbers, and what people find with it",
        run: external::semantic::step,
    },
];

/// `cargo xtask test`.
pub(crate) fn test(arguments: &[String]) -> Result<bool, String> {
    if arguments.iter().any(|argument| argument == "--list") {
        for step in STEPS {
            println!("{:<12} {}", step.name, step.about);
        }
        return Ok(true);
    }
    let chosen = choose(arguments)?;
    let root = root();
    let target = target_folder(&root)?;
    println!("Downloads are cached in {}", Cache::find()?.folder().display());
    let begin = Instant::now();
    let mut rows = Vec::new();
    for step in chosen {
        rows.push(run_step(step, &root, &target)?);
    }
    Ok(summary(&rows, begin.elapsed()))
}

/// `cargo xtask install`.
pub(crate) fn install_everything() -> Result<bool, String> {
    let root = root();
    let cache = Cache::find()?;
    let target = target_folder(&root)?;
    let mut log = Log::create(target.join("xtask/install.log"))?;
    let installed = (|| {
        install::rust_components(&mut log)?;
        cache.node(&mut log)?;
        cache.conformance(&mut log)?;
        cache.inspector(&mut log)?;
        cache.server_memory(&mut log)?;
        cache.python(&mut log)?;
        cache.bundler(&mut log)?;
        cache.schemas(&mut log)?;
        cache.npm_modules(&mut log, "typecheck", &external::catalogue::manifest(&root))?;
        cache.devnet(&mut log, &external::devnet::manifest(&root))?;
        // The model is installed by the program itself.
        let mut command = cargo();
        command.current_dir(&root).args(["build", "--package", "diptych-cli"]);
        log.run(command, BUILD_LIMIT)?.expect("building the binary")?;
        cache.model(&mut log, &target.join("debug/diptych")).map(drop)
    })();
    match installed {
        Ok(()) => {
            println!("All is installed in {}", cache.folder().display());
            Ok(true)
        }
        Err(problem) => {
            println!("{}\n{problem}", log.text());
            Ok(false)
        }
    }
}

/// What a command outside the steps works with.
pub(crate) fn context(name: &str) -> Result<Context, String> {
    let root = root();
    let target = target_folder(&root)?;
    let log = Log::create(target.join("xtask/logs").join(format!("{name}.log")))?;
    Ok(Context { root, target, cache: Cache::find()?, log })
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Where cargo builds, whatever the user has configured.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf, String> {
    let output = cargo()
        .current_dir(root)
        .args(["metadata", "--no-deps", "--format-version=1"])
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)))?;
    metadata["target_directory"]
        .as_str()
        .map(PathBuf::from)
        .ok_or_else(|| "cargo metadata names no target folder".to_owned())
}

impl Context {
    /// Builds an example of `package` and returns its program; `None` while its source does not exist.
    pub(crate) fn example(&mut self, package: &str, name: &str) -> Result<Option<PathBuf>, String> {
        let examples = self.root.join("crates").join(package).join("examples");
        if !examples.join(format!("{name}.rs")).exists() && !examples.join(name).join("main.rs").exists() {
            return Ok(None);
        }
        let mut command = cargo();
        command.current_dir(&self.root).args(["build", "--package", package, "--example", name]);
        self.log.run(command, BUILD_LIMIT)?.expect(&format!("building the example {name}"))?;
        Ok(Some(self.target.join("debug/examples").join(name)))
    }

    /// Builds the binary and returns it.
    pub(crate) fn binary(&mut self) -> Result<PathBuf, String> {
        self.cargo(&["build", "--package", "diptych-cli", "--bin", "diptych"])?
            .expect("building the binary")?;
        Ok(self.target.join("debug/diptych"))
    }

    fn cargo(&mut self, arguments: &[&str]) -> Result<crate::run::Finished, String> {
        let mut command = cargo();
        command.current_dir(&self.root).args(arguments);
        self.log.run(command, BUILD_LIMIT)
    }
}

struct Row {
    name: &'static str,
    tally: Tally,
    took: Duration,
}

fn choose(names: &[String]) -> Result<Vec<&'static Step>, String> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("there is no step {unknown:?}; the steps are {}", known.join(", ")));
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect())
}

fn run_step(step: &Step, root: &Path, target: &Path) -> Result<Row, String> {
    println!("\n── {} ── {}", step.name, step.about);
    let begin = Instant::now();
    let log = Log::create(target.join("xtask/logs").join(format!("{}.log", step.name)))?;
    let mut context =
        Context { root: root.to_owned(), target: target.to_owned(), cache: Cache::find()?, log };
    let tally = (step.run)(&mut context).unwrap_or_else(|problem| {
        context.log.note(&problem);
        Tally { failed: 1, note: first_line(&problem), ..Tally::default() }
    });
    let took = begin.elapsed();
    if tally.failed > 0 {
        show_end(&context.log);
    }
    let counts = counts(tally.passed, tally.failed, tally.skipped);
    println!("   {} {counts} in {}{}", mark(&tally), seconds(took), after(&tally.note));
    Ok(Row { name: step.name, tally, took })
}

fn show_end(log: &Log) {
    let text = log.text();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    if from > 0 {
        println!("   … {from} lines before, in {}", log.path().display());
    }
    for line in &lines[from..] {
        println!("   │ {line}");
    }
}

fn summary(rows: &[Row], took: Duration) -> bool {
    println!("\n── summary ── {}", seconds(took));
    for row in rows {
        println!(
            "   {} {:<12} {:>6} passed {:>4} failed {:>3} skipped {:>9}{}",
            mark(&row.tally),
            row.name,
            row.tally.passed,
            row.tally.failed,
            row.tally.skipped,
            seconds(row.took),
            after(&row.tally.note)
        );
    }
    let total = |count: fn(&Tally) -> usize| rows.iter().map(|row| count(&row.tally)).sum();
    let failed = total(|tally| tally.failed);
    println!("\n{}", counts(total(|tally| tally.passed), failed, total(|tally| tally.skipped)));
    failed == 0
}

/// The form that programs which read our last line rely on.
fn counts(passed: usize, failed: usize, skipped: usize) -> String {
    let skipped = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    format!("{passed} passed, {failed} failed{skipped}")
}

fn mark(tally: &Tally) -> &'static str {
    match tally {
        Tally { failed: 1.., .. } => "✗",
        Tally { skipped: 1.., .. } => "!",
        _ => "✓",
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

fn after(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!("  ({note})") }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn format(context: &mut Context) -> Outcome {
    install::rust_components(&mut context.log)?;
    context.cargo(&["fmt", "--all", "--check"])?.expect("cargo fmt --all --check")?;
    context
        .cargo(&["fmt", "--all", "--check", "--manifest-path", "bench/Cargo.toml"])?
        .expect("cargo fmt --check of the benchmark")?;
    Ok(Tally { passed: 2, ..Tally::default() })
}

fn lint(context: &mut Context) -> Outcome {
    install::rust_components(&mut context.log)?;
    context
        .cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?
        .expect("cargo clippy")?;
    let mut command = cargo();
    command.current_dir(&context.root).args(["doc", "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    context.log.run(command, BUILD_LIMIT)?.expect("cargo doc")?;
    Ok(Tally { passed: 2, ..Tally::default() })
}

fn bench_workspace(context: &mut Context) -> Outcome {
    install::rust_components(&mut context.log)?;
    let target = crate::bench::target_folder(&context.target);
    let mut command = cargo();
    command.current_dir(context.root.join("bench")).env("CARGO_TARGET_DIR", target).args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]);
    context.log.run(command, BUILD_LIMIT)?.expect("cargo clippy of the benchmark")?;
    Ok(Tally::one_passed())
}

fn invariants(context: &mut Context) -> Outcome {
    let checks = invariants::check(&context.root)?;
    let mut tally = Tally::default();
    for (name, violations) in checks {
        if violations.is_empty() {
            tally.passed += 1;
            context.log.note(&format!("ok: {name}"));
        } else {
            tally.failed += 1;
            context.log.note(&format!("broken: {name}"));
            for violation in violations {
                context.log.note(&format!("  {violation}"));
            }
        }
    }
    Ok(tally)
}

fn unit(context: &mut Context) -> Outcome {
    cargo_test(context, &["--workspace"])
}

/// On its own, because the feature is off by default and brings crates that nothing else needs.
fn telemetry(context: &mut Context) -> Outcome {
    // The whole workspace is named so that its dependencies are built as they are for everything else.
    cargo_test(context, &["--workspace", "--features", "diptych/telemetry", "--test", "telemetry"])
}

fn cargo_test(context: &mut Context, arguments: &[&str]) -> Outcome {
    let finished = context.cargo(&[&["test", "--no-fail-fast"], arguments].concat())?;
    let mut tally = test_results(&finished.output);
    if !finished.success && tally.failed == 0 {
        tally.add(&Tally { failed: 1, note: "cargo test failed".into(), ..Tally::default() });
    }
    if finished.success && tally.passed == 0 {
        return Err("cargo test ran no tests".to_owned());
    }
    Ok(tally)
}

/// Adds up the lines `test result: ok. 12 passed; 0 failed; 1 ignored; …` of `cargo test`.
pub(crate) fn test_results(output: &str) -> Tally {
    let mut tally = Tally::default();
    for line in output.lines().filter_map(|line| line.trim_start().strip_prefix("test result: ")) {
        let count = |word: &str| {
            let words: Vec<&str> = line.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
            words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
        };
        tally.passed += count("passed");
        tally.failed += count("failed");
        tally.skipped += count("ignored");
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_test_programs_are_added_up() {
        let output = "\
running 3 tests
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
   Doc-tests diptych
test result: FAILED. 11 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s
";
        assert_eq!(test_results(output), Tally { passed: 14, failed: 2, skipped: 1, note: String::new() });
    }

    #[test]
    fn the_last_line_has_its_form() {
        assert_eq!(counts(12, 0, 0), "12 passed, 0 failed");
        assert_eq!(counts(12, 1, 3), "12 passed, 1 failed, 3 skipped");
    }

    #[test]
    fn steps_are_chosen_by_name_and_kept_in_order() {
        let names = |chosen: Vec<&Step>| chosen.iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(choose(&["unit".into(), "format".into()]).unwrap()), ["format", "unit"]);
        assert_eq!(choose(&[]).unwrap().len(), STEPS.len());
        let Err(problem) = choose(&["units".into()]) else { panic!("an unknown step is refused") };
        assert!(problem.starts_with("there is no step \"units\"; the steps are format, lint"), "{problem}");
    }

    #[test]
    fn notes_are_joined() {
        let mut tally = Tally::skipped("no node");
        tally.add(&Tally { passed: 2, ..Tally::default() });
        tally.add(&Tally { failed: 1, note: "broken".into(), ..Tally::default() });
        assert_eq!(tally, Tally { passed: 2, failed: 1, skipped: 1, note: "no node; broken".into() });
    }
}
