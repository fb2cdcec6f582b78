//! Refuses logs that somebody else has written: whoever did could have any run in them, with any commands
//! and no sandbox, as if the user had started it.

use std::path::{Path, PathBuf};

use super::{Error, LOG, Project};
use crate::store::Store;
use crate::trust::LogRecords;

/// Refuses a log with runs that this user's codeteam did not make in this place. An empty one is the
/// user's from now on.
pub(super) fn refuse_unknown(project: &Project, store: &Store) -> Result<(), Error> {
    let Some(records) = LogRecords::for_user(&project.env) else {
        return Ok(());
    };
    let path = project.folder.join(LOG);
    // A repository that has the records among its own files is as trusted as these.
    if records.is_inside(project.repo.top_level()) || records.knows(&path) {
        return Ok(());
    }
    if store.runs()?.is_empty() {
        return Ok(records.record(&path)?);
    }
    Err(Error::UnknownLog { path })
}

/// Refuses a log that came with a commit. `SQLite` takes over what is in a file beside the database, so
/// those count as well.
pub(super) fn refuse_committed(project: &Project) -> Result<(), Error> {
    const FILES: [&str; 4] = [
        "state.db",
        "state.db-wal",
        "state.db-shm",
        "state.db-journal",
    ];
    let top_level = project.repo.top_level();
    // The folder may be a link to another one of the repository.
    let folder = project.folder.canonicalize();
    let folder = folder.unwrap_or_else(|_| project.folder.clone());
    let within = top_level
        .canonicalize()
        .ok()
        .and_then(|top_level| Some(folder.strip_prefix(top_level).ok()?.to_owned()));
    let Some(within) = within else {
        return Ok(());
    };
    let found: Vec<PathBuf> = FILES
        .iter()
        .filter(|name| folder.join(name).symlink_metadata().is_ok())
        .map(|name| within.join(name))
        .collect();
    // A submodule's files are not in this repository's index.
    let mut folders = within.ancestors().filter(|path| *path != Path::new(""));
    if let Some(path) = folders.find(|path| {
        let git = top_level.join(path).join(".git");
        git.symlink_metadata().is_ok()
    }) {
        let path = path.to_owned();
        return Err(Error::ForeignLog { path });
    }
    if found.is_empty() {
        return Ok(());
    }
    match project.repo.tracked_among(&found)?.into_iter().next() {
        Some(path) => Err(Error::CommittedLog { path }),
        None => Ok(()),
    }
}
