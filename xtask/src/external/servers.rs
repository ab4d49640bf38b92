//! Servers for clients that others wrote: the toolkit's examples, and the binary that people run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::{Context, Tally};

/// A fixture for one suite, which only speaks HTTP.
const FIXTURE: &str = "conformance";
/// The binary, beside the examples.
pub(super) const BINARY: &str = "diptych";

/// A program that serves stdio when it is run without arguments.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// Whether it also takes `--http PORT`.
    pub(super) serves_http: bool,
}

impl Subject {
    /// The arguments that make it serve HTTP at a port of this machine.
    pub(super) fn http(port: u16) -> Vec<String> {
        vec!["--http".to_owned(), port.to_string()]
    }
}

/// All of them, built: the examples in the order of their names, then the binary.
fn subjects(context: &mut Context) -> Result<Vec<Subject>, String> {
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
    let mut subjects = Vec::new();
    for (name, serves_http) in found {
        if let Some(program) = context.example("diptych", &name)? {
            subjects.push(Subject { name, program, serves_http });
        }
    }
    let binary = context.binary()?;
    let program = at_home(&binary, &context.target.join("xtask/home"))?;
    subjects.push(Subject { name: BINARY.to_owned(), program, serves_http: true });
    Ok(subjects)
}

/// A program that starts the binary in an empty home folder, whatever the client makes of the environment: what the
/// suites have it remember must not end up in the developer's own graph.
fn at_home(binary: &Path, home: &Path) -> Result<PathBuf, String> {
    let made = (|| {
        if home.exists() {
            fs::remove_dir_all(home)?;
        }
        fs::create_dir_all(home)?;
        let program = home.join(BINARY);
        let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
        let script = format!(
            "#!/bin/sh\nexec env -u XDG_DATA_HOME -u XDG_CONFIG_HOME -u XDG_CACHE_HOME HOME={} {} \"$@\"\n",
            quoted(home),
            quoted(binary)
        );
        fs::write(&program, script)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        }
        Ok(program)
    })();
    made.map_err(|error: std::io::Error| format!("cannot make a home folder for the binary: {error}"))
}

/// Runs a check for each of them.
pub(super) fn for_each(
    context: &mut Context,
    mut check: impl FnMut(&mut Context, &Subject) -> Result<Tally, String>,
) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for subject in &subjects(context)? {
        let checked = check(context, subject)?;
        if subject.name == BINARY && checked.passed == 0 {
            return Err("nothing was checked of the binary".to_owned());
        }
        tally.add(&checked);
    }
    Ok(tally)
}
