//! The folders with what is lent to workers, one for each launch: they go when the worker has
//! ended, or later if codeteam was killed before. What could not be given back stays.

use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::ids::RunId;

use super::with_causes;
use crate::engine::Engine;
use crate::workspace::remove_tree;

/// How their names end.
const HOME: &str = "home";

/// The folder of one launch.
pub(super) fn of(engine: &Engine, run: &RunId, fence: u64) -> PathBuf {
    let name = format!("{fence}.{HOME}");
    engine.attempts_of(run).join(name)
}

/// Gives back what was lent to workers of a run, of whom none may be left, and removes the copies.
/// Returns whether nothing had to stay.
pub(crate) fn recover(engine: &Engine, run: &RunId, warn: &mut dyn FnMut(&str)) -> bool {
    let entries = fs::read_dir(engine.attempts_of(run)).into_iter().flatten();
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
            // What is left has nothing of the user's, and goes with the run if not now.
            let _ = remove_tree(home);
            true
        }
        Err(error) => {
            let (home, why) = (home.display(), with_causes(&error));
            warn(&format!(
                "a login that was lent could not be given back and is kept in `{home}`: {why}"
            ));
            false
        }
    }
}

/// Removes the files of all launches of a run that has ended, unless something of the user's has to
/// stay in there.
pub(crate) fn clear(engine: &Engine, run: &RunId, warn: &mut dyn FnMut(&str)) {
    if recover(engine, run, warn) {
        let _ = remove_tree(&engine.attempts_of(run));
    }
}
