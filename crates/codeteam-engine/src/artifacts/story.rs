//! The story of a run: what was asked for, what was decided, every submission and verdict.

use std::fmt::Write as _;

use codeteam_core::findings::Finding;
use codeteam_core::frame::FrameOutputs;
use codeteam_core::ids::AttemptId;
use codeteam_core::submission::{Submission, VerdictChoice};
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run};

use super::reports::update;
use super::{Error, folder, is_analyst};
use crate::engine::Engine;
use crate::report::text::{block, body, one_line, passage, point, quote};
use crate::tell;

pub(super) fn write(engine: &Engine, run: &Run, events: &[Event]) -> Result<(), Error> {
    let root = folder(engine, run);
    for event in events {
        match event {
            Event::RunStarted(started) => {
                let text = format!("# Task\n\n{}\n", passage(&started.goal));
                update(engine, &root.join("task.md"), &text)?;
            }
            Event::SubmissionReceived {
                id,
                submission,
                change,
                ..
            } => {
                let files = change.as_ref().map(|(_, change)| change.files.as_slice());
                submitted(engine, run, id, submission, files.unwrap_or_default())?;
            }
            // What the user has said is what is to be built, unless an analyst puts it in words.
            Event::Answered {
                frame, question, ..
            } if is_analyst(run, question) => {
                let outputs = run.frames.get(frame).map(|frame| &frame.outputs);
                let known = outputs.map(FrameOutputs::known_requirements);
                if let Some(known) = known.filter(|text| !text.is_empty()) {
                    required(engine, run, &known)?;
                }
            }
            Event::GateJudged {
                id,
                step,
                passed,
                results,
                tree,
            } => {
                let mut text = format!(
                    "# {step}\n\n**Result:** {}\n\nTree: {tree}\n\n",
                    word(*passed)
                );
                for result in results {
                    let _ = writeln!(
                        text,
                        "- **{}:** {}",
                        one_line(&result.name),
                        word(result.passed)
                    );
                    if !result.summary.is_empty() {
                        let _ = writeln!(text, "\n{}\n", block(&result.summary));
                    }
                }
                // Checks that run again on a replayed change are another step's, each its own.
                let what = if id.step == *step {
                    step.0.clone()
                } else {
                    format!("{}_{}_{step}", id.step, id.attempt)
                };
                update(engine, &root.join(name(run, id, &what)), &text)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn required(engine: &Engine, run: &Run, requirements: &str) -> Result<(), Error> {
    let text = format!("# Requirements\n\n{}\n", body(requirements));
    let file = folder(engine, run).join("requirements.md");
    update(engine, &file, &text)
}

fn submitted(
    engine: &Engine,
    run: &Run,
    id: &AttemptId,
    submission: &Submission,
    files: &[String],
) -> Result<(), Error> {
    let (root, who) = (folder(engine, run), tell::who(run, id));
    match submission {
        Submission::Requirements(r) => required(engine, run, &r.requirements),
        Submission::Design(design) => {
            let frame = run.frames.get(&id.frame);
            let whole = frame.and_then(|frame| frame.outputs.whole_design());
            let design = whole.as_ref().unwrap_or(design);
            let mut text = format!("# Design\n\n{}\n", body(&design.design));
            list(&mut text, "Patterns", &design.patterns);
            list(&mut text, "Warnings", &design.warnings);
            update(engine, &root.join("design.md"), &text)
        }
        Submission::Change(change) => {
            let mut text = format!("# {who}\n\n{}\n", quote(&change.summary));
            list(&mut text, "Files changed (as found in the worktree)", files);
            if !change.proof.is_empty() {
                let _ = write!(
                    text,
                    "\n## Proof (as claimed)\n\n{}\n",
                    quote(&change.proof)
                );
            }
            list(&mut text, "Concerns", &change.concerns);
            update(engine, &root.join(name(run, id, &who)), &text)
        }
        Submission::Verdict(verdict) => {
            let said = match verdict.verdict {
                VerdictChoice::Approve => "APPROVED",
                VerdictChoice::Reject => "REJECTED",
            };
            let mut text = format!(
                "# {who}\n\n**Result:** {said}\n\n{}\n",
                quote(&verdict.reason)
            );
            let found: Vec<String> = verdict
                .findings
                .iter()
                .map(|f| format!("**{}** ({:?}) {}", one_line(&f.title), f.severity, f.detail))
                .collect();
            list(&mut text, "Findings", &found);
            let answered: Vec<String> = verdict
                .resolved
                .iter()
                .map(|r| format!("{}: {:?}", r.id, r.state))
                .collect();
            list(&mut text, "Earlier findings", &answered);
            update(
                engine,
                &root.join(name(run, id, &format!("{who}_review"))),
                &text,
            )
        }
        Submission::Questions(_)
        | Submission::Plan(_)
        | Submission::Text(_)
        | Submission::Blocked(_) => Ok(()),
    }
}

/// `iterations/01_coder.md`, or `iterations/task-001_01_coder.md` where there are tasks.
fn name(run: &Run, id: &AttemptId, what: &str) -> String {
    // A rejection has moved the round on; the file belongs to the round that was judged.
    let frame = run.frames.get(&id.frame);
    let made = frame.filter(|frame| frame.change.is_some());
    let round = made.map_or(id.generation, |frame| frame.record.made);
    let slot = match instance(run, id) {
        0 => String::new(),
        before => format!("_{}", before + 1),
    };
    let task = match run.frames.get(&id.frame) {
        Some(frame) if !frame.path.is_root() => format!("{}_", frame.path.name()),
        _ if !id.frame.is_root() => format!("{}_", id.frame.name()),
        _ => String::new(),
    };
    format!("iterations/{task}{round:02}_{what}{slot}.md")
}

/// How many instances of the same role come before an attempt's in its step.
fn instance(run: &Run, id: &AttemptId) -> usize {
    let Some(StepKind::Role(step)) = run.step(&id.step).map(|step| &step.kind) else {
        return id.slot as usize;
    };
    let role = step.slots.get(id.slot as usize);
    let before = step.slots.iter().take(id.slot as usize);
    before.filter(|other| Some(*other) == role).count()
}

fn list<T: AsRef<str>>(text: &mut String, title: &str, items: &[T]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n\n");
    for item in items {
        let _ = writeln!(text, "- {}", point(item.as_ref()));
    }
}

/// The word of the reports.
pub(super) fn word(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

/// A finding in one line.
pub(super) fn finding(finding: &Finding) -> String {
    let place = finding
        .report
        .file
        .as_deref()
        .map(|f| format!(" in `{}`", one_line(f)))
        .unwrap_or_default();
    format!(
        "{} ({:?}, {:?}): {}{place}",
        finding.id,
        finding.report.severity,
        finding.state,
        one_line(&finding.report.title)
    )
}
