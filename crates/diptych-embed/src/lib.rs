//! An embedder that is a service: any endpoint that speaks as OpenAI's `/embeddings` does, so Ollama, llama.cpp, vLLM
//! or a vendor.
//!
//! It has a crate of its own because it needs both the toolkit, for calls that leave the machine, and the search
//! crate, whose trait it implements; and neither of these may know the other.
//!
//! Every call has a time limit, retries and a breaker. Somebody who waits for the answer to a question is not kept
//! waiting for a service that is down: a query is tried once.

mod answer;

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use diptych::resilience::{Class, Classify, Failure, Outside, Policy};
use diptych_search::{EmbedError, Embedder, Purpose};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use tokio::runtime::{Builder, Runtime};

/// How long somebody who asked a question waits for its vector.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// More than any batch of vectors takes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Which service, and how it is called.
#[derive(Clone)]
pub struct HttpOptions {
    /// Its address, with or without `/embeddings` at the end, such as `http://127.0.0.1:11434/v1`.
    pub url: String,
    /// The model to ask for.
    pub model: String,
    /// The key to present.
    pub key: Option<String>,
    /// Time limit, attempts, waits and breaker.
    pub policy: Policy,
}

impl HttpOptions {
    /// A model of a service without a key, called as usual.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        let policy = Policy { timeout: Duration::from_secs(60), ..Policy::default() };
        Self { url: url.into(), model: model.into(), key: None, policy }
    }
}

impl fmt::Debug for HttpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpOptions").field("model", &self.model).finish_non_exhaustive()
    }
}

/// What is wrong with the options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Not an address of a service.
    #[error("The embedder's URL must be one of a service, such as http://127.0.0.1:11434/v1.")]
    Url,
    /// A key that no header can carry.
    #[error("The embedder's key has characters that cannot be sent.")]
    Key,
    /// No model was named.
    #[error("The embedder's model is missing: the name by which the service knows it.")]
    Model,
}

/// A model behind HTTP.
pub struct HttpEmbedder {
    url: Url,
    model: String,
    key: Option<HeaderValue>,
    outside: Outside,
    /// Made at the first call: starting must cost nothing.
    running: OnceLock<Result<Running, EmbedError>>,
    /// What the first answer had; later ones must have the same.
    dimensions: Mutex<Option<usize>>,
}

/// The client and what it runs on. The trait blocks and its callers may be anywhere, also where no runtime is, so it
/// has one of its own.
struct Running {
    client: Client,
    runtime: Option<Runtime>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whoever lets go of the last handle may be in the middle of another runtime, which must not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpEmbedder").field("model", &self.model).finish_non_exhaustive()
    }
}

/// Why an attempt failed. Says nothing of where the service is.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("the embedder could not be reached")]
    Unreached,
    #[error("the embedder answered {status}")]
    Status { status: u16, retry_after: Option<Duration> },
    #[error("the embedder's answer cannot be used")]
    Unusable(String),
}

impl Classify for Unanswered {
    fn class(&self) -> Class {
        match self {
            Self::Unreached => Class::BROKEN,
            Self::Status { status, retry_after } => Class::of_status(*status, *retry_after),
            Self::Unusable(_) => Class::REFUSED,
        }
    }
}

impl HttpEmbedder {
    /// An embedder for this service. Nothing is sent yet.
    ///
    /// # Errors
    /// When an option cannot be used.
    pub fn new(options: HttpOptions) -> Result<Self, OptionsError> {
        let mut url = Url::parse(options.url.trim()).map_err(|_| OptionsError::Url)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(OptionsError::Url);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with("/embeddings") {
            url.set_path(&format!("{path}/embeddings"));
        }
        if options.model.trim().is_empty() {
            return Err(OptionsError::Model);
        }
        let key = options.key.filter(|key| !key.trim().is_empty());
        let key = key.map(|key| {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {}", key.trim())).map_err(|_| OptionsError::Key)?;
            value.set_sensitive(true);
            Ok(value)
        });
        Ok(Self {
            url,
            model: options.model,
            key: key.transpose()?,
            outside: Outside::new("embedder", options.policy),
            running: OnceLock::new(),
            dimensions: Mutex::new(None),
        })
    }

