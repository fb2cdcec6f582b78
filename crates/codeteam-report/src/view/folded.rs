//! The tasks of a plan that is too long to be listed: counted by phase, with those that matter now.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use codeteam_core::ids::PhaseId;
use codeteam_core::schedule::TaskStatus;

use super::{PhaseView, RunView, TaskCounts, TaskView};

/// The number of tasks up to which a plan is listed whole.
const LISTED_TASKS: usize = 40;

/// The tasks of one phase.
#[derive(Clone, Debug)]
pub struct PhaseTasks<'a> {
    /// The phase; `None` for tasks that belong to none.
    pub phase: Option<&'a PhaseView>,
    /// How many of its tasks are in which state.
    pub counts: TaskCounts,
    /// The tasks that are under way or failed, in the plan's order.
    pub notable: Vec<&'a TaskView>,
}

impl RunView {
    /// Returns true if the plan is too long to be listed.
    pub fn has_long_plan(&self) -> bool {
        self.tasks.len() > LISTED_TASKS
    }

    /// Returns the tasks by phase, in the plan's order.
    pub fn tasks_by_phase(&self) -> Vec<PhaseTasks<'_>> {
        let mut tasks: BTreeMap<Option<&PhaseId>, Vec<&TaskView>> = BTreeMap::new();
        for task in &self.tasks {
            tasks.entry(task.phase.as_ref()).or_default().push(task);
        }
        let phases = self
            .phases
            .iter()
            .map(|phase| (Some(&phase.id), Some(phase)));
        let folded = phases.chain([(None, None)]).filter_map(|(id, phase)| {
            let tasks = tasks.remove(&id)?;
            let mut counts = TaskCounts::default();
            for task in &tasks {
                counts.count(task.status);
            }
            let matters =
                |task: &&TaskView| matches!(task.status, TaskStatus::Running | TaskStatus::Failed);
            Some(PhaseTasks {
                phase,
                counts,
                notable: tasks.into_iter().filter(matters).collect(),
            })
        });
        folded.collect()
    }
}

impl TaskCounts {
    /// Says how many are done and what the others are, such as `12 of 40 done, 2 running`.
    pub fn to_text(self) -> String {
        let done = self.completed + self.skipped;
        let all = done + self.pending + self.running + self.failed + self.blocked;
        let mut text = format!("{done} of {all} done");
        for (count, word) in [
            (self.running, "running"),
            (self.failed, "failed"),
            (self.blocked, "blocked"),
            (self.skipped, "of them skipped"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {word}");
            }
        }
        text
    }
}
