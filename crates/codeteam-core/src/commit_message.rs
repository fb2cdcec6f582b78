//! The messages of a run's commits: what a commit is about, and which message it gets.

use std::collections::BTreeSet;

use crate::frame::{Frame, FrameItem, SlotWork};
use crate::ids::{AttemptId, StepId};
use crate::message::{CommitFacts, MessageFormat, SESSION, clean_message, without_skip_markers};
use crate::operator::Operator;
use crate::role::RoleKind;
use crate::run::Run;
use crate::verdicts::current_verdicts;
use crate::workflow::{ExitTarget, ScribeOutput, StepKind};

impl CommitFacts {
    /// Collects what a frame's commit is about.
    pub fn for_frame(run: &Run, frame: &Frame) -> Self {
        let (task_id, is_task) = match &frame.item {
            FrameItem::Run => ("run".to_owned(), false),
            FrameItem::Phase(phase) => (phase.0.clone(), false),
            FrameItem::Task(task) => (task.0.clone(), true),
        };
        let of_interfaces = interfaces_headline(run, frame);
        let headline = match (run.frame_task(frame), &of_interfaces) {
            (Some(task), None) => task.headline(),
            (_, Some(headline)) => headline,
            (None, None) => run.goal.trim().lines().next().unwrap_or_default(),
        };
        let known = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
        let mut plan_id = [known.unwrap_or_default(), &run.plan_id, run.id.as_str()].into_iter();
        let plan_id = plan_id.find(|id| !id.is_empty()).unwrap_or_default();
        // For a change that a session made, the last commit says that everything is done.
        let in_session = run.started_by == Operator::Session;
        Self {
            task_id: one_line(&task_id),
            is_task,
            plan_id: one_line(plan_id),
            run: one_line(run.id.as_str()),
            role: if in_session {
                COMPLETE.to_owned()
            } else {
                one_line(&change_author(run, frame))
            },
            headline: match one_line(headline) {
                empty if empty.is_empty() => "Reach the goal".to_owned(),
                line => line,
            },
            description: match (&frame.interface_request, run.frame_task(frame)) {
                (Some(request), _) => request.reason.clone(),
                (None, Some(task)) => task.description.trim().to_owned(),
                (None, None) => String::new(),
            },
            files: frame.change.iter().flat_map(|c| c.files.clone()).collect(),
            marks: if in_session {
                verdict_marks(run, frame)
            } else {
                String::new()
            },
        }
    }

    /// Collects what a draft commit is about, which preserves what a role of a session has
    /// submitted on the way to the final one.
    fn for_draft(run: &Run, frame: &Frame, id: &AttemptId) -> Option<Self> {
        let role = frame.slot(id).and_then(|slot| match &slot.work {
            SlotWork::Role(name) => run.roles.get(name),
            _ => None,
        })?;
        let headline = match role.kind {
            RoleKind::Designer => "design submitted".to_owned(),
            RoleKind::Implementer => {
                let last = frame.judgements.rejections.last();
                let addressed = last.filter(|last| last.round + 1 == frame.round);
                match addressed {
                    Some(last) => {
                        let (round, step) = (frame.round, &last.step);
                        format!("iteration {round} - address {step} feedback")
                    }
                    None => format!("iteration {}", frame.round),
                }
            }
            _ => return None,
        };
        Some(Self {
            role: one_line(&role.name.0),
            headline,
            description: String::new(),
            marks: String::new(),
            ..Self::for_frame(run, frame)
        })
    }
}

/// Returns the message of a frame's commit: what was written for it if that has the required form,
/// else one that codeteam composes; `None` if it cannot.
pub fn commit_message(run: &Run, frame: &Frame) -> Option<String> {
    let matter = CommitFacts::for_frame(run, frame);
    let written = frame.outputs.text.as_deref().map(clean_message);
    let written = written.filter(|text| run.message_format.check(&matter, text).is_ok());
    written.or_else(|| run.message_format.compose(&matter))
}

/// The word used in place of a role when everything is done.
const COMPLETE: &str = "complete";

/// Lists who has judged a change, each with the verdict as a character.
fn verdict_marks(run: &Run, frame: &Frame) -> String {
    let judges = current_verdicts(run, frame).into_iter();
    let marks: Vec<String> = judges
        .map(|(name, approved)| format!("{name}:{}", if approved { '✓' } else { '✗' }))
        .collect();
    if marks.is_empty() {
        String::new()
    } else {
        format!(" [{}]", marks.join(" "))
    }
}

