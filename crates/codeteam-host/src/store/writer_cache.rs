//! Caches the state of runs that the writer has just appended to, so that it need not query the
//! database again: the token that holds the lease, the number of events, and the content of the
//! row.
//!
//! The cache is valid only as long as nobody else has written. That is checked once per
//! transaction, during which nobody else can write.

use std::collections::HashMap;

use super::append::EventChainHead;
use super::{AppendRequest, RunUpdate};

/// The cached state per run, and the data version of the database it belongs to.
#[derive(Debug, Default)]
pub(super) struct WriterCache {
    version: Option<i64>,
    runs: HashMap<String, CachedRun>,
}

#[derive(Debug)]
struct CachedRun {
    token: u64,
    head: EventChainHead,
    row: Option<RunUpdate>,
}

impl WriterCache {
    /// Keeps the cache if the database is as this connection left it, and clears it otherwise.
    pub(super) fn keep_if_unchanged(&mut self, version: i64) {
        if self.version != Some(version) {
            self.runs.clear();
            self.version = Some(version);
        }
    }

    /// Clears the cache.
    pub(super) fn forget(&mut self) {
        self.runs.clear();
    }

    /// Returns the end of the run's chain if an append matches the cached state exactly, so that
    /// nothing needs to be checked.
    pub(super) fn cached_head(&self, append: &AppendRequest) -> Option<EventChainHead> {
        let run = self
            .runs
            .get(&append.run)
            .filter(|_| append.consumed.is_empty())?;
        let fits = run.token == append.token && run.head.seq == append.expected_seq;
        fits.then_some(run.head)
    }

    /// Returns true if an append changes the run's row.
    pub(super) fn changes_row(&self, append: &AppendRequest) -> bool {
        let known = self.runs.get(&append.run).and_then(|run| run.row.as_ref());
        append.row.is_some() && append.row.as_ref() != known
    }

    /// Records an append that succeeded.
    pub(super) fn remember(&mut self, append: &AppendRequest, head: EventChainHead) {
        if let Some(run) = self.runs.get_mut(&append.run) {
            run.token = append.token;
            run.head = head;
            if append.row.is_some() && append.row != run.row {
                run.row.clone_from(&append.row);
            }
            return;
        }
        let run = CachedRun {
            token: append.token,
            head,
            row: append.row.clone(),
        };
        self.runs.insert(append.run.clone(), run);
    }
}
