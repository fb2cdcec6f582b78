//! Reads codeteam's own source and measures its structure: which modules of a crate depend on each
//! other in a cycle, which type names are shared or say too little, how long functions are, and which
//! public items nobody else uses; whether modules that only record keep to that, and whether surfaces
//! read views of a run instead of the run.
//!
//! `cargo run -p codeteam-source-lint` prints the measurements; the tests of this crate hold the line.
//! It reads syntax only and compiles nothing, so it sees names, not their resolution by the compiler.

mod declarations;
mod interface;
mod measure;
mod modules;
mod pure_modules;
mod references;
mod run_readers;

use std::path::{Path, PathBuf};

pub use self::declarations::{DeclarationIndex, index_declarations};
pub use self::measure::{CrateReport, TypeNames, measure_workspace, render_reports};
pub use self::modules::SourceError;
pub use self::pure_modules::find_policy_and_prose;
pub use self::run_readers::find_run_readers;

/// The workspace that this crate is part of.
pub fn workspace_root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}
