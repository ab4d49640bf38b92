//! Every setting, defined once.
//!
//! The table below is the only place that knows them: the flags, the names of the environment variables, the
//! keys of `diptych.toml`, what `diptych config` shows and the documentation all follow from it.

mod repository;
mod resolve;
mod value;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction};

pub(crate) use resolve::{Origin, Settings, strangers};
pub(crate) use value::Value;

use crate::toolsets;

/// A setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The name of its flag, and its key in the configuration file.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What holds when nobody says anything. Empty: nothing does.
    pub(crate) default: &'static str,
    pub(crate) scope: Scope,
    pub(crate) help: &'static str,
}

/// What a setting's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    Text,
    /// Text that is never shown.
    Secret,
    Choice(&'static [&'static str]),
    Count {
        least: u64,
    },
    /// An address to listen on.
    Address,
    List,
    Choices(&'static [&'static str]),
    /// A file; the default is in the data folder.
    File,
    /// A folder; the default is in the data folder.
    Folder,
    /// A project of the graph; the default is the repository that the working folder is in.
    Project,
    Folders,
}

/// Which commands a setting is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of them.
    Everything,
    /// Those that make a server, be it to serve it or to call it.
    Server,
    /// Serving over HTTP.
    Http,
    /// Calling someone else's server.
    Remote,
    /// Those that make a server, and those that look after the local model.
    Model,
}

