//! A sentence-embedding model on this machine: BERT encoders with mean pooling, such as all-MiniLM-L6-v2.
//!
//! **Why by hand.** The model is six layers of four kinds of sums. The frameworks that can run it can run everything
//! else too: candle 0.11 with `tokenizers`, built for release by themselves, took nine minutes of processor time and
//! made a binary of 6.9 MB; these files with a matrix product (`ndarray`, on `matrixmultiply`) took 48 seconds and
//! 1 MB, and run twice as fast on one core. What they compute is held against candle's numbers in the tests.
//!
//! **What is in a folder.** `config.json`, `tokenizer.json` and `model.safetensors`, as sentence-transformers lays
//! them out. Nothing is read before the first text is to be embedded.

mod bert;
mod math;
mod weights;
mod wordpiece;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::embed::{EmbedError, Embedder, Purpose, normalise};
use bert::{Bert, Config};
use weights::Weights;
use wordpiece::WordPiece;

/// The file that holds the numbers.
pub const WEIGHTS: &str = "model.safetensors";
/// The file that holds the words.
pub const TOKENIZER: &str = "tokenizer.json";
/// The file that holds the sizes.
pub const CONFIG: &str = "config.json";

/// As many tokens as the model was trained on; the rest of a text is not read.
const MOST_TOKENS: usize = 256;
/// How many tokens go through the layers together: enough to keep the processor busy, few enough to stay small.
const TOGETHER: usize = 512;

/// The model that is known by name: what `diptych model install` puts in place.
pub const KNOWN_MODEL: &str = "all-MiniLM-L6-v2";
/// The fingerprint of its small tensors.
const KNOWN_FINGERPRINT: &str = "165fa9b8b5ce87cc";

/// A model in a folder, loaded when it is first needed.
pub struct LocalModel {
    folder: PathBuf,
    loaded: OnceLock<Result<Loaded, EmbedError>>,
}

struct Loaded {
    name: String,
    tokenizer: WordPiece,
    model: Bert,
}

impl std::fmt::Debug for LocalModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let loaded = self.loaded.get().is_some_and(Result::is_ok);
        formatter.debug_struct("LocalModel").field("loaded", &loaded).finish_non_exhaustive()
    }
}

impl LocalModel {
    /// The model in this folder. Nothing is opened yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), loaded: OnceLock::new() }
    }

    /// Whether a folder has the files of a model.
    pub fn is_in(folder: &Path) -> bool {
        [CONFIG, TOKENIZER, WEIGHTS].iter().all(|file| folder.join(file).is_file())
    }

    /// The tokens of a text, as the model is given them.
    ///
    /// # Errors
    /// When the model cannot be loaded.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, EmbedError> {
        Ok(self.loaded()?.tokenizer.tokens(text, MOST_TOKENS))
    }

    fn loaded(&self) -> Result<&Loaded, EmbedError> {
        self.loaded.get_or_init(|| Loaded::from(&self.folder)).as_ref().map_err(Clone::clone)
    }
}

impl Embedder for LocalModel {
    fn model(&self) -> Result<String, EmbedError> {
        Ok(self.loaded()?.name.clone())
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let Loaded { tokenizer, model, .. } = self.loaded()?;
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| tokenizer.tokens(text, MOST_TOKENS)).collect();
        let threads = match purpose {
            Purpose::Query | Purpose::Background => 1,
            Purpose::Bulk => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let share = tokens.len().div_ceil(threads).max(1);
        let made: Vec<Result<Vec<Vec<f32>>, EmbedError>> = if threads == 1 {
            vec![embed_all(model, &tokens)]
        } else {
            std::thread::scope(|scope| {
                let running: Vec<_> =
                    tokens.chunks(share).map(|tokens| scope.spawn(|| embed_all(model, tokens))).collect();
                let failed = || Err(EmbedError::Broken("The model failed on this text.".to_owned()));
                running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| failed())).collect()
            })
        };
        Ok(made.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}

fn embed_all(model: &Bert, texts: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut start = 0;
    while start < texts.len() {
        let mut end = start;
        let mut tokens = 0;
        while end < texts.len() && (end == start || tokens + texts[end].len() <= TOGETHER) {
            tokens += texts[end].len();
            end += 1;
        }
        vectors.extend(model.embed(&texts[start..end])?);
        start = end;
    }
    for vector in &mut vectors {
        if !normalise(vector) {
            return Err(EmbedError::Broken("The model's numbers are damaged. Install it again.".to_owned()));
        }
    }
    Ok(vectors)
}

impl Loaded {
    fn from(folder: &Path) -> Result<Self, EmbedError> {
        let read = |file: &str| {
            fs::read(folder.join(file))
                .map_err(|error| broken(file, &format!("cannot be read ({})", error.kind())))
        };
        let config = Config::read(&read(CONFIG)?).map_err(|why| broken(CONFIG, &why))?;
        let tokenizer = WordPiece::read(&read(TOKENIZER)?).map_err(|why| broken(TOKENIZER, &why))?;
        let mut hash = Sha256::new();
        let model = Weights::open(&folder.join(WEIGHTS))
            .and_then(|mut weights| {
                let model = Bert::load(&config, &mut weights)?;
                weights.fingerprint(&mut hash)?;
                Ok(model)
            })
            .map_err(|why| broken(WEIGHTS, &why))?;
        if tokenizer.greatest() >= model.words() {
            return Err(broken(TOKENIZER, "has words that the weights do not know"));
        }
        let fingerprint =
            hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>();
        let name = if fingerprint == KNOWN_FINGERPRINT {
            KNOWN_MODEL.to_owned()
        } else {
            let folder = folder.file_name().map_or_else(|| "local".into(), |name| name.to_string_lossy());
            format!("{folder}#{fingerprint}")
        };
        Ok(Self { name, tokenizer, model })
    }
}

fn broken(file: &str, why: &str) -> EmbedError {
    EmbedError::Broken(format!("The local model cannot be used: its {file} {why}."))
}
