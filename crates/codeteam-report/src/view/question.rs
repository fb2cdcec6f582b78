//! A question to a person, with what each answer does.

use codeteam_core::Run;
use codeteam_core::decide::approvals::{APPROVE, REJECT};
use codeteam_core::frame::{Frame, FrameItem, JudgedStep, Question, QuestionKind};
use codeteam_core::ids::TaskId;
use codeteam_core::reply::Reply;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::{ExitTarget, PersonAnswer, StepKind};
use serde::Serialize;

use super::{ApprovalView, BreakdownView};
use crate::describe;

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QuestionView {
    /// The question itself: its id, kind, text, points and answers.
    #[serde(flatten)]
    pub question: Question,
    /// What each answer does, in the order of the answers. Empty if any text will do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<AnswerChoice>,
    /// Who asks: a role, or else the step.
    pub asked_by: String,
    /// Whether there is a change that the question is about.
    pub about_change: bool,
    /// Whether a planner asks, who still owes a plan.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_planner: bool,
    /// The names of the checks and roles that object to that change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
    /// How many checks and reviewers object to it as it is, each failed check counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub objection_count: usize,
    /// The task that asks, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The approval that it is about: the risk, the votes, and what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalView>,
    /// The tasks and interfaces of the phase that it is about, before anybody builds them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<BreakdownView>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// What an answer to a question does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerChoice {
    /// The answer, as it is given.
    pub answer: String,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Whether it sends the change back; the next worker is told why.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejects: bool,
    /// Whether it comes with a change of the person's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
    /// Whether it takes the change as it is, despite what is held against it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accepts: bool,
}

impl QuestionView {
    /// Makes the view of a question of a run.
    pub fn new(run: &Run, question: &Question) -> Self {
        let frame = run.frames.get(&question.id.frame);
        let changed = frame.filter(|frame| frame.change.is_some());
        let answers = question.answers.iter();
        Self {
            choices: answers.map(|a| answer_choice(run, question, a)).collect(),
            about_change: changed.is_some(),
            from_planner: is_planner(run, question),
            objections: changed.map_or_else(Vec::new, Frame::objector_names),
            objection_count: frame.map_or(0, count_objections),
            asked_by: describe::attempt_name(run, &question.id),
            task: frame.and_then(|frame| match &frame.item {
                FrameItem::Task(id) => Some(id.clone()),
                FrameItem::Run | FrameItem::Phase(_) => None,
            }),
            approval: ApprovalView::of_question(run, question),
            breakdown: BreakdownView::of_question(run, question),
            question: question.clone(),
        }
    }

    /// Makes the views of all open questions of a run.
    pub(super) fn all_open(run: &Run) -> Vec<Self> {
        super::open_questions(run)
            .map(|q| Self::new(run, q))
            .collect()
    }

    /// Returns the name of the task that asks, or of the run.
    pub fn place(&self) -> &str {
        self.question.id.frame.name()
    }

    /// Returns what an answer does.
    pub fn choice(&self, answer: &str) -> Option<&AnswerChoice> {
        self.choices.iter().find(|choice| choice.answer == answer)
    }

    /// Returns the answer that comes with a change of the person's own, if there is one.
    pub fn edit_answer(&self) -> Option<&str> {
        let edits = self.choices.iter().find(|choice| choice.edits);
        edits.map(|choice| choice.answer.as_str())
    }
}

fn answer_choice(run: &Run, question: &Question, answer: &str) -> AnswerChoice {
    let defined = workflow_answer(run, question, answer);
    let edits = defined.is_some_and(|defined| defined.edits);
    AnswerChoice {
        answer: answer.to_owned(),
        about: match defined {
            Some(_) if edits => "change it yourself, and have it checked",
            Some(defined) => describe_next(run, &defined.next),
            None => describe_reply(question.kind, answer),
        },
        rejects: match question.kind {
            QuestionKind::Approval => answer == REJECT,
            _ => defined.is_some_and(|defined| defined.rejects),
        },
        edits,
        accepts: match question.kind {
            QuestionKind::Step => defined.is_some_and(accepts_change),
            QuestionKind::Exhausted => answer == Reply::Accept.as_str(),
            _ => false,
        },
    }
}

