//! Runs that a session operates: whose turn it is, what the session may answer, and what its
//! failures have in common. Everything is derived from the run; nothing here changes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::assignment::{self, all_checks_passed};
use crate::effect::{Effect, WaitReason};
use crate::findings::Severity;
use crate::frame::{Frame, Question, QuestionKind, SlotState, SlotWork};
use crate::ids::{AttemptId, StepId};
use crate::operator::{Operator, is_session_worker};
use crate::reply::Reply;
use crate::role::Role;
use crate::run::Run;
use crate::submission::{self, Submission, SubmissionConstraints, VerdictChoice};

/// The next action of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionTurn {
    /// Carry out this attempt.
    Work(AttemptId),
    /// Wait for a person's answer.
    Ask(Box<Question>),
    /// Wait for codeteam's own work: checks, commits.
    Wait(Vec<Effect>),
    /// Nothing: workers operate the run.
    Elsewhere,
    /// Nothing: the run has ended.
    Over,
}

/// Returns whose turn it is. A session has one assignment at a time, even if several slots are
/// open: codeteam's own work comes first, then assignments in their order, then people.
pub fn next_turn(run: &Run) -> SessionTurn {
    if run.is_terminal() {
        return SessionTurn::Over;
    }
    if run.operator != Operator::Session {
        return SessionTurn::Elsewhere;
    }
    let due = crate::due(run);
    let (mut work, mut ask, mut own) = (None, None, Vec::new());
    for effect in due {
        match effect {
            Effect::StartWorker { id, worker, .. } if is_session_worker(&worker) => {
                work.get_or_insert(id);
            }
            Effect::Ask(question) => {
                ask.get_or_insert(question);
            }
            // The change goes on by time, but a person can decide before.
            Effect::Wait {
                why: WaitReason::Objection { .. },
                ..
            } => {}
            other => own.push(other),
        }
    }
    match (work, ask) {
        _ if !own.is_empty() => SessionTurn::Wait(own),
        (Some(id), _) => SessionTurn::Work(id),
        (None, Some(question)) => SessionTurn::Ask(question),
        (None, None) => SessionTurn::Wait(own),
    }
}

/// Checks an answer to an assignment before anything else is done with it. Returns the submission,
/// or what is wrong with it.
pub fn check_answer(run: &Run, id: &AttemptId, text: &str) -> Result<Submission, String> {
    let frame = run.frames.get(&id.frame).ok_or(OVER)?;
    let slot = frame.slot(id).filter(|s| s.state == SlotState::Running);
    let Some(SlotWork::Role(name)) = slot.map(|slot| &slot.work) else {
        return Err(OVER.to_owned());
    };
    let role = run.roles.get(name).ok_or(OVER)?;
    let form = assignment::answer_form(run, frame, role);
    let submission =
        submission::parse_constrained(form, text, &submission_constraints(run, frame, role))?;
    match contradicts_itself(&submission)
        .or_else(|| blocked_by_failed_checks(run, frame, &submission))
    {
        Some(why) => Err(why),
        None => Ok(submission),
    }
}

/// Returns why an approval contradicts itself: it names problems that must be fixed first. It would
/// count as a rejection, which would surprise whoever gave it.
fn contradicts_itself(submission: &Submission) -> Option<String> {
    let Submission::Verdict(verdict) = submission else {
        return None;
    };
    let mut found = verdict.findings.iter();
    let stops = found.any(|finding| finding.severity >= Severity::Major);
    (stops && verdict.verdict == VerdictChoice::Approve).then(|| {
        "it approves, but names issues that must be fixed first. To approve, name none, and put \
         remarks into the reason; otherwise reject it"
            .to_owned()
    })
}

const OVER: &str = "this assignment is over";

/// Returns the facts that an answer has to agree with.
pub(crate) fn submission_constraints<'a>(
    run: &'a Run,
    frame: &'a Frame,
    role: &'a Role,
) -> SubmissionConstraints<'a> {
    let task = run.frame_task(frame);
    let plan = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
    SubmissionConstraints {
        task: task.map(|t| &t.id),
        plan: plan
            .filter(|id| !id.is_empty())
            .or(Some(run.plan_id.as_str())),
        files: task.map(|t| t.files.as_slice()),
        passed: all_checks_passed(&frame.outputs.checks),
        criteria: task.map(|t| t.acceptance.as_slice()),
        root: role.means.root.as_deref(),
        max_chars: role.means.max_chars,
    }
}

