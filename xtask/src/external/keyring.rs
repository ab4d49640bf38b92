//! The logins of `bluesky` in a real keyring: gnome-keyring on a bus of its own, unlocked and empty.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::run::Log;
use crate::steps::{BUILD_LIMIT, Context, Tally, cargo, test_results};

/// How many tests there are at least: fewer would pass for nothing.
const LEAST: usize = 2;
/// The programs, and the packages of Debian that have them.
const PROGRAMS: [(&str, &str); 2] = [("dbus-run-session", "dbus"), ("gnome-keyring-daemon", "gnome-keyring")];
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// Unlocks a keyring with a password of no worth, then becomes the program that uses it.
const UNLOCK: &str = "printf test | gnome-keyring-daemon --unlock --components=secrets && exec \"$@\"";

pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    if !cfg!(target_os = "linux") {
        return Ok(Tally::skipped("other systems have keyrings of their own, which are the user's"));
    }
    if let Some(missing) = install(&mut context.log)? {
        return Ok(Tally::skipped(format!("there is no {missing}, and it could not be installed")));
    }
    let mut build = cargo();
    build.current_dir(&context.root).args(["test", "--package", "diptych-bluesky", "--lib", "--no-run"]);
    context.log.run(build, BUILD_LIMIT)?.expect("building the tests")?;
    // Neither the keyring nor the bus of whoever runs this.
    let folder = std::env::temp_dir().join(format!("keyring-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make a folder: {error}"))?;
    let cargo = cargo();
    let mut command = Command::new("dbus-run-session");
    command.current_dir(&context.root).args(["--", "sh", "-c", UNLOCK, "sh"]).arg(cargo.get_program());
    command.args(["test", "--package", "diptych-bluesky", "--lib", "--", "a_real_keyring"]);
    for variable in ["XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        command.env(variable, &folder);
    }
    command.env("DIPTYCH_KEYRING", "1");
    let finished = context.log.run(command, BUILD_LIMIT);
    let _ = std::fs::remove_dir_all(&folder);
    let finished = finished?;
    let mut tally = test_results(&finished.output);
    if !finished.success && tally.failed == 0 || tally.passed + tally.failed < LEAST {
        tally.add(&Tally { failed: 1, note: "the tests did not run".to_owned(), ..Tally::default() });
    }
    Ok(tally)
}

/// Installs what is missing, where that is possible. What is then still missing is returned.
fn install(log: &mut Log) -> Result<Option<&'static str>, String> {
    let packages: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if !packages.is_empty() && is_there("apt-get") {
        println!("   installing {} with apt-get", packages.join(", "));
        let mut command = Command::new("apt-get");
        command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        // Who is not root, or has no packages at hand, goes without.
        log.run(command, LIMIT)?;
    }
    Ok(PROGRAMS.iter().map(|(program, _)| *program).find(|program| !is_there(program)))
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(Path::new(program)).is_file())
}
