//! The projects in which this user has started runs, so that one inbox can show all of them.
//!
//! Each project has a file of its own in the user's state, named by a hash of its path. A project
//! that is gone, or has no log any more, is left out; nothing is removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::env::Env;

/// The folder of the list, in codeteam's state.
const FOLDER: &str = "codeteam/.projects";

/// Notes a project in which a run starts.
pub(crate) fn remember_project(env: &Env, root: &Path) -> io::Result<()> {
    let Some(folder) = folder(env) else {
        return Ok(());
    };
    let Some(text) = root.to_str() else {
        return Ok(());
    };
    let name = blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
    let file = folder.join(name);
    if fs::read_to_string(&file).is_ok_and(|known| known == text) {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    fs::write(file, text)
}

/// Returns the known projects that still have a log, sorted by path.
pub fn known_projects(env: &Env) -> Vec<PathBuf> {
    let entries = folder(env).and_then(|folder| fs::read_dir(folder).ok());
    let files = entries.into_iter().flatten().flatten();
    let roots = files.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let mut roots: Vec<PathBuf> = roots
        .map(PathBuf::from)
        .filter(|root| root.is_absolute() && root.join(".codeteam/state.db").is_file())
        .collect();
    roots.sort();
    roots
}

fn folder(env: &Env) -> Option<PathBuf> {
    env.state_home.as_ref().map(|state| state.join(FOLDER))
}
