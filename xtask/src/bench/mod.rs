//! `cargo xtask bench`: speed, measured beside others in one session. It reports and never judges: speed on a shared machine is
//! no ground to fail a build.

mod binary;
mod bluesky;
mod graph;
mod measurement;
mod patterns;
mod semantic;
mod tokens;
mod toolkit;

use std::path::{Path, PathBuf};

const HELP: &str = "\
cargo xtask bench toolkit [--quick] [--rounds N] [--only GROUP]
cargo xtask bench binary [--release | --dist]
cargo xtask bench patterns
cargo xtask bench graph [--quick]
cargo xtask bench semantic [ENTITIES…]
cargo xtask bench bluesky [--quick]
cargo xtask bench tokens

Groups: stdio, http-2026-07-28, http-2025-11-25. The reports are printed and kept in the target folder.
";
/// `cargo xtask bench …`.
pub(crate) fn command(arguments: &[String]) -> Result<bool, String> {
    match arguments.split_first() {
        Some((what, rest)) if what == "toolkit" => toolkit::command(rest),
        Some((what, rest)) if what == "binary" => binary::command(rest),
        Some((what, _)) if what == "patterns" => patterns::command(),
        Some((what, rest)) if what == "graph" => graph::command(rest),
        Some((what, rest)) if what == "semantic" => semantic::command(rest),
        Some((what, rest)) if what == "bluesky" => bluesky::command(rest),
        Some((what, _)) if what == "tokens" => tokens::command(),
        _ => Err(format!("say what to measure\n\n{HELP}")),
    }
}

/// Where the benchmark's own workspace builds.
pub(crate) fn target_folder(target: &Path) -> PathBuf {
    target.join("bench")
}
