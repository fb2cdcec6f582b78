//! What a person's answer changes.

use super::attempts::judged_round;
use crate::event::Event;
use crate::frame::{Feedback, Frame, FrameStage, QuestionKind};
use crate::record::ChangeDecision;

/// Keeps what a person decided, for reports. Questions of roles are not about a change.
pub(super) fn record_decision(f: &mut Frame, event: &Event) {
    let FrameStage::Asking(question) = &f.stage else {
        return;
    };
    let Event::Answered {
        answer,
        note,
        by,
        rejects,
        change,
        ..
    } = event
    else {
        return;
    };
    if matches!(question.kind, QuestionKind::Analyst | QuestionKind::Message) {
        return;
    }
    // How to go on says nothing of the change as it is: nothing is accepted by it.
    let over = match question.kind {
        QuestionKind::Rebound | QuestionKind::Exhausted | QuestionKind::Interrupted => Vec::new(),
        _ => f.against(),
    };
    decide_on(f, answer, note, by, (*rejects, change.is_some()), over);
}

/// Records what a person said of a frame's change, whether it sent it back or came with a change of
/// their own, and what spoke against it.
pub(super) fn decide_on(
    f: &mut Frame,
    answer: &str,
    note: &str,
    by: &str,
    (rejects, edits): (bool, bool),
    over: Vec<String>,
) {
    let patch = f.change.as_ref().map(|change| change.patch.clone());
    let decided = ChangeDecision {
        step: f.step.clone(),
        answer: answer.to_owned(),
        note: note.to_owned(),
        by: by.to_owned(),
        rejects,
        edits,
        over,
        patch,
    };
    f.record.decide(judged_round(f), decided);
}

/// What a person says when they want the plan and no more questions.
const SAVE_PLAN: &str = "/save_plan";

pub(super) fn answered(f: &mut Frame, event: &Event) {
    let FrameStage::Asking(question) = &f.stage else {
        return;
    };
    let Event::Answered {
        answer,
        note,
        by,
        resets,
        rejects,
        reverts,
        ends_stagnation,
        change,
        over,
        ..
    } = event
    else {
        return;
    };
    let question = question.clone();
    match question.kind {
        QuestionKind::Analyst => {
            f.question_rounds += 1;
            let said = match answer.trim().strip_prefix(SAVE_PLAN) {
                Some(rest) => {
                    f.outputs.settled = true;
                    let rest = rest.trim();
                    if rest.is_empty() {
                        "That is all; write the plan now."
                    } else {
                        rest
                    }
                }
                None => answer,
            };
            // What was understood before is kept by itself, with the submission that asks.
            let points = if question.points.is_empty() {
                vec![question.text.clone()]
            } else {
                question.points.clone()
            };
            f.outputs.answers.push((points, said.to_owned()));
        }
        QuestionKind::Message => f.outputs.text = Some(answer.to_owned()),
        QuestionKind::Degraded => f.level_accepted = answer == "accept",
        QuestionKind::Step if !rejects && change.is_none() => {
            f.accepted = f.change.as_ref().map(|change| change.patch.clone());
            f.accepted_by = (!over.is_empty()).then(|| by.clone());
            f.gone_over = over.iter().cloned().collect();
            f.answered.insert(f.step.clone(), answer.to_owned());
        }
        _ => {
            f.answered.insert(f.step.clone(), answer.to_owned());
        }
    }
    if question.kind != QuestionKind::Analyst {
        f.log.said(by, answer, note);
    }
    if *resets {
        f.reset_counts();
    }
    if *ends_stagnation {
        f.findings.forget_rounds();
    }
    if *rejects {
        f.round += 1;
        f.rejected += 1;
    }
    if let Some((tree, change)) = change.as_deref() {
        f.seen.record(&f.step, &change.patch, f.round);
        f.tree = tree.clone();
        f.change = Some(change.clone());
        f.record.made = f.round;
        f.handed = true;
        f.outputs.text = None;
        f.accepted_by = None;
        f.feedback.clear();
    }
    if *reverts {
        f.tree = f.base.tree.clone();
        f.change = None;
        f.handed = false;
        f.accepted_by = None;
    }
    if !note.trim().is_empty() {
        let feedback = Feedback {
            from: f.step.clone(),
            text: note.to_owned(),
            body: None,
        };
        f.feedback.push(feedback);
    }
    f.stage = FrameStage::Working;
}
