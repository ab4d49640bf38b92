//! A local model whose files are missing, damaged or of another kind says so, and never falls over.
#![cfg(feature = "local")]
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

use std::fs;
use std::path::Path;

use diptych_search::local::{CONFIG, TOKENIZER, WEIGHTS};
use diptych_search::{EmbedError, Embedder as _, LocalModel, Purpose};
use serde_json::{Value, json};

const SIZE: usize = 8;

fn config() -> Value {
    json!({"model_type": "bert", "hidden_act": "gelu", "hidden_size": SIZE, "intermediate_size": 16,
        "num_attention_heads": 2, "num_hidden_layers": 1, "max_position_embeddings": 16, "type_vocab_size": 2,
        "vocab_size": 6, "layer_norm_eps": 1e-12})
}

fn tokenizer() -> Value {
    json!({"normalizer": {"type": "BertNormalizer", "lowercase": true},
        "model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "tree": 3, "house": 4, "##s": 5}}})
}

/// A tiny model with weights that follow from their places.
fn weights() -> Vec<u8> {
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![6, SIZE]),
        ("embeddings.position_embeddings.weight".into(), vec![16, SIZE]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, SIZE]),
    ];
    let mut layer = |name: &str, outputs: usize, inputs: usize| {
        shapes.push((format!("{name}.weight"), vec![outputs, inputs]));
        shapes.push((format!("{name}.bias"), vec![outputs]));
    };
    for name in ["self.query", "self.key", "self.value", "output.dense"] {
        layer(&format!("encoder.layer.0.attention.{name}"), SIZE, SIZE);
    }
    layer("encoder.layer.0.intermediate.dense", 16, SIZE);
    layer("encoder.layer.0.output.dense", SIZE, 16);
    for name in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        for part in ["weight", "bias"] {
            shapes.push((format!("{name}.LayerNorm.{part}"), vec![SIZE]));
        }
    }
    let (mut header, mut numbers) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in shapes {
        let start = numbers.len();
        for place in 0..shape.iter().product::<usize>() {
            let number = (((place * 37 + name.len() * 11) % 101) as f32 - 50.0) / 50.0;
            numbers.extend(number.to_le_bytes());
        }
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, numbers.len()]}));
    }
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes()[..], &header, &numbers].concat()
}

fn folder(change: impl FnOnce(&Path)) -> (tempfile::TempDir, LocalModel) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(CONFIG), config().to_string()).unwrap();
    fs::write(folder.path().join(TOKENIZER), tokenizer().to_string()).unwrap();
    fs::write(folder.path().join(WEIGHTS), weights()).unwrap();
    change(folder.path());
    let model = LocalModel::new(folder.path());
    (folder, model)
}

fn problem(change: impl FnOnce(&Path)) -> String {
    let (folder, model) = folder(change);
    let EmbedError::Broken(message) = model.embed(&["a tree"], Purpose::Query).unwrap_err() else {
        panic!("only a broken model is expected here")
    };
    assert!(!message.contains(&*folder.path().to_string_lossy()), "{message}");
    assert!(message.starts_with("The local model cannot be used: its "), "{message}");
    message
}

#[test]
fn a_tiny_model_runs_and_a_batch_is_as_its_texts_alone() {
    let (folder, model) = folder(|_| ());
    assert!(LocalModel::is_in(folder.path()));
    let name = model.model().unwrap();
    assert!(name.contains('#'), "a model that nobody knows is named by its numbers: {name}");
    assert_eq!(model.tokens("Trees").unwrap(), [1, 3, 5, 2]);
    let texts = ["trees", "a house", "", "house trees house trees house trees house trees house trees house"];
    for purpose in [Purpose::Background, Purpose::Bulk] {
        let together = model.embed(&texts, purpose).unwrap();
        for (text, vector) in texts.iter().zip(&together) {
            assert!((vector.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-5);
            let alone = model.embed(&[text], Purpose::Query).unwrap().remove(0);
            assert!(alone.iter().zip(vector).all(|(a, b)| (a - b).abs() < 1e-5), "{text}");
        }
    }
    assert!(model.embed(&[], Purpose::Bulk).unwrap().is_empty());
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    for file in [CONFIG, TOKENIZER, WEIGHTS] {
        assert!(problem(|folder| fs::remove_file(folder.join(file)).unwrap()).contains(file));
        assert!(problem(|folder| fs::write(folder.join(file), b"").unwrap()).contains(file));
        assert!(problem(|folder| fs::write(folder.join(file), [0xff; 64]).unwrap()).contains(file));
    }
    let cut = problem(|folder| fs::write(folder.join(WEIGHTS), &weights()[..4_000]).unwrap());
    assert!(cut.contains("is incomplete"), "{cut}");
    let mut other = config();
    other["hidden_act"] = json!("relu");
    assert!(problem(|folder| fs::write(folder.join(CONFIG), other.to_string()).unwrap()).contains("GELU"));
    other = config();
    other["intermediate_size"] = json!(32);
    assert!(problem(|folder| fs::write(folder.join(CONFIG), other.to_string()).unwrap()).contains("shape"));
    other = config();
    other["num_hidden_layers"] = json!(2);
    assert!(
        problem(|folder| fs::write(folder.join(CONFIG), other.to_string()).unwrap()).contains("no tensor")
    );
    other = config();
    other["num_attention_heads"] = json!(3);
    assert!(problem(|folder| fs::write(folder.join(CONFIG), other.to_string()).unwrap()).contains("sizes"));
    other = tokenizer();
    other["model"]["vocab"]["surplus"] = json!(6);
    assert!(
        problem(|folder| fs::write(folder.join(TOKENIZER), other.to_string()).unwrap()).contains("words")
    );
}
