//! The AT Protocol network of `devnet/`: PLC, PDS and AppView on free ports of the loopback address, as long as this lives.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use crate::install::Cache;
use crate::run::{Log, end_with_descendants};

/// How long the network may take to start, on a machine that does other things too.
const START: Duration = Duration::from_secs(180);
/// How long it may take to clean up after itself.
const END: Duration = Duration::from_secs(10);

/// A running network.
#[derive(Debug)]
pub(crate) struct Devnet {
    child: Child,
    /// It ends when this is closed, whatever became of us.
    stdin: Option<ChildStdin>,
    folder: PathBuf,
    /// The file in which it describes itself.
    pub(crate) facts: PathBuf,
}

/// The file that names what the network is made of.
pub(crate) fn manifest(root: &Path) -> PathBuf {
    root.join("devnet/package.json")
}

impl Devnet {
    /// Starts a network and waits until there are people on it.
    pub(crate) fn start(root: &Path, cache: &Cache, log: &mut Log) -> Result<Devnet, String> {
        let node = cache.node(log)?;
        let installed = cache.devnet(log, &manifest(root))?;
        // Node looks for packages above the program, and they are not in the tree.
        let folder = installed.join(format!("run-{}", std::process::id()));
        let problem = |error: std::io::Error| format!("cannot prepare the network: {error}");
        fs::create_dir_all(&folder).map_err(problem)?;
        for entry in fs::read_dir(root.join("devnet")).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            if entry.path().extension().is_some_and(|extension| extension == "mjs") {
                fs::copy(entry.path(), folder.join(entry.file_name())).map_err(problem)?;
            }
        }
        let facts = folder.join("network.json");
        let mut command = Command::new(node);
        command.current_dir(&folder).arg("network.mjs").arg(&facts);
        command.stdin(Stdio::piped()).stdout(log.stream()?).stderr(log.stream()?);
        let mut child = command.spawn().map_err(|error| format!("cannot start the network: {error}"))?;
        let stdin = child.stdin.take();
        let mut devnet = Devnet { child, stdin, folder, facts };
        let deadline = Instant::now() + START;
        while !devnet.facts.exists() {
            if let Ok(Some(status)) = devnet.child.try_wait() {
                return Err(format!("the network ended before it had begun ({status})"));
            }
            if Instant::now() > deadline {
                return Err(format!("the network did not start within {} s", START.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(devnet)
    }
}

impl Drop for Devnet {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let deadline = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            end_with_descendants(&mut self.child);
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}
