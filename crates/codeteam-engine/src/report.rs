//! The verification report of a frame: what checks, verifiers and people say of its change.
//!
//! [`of`] takes it from the run alone; [`VerificationReport::count`] adds what only the diff tells. It is shown
//! as Markdown for files, in lines for a terminal, and as JSON.

mod markdown;
mod past;
mod screen;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use codeteam_core::Run;
use codeteam_core::event::{CheckResult, FrameOutcome};
use codeteam_core::findings::{Finding, FindingState};
use codeteam_core::frame::{Frame, FrameItem, FrameStage, Question, QuestionKind};
use codeteam_core::ids::{Commit, PatchId, PhaseId, RoleName, RunId, StepId, TaskId, Tree};
use codeteam_core::record::{ChangeDecision, GatekeeperVote, Rejection};
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::{CheckClass, JoinRule, PersonAnswer, StepCondition, StepKind};
use serde::Serialize;

pub(crate) use self::past::ended;
pub use self::past::{JudgementHistory, full, past};
pub use self::screen::{ScreenLine, ScreenSpan, TextTone};
pub(crate) use self::text::{body, code, one_line, passage, quote};

/// Answers that let a change go on, in the order they are looked for.
const ACCEPTS: [&str; 6] = ["accept", "approve", "yes", "ok", "continue", "done"];

/// A verification report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerificationReport {
    /// The run.
    pub run: RunId,
    /// What was judged.
    pub subject: ReportSubject,
    /// What it is about, in a line.
    pub title: String,
    /// All of it in one word.
    pub result: ReportVerdict,
    /// The round that the change was made in.
    pub round: u32,
    /// The tree that was judged.
    pub tree: Tree,
    /// The files of the change.
    pub files: Vec<ReportedFile>,
    /// What the orchestrator's checks found.
    pub checks: Vec<ReportedCheck>,
    /// What each verifier said.
    pub verifiers: Vec<VerifierReport>,
    /// Every finding there ever was, with where it stands.
    pub findings: Vec<Finding>,
    /// How earlier changes were sent back, the oldest first.
    pub earlier: Vec<Rejection>,
    /// What a person can decide, if one is asked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewChoices>,
    /// What a person decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<ChangeDecision>,
    /// Files of the project's configuration that were not as they are committed when a session began the
    /// run: the checks are those that they name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edited_config: Vec<String>,
    /// The commits that were made of it.
    pub commits: Vec<Commit>,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<FrameOutcome>,
}

/// What was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportSubject {
    /// The change of a task.
    Task(TaskId),
    /// The change of a phase.
    Phase(PhaseId),
    /// The plan, before there is a change.
    Plan(String),
    /// The change of the run as a whole.
    Run(RunId),
}

/// A verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportVerdict {
    /// All is well.
    Pass,
    /// It is not.
    Fail,
    /// Not everybody has judged yet.
    Pending,
}

impl ReportVerdict {
    /// The word of reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Pending => "PENDING",
        }
    }

    fn of(passed: bool) -> Self {
        if passed { Self::Pass } else { Self::Fail }
    }
}

/// A file of the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedFile {
    /// Where.
    pub path: String,
    /// Lines that are new and lines that are gone, where that is known and there are lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
}

/// What a check found, and for which gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedCheck {
    /// The gate.
    pub gate: StepId,
    /// What it found.
    #[serde(flatten)]
    pub result: CheckResult,
}

/// What the instances of one verifier said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifierReport {
    /// The role.
    pub role: RoleName,
    /// The step.
    pub step: StepId,
    /// All instances in one word.
    pub result: ReportVerdict,
    /// How many approve.
    pub approve: usize,
    /// How many there are.
    pub of: usize,
    /// Each that has spoken.
    pub ballots: Vec<GatekeeperVote>,
    /// Its findings that are open.
    pub findings: Vec<Finding>,
}

/// What a person can decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewChoices {
    /// Whether the question is open now.
    pub open: bool,
    /// What is asked.
    pub question: String,
    /// The answer that lets the change go on, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// The answer that sends it back, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject: Option<String>,
    /// Whether that answer also undoes the change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverts: bool,
    /// The other answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Whether the person may change it and hand it back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
}

