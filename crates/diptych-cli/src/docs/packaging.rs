//! What the binary is packed with: the container file, the manifest of a `.mcpb` bundle, and `server.json` for the MCP
//! registry.

use serde_json::{Map, Value, json};

use super::{Documented, text};
use crate::command::tree;
use crate::settings::{Kind, Scope, Setting, TABLE, Value as Parsed};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const LICENSE: &str = env!("CARGO_PKG_LICENSE");
/// The platforms that bundles are made for, as clients call them.
const PLATFORMS: [&str; 3] = ["darwin", "linux", "win32"];

fn about() -> String {
    tree().get_about().map(ToString::to_string).unwrap_or_default()
}

/// The name in the MCP registry: the repository, the other way round.
fn registered_name() -> String {
    let path = REPOSITORY.trim_start_matches("https://github.com/");
    format!("io.github.{path}")
}

/// The settings that make sense for a client that starts the server itself.
fn offered() -> impl Iterator<Item = &'static Setting> {
    TABLE.into_iter().filter(|setting| setting.scope == Scope::Server)
}

/// The default as text, but for those that only the binary knows: where the platform keeps files, and where it is started.
fn default(setting: &Setting) -> &'static str {
    if matches!(setting.kind, Kind::File | Kind::Folder | Kind::Project) { "" } else { setting.default }
}

/// `manifest.json` of a bundle.
pub(super) fn bundle(toolsets: &[Documented]) -> String {
    let every = |part: fn(&Documented) -> &Vec<Value>| toolsets.iter().flat_map(part);
    let tools: Vec<Value> = every(|toolset| &toolset.tools)
        .map(|tool| json!({"name": tool["name"], "description": tool["description"]}))
        .collect();
    let prompts: Vec<Value> = every(|toolset| &toolset.prompts).map(prompt).collect();
    let environment: Map<String, Value> = offered()
        .map(|setting| (setting.variable(), json!(format!("${{user_config.{}}}", key(setting)))))
        .collect();
    let settings: Map<String, Value> =
        offered().map(|setting| (key(setting), user_setting(setting))).collect();
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "diptych",
        "display_name": "Diptych",
        "version": VERSION,
        "description": about(),
        "author": {"name": "The Diptych authors", "url": REPOSITORY},
        "repository": {"type": "git", "url": REPOSITORY},
        "documentation": format!("{REPOSITORY}/tree/main/docs"),
        "license": LICENSE,
        "server": {
            "type": "binary",
            "entry_point": "server/diptych",
            "mcp_config": {
                "command": "${__dirname}/server/diptych",
                "args": ["serve"],
                "env": environment,
                "platform_overrides": {"win32": {"command": "${__dirname}/server/diptych.exe"}}
            }
        },
        "tools": tools,
        "prompts": prompts,
        // The messages are made by the server, from what is stored then.
        "prompts_generated": true,
        "compatibility": {"platforms": PLATFORMS},
        "user_config": settings
    });
    format!("{manifest:#}\n")
}

/// A prompt. The manifest wants its text, which only the server can make: so the text says to ask it.
fn prompt(prompt: &Value) -> Value {
    let names = prompt["arguments"].as_array().into_iter().flatten().map(|argument| text(argument, "name"));
    let names: Vec<&str> = names.collect();
    let given: Vec<String> = names.iter().map(|name| format!("{name}: ${{arguments.{name}}}")).collect();
    let (name, about) = (text(prompt, "name"), text(prompt, "description"));
    json!({
        "name": name,
        "description": about,
        "arguments": names,
        "text": format!("Get the prompt {name} of this server and follow it. {about}\n{}", given.join("\n"))
    })
}

fn key(setting: &Setting) -> String {
    setting.name.replace('-', "_")
}

