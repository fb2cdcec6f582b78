//! How runs, tasks, frames and attempts stand, in the words that every list uses.

use codeteam_core::ids::{EpochMillis, FramePath, TaskId};
use codeteam_core::rollup::RunStatus;
use codeteam_core::schedule::TaskStatus;

use super::{
    AttemptState, AttemptView, FrameView, QuestionView, RunListItem, RunView, SlotProgress,
    TaskView,
};
use crate::describe::{first_line, format_future_time, limit_name};

/// How something stands, in the words that every list uses. Nothing that waits looks like work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// A person must do something.
    NeedsYou,
    /// Somebody is at work.
    Working,
    /// It waits for something other than a person.
    Waiting,
    /// It was given up.
    Failed,
    /// It is done.
    Done,
    /// A person left it out, or it was stopped because nobody needs it any more.
    LeftOut,
}

impl Standing {
    /// Returns the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::NeedsYou => "needs you",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Done => "done",
            Self::LeftOut => "left out",
        }
    }
}

/// Returns how a run stands, and what there is to know about that. `run` is the run itself, if it has
/// not ended; `is_driven` says whether a living process drives it.
pub fn run_standing(
    item: &RunListItem,
    run: Option<&RunView>,
    is_driven: bool,
) -> (Standing, String) {
    let Some(run) = run else {
        let headline = item.headline.clone();
        return match item.status.as_str() {
            "completed" => (Standing::Done, headline),
            "aborted" => (Standing::LeftOut, headline),
            "failed" => (Standing::Failed, headline),
            _ => (Standing::Waiting, headline),
        };
    };
    loaded_standing(run, is_driven)
}

/// Returns the same of a run that was read. `is_driven` says whether a living process drives it.
pub fn loaded_standing(run: &RunView, is_driven: bool) -> (Standing, String) {
    let headline = run.headline.clone();
    match run.status {
        RunStatus::Waiting => (Standing::NeedsYou, headline),
        RunStatus::Limited => {
            let limit = run.cost.reached_limit.map_or("a limit", limit_name);
            (Standing::NeedsYou, format!("limit reached: {limit}"))
        }
        RunStatus::Completed => (Standing::Done, headline),
        RunStatus::Failed => (Standing::Failed, headline),
        RunStatus::Aborted => (Standing::LeftOut, headline),
        RunStatus::Running | RunStatus::Paused if !is_driven => {
            (Standing::NeedsYou, "nobody drives it".to_owned())
        }
        RunStatus::Running => (Standing::Working, headline),
        RunStatus::Paused => {
            let waits = run.waiting_on.first().cloned();
            (Standing::Waiting, waits.unwrap_or(headline))
        }
    }
}

/// Returns the frame of a task as its path would be.
pub fn task_frame(task: &TaskView) -> FramePath {
    if let Some(frame) = &task.frame {
        return frame.clone();
    }
    let parent = match &task.phase {
        Some(phase) => FramePath::root().child(phase.as_str()),
        None => FramePath::root(),
    };
    parent.child(task.id.as_str())
}

/// Returns how a task stands, and what it waits for or why it failed.
pub fn task_standing(run: &RunView, task: &TaskView) -> (Standing, String) {
    let why = || first_line(task.why.as_deref().unwrap_or_default()).to_owned();
    match task.status {
        TaskStatus::Completed => (Standing::Done, String::new()),
        TaskStatus::Failed => (Standing::Failed, why()),
        TaskStatus::Skipped => (Standing::LeftOut, String::new()),
        TaskStatus::Blocked => {
            let failed = unfinished_dependencies(run, task, TaskStatus::Failed);
            let what = match failed.as_slice() {
                [] => why(),
                failed => format!("for {}, which failed", failed.join(", ")),
            };
            (Standing::Waiting, what)
        }
        TaskStatus::Pending => {
            let open: Vec<&str> = task
                .dependencies
                .iter()
                .filter(|id| {
                    let found = run.task(id.as_str());
                    found.is_none_or(|found| found.status != TaskStatus::Completed)
                })
                .map(TaskId::as_str)
                .collect();
            let what = match open.as_slice() {
                [] if run.is_ended() => "was not started".to_owned(),
                [] => "for its turn".to_owned(),
                open => format!("for {}", open.join(", ")),
            };
            (Standing::Waiting, what)
        }
        TaskStatus::Running => {
            let frame = run.frames.iter().find(|f| f.path == task_frame(task));
            match frame {
                Some(frame) => frame_standing(run, frame),
                None => (Standing::Waiting, "for its turn".to_owned()),
            }
        }
    }
}

fn unfinished_dependencies<'a>(
    run: &'a RunView,
    task: &'a TaskView,
    status: TaskStatus,
) -> Vec<&'a str> {
    let dependencies = task.dependencies.iter();
    let found = dependencies.filter_map(|id| run.task(id.as_str()));
    let found = found.filter(|found| found.status == status);
    found.map(|found| found.id.as_str()).collect()
}

/// Returns how a frame that has not ended stands.
pub fn frame_standing(run: &RunView, frame: &FrameView) -> (Standing, String) {
    if let Some(asked) = question_of(run, &frame.path) {
        let text = first_line(&asked.question.text).to_owned();
        return (Standing::NeedsYou, text);
    }
    let running: Vec<String> = frame
        .slots
        .iter()
        .filter(|slot| slot.state == SlotProgress::Running)
        .map(|slot| match &slot.worker {
            Some(worker) => format!("{} ({worker})", slot.who),
            None => slot.who.clone(),
        })
        .collect();
    if !running.is_empty() {
        return (Standing::Working, running.join(", "));
    }
    let paused = frame.slots.iter().find_map(|slot| match slot.state {
        SlotProgress::Paused { until } => Some(EpochMillis(until)),
        _ => None,
    });
    if let Some(until) = paused {
        let until = format_future_time(until);
        return (Standing::Waiting, format!("until {until}"));
    }
    let queued = frame.slots.iter().any(|s| s.state == SlotProgress::Queued);
    let what = if queued {
        format!("at {}, for a free place", frame.step)
    } else {
        format!("at {}", frame.step)
    };
    (Standing::Waiting, what)
}

/// Returns the question that a frame asks.
pub fn question_of<'a>(run: &'a RunView, frame: &FramePath) -> Option<&'a QuestionView> {
    run.questions
        .iter()
        .find(|asked| asked.question.id.frame == *frame)
}

/// Returns how an attempt stands, and what it ended with.
pub fn attempt_standing(attempt: &AttemptView) -> (Standing, String) {
    match &attempt.state {
        AttemptState::Running => (Standing::Working, String::new()),
        AttemptState::Done => (Standing::Done, String::new()),
        AttemptState::Voted { approved: true } => (Standing::Done, "approves".to_owned()),
        AttemptState::Voted { approved: false } => {
            let failed = attempt.checks.iter().filter(|check| !check.passed);
            let failed: Vec<&str> = failed.map(|check| check.name.as_str()).collect();
            let what = match failed.as_slice() {
                [] => "rejects".to_owned(),
                failed => format!("rejects: {}", failed.join(", ")),
            };
            (Standing::Done, what)
        }
        AttemptState::Failed { why } => (Standing::Failed, why.clone()),
        AttemptState::Lost => (Standing::Failed, "codeteam stopped".to_owned()),
        AttemptState::Cancelled => (Standing::LeftOut, "stopped".to_owned()),
    }
}
