//! The verification report of a frame: the verdicts of checks, verifiers and people on its change.
//!
//! [`build_report`] makes it from the run alone; [`VerificationReport::with_line_counts`] adds the
//! line counts, which only the diff contains. A report is rendered as Markdown for files, as lines
//! for a terminal, and as JSON.

mod judgements;
mod markdown;
mod screen;
#[cfg(test)]
mod tests;
pub mod text;

use codeteam_core::Run;
use codeteam_core::checks::CheckResult;
use codeteam_core::decide::approvals::{APPROVE, REJECT};
use codeteam_core::findings::{Finding, FindingState};
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::{Frame, FrameItem, FrameStage, Question, QuestionKind};
use codeteam_core::ids::{Commit, PatchId, PhaseId, RoleName, RunId, StepId, TaskId, Tree};
use codeteam_core::judgements::{ChangeDecision, GatekeeperVote, Rejection};
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::{CheckClass, JoinRule, PersonAnswer, StepCondition, StepKind};
use serde::Serialize;

pub use self::judgements::ended_frame;
#[cfg(test)]
pub(crate) use self::judgements::restore_frame;
pub use self::judgements::{JudgementHistory, read_judgements};
pub(crate) use self::judgements::{asked_report_with_lines, report_with_lines};
pub use self::screen::{ScreenLine, ScreenSpan, TextTone};
pub(crate) use self::text::{inline_code, quoted_passage, section_body};
pub use self::text::{one_line, quote_lines};

/// Answers that accept a change, in the order in which they are looked for.
const ACCEPTS: [&str; 6] = ["accept", "approve", "yes", "ok", "continue", "done"];

/// The verification report of one frame: everything that was checked and said about its change.
///
/// [`build_report`] makes it from a run and a frame. It always describes one tree: the frame's
/// current change, or, if that change was sent back, the last one that was judged. Verdicts on
/// earlier changes appear only in `earlier` and in the states of `findings`.
///
/// The same value is serialised for `--json`, rendered as Markdown for files
/// ([`to_markdown`](Self::to_markdown)), and as lines for a terminal
/// ([`to_screen`](Self::to_screen)), so that all of them agree. Texts of workers and checks are
/// neutralised when they are rendered, not here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerificationReport {
    /// The run that the frame belongs to.
    pub run: RunId,
    /// The task, phase, plan or run that was judged.
    pub subject: ReportSubject,
    /// A one-line title of the subject.
    pub title: String,
    /// The overall result.
    pub result: ReportVerdict,
    /// The round in which the change was made.
    pub round: u32,
    /// The tree that was judged.
    pub tree: Tree,
    /// The files of the change.
    pub files: Vec<ReportedFile>,
    /// The results of the orchestrator's own checks.
    pub checks: Vec<ReportedCheck>,
    /// The verdicts of each verifier.
    pub verifiers: Vec<VerifierReport>,
    /// Every finding there ever was, with its current state.
    pub findings: Vec<Finding>,
    /// The rejections of earlier changes, the oldest first.
    pub earlier: Vec<Rejection>,
    /// The choices of a person, if one is asked at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewChoices>,
    /// The decision that a person made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<ChangeDecision>,
    /// Configuration files of the project that differed from their committed version when a session
    /// began the run. The checks are the ones that these files name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edited_config: Vec<String>,
    /// The commits made from the change.
    pub commits: Vec<Commit>,
    /// The outcome of the frame, if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<FrameOutcome>,
}

/// The thing that was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportSubject {
    /// The change of a task.
    Task(TaskId),
    /// The change of a phase.
    Phase(PhaseId),
    /// The plan, before there is any change.
    Plan(String),
    /// The change of the run as a whole.
    Run(RunId),
}

/// A verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportVerdict {
    /// Everything passed.
    Pass,
    /// Something failed.
    Fail,
    /// Not everybody has judged yet.
    Pending,
}

impl ReportVerdict {
    /// Returns the word that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Pending => "PENDING",
        }
    }

    fn from_passed(passed: bool) -> Self {
        if passed { Self::Pass } else { Self::Fail }
    }
}

