//! `summary.md`: what became of a run, at a glance.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use codeteam_core::event::{Delivered, Outcome};
use codeteam_core::ids::FramePath;
use codeteam_core::submission::Submission;
use codeteam_core::{Event, Run};

use super::story::{finding, word};
use super::{Error, folder, replace};
use crate::engine::Engine;
use crate::tell;

pub(super) fn write(engine: &Engine, run: &Run) -> Result<(), Error> {
    replace(
        &folder(engine, run).join("summary.md"),
        text(engine, run).as_bytes(),
    )
}

fn text(engine: &Engine, run: &Run) -> String {
    let mut out = format!("# Run Summary\n\n## Task\n{}\n\n", run.goal);
    let result = match &run.outcome {
        Some(Outcome::Completed) => "SUCCESS".to_owned(),
        Some(Outcome::Failed(why)) => format!("FAILED — {}", tell::first_line(why)),
        Some(Outcome::Aborted(why)) => format!("ABORTED — {}", tell::first_line(why)),
        Some(Outcome::Skipped | Outcome::Cancelled) => "CANCELLED".to_owned(),
        None => "UNDER WAY".to_owned(),
    };
    let _ = writeln!(out, "## Result: {result}\n");
    let root = run.frames.get(&FramePath::root());
    if let Some(requirements) = root.and_then(|f| f.outputs.requirements.as_ref()) {
        let _ = writeln!(out, "## Requirements\n{requirements}\n");
    }
    if let Some(design) = root.and_then(|f| f.outputs.whole_design()) {
        let _ = writeln!(out, "## Design\n{}\n", design.design);
    }
    tasks(&mut out, run);
    let story = Story::of(engine, run);
    if !story.rows.is_empty() {
        out.push_str("## Iterations\n\n| Where | # | Who | Outcome |\n|---|---|---|---|\n");
        for row in &story.rows {
            let _ = writeln!(out, "{row}");
        }
        out.push('\n');
    }
    section(
        &mut out,
        "Files Changed",
        story.files.iter().map(|f| format!("- {f}")),
    );
    section(
        &mut out,
        "Follow-ups",
        story.follow_ups.iter().map(|f| format!("- {f}")),
    );
    let cost = &run.budget;
    let _ = writeln!(out, "## Cost\n");
    let _ = writeln!(out, "- Attempts: {}", cost.attempts);
    let _ = writeln!(out, "- Tokens: {}", cost.tokens);
    let _ = writeln!(out, "- Money: {}", tell::spent(cost));
    let _ = writeln!(out, "\n## Git\n\n- **Branch:** `{}`", run.branch);
    let _ = writeln!(out, "- **Commits:** {}", story.commits);
    match &run.delivered {
        Some(Delivered::Forward { from, .. }) => {
            let from = tell::short(from.as_str());
            let _ = writeln!(out, "- **Moved forward from:** `{from}`");
        }
        Some(Delivered::Patch { file }) => {
            let _ = writeln!(out, "- **Patch:** `{file}`");
        }
        Some(Delivered::Left { .. }) | None if story.commits > 0 => {
            let _ = writeln!(out, "- **Merge:** `codeteam merge {}`", run.id);
        }
        Some(Delivered::Left { .. }) | None => {}
    }
    let _ = writeln!(out, "\n## Confinement\n\n{}", run.confinement);
    out
}

fn tasks(out: &mut String, run: &Run) {
    let Some(plan) = &run.plan else { return };
    out.push_str("## Tasks\n\n| Task | Status | Rounds |\n|---|---|---|\n");
    for task in &plan.tasks {
        let record = run.tasks.get(&task.id).cloned().unwrap_or_default();
        let why = record
            .why
            .as_deref()
            .map(|w| format!(" — {}", tell::first_line(w)));
        let _ = writeln!(
            out,
            "| {}: {} | {}{} | {} |",
            task.id,
            cell(task.headline()),
            record.status.as_str(),
            cell(&why.unwrap_or_default()),
            record.rounds
        );
    }
    out.push('\n');
}

/// What the events tell beyond the final state.
#[derive(Default)]
struct Story {
    rows: Vec<String>,
    files: BTreeSet<String>,
    follow_ups: Vec<String>,
    commits: usize,
}

impl Story {
    fn of(engine: &Engine, run: &Run) -> Self {
        let mut story = Self::default();
        let mut state = Run::default();
        let read = engine.each_event(&run.id, 0, |_, _, event| {
            codeteam_core::apply(&mut state, &event);
            story.add(&state, &event);
        });
        if read.is_err() {
            story
                .rows
                .push("| - | - | - | the log could not be read |".to_owned());
        }
        for frame in run.frames.values().chain(run.failed.values()) {
            story.follow_ups.extend(frame.findings.open().map(finding));
        }
        story
    }

    fn add(&mut self, run: &Run, event: &Event) {
        let (id, outcome) = match event {
            Event::SubmissionReceived {
                id,
                submission,
                change,
                ..
            } => {
                if let Some((_, change)) = change {
                    self.files.extend(change.files.iter().cloned());
                }
                let outcome = match submission {
                    Submission::Verdict(v) => {
                        format!("{:?} — {}", v.verdict, tell::first_line(&v.reason))
                    }
                    Submission::Change(c) => {
                        format!("Submitted — {}", tell::first_line(&c.summary))
                    }
                    Submission::Questions(_) => "Asked".to_owned(),
                    Submission::Requirements(_) => "Requirements confirmed".to_owned(),
                    Submission::Design(_) => "Design submitted".to_owned(),
                    Submission::Plan(_) => "Plan submitted".to_owned(),
                    Submission::Text(_) | Submission::Blocked(_) => return,
                };
                (id, outcome)
            }
            Event::GateJudged {
                id, step, passed, ..
            } => {
                let row = format!(
                    "| {} | {} | {step} | {} |",
                    id.frame.name(),
                    id.generation,
                    word(*passed)
                );
                self.rows.push(row);
                return;
            }
            Event::FrameEnded { frame, .. } => {
                // Minor findings of what was integrated are left for later, and said so.
                if let Some(frame) = run.frames.get(frame) {
                    self.follow_ups.extend(frame.findings.open().map(finding));
                }
                return;
            }
            Event::Committed { .. } => {
                self.commits += 1;
                return;
            }
            _ => return,
        };
        let row = format!(
            "| {} | {} | {} | {} |",
            id.frame.name(),
            id.generation,
            tell::who(run, id),
            cell(&outcome)
        );
        self.rows.push(row);
    }
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        let _ = writeln!(out, "## {title}\n{}\n", lines.join("\n"));
    }
}

/// A text that cannot break a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
