//! `QUALITY_REPORT.md`: how the results of a run were scored, task by task and round by round.

use std::fmt::Write as _;

use codeteam_core::ids::TaskId;
use codeteam_core::team::QualityScore;
use codeteam_core::{Event, Run};

use super::LISTED;
use crate::report::text::{list_item, one_line, quoted_passage};
use crate::task_frames::TaskFrames;

/// The scores that results were given, in the order in which they were.
#[derive(Default)]
pub(super) struct QualityReport {
    entries: Vec<ScoreEntry>,
    left_out: usize,
}

/// One score of one result.
struct ScoreEntry {
    task: Option<TaskId>,
    round: u32,
    /// The criteria as they were then: a leader may refine them.
    criteria: Vec<String>,
    score: QualityScore,
    threshold: u8,
    passed: bool,
}

impl QualityReport {
    /// Remembers a score. Returns true if the event is one.
    pub(super) fn observe(&mut self, run: &Run, tasks: &TaskFrames, event: &Event) -> bool {
        let Event::QualityScored {
            id,
            score,
            threshold,
            passed,
        } = event
        else {
            return false;
        };
        if self.entries.len() >= LISTED {
            self.left_out += 1;
            return true;
        }
        let frame = run.frames.get(&id.frame);
        let task = tasks.task_of(&id.frame).cloned();
        self.entries.push(ScoreEntry {
            criteria: criteria_of(run, task.as_ref()),
            task,
            round: frame.map_or(1, |frame| frame.judgements.change_round),
            score: score.clone(),
            threshold: *threshold,
            passed: *passed,
        });
        true
    }

    /// Returns the file, if anything was scored.
    pub(super) fn render(&self, run: &Run) -> Option<String> {
        if self.entries.is_empty() {
            return None;
        }
        let mut text = format!("# Quality report\n\n{}\n", quoted_passage(&run.goal));
        text.push_str(
            "\n| task | round | score | needed | result |\n| --- | --- | --- | --- | --- |\n",
        );
        for entry in &self.entries {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                entry.task_name(),
                entry.round,
                entry.score.overall_score,
                entry.threshold,
                if entry.passed { "enough" } else { "not enough" }
            );
        }
        let detailed = self.entries.iter().filter(|entry| entry.has_details());
        for entry in detailed {
            entry.push_details(&mut text);
        }
        if self.left_out > 0 {
            let _ = writeln!(
                text,
                "\n{} later scores are not listed here.",
                self.left_out
            );
        }
        Some(text)
    }
}

impl ScoreEntry {
    fn task_name(&self) -> String {
        let task = self.task.as_ref();
        task.map_or_else(|| "(the run)".to_owned(), |task| one_line(task.as_str()))
    }

    fn has_details(&self) -> bool {
        let score = &self.score;
        let lists = [&score.issues, &score.suggestions];
        !score.criteria_scores.is_empty() || lists.iter().any(|list| !list.is_empty())
    }

    fn push_details(&self, text: &mut String) {
        let score = &self.score;
        let (task, round, overall) = (self.task_name(), self.round, score.overall_score);
        let _ = write!(text, "\n## {task}, round {round}: {overall} of 100\n\n");
        for given in &score.criteria_scores {
            let at = given.criterion.saturating_sub(1) as usize;
            let name = match self.criteria.get(at) {
                Some(criterion) => one_line(criterion),
                None => format!("criterion {}", given.criterion),
            };
            let _ = write!(text, "- {}: {name}", given.score);
            if !given.reason.is_empty() {
                let _ = write!(text, " ({})", one_line(&given.reason));
            }
            text.push('\n');
        }
        for (title, lines) in [
            ("Issues", &score.issues),
            ("Suggestions", &score.suggestions),
        ] {
            if lines.is_empty() {
                continue;
            }
            let _ = write!(text, "\n{title}:\n\n");
            for line in lines {
                let _ = writeln!(text, "- {}", list_item(line));
            }
        }
    }
}

/// Returns the criteria of a task as the plan has them now.
fn criteria_of(run: &Run, task: Option<&TaskId>) -> Vec<String> {
    let position = task.and_then(|id| run.task_positions.get(id));
    let plan = run.plan.as_ref();
    let known = position.and_then(|at| plan?.tasks.get(*at));
    known.map_or_else(Vec::new, |task| task.acceptance.clone())
}
