//! `login`: logging in, and looking after who is logged in.
//!
//! The handle may be asked for by form. The secret never is: OAuth and the page for app passwords happen in the browser,
//! and only a client that hides what is typed is asked for an app password directly.

use std::sync::Arc;

use diptych::{Cx, Either, Field, Markdown, NeedsInput, Present, Stop, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bluesky, given, invalid};
use crate::accounts::{
    AccountError, Flow, Listed, Method, OAUTH_FLOW, Outcome, PASSWORD_FLOW, Secret, Storage,
};
use crate::identity::{Did, Handle, Identity};
use crate::reference::AccountName;

/// Where app passwords are made.
const APP_PASSWORDS: &str = "https://bsky.app/settings/app-passwords";

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Arguments {
    /// list, default or delete; nothing to log in.
    command: Option<Command>,
    /// The handle of the account, such as alice.bsky.social.
    handle: Option<String>,
    /// An app password, never the main password. Leave it out to log in in the browser; empty to be asked for it in
    /// private.
    password: Option<Password>,
    /// The service that keeps the account; found by the handle if left out.
    service: Option<String>,
    /// The port on this machine that the browser comes back to; any that is free if left out.
    #[schemars(range(min = 1, max = 65535))]
    port: Option<u16>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Command {
    List,
    Default,
    Delete,
}

/// `login` of a server that changes nothing.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListArguments {
    /// list: this server is read-only.
    #[allow(dead_code, reason = "there is only one, and it has to be named")]
    command: OnlyList,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum OnlyList {
    List,
}

/// An app password as an argument: its `Debug` says nothing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, transparent)]
struct Password(#[schemars(with = "String")] Secret);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AccountsArguments {
    /// list or set-default.
    action: Option<Action>,
    /// The account to make the default.
    handle: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Action {
    List,
    SetDefault,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LogoutArguments {
    /// The account to log out; the default one if left out.
    handle: Option<String>,
}

/// What became of a login.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Login {
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    did: Option<String>,
    /// The service that keeps the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<How>,
    /// Where the login is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    storage: Option<Storage>,
    /// Whether the account is used where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<bool>,
}

impl Login {
    /// A login that did not come about.
    fn without(status: Status, handle: Option<&Handle>) -> Self {
        Login {
            status,
            handle: handle.map(ToString::to_string),
            did: None,
            service: None,
            method: None,
            storage: None,
            default: None,
        }
    }
}

/// How a login ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum Status {
    LoggedIn,
    /// The person did not want to answer.
    Declined,
    /// The person closed the dialog.
    Cancelled,
    /// The person refused in the browser.
    Denied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
enum How {
    #[serde(rename = "oauth")]
    OAuth,
    #[serde(rename = "appPassword")]
    AppPassword,
}

/// Who is logged in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountList {
    accounts: Vec<Entry>,
    /// Who was logged out just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Entry {
    handle: String,
    did: String,
    service: String,
    method: How,
    /// Where the login is kept.
    storage: Storage,
    default: bool,
}

type Answer = Either<Login, AccountList>;

pub(super) async fn login(cx: Cx<Bluesky>, arguments: Arguments) -> Result<Answer, Stop> {
    let handle = given(&arguments.handle);
    if !matches!(arguments.command, Some(Command::List)) {
        known(&cx)?;
    }
    match arguments.command {
        Some(Command::List) => Ok(Either::Right(list(&cx, None).await?)),
        Some(Command::Default) => Ok(Either::Right(make_default(&cx, handle).await?)),
        Some(Command::Delete) => Ok(Either::Right(log_out(&cx, handle, true).await?)),
        None => Ok(Either::Left(log_in(&cx, &arguments).await?)),
    }
}

/// `login` of a server that changes nothing.
pub(super) async fn only_list(cx: Cx<Bluesky>, _arguments: ListArguments) -> Result<AccountList, Stop> {
    list(&cx, None).await
}

/// All callers of a server share its logins, so over HTTP only those may change them whom the server knows by a token.
fn known(cx: &Cx<Bluesky>) -> Result<(), ToolError> {
    let caller = cx.caller();
    if caller.is_remote() && caller.subject().is_none() {
        return Err(ToolError::authentication(
            "Over HTTP, logins can only be changed by callers whom the server knows, and it asks for no token.",
        )
        .hint("Log in on the server's own machine with `diptych call login`, or serve with a token."));
    }
    Ok(())
}

pub(super) async fn accounts(cx: Cx<Bluesky>, arguments: AccountsArguments) -> Result<AccountList, Stop> {
    match arguments.action {
        None | Some(Action::List) => list(&cx, None).await,
        Some(Action::SetDefault) => {
            known(&cx)?;
            make_default(&cx, given(&arguments.handle)).await
        }
    }
}

pub(super) async fn logout(cx: Cx<Bluesky>, arguments: LogoutArguments) -> Result<AccountList, Stop> {
    known(&cx)?;
    log_out(&cx, given(&arguments.handle), false).await
}

async fn list(cx: &Cx<Bluesky>, removed: Option<String>) -> Result<AccountList, Stop> {
    let (accounts, default) = cx.state().accounts.list().await?;
    let entry = |account: &Listed| Entry {
        handle: account.handle.to_string(),
        did: account.did.to_string(),
        service: account.service.clone(),
        method: how(account),
        storage: account.storage(),
        default: Some(&account.did) == default.as_ref(),
    };
    Ok(AccountList { accounts: accounts.iter().map(entry).collect(), removed })
}

async fn make_default(cx: &Cx<Bluesky>, handle: Option<&str>) -> Result<AccountList, Stop> {
    let account = chosen(cx, handle, "Which account is used where none is named?").await?;
    cx.commit();
    cx.state().accounts.make_default(&account).await?;
    list(cx, None).await
}

async fn log_out(cx: &Cx<Bluesky>, handle: Option<&str>, ask: bool) -> Result<AccountList, Stop> {
    let account = match (handle, ask) {
        (None, false) => cx.state().accounts.find(None).await?,
        _ => chosen(cx, handle, "Which account is logged out?").await?,
    };
    let name = account.handle.to_string();
    cx.commit();
    cx.state().accounts.remove(account).await?;
    list(cx, Some(name)).await
}

/// The account of that handle; without one, somebody has to choose among those logged in.
async fn chosen(cx: &Cx<Bluesky>, handle: Option<&str>, question: &str) -> Result<Listed, Stop> {
    let accounts = &cx.state().accounts;
    if let Some(handle) = handle {
        return Ok(accounts.find(Some(handle)).await?);
    }
    let (all, _) = accounts.list().await?;
    if all.is_empty() {
        return Err(AccountError::Nobody.into());
    }
    let handles = all.iter().map(|account| account.handle.to_string());
    Err(NeedsInput::new("Account Needed", question)
        .reason("The command is for one account")
        .field(Field::choice("handle", handles).title("Account"))
        .as_error()
        .into())
}

fn how(account: &Listed) -> How {
    match account.method() {
        Method::AppPassword => How::AppPassword,
        Method::OAuth => How::OAuth,
    }
}

async fn log_in(cx: &Cx<Bluesky>, arguments: &Arguments) -> Result<Login, Stop> {
    // The person was sent to a page earlier in this call.
    if let Some(flow) = cx.flow().and_then(|flow| cx.state().accounts.flow(flow))
        && let Some(outcome) = flow.outcome()
    {
        return ended(cx, &flow, outcome).await;
    }
    let handle = handle(arguments)?;
    let service = match given(&arguments.service) {
        Some(service) => Some(service_address(cx, service)?),
        None => None,
    };
    let identity = cx.state().directory.by_handle_at(&handle, service.as_deref()).await?;
    let service =
        service.or_else(|| identity.pds.clone()).unwrap_or_else(|| cx.state().options.service.clone());
    let password = arguments.password.as_ref().map(|Password(secret)| secret.expose().trim());
    match password {
        Some("") => with_asked_password(cx, &identity, &handle, &service, arguments.port).await,
        Some(password) => with_password(cx, &identity, &handle, &service, &Secret::new(password)).await,
        None => in_the_browser(cx, &identity, &handle, &service, arguments.port).await,
    }
}

/// The handle, asked for by form if it is missing.
fn handle(arguments: &Arguments) -> Result<Handle, Stop> {
    let Some(text) = given(&arguments.handle) else {
        return Err(refusable(
            NeedsInput::new(
                "Login: Handle Needed",
                "Which Bluesky account? Its handle looks like name.bsky.social.",
            )
            .reason("A login is for one account")
            .field(Field::text("handle").title("Handle").description("Such as name.bsky.social."))
            .details(|markdown| {
                markdown.paragraph(|line| {
                    line.literal("Call `login` again with `handle`. You will be logged in in the browser; ")
                        .literal("your password is never asked for here.");
                });
            }),
            None,
        ));
    };
    match AccountName::parse(text) {
        Some(AccountName::Handle(handle)) => Ok(handle),
        _ => Err(invalid("handle", "must be a handle, such as name.bsky.social").into()),
    }
}

fn service_address(cx: &Cx<Bluesky>, service: &str) -> Result<String, Stop> {
    let address = if service.contains("://") { service.to_owned() } else { format!("https://{service}") };
    match cx.state().web.allowed(&address) {
        Ok(url) => Ok(crate::network::origin(&url)),
        Err(_) => Err(invalid("service", "must be the https address of a service").into()),
    }
}

/// An ask of which the payload is an error, and whose refusal is an answer.
fn refusable(ask: NeedsInput, handle: Option<&Handle>) -> Stop {
    // Only a person can log in, whatever format a program asks for.
    let refused = |status| Login::without(status, handle);
    ask.person().as_error().declined(refused(Status::Declined)).cancelled(refused(Status::Cancelled)).into()
}

async fn with_password(
    cx: &Cx<Bluesky>,
    identity: &Identity,
    handle: &Handle,
    service: &str,
    password: &Secret,
) -> Result<Login, Stop> {
    cx.commit();
    let account = cx.state().accounts.log_in_with_password(identity, handle, service, password).await?;
    logged_in(cx, &account.did).await
}

/// Asks for the app password: where it is hidden as it is typed, else on a page of ours, else not at all.
async fn with_asked_password(
    cx: &Cx<Bluesky>,
    identity: &Identity,
    handle: &Handle,
    service: &str,
    port: Option<u16>,
) -> Result<Login, Stop> {
    if let Some(password) = cx.answer::<String>("password") {
        return with_password(cx, identity, handle, service, &Secret::new(password.trim())).await;
    }
    let message = format!(
        "An app password for @{handle}. Do not use your main password: make an app password at {APP_PASSWORDS}."
    );
    let ask = NeedsInput::new("Login: App Password Needed", message)
        .reason("The service wants to know that it is you");
    let form = cx.state().options.password_form && cx.caller().shows_forms();
    if form || cx.caller().hides_secrets() {
        let field = Field::text("password").title("App password");
        let field = if form { field.person_only() } else { field.secret() };
        return Err(refusable(ask.field(field), Some(handle)));
    }
    if cx.caller().opens_pages() {
        let accounts = &cx.state().accounts;
        let flow = match accounts.pending(handle, PASSWORD_FLOW) {
            Some(flow) => flow,
            None => accounts.ask_on_a_page(identity, handle, service, port).await?,
        };
        return Err(refusable(ask.visit(flow.url.clone(), flow.id.clone(), flow.finished()), Some(handle)));
    }
    let ask = ask.field(Field::text("password").title("App password").secret()).details(|markdown| {
        markdown.paragraph(|line| {
            line.literal(
                "This client cannot ask for a secret in private. Leave `password` out to log in in the ",
            )
            .literal("browser, or run `diptych call login` in a terminal.");
        });
    });
    Err(refusable(ask, Some(handle)))
}

/// Sends the person to the service's own page.
async fn in_the_browser(
    cx: &Cx<Bluesky>,
    identity: &Identity,
    handle: &Handle,
    service: &str,
    port: Option<u16>,
) -> Result<Login, Stop> {
    let accounts = &cx.state().accounts;
    let flow: Arc<Flow> = match accounts.pending(handle, OAUTH_FLOW) {
        Some(flow) => flow,
        None => match accounts.ask_in_the_browser(identity, handle, service, port).await {
            Ok(flow) => flow,
            // Older services have app passwords only.
            Err(AccountError::NoOAuth(_)) => {
                return with_asked_password(cx, identity, handle, service, port).await;
            }
            Err(error) => return Err(error.into()),
        },
    };
    let message =
        format!("Log in to @{handle} in the browser, on the page of the service that keeps the account.");
    let ask = NeedsInput::new("Login: Open This Page", message)
        .reason("Only you can say that this program may act for you")
        .visit(flow.url.clone(), flow.id.clone(), flow.finished())
        .details(|markdown| {
            markdown.paragraph(|line| {
                line.literal(
                    "The login completes by itself when you agree there. `login` with the command `list` ",
                )
                .literal("then shows the account.");
            });
        });
    Err(refusable(ask, Some(handle)))
}

/// What a login in the browser came to.
async fn ended(cx: &Cx<Bluesky>, flow: &Flow, outcome: Outcome) -> Result<Login, Stop> {
    match outcome {
        Outcome::LoggedIn(account) => logged_in(cx, &account.did).await,
        Outcome::Denied => Ok(Login::without(Status::Denied, Some(&flow.handle))),
        Outcome::Expired => {
            Err(ToolError::authentication("The login took too long.").hint("Call login again.").into())
        }
        Outcome::Failed(error) => Err(error.into()),
    }
}

async fn logged_in(cx: &Cx<Bluesky>, did: &Did) -> Result<Login, Stop> {
    let (accounts, default) = cx.state().accounts.list().await?;
    // Somebody may have logged it out again at this very moment.
    let account = accounts.into_iter().find(|account| account.did == *did).ok_or(AccountError::Nobody)?;
    Ok(Login {
        status: Status::LoggedIn,
        method: Some(how(&account)),
        storage: Some(account.storage()),
        default: Some(default.as_ref() == Some(did)),
        handle: Some(account.handle.to_string()),
        did: Some(account.did.to_string()),
        service: Some(account.service),
    })
}

impl Present for Login {
    const KIND: &'static str = "login:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            line.literal("Login");
            if let Some(handle) = &self.handle {
                line.literal(" · @").text(handle);
            }
        });
        match self.status {
            Status::LoggedIn => {
                markdown.paragraph(|line| {
                    line.literal(match self.method {
                        Some(How::AppPassword) => "Logged in with an app password",
                        _ => "Logged in in the browser (OAuth)",
                    });
                    line.literal(" at ").text(self.service.as_deref().unwrap_or_default()).literal(".");
                    if self.default == Some(true) {
                        line.literal(" It is the default account.");
                    }
                });
                markdown.line(|line| {
                    line.text(self.did.as_deref().unwrap_or_default());
                });
                markdown.paragraph(|line| {
                    line.literal(match self.storage {
                        Some(Storage::Keyring) => "The login is kept in the keyring of this machine.",
                        _ => "The login is kept in a file that only you can read.",
                    });
                });
            }
            Status::Declined => not_logged_in(markdown, "Not logged in: declined."),
            Status::Cancelled => not_logged_in(markdown, "Not logged in: cancelled."),
            Status::Denied => not_logged_in(markdown, "Not logged in: refused in the browser."),
        }
    }
}

fn not_logged_in(markdown: &mut Markdown, why: &'static str) {
    markdown.paragraph(|line| {
        line.literal(why);
    });
}

impl Present for AccountList {
    const KIND: &'static str = "accounts:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.heading_with(1, |line| {
            line.literal("Accounts · ").text(self.accounts.len());
        });
        if let Some(removed) = &self.removed {
            markdown.paragraph(|line| {
                line.literal("Logged out: @").text(removed).literal(".");
            });
        }
        if self.accounts.is_empty() {
            markdown.paragraph(|line| {
                line.literal("Nobody is logged in.");
            });
            return;
        }
        for account in &self.accounts {
            markdown.bullet(|line| {
                line.literal("@").text(&account.handle).literal(" at ").text(&account.service);
                line.literal(match account.method {
                    How::OAuth => ", in the browser (OAuth)",
                    How::AppPassword => ", with an app password",
                });
                line.literal(match account.storage {
                    Storage::Keyring => ", kept in the keyring",
                    Storage::File => ", kept in a file that only you can read",
                });
                if account.default {
                    line.literal(", default");
                }
            });
        }
    }

    fn records(&self) -> usize {
        self.accounts.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.accounts.truncate(keep);
        None
    }
}