/// A file of the change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedFile {
    /// The path from the top of the repository.
    pub path: String,
    /// Lines added and removed, where they are known and the file has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
}

/// The result of a check, and the gate it ran for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedCheck {
    /// The gate step.
    pub gate: StepId,
    /// The check's result.
    #[serde(flatten)]
    pub result: CheckResult,
}

/// The verdicts of all instances of one verifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifierReport {
    /// The verifier's role.
    pub role: RoleName,
    /// The step that it judges in.
    pub step: StepId,
    /// The joint result of all instances.
    pub result: ReportVerdict,
    /// The number of instances that approve.
    pub approve: usize,
    /// The number of instances.
    pub of: usize,
    /// The votes cast so far.
    pub ballots: Vec<GatekeeperVote>,
    /// The verifier's open findings.
    pub findings: Vec<Finding>,
}

/// The choices that a person has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReviewChoices {
    /// Whether the question is open now.
    pub open: bool,
    /// The text of the question.
    pub question: String,
    /// The answer that accepts the change, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// The answer that sends the change back, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject: Option<String>,
    /// Whether that answer also reverts the change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reverts: bool,
    /// The other answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Whether the person may edit the change and hand it back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edits: bool,
}

/// Builds the report of a frame from the run alone; returns `None` if nothing in the frame was
/// judged yet.
pub fn build_report(run: &Run, frame: &Frame) -> Option<VerificationReport> {
    Some(assemble(run, frame)).filter(VerificationReport::is_judged)
}

/// Does the same for what a person is asked about: there the change is worth showing although no
/// check and no reviewer has judged it, as in a workflow without them.
pub(crate) fn build_asked_report(run: &Run, frame: &Frame) -> Option<VerificationReport> {
    let is_asked = matches!(frame.stage, FrameStage::Asking(_)) && frame.change.is_some();
    Some(assemble(run, frame)).filter(|report| is_asked || report.is_judged())
}

fn assemble(run: &Run, frame: &Frame) -> VerificationReport {
    let record = &frame.judgements;
    let current = frame.change.as_ref().map(|change| &change.patch);
    // A change that was sent back may be gone from the frame; it is still the one that was judged.
    let patch = current
        .or_else(|| record.rejections.last()?.patch.as_ref())
        .cloned();
    let checks = checks(frame, patch.as_ref());
    let verifiers = verifiers(run, frame, patch.as_ref());
    let of_this = |decided: &&ChangeDecision| decided.patch == patch;
    let decided = record.last_decision.as_ref().filter(of_this).cloned();
    let earlier = record.rejections.iter().filter(|r| r.patch != patch);
    let earlier: Vec<Rejection> = earlier.map(|r| Rejection::clone(r)).collect();
    let is_plan = frame.path.is_root() && patch.is_none() && run.plan.is_some();
    let ballots = verifiers.iter().flat_map(|v| &v.ballots);
    let mut trees = ballots.map(|b| &b.tree);
    let tree = match current {
        Some(_) => Some(&frame.tree),
        None => trees.next_back(),
    };
    let files = frame.change.iter().flat_map(|change| &change.files);
    VerificationReport {
        run: run.id.clone(),
        subject: subject(run, frame, is_plan),
        title: title(run, frame),
        result: overall_verdict(frame, &checks, &verifiers, patch.as_ref()),
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
        review: expected_review(run, frame, is_plan),
        decided,
        edited_config: run.edited_config.clone(),
        commits: frame.commits.clone(),
        ended: match &frame.stage {
            FrameStage::Ended(outcome) => Some(outcome.clone()),
            _ => None,
        },
    }
}

impl VerificationReport {
    /// Adds the line counts of each file, taken from the diff that was judged.
    #[must_use]
    pub fn with_line_counts(mut self, diff: &[u8]) -> Self {
        let counts = text::count_changed_lines(diff);
        for file in &mut self.files {
            let counted = counts.iter().find(|(path, ..)| *path == file.path);
            file.lines = counted.map(|(_, added, removed)| (*added, *removed));
        }
        self
    }

