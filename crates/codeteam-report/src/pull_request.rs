//! The text of a pull request: what a run has done, what was verified and by whom, and what is left.

mod evidence;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use codeteam_core::findings::Finding;
use codeteam_core::ids::{RunId, TaskId};
use codeteam_core::plan::Task;
use codeteam_core::schedule::TaskStatus;
use codeteam_core::untrusted_text::one_line;
use codeteam_core::{Event, Run};

use self::evidence::CommitRecords;
use crate::describe::short_id;
use crate::records::{ProjectRecords, RecordsError};

/// The longest goal and the longest section, in bytes. All together must stay below what forges take
/// (65,536 characters) and what a program can be given in a variable (128 KiB).
const LONGEST_GOAL: usize = 10_000;
const LONGEST_SECTION: usize = 12_000;
/// The longest line of a section, in bytes.
const LONGEST_LINE: usize = 1_000;

/// Writes the body of a pull request for a run, from the run's log: it names only those checks and
/// roles that have judged what was committed.
pub fn pull_request_body(records: ProjectRecords<'_>, run: &RunId) -> Result<String, RecordsError> {
    let mut events = Vec::new();
    records.each_event(run, 0, |_, _, event| events.push(event))?;
    Ok(body_from_events(&events))
}

fn body_from_events(events: &[Event]) -> String {
    let mut run = Run::default();
    let mut commits = CommitRecords::default();
    let mut earlier = BTreeSet::new();
    for event in events {
        if let Event::RunStarted(started) = event {
            earlier.extend(started.earlier.keys().cloned());
        }
        commits.observe(&run, event);
        codeteam_core::apply(&mut run, event);
        commits.record(&run, event);
    }
    let mut body = format!("{}\n", shorten(run.goal.trim(), LONGEST_GOAL));
    push_section(&mut body, "Tasks", &done_tasks(&run, &earlier));
    push_section(&mut body, "Verified", &commits.lines(&run));
    push_section(&mut body, "Left to do", &left_to_do(&run));
    let _ = write!(body, "\nCodeteam-Run: {}\n", run.id);
    body
}

fn push_section(body: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(body, "\n## {title}\n\n");
    let most = body.len() + LONGEST_SECTION;
    for (at, line) in lines.iter().enumerate() {
        if body.len() > most {
            let _ = writeln!(body, "- and {} more", lines.len() - at);
            return;
        }
        let _ = writeln!(body, "- {}", shorten(&one_line(line), LONGEST_LINE));
    }
}

/// Returns the beginning of a text, with a mark if something is left out.
fn shorten(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}…", text[..end].trim_end())
}

fn done_tasks(run: &Run, earlier: &BTreeSet<TaskId>) -> Vec<String> {
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let done = tasks.filter_map(|task| {
        let record = run.tasks.get(&task.id)?;
        if record.status != TaskStatus::Completed {
            return None;
        }
        let commits: Vec<&str> = record
            .commits
            .iter()
            .map(|c| short_id(c.as_str()))
            .collect();
        let rounds = match record.rounds {
            0 | 1 => String::new(),
            rounds => format!(", after {rounds} rounds"),
        };
        let made = if !commits.is_empty() {
            commits.join(", ")
        } else if earlier.contains(&task.id) {
            "done before this run began".to_owned()
        } else {
            "no change was needed".to_owned()
        };
        Some(format!("{}: {} ({made}{rounds})", task.id, task.headline()))
    });
    done.collect()
}

fn left_to_do(run: &Run) -> Vec<String> {
    let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
    let undone = tasks.filter_map(|task: &Task| {
        let status = run.task_status(&task.id);
        let is_done = status == TaskStatus::Completed;
        (!is_done).then(|| format!("{}: {} ({})", task.id, task.headline(), status.as_str()))
    });
    let finding = |finding: &Finding| format!("{}: {}", finding.id, finding.report.title);
    let findings = run.tasks.iter().flat_map(|(task, record)| {
        let open = record.findings.iter();
        open.map(move |open| format!("{task}, {}", finding(open)))
    });
    let failing = run.unrepaired_tests();
    let failing = failing.map(|test| format!("`{test}` failed before and still fails"));
    undone.chain(findings).chain(failing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_longer_than_what_forges_take() {
        let mut body = shorten(&"ä".repeat(100_000), LONGEST_GOAL);
        for title in ["Tasks", "Verified", "Left to do"] {
            push_section(&mut body, title, &vec!["ö".repeat(5_000); 5_000]);
        }
        assert!(body.len() < 60_000, "{}", body.len());
        assert!(body.contains("- and 49"), "{body}");
        assert_eq!(shorten("short", 10), "short");
    }
}
