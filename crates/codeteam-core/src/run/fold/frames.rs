//! Applies events that open, move, end and resume frames.

use super::phases::close_request;
use super::rollback::{remember_ended, visits_before};
use super::tasks::{is_over, set_status, sync_with_schedule, update_task_record};
use super::update_frame;
use crate::event::EntryReason;
use crate::frame::FrameOutcome;
use crate::frame::{Frame, FrameItem, FrameStage, Slot, SlotEnd, SlotState, SlotWork, Tip};
use crate::ids::{AttemptId, Commit, FramePath, RoleName, StepId, TaskId};
use crate::role::RoleKind;
use crate::run::Run;
use crate::schedule::TaskStatus;
use crate::workflow::{Step, StepKind};

/// Moves a frame to a step. `slots` are those that take part; an empty list means all of the
/// step's. `roles` are those that the plan names, of which the first one takes part.
pub(super) fn enter_step(
    run: &mut Run,
    path: &FramePath,
    step: &StepId,
    generation: u32,
    (why, slots, roles): (EntryReason, &[u32], &[RoleName]),
) {
    let Some(frame) = run.frames.get(path) else {
        return;
    };
    let Some(definition) = run.step(step) else {
        return;
    };
    let definition = &Step::clone(definition);
    // Entering an `each` step again retries what had failed; resuming it retries only what a person
    // named.
    let children = match why {
        EntryReason::Resumed => run.build_children(frame, definition, is_over),
        _ => run.build_children(frame, definition, TaskStatus::satisfies),
    };
    if let Some(children) = &children {
        sync_with_schedule(run, children);
    }
    let is_asked = |slot: &u32| slots.is_empty() || slots.contains(slot);
    let work: Vec<(u32, SlotWork)> = match &definition.kind {
        StepKind::Role(_) if !roles.is_empty() => {
            let role = roles.first().cloned().map(SlotWork::Role);
            role.map(|work| (0, work)).into_iter().collect()
        }
        StepKind::Role(role) => (0..)
            .zip(role.slots.iter().cloned().map(SlotWork::Role))
            .filter(|(slot, _)| is_asked(slot))
            .collect(),
        StepKind::Gate { .. } => vec![(0, SlotWork::Gate(step.clone()))],
        // Its first action depends on where the tip is; `AttemptStarted` records it.
        StepKind::Commit { .. } => vec![(0, SlotWork::Integrate)],
        StepKind::Lock => vec![(0, SlotWork::WriteInterfaces)],
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
    run.integration_queue.retain(|f| f != path);
    if commits {
        run.integration_queue.push(path.clone());
    }
    let tip = run.tip.clone();
    let task = run.frames.get(path).and_then(|frame| run.frame_task(frame));
    let planned = task.map(|task| task.roles.clone()).unwrap_or_default();
    update_frame(run, path, |f| {
        if f.step != *step {
            f.answers.question_rounds = 0;
        }
        if f.interface_request
            .as_ref()
            .is_some_and(|r| r.step == *step)
        {
            close_request(f);
        }
        if f.tree == f.base.tree {
            // It has no work of its own to lose, so it starts from what was integrated meanwhile,
            // including by its child frames.
            f.tree = tip.tree.clone();
            f.base = tip;
        }
        if why == EntryReason::Rebound {
            f.counts.rejections_at_rebound = std::mem::take(&mut f.counts.consecutive_rejections);
        }
        if !roles.is_empty() {
            f.team.begin_turn(step, generation, (roles, planned));
        }
        if f.team
            .failure
            .as_ref()
            .is_some_and(|failed| failed.step == *step)
        {
            f.team.failure = None;
        }
        f.step = step.clone();
        f.generation = generation;
        f.visits.insert(step.clone(), generation);
        f.counts.steps_entered += 1;
        f.reasons.clear();
        f.approval.pending = None;
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
                    fence: AttemptId::NOT_LAUNCHED,
                };
                Slot::new(id, work)
            })
            .collect();
    });
}