pub(crate) const TOOLSETS: Setting = Setting {
    name: "toolsets",
    kind: Kind::Choices(&toolsets::NAMES),
    default: toolsets::ALL,
    scope: Scope::Server,
    help: "The toolsets to serve",
};
pub(crate) const READ_ONLY: Setting = Setting {
    name: "read-only",
    kind: Kind::Switch,
    default: "false",
    scope: Scope::Server,
    help: "Leave out every tool that changes something",
};
pub(crate) const PATTERNS: Setting = Setting {
    name: "patterns",
    kind: Kind::Folders,
    default: "embedded",
    scope: Scope::Server,
    help: "A folder of patterns to serve, or `embedded` for the catalogue in the binary; can be given several times, later ones win",
};
pub(crate) const GRAPH_DB: Setting = Setting {
    name: "graph-db",
    kind: Kind::File,
    default: "graph.db",
    scope: Scope::Server,
    help: "The file that holds the knowledge graph; by default it is in the data folder",
};
pub(crate) const PROJECT: Setting = Setting {
    name: "project",
    kind: Kind::Project,
    default: "default",
    scope: Scope::Server,
    help: "The project whose graph is read and written; by default the git repository that the working folder is in, by its name",
};
pub(crate) const GRAPH_ALL_PROJECTS: Setting = Setting {
    name: "graph-all-projects",
    kind: Kind::Switch,
    default: "false",
    scope: Scope::Server,
    help: "Read and search the graphs of all projects",
};
pub(crate) const GRAPH_ENTITY_TYPES: Setting = Setting {
    name: "graph-entity-types",
    kind: Kind::List,
    default: "",
    scope: Scope::Server,
    help: "The only types that new entities may have; any, unless said otherwise",
};
pub(crate) const GRAPH_RELATION_TYPES: Setting = Setting {
    name: "graph-relation-types",
    kind: Kind::List,
    default: "",
    scope: Scope::Server,
    help: "The only types that new relations may have; any, unless said otherwise",
};
pub(crate) const EMBEDDER: Setting = Setting {
    name: "embedder",
    kind: Kind::Choice(&["auto", "local", "http", "none"]),
    default: "auto",
    scope: Scope::Server,
    help: "What searches by meaning are made with: the local model, a service, nothing, or whichever of these is set up",
};
pub(crate) const MODEL_FOLDER: Setting = Setting {
    name: "model-folder",
    kind: Kind::Folder,
    default: "models/all-MiniLM-L6-v2",
    scope: Scope::Model,
    help: "The folder of the local model; by default it is in the data folder",
};
pub(crate) const EMBEDDER_URL: Setting = Setting {
    name: "embedder-url",
    kind: Kind::Text,
    default: "",
    scope: Scope::Server,
    help: "The service that makes embeddings, if it speaks as OpenAI's does, such as http://127.0.0.1:11434/v1",
};
pub(crate) const EMBEDDER_MODEL: Setting = Setting {
    name: "embedder-model",
    kind: Kind::Text,
    default: "",
    scope: Scope::Server,
    help: "The name of the service's model",
};
pub(crate) const EMBEDDER_KEY: Setting = Setting {
    name: "embedder-key",
    kind: Kind::Secret,
    default: "",
    scope: Scope::Server,
    help: "The service's key; other users of this machine can see flags, so prefer the variable",
};
pub(crate) const BLUESKY_APPVIEW: Setting = Setting {
    name: "bluesky-appview",
    kind: Kind::Text,
    default: "https://public.api.bsky.app",
    scope: Scope::Server,
    help: "The AppView that is read without an account",
};
pub(crate) const BLUESKY_PLC: Setting = Setting {
    name: "bluesky-plc",
    kind: Kind::Text,
    default: "https://plc.directory",
    scope: Scope::Server,
    help: "The directory of did:plc identities",
};
pub(crate) const BLUESKY_SERVICE: Setting = Setting {
    name: "bluesky-service",
    kind: Kind::Text,
    default: "https://bsky.social",
    scope: Scope::Server,
    help: "The service to log in at where the handle does not lead to one",
};
pub(crate) const BLUESKY_DNS: Setting = Setting {
    name: "bluesky-dns",
    kind: Kind::Text,
    default: "https://cloudflare-dns.com/dns-query",
    scope: Scope::Server,
    help: "The DNS-over-HTTPS resolver (JSON) for handles, or `off`",
};
pub(crate) const BLUESKY_PASSWORD_FORM: Setting = Setting {
    name: "bluesky-password-form",
    kind: Kind::Switch,
    default: "false",
    scope: Scope::Server,
    help: "Let clients ask for an app password by form, which the MCP specification forbids",
};
pub(crate) const BLUESKY_SECRETS: Setting = Setting {
    name: "bluesky-secrets",
    kind: Kind::Choice(&["auto", "keyring", "file"]),
    default: "auto",
    scope: Scope::Server,
    help: "Where logins are kept: in the system's keyring if it works, only there, or in a file for you alone",
};
pub(crate) const STRUCTURED: Setting = Setting {
    name: "structured",
    kind: Kind::Choice(&["auto", "always", "never"]),
    default: "auto",
    scope: Scope::Server,
    help: "Whether results carry the structured panel: as the client takes it best, always, or never",
};
pub(crate) const BUDGET: Setting = Setting {
    name: "budget",
    kind: Kind::Count { least: 100 },
    default: "25000",
    scope: Scope::Server,
    help: "How many tokens an answer may take",
};
pub(crate) const TIME_LIMIT: Setting = Setting {
    name: "time-limit",
    kind: Kind::Count { least: 1 },
    default: "60",
    scope: Scope::Server,
    help: "How many seconds a tool may run",
};
pub(crate) const HTTP: Setting = Setting {
    name: "http",
    kind: Kind::Address,
    default: "",
    scope: Scope::Http,
    help: "Serve Streamable HTTP at this address as well, such as 127.0.0.1:8080",
};
pub(crate) const HTTP_TOKEN: Setting = Setting {
    name: "http-token",
    kind: Kind::Secret,
    default: "",
    scope: Scope::Http,
    help: "The bearer token that HTTP clients must present; other users of this machine can see flags, so prefer the variable",
};
pub(crate) const HTTP_ISSUER: Setting = Setting {
    name: "http-issuer",
    kind: Kind::Text,
    default: "",
    scope: Scope::Http,
    help: "The OAuth issuer whose access tokens are let in, as its tokens name it",
};
pub(crate) const HTTP_AUDIENCE: Setting = Setting {
    name: "http-audience",
    kind: Kind::Text,
    default: "",
    scope: Scope::Http,
    help: "What the issuer's tokens must be made for: the URL under which clients know this server",
};
pub(crate) const HTTP_SCOPES: Setting = Setting {
    name: "http-scopes",
    kind: Kind::List,
    default: "",
    scope: Scope::Http,
    help: "The scopes that the issuer's tokens must have",
};
pub(crate) const HTTP_OPEN: Setting = Setting {
    name: "http-open",
    kind: Kind::Switch,
    default: "false",
    scope: Scope::Http,
    help: "Serve other machines without a token",
};
pub(crate) const HTTP_HOSTS: Setting = Setting {
    name: "http-hosts",
    kind: Kind::List,
    default: "",
    scope: Scope::Http,
    help: "Further names under which clients reach the HTTP server",
};
pub(crate) const HTTP_ORIGINS: Setting = Setting {
    name: "http-origins",
    kind: Kind::List,
    default: "",
    scope: Scope::Http,
    help: "Web pages of other hosts that may call the HTTP server, such as https://app.example.com",
};
pub(crate) const HTTP_RATE: Setting = Setting {
    name: "http-rate",
    kind: Kind::Count { least: 1 },
    default: "",
    scope: Scope::Http,
    help: "How many HTTP requests a minute each caller may make",
};
pub(crate) const DRAIN: Setting = Setting {
    name: "drain",
    kind: Kind::Count { least: 0 },
    default: "10",
    scope: Scope::Http,
    help: "How many seconds the calls in flight have to finish when the server is told to end",
};
pub(crate) const SERVER: Setting = Setting {
    name: "server",
    kind: Kind::Text,
    default: "",
    scope: Scope::Remote,
    help: "Call this server instead: a URL, or a command that speaks MCP on its standard input and output",
};
pub(crate) const SERVER_TOKEN: Setting = Setting {
    name: "server-token",
    kind: Kind::Secret,
    default: "",
    scope: Scope::Remote,
    help: "The bearer token for a server at a URL",
};
pub(crate) const LOG: Setting = Setting {
    name: "log",
    kind: Kind::Text,
    default: "warn",
    scope: Scope::Everything,
    help: "What to log on standard error: error, warn, info, debug, trace, or a filter for each module",
};

