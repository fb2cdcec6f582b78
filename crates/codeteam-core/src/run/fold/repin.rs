//! Applies the event that takes a changed workflow into a run under way.

use std::sync::Arc;

use super::tasks::rebuild_schedules;
use super::update_any_frame;
use crate::frame::Frame;
use crate::ids::{FramePath, PatchId, StepId, Tree};
use crate::repin::PinnedWorkflow;
use crate::run::Run;

/// Replaces what the run has pinned. `rejudged` are the steps whose verdicts no longer count.
pub(super) fn repin_workflow(run: &mut Run, pinned: &PinnedWorkflow, rejudged: &[StepId]) {
    let pinned = pinned.clone();
    run.workflow = Arc::new(pinned.workflow);
    run.roles = Arc::new(pinned.roles);
    run.templates = Arc::new(pinned.templates);
    run.strategies = Arc::new(pinned.strategies);
    run.rules = Arc::new(pinned.rules);
    run.accounts = pinned.accounts;
    let workflow = Arc::clone(&run.workflow);
    let frames = run.frames.keys().chain(run.failed_frames.keys());
    let frames: Vec<FramePath> = frames.cloned().collect();
    for path in frames {
        update_any_frame(run, &path, |f: &mut Frame| {
            f.verdicts
                .retain(|step, _| workflow.steps.contains_key(step));
            f.judgements
                .gates
                .retain(|step, _| workflow.steps.contains_key(step));
            for step in rejudged {
                if let Some(verdict) = f.verdicts.get_mut(step) {
                    // It has to be given again, for this tree and for this change.
                    verdict.tree = Tree::default();
                    verdict.patch = verdict.patch.take().map(|_| PatchId::default());
                }
            }
        });
    }
    rebuild_schedules(run);
}
