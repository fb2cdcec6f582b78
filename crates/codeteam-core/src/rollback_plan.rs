//! Works out what it means to take a run back to an earlier moment: what stays, what begins again, and
//! where the branch goes.
//!
//! [`plan_rollback`] needs nothing but the run. The decision and its preview both call it, so a person
//! sees exactly what they decide.

use std::collections::BTreeSet;

use crate::event::DeliveryOutcome;
use crate::frame::Frame;
use crate::ids::{Commit, FramePath, PhaseId, StepId};
use crate::operator::Operator;
use crate::plan::Task;
use crate::rollback::{ResumedPhase, RollbackPlan, RollbackPoint, RollbackTarget};
use crate::run::{BranchMove, Run, goes_by_phase};
use crate::schedule::TaskStatus;
use crate::workflow::StepKind;

/// Works out what it means to take a run back to a moment, or says why that cannot be done.
pub fn plan_rollback(run: &Run, to: &RollbackPoint) -> Result<RollbackPlan, String> {
    refuse_unsuitable(run)?;
    let moment = find_moment(run, to)?;
    let last = run.branch_moves.iter().rfind(|m| m.seq <= moment);
    let tip = last.map_or(&run.base, |m| &m.tip).clone();
    let undone = || run.branch_moves.iter().filter(|m| m.seq > moment);
    let commits = undone().filter(|m| m.frame.is_some());
    let commits: Vec<Commit> = commits.map(|m| m.tip.commit.clone()).collect();
    let all = run.plan.iter().flat_map(|plan| &plan.tasks);
    let tasks: Vec<&Task> = all.filter(|task| begins_again(run, task, moment)).collect();
    let phases: Vec<PhaseId> = run
        .phases
        .iter()
        .filter(|(phase, status)| {
            let path = FramePath::root().child(phase.as_str());
            !status.satisfies() || ended_at(run, &path) > moment
        })
        .map(|(phase, _)| phase.clone())
        .collect();
    let has_work = run.frames.keys().any(|path| !path.is_root());
    if tip == run.tip && tasks.is_empty() && phases.is_empty() && !has_work {
        return Err("nothing has been done since then that could be taken back".to_owned());
    }
    Ok(RollbackPlan {
        to: to.clone(),
        moment,
        from: run.tip.clone(),
        tip,
        commits,
        resumed_phases: resumed_phases(run, moment),
        tasks: tasks.into_iter().map(|task| task.id.clone()).collect(),
        phases,
        resumes_at: resumed_step(run, undone().find(|m| m.frame.is_some()))?,
    })
}

fn refuse_unsuitable(run: &Run) -> Result<(), String> {
    if let Some(DeliveryOutcome::Forward { branch, .. }) = &run.delivery_outcome {
        return Err(format!(
            "the commits of the run are on `{branch}` already, which codeteam does not move back; \
             `codeteam fork` begins a new run from an earlier moment of this one"
        ));
    }
    if run.operator == Operator::Session {
        return Err(
            "a session has the run, and its checkout cannot be taken back; hand the run over to \
             workers first (`codeteam run --continue`)"
                .to_owned(),
        );
    }
    Ok(())
}

/// Returns the number of the last event that still counts.
pub fn find_moment(run: &Run, to: &RollbackPoint) -> Result<u64, String> {
    match &to.target {
        RollbackTarget::Task(id) => {
            let task = run.task(id).ok_or(format!("there is no task `{id}`"))?;
            moment_of_tasks(run, &[task], None, to.before)
                .ok_or_else(|| not_done(&format!("task `{id}`")))
        }
        RollbackTarget::Phase(id) => {
            let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
            let tasks: Vec<&Task> = tasks.filter(|t| t.phase.as_ref() == Some(id)).collect();
            if tasks.is_empty() {
                return Err(format!("there is no phase `{id}` with tasks"));
            }
            let path = FramePath::root().child(id.as_str());
            let of_tasks = moment_of_tasks(run, &tasks, Some(path), to.before);
            let of_tasks = of_tasks.ok_or_else(|| not_done(&format!("phase `{id}`")))?;
            if to.before || !goes_by_phase(&run.workflow) {
                return Ok(of_tasks);
            }
            match run.phases.get(id) {
                Some(status) if status.satisfies() => {
                    let path = FramePath::root().child(id.as_str());
                    Ok(of_tasks.max(ended_at(run, &path)))
                }
                _ => Err(not_done(&format!("phase `{id}`"))),
            }
        }
        RollbackTarget::Event(event) => {
            let last = if to.before {
                event.saturating_sub(1)
            } else {
                *event
            };
            if last == 0 || *event > run.seq {
                return Err(format!("the run has the events 1 to {}", run.seq));
            }
            let mut gone = run.taken_back.iter();
            if let Some(gone) = gone.find(|g| g.after < last && last < g.until) {
                return Err(format!(
                    "event {last} belongs to what was taken back with event {}; `codeteam fork --at \
                     {last}` begins a new run from there",
                    gone.until
                ));
            }
            let last = if to.before && splits_interface_change(run, last) {
                last.saturating_sub(1)
            } else {
                end_of_interface_change(run, last)
            };
            Ok(end_of_commit(run, last))
        }
    }
}

fn not_done(what: &str) -> String {
    format!(
        "{what} is not done, so there is no moment after it; `--before` means the one before it"
    )
}

