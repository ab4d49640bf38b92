//! `diptych doctor`: what works, what does not, and how to mend it.

use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use console::Style;
use diptych_graph::{Scope, Store};
use diptych_search::Purpose;

use crate::exit::{Exit, Failure, Outcome};
use crate::install::{self, CLIENTS, ClientFile, Problem};
use crate::output;
use crate::settings::{
    EMBEDDER, EMBEDDER_MODEL, HTTP, HTTP_ISSUER, HTTP_OPEN, HTTP_TOKEN, SERVER, Settings, TOOLSETS,
};
use crate::{connection, embedder, toolsets};

/// The command.
pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Check stores, catalogue, folders and clients, and say how to mend what is wrong")
        .arg(
            Arg::new("network")
                .long("network")
                .action(ArgAction::SetTrue)
                .help("Check what is on the network as well"),
        )
}

/// What a check found.
enum State {
    Well,
    /// Not used, or not looked at.
    Idle,
    Warning,
    Wrong,
}

struct Finding {
    state: State,
    what: String,
    mend: Option<String>,
}

impl Finding {
    fn new(state: State, what: impl Into<String>) -> Self {
        Finding { state, what: what.into(), mend: None }
    }

    fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }
}

/// Checks everything.
pub(crate) async fn doctor(settings: &Settings, problems: &[Failure], flags: &ArgMatches) -> Outcome {
    let checks = [
        ("program", vec![program()]),
        ("settings", configuration(settings, problems)),
        ("folders", folders(settings)),
        ("patterns", vec![catalogue(settings)]),
        ("graph", vec![store(settings)]),
        ("embedder", vec![embeddings(settings, flags.get_flag("network")).await]),
        ("server", vec![served(settings)]),
        ("http", vec![http(settings)]),
        ("credentials", vec![credentials(settings)]),
        ("network", vec![network(settings, flags.get_flag("network")).await]),
        ("clients", CLIENTS.iter().filter_map(|client| entry(settings, client)).collect()),
    ];
    let mut text = String::new();
    let mut wrong = 0;
    for (name, findings) in checks {
        for (number, finding) in findings.iter().enumerate() {
            let (mark, style) = match finding.state {
                State::Well => ("ok", Style::new().green()),
                State::Idle => ("-", Style::new().dim()),
                State::Warning => ("warn", Style::new().yellow()),
                State::Wrong => ("WRONG", Style::new().red().bold()),
            };
            wrong += usize::from(matches!(finding.state, State::Wrong));
            let name = if number == 0 { name } else { "" };
            text.push_str(&format!("{name:<12} {:<6} {}\n", style.apply_to(mark), finding.what));
            if let Some(mend) = &finding.mend {
                text.push_str(&format!("{:<12} {:<6} {mend}\n", "", ""));
            }
        }
    }
    output::line(&text)?;
    match wrong {
        0 => Ok(Exit::Done),
        _ => Err(Failure::quiet(Exit::Failed)),
    }
}

fn program() -> Finding {
    Finding::new(State::Well, format!("diptych {}", env!("CARGO_PKG_VERSION")))
}

fn configuration(settings: &Settings, problems: &[Failure]) -> Vec<Finding> {
    let (file, exists) = settings.file();
    let file = settings.folders.show(file);
    if !problems.is_empty() {
        let wrong = |problem: &Failure| {
            let finding = Finding::new(State::Wrong, problem.message.clone());
            problem.hint.iter().fold(finding, |finding, hint| finding.mend(hint.clone()))
        };
        return problems.iter().map(wrong).collect();
    }
    vec![match exists {
        true => Finding::new(State::Well, file),
        false => Finding::new(State::Idle, format!("{file} is not there; nothing needs it.")),
    }]
}

fn folders(settings: &Settings) -> Vec<Finding> {
    let folders = &settings.folders;
    [("configuration", &folders.configuration), ("data", &folders.data), ("cache", &folders.cache)]
        .map(|(what, folder)| {
            let shown = format!("{what}: {}", folders.show(folder));
            match usable(folder) {
                Ok(true) => Finding::new(State::Well, shown),
                Ok(false) => Finding::new(State::Idle, format!("{shown} (made when it is needed)")),
                Err(why) => Finding::new(State::Wrong, format!("{shown}: {why}"))
                    .mend(format!("Make it a folder that you may write to: {}", folders.show(folder))),
            }
        })
        .into()
}

/// Whether a folder is there and can be written to; `false` when it is not there but can be made.
fn usable(folder: &Path) -> Result<bool, &'static str> {
    if let Ok(metadata) = std::fs::metadata(folder) {
        if !metadata.is_dir() {
            return Err("is not a folder");
        }
        return match tempfile::tempfile_in(folder) {
            Ok(_) => Ok(true),
            Err(_) => Err("cannot be written to"),
        };
    }
    match folder.parent() {
        Some(parent) => usable(parent).map(|_| false),
        None => Err("cannot be made"),
    }
}

