//! Keeps what a long run leaves behind small while it is under way: packs the objects it has added
//! to the repository and the bodies it has written, and renews the snapshot of its state.
//!
//! Like removing worktrees this is not an effect of the kernel: nothing in a run depends on it, and
//! what a crash leaves undone is done the next time. It happens on a thread of its own, and a run of
//! ordinary length has none of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use codeteam_core::ids::RunId;

use super::Driver;
use crate::engine::{Engine, Error};
use crate::kept_texts::{TextBudget, remove_old_texts};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git::{CommitPack, Oid};
use codeteam_host::process::WaitLimit;

/// The number of events after which it is time: about a hundred tasks, with some four hundred
/// objects and as many bodies.
const EVENTS: u64 = 1_500;

/// The number of bodies that any number of short runs may leave as files of their own.
const LOOSE_BODIES: usize = 2_000;

/// The number of packs of one run that are merged into one.
const PACKS: usize = 32;

/// The upkeep of one driver.
#[derive(Default)]
pub(super) struct RunUpkeep {
    /// The number of events when it was last begun.
    begun_at: u64,
    under_way: Arc<AtomicBool>,
    packs: Arc<Mutex<RunPacks>>,
}

/// The packs of a run's objects that this process has made.
#[derive(Default)]
struct RunPacks {
    /// The commit up to which everything is packed.
    packed_to: Option<Oid>,
    packs: Vec<CommitPack>,
}

impl Driver<'_> {
    /// Begins the upkeep in the background if enough has happened since it was last begun.
    pub(super) fn keep_up(&mut self) {
        let is_due = self.run.seq >= self.upkeep.begun_at + EVENTS;
        if !is_due || self.upkeep.under_way.swap(true, Ordering::SeqCst) {
            return;
        }
        self.upkeep.begun_at = self.run.seq;
        let job = self.upkeep_job();
        let under_way = Arc::clone(&self.upkeep.under_way);
        let body = move || {
            job(false);
            under_way.store(false, Ordering::SeqCst);
        };
        let thread = std::thread::Builder::new().name("upkeep".to_owned());
        match thread.spawn(body) {
            Ok(thread) => {
                self.cleanup_threads.retain(|thread| !thread.is_finished());
                self.cleanup_threads.push(thread);
            }
            Err(_) => self.upkeep.under_way.store(false, Ordering::SeqCst),
        }
    }

    /// Does what is left of the upkeep when the driver stops.
    pub(super) fn finish_upkeep(&mut self) {
        if self.run.seq >= EVENTS {
            self.upkeep_job()(true);
        } else if let Err(error) = self.engine.bodies.pack_if_more_than(LOOSE_BODIES) {
            let why = format_error_chain(&error);
            self.observer
                .warn(&format!("bodies were not packed: {why}"));
        }
    }

    /// Removes what earlier completed runs have left, as far as the user's configuration says so. This
    /// run needs no lease any more.
    pub(super) fn keep_text_budget(&self) {
        let Some(keep_mb) = self.engine.config.limits.max_kept_mb else {
            return;
        };
        let budget = TextBudget {
            keep: keep_mb.saturating_mul(1 << 20),
            spared: Some(&self.run.id),
            dry_run: false,
        };
        match remove_old_texts(&self.engine, budget) {
            Ok(removed) if removed.runs.is_empty() => {}
            Ok(removed) => self.observer.warn(&format!(
                "transcripts, diffs and files of {} completed runs were removed, {} MB: \
                 `limits.max_kept_mb` is {keep_mb}",
                removed.runs.len(),
                removed.bytes / (1 << 20)
            )),
            Err(error) => {
                let why = format_error_chain(&error);
                self.observer.warn(&format!(
                    "what earlier runs have left was not removed: {why}"
                ));
            }
        }
    }

    /// Returns the upkeep of the run as it is now, as a function that takes whether it is the last.
    fn upkeep_job(&self) -> impl FnOnce(bool) + Send + use<> {
        let (engine, run) = (Arc::clone(&self.engine), self.run.id.clone());
        let tip = Oid::parse(self.run.tip.commit.as_str());
        let base = Oid::parse(self.run.base.commit.as_str());
        let packs = Arc::clone(&self.upkeep.packs);
        let observer = Arc::clone(&self.observer);
        let interrupt = self.options.interrupt.clone();
        move |is_last| {
            let _obeys = WaitLimit::obey_cancel(&interrupt);
            let mut packs = packs.lock().unwrap_or_else(PoisonError::into_inner);
            let mut done = renew(&engine, &run);
            if let (Some(tip), Some(base)) = (tip, base) {
                done = done.and(packs.pack(&engine, &tip, &base, is_last));
            }
            if let Err(error) = done
                && !interrupt.is_cancelled()
            {
                let why = format_error_chain(&error);
                observer.warn(&format!("what the run has written was not packed: {why}"));
            }
        }
    }
}

/// Renews the snapshot of a run, and packs the bodies of the project.
fn renew(engine: &Engine, run: &RunId) -> Result<(), Error> {
    engine.load_run(run)?;
    engine.bodies.pack()?;
    Ok(())
}

impl RunPacks {
    fn pack(&mut self, engine: &Engine, tip: &Oid, base: &Oid, is_last: bool) -> Result<(), Error> {
        let since = self.packed_to.as_ref().unwrap_or(base);
        if since != tip {
            self.packs.extend(engine.repo.pack_commits(tip, since)?);
            self.packed_to = Some(tip.clone());
        }
        if self.packs.len() >= PACKS || is_last {
            // If they cannot be merged, for example because the user's `git gc` has taken them
            // over, they are no longer this run's.
            let packs = std::mem::take(&mut self.packs);
            self.packs = engine.repo.merge_packs(&packs).unwrap_or_default();
        }
        Ok(())
    }
}
