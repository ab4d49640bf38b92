//! A tool that asks twice: for the city, then for the days. Clients are asked natively where they can hear
//! it; others get the payload and call again.

use diptych::{Cx, Field, Markdown, NeedsInput, OrAsk as _, Present, Server, Stop, Toolset, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Trip {
    /// Where to go.
    city: Option<String>,
    /// How long to stay.
    #[schemars(range(min = 1, max = 30))]
    days: Option<u8>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Plan {
    city: String,
    days: u8,
}

impl Present for Plan {
    const KIND: &'static str = "tripPlan:v1";

    fn markdown(&self, markdown: &mut Markdown) {
        markdown.paragraph(|line| {
            line.bold(self.days).literal(" days in ").bold(&self.city).literal(".");
        });
    }
}

async fn plan_trip(_cx: Cx, trip: Trip) -> Result<Plan, Stop> {
    let city = trip.city.filter(|city| !city.trim().is_empty()).or_ask(|| {
        NeedsInput::new("City Needed", "Where do you want to go?")
            .reason("A trip needs a destination")
            .field(Field::text("city").suggest(["Lisbon", "Kyoto"]))
    })?;
    let days = trip.days.or_ask(|| {
        NeedsInput::new("Days Needed", format!("How many days do you want to stay in {city}?"))
            .reason("A trip needs a length")
            .field(Field::integer("days"))
    })?;
    Ok(Plan { city, days })
}

/// The server, for the tests as well.
///
/// # Errors
/// Never: its definitions are checked by a test.
pub(crate) fn server() -> Result<Server, diptych::BuildError> {
    let tools = Toolset::new("travel", ()).with(
        tool("plan_trip", plan_trip).title("Plan a trip").description("Plans a trip to a city.").read_only(),
    );
    Server::builder("travel", "1.0.0").toolset(tools).strict().build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    server()?.serve_stdio().await?;
    Ok(())
}
