//! One way to search text, for every toolset of Diptych.
//!
//! An [`Index`] is built in memory from documents with weighted fields. It understands API names as well
//! as questions in plain language, forgives misspellings, knows synonyms, says which documents *match*
//! and not merely which are least bad, and can explain its ranking.
//!
//! The way of a query: [`compounds`] and [`terms`] take text apart, [`Query`] turns it into concepts with
//! alternatives, the index ranks, and [`fuse`] adds a ranking by meaning where there is one. A store with
//! its own full-text index can use the first two steps by themselves: [`Query::parse`] needs no [`Index`],
//! only a [`Vocabulary`], and [`AnyWord`] is one for those who have none.
//!
//! A ranking by meaning needs an [`Embedder`], which turns texts into vectors, and [`Vectors`], which finds the ones
//! nearest to another. The feature `local` has an embedder that needs no network: [`LocalModel`].

mod collect;
mod embed;
pub mod eval;
mod explain;
mod fuse;
mod index;
#[cfg(feature = "local")]
pub mod local;
mod near;
mod noise;
mod parse;
mod query;
mod rank;
mod stem;
mod synonyms;
mod tokenize;
pub mod typo;
mod vectors;

pub use embed::{EmbedError, Embedder, Purpose, cosine, normalise, similarity};
pub use explain::{ConceptMeaning, Evidence, ExplainedHit, Explanation};
pub use fuse::fuse;
pub use index::{BuildError, Builder, Document, Index};
#[cfg(feature = "local")]
pub use local::LocalModel;
pub use near::{NEAR_FLOOR, NearId, near};
pub use noise::is_stop_word;
pub use query::{Alternative, AnyWord, Concept, Correction, Query, Reason, Vocabulary};
pub use rank::{FLOOR, Hit, Matches};
pub use stem::stem;
pub use synonyms::Synonyms;
pub use tokenize::{Kind, Term, compounds, terms};
pub use vectors::{Neighbour, Quantised, Vectors};
