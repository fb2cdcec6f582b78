//! Whether a changed workflow can be taken into a run under way.

use crate::assembly::plan_role_problems;
use crate::frame::{Frame, FrameStage, QuestionKind, SlotWork};
use crate::ids::StepId;
use crate::operator::Operator;
use crate::repin::PinnedWorkflow;
use crate::run::Run;
use crate::workflow::{EachItem, ExitTarget, PersonAnswer, Step, StepKind, Workflow};

/// Returns why a run cannot go on with another workflow; empty if it can.
///
/// Every frame, also those that failed and can be resumed, must find the step it is at, of the same
/// kind and in the same place, and every role that is at work or asked about must still exist.
pub fn repin_problems(run: &Run, pinned: &PinnedWorkflow) -> Vec<String> {
    let mut problems = Vec::new();
    if run.started_by == Operator::Session {
        problems
            .push("a session began the run, and could have changed the workflow itself".to_owned());
    }
    if run.rollback.is_some() {
        problems.push("the run is being taken back".to_owned());
    }
    let frames = run.frames.values().chain(run.failed_frames.values());
    for frame in frames.chain(run.ended_phases.values().map(AsRef::as_ref)) {
        let wrong = frame_problem(run, pinned, frame);
        problems.extend(wrong.map(|why| format!("{}: {why}", frame.path)));
    }
    if let Some(plan) = &run.plan {
        problems.extend(plan_role_problems(&pinned.workflow, &pinned.roles, plan));
    }
    problems
}

fn frame_problem(run: &Run, pinned: &PinnedWorkflow, frame: &Frame) -> Option<String> {
    let id = &frame.step;
    let now = pinned.workflow.steps.get(id);
    let Some(now) = now else {
        return Some(format!("it is at the step `{id}`, which is gone"));
    };
    let before = run.step(id)?;
    let is_same_kind = std::mem::discriminant(&before.kind) == std::mem::discriminant(&now.kind);
    if !is_same_kind || before.scope != now.scope || item_kind(before) != item_kind(now) {
        return Some(format!("the step `{id}` that it is at does something else"));
    }
    // A person has seen the command that publishes, and agreed to that one.
    if publish_command(Some(before)) != publish_command(Some(now)) {
        return Some(format!(
            "it is at `{id}`, which publishes with another command now"
        ));
    }
    if let Some(request) = &frame.interface_request
        && !pinned.workflow.steps.contains_key(&request.step)
    {
        let id = &request.step;
        return Some(format!("it returns to the step `{id}`, which is gone"));
    }
    let mut visited = frame.visits.keys().filter(|step| is_each(run.step(step)));
    if let Some(gone) = visited.find(|step| !is_each(pinned.workflow.steps.get(*step))) {
        return Some(format!(
            "it went through its tasks at `{gone}`, which is gone"
        ));
    }
    let differs = |step: &StepId| match (run.step(step), pinned.workflow.steps.get(step)) {
        (Some(old), Some(new)) => {
            std::mem::discriminant(&old.kind) != std::mem::discriminant(&new.kind)
        }
        _ => false,
    };
    if let Some(judge) = frame.verdicts.keys().find(|step| differs(step)) {
        return Some(format!(
            "`{judge}` judged its change, and does something else now"
        ));
    }
    for slot in &frame.slots {
        match &slot.work {
            SlotWork::Role(role) if !pinned.roles.contains_key(role) => {
                return Some(format!("the role `{role}` is at work there, and is gone"));
            }
            SlotWork::Gate(gate) if !pinned.workflow.steps.contains_key(gate) => {
                return Some(format!("the checks of `{gate}` are running, which is gone"));
            }
            _ => {}
        }
    }
    match (&frame.stage, &now.kind) {
        (FrameStage::Asking(question), StepKind::Person { answers, .. })
            if matches!(question.kind, QuestionKind::Step | QuestionKind::Rebound) =>
        {
            let names: Vec<&str> = answers.iter().map(|answer| answer.name.as_str()).collect();
            if names != question.answers {
                return Some(format!(
                    "the open question at `{id}` has other answers; answer it first"
                ));
            }
            let shown = published_by_answers(before, &run.workflow);
            (published_by_answers(now, &pinned.workflow) != shown).then(|| {
                format!(
                    "the open question at `{id}` shows another command for publishing; answer it \
                     first"
                )
            })
        }
        _ => None,
    }
}

/// Returns the command with which a step publishes.
fn publish_command(step: Option<&Step>) -> Option<&str> {
    match &step?.kind {
        StepKind::Publish { command } => Some(command),
        _ => None,
    }
}

/// Returns the command with which each answer of a person's step publishes, in order.
fn published_by_answers<'w>(person: &Step, workflow: &'w Workflow) -> Vec<Option<&'w str>> {
    let StepKind::Person { answers, .. } = &person.kind else {
        return Vec::new();
    };
    let command = |answer: &PersonAnswer| match &answer.next {
        ExitTarget::Step(step) => publish_command(workflow.steps.get(step)),
        ExitTarget::Done | ExitTarget::Fail => None,
    };
    answers.iter().map(command).collect()
}

fn is_each(step: Option<&Step>) -> bool {
    step.is_some_and(|step| matches!(step.kind, StepKind::Each { .. }))
}

/// Returns what an `each` step goes through.
fn item_kind(step: &Step) -> Option<EachItem> {
    match step.kind {
        StepKind::Each { over, .. } => Some(over),
        _ => None,
    }
}

/// Returns the steps whose verdicts no longer count, because another definition would judge.
pub(crate) fn rejudged_steps(run: &Run, pinned: &PinnedWorkflow) -> Vec<StepId> {
    let steps = run.workflow.steps.iter();
    let differing = steps.filter(|(id, before)| {
        let now = pinned.workflow.steps.get(*id);
        now.is_none_or(|now| now.kind != before.kind)
    });
    differing.map(|(id, _)| id.clone()).collect()
}
