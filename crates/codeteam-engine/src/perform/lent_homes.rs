//! The folders for what is lent to workers, one for each launch. They are removed when the worker
//! has ended, or later if codeteam was killed before. What could not be given back stays.

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::ids::RunId;

use crate::engine::Engine;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::workspace::remove_tree;

/// The file extension of these folders.
const HOME: &str = "home";

/// Returns the folder of one launch.
pub(super) fn launch_folder(engine: &Engine, run: &RunId, fence: u64) -> PathBuf {
    let name = format!("{fence}.{HOME}");
    engine.attempts_folder(run).join(name)
}

/// Gives back what was lent to workers of a run, none of which may be running, and removes the
/// copies. Returns true if nothing had to stay.
pub(crate) fn recover(engine: &Engine, run: &RunId, warn: &mut dyn FnMut(&str)) -> bool {
    let entries = fs::read_dir(engine.attempts_folder(run))
        .into_iter()
        .flatten();
    let mut homes: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == HOME))
        .collect();
    homes.sort();
    let mut is_clear = true;
    for home in homes {
        is_clear &= recover_one(engine, &home, warn);
    }
    is_clear
}

fn recover_one(engine: &Engine, home: &Path, warn: &mut dyn FnMut(&str)) -> bool {
    match engine.logins.recover(home) {
        Ok(outcomes) => {
            let told = outcomes.iter().filter_map(|(cli, o)| o.objection(cli));
            told.for_each(|objection| warn(&objection));
            // What remains contains nothing of the user's, and is removed with the run if not now.
            let _ = remove_tree(home);
            true
        }
        Err(error) => {
            let (home, why) = (home.display(), format_error_chain(&error));
            warn(&format!(
                "a login that was lent could not be given back and is kept in `{home}`: {why}"
            ));
            false
        }
    }
}

/// Removes the files of all launches of a run that has ended, unless something of the user's has to
/// stay.
pub(crate) fn clear(engine: &Engine, run: &RunId, warn: &mut dyn FnMut(&str)) {
    if recover(engine, run, warn) {
        let _ = remove_tree(&engine.attempts_folder(run));
    }
}
