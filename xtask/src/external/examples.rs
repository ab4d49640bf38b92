//! The toolkit's examples as servers for clients that others wrote.

use std::fs;
use std::path::PathBuf;

use crate::steps::{Context, Tally};

/// A fixture for one suite, which only speaks HTTP.
const FIXTURE: &str = "conformance";

/// An example that serves stdio when it is run without arguments.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// Whether it also takes `--http PORT`.
    pub(super) serves_http: bool,
}

/// All of them, built, in the order of their names.
fn examples(context: &mut Context) -> Result<Vec<Example>, String> {
    let folder = context.root.join("crates/diptych/examples");
    let mut found: Vec<(String, bool)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let source = if path.is_dir() { path.join("main.rs") } else { path.clone() };
            let text = fs::read_to_string(&source).ok()?;
            let name = path.file_stem()?.to_string_lossy().into_owned();
            (source.extension()? == "rs" && name != FIXTURE).then(|| (name, text.contains("\"--http\"")))
        })
        .collect();
    found.sort();
    let mut examples = Vec::new();
    for (name, serves_http) in found {
        if let Some(program) = context.example("diptych", &name)? {
            examples.push(Example { name, program, serves_http });
        }
    }
    Ok(examples)
}

/// Runs a check for each example, or says that there is none.
pub(super) fn for_each(
    context: &mut Context,
    mut check: impl FnMut(&mut Context, &Example) -> Result<Tally, String>,
) -> Result<Tally, String> {
    let examples = examples(context)?;
    if examples.is_empty() {
        return Ok(Tally::skipped("there is no example that speaks stdio yet"));
    }
    let mut tally = Tally::default();
    for example in &examples {
        tally.add(&check(context, example)?);
    }
    Ok(tally)
}
