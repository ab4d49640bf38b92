//! Servers under test: started on a free port of the loopback address, ended when dropped.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Log, end_with_descendants};

/// A running HTTP server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Its MCP endpoint.
    pub(crate) url: String,
}

impl Server {
    /// Starts `binary` with the arguments that `arguments` makes from the port, and waits until it listens.
    pub(crate) fn start(
        binary: &Path,
        arguments: impl FnOnce(u16) -> Vec<String>,
        log: &mut Log,
    ) -> Result<Server, String> {
        let port = free_port()?;
        let mut command = Command::new(binary);
        command.args(arguments(port)).stdin(Stdio::null()).stdout(log.stream()?).stderr(log.stream()?);
        log.note(&format!("starting {} on port {port}", binary.display()));
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", binary.display()))?;
        let mut server = Server { child, url: format!("http://127.0.0.1:{port}/mcp") };
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{} ended before it listened ({status})", binary.display()));
            }
            if Instant::now() > deadline {
                return Err(format!("{} did not listen within 30 s", binary.display()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end_with_descendants(&mut self.child);
    }
}

fn free_port() -> Result<u16, String> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("there is no free port on the loopback address: {error}"))
}
