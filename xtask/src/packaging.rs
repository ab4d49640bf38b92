//! What the binary is packed with. The files are made by `cargo xtask docs`; here they are held to what is published of
//! their formats, and `cargo xtask package` makes a bundle of them.
//!
//! No container engine is needed: the container file is read, not built.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::steps::{Context, Tally, cargo, context};

const LIMIT: Duration = Duration::from_secs(120);
const BUILD_LIMIT: Duration = Duration::from_secs(60 * 60);
const CONTAINER_FILE: &str = "Containerfile";
const MANIFEST: &str = "packaging/manifest.json";
const SERVER: &str = "packaging/server.json";

/// The step.
pub(crate) fn step(context: &mut Context) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut count = |context: &mut Context, what: &str, problems: Vec<String>| {
        match problems.is_empty() {
            true => tally.passed += 1,
            false => tally.failed += 1,
        }
        for problem in problems {
            context.log.note(&format!("{what}: {problem}"));
        }
    };
    let text = fs::read_to_string(context.root.join(CONTAINER_FILE))
        .map_err(|error| format!("cannot read {CONTAINER_FILE}: {error}"))?;
    let problems = container_problems(&text, |path| context.root.join(path).exists());
    count(context, CONTAINER_FILE, problems);

    let (manifest, server) = (context.root.join(MANIFEST), context.root.join(SERVER));
    let manifest = validate_manifest(context, &manifest)?;
    count(context, MANIFEST, manifest);
    let server = validate_server(context, &server)?;
    count(context, SERVER, server);
    // A check that accepts everything checks nothing.
    let broken = context.target.join("xtask/broken-server.json");
    fs::write(&broken, r#"{"name": "no slash", "version": "1.0.0"}"#)
        .map_err(|error| format!("cannot write {}: {error}", broken.display()))?;
    let refused = !validate_server(context, &broken)?.is_empty();
    count(context, SERVER, if refused { Vec::new() } else { vec!["a broken one is accepted".to_owned()] });
    Ok(tally)
}

/// What the bundler has against a manifest.
fn validate_manifest(context: &mut Context, manifest: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(context.cache.node(&mut context.log)?);
    command.arg(context.cache.bundler(&mut context.log)?).arg("validate").arg(manifest);
    let finished = context.log.run(command, LIMIT)?;
    Ok(if finished.success { Vec::new() } else { vec![finished.output] })
}

/// What the registry's schema has against a `server.json`.
fn validate_server(context: &mut Context, server: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(context.cache.schemas(&mut context.log)?);
    command.arg(context.root.join("xtask/python/server_schema.py")).arg(server);
    let finished = context.log.run(command, LIMIT)?;
    Ok(if finished.success { Vec::new() } else { vec![finished.output] })
}

/// What would keep a container file from being built, as far as reading it tells.
fn container_problems(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut problems = Vec::new();
    let mut stages: Vec<String> = Vec::new();
    let mut user = String::from("root");
    let mut seen: Vec<String> = Vec::new();
    for instruction in instructions(text) {
        let mut words = instruction.split_whitespace();
        let name = words.next().unwrap_or_default().to_uppercase();
        let (options, words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with("--"));
        match name.as_str() {
            "FROM" => {
                user = "root".to_owned();
                match words.as_slice() {
                    [_, "AS", stage] => stages.push((*stage).to_owned()),
                    [_] => {}
                    _ => problems.push(format!("not understood: {instruction}")),
                }
            }
            "COPY" => {
                let stage = options.iter().find_map(|option| option.strip_prefix("--from="));
                let sources = &words[..words.len().saturating_sub(1)];
                match stage {
                    // The stage that is being made is the last of them.
                    Some(stage)
                        if stages[..stages.len().saturating_sub(1)].iter().any(|known| known == stage) => {}
                    Some(stage) => problems.push(format!("there is no stage {stage} before: {instruction}")),
                    None => problems.extend(
                        sources
                            .iter()
                            .filter(|source| !exists(source))
                            .map(|source| format!("{source} does not exist: {instruction}")),
                    ),
                }
                if sources.is_empty() {
                    problems.push(format!("nothing is copied: {instruction}"));
                }
            }
            "USER" => user = words.join(" "),
            "HEALTHCHECK" | "ENTRYPOINT" | "CMD" => {
                if let Some(list) = instruction.find('[').map(|at| &instruction[at..])
                    && serde_json::from_str::<Vec<String>>(list).is_err()
                {
                    problems.push(format!("not a list of words: {instruction}"));
                }
            }
            "RUN" | "WORKDIR" | "LABEL" | "ENV" | "VOLUME" | "EXPOSE" | "STOPSIGNAL" | "ARG" => {}
            other => problems.push(format!("there is no instruction {other}")),
        }
        seen.push(name);
    }
    if user == "root" || user == "0" {
        problems.push("it runs as root".to_owned());
    }
    for needed in ["FROM", "HEALTHCHECK", "ENTRYPOINT"] {
        if !seen.iter().any(|name| name == needed) {
            problems.push(format!("{needed} is missing"));
        }
    }
    problems
}

