//! The catalogue compiled into the binary, parsed when it is first asked for.

use std::sync::{Arc, LazyLock};

use crate::catalogue::Part;
use crate::manifest::Manifest;
use crate::parse::{Parsed, parse};
use crate::problem::Problem;

/// The files of `catalogue/`: path and text, in the order of the paths.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

static EMBEDDED: LazyLock<Embedded> = LazyLock::new(Embedded::read);

struct Embedded {
    manifest: Manifest,
    patterns: Vec<Arc<Parsed>>,
    problems: Vec<Problem>,
}

impl Embedded {
    fn read() -> Self {
        let mut embedded = Self { manifest: Manifest::default(), patterns: Vec::new(), problems: Vec::new() };
        for (file, text) in FILES {
            if *file == "catalogue.yaml" {
                match Manifest::parse(file, text.as_bytes()) {
                    Ok(manifest) => embedded.manifest = manifest,
                    Err(problem) => embedded.problems.push(problem),
                }
                continue;
            }
            match parse(file, text.as_bytes()) {
                Ok(parsed) => {
                    embedded.problems.extend(parsed.problems.iter().cloned());
                    embedded.patterns.push(Arc::new(parsed));
                }
                Err(problem) => embedded.problems.push(problem),
            }
        }
        embedded
    }
}

/// The embedded catalogue as a part of another.
pub(crate) fn part() -> Part<'static> {
    Part {
        name: "Effect",
        manifest: &EMBEDDED.manifest,
        patterns: EMBEDDED.patterns.iter().collect(),
        problems: EMBEDDED.problems.clone(),
        newest: None,
    }
}
