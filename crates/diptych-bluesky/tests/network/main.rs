//! The toolset against a real AT Protocol network on loopback, which `cargo xtask test bluesky` starts.
//!
//! Without it (the variable `DIPTYCH_DEVNET` names the file that describes it) there is nothing to test here, and every
//! test is over at once; the step makes sure that it was there.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, missing_docs, reason = "tests")]

mod contract;
mod faults;
mod login;
mod network;
mod reading;
mod writing;