pub(super) fn open_frame(run: &mut Run, path: &FramePath, item: &FrameItem, base: &Tip) {
    let parent = parent_of(path);
    start_child(run, &parent, path.name());
    let mut frame = Frame::new(path.clone(), Some(parent), item.clone(), base.clone());
    frame.visits_before = visits_before(run, path);
    if let (FrameItem::Phase(phase), Some(origin)) = (item, &run.forked_from)
        && let Some(outputs) = origin.phases.get(phase)
    {
        frame.outputs = outputs.clone();
    }
    run.frames.insert(path.clone(), frame);
    update_task_record(run, item, |record| record.status = TaskStatus::Running);
}

pub(super) fn resume_frame(run: &mut Run, path: &FramePath) {
    let Some(mut frame) = run.failed_frames.get(path).cloned() else {
        return;
    };
    run.failed_frames.remove_mut(path);
    if let Some(parent) = &frame.parent {
        start_child(run, &parent.clone(), path.name());
    }
    frame.reset_counts();
    frame.stage = FrameStage::Working;
    let item = frame.item.clone();
    run.frames.insert(path.clone(), frame);
    update_task_record(run, &item, |record| {
        record.status = TaskStatus::Running;
        record.why = None;
    });
}

pub(super) fn start_child(run: &mut Run, parent: &FramePath, name: &str) {
    update_frame(run, parent, |f| {
        if let Some(children) = &mut f.children
            && let Some(i) = children.position(name)
        {
            children.chosen = None;
            children.schedule.start(i);
        }
    });
}

pub(super) fn end_frame(run: &mut Run, path: &FramePath, outcome: &FrameOutcome) {
    run.integration_queue.retain(|f| f != path);
    let Some(frame) = run.frames.get_mut(path) else {
        return;
    };
    frame.stage = FrameStage::Ended(outcome.clone());
    frame.approval.pending = None;
    for slot in &mut frame.slots {
        // Who gave up stays known: a person may accept the change without that verdict.
        let stays = [SlotState::Running, SlotState::Done(SlotEnd::Abstained)];
        if !stays.contains(&slot.state) {
            slot.state = SlotState::Done(SlotEnd::Stopped);
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
    update_task_record(run, &frame.item, |record| {
        record.status = status;
        record.rounds = frame.round;
        record.commits.clone_from(&frame.commits);
        record.quality.clone_from(&frame.team.quality);
        record.interventions.clone_from(&frame.team.history);
        record.findings = match status {
            TaskStatus::Completed => frame.findings.open().cloned().collect(),
            // The frame itself is kept.
            _ => Vec::new(),
        };
        if status == TaskStatus::Completed {
            record
                .contributions
                .clone_from(&frame.outputs.contributions);
            record.digest.clone_from(&frame.outputs.digest);
        }
        if let FrameOutcome::Failed(why) = outcome {
            record.why = Some(why.clone());
        }
    });
    let blocked = end_child(run, &frame, status);
    for name in blocked {
        set_status(run, &TaskId(name), TaskStatus::Blocked);
    }
    if status.satisfies() {
        remember_ended(run, &frame);
    } else {
        // Its counters continue if it is resumed, so that no two attempts share an id.
        run.failed_frames.insert_mut(path.clone(), frame);
    }
}

/// Marks all tasks as completed if no step takes tasks one by one: the run has then carried out the
/// plan as a whole. It does not if no role makes changes, since the plan itself was then the
/// result.
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
        update_task_record(run, &FrameItem::Task(task), |record| {
            record.status = TaskStatus::Completed;
            record.commits = commits.to_vec();
        });
    }
}

/// Updates the parent's schedule; returns the names of the tasks that are blocked now.
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

/// Returns the root frame to what it was doing when the run ended.
pub(super) fn reopen_run(run: &mut Run) {
    run.outcome = None;
    update_frame(run, &FramePath::root(), |f| {
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
