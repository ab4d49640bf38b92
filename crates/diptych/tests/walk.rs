//! The walk of a call, seen through the in-process client.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails may panic, and reads better so"
)]

#[path = "../examples/asks.rs"]
#[allow(dead_code)]
mod asks;

use std::time::Duration;

use diptych::client::{Client, ClientError, Protocol, Reply};
use diptych::testing::{Contract, definitions};
use diptych::{
    Code, Cx, Field, Format, Masked as _, More, NeedsInput, NoArguments, Present, Server, Stop, Structured,
    Text, ToolError, Toolset, tool,
};
use serde_json::{Value, json};

async fn call(server: &Server, tool: &str, arguments: Value) -> Reply {
    Client::in_process(server).call(tool, arguments).await.unwrap()
}

fn server_of(toolset: Toolset) -> Server {
    Server::builder("test", "0.0.0").toolset(toolset).strict().build().unwrap()
}

#[tokio::test]
async fn a_client_that_elicits_is_asked_until_the_tool_can_answer() {
    let server = asks::server().unwrap();
    for protocol in Protocol::TESTED {
        let dial = Client::in_process(&server)
            .protocol(protocol)
            .accepts(json!({"city": "Kyoto"}))
            .accepts(json!({"days": 3}));
        let script = dial.script();
        let reply = dial.call("plan_trip", json!({})).await.unwrap();
        assert_eq!(reply.text(), "**3** days in **Kyoto**.", "{protocol:?}");
        assert_eq!(reply.structured, Some(json!({"kind": "tripPlan:v1", "city": "Kyoto", "days": 3})));
        let messages: Vec<String> =
            script.asked().iter().map(|question| question.message().to_owned()).collect();
        assert_eq!(messages, ["Where do you want to go?", "How many days do you want to stay in Kyoto?"]);
    }
}

#[tokio::test]
async fn a_client_that_cannot_elicit_gets_the_payload() {
    let server = asks::server().unwrap();
    for protocol in Protocol::TESTED {
        let reply =
            Client::in_process(&server).protocol(protocol).call("plan_trip", json!({})).await.unwrap();
        assert!(!reply.is_error);
        assert_eq!(reply.text(), "## City Needed\n\nWhere do you want to go?");
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(reply.structured, @r#"
            {
              "kind": "needsInput:v1",
              "type": "elicitation",
              "message": "Where do you want to go?",
              "needsInput": {
                "fields": [
                  "city"
                ],
                "reason": "A trip needs a destination",
                "suggestions": {
                  "city": [
                    "Lisbon",
                    "Kyoto"
                  ]
                }
              }
            }
            "#);
        }
    }
}

#[tokio::test]
async fn programs_get_the_payload_even_from_clients_that_elicit() {
    let server = asks::server().unwrap();
    for format in ["json", "both"] {
        let dial = Client::in_process(&server).accepts(json!({"city": "Kyoto"}));
        let script = dial.script();
        let reply = dial.call("plan_trip", json!({"format": format})).await.unwrap();
        assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"));
        assert!(script.asked().is_empty());
    }
}

#[tokio::test]
async fn refusals_and_faults_end_in_the_payload() {
    let server = asks::server().unwrap();
    for protocol in Protocol::TESTED {
        let dial = || Client::in_process(&server).protocol(protocol);
        for dial in [dial().declines(), dial().cancels()] {
            let reply = dial.call("plan_trip", json!({})).await.unwrap();
            assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"), "{protocol:?}");
        }
    }
    let reply = Client::in_process(&server).fails().call("plan_trip", json!({})).await.unwrap();
    assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"));
}

#[tokio::test]
async fn an_answer_that_does_not_fit_goes_back_to_the_person() {
    let server = asks::server().unwrap();
    for protocol in Protocol::TESTED {
        let dial = Client::in_process(&server)
            .protocol(protocol)
            .accepts(json!({"days": 99}))
            .accepts(json!({"days": 5}));
        let script = dial.script();
        let reply = dial.call("plan_trip", json!({"city": "Lisbon"})).await.unwrap();
        assert_eq!(reply.structured.unwrap()["days"], 5);
        assert_eq!(
            script.asked()[1].message(),
            "How many days do you want to stay in Lisbon?\n\nThe last answer did not fit: days must be at most 30."
        );
    }
}

