//! What the writer knows of runs it has just appended to, so that it need not ask the database
//! again: which token holds the lease, how many events there are, what the row says.
//!
//! Only good as long as nobody else has written. That is asked once per transaction, in which
//! nobody else can.

use std::collections::HashMap;

use super::append::EventChainHead;
use super::{AppendRequest, RunUpdate};

/// What the writer knows.
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
    /// Keeps what is known if the database is as this connection left it.
    pub(super) fn keep_if(&mut self, version: i64) {
        if self.version != Some(version) {
            self.runs.clear();
            self.version = Some(version);
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.runs.clear();
    }

    /// Where the run's chain ends, if an append fits what is known so well that nothing needs to be
    /// checked.
    pub(super) fn head(&self, append: &AppendRequest) -> Option<EventChainHead> {
        let run = self
            .runs
            .get(&append.run)
            .filter(|_| append.consumed.is_empty())?;
        let fits = run.token == append.token && run.head.seq == append.expected_seq;
        fits.then_some(run.head)
    }

    /// Whether an append says something else in the run's row than is there.
    pub(super) fn changes_row(&self, append: &AppendRequest) -> bool {
        let known = self.runs.get(&append.run).and_then(|run| run.row.as_ref());
        append.row.is_some() && append.row.as_ref() != known
    }

    /// Remembers an append that went through.
    pub(super) fn learn(&mut self, append: &AppendRequest, head: EventChainHead) {
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
