//! Step 1 of the walk: finding what was called, or saying what was probably meant.

use super::admit::near;

/// The sentence for a name that nobody has.
pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A hostile name is not repeated at length.
    let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
    let near = near(name, known);
    if near.is_empty() {
        format!("Unknown {what}: {shown}")
    } else {
        format!("Unknown {what}: {shown}. Did you mean {}?", near.join(", "))
    }
}