/// The instructions, each in one line.
fn instructions(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// `cargo xtask package`.
pub(crate) fn command() -> Result<bool, String> {
    let mut context = context("package")?;
    let mut build = cargo();
    build.current_dir(&context.root).args([
        "build",
        "--profile",
        "dist",
        "--package",
        "diptych-cli",
        "--bin",
        "diptych",
    ]);
    println!("building for distribution, which takes a while");
    context.log.run(build, BUILD_LIMIT)?.expect("building the binary")?;

    let folder = context.target.join("package");
    let contents = folder.join("contents");
    let problem = |error: std::io::Error| format!("cannot put the bundle together: {error}");
    if contents.exists() {
        fs::remove_dir_all(&contents).map_err(problem)?;
    }
    fs::create_dir_all(contents.join("server")).map_err(problem)?;
    let program = format!("diptych{}", std::env::consts::EXE_SUFFIX);
    fs::copy(context.target.join("dist").join(&program), contents.join("server").join(&program))
        .map_err(problem)?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(context.root.join(license), contents.join(license)).map_err(problem)?;
    }
    let read = |path: &str| -> Result<Value, String> {
        let text = fs::read_to_string(context.root.join(path)).map_err(problem)?;
        serde_json::from_str(&text).map_err(|error| format!("{path} is not JSON: {error}"))
    };
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let mut manifest = read(MANIFEST)?;
    let mut server = read(SERVER)?;
    // This bundle has one binary.
    manifest["compatibility"]["platforms"] = json!([platform]);
    fs::write(contents.join("manifest.json"), format!("{manifest:#}\n")).map_err(problem)?;

    let version = manifest["version"].as_str().unwrap_or_default();
    let bundle = folder.join(format!("diptych-{version}-{platform}.mcpb"));
    let mut pack = Command::new(context.cache.node(&mut context.log)?);
    pack.arg(context.cache.bundler(&mut context.log)?).arg("pack").arg(&contents).arg(&bundle);
    context.log.run(pack, LIMIT)?.expect("packing the bundle")?;

    let mut hash = Command::new(context.cache.schemas(&mut context.log)?);
    hash.args([
        "-c",
        "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())",
    ])
    .arg(&bundle);
    let hash = context.log.capture(hash, LIMIT)?.expect("hashing the bundle")?;
    let name = bundle.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let packages = server["packages"].as_array_mut().into_iter().flatten();
    let mut ours: Vec<Value> = packages
        .filter(|package| package["identifier"].as_str().is_some_and(|file| file.ends_with(&name)))
        .map(Value::take)
        .collect();
    for package in &mut ours {
        package["fileSha256"] = json!(hash.trim());
    }
    server["packages"] = json!(ours);
    fs::write(folder.join("server.json"), format!("{server:#}\n")).map_err(problem)?;
    println!("{}\n{}", bundle.display(), folder.join("server.json").display());
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "\
# A comment.
FROM rust:1 AS build
COPY Cargo.toml crates \\
     ./
RUN cargo build
FROM debian:1 AS run
COPY --from=build /target/it /usr/bin/it
USER somebody
HEALTHCHECK --interval=30s CMD [\"it\", \"doctor\"]
ENTRYPOINT [\"it\"]
";

    #[test]
    fn a_container_file_is_read() {
        assert_eq!(
            container_problems(GOOD, |path| ["Cargo.toml", "crates"].contains(&path)),
            [] as [&str; 0]
        );
    }

    #[test]
    fn what_could_not_be_built_is_told() {
        let problems = |text: &str| container_problems(text, |path| path == "Cargo.toml");
        assert_eq!(problems(GOOD), ["crates does not exist: COPY Cargo.toml crates       ./"]);
        let all = |text: &str| container_problems(text, |_| true);
        assert_eq!(
            all(&GOOD.replace("--from=build", "--from=built")),
            ["there is no stage built before: COPY --from=built /target/it /usr/bin/it"]
        );
        assert_eq!(all(&GOOD.replace("USER somebody\n", "")), ["it runs as root"]);
        assert_eq!(all(&GOOD.replace("RUN ", "RAN ")), ["there is no instruction RAN"]);
        assert_eq!(all(&GOOD.replace("[\"it\"]", "[it]")), ["not a list of words: ENTRYPOINT [it]"]);
        assert_eq!(all(&GOOD.replace("HEALTHCHECK", "ENV")), ["HEALTHCHECK is missing"]);
    }
}