    fn running(&self) -> Result<&Running, EmbedError> {
        let made = self.running.get_or_init(|| {
            let failed = |_| EmbedError::Broken("The embedder's client cannot be started.".to_owned());
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
            diptych::tls::prepare();
            let client = Client::builder().user_agent(concat!("diptych/", env!("CARGO_PKG_VERSION"))).build();
            Ok(Running {
                client: client
                    .map_err(|_| EmbedError::Broken("The embedder's client cannot be started.".to_owned()))?,
                runtime: Some(runtime.map_err(failed)?),
            })
        });
        made.as_ref().map_err(Clone::clone)
    }

    async fn attempt(&self, client: &Client, body: &str, count: usize) -> Result<Vec<Vec<f32>>, Unanswered> {
        let mut request =
            client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body.to_owned());
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.clone());
        }
        let mut response = request.send().await.map_err(|_| Unanswered::Unreached)?;
        if !response.status().is_success() {
            return Err(Unanswered::Status {
                status: response.status().as_u16(),
                retry_after: retry_after(&response),
            });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| Unanswered::Unreached)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MOST_BYTES {
                return Err(Unanswered::Unusable("is too large".to_owned()));
            }
        }
        answer::vectors(&bytes, count).map_err(Unanswered::Unusable)
    }

    /// Vectors of one model all have the same dimensions; what was kept cannot be compared with others.
    fn check_dimensions(&self, vectors: &[Vec<f32>]) -> Result<(), EmbedError> {
        let Some(found) = vectors.first().map(Vec::len) else { return Ok(()) };
        let mut known = self.dimensions.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = *known.get_or_insert(found);
        if expected == found {
            return Ok(());
        }
        Err(EmbedError::Broken(format!(
            "The embedder's vectors have {found} dimensions now and had {expected} before."
        )))
    }
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> Result<String, EmbedError> {
        Ok(self.model.clone())
    }

    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let Running { client, runtime: Some(runtime) } = self.running()? else {
            return Err(EmbedError::unavailable("The embedder is being shut down."));
        };
        let outside = match purpose {
            Purpose::Query => self.outside.once().within(self.outside.policy().timeout.min(QUERY_TIMEOUT)),
            Purpose::Background | Purpose::Bulk => self.outside.clone(),
        };
        let body =
            serde_json::json!({"model": self.model, "input": texts, "encoding_format": "float"}).to_string();
        let call = outside.call(|| self.attempt(client, &body, texts.len()));
        let vectors = runtime.handle().block_on(call).map_err(said)?;
        self.check_dimensions(&vectors)?;
        Ok(vectors)
    }
}

/// The delay that an answer asks for, in seconds; dates are left to the policy's own waits.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// What a user reads of a failure.
#[allow(clippy::needless_pass_by_value, reason = "it is the end of a chain")]
fn said(failure: Failure<Unanswered>) -> EmbedError {
    let retry_after = failure.retry_after();
    let unavailable = |message: &str| EmbedError::Unavailable { message: message.to_owned(), retry_after };
    match &failure {
        Failure::Open { .. } => {
            unavailable("The embedder has failed several times in a row and is left alone for now.")
        }
        Failure::TimedOut { .. } => unavailable("The embedder did not answer in time."),
        Failure::Failed(Unanswered::Unreached) => unavailable("The embedder could not be reached."),
        Failure::Failed(Unanswered::Status { status: 429, .. }) => {
            unavailable("The embedder asks for fewer requests.")
        }
        Failure::Failed(Unanswered::Status { status: 401 | 403, .. }) => {
            EmbedError::Broken("The embedder refuses the key.".to_owned())
        }
        Failure::Failed(Unanswered::Status { status: 404 | 405, .. }) => {
            EmbedError::Broken("The embedder knows neither such an address nor such a model.".to_owned())
        }
        Failure::Failed(Unanswered::Status { status, .. })
            if *status >= 500 || matches!(status, 408 | 425) =>
        {
            unavailable(&format!("The embedder failed with status {status}."))
        }
        Failure::Failed(Unanswered::Status { status, .. }) => {
            EmbedError::Refused(format!("The embedder refused the text with status {status}."))
        }
        Failure::Failed(Unanswered::Unusable(why)) => {
            EmbedError::Broken(format!("The embedder's answer {why}."))
        }
    }
}
