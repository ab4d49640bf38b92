//! `install` and `uninstall` against configuration files as clients have them, sound and broken.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic, and reads better so")]

mod support;

use support::Machine;

const CLAUDE_DESKTOP: &str = ".config/Claude/claude_desktop_config.json";
const CLAUDE_CODE: &str = ".claude.json";
const CURSOR: &str = ".cursor/mcp.json";
const VSCODE: &str = ".config/Code/User/mcp.json";
const ZED: &str = ".config/zed/settings.json";
const CODEX: &str = ".codex/config.toml";
const MCP_JSON: &str = "mcp.json";

const ALL: [(&str, &str); 7] = [
    ("claude-desktop", CLAUDE_DESKTOP),
    ("claude-code", CLAUDE_CODE),
    ("cursor", CURSOR),
    ("vscode", VSCODE),
    ("zed", ZED),
    ("codex", CODEX),
    ("mcp-json", MCP_JSON),
];

/// The file after installing into this text.
fn installed(client: &str, path: &str, before: &str) -> String {
    let machine = Machine::new();
    machine.write(path, before);
    let ended = machine.run(&["install", client, "--read-only"]);
    assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{ended:?}");
    assert_eq!(machine.read(&format!("{path}.before-diptych")), before, "the file as it was is kept");
    let after = machine.read(path);
    let ended = machine.run(&["uninstall", client]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let removed = machine.read(path);
    assert!(!removed.contains("diptych"), "{removed}");
    after.replace(support::DIPTYCH, "[diptych]")
}

#[test]
fn a_client_without_a_file_gets_one() {
    for (client, path) in ALL {
        let machine = Machine::new();
        let ended = machine.run(&["install", client]);
        assert_eq!(ended.code, 0, "{client}: {ended:?}");
        let text = machine.read(path);
        assert!(text.contains(support::DIPTYCH) && text.contains("\"serve\""), "{client}: {text}");
        assert!(!machine.path(&format!("{path}.before-diptych")).exists(), "there was nothing to keep");
        let again = machine.run(&["install", client]);
        assert!(again.err.contains("has it already"), "{client}: {}", again.err);
        assert_eq!(machine.run(&["uninstall", client]).code, 0);
        assert!(!machine.read(path).contains("diptych"), "{client}");
        let again = machine.run(&["uninstall", client]);
        assert_eq!(again.code, 0);
        assert!(again.err.contains("has no server called `diptych`"), "{}", again.err);
    }
}

#[test]
fn claude_desktop_keeps_its_other_servers() {
    let before = r#"{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server-files", "/data"]
    }
  },
  "globalShortcut": "Alt+Space"
}
"#;
    insta::assert_snapshot!(installed("claude-desktop", CLAUDE_DESKTOP, before), @r#"
    {
      "mcpServers": {
        "files": {
          "command": "npx",
          "args": ["-y", "server-files", "/data"]
        },
        "diptych": {
          "command": "[diptych]",
          "args": ["serve", "--read-only"]
        }
      },
      "globalShortcut": "Alt+Space"
    }
    "#);
}

