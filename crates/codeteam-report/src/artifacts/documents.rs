//! Writes the documents of a run: the requirements, the decisions, and every submission and
//! verdict.

use std::fmt::Write as _;
use std::path::PathBuf;

use codeteam_core::findings::Finding;
use codeteam_core::frame::{Frame, FrameItem, FrameOutputs};
use codeteam_core::ids::AttemptId;
use codeteam_core::plan::Interface;
use codeteam_core::submission::{Design, Submission, VerdictChoice};
use codeteam_core::workflow::StepKind;
use codeteam_core::{Event, Run};

use super::reports::write_if_changed;
use super::task_packs::TaskFiles;
use super::{Error, is_analyst, run_folder};
use crate::describe;
use crate::records::ProjectRecords;
use crate::report::text::{
    code_block, list_item, one_line, quote_lines, quoted_passage, section_body,
};

pub(super) fn write_documents(
    records: ProjectRecords<'_>,
    run: &Run,
    events: &[Event],
    files: &mut TaskFiles,
) -> Result<(), Error> {
    let root = run_folder(records, run);
    for event in events {
        match event {
            Event::RunStarted(started) => {
                let text = format!("# Task\n\n{}\n", quoted_passage(&started.goal));
                write_if_changed(records, &root.join("task.md"), &text)?;
            }
            Event::SubmissionReceived {
                id,
                submission,
                change,
                ..
            } => {
                let changed = change.as_ref().map(|(_, change)| change.files.as_slice());
                let iteration = IterationFile {
                    records,
                    run,
                    id,
                    files,
                };
                write_submission(iteration, submission, changed.unwrap_or_default())?;
            }
            // The user's answers are the requirements, unless an analyst puts them into words.
            Event::Answered {
                frame, question, ..
            } if is_analyst(run, question) => {
                let outputs = run.frames.get(frame).map(|frame| &frame.outputs);
                let known = outputs.map(FrameOutputs::known_requirements);
                if let Some(known) = known.filter(|text| !text.is_empty()) {
                    write_requirements(records, run, &known)?;
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
                    verdict_word(*passed)
                );
                for result in results {
                    let _ = writeln!(
                        text,
                        "- **{}:** {}",
                        one_line(&result.name),
                        verdict_word(result.passed)
                    );
                    if !result.summary.is_empty() {
                        let _ = writeln!(text, "\n{}\n", code_block(&result.summary));
                    }
                }
                // Checks that run again on a replayed change belong to another step, so each gets
                // its own file.
                let what = if id.step == *step {
                    step.0.clone()
                } else {
                    format!("{}_{}_{step}", id.step, id.attempt)
                };
                let iteration = IterationFile {
                    records,
                    run,
                    id,
                    files,
                };
                iteration.write(&what, &text)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn write_requirements(
    records: ProjectRecords<'_>,
    run: &Run,
    requirements: &str,
) -> Result<(), Error> {
    let text = format!("# Requirements\n\n{}\n", section_body(requirements));
    let file = run_folder(records, run).join("requirements.md");
    write_if_changed(records, &file, &text)
}

/// A file below `iterations` that tells of an attempt.
struct IterationFile<'a> {
    records: ProjectRecords<'a>,
    run: &'a Run,
    id: &'a AttemptId,
    files: &'a mut TaskFiles,
}

impl IterationFile<'_> {
    fn write(self, what: &str, text: &str) -> Result<(), Error> {
        let name = PathBuf::from(iteration_file(self.run, self.id, what));
        write_if_changed(
            self.records,
            &run_folder(self.records, self.run).join(&name),
            text,
        )?;
        self.files.add(&self.id.frame, name);
        Ok(())
    }
}

fn write_submission(
    iteration: IterationFile<'_>,
    submission: &Submission,
    files: &[String],
) -> Result<(), Error> {
    let (records, run, id) = (iteration.records, iteration.run, iteration.id);
    let (root, who) = (run_folder(records, run), describe::attempt_name(run, id));
    match submission {
        Submission::Requirements(r) => write_requirements(records, run, &r.requirements),
        Submission::Design(design) => {
            let frame = run.frames.get(&id.frame);
            let whole = frame.and_then(|frame| frame.outputs.merged_design());
            let design = whole.as_ref().unwrap_or(design);
            let file = root.join(design_file(frame));
            write_if_changed(records, &file, &design_text(frame, design))
        }
        Submission::Change(change) => {
            let mut text = format!("# {who}\n\n{}\n", quote_lines(&change.summary));
            push_list(&mut text, "Files changed (as found in the worktree)", files);
            if !change.proof.is_empty() {
                let _ = write!(
                    text,
                    "\n## Proof (as claimed)\n\n{}\n",
                    quote_lines(&change.proof)
                );
            }
            push_list(&mut text, "Concerns", &change.concerns);
            iteration.write(&who, &text)
        }
        Submission::Verdict(verdict) => {
            let said = match verdict.verdict {
                VerdictChoice::Approve => "APPROVED",
                VerdictChoice::Reject => "REJECTED",
            };
            let mut text = format!(
                "# {who}\n\n**Result:** {said}\n\n{}\n",
                quote_lines(&verdict.reason)
            );
            let found: Vec<String> = verdict
                .findings
                .iter()
                .map(|f| format!("**{}** ({:?}) {}", one_line(&f.title), f.severity, f.detail))
                .collect();
            push_list(&mut text, "Findings", &found);
            let answered: Vec<String> = verdict
                .resolved
                .iter()
                .map(|r| format!("{}: {:?}", r.id, r.state))
                .collect();
            push_list(&mut text, "Earlier findings", &answered);
            iteration.write(&format!("{who}_review"), &text)
        }
        Submission::Questions(_)
        | Submission::Plan(_)
        | Submission::Quality(_)
        | Submission::Intervention(_)
        | Submission::Assembly(_)
        | Submission::Text(_)
        | Submission::InterfaceChange(_)
        | Submission::Blocked(_) => Ok(()),
    }
}

/// Returns the file of a design: each phase has its own.
fn design_file(frame: Option<&Frame>) -> String {
    match frame.map(|frame| &frame.item) {
        Some(FrameItem::Phase(phase)) => format!("design-{phase}.md"),
        _ => "design.md".to_owned(),
    }
}

fn design_text(frame: Option<&Frame>, design: &Design) -> String {
    let mut text = match frame.map(|frame| &frame.item) {
        Some(FrameItem::Phase(phase)) => format!("# Design of phase {phase}\n"),
        _ => "# Design\n".to_owned(),
    };
    let _ = write!(text, "\n{}\n", section_body(&design.design));
    push_list(&mut text, "Patterns", &design.patterns);
    push_list(&mut text, "Warnings", &design.warnings);
    let components = design.components.iter().map(|component| {
        let title = one_line(&component.title);
        let files = component.files.join(", ");
        format!("**{}** {title} ({files})", component.id)
    });
    push_list(&mut text, "Components", &components.collect::<Vec<_>>());
    if !design.interfaces.is_empty() {
        text.push_str("\n## Interfaces\n");
    }
    for value in &design.interfaces {
        let _ = match Interface::from_design(value) {
            Some(interface) => write!(
                text,
                "\n### {} (`{}`)\n\n{}\n",
                one_line(&interface.name),
                one_line(&interface.path()),
                code_block(interface.definition.trim_end())
            ),
            None => write!(text, "\n{}\n", code_block(&value.to_string())),
        };
    }
    text
}

/// Returns `iterations/01_coder.md`, or `iterations/task-001_01_coder.md` where there are tasks.
fn iteration_file(run: &Run, id: &AttemptId, what: &str) -> String {
    // A rejection has already advanced the round; the file belongs to the round that was judged.
    let frame = run.frames.get(&id.frame);
    let made = frame.filter(|frame| frame.change.is_some());
    let round = made.map_or(id.generation, |frame| frame.judgements.change_round);
    let slot = match instance_index(run, id) {
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

/// Counts the instances of the same role that precede an attempt's slot in its step.
fn instance_index(run: &Run, id: &AttemptId) -> usize {
    let Some(StepKind::Role(step)) = run.step(&id.step).map(|step| &step.kind) else {
        return id.slot as usize;
    };
    let role = step.slots.get(id.slot as usize);
    let before = step.slots.iter().take(id.slot as usize);
    before.filter(|other| Some(*other) == role).count()
}

fn push_list<T: AsRef<str>>(text: &mut String, title: &str, items: &[T]) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {title}\n\n");
    for item in items {
        let _ = writeln!(text, "- {}", list_item(item.as_ref()));
    }
}

/// Returns the word that reports use for a verdict.
pub(super) fn verdict_word(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

/// Formats a finding as one line.
pub(super) fn finding_line(finding: &Finding) -> String {
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