#[tokio::test]
async fn answers_that_never_fit_end_in_an_error() {
    let server = asks::server().unwrap();
    let mut dial = Client::in_process(&server);
    for _ in 0..10 {
        dial = dial.accepts(json!({"days": 99}));
    }
    let script = dial.script();
    let reply = dial.call("plan_trip", json!({"city": "Lisbon"})).await.unwrap();
    assert!(reply.is_error);
    assert_eq!(script.asked().len(), 4, "the first ask and three more");
}

#[tokio::test]
async fn an_accept_that_adds_nothing_is_not_asked_again() {
    let server = asks::server().unwrap();
    for protocol in Protocol::TESTED {
        let dial = Client::in_process(&server)
            .protocol(protocol)
            .accepts(json!({}))
            .accepts(json!({"city": "Oslo"}));
        let script = dial.script();
        let reply = dial.call("plan_trip", json!({})).await.unwrap();
        assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"));
        assert_eq!(script.asked().len(), 1);
    }
}

async fn endless(_cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    Err(NeedsInput::new("More", format!("More? {}", uuid::Uuid::new_v4()))
        .field(Field::text("more").person_only())
        .into())
}

#[tokio::test]
async fn five_rounds_at_most() {
    let server = server_of(
        Toolset::new("t", ()).with(tool("endless", endless).description("Asks for ever.").read_only()),
    );
    for protocol in Protocol::TESTED {
        let mut dial = Client::in_process(&server).protocol(protocol);
        for _ in 0..12 {
            dial = dial.accepts(json!({"more": "yes"}));
        }
        let script = dial.script();
        let reply = dial.call("endless", json!({})).await.unwrap();
        assert_eq!(reply.kind().as_deref(), Some("needsInput:v1"));
        assert_eq!(script.asked().len(), 5, "{protocol:?}");
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Fail {
    how: String,
}

async fn fail(cx: Cx, fail: Fail) -> Result<Text, Stop> {
    match fail.how.as_str() {
        "panic" => panic!("the secret is /root/secret"),
        "sleep" => {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok(Text::new("late"))
        }
        "commit" => {
            cx.commit();
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(Text::new("done"))
        }
        "io" => Err(std::io::Error::other("/root/secret")).masked()?,
        "wait" => Err(ToolError::client("Too many requests.").retry_after(Duration::from_millis(1500)))?,
        _ => Err(ToolError::not_found("There is no such thing.").hint("Try another."))?,
    }
}

fn failing() -> Server {
    server_of(
        Toolset::new("t", ()).with(
            tool("fail", fail).description("Fails.").time_limit(Duration::from_millis(50)).closed_world(),
        ),
    )
}

#[tokio::test]
async fn faults_become_safe_tool_errors_and_the_server_keeps_serving() {
    let server = failing();
    let client = Client::in_process(&server).connect().await.unwrap();
    for how in ["panic", "io"] {
        let reply = client.call("fail", json!({"how": how})).await.unwrap();
        assert!(reply.is_error);
        let text = reply.text();
        assert!(text.starts_with("Something went wrong inside the server (reference "), "{text}");
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(reply.structured.unwrap()["code"], "UNKNOWN_ERROR");
    }
    let reply = client.call("fail", json!({"how": "sleep"})).await.unwrap();
    insta::assert_json_snapshot!(reply.structured, @r#"
    {
      "kind": "toolError:v1",
      "code": "SERVER_ERROR",
      "message": "This took longer than the 50 ms allowed and was stopped.",
      "retryable": true,
      "details": {
        "hint": "Try again, or ask for less at once."
      }
    }
    "#);
    let reply = client.call("fail", json!({"how": "commit"})).await.unwrap();
    assert_eq!(reply.text(), "done", "past the commit there is no time limit");
    let reply = client.call("fail", json!({"how": "wait"})).await.unwrap();
    assert_eq!(reply.structured.unwrap()["details"]["retryAfterMs"], 1500);
    let reply = client.call("fail", json!({"how": "?", "format": "json"})).await.unwrap();
    assert_eq!(reply.content.len(), 1);
    assert_eq!(reply.json().unwrap()["code"], Code::NotFound.as_str());
    client.close().await;
}

#[tokio::test]
async fn invalid_arguments_are_tool_errors_and_unknown_tools_are_not() {
    let server = asks::server().unwrap();
    let reply = call(&server, "plan_trip", json!({"city": 5, "days": "x", "dayz": 1})).await;
    insta::assert_json_snapshot!(reply.structured, @r#"
    {
      "kind": "toolError:v1",
      "code": "CLIENT_ERROR",
      "message": "Invalid input: dayz is not an argument of this tool. Did you mean `days`? city must be a string. days must be a whole number.",
      "retryable": false,
      "details": {
        "violations": [
          {
            "path": "dayz",
            "problem": "is not an argument of this tool",
            "suggestion": "Did you mean `days`?"
          },
          {
            "path": "city",
            "problem": "must be a string"
          },
          {
            "path": "days",
            "problem": "must be a whole number"
          }
        ]
      }
    }
    "#);
    let error = Client::in_process(&server).call("plan_tripp", json!({})).await.unwrap_err();
    let ClientError::Protocol { code, message, .. } = error else { panic!("{error}") };
    assert_eq!((code, message.as_str()), (-32602, "Unknown tool: plan_tripp. Did you mean plan_trip?"));
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Numbers {
    numbers: Vec<usize>,
    #[serde(skip)]
    from: usize,
    #[serde(skip)]
    total: usize,
}

impl Present for Numbers {
    const KIND: &'static str = "numbers:v1";

    fn markdown(&self, markdown: &mut diptych::Markdown) {
        for number in &self.numbers {
            markdown.bullet(|line| {
                line.text(number);
            });
        }
    }

    fn records(&self) -> usize {
        self.numbers.len()
    }

    fn cut(&mut self, keep: usize) -> Option<String> {
        self.numbers.truncate(keep);
        Some((self.from + keep).to_string())
    }

    fn more(&self) -> Option<More> {
        (self.from > 0).then_some(More { total: self.total, next_cursor: None })
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    to: usize,
    cursor: Option<String>,
}

async fn count(_cx: Cx, count: Count) -> Result<Numbers, Stop> {
    let from = count.cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    Ok(Numbers { numbers: (from..count.to).collect(), from, total: count.to })
}

#[tokio::test]
async fn an_answer_over_the_budget_is_cut_at_a_record_and_says_so() {
    let tools = Toolset::new("t", ()).with(tool("count", count).description("Counts.").read_only());
    let server = Server::builder("t", "0").toolset(tools).budget(500).strict().build().unwrap();
    let mut seen = Vec::new();
    let mut arguments = json!({"to": 3000});
    for format in Format::ALL.into_iter().cycle() {
        arguments["format"] = json!(format);
        let reply = call(&server, "count", arguments.clone()).await;
        let structured = reply.structured.clone().unwrap();
        let words: usize = reply.content.iter().map(|block| block["text"].as_str().unwrap().len()).sum();
        assert!(words <= 2000, "{words}");
        let numbers = structured["numbers"].as_array().unwrap();
        seen.extend(numbers.iter().map(|number| number.as_u64().unwrap()));
        let Some(cursor) = structured["truncated"]["nextCursor"].as_str() else { break };
        assert_eq!(structured["truncated"]["total"], 3000);
        if format.has_markdown() {
            let last = reply.text().lines().last().unwrap().to_owned();
            assert_eq!(
                last,
                format!(
                    "Showing {} of 3000. Call again with `cursor` set to `{cursor}` for the rest.",
                    numbers.len()
                )
            );
        }
        arguments["cursor"] = json!(cursor);
    }
    assert_eq!(seen, (0..3000).collect::<Vec<u64>>());
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Recite {
    lines: usize,
    words: usize,
}

async fn recite(_cx: Cx, recite: Recite) -> Result<Text, Stop> {
    let line = |number| format!("{number}: {}", "word ".repeat(recite.words).trim_end());
    Ok(Text::new((1..=recite.lines).map(line).collect::<Vec<_>>().join("\n")))
}

#[tokio::test]
async fn a_text_over_the_budget_is_cut_between_lines() {
    let tools = Toolset::new("t", ()).with(tool("recite", recite).description("Recites.").read_only());
    let server = Server::builder("t", "0").toolset(tools).budget(100).strict().build().unwrap();
    for format in Format::ALL {
        let reply = call(&server, "recite", json!({"lines": 100, "words": 5, "format": format})).await;
        let structured = reply.structured.clone().unwrap();
        let text = structured["text"].as_str().unwrap();
        let shown = text.lines().count();
        assert!(shown > 1 && text.lines().all(|line| line.ends_with(": word word word word word")), "{text}");
        assert_eq!(structured["truncated"], json!({"shown": shown, "total": 100}));
        if format.has_markdown() {
            let note = format!("Showing {shown} of 100. Narrow the request to see the rest.");
            assert_eq!(reply.text().lines().last(), Some(note.as_str()));
        }
    }
}

#[tokio::test]
async fn a_record_that_is_larger_than_the_budget_is_not_cut() {
    let tools = Toolset::new("t", ()).with(tool("recite", recite).description("Recites.").read_only());
    let server = Server::builder("t", "0").toolset(tools).budget(100).strict().build().unwrap();
    let reply = call(&server, "recite", json!({"lines": 3, "words": 100})).await;
    assert!(reply.is_error);
    insta::assert_snapshot!(reply.text(), @r"
    The answer is larger than the 100 tokens that fit.
    Not even its first record fits: ask for others, or for a part of it. The server's budget can be raised.
    ");
}

#[tokio::test]
async fn the_profile_decides_on_the_structured_panel() {
    let server = asks::server().unwrap();
    let trip = json!({"city": "Rome", "days": 2, "format": "both"});
    let client = Client::in_process(&server).named("claude-code").connect().await.unwrap();
    assert!(client.tools().await.unwrap()[0].get("outputSchema").is_none());
    let reply = client.call("plan_trip", trip.clone()).await.unwrap();
    assert_eq!(reply.structured, None);
    assert_eq!(reply.json().unwrap()["city"], "Rome");
    client.close().await;
    let tools = Toolset::new("t", ()).with(tool("count", count).description("Counts.").read_only());
    let never = Server::builder("t", "0").toolset(tools).structured(Structured::Never).build().unwrap();
    assert_eq!(call(&never, "count", json!({"to": 1})).await.structured, None);
}

#[tokio::test]
async fn tools_come_and_go_and_clients_hear_of_it() {
    let server = asks::server().unwrap();
    let client = Client::in_process(&server).connect().await.unwrap();
    // The first call shows that the handshake is over.
    client.tools().await.unwrap();
    server
        .add(Toolset::new("late", ()).with(tool("count", count).description("Counts.").read_only()))
        .unwrap();
    let notice = tokio::time::timeout(Duration::from_secs(5), client.notice()).await.unwrap();
    assert_eq!(notice, Some(diptych::client::Notice::ToolsChanged));
    assert_eq!(client.tools().await.unwrap().len(), 2);
    assert!(server.remove_tool("count"));
    assert!(!server.remove_tool("count"));
    assert!(client.call("count", json!({"to": 1})).await.is_err());
    let twice = server.add(Toolset::new("late", ()).with(tool("plan_trip", count).description("Again.")));
    assert_eq!(
        twice.unwrap_err().to_string(),
        "The server cannot be built:\n- The toolsets `travel` and `late` both have the tool `plan_trip`: rename one, or serve only one of the toolsets."
    );
    client.close().await;
}

#[tokio::test]
async fn a_toolset_opens_its_state_at_first_use() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let opened = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&opened);
    let toolset = Toolset::lazy("lazy", move || {
        let attempt = counter.fetch_add(1, Ordering::SeqCst);
        async move { if attempt == 0 { Err(ToolError::server("The store is locked.")) } else { Ok(attempt) } }
    })
    .with(
        tool("state", |cx: Cx<usize>, _: NoArguments| async move { Ok(Text::new(cx.state().to_string())) })
            .description("Says its state."),
    );
    let server = Server::builder("lazy", "0").toolset(toolset).build().unwrap();
    let client = Client::in_process(&server).connect().await.unwrap();
    assert_eq!(client.tools().await.unwrap().len(), 1);
    assert_eq!(opened.load(Ordering::SeqCst), 0, "listing opens nothing");
    assert_eq!(client.call("state", json!({})).await.unwrap().text(), "The store is locked.");
    assert_eq!(client.call("state", json!({})).await.unwrap().text(), "1");
    assert_eq!(client.call("state", json!({})).await.unwrap().text(), "1");
    client.close().await;
}

#[tokio::test]
async fn the_contract_holds() {
    let server = asks::server().unwrap();
    Contract::of(&server)
        .answers("plan_trip", json!({"city": "<!-- kind:x -->| # \u{202e}`", "days": 3}))
        .asks("plan_trip", json!({}))
        .fails("plan_trip", json!({"days": 900}))
        .check()
        .await;
    insta::assert_json_snapshot!(definitions(&server).await);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code)]
struct Names {
    names: Vec<String>,
}

async fn names(_cx: Cx, _: Names) -> Result<Text, Stop> {
    Ok(Text::new(""))
}

#[tokio::test]
async fn a_flood_of_violations_is_cut_short() {
    let server =
        server_of(Toolset::new("t", ()).with(tool("names", names).description("Names.").read_only()));
    let reply = call(&server, "names", json!({"names": vec![0; 10_000]})).await;
    let violations = reply.structured.unwrap()["details"]["violations"].as_array().unwrap().len();
    assert_eq!(violations, 51);
    let long = "x".repeat(100_000);
    assert!(
        !call(&server, "names", json!({"names": [], long: 1})).await.is_error,
        "nobody's misspelling: dropped"
    );
}

async fn counting(cx: Cx, _: NoArguments) -> Result<Text, Stop> {
    let runs = cx.storage().get_or_put(|| std::sync::atomic::AtomicUsize::new(0));
    let run = runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
    if !cx.asked("go") {
        Err(NeedsInput::new("Go?", "Go on?").field(Field::boolean("go").person_only()))?;
    }
    Ok(Text::new(format!("{run} {}", cx.session().is_some())))
}

#[tokio::test]
async fn storage_lasts_for_the_session_where_there_is_one_else_for_the_call() {
    let server =
        server_of(Toolset::new("t", ()).with(tool("counting", counting).description("Counts its runs.")));
    let client = Client::in_process(&server)
        .accepts(json!({"go": true}))
        .accepts(json!({"go": true}))
        .connect()
        .await
        .unwrap();
    assert_eq!(client.call("counting", json!({})).await.unwrap().text(), "2 true");
    assert_eq!(client.call("counting", json!({})).await.unwrap().text(), "4 true");
    client.close().await;
    let dial = Client::in_process(&server).protocol(Protocol::V2026_07_28).accepts(json!({"go": true}));
    assert_eq!(
        dial.call("counting", json!({})).await.unwrap().text(),
        "1 false",
        "each request stands alone"
    );
}

/// An answer whose schema is what the test wants it to be.
#[derive(serde::Serialize)]
struct Claimed<const NUMBER: usize> {
    value: &'static str,
}

impl<const NUMBER: usize> schemars::JsonSchema for Claimed<NUMBER> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Claimed".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let schemas = [
            json!({"type": "string"}),
            json!({"type": "integer"}),
            json!({"type": "string", "pattern": "("}),
        ];
        let value = &schemas[NUMBER];
        let schema = json!({"type": "object", "properties": {"value": value}, "required": ["value"]});
        schema.try_into().unwrap()
    }
}

impl<const NUMBER: usize> Present for Claimed<NUMBER> {
    const KIND: &'static str = "claimed:v1";

    fn markdown(&self, markdown: &mut diptych::Markdown) {
        markdown.paragraph(|line| {
            line.text(self.value);
        });
    }
}

async fn claim<const NUMBER: usize>(_cx: Cx, _: NoArguments) -> Result<Claimed<NUMBER>, Stop> {
    Ok(Claimed { value: "words" })
}

#[tokio::test]
async fn what_goes_out_is_what_was_registered() {
    let toolset = || {
        Toolset::new("t", ())
            .with(tool("right", claim::<0>).description("Keeps its word.").read_only())
            .with(tool("wrong", claim::<1>).description("Promises a number.").read_only())
            .with(tool("broken", claim::<2>).description("Has a schema that is not one.").read_only())
    };
    // In tests a flaw fails the call; in production the answer still serves its reader.
    let (strict, lenient) =
        (server_of(toolset()), Server::builder("t", "0").toolset(toolset()).build().unwrap());
    for _ in 0..2 {
        assert!(!call(&strict, "right", json!({})).await.is_error);
        for (tool, flaw) in [
            ("wrong", "the answer (claimed:v1) does not match the tool's output schema: "),
            ("broken", "the tool's output schema is not one: "),
        ] {
            let reply = call(&strict, tool, json!({})).await;
            assert!(reply.is_error);
            assert!(reply.text().starts_with(&format!("Contract violation: {flaw}")), "{}", reply.text());
            let reply = call(&lenient, tool, json!({})).await;
            assert_eq!((reply.is_error, reply.text().as_str()), (false, "words"));
        }
    }
    let problems = Contract::of(&strict).answers("right", json!({})).problems().await;
    assert!(problems.contains(&"broken: the output schema is not one".to_owned()), "{problems:?}");
}
