//! Status roll-up: tasks into phases, phases into the run.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::frame::FrameOutcome;
use crate::frame::FrameStage;
use crate::ids::PhaseId;
use crate::run::Run;
use crate::schedule::TaskStatus;

/// Returns the status of a group from the statuses of its members.
///
/// A group is completed if all members are done (skipped if all were skipped), running if one runs,
/// otherwise failed if one failed, blocked if all that are left are blocked, running if some are
/// done, and else pending.
pub(crate) fn roll_up(members: impl IntoIterator<Item = TaskStatus>) -> TaskStatus {
    let mut counts: BTreeMap<TaskStatus, usize> = BTreeMap::new();
    let mut total = 0;
    for member in members {
        *counts.entry(member).or_default() += 1;
        total += 1;
    }
    let count = |status| counts.get(&status).copied().unwrap_or(0);
    let done = count(TaskStatus::Completed) + count(TaskStatus::Skipped);
    if total == 0 {
        TaskStatus::Pending
    } else if done == total {
        if count(TaskStatus::Skipped) == total {
            TaskStatus::Skipped
        } else {
            TaskStatus::Completed
        }
    } else if count(TaskStatus::Running) > 0 {
        TaskStatus::Running
    } else if count(TaskStatus::Failed) > 0 {
        TaskStatus::Failed
    } else if count(TaskStatus::Blocked) == total - done {
        TaskStatus::Blocked
    } else if done > 0 {
        TaskStatus::Running
    } else {
        TaskStatus::Pending
    }
}

/// Returns the status of each phase of the plan, in order.
pub fn phase_statuses(run: &Run) -> Vec<(PhaseId, TaskStatus)> {
    let Some(plan) = &run.plan else {
        return Vec::new();
    };
    let mut members: BTreeMap<&PhaseId, Vec<TaskStatus>> = BTreeMap::new();
    for task in &plan.tasks {
        if let Some(phase) = &task.phase {
            members
                .entry(phase)
                .or_default()
                .push(run.task_status(&task.id));
        }
    }
    plan.phases
        .iter()
        .map(|p| {
            let of_tasks = roll_up(members.get(&p.id).into_iter().flatten().copied());
            // Before its tasks begin, somebody may design them.
            let own = run.phases.get(&p.id).copied();
            let has_begun = of_tasks == TaskStatus::Pending && own == Some(TaskStatus::Running);
            let status = if has_begun {
                TaskStatus::Running
            } else {
                of_tasks
            };
            (p.id.clone(), status)
        })
        .collect()
}

/// The status of a run, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Something is under way.
    Running,
    /// A person must decide.
    Waiting,
    /// It waits until a given time: a retry, a quota.
    Paused,
    /// A limit is reached.
    Limited,
    /// It is done.
    Completed,
    /// It was given up.
    Failed,
    /// A person ended it.
    Aborted,
}

impl Serialize for RunStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl RunStatus {
    /// Returns the status as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Limited => "limited",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }
}

/// Returns the status of a run. It counts as waiting for a person only if nothing else can
/// continue.
pub fn run_status(run: &Run) -> RunStatus {
    match &run.outcome {
        Some(FrameOutcome::Completed | FrameOutcome::Skipped) => return RunStatus::Completed,
        Some(FrameOutcome::Failed(_)) => return RunStatus::Failed,
        Some(FrameOutcome::Aborted(_) | FrameOutcome::Cancelled) => return RunStatus::Aborted,
        None => {}
    }
    let due = crate::due(run);
    if due.iter().any(|effect| effect.attempt().is_some()) {
        RunStatus::Running
    } else if run.reached_limit.is_some() {
        RunStatus::Limited
    } else if run
        .frames
        .values()
        .any(|f| matches!(f.stage, FrameStage::Asking(_)))
    {
        RunStatus::Waiting
    } else {
        RunStatus::Paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskStatus::{Blocked, Completed, Failed, Pending, Running, Skipped};

    #[test]
    fn groups_roll_up() {
        for (members, rolled) in [
            (vec![], Pending),
            (vec![Completed, Completed], Completed),
            (vec![Completed, Skipped], Completed),
            (vec![Skipped, Skipped], Skipped),
            (vec![Completed, Pending], Running),
            (vec![Running, Failed], Running),
            (vec![Failed, Pending, Completed], Failed),
            (vec![Completed, Blocked], Blocked),
            (vec![Pending, Pending], Pending),
        ] {
            assert_eq!(roll_up(members.clone()), rolled, "{members:?}");
        }
    }
}
