//! Applies events that take a run back, and keeps the history that they need.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attempts::settle_usage;
use super::phases::undo_interface_changes;
use super::update_frame;
use crate::approval::FrameApproval;
use crate::budget::Usage;
use crate::event::{BaselineFailure, Event};
use crate::findings::FrameFindings;
use crate::frame::{
    ChangeAcceptance, Frame, FrameDemand, FrameItem, FrameStage, Slot, SlotWork, Tip,
};
use crate::ids::{AttemptId, Commit, FramePath};
use crate::rollback::{RollbackPlan, RollbackRequest};
use crate::run::{BranchMove, EndedFrame, Run, TakenBackEvents};

/// Moves the tip because somebody else has moved the branch.
pub(super) fn follow_tip(run: &mut Run, tip: &Tip) {
    if run.tip != *tip {
        move_tip(run, tip, None, None);
    }
}

/// Moves the tip to a commit that a frame has made, and remembers that. `baseline` is what was
/// tolerated until then, if the commit changes it.
pub(super) fn commit_tip(
    run: &mut Run,
    tip: &Tip,
    frame: &FramePath,
    baseline: Option<Arc<Vec<BaselineFailure>>>,
) {
    let change = run.frames.get(frame).and_then(|f| f.change.as_ref());
    let by = change.map(|change| change.by.clone()).unwrap_or_default();
    move_tip(run, tip, Some((frame, by)), baseline);
}

fn move_tip(
    run: &mut Run,
    tip: &Tip,
    made: Option<(&FramePath, String)>,
    baseline: Option<Arc<Vec<BaselineFailure>>>,
) {
    run.tip = tip.clone();
    run.branch_moves.push_back_mut(BranchMove {
        seq: run.seq,
        tip: tip.clone(),
        frame: made.as_ref().map(|(frame, _)| (*frame).clone()),
        by: made.map(|(_, by)| by).unwrap_or_default(),
        baseline,
    });
}

/// Remembers a frame that was completed or skipped.
pub(super) fn remember_ended(run: &mut Run, frame: &Frame) {
    let visits = frame.most_visits();
    let ended = EndedFrame {
        seq: run.seq,
        visits,
    };
    run.ended_frames.insert_mut(frame.path.clone(), ended);
    if matches!(frame.item, FrameItem::Phase(_)) {
        let phase = Arc::new(frame.clone());
        run.ended_phases.insert_mut(frame.path.clone(), phase);
    }
}

/// Remembers a task that was skipped before it had a frame of its own.
pub(super) fn remember_skipped(run: &mut Run, path: &FramePath) {
    let visits = visits_before(run, path);
    let seq = run.seq;
    let ended = EndedFrame { seq, visits };
    run.ended_frames.insert_mut(path.clone(), ended);
}

/// Returns the largest number of visits to a step of an earlier frame for the same task or phase.
pub(super) fn visits_before(run: &Run, path: &FramePath) -> u32 {
    let stopped = run.failed_frames.get(path).map(Frame::most_visits);
    let ended = run.ended_frames.get(path).map(|ended| ended.visits);
    stopped.into_iter().chain(ended).max().unwrap_or_default()
}

/// Lets the root frame wait until the branch has been moved.
pub(super) fn request_rollback(run: &mut Run, request: &RollbackRequest, generation: u32) {
    run.rollback = Some(Arc::new(request.clone()));
    let root = FramePath::root();
    run.integration_queue.retain(|path| *path != root);
    update_frame(run, &root, |f| {
        let id = AttemptId {
            frame: root.clone(),
            step: f.step.clone(),
            generation,
            slot: 0,
            attempt: 1,
            fence: AttemptId::NOT_LAUNCHED,
        };
        f.generation = generation;
        f.visits.insert(f.step.clone(), generation);
        f.stage = FrameStage::Working;
        f.children = None;
        f.approval.pending = None;
        f.slots = vec![Slot::new(id, SlotWork::MoveBranch)];
    });
}

/// Gives a rollback up, or carries it out now that the branch has been moved.
pub(super) fn end_rollback(run: &mut Run, event: &Event) {
    match event {
        Event::RollbackAbandoned { id, .. } => {
            settle_usage(run, id, Usage::default());
            run.rollback = None;
            update_frame(run, &id.frame, |f| f.slots.clear());
        }
        Event::RunRolledBack { id, request, .. } => {
            settle_usage(run, id, Usage::default());
            run.rollback = None;
            roll_back(run, &request.plan);
        }
        _ => {}
    }
}

fn roll_back(run: &mut Run, plan: &RollbackPlan) {
    run.tip = plan.tip.clone();
    run.delivery_outcome = None;
    let kept: Vec<BranchMove> = run.branch_moves.iter().cloned().collect();
    let (kept, undone): (Vec<_>, Vec<_>) = kept.into_iter().partition(|m| m.seq <= plan.moment);
    if let Some(baseline) = undone.into_iter().find_map(|m| m.baseline) {
        run.baseline = baseline;
    }
    let commits: BTreeSet<Commit> = kept.iter().map(|m| m.tip.commit.clone()).collect();
    run.branch_moves = kept.into_iter().collect();
    run.taken_back.push(TakenBackEvents {
        after: plan.moment,
        until: run.seq,
    });
    for task in &plan.tasks {
        run.tasks.remove_mut(task);
    }
    let resumed: Vec<Frame> = plan
        .resumed_phases
        .iter()
        .filter_map(|phase| {
            let stopped = run.failed_frames.get(&phase.frame).cloned();
            let ended = || run.ended_phases.get(&phase.frame).map(|f| Frame::clone(f));
            let mut frame = stopped.or_else(ended)?;
            frame.step = phase.step.clone();
            reset_work(&mut frame, &plan.tip, &commits);
            Some(frame)
        })
        .collect();
    forget_stopped_frames(run);
    for phase in &plan.phases {
        run.phases.remove_mut(phase);
        let path = FramePath::root().child(phase.as_str());
        run.ended_phases.remove_mut(&path);
    }
    for frame in resumed {
        run.failed_frames.insert_mut(frame.path.clone(), frame);
    }
    undo_interface_changes(run, plan.moment);
    update_frame(run, &FramePath::root(), |f| {
        f.slots.clear();
        reset_work(f, &plan.tip, &commits);
    });
}

/// Drops the frames that failed or were stopped, but not how often their steps were visited.
fn forget_stopped_frames(run: &mut Run) {
    let stopped: Vec<(FramePath, u32)> = run
        .failed_frames
        .iter()
        .map(|(path, _)| (path.clone(), visits_before(run, path)))
        .collect();
    for (path, visits) in stopped {
        run.failed_frames.remove_mut(&path);
        let seq = run.ended_frames.get(&path).map_or(0, |ended| ended.seq);
        let ended = EndedFrame { seq, visits };
        run.ended_frames.insert_mut(path, ended);
    }
}

/// Resets what a frame knows of a change, which is gone. Its design, its requirements and its records
/// stay.
fn reset_work(frame: &mut Frame, tip: &Tip, commits: &BTreeSet<Commit>) {
    frame.base = tip.clone();
    frame.tree = tip.tree.clone();
    frame.change = None;
    frame.verdicts.clear();
    frame.findings = FrameFindings::default();
    frame.reasons.clear();
    frame.feedback.clear();
    frame.acceptance = ChangeAcceptance::default();
    frame.demand = FrameDemand::default();
    frame.approval = FrameApproval::default();
    frame.commits.retain(|commit| commits.contains(commit));
    frame.reset_counts();
}