/// The report of a frame, as far as the run itself tells. `None` if nothing in it was judged yet.
pub fn of(run: &Run, frame: &Frame) -> Option<VerificationReport> {
    let record = &frame.record;
    let current = frame.change.as_ref().map(|change| &change.patch);
    // A change that was sent back may be gone from the frame; it is still the one that was judged.
    let patch = current
        .or_else(|| record.rejections.last()?.patch.as_ref())
        .cloned();
    let checks = checks(frame, patch.as_ref());
    let verifiers = verifiers(run, frame, patch.as_ref());
    let of_this = |decided: &&ChangeDecision| decided.patch == patch;
    let decided = record.decided.as_ref().filter(of_this).cloned();
    let earlier = record.rejections.iter().filter(|r| r.patch != patch);
    let earlier: Vec<Rejection> = earlier.map(|r| Rejection::clone(r)).collect();
    if checks.is_empty() && verifiers.is_empty() && decided.is_none() && earlier.is_empty() {
        return None;
    }
    let is_plan = frame.path.is_root() && patch.is_none() && run.plan.is_some();
    let ballots = verifiers.iter().flat_map(|v| &v.ballots);
    let mut trees = ballots.map(|b| &b.tree);
    let tree = match current {
        Some(_) => Some(&frame.tree),
        None => trees.next_back(),
    };
    let files = frame.change.iter().flat_map(|change| &change.files);
    Some(VerificationReport {
        run: run.id.clone(),
        subject: subject(run, frame, is_plan),
        title: title(run, frame),
        result: overall(frame, &checks, &verifiers, patch.as_ref()),
        round: round(frame, &verifiers),
        tree: tree.unwrap_or(&frame.tree).clone(),
        files: files
            .map(|path| ReportedFile {
                path: path.clone(),
                lines: None,
            })
            .collect(),
        checks,
        verifiers,
        findings: frame.findings.iter().cloned().collect(),
        earlier,
        review: review(run, frame, is_plan),
        decided,
        edited_config: run.edited_config.clone(),
        commits: frame.commits.clone(),
        ended: match &frame.stage {
            FrameStage::Ended(outcome) => Some(outcome.clone()),
            _ => None,
        },
    })
}

impl VerificationReport {
    /// Counts the lines of each file by the diff that was judged.
    #[must_use]
    pub fn count(mut self, diff: &[u8]) -> Self {
        let counts = text::count(diff);
        for file in &mut self.files {
            let counted = counts.iter().find(|(path, ..)| *path == file.path);
            file.lines = counted.map(|(_, added, removed)| (*added, *removed));
        }
        self
    }

    /// The checks of a class.
    pub fn of_class(&self, class: CheckClass) -> Vec<&CheckResult> {
        let all = self.checks.iter().map(|checked| &checked.result);
        all.filter(|result| result.class == class).collect()
    }

    /// The subject's own name: of the task, the phase, the plan or the run.
    pub fn name(&self) -> &str {
        match &self.subject {
            ReportSubject::Task(id) => id.as_str(),
            ReportSubject::Phase(id) => id.as_str(),
            ReportSubject::Plan(id) => id,
            ReportSubject::Run(id) => id.as_str(),
        }
    }

    /// Whether the change was accepted though something spoke against it, and what.
    pub fn accepted_over(&self) -> Option<&ChangeDecision> {
        let decided = self.decided.as_ref()?;
        let accepts = self.review.as_ref().and_then(|r| r.accept.as_ref());
        let accepted = !decided.rejects
            && (accepts == Some(&decided.answer) || ACCEPTS.contains(&decided.answer.as_str()));
        (accepted && !decided.over.is_empty()).then_some(decided)
    }
}

impl ReportSubject {
    /// What kind of thing it is, for headings.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Task(_) => "Task",
            Self::Phase(_) => "Phase",
            Self::Plan(_) => "Plan",
            Self::Run(_) => "Run",
        }
    }
}

impl VerifierReport {
    /// `Code Verifier - Task Completion`.
    pub fn heading(&self, subject: &ReportSubject) -> String {
        let kind = match subject {
            ReportSubject::Plan(_) => "Plan Verifier",
            _ => "Code Verifier",
        };
        let own = words(&self.role);
        if own == kind {
            own
        } else {
            format!("{kind} - {own}")
        }
    }
}

/// `task_completion` and `adversarial/task-completion` in words.
pub(crate) fn words(role: &RoleName) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string());
        first.unwrap_or_default() + chars.as_str()
    };
    let parts = short(role).split(['_', '-']).filter(|w| !w.is_empty());
    let words: Vec<String> = parts.map(capital).collect();
    words.join(" ")
}

/// A role's name without the workflow that it belongs to.
pub(crate) fn short(role: &RoleName) -> &str {
    role.as_str().rsplit('/').next().unwrap_or(role.as_str())
}