#[test]
fn claude_code_keeps_what_it_remembers() {
    let before = r#"{"numStartups":12,"projects":{"/work":{"mcpServers":{"diptich":{"command":"x"}}}}}"#;
    insta::assert_snapshot!(installed("claude-code", CLAUDE_CODE, before), @r#"
    {
      "numStartups":12,
      "projects":{"/work":{"mcpServers":{"diptich":{"command":"x"}}}},
      "mcpServers": {
        "diptych": {
          "type": "stdio",
          "command": "[diptych]",
          "args": ["serve", "--read-only"]
        }
      }
    }
    "#);
}

#[test]
fn cursor_gets_its_own_servers() {
    let before = "{\n\t\"mcpServers\": {}\n}\n";
    insta::assert_snapshot!(installed("cursor", CURSOR, before), @r#"
    {
    	"mcpServers": {
    		"diptych": {
    			"command": "[diptych]",
    			"args": ["serve", "--read-only"]
    		}
    	}
    }
    "#);
}

#[test]
fn vs_code_keeps_comments_and_inputs() {
    let before = r#"// Servers of this profile
{
	"inputs": [
		{ "id": "key", "type": "promptString", "password": true }, // asked once
	],
	"servers": {
		/* the old one */
		"search": { "type": "http", "url": "https://example.com/mcp" },
	},
}
"#;
    insta::assert_snapshot!(installed("vscode", VSCODE, before), @r#"
    // Servers of this profile
    {
    	"inputs": [
    		{ "id": "key", "type": "promptString", "password": true }, // asked once
    	],
    	"servers": {
    		/* the old one */
    		"search": { "type": "http", "url": "https://example.com/mcp" },
    		"diptych": {
    			"type": "stdio",
    			"command": "[diptych]",
    			"args": ["serve", "--read-only"],
    		},
    	},
    }
    "#);
}

#[test]
fn zed_keeps_comments_and_settings() {
    let before = r#"// Zed settings
{
  "theme": "One Dark", // for the night
  "vim_mode": true,
}
"#;
    insta::assert_snapshot!(installed("zed", ZED, before), @r#"
    // Zed settings
    {
      "theme": "One Dark", // for the night
      "vim_mode": true,
      "context_servers": {
        "diptych": {
          "command": "[diptych]",
          "args": ["serve", "--read-only"]
        }
      },
    }
    "#);
}

#[test]
fn codex_keeps_comments_and_tables() {
    let before = "# how I like it\nmodel = \"large\" # the best\n\n[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"server-files\"]\n\n[tui]\ntheme = \"dark\"\n";
    insta::assert_snapshot!(installed("codex", CODEX, before), @r#"
    # how I like it
    model = "large" # the best

    [mcp_servers.files]
    command = "npx"
    args = ["-y", "server-files"]

    [mcp_servers.diptych]
    command = "[diptych]"
    args = ["serve", "--read-only"]

    [tui]
    theme = "dark"
    "#);
}

#[test]
fn what_people_added_to_our_entry_stays() {
    let machine = Machine::new();
    machine.write(
        CURSOR,
        r#"{"mcpServers": {"diptych": {"command": "/old/diptych", "args": [], "env": {"DIPTYCH_LOG": "info"}}}}"#,
    );
    assert_eq!(machine.run(&["install", "cursor"]).code, 0);
    let text = machine.read(CURSOR);
    assert!(text.contains("DIPTYCH_LOG") && !text.contains("/old/diptych"), "{text}");
    machine.write(
        CODEX,
        "[mcp_servers.diptych]\ncommand = \"diptych\" # ours\nenv = { DIPTYCH_LOG = \"info\" }\n",
    );
    assert_eq!(machine.run(&["install", "codex"]).code, 0);
    let text = machine.read(CODEX);
    assert!(text.contains("DIPTYCH_LOG") && text.contains(support::DIPTYCH), "{text}");
}

#[test]
fn someone_elses_entry_of_that_name_is_not_touched() {
    for (path, client, text) in [
        (CURSOR, "cursor", r#"{"mcpServers": {"diptych": {"command": "npx", "args": ["painting"]}}}"#),
        (CODEX, "codex", "[mcp_servers.diptych]\ncommand = \"npx\"\n"),
        (VSCODE, "vscode", r#"{"servers": {"diptych": {"type": "http", "url": "https://example.com"}}}"#),
    ] {
        let machine = Machine::new();
        machine.write(path, text);
        let ended = machine.run(&["install", client]);
        assert_eq!(ended.code, 1);
        assert!(ended.err.contains("has another server called `diptych`"), "{}", ended.err);
        assert_eq!(machine.read(path), text);
        assert_eq!(machine.run(&["install", client, "--name", "diptych-2"]).code, 0);
        assert_eq!(machine.run(&["install", client, "--force"]).code, 0);
    }
}

#[test]
fn broken_files_are_refused_and_left_as_they_are() {
    for (client, path, text) in [
        ("claude-desktop", CLAUDE_DESKTOP, "{\"mcpServers\": {"),
        ("claude-desktop", CLAUDE_DESKTOP, "{\"mcpServers\": {},}"),
        ("claude-desktop", CLAUDE_DESKTOP, "// a comment\n{}"),
        ("claude-desktop", CLAUDE_DESKTOP, "[]"),
        ("claude-code", CLAUDE_CODE, "{} trailing"),
        ("claude-code", CLAUDE_CODE, "{\"mcpServers\": []}"),
        ("cursor", CURSOR, "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        ("cursor", CURSOR, "{'mcpServers': {}}"),
        ("vscode", VSCODE, "{\"servers\": {} \"inputs\": []}"),
        ("zed", ZED, "{ theme: \"One\" }"),
        ("zed", ZED, "/* no end {}"),
        ("codex", CODEX, "model = \n"),
        ("codex", CODEX, "mcp_servers = 3\n"),
        ("codex", CODEX, "[a]\nb = 1\n[a]\n"),
        ("mcp-json", MCP_JSON, "\u{0}"),
    ] {
        let machine = Machine::new();
        machine.write(path, text);
        for command in ["install", "uninstall"] {
            let ended = machine.run(&[command, client]);
            assert_eq!(ended.code, 1, "{client} {text}: {ended:?}");
            assert!(ended.err.contains("left as it is"), "{}", ended.err);
            assert_eq!(machine.read(path), text);
            assert!(!machine.path(&format!("{path}.before-diptych")).exists());
        }
    }
    let machine = Machine::new();
    std::fs::write(machine.path(MCP_JSON), [0xff, 0xfe, b'{', 0]).unwrap();
    let ended = machine.run(&["install", "mcp-json"]);
    assert_eq!(ended.code, 1);
    insta::assert_snapshot!(ended.err, @"error: mcp.json cannot be read, so it was left as it is: it is not UTF-8 text.");
}

#[test]
fn empty_files_and_byte_order_marks_are_fine() {
    let machine = Machine::new();
    for before in ["", " \n", "\u{feff}{}", "\u{feff}"] {
        machine.write(CURSOR, before);
        assert_eq!(machine.run(&["install", "cursor"]).code, 0, "{before:?}");
        let after = machine.read(CURSOR);
        assert_eq!(after.starts_with('\u{feff}'), before.starts_with('\u{feff}'));
        serde_json::from_str::<serde_json::Value>(after.trim_start_matches('\u{feff}')).unwrap();
    }
}

#[test]
fn print_changes_nothing() {
    let machine = Machine::new();
    machine.write(CODEX, "broken");
    let ended = machine.run(&[
        "install",
        "codex",
        "--print",
        "--patterns",
        "embedded",
        "--patterns",
        "mine",
        "--budget",
        "900",
    ]);
    assert_eq!(ended.code, 0);
    insta::assert_snapshot!(ended.out, @r#"
    [mcp_servers.diptych]
    command = "[diptych]"
    args = ["serve", "--patterns", "embedded", "--patterns", "[home]/mine", "--budget", "900"]
    "#);
    insta::assert_snapshot!(ended.err, @"For ~/.codex/config.toml");
    assert_eq!(machine.read(CODEX), "broken");
}

#[test]
fn names_and_clients_are_checked() {
    let machine = Machine::new();
    insta::assert_snapshot!(machine.run(&["install", "notepad"]).err, @r"
    error: invalid value 'notepad' for '<CLIENT>'
      [possible values: claude-desktop, claude-code, cursor, vscode, zed, codex, mcp-json]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(machine.run(&["install", "cursor", "--name", "a b"]).err, @r"
    error: invalid value 'a b' for '--name <NAME>': use 1 to 64 letters, digits, `-` or `_`

    For more information, try '--help'.
    ");
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let machine = Machine::new();
    let real = machine.write("dotfiles/mcp.json", "{}");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, machine.path(MCP_JSON)).unwrap();
    assert_eq!(machine.run(&["install", "mcp-json"]).code, 0);
    assert!(machine.path(MCP_JSON).is_symlink());
    assert!(machine.read("dotfiles/mcp.json").contains("mcpServers"));
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_doctor_sees_what_is_installed_and_what_is_broken() {
    let machine = Machine::new();
    machine.write(CURSOR, r#"{"mcpServers": {"diptych": {"command": "/gone/diptych", "args": ["serve"]}}}"#);
    machine.write(ZED, "{ not json");
    machine.write(CODEX, "model = \"large\"\n");
    assert_eq!(machine.run(&["install", "claude-code"]).code, 0);
    let ended = machine.run(&["doctor"]);
    assert_eq!(ended.code, 1);
    let clients = ended.out.split("clients").nth(1).unwrap();
    insta::assert_snapshot!(format!("clients{clients}"), @r"
    clients      ok     Claude Code: ~/.claude.json
                 WRONG  Cursor: `diptych` starts /gone/diptych, which is not there
                        Set it up again: `diptych install cursor`
                 WRONG  Zed: ~/.config/zed/settings.json cannot be read: expected string for object property on line 1 column 3
                        Mend the file by hand; it was left as it is.
                 -      Codex: not set up; `diptych install codex` does.
    ");
}
