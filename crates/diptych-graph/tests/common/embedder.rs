//! An embedder for tests: texts with the same words lie together, and a few words mean the same.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diptych_search::{EmbedError, Embedder, Purpose, normalise};

const DIMENSIONS: usize = 96;
const SAME: [&[&str]; 3] =
    [&["fruit", "apple", "apples", "orchard"], &["person", "who", "gardener"], &["tall", "high"]];

#[derive(Debug)]
pub struct Words {
    pub name: String,
    pub embedded: AtomicUsize,
    pub fault: Mutex<Option<EmbedError>>,
    /// How long a batch takes.
    pub slow: Duration,
}

impl Words {
    pub fn new(name: &str) -> Arc<Self> {
        Arc::new(Self::named(name))
    }

    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            embedded: AtomicUsize::new(0),
            fault: Mutex::default(),
            slow: Duration::ZERO,
        }
    }

    pub fn fail(&self, fault: Option<EmbedError>) {
        *self.fault.lock().unwrap() = fault;
    }
}

impl Embedder for Words {
    fn model(&self) -> Result<String, EmbedError> {
        Ok(self.name.clone())
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        if let Some(fault) = self.fault.lock().unwrap().clone() {
            return Err(fault);
        }
        if texts.iter().any(|text| text.contains("unspeakable")) {
            return Err(EmbedError::Refused("The embedder refused the text.".to_owned()));
        }
        std::thread::sleep(self.slow);
        self.embedded.fetch_add(texts.len(), Ordering::SeqCst);
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIMENSIONS];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        let word =
            SAME.iter().find(|group| group.contains(&word.as_str())).map_or(word.as_str(), |group| group[0]);
        let hash = word.bytes().fold(7_usize, |hash, byte| hash * 31 % 65_521 + usize::from(byte));
        vector[hash % DIMENSIONS] += 1.0;
    }
    assert!(normalise(&mut vector));
    vector
}
