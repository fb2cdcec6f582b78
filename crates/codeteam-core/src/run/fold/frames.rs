//! How frames are opened, moved, ended and taken up again.

use super::tasks::{follow_schedule, is_over, note, set_status};
use super::with;
use crate::event::{EntryReason, FrameOutcome};
use crate::frame::{Frame, FrameItem, FrameStage, Slot, SlotState, SlotWork, Tip};
use crate::ids::{AttemptId, Commit, FramePath, StepId, TaskId};
use crate::role::RoleKind;
use crate::run::Run;
use crate::schedule::TaskStatus;
use crate::workflow::{Step, StepKind};

/// Takes a frame to a step. `slots` are those that are asked; all of the step's if none is named.
pub(super) fn enter(
    run: &mut Run,
    path: &FramePath,
    step: &StepId,
    generation: u32,
    (why, slots): (EntryReason, &[u32]),
) {
    let Some(frame) = run.frames.get(path) else {
        return;
    };
    let Some(definition) = run.step(step) else {
        return;
    };
    let definition = &Step::clone(definition);
    // An `each` step that is entered anew tries what had failed again; one that is taken up again
    // only what a person named.
    let children = match why {
        EntryReason::Resumed => run.children_of(frame, definition, is_over),
        _ => run.children_of(frame, definition, TaskStatus::satisfies),
    };
    if let Some(children) = &children {
        follow_schedule(run, children);
    }
    let is_asked = |slot: &u32| slots.is_empty() || slots.contains(slot);
    let work: Vec<(u32, SlotWork)> = match &definition.kind {
        StepKind::Role(role) => (0..)
            .zip(role.slots.iter().cloned().map(SlotWork::Role))
            .filter(|(slot, _)| is_asked(slot))
            .collect(),
        StepKind::Gate { .. } => vec![(0, SlotWork::Gate(step.clone()))],
        // What it does first depends on where the tip is; `AttemptStarted` says it.
        StepKind::Commit { .. } => vec![(0, SlotWork::Integrate)],
        StepKind::Publish { .. } => vec![(0, SlotWork::Publish)],
        StepKind::Deliver { .. } => vec![(0, SlotWork::Deliver)],
        StepKind::Person { .. } | StepKind::Each { .. } => Vec::new(),
    };
    let stage = match &definition.kind {
        StepKind::Each { .. } => FrameStage::Each,
        StepKind::Commit { .. } => FrameStage::Committing,
        _ => FrameStage::Working,
    };
    let commits = stage == FrameStage::Committing;
    run.integrating.retain(|f| f != path);
    if commits {
        run.integrating.push(path.clone());
    }
    let tip = run.tip.clone();
    with(run, path, |f| {
        if f.step != *step {
            f.question_rounds = 0;
        }
        if f.tree == f.base.tree {
            // Nothing of its own to lose: it sees what was integrated meanwhile, by the frames
            // below it too.
            f.tree = tip.tree.clone();
            f.base = tip;
        }
        if why == EntryReason::Rebound {
            f.rebounded = std::mem::take(&mut f.since_rebound);
        }
        f.step = step.clone();
        f.generation = generation;
        f.visits.insert(step.clone(), generation);
        f.entered += 1;
        f.reasons.clear();
        f.stage = stage;
        f.children = children;
        f.slots = work
            .into_iter()
            .map(|(slot, work)| {
                let id = AttemptId {
                    frame: path.clone(),
                    step: step.clone(),
                    generation,
                    slot,
                    attempt: 1,
                    fence: 0,
                };
                Slot::new(id, work)
            })
            .collect();
    });
}

pub(super) fn open_frame(run: &mut Run, path: &FramePath, item: &FrameItem, base: &Tip) {
    let parent = parent_of(path);
    start_child(run, &parent, path.name());
    let frame = Frame::new(path.clone(), Some(parent), item.clone(), base.clone());
    run.frames.insert(path.clone(), frame);
    note(run, item, |record| record.status = TaskStatus::Running);
}

pub(super) fn resume_frame(run: &mut Run, path: &FramePath) {
    let Some(mut frame) = run.failed.get(path).cloned() else {
        return;
    };
    run.failed.remove_mut(path);
    if let Some(parent) = &frame.parent {
        start_child(run, &parent.clone(), path.name());
    }
    frame.reset_counts();
    frame.stage = FrameStage::Working;
    let item = frame.item.clone();
    run.frames.insert(path.clone(), frame);
    note(run, &item, |record| {
        record.status = TaskStatus::Running;
        record.why = None;
    });
}

