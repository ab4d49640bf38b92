//! Embedders: what turns texts into vectors, so that texts of like meaning lie close together.
//!
//! There are three ways to have one: a model on this machine ([`crate::LocalModel`], with the feature `local`), a
//! service (the crate `diptych-embed`), and none at all, which every user of this trait has to cope with.

use std::fmt;
use std::time::Duration;

/// What turns texts into vectors. It blocks: call it from a thread that may.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// The name of the model. Vectors of different names cannot be compared. The first call may load the model.
    ///
    /// # Errors
    /// When there is no model to be had.
    fn model(&self) -> Result<String, EmbedError>;

    /// A vector for each text, all of the same number of dimensions and of length 1.
    ///
    /// # Errors
    /// When there is not one for every text: all of them are made, or none.
    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// What vectors are made for: how much of the machine that may take, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Somebody waits for the answer to a question.
    Query,
    /// Nobody waits, and others want the machine as well.
    Background,
    /// Somebody waits for a great many of them.
    Bulk,
}

/// Why there are no vectors. The text is a sentence for users: it has no address, path or secret in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Not now; the same texts can succeed later.
    #[error("{message}")]
    Unavailable {
        /// What happened.
        message: String,
        /// When to try again, where that is known.
        retry_after: Option<Duration>,
    },
    /// Not these texts; others may well be taken.
    #[error("{0}")]
    Refused(String),
    /// Not until somebody mends it: no model, a wrong one, an answer that makes no sense.
    #[error("{0}")]
    Broken(String),
}

impl EmbedError {
    /// One that passes, nobody knows when.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), retry_after: None }
    }
}

/// Brings a vector to length 1, which makes the cosine of two a mere product. `false` if it has no direction.
pub fn normalise(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if !length.is_finite() || length <= f32::EPSILON {
        return false;
    }
    vector.iter_mut().for_each(|number| *number /= length);
    true
}

/// The similarity that users see, 0 to 1, of two vectors at this cosine: 0.5 says "unrelated", as in the vector
/// indexes of graph databases, whose users bring their thresholds with them.
pub fn similarity(cosine: f32) -> f32 {
    f32::midpoint(1.0, cosine.clamp(-1.0, 1.0))
}

/// The cosine at which users see this similarity.
pub fn cosine(similarity: f32) -> f32 {
    2.0 * similarity.clamp(0.0, 1.0) - 1.0
}
