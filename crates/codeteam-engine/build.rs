//! Puts the files of `data/` into the program: roles, workflows and their tests, prompts, the
//! default configuration.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "this is how cargo and a build script talk"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=data");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("data");
    let mut files = Vec::new();
    gather(&root, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for path in files {
        let name = path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .display()
            .to_string();
        let _ = writeln!(
            table,
            "    ({name:?}, include_str!({:?})),",
            path.display().to_string()
        );
    }
    table.push_str("]\n");
    fs::write(
        PathBuf::from(env::var("OUT_DIR").unwrap_or_default()).join("data.rs"),
        table,
    )
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