fn catalogue(settings: &Settings) -> Finding {
    if !settings.list(&TOOLSETS).iter().any(|name| name == "patterns") {
        return Finding::new(State::Idle, "The toolset is not served.");
    }
    let catalogue = match toolsets::library(settings) {
        Ok(library) => library.current(),
        Err(failure) => return Finding::new(State::Wrong, failure.message),
    };
    let source = &catalogue.provenance().source;
    let what = format!("{source}: {} patterns", catalogue.len());
    match catalogue.problems().len() {
        0 if catalogue.is_empty() => Finding::new(State::Warning, what)
            .mend("Add a pattern: `diptych patterns new ID --folder FOLDER`"),
        0 => Finding::new(State::Well, what),
        count => Finding::new(State::Warning, format!("{what}, {count} problems in its files"))
            .mend("See them: `diptych patterns lint FOLDER`"),
    }
}

fn store(settings: &Settings) -> Finding {
    let options = toolsets::graph(settings);
    let shown = settings.folders.show(&options.database);
    if !settings.list(&TOOLSETS).iter().any(|name| name == "graph") {
        return Finding::new(State::Idle, "The toolset is not served.");
    }
    // Looking must not make the file.
    if !options.database.exists() {
        let folder = options.database.parent().unwrap_or(Path::new(""));
        return match usable(folder) {
            Ok(_) => Finding::new(State::Idle, format!("{shown} (made when something is first remembered)")),
            Err(why) => Finding::new(State::Wrong, format!("{shown} cannot be made: its folder {why}"))
                .mend("Choose another file with `--graph-db`."),
        };
    }
    let checked = Store::open(&options.database, options.store).and_then(|store| {
        let summary = store.summary(&Scope::All)?;
        Ok((summary.entities, summary.relations, store.check_integrity()?))
    });
    match checked {
        Ok((entities, relations, findings)) if findings.is_empty() => {
            Finding::new(State::Well, format!("{shown}: {entities} entities, {relations} relations"))
        }
        Ok((.., findings)) => Finding::new(State::Wrong, format!("{shown}: {}", findings.join("; ")))
            .mend("Restore the last backup, or save what can be read: `diptych graph export FILE`"),
        Err(error) => Finding::new(State::Wrong, format!("{shown}: {error}"))
            .mend(error.hint().unwrap_or("Choose another file with `--graph-db`.")),
    }
}

/// What searches by meaning are made with, and how far the embeddings are.
async fn embeddings(settings: &Settings, asked: bool) -> Finding {
    let folder = embedder::folder(settings);
    let shown = settings.folders.show(&folder);
    let made = || {
        let options = toolsets::graph(settings);
        // Looking must not make the file.
        let store =
            options.database.exists().then(|| Store::open(&options.database, options.store).ok()).flatten();
        let progress = store.and_then(|store| store.embedding_progress().ok());
        progress.map_or_else(String::new, |now| {
            format!("; {} embeddings are made, {} wait", now.made, now.waiting)
        })
    };
    match embedder::way(settings) {
        embedder::Way::None if settings.text(&EMBEDDER) == Some("none") => {
            Finding::new(State::Idle, "Searches are by words: `embedder` is none.")
        }
        embedder::Way::None => {
            Finding::new(State::Idle, "Searches are by words; `diptych model install` adds meaning.")
        }
        embedder::Way::Local => {
            let local = embedder::embedder(settings);
            match local.map(|local| local.map(|local| local.model())) {
                Ok(Some(Ok(model))) => {
                    Finding::new(State::Well, format!("{model} in {shown} is used{}", made()))
                }
                Ok(Some(Err(error))) => Finding::new(State::Wrong, error.to_string())
                    .mend("Install it again: `diptych model install`"),
                Ok(None) => Finding::new(State::Idle, "Searches are by words."),
                Err(failure) => {
                    Finding::new(State::Wrong, failure.message).mend(failure.hint.unwrap_or_default())
                }
            }
        }
        embedder::Way::Http => match embedder::embedder(settings) {
            Ok(Some(service)) if asked => {
                let tried =
                    tokio::task::spawn_blocking(move || service.embed(&["diptych"], Purpose::Query)).await;
                match tried {
                    Ok(Ok(_)) => {
                        Finding::new(State::Well, format!("{}, and it answers", used(settings, &made())))
                    }
                    Ok(Err(error)) => Finding::new(State::Wrong, error.to_string()).mend(
                        "Check `embedder-url`, `embedder-model` and `embedder-key`, and whether it runs.",
                    ),
                    Err(_) => Finding::new(State::Wrong, "The service could not be tried."),
                }
            }
            Ok(_) => Finding::new(State::Well, format!("{}; `--network` tries it", used(settings, &made()))),
            Err(failure) => {
                Finding::new(State::Wrong, failure.message).mend(failure.hint.unwrap_or_default())
            }
        },
    }
}

