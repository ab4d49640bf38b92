//! Everything that is wrong in a folder of patterns, file by file and line by line.

use std::path::Path;

use crate::catalogue::Catalogue;
use crate::folder::{Folder, Limits};
use crate::problem::Problem;

/// All problems of a folder, by file and line. An empty list means that all is well.
///
/// Loading uses the same checks, so a folder without errors here is served in full.
#[must_use]
pub fn lint(folder: &Path, limits: Limits) -> Vec<Problem> {
    let mut folder = Folder::new(folder, limits);
    folder.refresh();
    Catalogue::build(&[folder.part()]).problems().to_vec()
}