/// Returns the moment when the last of these tasks was done, or the one before the first of them, or
/// their phase itself, had changed anything. `None` if one of them is not done.
fn moment_of_tasks(
    run: &Run,
    tasks: &[&Task],
    phase: Option<FramePath>,
    before: bool,
) -> Option<u64> {
    let ends = tasks.iter().map(|task| {
        let is_done = run.task_status(&task.id).satisfies();
        is_done.then(|| ended_at(run, &task_path(run, task)))
    });
    if !before {
        return ends.collect::<Option<Vec<u64>>>()?.into_iter().max();
    }
    let paths = tasks.iter().map(|task| task_path(run, task));
    let paths: BTreeSet<FramePath> = paths.chain(phase).collect();
    let moves = run.branch_moves.iter();
    let committed = moves
        .filter(|m| m.frame.as_ref().is_some_and(|frame| paths.contains(frame)))
        .map(|m| m.seq);
    let first = committed.chain(ends.flatten()).min();
    Some(first.map_or(run.seq, |first| first.saturating_sub(1)))
}

/// Returns true if this is the moment between the commit of a changed interface and the event that
/// puts the interface into the plan.
fn splits_interface_change(run: &Run, moment: u64) -> bool {
    let mut revisions = run.interface_revisions.iter();
    revisions.any(|revision| revision.seq == moment.saturating_add(1))
}

/// Returns this moment, or the next one if the branch and the plan have different interfaces at this
/// one.
pub fn end_of_interface_change(run: &Run, moment: u64) -> u64 {
    moment + u64::from(splits_interface_change(run, moment))
}

/// A task ends right after its commit. A moment between the two means the task as well.
fn end_of_commit(run: &Run, moment: u64) -> u64 {
    let Some(last) = run.branch_moves.iter().rfind(|m| m.seq <= moment) else {
        return moment;
    };
    let end = last.frame.as_ref().and_then(|f| run.ended_frames.get(f));
    let Some(end) = end.filter(|end| end.seq > moment) else {
        return moment;
    };
    let mut between = run.branch_moves.iter();
    if between.any(|m| m.seq > moment && m.seq < end.seq) {
        return moment;
    }
    end.seq
}

/// Returns true if a task is not done at that moment, and something of it has to go.
fn begins_again(run: &Run, task: &Task, moment: u64) -> bool {
    let status = run.task_status(&task.id);
    let path = task_path(run, task);
    if status.satisfies() {
        return ended_at(run, &path) > moment;
    }
    status != TaskStatus::Pending || run.failed_frames.get(&path).is_some()
}

/// Returns when a frame ended. What an earlier run had done already was done from the beginning.
fn ended_at(run: &Run, path: &FramePath) -> u64 {
    run.ended_frames.get(path).map_or(1, |ended| ended.seq)
}

/// Returns the path of the frame that a task has or would have.
fn task_path(run: &Run, task: &Task) -> FramePath {
    let root = FramePath::root();
    let parent = match &task.phase {
        Some(phase) if goes_by_phase(&run.workflow) => root.child(phase.as_str()),
        _ => root,
    };
    parent.child(task.id.as_str())
}

/// Returns the phases that are not done at that moment but have tasks that are.
fn resumed_phases(run: &Run, moment: u64) -> Vec<ResumedPhase> {
    if !goes_by_phase(&run.workflow) {
        return Vec::new();
    }
    let stays_done = |task: &Task| {
        run.task_status(&task.id).satisfies() && ended_at(run, &task_path(run, task)) <= moment
    };
    let phases = run.plan.iter().flat_map(|plan| &plan.phases);
    let resumed = phases.filter_map(|phase| {
        let path = FramePath::root().child(phase.id.as_str());
        let is_done = run.phases.get(&phase.id).is_some_and(|s| s.satisfies());
        if is_done && ended_at(run, &path) <= moment {
            return None;
        }
        let mut tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
        if !tasks.any(|task| task.phase.as_ref() == Some(&phase.id) && stays_done(task)) {
            return None;
        }
        let frame = run.frames.get(&path);
        let frame = frame.or_else(|| run.failed_frames.get(&path));
        let frame = frame.or_else(|| run.ended_phases.get(&path).map(AsRef::as_ref))?;
        let step = each_step(run, frame)?;
        let frame = path;
        Some(ResumedPhase { frame, step })
    });
    resumed.collect()
}

/// Returns the step with which a frame has gone through its tasks or phases.
fn each_step(run: &Run, frame: &Frame) -> Option<StepId> {
    let is_each = |step: &StepId| {
        let kind = run.step(step).map(|step| &step.kind);
        matches!(kind, Some(StepKind::Each { .. }))
    };
    if is_each(&frame.step) {
        return Some(frame.step.clone());
    }
    frame.visits.keys().find(|step| is_each(step)).cloned()
}

/// Returns the step at which the run's own frame goes on: the one that made the first change that is
/// taken back, or the one that goes through the tasks.
fn resumed_step(run: &Run, first: Option<&BranchMove>) -> Result<StepId, String> {
    let root = run.frames.get(&FramePath::root());
    let root = root.ok_or("the run has not begun")?;
    if let Some(made) = first.filter(|m| m.frame.as_ref().is_some_and(FramePath::is_root)) {
        let mut steps = run.workflow.steps.keys();
        let by = |step: &&StepId| made.by.starts_with(&format!("{}:{step}.", root.path));
        return Ok(steps.find(by).unwrap_or(&run.workflow.start).clone());
    }
    each_step(run, root).ok_or_else(|| {
        "nothing was committed since then, and the run has not reached its tasks yet; `codeteam fork` \
         begins a new run from an earlier moment of this one"
            .to_owned()
    })
}