fn subject(run: &Run, frame: &Frame, is_plan: bool) -> ReportSubject {
    match (&frame.item, &run.plan) {
        (FrameItem::Task(id), _) => ReportSubject::Task(id.clone()),
        (FrameItem::Phase(id), _) => ReportSubject::Phase(id.clone()),
        (FrameItem::Run, Some(plan)) if is_plan => ReportSubject::Plan(plan.plan_id.clone()),
        (FrameItem::Run, _) => ReportSubject::Run(run.id.clone()),
    }
}

fn title(run: &Run, frame: &Frame) -> String {
    let task = run.task_of(frame).map(|task| task.headline().to_owned());
    task.unwrap_or_else(|| crate::tell::first_line(&run.goal).to_owned())
}

fn round(frame: &Frame, verifiers: &[VerifierReport]) -> u32 {
    let judged = verifiers.iter().flat_map(|v| &v.ballots).map(|b| b.round);
    match frame.change {
        Some(_) => frame.record.made,
        None => judged.max().unwrap_or(frame.round),
    }
}

fn checks(frame: &Frame, patch: Option<&PatchId>) -> Vec<ReportedCheck> {
    let gates = frame.record.gates.iter();
    gates
        .filter(|(_, gate)| gate.patch.as_ref() == patch)
        .flat_map(|(step, gate)| {
            gate.results.iter().map(|result| ReportedCheck {
                gate: step.clone(),
                result: result.clone(),
            })
        })
        .collect()
}

fn verifiers(run: &Run, frame: &Frame, patch: Option<&PatchId>) -> Vec<VerifierReport> {
    let mut found: Vec<VerifierReport> = Vec::new();
    let mut steps: Vec<&StepId> = frame.record.ballots.keys().collect();
    if !steps.contains(&&frame.step) && is_verifying(run, frame) {
        steps.push(&frame.step);
    }
    for step in steps {
        let Some(StepKind::Role(role_step)) = run.step(step).map(|s| &s.kind) else {
            continue;
        };
        let ballots = frame.record.ballots.get(step).into_iter().flatten();
        let ballots: Vec<&GatekeeperVote> = ballots.filter(|b| b.patch.as_ref() == patch).collect();
        let is_here = frame.step == *step && is_verifying(run, frame);
        if ballots.is_empty() && !is_here {
            continue;
        }
        // Of those who judge small changes and those who judge the others, the ones that were asked.
        let is_asked = |slot: u32| {
            role_step.small_from.is_none()
                || ballots.iter().any(|b| b.slot == slot)
                || (is_here && frame.slots.iter().any(|s| s.id.slot == slot))
        };
        let asked = (0..).zip(&role_step.slots).filter(|(i, _)| is_asked(*i));
        let asked: Vec<(u32, &RoleName)> = asked.collect();
        let mut roles: Vec<&RoleName> = Vec::new();
        for (_, role) in &asked {
            if !roles.contains(role) {
                roles.push(role);
            }
        }
        for role in roles {
            let of = asked.iter().filter(|(_, r)| *r == role).count();
            let own: Vec<GatekeeperVote> = ballots
                .iter()
                .filter(|b| b.role == *role)
                .map(|b| GatekeeperVote::clone(b))
                .collect();
            let slots: Vec<u32> = asked
                .iter()
                .filter(|(_, r)| *r == role)
                .map(|(i, _)| *i)
                .collect();
            let findings = frame.findings.open();
            found.push(VerifierReport {
                role: role.clone(),
                step: step.clone(),
                result: mark(role_step.join, &own, of),
                approve: own.iter().filter(|b| b.vote == Some(true)).count(),
                of,
                findings: findings
                    .filter(|f| f.step == *step && slots.contains(&f.slot))
                    .cloned()
                    .collect(),
                ballots: own,
            });
        }
    }
    found
}

/// Whether gatekeepers are at work in a frame.
fn is_verifying(run: &Run, frame: &Frame) -> bool {
    let Some(StepKind::Role(step)) = run.step_of(frame).map(|s| &s.kind) else {
        return false;
    };
    let role = step.slots.first().and_then(|name| run.roles.get(name));
    frame.stage == FrameStage::Working && role.is_some_and(|role| role.kind == RoleKind::Gatekeeper)
}

/// What the instances of one role say together.
fn mark(join: JoinRule, ballots: &[GatekeeperVote], of: usize) -> ReportVerdict {
    if ballots.len() < of {
        return ReportVerdict::Pending;
    }
    let votes: Vec<_> = ballots.iter().map(|b| (&b.role, b.vote)).collect();
    ReportVerdict::of(join.approves(&votes))
}

