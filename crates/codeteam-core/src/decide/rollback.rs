//! Takes a run back to an earlier moment.
//!
//! It happens in two events. `RollbackRequested` stops all work below the root frame, which then
//! waits until the run's branch has been moved. Only when that is done does `RunRolledBack` change
//! what counts as done, so the log never claims a branch that git does not have. Nothing is lost:
//! the commits that are taken back stay under a reference of their own, and the events stay in the
//! log.

use super::Decider;
use crate::budget::Usage;
use crate::event::{EntryReason, Event};
use crate::frame::{FrameOutcome, SlotWork};
use crate::ids::{AttemptId, Commit, FramePath};
use crate::rollback::{RollbackPoint, RollbackRequest};
use crate::rollback_plan::plan_rollback;
use crate::workflow::ExitTarget;

impl Decider {
    /// Begins a rollback. `expected` is the commit that the branch had when the person looked.
    pub(super) fn roll_back(
        &mut self,
        by: &str,
        to: &RollbackPoint,
        expected: Option<&Commit>,
        reason: &str,
    ) -> Option<String> {
        let plan = match plan_rollback(&self.run, to) {
            Ok(plan) => plan,
            Err(why) => return Some(why),
        };
        if expected.is_some_and(|commit| *commit != plan.from.commit) {
            return Some(
                "the run has committed more since you looked, so nothing was taken back".to_owned(),
            );
        }
        if self.run.is_terminal() {
            self.emit(Event::RunReopened { at: self.at });
        }
        self.request_rollback(RollbackRequest {
            plan,
            by: by.to_owned(),
            reason: reason.to_owned(),
        });
        None
    }

    /// Stops all work, so that nothing else moves the branch, and has the branch moved.
    fn request_rollback(&mut self, request: RollbackRequest) {
        let root = FramePath::root();
        let below: Vec<FramePath> = self
            .run
            .frames
            .keys()
            .filter(|path| !path.is_root())
            .cloned()
            .collect();
        for frame in below.into_iter().rev() {
            let outcome = FrameOutcome::Cancelled;
            self.emit(Event::FrameEnded { frame, outcome });
        }
        let Some(frame) = self.run.frames.get(&root) else {
            return;
        };
        let generation = frame.next_generation(&frame.step);
        self.emit(Event::RollbackRequested {
            request: Box::new(request),
            generation,
        });
    }

    /// Requests a rollback again if the run ended before its branch was moved and was reopened.
    pub(super) fn continue_rollback(&mut self) {
        let Some(request) = self.run.rollback.as_deref().cloned() else {
            return;
        };
        let root = self.run.frames.get(&FramePath::root());
        let is_moving = root.is_some_and(|root| {
            let mut slots = root.slots.iter();
            !root.is_ended() && slots.any(|slot| slot.work == SlotWork::MoveBranch)
        });
        if !is_moving {
            self.request_rollback(request);
        }
    }

    pub(super) fn handle_branch_moved(&mut self, id: &AttemptId, found: Option<&Commit>) {
        let Some((_, SlotWork::MoveBranch)) = self.running_work(id) else {
            return self.record_stale_result(id, Usage::default());
        };
        let Some(request) = self.run.rollback.as_deref().cloned() else {
            return;
        };
        let next = ExitTarget::Step(request.plan.resumes_at.clone());
        self.emit(Event::RunRolledBack {
            id: id.clone(),
            request: Box::new(request),
            found: found.cloned(),
        });
        self.transition(&id.frame, &next, EntryReason::Resumed);
    }

    /// Gives a rollback up, because the branch could not be moved: the run goes on as it was.
    pub(super) fn abandon_rollback(&mut self, id: &AttemptId, why: &str) {
        let Some(frame) = self.run.frames.get(&id.frame) else {
            return;
        };
        let next = self.resume_target(frame);
        self.emit(Event::RollbackAbandoned {
            id: id.clone(),
            why: why.to_owned(),
        });
        self.transition(&id.frame, &next, EntryReason::Resumed);
    }
}
