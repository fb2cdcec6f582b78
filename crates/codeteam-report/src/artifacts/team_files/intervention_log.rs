//! `INTERVENTIONS.md`: what a leader, or the rule in its place, did about results, in order.

use std::fmt::Write as _;

use codeteam_core::ids::{EpochMillis, TaskId};
use codeteam_core::team::{HelpRequest, Intervention, RefinedTask};
use codeteam_core::{Event, Run};

use super::super::format_timestamp;
use super::LISTED;
use crate::report::text::{list_item, one_line, quote_lines, quoted_passage};
use crate::task_frames::TaskFrames;

/// The interventions of a run, in their order.
#[derive(Default)]
pub(super) struct InterventionLog {
    entries: Vec<InterventionEntry>,
    left_out: usize,
}

/// One intervention.
struct InterventionEntry {
    /// When it happened, once that is known.
    at: Option<EpochMillis>,
    task: Option<TaskId>,
    intervention: Intervention,
    reason: String,
    by_rule: bool,
    refined: Option<Box<RefinedTask>>,
    help: Option<HelpRequest>,
    ends_run: bool,
}

impl InterventionLog {
    /// Remembers an intervention. Returns true if the event is one.
    pub(super) fn observe(&mut self, tasks: &TaskFrames, event: &Event) -> bool {
        let Event::Intervened {
            id,
            intervention,
            reason,
            by_rule,
            refined,
            help,
            ends_run,
            ..
        } = event
        else {
            return false;
        };
        if self.entries.len() >= LISTED {
            self.left_out += 1;
            return true;
        }
        self.entries.push(InterventionEntry {
            at: None,
            task: tasks.task_of(&id.frame).cloned(),
            intervention: *intervention,
            reason: reason.clone(),
            by_rule: *by_rule,
            refined: refined.clone(),
            help: help.clone(),
            ends_run: *ends_run,
        });
        true
    }

    /// Says when the interventions that were observed last have happened.
    pub(super) fn note_time(&mut self, at: EpochMillis) {
        let untimed = self.entries.iter_mut().rev();
        for entry in untimed.take_while(|entry| entry.at.is_none()) {
            entry.at = Some(at);
        }
    }

    /// Returns the file, if anybody intervened.
    pub(super) fn render(&self, run: &Run) -> Option<String> {
        if self.entries.is_empty() {
            return None;
        }
        let mut text = format!("# Interventions\n\n{}\n", quoted_passage(&run.goal));
        for entry in &self.entries {
            entry.push_to(&mut text);
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "\n{} later ones are not listed here.", self.left_out);
        }
        Some(text)
    }
}

impl InterventionEntry {
    fn push_to(&self, text: &mut String) {
        let task = self.task.as_ref().map_or("the run", |task| task.as_str());
        let word = self.intervention.as_str().to_uppercase();
        let _ = write!(text, "\n## {word}: {}\n\n", one_line(task));
        if let Some(at) = self.at {
            let _ = writeln!(text, "- Time: {}", format_timestamp(at));
        }
        let by = if self.by_rule { "a rule" } else { "the leader" };
        let _ = writeln!(text, "- Decided by: {by}");
        if self.ends_run {
            text.push_str("- It ended the whole run\n");
        }
        if let Some(help) = &self.help {
            let role = one_line(help.role.as_str());
            let _ = writeln!(
                text,
                "- Helper: {role}, asked for: {}",
                one_line(&help.request)
            );
        }
        let _ = write!(text, "\n{}\n", quote_lines(&self.reason));
        if let Some(refined) = &self.refined {
            push_refinement(text, refined);
        }
    }
}

/// Shows a task before and after it was refined.
fn push_refinement(text: &mut String, refined: &RefinedTask) {
    let sides = [
        ("Before", &refined.old_description, &refined.old_acceptance),
        ("From now on", &refined.description, &refined.acceptance),
    ];
    for (title, description, acceptance) in sides {
        let _ = write!(text, "\n{title}:\n");
        if !description.trim().is_empty() {
            let _ = write!(text, "\n{}\n", quote_lines(description));
        }
        if !acceptance.is_empty() {
            text.push('\n');
        }
        for line in acceptance {
            let stays = refined.acceptance.contains(line);
            let mark = if stays { "" } else { " (no longer counts)" };
            let _ = writeln!(text, "- {}{mark}", list_item(line));
        }
    }
}
