//! What it would mean to take a run back, for whoever decides about it.

use codeteam_core::Run;
use codeteam_core::ids::{Commit, PhaseId, RunId, TaskId};
use codeteam_core::rollback::{RollbackPoint, RollbackTarget};
use codeteam_core::rollback_plan::{end_of_interface_change, find_moment, plan_rollback};
use serde::Serialize;

use super::{LoadedRun, VIEW_VERSION};
use crate::describe;

/// The consequences of taking a run back to an earlier moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RollbackView {
    /// `VIEW_VERSION`.
    pub version: u32,
    /// The run's id.
    pub run: RunId,
    /// The moment, in words.
    pub to: String,
    /// The number of the last event that still counts.
    pub event: u64,
    /// The run's branch.
    pub branch: String,
    /// The commit that it has now.
    pub from: Commit,
    /// The commit that it will have.
    pub tip: Commit,
    /// The commits of the run that are taken back, the oldest first.
    pub commits: Vec<UndoneCommit>,
    /// The tasks that begin again.
    pub tasks: Vec<TaskId>,
    /// The tasks that are at work now, and are stopped.
    pub stopped: Vec<TaskId>,
    /// The phases that are no longer done, or go on.
    pub phases: Vec<PhaseId>,
}

/// A commit of a run that is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoneCommit {
    /// The commit.
    pub commit: Commit,
    /// The task it was made for; `None` if it is one of the run as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

impl RollbackView {
    /// Works out the consequences, or says why the run cannot be taken back to that moment.
    pub fn preview(run: &Run, to: &RollbackPoint) -> Result<Self, String> {
        let plan = plan_rollback(run, to)?;
        let commits = plan.commits.iter().map(|commit| {
            let mut moves = run.branch_moves.iter();
            let made = moves.find(|made| made.tip.commit == *commit);
            let frame = made.and_then(|made| made.frame.as_ref());
            let task = frame.filter(|frame| !frame.is_root());
            UndoneCommit {
                commit: commit.clone(),
                task: task.map(|frame| TaskId(frame.name().to_owned())),
            }
        });
        let frames = run.frames.values();
        let stopped = frames.filter_map(|frame| run.frame_task(frame));
        Ok(Self {
            version: VIEW_VERSION,
            run: run.id.clone(),
            to: describe::rollback_point(&plan.to),
            event: plan.moment,
            branch: run.branch.clone(),
            from: plan.from.commit.clone(),
            commits: commits.collect(),
            stopped: stopped.map(|task| task.id.clone()).collect(),
            tip: plan.tip.commit,
            tasks: plan.tasks,
            phases: plan.phases,
        })
    }
}

impl LoadedRun {
    /// Finds the moment that a person has named: a task, a phase or the number of an event. `task:`,
    /// `phase:` and `event:` in front say which of them is meant.
    pub fn rollback_point(&self, name: &str, before: bool) -> Result<RollbackPoint, String> {
        let plan = self.as_run().plan.as_ref();
        let (kind, name) = match name.split_once(':') {
            Some((kind @ ("task" | "phase" | "event"), name)) => (kind, name),
            _ => ("", name),
        };
        let mut found = Vec::new();
        let mut tasks = plan.iter().flat_map(|plan| &plan.tasks);
        if matches!(kind, "" | "task") && tasks.any(|task| task.id.as_str() == name) {
            found.push(RollbackTarget::Task(name.into()));
        }
        let mut phases = plan.iter().flat_map(|plan| &plan.phases);
        if matches!(kind, "" | "phase") && phases.any(|phase| phase.id.as_str() == name) {
            found.push(RollbackTarget::Phase(name.into()));
        }
        if matches!(kind, "" | "event")
            && let Ok(event) = name.parse()
        {
            found.push(RollbackTarget::Event(event));
        }
        match <[RollbackTarget; 1]>::try_from(found) {
            Ok([target]) => Ok(RollbackPoint { target, before }),
            Err(none) if none.is_empty() => Err(format!(
                "there is no task, phase or event `{name}` in {}",
                self.id
            )),
            Err(_) => Err(format!(
                "`{name}` is more than one of a task, a phase and an event; say which, as in \
                 `task:{name}`"
            )),
        }
    }

    /// Works out what it would mean to take the run back to a moment.
    pub fn preview_rollback(&self, to: &RollbackPoint) -> Result<RollbackView, String> {
        RollbackView::preview(self.as_run(), to)
    }

    /// Finds the event that a fork begins from: after a task or a phase, or an event by its number.
    pub fn fork_event(&self, name: &str) -> Result<u64, String> {
        let point = self.rollback_point(name, false)?;
        match point.target {
            RollbackTarget::Event(event) => Ok(end_of_interface_change(self.as_run(), event)),
            RollbackTarget::Task(_) | RollbackTarget::Phase(_) => {
                find_moment(self.as_run(), &point)
            }
        }
    }
}
