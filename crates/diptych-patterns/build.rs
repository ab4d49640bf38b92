//! Lists the files of `catalogue/` so that `embedded.rs` can compile them in.
//!
//! They are included as they are, one `include_str!` each: a few hundred kilobytes that are mapped from
//! the binary and read only when the catalogue is first asked for. Compressing them would save disk
//! space and cost start-up time and a copy in memory.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let catalogue = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../catalogue");
    println!("cargo::rerun-if-changed={}", catalogue.display());
    let catalogue = fs::canonicalize(catalogue)?;

    let mut files = Vec::new();
    list(&catalogue, "", &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let path = catalogue.join(&file);
        writeln!(table, "    ({file:?}, include_str!({path:?})),")?;
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("catalogue.rs"), table)?;
    Ok(())
}

fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &file, files)?;
        } else if name == "catalogue.yaml" || (name.ends_with(".md") && !prefix.is_empty()) {
            files.push(file);
        }
    }
    Ok(())
}
