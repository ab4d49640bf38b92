//! What the writer draws, and what no data can make it draw.

mod constructs;
mod properties;
mod search_panel;