fn user_setting(setting: &Setting) -> Value {
    let mut letters = setting.name.chars();
    let title: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let kind = match setting.kind {
        Kind::Switch => "boolean",
        Kind::Count { .. } => "number",
        Kind::File => "file",
        Kind::Folder | Kind::Folders => "directory",
        _ => "string",
    };
    // What has no value stands for itself in the environment, unless there is a default.
    let default = match Parsed::parse_text(setting.kind, default(setting)) {
        Ok(Parsed::Switch(switch)) => json!(switch),
        Ok(Parsed::Count(count)) => json!(count),
        _ => json!(default(setting)),
    };
    let mut described = json!({
        "type": kind,
        "title": title.replace('-', " "),
        "description": setting.help,
        "required": false,
        "default": default
    });
    if let Kind::Count { least } = setting.kind {
        described["min"] = json!(least);
    }
    if setting.kind == Kind::Secret {
        described["sensitive"] = json!(true);
    }
    described
}

/// `server.json`. The hash of each bundle's file is added when it is released: before, there is no file.
pub(super) fn server() -> String {
    let variables: Vec<Value> = offered().map(variable).collect();
    let packages: Vec<Value> = PLATFORMS
        .iter()
        .map(|platform| {
            json!({
                "registryType": "mcpb",
                "identifier": format!("{REPOSITORY}/releases/download/v{VERSION}/diptych-{VERSION}-{platform}.mcpb"),
                "version": VERSION,
                "transport": {"type": "stdio"},
                "environmentVariables": variables
            })
        })
        .collect();
    let server = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": registered_name(),
        "title": "Diptych",
        "description": about(),
        "version": VERSION,
        "websiteUrl": REPOSITORY,
        "repository": {"url": REPOSITORY, "source": "github"},
        "packages": packages
    });
    format!("{server:#}\n")
}

fn variable(setting: &Setting) -> Value {
    let format = match setting.kind {
        Kind::Switch => "boolean",
        Kind::Count { .. } => "number",
        Kind::File | Kind::Folder | Kind::Folders => "filepath",
        _ => "string",
    };
    let mut described = json!({"name": setting.variable(), "description": setting.help, "format": format});
    if !default(setting).is_empty() {
        described["default"] = json!(setting.default);
    }
    if let Kind::Choice(choices) = setting.kind {
        described["choices"] = json!(choices);
    }
    if setting.kind == Kind::Secret {
        described["isSecret"] = json!(true);
    }
    described
}

/// The container file. Everything that is copied is named, so that a change elsewhere builds nothing anew.
pub(super) fn container_file() -> String {
    let rust = env!("CARGO_PKG_RUST_VERSION");
    format!(
        r#"# Made by `cargo xtask docs` from the definitions; what is changed by hand is lost.
#
#   podman build --tag diptych .
#
# On standard input and output, as a client starts it; what is remembered stays in the volume:
#   podman run --rm --interactive --volume diptych:/data diptych
#
# Over HTTP, for whoever has the token:
#   podman run --rm --publish 8080:8080 --volume diptych:/data \
#     --env DIPTYCH_HTTP=0.0.0.0:8080 --env DIPTYCH_HTTP_TOKEN=... diptych
#
# Every setting is a variable: see docs/settings.md.

FROM rust:{rust}-trixie AS build
WORKDIR /source
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY catalogue catalogue
COPY crates crates
COPY xtask xtask
RUN cargo build --locked --profile dist --package diptych-cli --bin diptych

FROM debian:trixie-slim AS run
LABEL org.opencontainers.image.title="diptych" \
      org.opencontainers.image.description="{about}" \
      org.opencontainers.image.version="{VERSION}" \
      org.opencontainers.image.licenses="{LICENSE}" \
      org.opencontainers.image.source="{REPOSITORY}" \
      io.modelcontextprotocol.server.name="{name}"
RUN useradd --uid 10001 --create-home diptych && install --directory --owner diptych /data /config
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /source/target/dist/diptych /usr/local/bin/diptych
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/diptych/
USER diptych
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
# Without HTTP there is nothing to knock at: a client on standard input notices by itself.
HEALTHCHECK --interval=30s --timeout=3s \
  CMD ["bash", "-c", "[ -z \"$DIPTYCH_HTTP\" ] || {{ exec 3<>\"/dev/tcp/127.0.0.1/${{DIPTYCH_HTTP##*:}}\" && printf 'GET /healthz HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '; }}"]
ENTRYPOINT ["diptych"]
CMD ["serve"]
"#,
        about = about(),
        name = registered_name()
    )
}
