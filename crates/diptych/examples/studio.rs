//! A server with everything that clients list: tools, a prompt, a resource, a resource template and their
//! completions. `cargo run -p diptych --example studio`, then speak MCP on standard input.

use std::fmt;

use diptych::{
    BuildError, Contents, Cx, Markdown, Messages, NoArguments, Partial, Present, Server, Stop, Text,
    ToolError, Toolset, plain, prompt, resource, tool,
};
use serde_json::json;

#[derive(Clone, Copy, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Operation::Add => "+",
            Operation::Subtract => "−",
            Operation::Multiply => "×",
            Operation::Divide => "÷",
        })
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    /// Operation to perform
    operation: Operation,
    /// First operand
    a: f64,
    /// Second operand
    b: f64,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Calculation {
    operation: Operation,
    a: f64,
    b: f64,
    result: f64,
}

impl Present for Calculation {
    const KIND: &'static str = "calculation:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        let Calculation { operation, a, b, result } = self;
        markdown.paragraph(|line| {
            line.text(a).literal(" ").text(operation).literal(" ").text(b).literal(" = ").bold(result);
        });
    }
}

async fn calculator(sum: Sum) -> Result<Calculation, Stop> {
    let Sum { operation, a, b } = sum;
    let result = match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        Operation::Divide if b == 0.0 => {
            return Err(ToolError::client("Nothing can be divided by zero.")
                .hint("Choose another `b`.")
                .into());
        }
        Operation::Divide => a / b,
    };
    if !result.is_finite() {
        return Err(ToolError::client("The result is too large for a number.").into());
    }
    Ok(Calculation { operation, a, b, result })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    /// Message to echo
    message: String,
}

async fn echo(echo: Echo) -> Result<Text, Stop> {
    Ok(Text::new(echo.message))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// Programming language
    language: String,
    /// Code to review
    code: String,
}

async fn code_review(_cx: Cx, review: Review) -> Result<Messages, Stop> {
    let Review { language, code } = review;
    Ok(Messages::new()
        .system(format!(
            "You review {language} code. Name each fault with its line and a fix; praise nothing."
        ))
        .user(format!("Please review this code:\n\n```{language}\n{code}\n```")))
}

const LANGUAGES: [&str; 12] = [
    "c",
    "c++",
    "elixir",
    "go",
    "haskell",
    "java",
    "javascript",
    "kotlin",
    "python",
    "ruby",
    "rust",
    "typescript",
];

async fn languages(_cx: Cx, partial: Partial) -> Result<Vec<String>, Stop> {
    Ok(partial.filter(LANGUAGES))
}

async fn config(_cx: Cx, _: NoArguments) -> Result<Contents, Stop> {
    Ok(Contents::json("", &json!({"setting": "value"}))
        .name("config.json")
        .title("Application Configuration"))
}

/// The people that the template knows.
struct Users(Vec<(u32, &'static str)>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct User {
    id: u32,
}

async fn user(cx: Cx<Users>, user: User) -> Result<Contents, Stop> {
    let found = cx.state().0.iter().find(|(id, _)| *id == user.id);
    let (id, name) = found.ok_or_else(|| ToolError::not_found(format!("There is no user {}.", user.id)))?;
    Ok(Contents::json("", &json!({"id": id, "name": name}))
        .name("user_data.json")
        .title(format!("User {id}")))
}

async fn user_ids(cx: Cx<Users>, partial: Partial) -> Result<Vec<String>, Stop> {
    Ok(partial.filter(cx.state().0.iter().map(|(id, _)| id.to_string())))
}

/// The server, for the tests as well.
///
/// # Errors
/// Never: its definitions are checked by a test.
pub(crate) fn server() -> Result<Server, BuildError> {
    let desk = Toolset::new("desk", ())
        .with(
            tool("calculator", plain(calculator))
                .title("Calculator")
                .description("Performs arithmetic operations")
                .read_only()
                .closed_world(),
        )
        .with(
            tool("echo", plain(echo))
                .title("Echo")
                .description("Echoes back the input")
                .read_only()
                .closed_world(),
        )
        .with(
            prompt("code_review", code_review)
                .description("Generates a code review prompt")
                .complete("language", languages),
        )
        .with(
            resource("file:///app/config.json", config)
                .name("config")
                .title("App Config")
                .description("Application configuration file")
                .mime_type("application/json"),
        );
    let people = Toolset::new("people", Users(vec![(123, "Alice"), (124, "Bob"), (200, "Charlie")])).with(
        resource("https://api.example.com/users/{id}", user)
            .name("user")
            .title("User Profile")
            .description("User profile data")
            .mime_type("application/json")
            .complete("id", user_ids),
    );
    Server::builder("studio", "1.0.0").toolset(desk).toolset(people).strict().build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    server()?.serve_stdio().await?;
    Ok(())
}
