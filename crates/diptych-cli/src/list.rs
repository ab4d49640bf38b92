//! `diptych tools`, `prompts`, `resources`, `read` and `prompt`: what a server has beside its tools' answers.

use clap::ArgMatches;
use diptych::client::{Client, ClientError};
use serde_json::{Map, Value};

use crate::call::first_sentence;
use crate::connection;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{self, columns, tame};
use crate::render;
use crate::settings::Settings;

/// Lists the tools.
pub(crate) async fn tools(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let tools = connect(settings).await?.tools().await.map_err(|error| connection::failed(&error))?;
    let rows = tools.iter().map(|tool| {
        let writes = tool["annotations"]["readOnlyHint"] != true;
        [text(tool, "name"), if writes { "writes" } else { "reads" }.to_owned(), about(tool)]
    });
    listed(flags, &tools, rows.collect::<Vec<_>>().as_slice(), "tools")
}

/// Lists the prompts.
pub(crate) async fn prompts(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let prompts = connect(settings).await?.prompts().await;
    let prompts = offered(prompts)?;
    let rows = prompts.iter().map(|prompt| {
        let arguments = prompt["arguments"].as_array().into_iter().flatten().map(|argument| {
            let mark = if argument["required"] == true { "" } else { "?" };
            format!("{}{mark}", text(argument, "name"))
        });
        [text(prompt, "name"), arguments.collect::<Vec<_>>().join(" "), about(prompt)]
    });
    listed(flags, &prompts, rows.collect::<Vec<_>>().as_slice(), "prompts")
}

/// Lists the resources and the templates.
pub(crate) async fn resources(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let resources = connect(settings).await?.resources().await;
    let resources = offered(resources)?;
    let rows = resources.iter().map(|resource| {
        let uri = if resource["uri"].is_string() { "uri" } else { "uriTemplate" };
        [text(resource, uri), text(resource, "mimeType"), about(resource)]
    });
    listed(flags, &resources, rows.collect::<Vec<_>>().as_slice(), "resources")
}

/// Reads a resource.
pub(crate) async fn read(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let uri = flags.get_one::<String>("uri").map(String::as_str).unwrap_or_default();
    let client = connect(settings).await?;
    let result = client.read(uri).await.map_err(|error| {
        connection::failed(&error).hint("`diptych resources` lists the resources and their templates.")
    })?;
    if flags.get_flag("as-json") {
        output::line(&format!("{result:#}"))?;
        return Ok(Exit::Done);
    }
    for contents in result["contents"].as_array().into_iter().flatten() {
        match (contents["text"].as_str(), contents["blob"].as_str()) {
            (Some(text), _) => {
                let markdown = contents["mimeType"] == "text/markdown";
                match (output::is_terminal(), markdown) {
                    (true, true) => output::line(&render::terminal(text))?,
                    (true, false) => output::line(&tame(text))?,
                    (false, _) => output::line(text)?,
                }
            }
            (None, Some(_)) if output::is_terminal() => {
                return Err(
                    Failure::usage("The resource is not text.").hint("Send it to a file: `… > file`.")
                );
            }
            (None, Some(blob)) => {
                use base64::Engine as _;
                let bytes = base64::engine::general_purpose::STANDARD.decode(blob);
                output::bytes(
                    &bytes.map_err(|_| Failure::failed("The resource's contents are not base64."))?,
                )?;
            }
            (None, None) => {}
        }
    }
    Ok(Exit::Done)
}

/// Gets a prompt.
pub(crate) async fn prompt(settings: &Settings, flags: &ArgMatches) -> Outcome {
    let name = flags.get_one::<String>("name").map(String::as_str).unwrap_or_default();
    let mut arguments = Map::new();
    for argument in flags.get_many::<String>("argument").into_iter().flatten() {
        let Some((key, value)) = argument.split_once('=') else {
            return Err(
                Failure::usage(format!("`--arg {argument}` has no `=`.")).hint("Write `--arg key=value`.")
            );
        };
        arguments.insert(key.to_owned(), Value::from(value));
    }
    let client = connect(settings).await?;
    let result = client.prompt(name, Value::Object(arguments)).await.map_err(|error| {
        connection::failed(&error).hint("`diptych prompts` lists the prompts and their arguments.")
    })?;
    if flags.get_flag("as-json") {
        output::line(&format!("{result:#}"))?;
        return Ok(Exit::Done);
    }
    for message in result["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        let text = content["text"].as_str().or_else(|| content["resource"]["text"].as_str());
        let text = text.map_or_else(|| format!("({})", self::text(content, "type")), str::to_owned);
        let role = self::text(message, "role");
        if output::is_terminal() {
            output::line(&format!("{role}:\n{}\n", render::terminal(&text)))?;
        } else {
            output::line(&format!("{role}:\n{text}\n"))?;
        }
    }
    Ok(Exit::Done)
}

async fn connect(settings: &Settings) -> Outcome<Client> {
    connection::target(settings)?.connect().await
}

/// A server without such things has an empty list of them.
fn offered(listed: Result<Vec<Value>, ClientError>) -> Outcome<Vec<Value>> {
    match listed {
        Err(ClientError::Protocol { code: -32601, .. }) => Ok(Vec::new()),
        other => other.map_err(|error| connection::failed(&error)),
    }
}

fn listed(flags: &ArgMatches, definitions: &[Value], rows: &[[String; 3]], what: &str) -> Outcome {
    if flags.get_flag("as-json") {
        output::line(&format!("{:#}", Value::Array(definitions.to_vec())))?;
    } else if rows.is_empty() {
        output::note(&format!("There are no {what}."));
    } else {
        output::line(&columns(rows))?;
    }
    Ok(Exit::Done)
}

fn text(definition: &Value, key: &str) -> String {
    tame(definition[key].as_str().unwrap_or_default()).replace('\n', " ")
}

fn about(definition: &Value) -> String {
    let described = definition["description"].as_str().or_else(|| definition["title"].as_str());
    first_sentence(&tame(described.unwrap_or_default()))
}