pub(super) fn start_child(run: &mut Run, parent: &FramePath, name: &str) {
    with(run, parent, |f| {
        if let Some(children) = &mut f.children
            && let Some(i) = children.position(name)
        {
            children.chosen = None;
            children.schedule.start(i);
        }
    });
}

pub(super) fn end_frame(run: &mut Run, path: &FramePath, outcome: &FrameOutcome) {
    run.integrating.retain(|f| f != path);
    let Some(frame) = run.frames.get_mut(path) else {
        return;
    };
    frame.stage = FrameStage::Ended(outcome.clone());
    for slot in &mut frame.slots {
        if slot.state != SlotState::Running {
            slot.state = SlotState::Done(None);
        }
    }
    if frame.parent.is_none() {
        let commits = frame.commits.clone();
        if *outcome == FrameOutcome::Completed {
            complete_all(run, &commits);
        }
        return;
    }
    let Some(frame) = run.frames.remove(path) else {
        return;
    };
    let status = match outcome {
        FrameOutcome::Completed => TaskStatus::Completed,
        FrameOutcome::Failed(_) => TaskStatus::Failed,
        FrameOutcome::Skipped => TaskStatus::Skipped,
        FrameOutcome::Cancelled | FrameOutcome::Aborted(_) => TaskStatus::Pending,
    };
    note(run, &frame.item, |record| {
        record.status = status;
        record.rounds = frame.round;
        record.commits.clone_from(&frame.commits);
        record.findings = match status {
            TaskStatus::Completed => frame.findings.open().cloned().collect(),
            // The frame itself is kept.
            _ => Vec::new(),
        };
        if let FrameOutcome::Failed(why) = outcome {
            record.why = Some(why.clone());
        }
    });
    let blocked = end_child(run, &frame, status);
    for name in blocked {
        set_status(run, &TaskId(name), TaskStatus::Blocked);
    }
    if !status.satisfies() {
        // Its counts go on if it is taken up again, so that no attempt has the name of another.
        run.failed.insert_mut(path.clone(), frame);
    }
}

/// Where no step takes tasks one by one, the run has carried the plan out as a whole; unless nobody
/// in it makes changes, and the plan itself is what it was for.
fn complete_all(run: &mut Run, commits: &[Commit]) {
    let mut steps = run.workflow.steps.values();
    let makes = run
        .roles
        .values()
        .any(|role| role.kind == RoleKind::Implementer);
    if !makes || steps.any(|step| matches!(step.kind, StepKind::Each { .. })) {
        return;
    }
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let tasks: Vec<TaskId> = tasks.map(|task| task.id.clone()).collect();
    for task in tasks {
        note(run, &FrameItem::Task(task), |record| {
            record.status = TaskStatus::Completed;
            record.commits = commits.to_vec();
        });
    }
}

/// Tells the parent's schedule; returns the names of what is blocked now.
pub(super) fn end_child(run: &mut Run, frame: &Frame, status: TaskStatus) -> Vec<String> {
    let Some(parent) = frame.parent.as_ref().and_then(|p| run.frames.get_mut(p)) else {
        return Vec::new();
    };
    let halts = run
        .workflow
        .steps
        .get(&parent.step)
        .is_some_and(|step| matches!(step.kind, StepKind::Each { halt: true, .. }));
    let Some(children) = &mut parent.children else {
        return Vec::new();
    };
    let Some(i) = children.position(frame.path.name()) else {
        return Vec::new();
    };
    let blocked = children.schedule.end(i, status);
    children.halted |= halts && status == TaskStatus::Failed;
    if !matches!(frame.item, FrameItem::Task(_)) {
        return Vec::new();
    }
    blocked
        .into_iter()
        .filter_map(|b| children.names.get(b).cloned())
        .collect()
}

/// The run's own frame goes back to what it was doing when it ended.
pub(super) fn reopen(run: &mut Run) {
    run.outcome = None;
    with(run, &FramePath::root(), |f| {
        f.stage = if f.children.is_some() {
            FrameStage::Each
        } else {
            FrameStage::Working
        };
        if let Some(children) = &mut f.children {
            children.halted = false;
        } else {
            f.reset_counts();
        }
    });
}

pub(super) fn parent_of(path: &FramePath) -> FramePath {
    match path.as_str().rsplit_once('/') {
        Some((parent, _)) => FramePath::from(parent),
        None => FramePath::root(),
    }
}
