//! `diptych`: one binary that serves, calls, explains and installs itself.
//!
//! `command` is the tree of commands, `settings` the table behind every flag, variable and key; each other
//! module is one command or something that several of them share.

mod call;
mod command;
mod config;
mod connection;
mod docs;
mod doctor;
mod embedder;
mod exit;
mod folders;
mod generate;
mod graph;
mod install;
mod list;
mod log;
mod model;
mod nearest;
mod output;
mod patterns;
mod render;
mod serve;
mod settings;
mod toolsets;

use std::process::ExitCode;

fn main() -> ExitCode {
    let exit = match command::run(std::env::args_os()) {
        Ok(exit) => exit,
        Err(failure) => {
            output::complain(&failure);
            failure.exit
        }
    };
    ExitCode::from(exit.code())
}
