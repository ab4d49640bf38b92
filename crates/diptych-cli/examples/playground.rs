//! A server whose tools do whatever a tool can do to the person at a terminal: ask, ask for a secret, send to
//! a page, take their time, fail. `diptych call --server playground …` is tested with it.

use std::time::Duration;

use diptych::{
    Choice, Contents, Cx, Field, Level, Messages, NeedsInput, NoArguments, OrAsk as _, Server, Stop, Text,
    ToolError, Toolset, prompt, resource, tool,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Trip {
    /// Where to go.
    city: Option<String>,
    /// How to get there.
    by: Option<String>,
    /// How long to stay.
    #[schemars(range(min = 1, max = 30))]
    days: Option<u8>,
}

async fn plan_trip(_cx: Cx, trip: Trip) -> Result<Text, Stop> {
    let city = trip.city.or_ask(|| {
        NeedsInput::new("City Needed", "Where do you want to go?")
            .reason("A trip needs a destination")
            .field(Field::text("city").suggest(["Lisbon", "Kyoto"]))
    })?;
    let (by, days) = trip.by.zip(trip.days).or_ask(|| {
        NeedsInput::new("Way Needed", format!("How do you get to {city}, and for how long?"))
            .field(Field::choice(
                "by",
                [Choice::new("train").label("By train"), Choice::new("bike").label("By bicycle")],
            ))
            .field(Field::integer("days").default(3))
    })?;
    Ok(Text::new(format!("**{days}** days in {city}, by {by}.")))
}

async fn sign_in(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    cx.progress_with(0, None, Some("knocking".to_owned())).await;
    let password: String = cx.answer("password").or_ask(|| {
        NeedsInput::new("Password Needed", "Sign in to go on.")
            .field(Field::text("password").title("Password").secret())
            .person()
            .as_error()
    })?;
    Ok(Text::new(format!("Signed in with {} characters.", password.chars().count())))
}

async fn visit(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    if cx.flow() != Some("tour") {
        Err(NeedsInput::new("Visit Needed", "Have a look around first.")
            .visit("https://example.com/tour", "tour", std::future::ready(()))
            .person())?;
    }
    Ok(Text::new("Welcome back."))
}

async fn work(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    cx.log(Level::Info, "Looking for work").await;
    for step in 1..=20 {
        cx.progress_with(step, Some(20), Some(format!("step {step}"))).await;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(Text::new("Done."))
}

async fn wait(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    cx.progress_with(0, None, Some("waiting".to_owned())).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    Ok(Text::new("Late."))
}

async fn fail(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Err(ToolError::not_found("There is no such thing.").hint("Look elsewhere."))?
}

async fn steer(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Ok(Text::new("a\u{1b}[2Jb"))
}

async fn greet(_cx: Cx, _: NoArguments) -> Result<Messages, Stop> {
    Ok(Messages::new().user("Say hello."))
}

async fn picture(_cx: Cx, _: NoArguments) -> Result<Contents, Stop> {
    Ok(Contents::blob("play://picture", &[0, 159, 146, 150]).mime_type("image/png"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let play = Toolset::new("play", ())
        .with(tool("plan_trip", plan_trip).description("Plans a trip.").read_only())
        .with(tool("sign_in", sign_in).description("Asks for a password."))
        .with(tool("visit", visit).description("Sends you to a page.").read_only())
        .with(tool("work", work).description("Works for a while.").read_only())
        .with(tool("wait", wait).description("Never gets anywhere.").read_only())
        .with(tool("fail", fail).description("Fails.").read_only())
        .with(tool("steer", steer).description("Tries to steer the terminal.").read_only())
        .with(prompt("greet", greet).description("Greets."))
        .with(resource("play://picture", picture).name("picture").mime_type("image/png"));
    Server::builder("playground", "1.0.0").toolset(play).build()?.serve_stdio().await?;
    Ok(())
}
