//! Renders `FEEDBACK.md`: the gatekeepers' verdicts on a plan, the newest round first.

use std::fmt::Write as _;

use codeteam_core::ids::{FindingId, FramePath, RoleName};
use codeteam_core::submission::Submission;
use codeteam_core::{Event, Run};

use super::documents::verdict_word;
use crate::describe;
use crate::report::{inline_code, one_line, quote_lines, role_words};

/// One gatekeeper's verdict on the plan.
pub(super) struct PlanFeedbackEntry {
    round: u32,
    role: RoleName,
    slot: u32,
    vote: Option<bool>,
    reason: String,
    opened: Vec<FindingId>,
}

/// Records a verdict on the plan, or the findings that came with the latest one. `run` is the run
/// with the event already applied.
pub(super) fn record_verdict(entries: &mut Vec<PlanFeedbackEntry>, run: &Run, event: &Event) {
    let root = FramePath::root();
    let Some(frame) = run.frames.get(&root).filter(|f| f.change.is_none()) else {
        return;
    };
    if run.plan.is_none() {
        return;
    }
    match event {
        Event::SubmissionReceived {
            id,
            submission: Submission::Verdict(verdict),
            vote,
            ..
        } if id.frame == root => entries.push(PlanFeedbackEntry {
            round: frame.round,
            role: describe::attempt_name(run, id).into(),
            slot: id.slot,
            vote: *vote,
            reason: verdict.reason.clone(),
            opened: Vec::new(),
        }),
        Event::FindingsChanged { frame, opened, .. } if *frame == root => {
            let Some(first) = opened.first() else { return };
            let mut newest = entries.iter_mut().rev();
            if let Some(entry) = newest.find(|e| e.slot == first.slot) {
                entry.opened.extend(opened.iter().map(|f| f.id.clone()));
            }
        }
        _ => {}
    }
}

/// Renders the whole file.
pub(super) fn render_feedback(run: &Run, entries: &[PlanFeedbackEntry]) -> Option<String> {
    let newest = entries.last()?.round;
    let plan = run.plan.as_ref()?;
    let mut out = format!(
        "# Feedback on Plan: {}\n\n- **Run:** {}\n",
        one_line(&plan.plan_id),
        inline_code(run.id.as_str())
    );
    let findings = run.frames.get(&FramePath::root()).map(|f| &f.findings);
    for round in (0..=newest).rev() {
        let mut entries = entries.iter().filter(|e| e.round == round).peekable();
        if entries.peek().is_none() {
            continue;
        }
        let _ = write!(out, "\n## Round {round}\n");
        for entry in entries {
            let name = role_words(&entry.role);
            let result = entry.vote.map_or("no verdict", verdict_word);
            let _ = write!(
                out,
                "\n**{name}:** {result}\n\n{}\n",
                quote_lines(&entry.reason)
            );
            let own = findings.iter().flat_map(|all| all.iter());
            let own: Vec<_> = own.filter(|f| entry.opened.contains(&f.id)).collect();
            if !own.is_empty() {
                out.push('\n');
            }
            for finding in own {
                let severity = format!("{:?}", finding.report.severity).to_lowercase();
                let state = format!("{:?}", finding.state).to_lowercase();
                let (id, title) = (&finding.id, one_line(&finding.report.title));
                let _ = writeln!(out, "- **{id}** ({severity}, {state}): {title}");
                if !finding.report.detail.trim().is_empty() {
                    for line in quote_lines(&finding.report.detail).lines() {
                        let _ = writeln!(out, "  {line}");
                    }
                }
            }
        }
    }
    Some(out)
}