/// Every setting, in the order in which people read of them.
pub(crate) const TABLE: [&Setting; 35] = [
    &TOOLSETS,
    &READ_ONLY,
    &PATTERNS,
    &GRAPH_DB,
    &PROJECT,
    &GRAPH_ALL_PROJECTS,
    &GRAPH_ENTITY_TYPES,
    &GRAPH_RELATION_TYPES,
    &EMBEDDER,
    &MODEL_FOLDER,
    &EMBEDDER_URL,
    &EMBEDDER_MODEL,
    &EMBEDDER_KEY,
    &BLUESKY_APPVIEW,
    &BLUESKY_PLC,
    &BLUESKY_SERVICE,
    &BLUESKY_DNS,
    &BLUESKY_PASSWORD_FORM,
    &BLUESKY_SECRETS,
    &STRUCTURED,
    &BUDGET,
    &TIME_LIMIT,
    &HTTP,
    &HTTP_TOKEN,
    &HTTP_ISSUER,
    &HTTP_AUDIENCE,
    &HTTP_SCOPES,
    &HTTP_OPEN,
    &HTTP_HOSTS,
    &HTTP_ORIGINS,
    &HTTP_RATE,
    &DRAIN,
    &SERVER,
    &SERVER_TOKEN,
    &LOG,
];

impl Setting {
    /// The environment variable.
    pub(crate) fn variable(&self) -> String {
        format!("DIPTYCH_{}", self.name.replace('-', "_").to_uppercase())
    }

    /// Whether commands of these scopes take it.
    fn is_for(&self, scopes: &[Scope]) -> bool {
        match self.scope {
            Scope::Everything => true,
            Scope::Model => scopes.contains(&Scope::Model) || scopes.contains(&Scope::Server),
            scope => scopes.contains(&scope),
        }
    }

    /// The name of the value in help texts.
    pub(crate) fn value_name(&self) -> &'static str {
        match self.kind {
            Kind::Switch => "BOOL",
            Kind::Text | Kind::Secret | Kind::List => "TEXT",
            Kind::Choice(_) => "CHOICE",
            Kind::Choices(_) | Kind::Project => "NAME",
            Kind::Count { .. } => "NUMBER",
            Kind::Address => "ADDRESS",
            Kind::File => "FILE",
            Kind::Folder | Kind::Folders => "FOLDER",
        }
    }

    /// The flag.
    fn argument(&'static self) -> Arg {
        let mut help = self.help.to_owned();
        match self.default {
            "" | "false" => {}
            default if self.kind == Kind::Project => help.push_str(&format!(", else `{default}`")),
            default => help.push_str(&format!(" [default: {default}]")),
        }
        let argument = Arg::new(self.name)
            .long(self.name)
            .value_name(self.value_name())
            .help(help)
            .help_heading(if self.scope == Scope::Http { "HTTP" } else { "Settings" });
        match self.kind {
            Kind::Switch => argument
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .hide_possible_values(true)
                .value_parser(PossibleValuesParser::new(["true", "false"])),
            Kind::Choice(choices) => argument.value_parser(PossibleValuesParser::new(choices)),
            Kind::Choices(choices) => argument
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(PossibleValuesParser::new(choices)),
            Kind::List => argument.action(ArgAction::Append).value_delimiter(','),
            Kind::Folders => argument.action(ArgAction::Append).value_hint(clap::ValueHint::DirPath),
            Kind::File => argument.value_hint(clap::ValueHint::FilePath),
            Kind::Folder => argument.value_hint(clap::ValueHint::DirPath),
            Kind::Text | Kind::Secret | Kind::Project => argument,
            Kind::Count { .. } | Kind::Address => argument.value_parser(move |text: &str| {
                Value::parse(self.kind, &[text.to_owned()]).map(|_| text.to_owned())
            }),
        }
    }
}

/// The flags of these scopes, and those that every command takes.
pub(crate) fn arguments(scopes: &[Scope]) -> Vec<Arg> {
    let mut arguments: Vec<Arg> =
        TABLE.into_iter().filter(|setting| setting.is_for(scopes)).map(Setting::argument).collect();
    arguments.push(
        Arg::new(resolve::FILE)
            .long(resolve::FILE)
            .value_name("FILE")
            .value_hint(clap::ValueHint::FilePath)
            .help("The configuration file [default: diptych.toml in the configuration folder]")
            .help_heading("Settings"),
    );
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_are_valid() {
        for (position, setting) in TABLE.iter().enumerate() {
            assert!(TABLE[..position].iter().all(|other| other.name != setting.name), "{}", setting.name);
            assert_ne!(setting.name, resolve::FILE);
            let parsed = Value::parse_text(setting.kind, setting.default);
            assert!(setting.default.is_empty() || parsed.is_ok(), "{}: {parsed:?}", setting.name);
            assert!(!setting.help.ends_with('.'), "{}", setting.name);
        }
    }
}
