//! The records of a project: its repository, the log, the stored bodies, and the folders that
//! people read.

use std::path::{Path, PathBuf};

use codeteam_context::redact::Redactor;
use codeteam_core::Event;
use codeteam_core::event::EventReadError;
use codeteam_core::ids::{EpochMillis, RunId};
use codeteam_host::bodies::BodyStore;
use codeteam_host::git::Repo;
use codeteam_host::store::{self, Store, StoredEvent};

/// The records of one project, borrowed from whoever opened it.
///
/// Reports, summaries and the files that people read are all made from these. The value is a set of
/// references and cheap to copy; it owns nothing and holds no lock. Three facts matter to its
/// users:
///
/// - The log in `store` is the truth. Files below `folder` are derived from it and may be missing,
///   old, or edited by a person.
/// - Events refer to long texts by their hash; `bodies` has the texts.
/// - `redactor` must be applied to everything that is written for people, because file names are
///   recorded as they are and may contain a secret.
#[derive(Clone, Copy)]
pub struct ProjectRecords<'a> {
    /// The user's repository.
    pub repo: &'a Repo,
    /// The event log of all runs.
    pub store: &'a Store,
    /// Prompts, transcripts, diffs and reports, stored by their hash.
    pub bodies: &'a BodyStore,
    /// The `.codeteam` folder of the repository.
    pub folder: &'a Path,
    /// Where the files of runs are written, relative to the repository, if the project configures
    /// it.
    pub runs_dir: Option<&'a Path>,
    /// Whether the project's files are laid out as strict runs expect them.
    pub has_strict_layout: bool,
    /// Removes secrets from everything that is written.
    pub redactor: &'a Redactor,
}

/// The log of a run could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordsError {
    /// The log itself could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The log has no run of this name.
    #[error("there is no run `{0}`")]
    NoSuchRun(String),
    /// An event of the run could not be decoded.
    #[error("event {seq} of run `{run}` cannot be read")]
    Unreadable {
        /// The id of the run.
        run: String,
        /// The event's number in its run.
        seq: u64,
        /// Why the event could not be decoded.
        source: EventReadError,
    },
}

impl ProjectRecords<'_> {
    /// Returns the folder with the files of all runs.
    pub fn runs_folder(&self) -> PathBuf {
        match self.runs_dir {
            Some(folder) => self.repo.top_level().join(folder),
            None => self.folder.join("runs"),
        }
    }

    /// Calls `each` for a run's events after the one numbered `after`, in order, with their number
    /// and time.
    pub fn each_event(
        &self,
        run: &RunId,
        after: u64,
        each: impl FnMut(u64, EpochMillis, Event),
    ) -> Result<(), RecordsError> {
        each_stored_event(self.store, run, after, each)
    }
}

/// Does the same for somebody who has only the log.
pub(crate) fn each_stored_event(
    store: &Store,
    run: &RunId,
    after: u64,
    mut each: impl FnMut(u64, EpochMillis, Event),
) -> Result<(), RecordsError> {
    store.for_each_event(run.as_str(), after, |stored| {
        let event = decode_event(run, &stored)?;
        let at = EpochMillis(u64::try_from(stored.at).unwrap_or(0));
        each(stored.seq, at, event);
        Ok(())
    })
}

/// Decodes an event as the log holds it.
pub(crate) fn decode_event(run: &RunId, stored: &StoredEvent) -> Result<Event, RecordsError> {
    Event::read(stored.version, &stored.data).map_err(|source| RecordsError::Unreadable {
        run: run.0.clone(),
        seq: stored.seq,
        source,
    })
}
