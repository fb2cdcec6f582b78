//! Applies events that change what a phase consists of, and what it has locked.

use super::attempts::settle_usage;
use super::{finish_slot, judge_again, revise_plan, update_frame};
use crate::budget::Usage;
use crate::event::Event;
use crate::run::Run;

pub(super) fn apply_to_phase(run: &mut Run, event: &Event) {
    match event {
        Event::PhasePlanned {
            phase,
            tasks,
            interfaces,
            rejudged,
            ..
        } => {
            if let Some(plan) = run.plan.clone() {
                revise_plan(run, &plan.with_phase(phase, tasks, interfaces));
                judge_again(run, rejudged);
            }
        }
        Event::InterfacesLocked {
            id,
            tree,
            change,
            files,
        } => {
            settle_usage(run, id, Usage::default());
            update_frame(run, &id.frame, |f| {
                f.tree = tree.clone();
                f.change = change.as_deref().cloned();
                f.judgements.change_round = f.round;
                f.acceptance.by = None;
                f.locked.clone_from(files);
                finish_slot(f, id);
            });
        }
        _ => {}
    }
}
