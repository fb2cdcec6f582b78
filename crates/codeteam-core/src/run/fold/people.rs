//! Applies the answers and decisions of people to a frame.

use super::attempts::judged_round;
use crate::event::Event;
use crate::feedback::Feedback;
use crate::frame::{Frame, FrameStage, QuestionKind};
use crate::judgements::ChangeDecision;
use crate::reply::Reply;

/// Records a person's decision for reports. Questions by roles are not about a change and are left
/// out.
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
    // Saying how to continue is not a statement about the current change, so it overrules nothing.
    let accepts = answer == Reply::Accept.as_str();
    let over = match question.kind {
        QuestionKind::Exhausted if accepts => f.objector_names(),
        QuestionKind::Rebound
        | QuestionKind::Exhausted
        | QuestionKind::Interrupted
        | QuestionKind::Approval => Vec::new(),
        _ => f.objector_names(),
    };
    record_person_decision(f, answer, note, by, (*rejects, change.is_some()), over);
}

/// Records a person's decision on a frame's change: whether it sent the change back or came with
/// one of their own, and the objections to the change.
pub(super) fn record_person_decision(
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
    f.judgements.record_decision(judged_round(f), decided);
}

pub(super) fn apply_answer(f: &mut Frame, event: &Event) {
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
        meaning,
        ..
    } = event
    else {
        return;
    };
    let (question, meaning) = (question.clone(), meaning.as_ref());
    let reply = meaning.and_then(|meaning| meaning.reply);
    let accepts_change = match question.kind {
        QuestionKind::Step => !rejects && change.is_none(),
        QuestionKind::Exhausted => reply == Some(Reply::Accept),
        _ => false,
    };
    match question.kind {
        QuestionKind::Analyst => {
            f.answers.question_rounds += 1;
            f.outputs.settled |= meaning.is_some_and(|meaning| meaning.wants_plan);
            let said = meaning.and_then(|meaning| meaning.passed_on.as_ref());
            // The earlier analysis is stored separately, with the submission that contains the
            // questions.
            let points = if question.points.is_empty() {
                vec![question.text.clone()]
            } else {
                question.points.clone()
            };
            f.outputs
                .answers
                .push((points, said.unwrap_or(answer).clone()));
        }
        QuestionKind::Message => f.outputs.text = Some(answer.to_owned()),
        QuestionKind::Degraded => {
            f.demand.accepted = reply == Some(Reply::Accept);
        }
        _ if accepts_change => {
            f.acceptance.patch = f.change.as_ref().map(|change| change.patch.clone());
            f.acceptance.by = (!over.is_empty()).then(|| by.clone());
            f.acceptance.overruled_steps = over.iter().cloned().collect();
            f.answers.by_step.insert(f.step.clone(), answer.to_owned());
        }
        _ => {
            f.answers.by_step.insert(f.step.clone(), answer.to_owned());
        }
    }
    if question.kind != QuestionKind::Analyst {
        f.work_log.record_person(by, answer, note);
    }
    if *resets {
        f.reset_counts();
    }
    if *ends_stagnation {
        f.findings.reset_rounds();
    }
    if *rejects {
        f.round += 1;
        f.counts.rejections += 1;
    }
    if let Some((tree, change)) = change.as_deref() {
        f.counts
            .submitted_patches
            .record(&f.step, &change.patch, f.round);
        f.tree = tree.clone();
        f.change = Some(change.clone());
        f.judgements.change_round = f.round;
        f.acceptance.edited_by_person = true;
        f.outputs.text = None;
        f.acceptance.by = None;
        f.feedback.clear();
    }
    if *reverts {
        f.tree = f.base.tree.clone();
        f.change = None;
        f.acceptance.edited_by_person = false;
        f.acceptance.by = None;
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
