//! Resources: text, bytes, one to subscribe to, and a template.

use diptych::{Contents, Cx, NoArguments, Partial, Stop, Toolset, resource};
use serde_json::json;

use super::media;

async fn text(_cx: Cx, _: NoArguments) -> Result<Contents, Stop> {
    Ok(Contents::text("", "This is the content of the static text resource."))
}

async fn binary(_cx: Cx, _: NoArguments) -> Result<Contents, Stop> {
    Ok(Contents::blob("", &media::PIXEL))
}

async fn watched(_cx: Cx, _: NoArguments) -> Result<Contents, Stop> {
    Ok(Contents::text("", "This resource can be watched."))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Data {
    id: String,
}

async fn data(_cx: Cx, data: Data) -> Result<Contents, Stop> {
    let id = data.id;
    Ok(Contents::json("", &json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})))
}

async fn ids(_cx: Cx, partial: Partial) -> Result<Vec<String>, Stop> {
    Ok(partial.filter(["123", "124", "200"]))
}

pub(crate) fn toolset() -> Toolset {
    Toolset::new("resources", ())
        .with(
            resource("test://static-text", text)
                .name("static-text")
                .title("Text")
                .description("A text that never changes.")
                .mime_type("text/plain"),
        )
        .with(
            resource("test://static-binary", binary)
                .name("static-binary")
                .title("Image")
                .description("One red pixel.")
                .mime_type("image/png"),
        )
        .with(
            resource("test://watched-resource", watched)
                .name("watched-resource")
                .title("Watched")
                .description("A text that clients can subscribe to.")
                .mime_type("text/plain"),
        )
        .with(
            resource("test://template/{id}/data", data)
                .name("template-data")
                .title("Data by id")
                .description("The data of an id.")
                .mime_type("application/json")
                .complete("id", ids),
        )
}