/// Returns the message of a commit that preserves what a role of a session submits; `None` if
/// nothing is preserved for that kind of role.
pub fn draft_message(run: &Run, id: &AttemptId) -> Option<String> {
    let matter = CommitFacts::for_draft(run, run.frames.get(&id.frame)?, id)?;
    let format = match &*run.message_format {
        format @ MessageFormat::Template(template) if template.contains("{role}") => format.clone(),
        _ => MessageFormat::Template(SESSION.to_owned()),
    };
    format.compose(&matter)
}

/// Returns the headline of the commit that adds the interfaces of a phase.
fn interfaces_headline(run: &Run, frame: &Frame) -> Option<String> {
    let (step, _) = change_step(frame)?;
    match (&run.step(&step)?.kind, &frame.item) {
        (StepKind::Lock, FrameItem::Phase(phase)) => {
            Some(format!("Settle the interfaces of phase {phase}"))
        }
        (StepKind::Lock, FrameItem::Task(_)) => {
            let request = frame.interface_request.as_ref()?;
            let (name, phase) = (&request.before.name, &request.phase);
            Some(format!("Change the interface {name} of phase {phase}"))
        }
        _ => None,
    }
}

/// Returns the step that made a frame's change, and the visit of that step.
fn change_step(frame: &Frame) -> Option<(StepId, u32)> {
    let by = &frame.change.as_ref()?.by;
    let attempt = by.strip_prefix(frame.path.as_str())?.strip_prefix(':')?;
    // `step.generation.slot.attempt`; the name of a step may have dots of its own.
    let mut parts = attempt.rsplitn(4, '.').skip(2);
    let generation = parts.next().and_then(|visit| visit.parse().ok());
    let step = parts.next().map(StepId::from)?;
    Some((step, generation.unwrap_or_default()))
}

/// Returns the role whose attempt made a frame's change; `someone` if that is unknown.
fn change_author(run: &Run, frame: &Frame) -> String {
    let role = change_step(frame).and_then(|(step, generation)| match &run.step(&step)?.kind {
        StepKind::Role(role) => {
            let played = frame.team.player(&step, generation);
            played.or(role.slots.first()).map(|role| role.0.clone())
        }
        StepKind::Lock => Some("interfaces".to_owned()),
        _ => None,
    });
    role.unwrap_or_else(|| "someone".to_owned())
}

/// Puts a text on one line and removes what must not be in a message.
fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect();
    // The words of a plan come from a worker, too.
    without_skip_markers(&plain)
        .replace("[redacted: ", "[")
        .trim()
        .to_owned()
}

/// Returns true if a scribe's text at a step is the message of the next commit: no step in between
/// writes or changes anything.
pub(crate) fn writes_commit_message(run: &Run, step: &StepId) -> bool {
    let writes_message = |id: &StepId| match run.step(id).map(|step| &step.kind) {
        Some(StepKind::Role(role)) => role.writes == ScribeOutput::Message,
        _ => false,
    };
    if !writes_message(step) {
        return false;
    }
    let mut seen: BTreeSet<StepId> = BTreeSet::new();
    let mut ahead: Vec<ExitTarget> = run.step(step).map(|s| s.next.clone()).into_iter().collect();
    while let Some(target) = ahead.pop() {
        let ExitTarget::Step(id) = target else {
            continue;
        };
        if !seen.insert(id.clone()) {
            continue;
        }
        let Some(step) = run.step(&id) else { continue };
        match &step.kind {
            StepKind::Commit { .. } => return true,
            StepKind::Gate { .. } => ahead.push(step.next.clone()),
            StepKind::Person { answers, .. } => {
                ahead.push(step.next.clone());
                let on = answers.iter().filter(|answer| !answer.rejects);
                ahead.extend(on.map(|answer| answer.next.clone()));
            }
            StepKind::Role(role) => {
                let kind = role.slots.first().and_then(|name| run.roles.get(name));
                let is_passed = match kind.map(|role| role.kind) {
                    Some(RoleKind::Gatekeeper) => true,
                    Some(RoleKind::Scribe) => role.writes != ScribeOutput::Message,
                    _ => false,
                };
                if is_passed {
                    ahead.push(step.next.clone());
                }
            }
            StepKind::Each { .. }
            | StepKind::Lock
            | StepKind::Publish { .. }
            | StepKind::Deliver { .. } => {}
        }
    }
    false
}
