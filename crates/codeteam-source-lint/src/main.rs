//! Prints the structure of every crate of the workspace, or of another checkout given as an argument.

#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::env;
use std::error::Error;
use std::path::PathBuf;

use codeteam_source_lint::{measure_workspace, render_reports, workspace_root};

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::args()
        .nth(1)
        .map_or_else(workspace_root, PathBuf::from);
    print!("{}", render_reports(&measure_workspace(&root)?));
    Ok(())
}
