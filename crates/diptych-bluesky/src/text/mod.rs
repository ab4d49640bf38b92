//! The text of posts: what its facets say, read and written, and how much of it fits into one post.

mod detect;
mod facets;
mod split;

pub(crate) use detect::{Detected, Meaning, detect};
pub(crate) use facets::{Link, draw_facets};
pub(crate) use split::{LONGEST, graphemes, split};
