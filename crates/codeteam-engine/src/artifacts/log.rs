//! `CODER_LOG.md`: what was done in a frame and what came of it, round by round.

use std::fmt::Write as _;

use codeteam_core::event::CheckResult;
use codeteam_core::findings::Finding;
use codeteam_core::frame::Work;
use codeteam_core::ids::{AttemptId, FramePath};
use codeteam_core::role::Kind;
use codeteam_core::submission::{Change, Submission};
use codeteam_core::{Event, Run};

use super::story::word;
use crate::report::{one_line, quote, short};
use crate::tell;

/// What an event adds to the log of its frame. `run` is the run with the event applied.
pub(super) fn entry(run: &Run, event: &Event) -> Option<(FramePath, String)> {
    let text = match event {
        Event::SubmissionReceived {
            id,
            submission,
            change,
            vote,
            ..
        } => match submission {
            Submission::Change(said) => {
                let files = change.as_ref().map(|(_, change)| change.files.as_slice());
                changed(run, id, said, files.unwrap_or_default())
            }
            Submission::Verdict(verdict) => {
                let role = tell::who(run, id);
                let word = vote.map_or("no verdict", word);
                let reason = one_line(&verdict.reason);
                format!(
                    "- **{}:** {word} - {reason}\n",
                    short(&role.as_str().into())
                )
            }
            _ => return None,
        },
        Event::FindingsChanged {
            opened, resolved, ..
        } => {
            let mut text: String = opened.iter().map(opened_line).collect();
            for answer in resolved {
                let state = format!("{:?}", answer.state).to_lowercase();
                let _ = writeln!(text, "  - {}: {state}", answer.id);
            }
            text
        }
        Event::GateJudged {
            step,
            passed,
            results,
            ..
        } => gate(step.as_str(), *passed, results),
        Event::AttemptFailed { id, facts, .. } if is_implementer(run, id) => {
            let (who, why) = (tell::who(run, id), one_line(&facts.message));
            format!("- **{who}** failed (try {}): {why}\n", id.attempt)
        }
        Event::Answered {
            answer, note, by, ..
        } => said(by, answer, note),
        Event::NoteGiven { by, text, .. } => said(by, "says", text),
        Event::RebaseConflicted { files, .. } => {
            let files = files.join(", ");
            format!("- **conflict** with what was integrated meanwhile: {files}\n")
        }
        Event::Committed {
            commit, message, ..
        } => format!(
            "- **committed** {}: {}\n",
            tell::short(commit.as_str()),
            one_line(tell::first_line(message))
        ),
        _ => return None,
    };
    let frame = tell::place(event)?.clone();
    (!text.is_empty()).then_some((frame, text))
}

/// The whole log of a frame.
pub(super) fn text(frame: &FramePath, entries: &str) -> String {
    format!("# Coder Log: {}\n{entries}", frame.name())
}

fn changed(run: &Run, id: &AttemptId, change: &Change, files: &[String]) -> String {
    let frame = run.frames.get(&id.frame);
    let round = frame.map_or(1, |f| f.record.made);
    let worker = frame
        .and_then(|f| f.slots.get(id.slot as usize))
        .filter(|slot| slot.id == *id)
        .and_then(|slot| slot.worker.clone());
    let by = worker.map(|w| format!(" ({w})")).unwrap_or_default();
    let who = tell::who(run, id);
    let mut out = format!(
        "\n## Round {round}: {who}{by}\n\n{}\n\n",
        quote(&change.summary)
    );
    let files: Vec<String> = files.iter().map(|f| crate::report::code(f)).collect();
    let files = match files.len() {
        0 => "none".to_owned(),
        _ => files.join(", "),
    };
    let _ = writeln!(out, "- **Files:** {files}");
    if !change.proof.trim().is_empty() {
        let _ = writeln!(out, "- **Proof (as claimed):** {}", one_line(&change.proof));
    }
    for concern in &change.concerns {
        let _ = writeln!(out, "- **Concern:** {}", one_line(concern));
    }
    out
}

fn gate(step: &str, passed: bool, results: &[CheckResult]) -> String {
    let mut out = format!("- **{step}:** {}\n", word(passed));
    for result in results.iter().filter(|r| !r.passed) {
        // What failed is said last, before how it ended.
        let lines = result.summary.lines().filter(|l| !l.trim().is_empty());
        let lines: Vec<&str> = lines.collect();
        let tail = lines.iter().skip(lines.len().saturating_sub(3));
        let tail: Vec<String> = tail.map(|l| one_line(l)).collect();
        let _ = writeln!(out, "  - {}: {}", one_line(&result.name), tail.join(" / "));
    }
    out
}

fn opened_line(finding: &Finding) -> String {
    let severity = format!("{:?}", finding.report.severity).to_lowercase();
    let place = finding.report.file.as_deref().map(one_line);
    let place = place.map(|p| format!(" in `{p}`")).unwrap_or_default();
    let title = one_line(&finding.report.title);
    format!("  - {} ({severity}){place}: {title}\n", finding.id)
}

fn said(by: &str, what: &str, note: &str) -> String {
    let note = match note.trim() {
        "" => String::new(),
        note => format!(" - {}", one_line(note)),
    };
    format!("- **{}:** {}{note}\n", one_line(by), one_line(what))
}

fn is_implementer(run: &Run, id: &AttemptId) -> bool {
    let slot = run
        .frames
        .get(&id.frame)
        .and_then(|f| f.slots.get(id.slot as usize));
    let role = slot.and_then(|slot| match &slot.work {
        Work::Role(name) => run.roles.get(name),
        _ => None,
    });
    role.is_some_and(|role| role.kind == Kind::Implementer)
}
