//! A run in the list of all runs.

use codeteam_core::schedule::TaskStatus;
use codeteam_host::store::RunRow;
use serde::Serialize;

use super::{FrameView, RunView};

/// A run in the list of all runs of a project.
///
/// It is made from the run's row in the store, which costs nothing, and for a run that has not ended
/// from its view as well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunListItem {
    /// The run's id.
    pub run: String,
    /// The goal, as the user stated it.
    pub goal: String,
    /// The status in one word, as it was recorded.
    pub status: String,
    /// The state of the run, in one line.
    pub headline: String,
    /// When it was started, in milliseconds since the epoch.
    pub created_at: i64,
    /// The time of its last event, in milliseconds since the epoch.
    pub updated_at: i64,
    /// The number of its last event.
    pub events: u64,
    /// Its frames that have not ended.
    pub frames: Vec<FrameView>,
    /// The number of its questions that wait for a person.
    pub questions: usize,
    /// How many of its tasks are in which state, if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_counts: Option<TaskCounts>,
}

/// How many tasks of a plan are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// Not started.
    pub pending: usize,
    /// Under way.
    pub running: usize,
    /// Done, verified and integrated.
    pub completed: usize,
    /// Given up.
    pub failed: usize,
    /// Waiting for a task that failed.
    pub blocked: usize,
    /// Left out by a person.
    pub skipped: usize,
}

impl RunListItem {
    /// Makes the item of a run from its row, and from its view if it has not ended.
    pub fn new(row: &RunRow, view: Option<&RunView>) -> Self {
        Self {
            run: row.id.clone(),
            goal: row.goal.clone(),
            status: row.status.clone(),
            headline: row.headline.clone(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            events: row.seq,
            frames: view.map_or_else(Vec::new, |view| view.frames.clone()),
            questions: view.map_or(0, |view| view.questions.len()),
            task_counts: view.map(TaskCounts::of_run),
        }
    }
}

impl TaskCounts {
    /// Counts the tasks of a run.
    pub fn of_run(view: &RunView) -> Self {
        let mut counts = Self::default();
        for task in &view.tasks {
            counts.count(task.status);
        }
        counts
    }

    /// Counts one task.
    pub(super) fn count(&mut self, status: TaskStatus) {
        *match status {
            TaskStatus::Pending => &mut self.pending,
            TaskStatus::Running => &mut self.running,
            TaskStatus::Completed => &mut self.completed,
            TaskStatus::Failed => &mut self.failed,
            TaskStatus::Blocked => &mut self.blocked,
            TaskStatus::Skipped => &mut self.skipped,
        } += 1;
    }
}