    /// Returns the checks of a class.
    pub fn checks_of_class(&self, class: CheckClass) -> Vec<&CheckResult> {
        let all = self.checks.iter().map(|checked| &checked.result);
        all.filter(|result| result.class == class).collect()
    }

    fn is_judged(&self) -> bool {
        let was_judged = !self.checks.is_empty() || !self.verifiers.is_empty();
        was_judged || self.decided.is_some() || !self.earlier.is_empty()
    }

    /// Returns the names of the checks and verifiers that failed.
    pub(crate) fn failed_names(&self) -> Vec<String> {
        let checks = self.checks.iter().map(|checked| &checked.result);
        let checks = checks.filter(|result| !result.passed);
        let checks = checks.map(|result| text::one_line(&result.name));
        let verifiers = self.verifiers.iter();
        let verifiers = verifiers.filter(|verifier| verifier.result == ReportVerdict::Fail);
        let verifiers = verifiers.map(|verifier| role_words(&verifier.role));
        checks.chain(verifiers).collect()
    }

    /// Returns the name of the task, phase, plan or run that the report is about.
    pub fn subject_name(&self) -> &str {
        match &self.subject {
            ReportSubject::Task(id) => id.as_str(),
            ReportSubject::Phase(id) => id.as_str(),
            ReportSubject::Plan(id) => id,
            ReportSubject::Run(id) => id.as_str(),
        }
    }

    /// Returns the decision by which a person accepted the change despite objections, if they did.
    pub fn accepted_over(&self) -> Option<&ChangeDecision> {
        let decided = self.decided.as_ref()?;
        let accepts = self.review.as_ref().and_then(|r| r.accept.as_ref());
        let accepted = !decided.rejects
            && (accepts == Some(&decided.answer) || ACCEPTS.contains(&decided.answer.as_str()));
        (accepted && !decided.over.is_empty()).then_some(decided)
    }
}

impl ReportSubject {
    /// Returns the kind of the subject, for headings.
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
    /// Returns a heading such as `Code Verifier - Task Completion`.
    pub fn heading(&self, subject: &ReportSubject) -> String {
        let kind = match subject {
            ReportSubject::Plan(_) => "Plan Verifier",
            _ => "Code Verifier",
        };
        let own = role_words(&self.role);
        if own == kind {
            own
        } else {
            format!("{kind} - {own}")
        }
    }
}

/// Turns `task_completion` or `adversarial/task-completion` into words.
pub(crate) fn role_words(role: &RoleName) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string());
        first.unwrap_or_default() + chars.as_str()
    };
    let parts = short_role_name(role)
        .split(['_', '-'])
        .filter(|w| !w.is_empty());
    let words: Vec<String> = parts.map(capital).collect();
    words.join(" ")
}

/// Returns a role's name without the workflow that it belongs to.
pub(crate) fn short_role_name(role: &RoleName) -> &str {
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
    let task = run.frame_task(frame).map(|task| task.headline().to_owned());
    task.unwrap_or_else(|| crate::describe::first_line(&run.goal).to_owned())
}

fn round(frame: &Frame, verifiers: &[VerifierReport]) -> u32 {
    let judged = verifiers.iter().flat_map(|v| &v.ballots).map(|b| b.round);
    match frame.change {
        Some(_) => frame.judgements.change_round,
        None => judged.max().unwrap_or(frame.round),
    }
}

