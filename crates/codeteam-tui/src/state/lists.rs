//! The rows of the other lists, with their filters applied.

use codeteam_core::findings::{Finding, FindingState};
use codeteam_report::view::{AttemptView, RunView, TaskView};

use super::{App, LogPanel};
use crate::model::{RunHistory, TimelineLine};
use crate::text::{clean, clean_lines, matches, wrap};
use codeteam_report::view::task_standing;

/// Returns the ids of all runs, the newest first.
pub(crate) fn run_ids<'a>(app: &'a App, filter: &str) -> Vec<&'a str> {
    let mut runs: Vec<_> = app.runs.values().collect();
    runs.sort_by_key(|run| std::cmp::Reverse((run.item.created_at, run.item.run.clone())));
    runs.into_iter()
        .filter(|run| {
            let (standing, why) = run.standing();
            let words = format!(
                "{} {} {} {why}",
                run.item.run,
                run.item.goal,
                standing.word()
            );
            matches(&words, filter)
        })
        .map(|run| run.item.run.as_str())
        .collect()
}

/// Returns the tasks of a plan.
pub(crate) fn plan_tasks<'a>(run: &'a RunView, filter: &str) -> Vec<&'a TaskView> {
    run.tasks
        .iter()
        .filter(|task| {
            let (standing, why) = task_standing(run, task);
            let words = format!("{} {} {} {why}", task.id, task.title, standing.word());
            matches(&words, filter)
        })
        .collect()
}

/// Returns the attempts of a run, the newest last.
pub(crate) fn timeline_attempts<'a>(history: &'a RunHistory, filter: &str) -> Vec<&'a AttemptView> {
    history
        .attempts
        .values()
        .filter(|attempt| {
            let words = format!("{} {} {}", attempt.id.frame, attempt.id.step, attempt.who);
            matches(&words, filter)
        })
        .collect()
}

/// Returns the events of a run that have words, the newest last.
pub(crate) fn timeline_lines<'a>(history: &'a RunHistory, filter: &str) -> Vec<&'a TimelineLine> {
    history
        .timeline
        .iter()
        .filter(|line| matches(&format!("{} {}", line.place, line.words), filter))
        .collect()
}

/// Returns the findings of a run or of one task, each with the task: open ones first, the gravest of
/// them first.
pub(crate) fn finding_rows<'a>(
    run: &'a RunView,
    place: Option<&str>,
    filter: &str,
) -> Vec<(&'a str, &'a Finding)> {
    let frames = run.all_frames().filter(|frame| {
        // What a completed task left open is kept with the task.
        place.is_none_or(|place| frame.path.name() == place)
    });
    let of_frames =
        frames.flat_map(|frame| frame.findings.iter().map(move |f| (frame.path.name(), f)));
    let tasks = run.tasks.iter().filter(|task| {
        place.is_none_or(|place| task.id.as_str() == place)
            && task
                .frame
                .as_ref()
                .is_none_or(|frame| run.frame(frame).is_none())
    });
    let of_tasks = tasks.flat_map(|task| task.findings.iter().map(move |f| (task.id.as_str(), f)));
    let mut rows: Vec<_> = of_frames
        .chain(of_tasks)
        .filter(|(place, finding)| {
            let report = &finding.report;
            let file = report.file.as_deref().unwrap_or_default();
            matches(&format!("{place} {} {file}", report.title), filter)
        })
        .collect();
    rows.sort_by_key(|(place, finding)| {
        let is_closed = finding.state != FindingState::Open;
        (
            is_closed,
            std::cmp::Reverse(finding.report.severity),
            *place,
        )
    });
    rows
}

/// Returns the rows of an output: the number of the line, whether it begins there, and the text.
pub(crate) fn log_rows(log: &LogPanel, columns: usize) -> Vec<(usize, bool, String)> {
    let mut rows = Vec::new();
    if let Some(fixed) = &log.fixed {
        for (number, line) in fixed.iter().enumerate() {
            if matches(line, &log.cursor.filter) {
                rows.push((number, true, clean(line)));
            }
        }
        return rows;
    }
    for line in &log.lines {
        let mut is_first = true;
        for text in clean_lines(&line.text) {
            let pieces = if log.wraps {
                wrap(&text, columns)
            } else {
                vec![text]
            };
            for piece in pieces {
                rows.push((line.number, is_first, piece));
                is_first = false;
            }
        }
    }
    rows
}
