//! Measures one MCP server and prints one line of JSON. `cargo xtask bench toolkit` runs it and compares.

use std::process::ExitCode;

use bench::load::{Options, measure};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    match measure(&options) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{}: {problem}", options.command[0]);
            ExitCode::FAILURE
        }
    }
}
