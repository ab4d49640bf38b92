//! `diptych serve`: the server on standard input and output, and over HTTP where asked to.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::time::Duration;

use diptych::{Http, Issuer, ServeError, Server};

use crate::exit::{Exit, Failure, Outcome};
use crate::output::note;
use crate::settings::{
    DRAIN, HTTP, HTTP_AUDIENCE, HTTP_HOSTS, HTTP_ISSUER, HTTP_OPEN, HTTP_ORIGINS, HTTP_RATE, HTTP_SCOPES,
    HTTP_TOKEN, Settings,
};
use crate::toolsets;

/// Serves until the client goes away or the process is told to end.
pub(crate) async fn serve(settings: &Settings) -> Outcome {
    let server = toolsets::server(settings)?;
    let drain = Duration::from_secs(settings.count(&DRAIN).unwrap_or(10));
    let mut stopping = Box::pin({
        let server = server.clone();
        async move { server.stop_when_terminated(drain).await }
    });
    // Begun before anybody is told that Ctrl-C ends it: one that came earlier would end the process the hard way.
    std::future::poll_fn(|context| {
        let _ = stopping.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
    tokio::spawn(stopping);
    let at_terminal = std::io::stdin().is_terminal();
    let Some(address) = settings.address(&HTTP) else {
        if at_terminal {
            introduce(&server);
        }
        server.serve_stdio().await.map_err(|error| broken(&error))?;
        return Ok(Exit::Done);
    };
    let http = http(settings, address, drain)?;
    let bound = server.bind_http(address, http).await.map_err(|error| broken(&error))?;
    note(&format!("Serving at {}", bound.url()));
    // A client that started us may talk to us as well. When it hangs up, the others stay.
    if !at_terminal {
        tokio::spawn({
            let server = server.clone();
            async move {
                if let Err(error) = server.serve_stdio().await {
                    tracing::warn!(%error, "standard input and output are not served any more");
                }
            }
        });
    }
    bound.serve(std::future::pending()).await.map_err(|error| broken(&error))?;
    Ok(Exit::Done)
}

fn http(settings: &Settings, address: SocketAddr, drain: Duration) -> Outcome<Http> {
    let mut http = Http::new()
        .drain(drain)
        .allowed_hosts(settings.list(&HTTP_HOSTS))
        .allowed_origins(settings.list(&HTTP_ORIGINS));
    if let Some(token) = settings.text(&HTTP_TOKEN) {
        http = http.bearer_token(token, "token");
    }
    if let Some(issuer) = issuer(settings)? {
        http = http.issuer(issuer);
    }
    match settings.text(&HTTP_TOKEN).or(settings.text(&HTTP_ISSUER)) {
        Some(_) => {}
        None if address.ip().is_loopback() || settings.switch(&HTTP_OPEN) => {}
        None => {
            return Err(Failure::usage(format!(
                "Other machines can reach {address}, and nothing would ask them for a token."
            ))
            .hint(
                "Set DIPTYCH_HTTP_TOKEN, serve at 127.0.0.1, or say `--http-open` if something else guards it.",
            ));
        }
    }
    if let Some(rate) = settings.count(&HTTP_RATE) {
        let per_minute = u32::try_from(rate).unwrap_or(u32::MAX);
        // A tenth of a minute's worth at once, and never fewer than the requests of a handshake.
        http = http.rate_limit(per_minute, (per_minute / 10).max(10));
    }
    Ok(http)
}

/// The issuer whose tokens are let in, if there is one.
fn issuer(settings: &Settings) -> Outcome<Option<Issuer>> {
    let Some(name) = settings.text(&HTTP_ISSUER) else { return Ok(None) };
    let Some(audience) = settings.text(&HTTP_AUDIENCE) else {
        return Err(Failure::usage(format!(
            "{} is set, but not what its tokens must be made for.",
            settings.named(&HTTP_ISSUER)
        ))
        .hint("Set `--http-audience` to the URL under which clients know this server."));
    };
    let mut issuer = Issuer::new(name, audience);
    if audience.starts_with("http") {
        issuer = issuer.resource(audience);
    }
    Ok(Some(settings.list(&HTTP_SCOPES).iter().fold(issuer, Issuer::scope)))
}

/// What a person sees who starts the server at a terminal.
fn introduce(server: &Server) {
    let tools = server.tools();
    let example = tools.first().map_or("TOOL", |tool| tool.name());
    note(&format!(
        "Diptych {} serves {} tools and waits for an MCP client on standard input.\n\
         To connect a client: diptych install claude-code   (or claude-desktop, cursor, vscode, zed, codex)\n\
         To try a tool here:  diptych call {example} --help\n\
         Ctrl-C ends it.",
        server.version(),
        tools.len(),
    ));
}

fn broken(error: &ServeError) -> Failure {
    match error {
        ServeError::Address { address, reason } => {
            Failure::new(Exit::Connection, format!("Cannot listen on {address}: {}.", plain(reason)))
                .hint("Another program may be using it. Choose another port, or port 0 for any that is free.")
        }
        ServeError::Settings(_) => Failure::usage(error.to_string()),
        _ => Failure::new(Exit::Connection, error.to_string()),
    }
}

/// A system's error without its number.
fn plain(reason: &str) -> String {
    reason.split(" (os error").next().unwrap_or(reason).to_lowercase()
}