fn used(settings: &Settings, made: &str) -> String {
    format!("{} of the service is used{made}", settings.text(&EMBEDDER_MODEL).unwrap_or_default())
}

fn served(settings: &Settings) -> Finding {
    match toolsets::server(settings) {
        Ok(server) => Finding::new(
            State::Well,
            format!(
                "{} tools, {} prompts, {} resources",
                server.tools().len(),
                server.prompts().len(),
                server.resources().len()
            ),
        ),
        Err(failure) => Finding::new(State::Wrong, failure.message),
    }
}

fn http(settings: &Settings) -> Finding {
    let Some(address) = settings.address(&HTTP) else {
        return Finding::new(State::Idle, "Not served; `diptych serve --http 127.0.0.1:8080` does.");
    };
    let guarded = settings.text(&HTTP_TOKEN).or(settings.text(&HTTP_ISSUER)).is_some();
    if !guarded && !address.ip().is_loopback() && !settings.switch(&HTTP_OPEN) {
        return Finding::new(
            State::Wrong,
            format!("{address} can be reached by others, and asks for no token."),
        )
        .mend("Set DIPTYCH_HTTP_TOKEN, or serve at 127.0.0.1.");
    }
    match std::net::TcpListener::bind(address) {
        Ok(_) => Finding::new(State::Well, format!("{address} is free.")),
        Err(_) => Finding::new(State::Warning, format!("{address} cannot be listened on now."))
            .mend("If it is not this server that runs there, choose another port with `--http`."),
    }
}

/// Who is logged in to Bluesky. The service is not asked whether it still thinks so.
fn credentials(settings: &Settings) -> Finding {
    if !settings.list(&TOOLSETS).iter().any(|name| name == "bluesky") {
        return Finding::new(State::Idle, "No toolset here needs any.");
    }
    match diptych_bluesky::logged_in(&toolsets::bluesky(settings)) {
        Ok(handles) if handles.is_empty() => {
            Finding::new(State::Idle, "Nobody is logged in to Bluesky; `diptych call login` does.")
        }
        Ok(handles) => Finding::new(State::Well, format!("Bluesky: {}", handles.join(", "))),
        Err(problem) => Finding::new(State::Wrong, problem.to_string()).mend(problem.mend()),
    }
}

async fn network(settings: &Settings, asked: bool) -> Finding {
    let Some(server) = settings.text(&SERVER).filter(|server| server.starts_with("http")) else {
        if embedder::way(settings) == embedder::Way::Http {
            return Finding::new(State::Idle, "Texts to embed go to the service that `embedder-url` names.");
        }
        if settings.list(&TOOLSETS).iter().any(|name| name == "bluesky") {
            let what = "Nothing is called before a tool of bluesky is.";
            return Finding::new(State::Idle, what);
        }
        return Finding::new(State::Idle, "Nothing that is served here leaves this machine.");
    };
    if !asked {
        return Finding::new(State::Idle, format!("{server} was not tried; `--network` does."));
    }
    let connected = match connection::target(settings) {
        Ok(target) => target.connect().await.map(|_| ()),
        Err(failure) => Err(failure),
    };
    match connected {
        Ok(()) => Finding::new(State::Well, format!("{server} answers.")),
        Err(failure) => Finding::new(State::Wrong, failure.message).mend(failure.hint.unwrap_or_default()),
    }
}

/// What a client's configuration has of ours; nothing to say when it has no file.
fn entry(settings: &Settings, client: &ClientFile) -> Option<Finding> {
    let folders = &settings.folders;
    let file = (client.file)(folders);
    let shown = folders.show(&file);
    let text = match install::read(folders, &file) {
        Ok(text) => text?,
        Err(failure) => {
            return Some(Finding::new(State::Wrong, format!("{}: {}", client.title, failure.message)));
        }
    };
    let found = match client.ours(&text) {
        Ok(found) => found,
        Err(Problem::Malformed(why) | Problem::Shape(why)) => {
            return Some(
                Finding::new(State::Wrong, format!("{}: {shown} cannot be read: {why}", client.title))
                    .mend("Mend the file by hand; it was left as it is."),
            );
        }
        Err(Problem::Taken) => return None,
    };
    let again = format!("Set it up again: `diptych install {}`", client.name);
    Some(match found.iter().find(|(_, command)| !install::can_start(command)) {
        _ if found.is_empty() => Finding::new(
            State::Idle,
            format!("{}: not set up; `diptych install {}` does.", client.title, client.name),
        ),
        Some((name, command)) => {
            let command = folders.show(Path::new(command));
            Finding::new(
                State::Wrong,
                format!("{}: `{name}` starts {command}, which is not there", client.title),
            )
            .mend(again)
        }
        None => Finding::new(State::Well, format!("{}: {shown}", client.title)),
    })
}