/// Returns why an approval cannot be accepted: the orchestrator's own checks reject what it
/// approves, and no person has overruled them.
pub(crate) fn blocked_by_failed_checks(
    run: &Run,
    frame: &Frame,
    submission: &Submission,
) -> Option<String> {
    let Submission::Verdict(verdict) = submission else {
        return None;
    };
    if run.operator != Operator::Session || verdict.verdict != VerdictChoice::Approve {
        return None;
    }
    if frame.change.is_none() || frame.is_change_accepted() {
        return None;
    }
    let failing = frame
        .judged_steps()
        .filter(|j| j.verdict.by_checks && !j.verdict.approved && j.is_current());
    let gates: Vec<&StepId> = failing.map(|judged| judged.step).collect();
    if gates.is_empty() {
        return None;
    }
    let results = gates
        .iter()
        .filter_map(|step| frame.judgements.gates.get(step));
    let failed = results.flat_map(|gate| &gate.results).filter(|r| !r.passed);
    let names: Vec<String> = failed.map(|r| format!("`{}`", r.name)).collect();
    Some(format!(
        "it cannot be approved: {} failed on exactly this change. Reject it, or let a person accept it \
         outside this session",
        names.join(", ")
    ))
}

/// Interprets a session's words as an answer to a question, if it may answer it at all. Where a
/// person has to judge the change, or to accept less than was asked for, a session cannot answer.
pub fn interpret_reply(question: &Question, said: &str) -> Result<String, String> {
    let said = said.trim();
    let allowed: Vec<&str> = match question.kind {
        QuestionKind::Analyst if said.is_empty() => {
            return Err("an answer must not be empty".to_owned());
        }
        QuestionKind::Analyst => return Ok(said.to_owned()),
        QuestionKind::Rebound => question.answers.iter().map(String::as_str).collect(),
        QuestionKind::Exhausted => vec![Reply::Continue.as_str(), Reply::Fail.as_str()],
        QuestionKind::Step
        | QuestionKind::Degraded
        | QuestionKind::Interrupted
        | QuestionKind::Approval
        | QuestionKind::Message => {
            return Err("only a person can decide this, and not in this session".to_owned());
        }
    };
    let word: String = said
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .collect::<String>()
        .to_lowercase();
    let exact = allowed.iter().find(|a| a.to_lowercase() == word);
    let short = || {
        let mut fits = allowed
            .iter()
            .filter(|a| !word.is_empty() && a.to_lowercase().starts_with(&word));
        fits.next().filter(|_| fits.next().is_none())
    };
    if let Some(answer) = exact.or_else(short) {
        return Ok((*answer).to_owned());
    }
    let known: Vec<String> = allowed.iter().map(|a| format!("`{a}`")).collect();
    Err(format!("the answer must begin with {}", known.join(" or ")))
}

/// Returns the number of consecutive rejections: up to now, or when another way was offered.
pub fn count_rejections(frame: &Frame) -> u32 {
    match frame.counts.consecutive_rejections {
        0 => frame.counts.rejections_at_rebound,
        count => count,
    }
}

/// Describes what the last rejections of a frame have in common, in a sentence; `None` if nothing
/// stands out.
pub fn common_failure(frame: &Frame) -> Option<String> {
    let rejections = &frame.judgements.rejections;
    let count = (count_rejections(frame) as usize).clamp(2, rejections.len().max(2));
    if rejections.len() < 2 {
        return None;
    }
    let recent = &rejections[rejections.len().saturating_sub(count)..];
    let rounds = recent.len();
    let mut said: BTreeMap<&str, usize> = BTreeMap::new();
    for rejection in recent {
        let lines: BTreeSet<&str> = rejection.why.iter().map(String::as_str).collect();
        for line in lines {
            *said.entry(line).or_default() += 1;
        }
    }
    let same = said
        .iter()
        .filter(|(_, n)| **n > 1)
        .max_by_key(|(line, n)| (**n, std::cmp::Reverse(**line)));
    if let Some((line, n)) = same {
        return Some(format!("{n} of the last {rounds} rejections say: {line}"));
    }
    let by: BTreeSet<&StepId> = recent.iter().map(|r| &r.step).collect();
    let who = match by.first() {
        Some(step) if by.len() == 1 => format!("`{step}` rejected it {rounds} times"),
        _ => format!("it was rejected {rounds} times"),
    };
    let common = common_words(recent.iter().map(|r| r.why.join(" ")));
    match (by.len(), common.is_empty()) {
        (_, false) => Some(format!("{who}, each time about: {}", common.join(", "))),
        (1, true) => Some(format!("{who}, each time for another reason")),
        (_, true) => None,
    }
}

/// Returns up to five significant words that occur in all of these texts.
fn common_words(texts: impl Iterator<Item = String>) -> Vec<String> {
    let words = |text: String| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.chars().count() > 3)
            .map(str::to_lowercase)
            .filter(|word| !COMMON.contains(&word.as_str()))
            .collect()
    };
    let common = texts.map(words).reduce(|a, b| &a & &b);
    common.unwrap_or_default().into_iter().take(5).collect()
}

/// Words that say nothing about what is wrong.
const COMMON: &[&str] = &[
    "again", "also", "because", "been", "cannot", "code", "does", "each", "from", "have", "into",
    "more", "must", "only", "should", "still", "that", "their", "there", "these", "they", "this",
    "what", "when", "which", "will", "with", "without", "would", "your", "check", "failed",
];
