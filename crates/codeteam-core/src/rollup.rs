//! Status roll-up: tasks into phases, phases into the run.

use std::collections::BTreeMap;

use crate::event::Outcome;
use crate::frame::Stage;
use crate::ids::PhaseId;
use crate::run::Run;
use crate::schedule::Status;

/// The status of a group from the statuses of its members: failed if one failed, running if one
/// runs or some are done, completed if all are.
pub fn roll_up(members: impl IntoIterator<Item = Status>) -> Status {
    let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
    let mut total = 0;
    for member in members {
        *counts.entry(member).or_default() += 1;
        total += 1;
    }
    let count = |status| counts.get(&status).copied().unwrap_or(0);
    let done = count(Status::Completed) + count(Status::Skipped);
    if total == 0 {
        Status::Pending
    } else if done == total {
        if count(Status::Skipped) == total {
            Status::Skipped
        } else {
            Status::Completed
        }
    } else if count(Status::Running) > 0 {
        Status::Running
    } else if count(Status::Failed) > 0 {
        Status::Failed
    } else if count(Status::Blocked) == total - done {
        Status::Blocked
    } else if done > 0 {
        Status::Running
    } else {
        Status::Pending
    }
}

/// The status of each phase of the plan, in order.
pub fn phases(run: &Run) -> Vec<(PhaseId, Status)> {
    let Some(plan) = &run.plan else {
        return Vec::new();
    };
    let mut members: BTreeMap<&PhaseId, Vec<Status>> = BTreeMap::new();
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
            (
                p.id.clone(),
                roll_up(members.get(&p.id).into_iter().flatten().copied()),
            )
        })
        .collect()
}

/// What a run is doing, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Something is under way.
    Running,
    /// A person must decide.
    Waiting,
    /// It waits for a time: a retry, a quota.
    Paused,
    /// A limit is reached.
    Limited,
    /// Done.
    Completed,
    /// Given up.
    Failed,
    /// Ended by a person.
    Aborted,
}

impl RunStatus {
    /// The word for it.
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

/// What a run is doing. A person is waited for only when nothing else can go on.
pub fn status(run: &Run) -> RunStatus {
    match &run.outcome {
        Some(Outcome::Completed | Outcome::Skipped) => return RunStatus::Completed,
        Some(Outcome::Failed(_)) => return RunStatus::Failed,
        Some(Outcome::Aborted(_) | Outcome::Cancelled) => return RunStatus::Aborted,
        None => {}
    }
    let due = crate::due(run);
    if due.iter().any(|effect| effect.attempt().is_some()) {
        RunStatus::Running
    } else if run.limit.is_some() {
        RunStatus::Limited
    } else if run
        .frames
        .values()
        .any(|f| matches!(f.stage, Stage::Asking(_)))
    {
        RunStatus::Waiting
    } else {
        RunStatus::Paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{Blocked, Completed, Failed, Pending, Running, Skipped};

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