fn checks(frame: &Frame, patch: Option<&PatchId>) -> Vec<ReportedCheck> {
    let gates = frame.judgements.gates.iter();
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
    let mut steps: Vec<&StepId> = frame.judgements.ballots.keys().collect();
    if !steps.contains(&&frame.step) && is_verifying(run, frame) {
        steps.push(&frame.step);
    }
    for step in steps {
        let Some(StepKind::Role(role_step)) = run.step(step).map(|s| &s.kind) else {
            continue;
        };
        let ballots = frame.judgements.ballots.get(step).into_iter().flatten();
        let ballots: Vec<&GatekeeperVote> = ballots.filter(|b| b.patch.as_ref() == patch).collect();
        let is_here = frame.step == *step && is_verifying(run, frame);
        if ballots.is_empty() && !is_here {
            continue;
        }
        // Small changes and other changes may have different verifiers; only those that were asked
        // count.
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
                result: joint_verdict(role_step.join, &own, of),
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

/// Returns true if gatekeepers are at work in a frame.
fn is_verifying(run: &Run, frame: &Frame) -> bool {
    let Some(StepKind::Role(step)) = run.frame_step(frame).map(|s| &s.kind) else {
        return false;
    };
    let role = step.slots.first().and_then(|name| run.roles.get(name));
    frame.stage == FrameStage::Working && role.is_some_and(|role| role.kind == RoleKind::Gatekeeper)
}

/// Combines the votes of one role's instances into a verdict.
fn joint_verdict(join: JoinRule, ballots: &[GatekeeperVote], of: usize) -> ReportVerdict {
    if ballots.len() < of {
        return ReportVerdict::Pending;
    }
    let votes: Vec<_> = ballots.iter().map(|b| (&b.role, b.vote)).collect();
    ReportVerdict::from_passed(join.approves(&votes))
}

fn overall_verdict(
    frame: &Frame,
    checks: &[ReportedCheck],
    verifiers: &[VerifierReport],
    patch: Option<&PatchId>,
) -> ReportVerdict {
    let gates = frame.judgements.gates.values();
    let failed = gates
        .filter(|gate| gate.patch.as_ref() == patch)
        .any(|gate| !gate.passed);
    let mut marks = vec![ReportVerdict::from_passed(!failed)];
    for verifier in verifiers {
        let judged = frame.verdicts.get(&verifier.step);
        let judged = judged.filter(|v| v.patch.as_ref() == patch);
        marks.push(match (judged, verifier.result) {
            (_, ReportVerdict::Pending) => ReportVerdict::Pending,
            // The step's own rule decides what the verdict of one role is worth.
            (Some(judged), _) => ReportVerdict::from_passed(judged.approved),
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

/// Returns the choices that a person has, or will have, about the judged change.
fn expected_review(run: &Run, frame: &Frame, is_plan: bool) -> Option<ReviewChoices> {
    if let FrameStage::Asking(question) = &frame.stage {
        return open_review(run, question);
    }
    if frame.is_ended() || is_plan {
        return None;
    }
    let scope = run.frame_step(frame).and_then(|step| step.scope.clone());
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
    Some(review_from_answers(false, question, &names, answers))
}

/// Returns true if a condition may still become true. Settings are fixed from the start; anything
/// else may change.
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

fn open_review(run: &Run, question: &Question) -> Option<ReviewChoices> {
    if matches!(question.kind, QuestionKind::Analyst | QuestionKind::Message) {
        return None;
    }
    if question.kind == QuestionKind::Approval {
        let is_other = |answer: &&String| ![APPROVE, REJECT].contains(&answer.as_str());
        return Some(ReviewChoices {
            open: true,
            reverts: false,
            edits: false,
            question: question.text.clone(),
            others: question.answers.iter().filter(is_other).cloned().collect(),
            accept: Some(APPROVE.to_owned()),
            reject: Some(REJECT.to_owned()),
        });
    }
    let answers = match run.step(&question.id.step).map(|step| &step.kind) {
        Some(StepKind::Person { answers, .. }) => answers.as_slice(),
        _ => &[],
    };
    Some(review_from_answers(
        true,
        &question.text,
        &question.answers,
        answers,
    ))
}

fn review_from_answers(
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

/// Returns the findings that a verifier's own section does not show: those of earlier rounds and
/// those that were answered.
fn earlier_findings(report: &VerificationReport) -> Vec<&Finding> {
    let findings = report.findings.iter();
    findings
        .filter(|f| f.state != FindingState::Open || f.round < report.round)
        .collect()
}
