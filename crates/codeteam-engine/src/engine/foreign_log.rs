//! Refuses logs that somebody else has written. Such a log could contain any run, with any commands
//! and no sandbox, as if the user had started it.

use std::path::{Path, PathBuf};

use super::{Error, LOG, Project};
use crate::trust::LogRecords;
use codeteam_host::store::Store;

/// Refuses a log with runs that this user's codeteam did not create in this place. An empty log is
/// recorded as the user's.
pub(super) fn refuse_unknown(project: &Project, store: &Store) -> Result<(), Error> {
    let Some(records) = LogRecords::for_user(&project.env) else {
        return Ok(());
    };
    let path = project.folder.join(LOG);
    // If the records are inside the repository's files, they are no more trustworthy than the log,
    // so checking against them is pointless.
    if records.is_inside(project.repo.top_level()) || records.knows(&path) {
        return Ok(());
    }
    if store.runs()?.is_empty() {
        return Ok(records.record(&path)?);
    }
    let kept = records.find_replaced(&path);
    Err(Error::UnknownLog { path, kept })
}

/// Keeps a copy of the user's own log where git cannot replace it.
pub(super) fn keep_own(project: &Project) {
    if let Some(records) = LogRecords::for_user(&project.env) {
        let path = project.folder.join(LOG);
        if !records.is_inside(project.repo.top_level()) && records.knows(&path) {
            records.keep(&path);
        }
    }
}

/// Refuses a log that is part of a commit. `SQLite` also reads the files next to the database, so
/// these count as well.
pub(super) fn refuse_committed(project: &Project) -> Result<(), Error> {
    const FILES: [&str; 4] = [
        "state.db",
        "state.db-wal",
        "state.db-shm",
        "state.db-journal",
    ];
    let top_level = project.repo.top_level();
    // The folder may be a link to another folder of the repository.
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
    // The files of a submodule are not in this repository's index.
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
        Some(path) => {
            let records = LogRecords::for_user(&project.env);
            let kept = records.and_then(|records| records.find_replaced(&project.folder.join(LOG)));
            Err(Error::CommittedLog { path, kept })
        }
        None => Ok(()),
    }
}