/// Returns an answer as the workflow defines it.
fn workflow_answer<'a>(
    run: &'a Run,
    question: &Question,
    answer: &str,
) -> Option<&'a PersonAnswer> {
    let by_step = matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound);
    match &run.step(&question.id.step)?.kind {
        StepKind::Person { answers, .. } if by_step => answers.iter().find(|a| a.name == answer),
        _ => None,
    }
}

/// Describes the effect of a workflow answer by where it leads.
fn describe_next(run: &Run, next: &ExitTarget) -> &'static str {
    let ExitTarget::Step(step) = next else {
        return match next {
            ExitTarget::Fail => "give it up: it counts as failed",
            _ => "that is all",
        };
    };
    match run.step(step).map(|step| &step.kind) {
        Some(StepKind::Commit { .. }) => "commit it",
        Some(StepKind::Publish { .. }) => "publish it",
        _ => "answer so, and go on",
    }
}

/// Describes the effect of an answer to one of codeteam's own questions.
fn describe_reply(kind: QuestionKind, answer: &str) -> &'static str {
    if kind == QuestionKind::Approval {
        return match answer {
            APPROVE => "vote for it",
            REJECT => "send it back, with your words",
            _ => "take it against the policy, with your reason",
        };
    }
    match (kind, Reply::from_word(answer)) {
        (QuestionKind::Exhausted, Some(Reply::Continue)) => "go on trying, with your words",
        (QuestionKind::Exhausted, Some(Reply::Skip)) => "leave this task out",
        (QuestionKind::Degraded | QuestionKind::Exhausted, Some(Reply::Accept)) => {
            "take it as it is"
        }
        (QuestionKind::Interrupted, Some(Reply::Done)) => "it has happened: go on",
        (QuestionKind::Interrupted, Some(Reply::Again)) => "do it again",
        (_, Some(Reply::Fail)) => "give it up",
        _ => "answer so",
    }
}

/// Returns true if an answer accepts a change. What the answer does decides, because its name is up
/// to the workflow.
fn accepts_change(answer: &PersonAnswer) -> bool {
    !(answer.rejects || answer.edits || answer.reverts) && answer.next != ExitTarget::Fail
}

/// Returns true if a planner asks, who still owes a plan.
fn is_planner(run: &Run, question: &Question) -> bool {
    let Some(StepKind::Role(role)) = run.step(&question.id.step).map(|step| &step.kind) else {
        return false;
    };
    let mut roles = role.slots.iter().filter_map(|name| run.roles.get(name));
    roles.any(|role| role.kind == RoleKind::Planner)
}

/// Returns how many checks and reviewers object to a change as it is.
fn count_objections(frame: &Frame) -> usize {
    let against = frame.judged_steps().filter(JudgedStep::is_against);
    let checks = frame.outputs.checks.iter().filter(|check| !check.passed);
    let count = |judged: JudgedStep<'_>| {
        if judged.verdict.by_checks {
            checks.clone().count().max(1)
        } else {
            1
        }
    };
    against.map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_a_change_is_known_by_what_it_does() {
        let answer = |name: &str, next, rejects| PersonAnswer {
            name: name.to_owned(),
            next,
            rejects,
            resets: false,
            edits: false,
            reverts: false,
        };
        assert!(accepts_change(&answer("ship", ExitTarget::Done, false)));
        assert!(!accepts_change(&answer("accept", ExitTarget::Fail, false)));
        assert!(!accepts_change(&answer("approve", ExitTarget::Done, true)));
        let edits = PersonAnswer {
            edits: true,
            ..answer("ship", ExitTarget::Done, false)
        };
        assert!(!accepts_change(&edits));
    }
}