fn overall(
    frame: &Frame,
    checks: &[ReportedCheck],
    verifiers: &[VerifierReport],
    patch: Option<&PatchId>,
) -> ReportVerdict {
    let gates = frame.record.gates.values();
    let failed = gates
        .filter(|gate| gate.patch.as_ref() == patch)
        .any(|gate| !gate.passed);
    let mut marks = vec![ReportVerdict::of(!failed)];
    for verifier in verifiers {
        let judged = frame.verdicts.get(&verifier.step);
        let judged = judged.filter(|v| v.patch.as_ref() == patch);
        marks.push(match (judged, verifier.result) {
            (_, ReportVerdict::Pending) => ReportVerdict::Pending,
            // The step's own rule says what the verdict of one role is worth.
            (Some(judged), _) => ReportVerdict::of(judged.approved),
            (None, result) => result,
        });
    }
    if marks.contains(&ReportVerdict::Fail) {
        ReportVerdict::Fail
    } else if marks.contains(&ReportVerdict::Pending) || (checks.is_empty() && verifiers.is_empty())
    {
        ReportVerdict::Pending
    } else {
        ReportVerdict::Pass
    }
}

/// What a person is asked, or will be, about what is judged here.
fn review(run: &Run, frame: &Frame, is_plan: bool) -> Option<ReviewChoices> {
    if let FrameStage::Asking(question) = &frame.stage {
        return asked(run, question);
    }
    if frame.is_ended() || is_plan {
        return None;
    }
    let scope = run.step_of(frame).and_then(|step| step.scope.clone());
    let steps = run.workflow.steps.values().filter(|s| s.scope == scope);
    let steps = steps.filter(|s| s.when.as_ref().is_none_or(|when| may_hold(run, when)));
    let mut steps = steps.filter_map(|step| match &step.kind {
        StepKind::Person {
            question, answers, ..
        } if answers.iter().any(|a| a.rejects) => Some((question, answers)),
        _ => None,
    });
    let (question, answers) = steps.next()?;
    let names: Vec<String> = answers.iter().map(|a| a.name.clone()).collect();
    Some(offered(false, question, &names, answers))
}

/// Whether a condition may yet hold: settings are known from the start, all else may come.
fn may_hold(run: &Run, condition: &StepCondition) -> bool {
    let on = |name: &String| run.workflow.settings.get(name).copied().unwrap_or(false);
    match condition {
        StepCondition::Setting(name) => on(name),
        StepCondition::Not(inner) => match inner.as_ref() {
            StepCondition::Setting(name) => !on(name),
            _ => true,
        },
        StepCondition::All(all) => all.iter().all(|c| may_hold(run, c)),
        StepCondition::Any(any) => any.iter().any(|c| may_hold(run, c)),
        _ => true,
    }
}

fn asked(run: &Run, question: &Question) -> Option<ReviewChoices> {
    if matches!(question.kind, QuestionKind::Analyst | QuestionKind::Message) {
        return None;
    }
    let answers = match run.step(&question.id.step).map(|step| &step.kind) {
        Some(StepKind::Person { answers, .. }) => answers.as_slice(),
        _ => &[],
    };
    Some(offered(true, &question.text, &question.answers, answers))
}

fn offered(
    open: bool,
    question: &str,
    names: &[String],
    answers: &[PersonAnswer],
) -> ReviewChoices {
    let rejects = |name: &&String| answers.iter().any(|a| a.rejects && a.name == **name);
    let reject = names.iter().find(rejects).cloned();
    let accepts = |name: &&String| !rejects(name) && ACCEPTS.contains(&name.as_str());
    let accept = names.iter().find(accepts).cloned();
    let taken = [&accept, &reject];
    let edits = |name: &String| answers.iter().any(|a| a.edits && a.name == *name);
    let others = names
        .iter()
        .filter(|n| !taken.contains(&&Some((*n).clone())) && !edits(n));
    let undoes = |answer: &PersonAnswer| answer.reverts && Some(&answer.name) == reject.as_ref();
    ReviewChoices {
        open,
        reverts: answers.iter().any(undoes),
        edits: names.iter().any(edits),
        question: question.to_owned(),
        others: others.cloned().collect(),
        accept,
        reject,
    }
}

/// Findings of earlier rounds and those that were answered: what a verifier's own section does not
/// tell.
fn history(report: &VerificationReport) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings
        .filter(|f| f.state != FindingState::Open || f.round < report.round)
        .collect()
}
