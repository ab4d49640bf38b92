//! The clients: where each keeps its configuration, and how an entry is written there.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Entry, Problem, json, toml};
use crate::folders::Folders;

/// A client's configuration file.
pub(crate) struct ClientFile {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) file: fn(&Folders) -> PathBuf,
    syntax: Syntax,
    /// The table that holds the servers.
    servers: &'static str,
    /// Whether an entry says that it is started as a command.
    typed: bool,
    /// What to do for the client to notice.
    pub(crate) next: &'static str,
}

/// How a configuration file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    Toml,
}

/// The clients that can be set up.
pub(crate) const CLIENTS: [ClientFile; 7] = [
    ClientFile {
        name: "claude-desktop",
        title: "Claude Desktop",
        file: |folders| application(folders, "Claude").join("claude_desktop_config.json"),
        syntax: Syntax::Json,
        servers: "mcpServers",
        typed: false,
        next: "Restart Claude Desktop.",
    },
    ClientFile {
        name: "claude-code",
        title: "Claude Code",
        file: |folders| folders.home.join(".claude.json"),
        syntax: Syntax::Json,
        servers: "mcpServers",
        typed: true,
        next: "Start a new session; /mcp shows the server.",
    },
    ClientFile {
        name: "cursor",
        title: "Cursor",
        file: |folders| folders.home.join(".cursor").join("mcp.json"),
        syntax: Syntax::Json,
        servers: "mcpServers",
        typed: false,
        next: "Switch the server on in Cursor's settings, under MCP.",
    },
    ClientFile {
        name: "vscode",
        title: "VS Code",
        file: |folders| application(folders, "Code").join("User").join("mcp.json"),
        syntax: Syntax::Jsonc,
        servers: "servers",
        typed: true,
        next: "Start the server with the command `MCP: List Servers`.",
    },
    ClientFile {
        name: "zed",
        title: "Zed",
        file: zed,
        syntax: Syntax::Jsonc,
        servers: "context_servers",
        typed: false,
        next: "Zed notices by itself.",
    },
    ClientFile {
        name: "codex",
        title: "Codex",
        file: codex,
        syntax: Syntax::Toml,
        servers: "mcp_servers",
        typed: false,
        next: "Start a new session; /mcp shows the server.",
    },
    ClientFile {
        name: "mcp-json",
        title: "mcp.json",
        file: |_| PathBuf::from("mcp.json"),
        syntax: Syntax::Json,
        servers: "mcpServers",
        typed: false,
        next: "Give the file to any client that reads `mcpServers`.",
    },
];

/// Where applications keep their settings.
fn application(folders: &Folders, name: &str) -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if cfg!(target_os = "macos") {
        folders.home.join("Library").join("Application Support").join(name)
    } else if cfg!(windows) {
        variable("APPDATA").unwrap_or_else(|| folders.home.join("AppData").join("Roaming")).join(name)
    } else {
        variable("XDG_CONFIG_HOME").unwrap_or_else(|| folders.home.join(".config")).join(name)
    }
}

fn zed(folders: &Folders) -> PathBuf {
    // Zed follows the Unix convention on macOS as well.
    let folder = if cfg!(target_os = "macos") {
        folders.home.join(".config").join("zed")
    } else {
        application(folders, if cfg!(windows) { "Zed" } else { "zed" })
    };
    folder.join("settings.json")
}

fn codex(folders: &Folders) -> PathBuf {
    let own = std::env::var_os("CODEX_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    own.unwrap_or_else(|| folders.home.join(".codex")).join("config.toml")
}

impl ClientFile {
    /// The text of the file with our entry in it.
    pub(crate) fn added(
        &self,
        text: &str,
        name: &str,
        entry: &Entry,
        force: bool,
    ) -> Result<String, Problem> {
        match self.syntax {
            Syntax::Toml => toml::added(text, self.servers, name, entry, force),
            syntax => json::added(text, syntax, self.servers, name, &self.value(entry), force),
        }
    }

    /// The text of the file without our entry; `None` when there was none.
    pub(crate) fn removed(&self, text: &str, name: &str) -> Result<Option<String>, Problem> {
        match self.syntax {
            Syntax::Toml => toml::removed(text, self.servers, name),
            syntax => json::removed(text, syntax, self.servers, name),
        }
    }

    /// The commands of the entries that run a `diptych`, by name.
    pub(crate) fn ours(&self, text: &str) -> Result<Vec<(String, String)>, Problem> {
        let commands = match self.syntax {
            Syntax::Toml => toml::commands(text, self.servers)?,
            syntax => json::commands(text, syntax, self.servers)?,
        };
        Ok(commands.into_iter().filter(|(_, command)| Entry::is_ours(command)).collect())
    }

    fn value(&self, entry: &Entry) -> Value {
        let mut value = if self.typed { json!({"type": "stdio"}) } else { json!({}) };
        value["command"] = json!(entry.command);
        value["args"] = json!(entry.arguments);
        value
    }
}

/// Whether a command that an entry names can be started.
pub(crate) fn can_start(command: &str) -> bool {
    let path = Path::new(command);
    if path.components().count() > 1 {
        return path.is_file();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(path).is_file())
}
