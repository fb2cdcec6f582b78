//! Frames: the run itself, its phases and its tasks, each at its own step of the workflow.
//!
//! A frame is the unit of progress. The kernel moves frames from step to step; everything that is
//! known about work in progress (tree, change, verdicts, findings, feedback) is kept per frame.

mod judged_step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::judged_step::JudgedStep;
use crate::approval::FrameApproval;
use crate::breaker::CircuitBreaker;
use crate::budget::{Spending, Usage};
use crate::checks::CheckResult;
use crate::contribution::Contribution;
use crate::feedback::{AttemptFailure, Feedback};
use crate::findings::FrameFindings;
use crate::ids::{
    AttemptId, BodyId, Commit, EpochMillis, FramePath, PatchId, PhaseId, RoleName, StepId, TaskId,
    Tree, WorkerName,
};
use crate::judgements::FrameJudgements;
use crate::locks::{LockedFile, RequestedInterface};
use crate::loop_detection::SubmittedPatches;
use crate::park::ParkReason;
use crate::requirements::{PartialAnalysis, known_requirements};
use crate::role::Role;
use crate::schedule::Schedule;
use crate::submission::{AnalystQuestions, ClaimedChange, Design};
use crate::team::{InterventionCounts, TaskTeam};
use crate::work_log::WorkLog;

/// The subject of a frame: the run, a phase or a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameItem {
    /// The run as a whole.
    Run,
    /// A phase of the plan.
    Phase(PhaseId),
    /// A task of the plan.
    Task(TaskId),
}

/// A commit and its tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The commit's hash.
    pub commit: Commit,
    /// The hash of its tree.
    pub tree: Tree,
}

/// How much is demanded of a worker. A step can allow the level to be lowered when its role gives
/// up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DemandLevel {
    /// The whole task.
    #[default]
    Primary,
    /// Only its core.
    Simplified,
    /// Only its interfaces.
    Minimal,
}

impl DemandLevel {
    /// Returns the next lower level, if there is one.
    pub fn next_lower(self) -> Option<Self> {
        match self {
            Self::Primary => Some(Self::Simplified),
            Self::Simplified => Some(Self::Minimal),
            Self::Minimal => None,
        }
    }
}

/// One frame of a run: a position in the workflow, and the work done there.
///
/// The root frame stands for the run. An `each` step opens a child frame for every phase or task; a
/// child moves through its own part of the graph while its parent stays at that step. Once it has
/// entered its first step, a frame is always at exactly one step ([`Frame::step`]), in one
/// [`FrameStage`], with one [`Slot`] for each parallel member of that step.
///
/// Rules the kernel relies on:
///
/// - `tree` is what the next attempt starts from, what is judged and what is integrated. `change`
///   is the change from the base to that tree.
/// - A verdict refers to a tree (checks) or to a change (reviewers). Whether it still applies is
///   computed by [`JudgedStep`], never stored.
/// - When a person says to continue, [`Frame::reset_counts`] lets rejections, failures and spending
///   start from zero. `round` and the judgements are kept.
/// - Only [`crate::apply`] changes a frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The frame's place in the tree of frames.
    pub path: FramePath,
    /// The frame above it.
    pub parent: Option<FramePath>,
    /// The run, phase or task it is for.
    pub item: FrameItem,
    /// The step it is at.
    pub step: StepId,
    /// The number of the current visit to that step, from 1.
    pub generation: u32,
    /// The number of visits to each step.
    pub visits: BTreeMap<StepId, u32>,
    /// The most visits to a step in an earlier frame of the same path, whose work was taken back: the
    /// visits here are counted on from there.
    pub visits_before: u32,
    /// The current activity at that step.
    pub stage: FrameStage,
    /// The parallel members of the step.
    pub slots: Vec<Slot>,
    /// The round, from 1: one more than the rejections so far.
    pub round: u32,
    /// The commit its work is based on.
    pub base: Tip,
    /// The current tree: what the next attempt starts from, what is judged, what is integrated.
    pub tree: Tree,
    /// The change from the base to the tree, once an implementer has made one.
    pub change: Option<FrameChange>,
    /// The last verdict of each judging step.
    pub verdicts: BTreeMap<StepId, StepVerdict>,
    /// The findings of reviewers and checks.
    pub findings: FrameFindings,
    /// The reason each slot of the current step gave for its vote.
    pub reasons: BTreeMap<u32, String>,
    /// Feedback for the next implementer.
    pub feedback: Vec<Feedback>,
    /// What a person has done to the change: accepted or edited it.
    pub acceptance: ChangeAcceptance,
    /// What limits and circuit breakers count.
    pub counts: FrameCounts,
    /// How much is demanded, and whether less was accepted.
    pub demand: FrameDemand,
    /// The results that roles have produced in this frame.
    pub outputs: FrameOutputs,
    /// What people answered at its steps.
    pub answers: PersonAnswers,
    /// The commits made for this frame.
    pub commits: Vec<Commit>,
    /// The files of the interfaces that it has locked, if it is for a phase.
    pub locked: Vec<LockedFile>,
    /// The change of a locked interface that it has asked for. Its `locked` has the file then, once
    /// that is written.
    pub interface_request: Option<Box<RequestedInterface>>,
    /// What has happened around it since it began: implementers are told until the frame ends.
    pub notices: Vec<Feedback>,
    /// The child frames, while it is at an `each` step.
    pub children: Option<ChildFrames>,
    /// The last conversation of each slot of each step.
    #[serde(with = "crate::pair_list")]
    pub conversations: BTreeMap<(StepId, u32), Conversation>,
    /// The log of the work so far, for whoever continues it.
    pub work_log: WorkLog,
    /// All judgements of the frame's changes, for reports.
    pub judgements: FrameJudgements,
    /// Whose turn it is, how the result was scored and what a leader decided.
    pub team: TaskTeam,
    /// The approval of its change, where the run has an approval policy.
    pub approval: FrameApproval,
}

/// What is counted for a frame since it was opened, or since a person said to continue.
///
/// Limits, the rebound, circuit breakers and loop detection are decided from these numbers, so they
/// start again together ([`Frame::reset_counts`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameCounts {
    /// Steps entered.
    pub steps_entered: u32,
    /// Rejections by all steps together.
    pub rejections: u32,
    /// Rejections by each step.
    pub rejections_by_step: BTreeMap<StepId, u32>,
    /// Consecutive rejections, which trigger the rebound.
    pub consecutive_rejections: u32,
    /// The number of consecutive rejections when another way was last offered. Kept by a reset.
    pub rejections_at_rebound: u32,
    /// The failures of each step, for the circuit breaker.
    pub breakers: BTreeMap<StepId, CircuitBreaker>,
    /// Changes already submitted, for loop detection.
    pub submitted_patches: SubmittedPatches,
    /// Money and tokens spent.
    pub spent: Spending,
    /// Interventions of a leader.
    pub interventions: InterventionCounts,
    /// Requests for changes of locked interfaces.
    #[serde(default)]
    pub interface_requests: u32,
}

/// What a person has done to a frame's change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeAcceptance {
    /// The change that was accepted as it is, despite any objections.
    pub patch: Option<PatchId>,
    /// Who accepted the change despite objections.
    pub by: Option<String>,
    /// The steps whose verdict on the accepted change was overruled by that.
    pub overruled_steps: BTreeSet<StepId>,
    /// Whether the change was edited and handed back by a person.
    pub edited_by_person: bool,
}

/// How much is demanded of a frame's workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameDemand {
    /// The demand level.
    pub level: DemandLevel,
    /// Whether a person has accepted that less was done.
    pub accepted: bool,
}

/// What people answered at the steps of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PersonAnswers {
    /// The last answer at each step.
    pub by_step: BTreeMap<StepId, String>,
    /// The number of times an analyst has asked questions in this visit of its step.
    pub question_rounds: u32,
}

/// The activity of a frame at its step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameStage {
    /// Its slots are at work, or waiting to be.
    Working,
    /// A person is asked a question.
    Asking(Box<Question>),
    /// Its child frames are at work.
    Each,
    /// It waits for its turn to integrate, or has it.
    Committing,
    /// It has ended.
    Ended(FrameOutcome),
}

/// The outcome of a frame or a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameOutcome {
    /// All its work is done.
    Completed,
    /// It was given up, for the given reason.
    Failed(String),
    /// A person chose to skip it.
    Skipped,
    /// It was stopped before its end.
    Cancelled,
    /// A person ended the run.
    Aborted(String),
}

/// The child frames of an `each` step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildFrames {
    /// The schedule, which determines the next child to start.
    pub schedule: Schedule,
    /// The name of each child, by its position in the schedule.
    pub names: Arc<Vec<String>>,
    /// The position of each child, by its name.
    pub positions: Arc<BTreeMap<String, usize>>,
    /// Whether the first failure has stopped the step.
    pub halted: bool,
    /// The child that a role has chosen to come first, until it starts.
    pub chosen: Option<usize>,
    /// The number of times a role was asked which child comes first.
    pub choices: u32,
}

impl ChildFrames {
    /// Returns the position of a phase or task in the schedule.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }
}

/// The change of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameChange {
    /// The attempt that made it, without its fence.
    pub by: String,
    /// The id of the patch, which does not depend on the base.
    pub patch: PatchId,
    /// The diff from the base.
    pub diff: BodyId,
    /// The files it touches.
    pub files: Vec<String>,
    /// Lines added and removed, in total; unknown if not everything in the change is lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

/// A parallel member of a step: one piece of work, such as a role or a gate, with its attempts.
///
/// A slot starts `Queued`. `settle` starts it when the budget and the accounts allow. If an attempt
/// fails and another one follows, it belongs to the same slot, and the `attempt` of its id is one
/// higher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The id of the current attempt.
    pub id: AttemptId,
    /// The work it does.
    pub work: SlotWork,
    /// The worker that carries it out, once one is chosen.
    pub worker: Option<WorkerName>,
    /// Its current state.
    pub state: SlotState,
    /// The failures of earlier attempts of this visit, as feedback.
    pub feedback: Vec<AttemptFailure>,
    /// Workers that failed in this visit and were replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<WorkerName>,
    /// The attempts of those workers; the current worker's attempts are counted from there.
    #[serde(default)]
    pub tried: u32,
}

impl Slot {
    /// Creates a slot that may start.
    pub fn new(id: AttemptId, work: SlotWork) -> Self {
        Self {
            id,
            work,
            worker: None,
            state: SlotState::Queued,
            feedback: Vec::new(),
            replaced: Vec::new(),
            tried: 0,
        }
    }
}

/// A worker's own history of a conversation, for the roles that may continue it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The worker that holds it.
    pub worker: WorkerName,
    /// The worker's id for it.
    pub id: String,
    /// The number of attempts made in it.
    pub turns: u32,
    /// Their total usage: some workers report totals since the beginning of a conversation.
    #[serde(default)]
    pub usage: Usage,
}

impl Conversation {
    /// How often in a row a worker may continue the conversation of its last attempt. After that it
    /// starts afresh: a long history is expensive, and what matters is in the assignment.
    pub const MAX_CONTINUATIONS: u32 = 2;
}

/// The work a slot does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotWork {
    /// A worker plays a role.
    Role(RoleName),
    /// The checks of a gate step are run. It is not always the step the frame is at: a tree that
    /// integration has changed is checked again.
    Gate(StepId),
    /// The change is rebased onto the tip of the run's branch.
    Rebase,
    /// The facts about the risk of the change are read out of it.
    Assess,
    /// The tree is committed to the run's branch.
    Integrate,
    /// The interfaces of the phase are written to their files.
    #[serde(rename = "write_interfaces")]
    WriteInterfaces,
    /// A command is run on the host.
    Publish,
    /// The run's commits are delivered.
    Deliver,
    /// The run's branch is moved back to an earlier commit.
    MoveBranch,
}

/// The state of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotState {
    /// It may start as soon as there is room in the budget.
    Queued,
    /// It waits until a given time.
    Paused {
        /// When the pause ends.
        until: EpochMillis,
        /// The reason for the pause.
        why: PauseReason,
    },
    /// It is under way.
    Running,
    /// It has ended.
    Done(SlotEnd),
}

/// The result of a slot's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotEnd {
    /// It did its work, which is not to judge.
    Finished,
    /// A gatekeeper or a gate approves the change.
    Approved,
    /// A gatekeeper or a gate rejects the change.
    Rejected,
    /// It gave up, and never approves.
    Abstained,
    /// Its attempt failed; whether there will be another is not decided yet.
    Failed,
    /// Its frame ended before it had started.
    Stopped,
}

impl SlotEnd {
    /// Returns how a submission with this vote ends a slot.
    pub(crate) fn from_vote(vote: Option<bool>) -> Self {
        match vote {
            None => Self::Finished,
            Some(true) => Self::Approved,
            Some(false) => Self::Rejected,
        }
    }

    /// Returns its vote on the change, if it gave one.
    pub fn vote(self) -> Option<bool> {
        match self {
            Self::Approved => Some(true),
            Self::Rejected => Some(false),
            Self::Finished | Self::Abstained | Self::Failed | Self::Stopped => None,
        }
    }
}

/// Why a slot waits until a given time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseReason {
    /// It failed and will be retried.
    Backoff,
    /// Every account it could use has reached its usage limit.
    Quota,
    /// The API it could use is receiving too many requests.
    #[serde(rename = "rate_limit")]
    RateLimit,
    /// The API it could use fails or cannot be reached.
    Outage,
}

impl From<ParkReason> for PauseReason {
    fn from(why: ParkReason) -> Self {
        match why {
            ParkReason::Quota => Self::Quota,
            ParkReason::RateLimit => Self::RateLimit,
            ParkReason::Outage => Self::Outage,
        }
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Identifies the question; an answer to an older one is refused.
    pub id: AttemptId,
    /// Why it is asked.
    pub kind: QuestionKind,
    /// The text of the question.
    pub text: String,
    /// Its separate points, where it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<String>,
    /// The allowed answers; empty if any text will do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// When it was asked. Older logs do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<EpochMillis>,
}

impl Question {
    /// The text used when questions come without a description of what is clear already.
    pub const UNCLEAR: &'static str = "Some things must be clear before work starts.";
}

/// Why a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// The workflow has a step for it.
    Step,
    /// The workflow asks after repeated rejections.
    Rebound,
    /// An analyst needs information.
    Analyst,
    /// Rounds, steps or attempts are used up.
    Exhausted,
    /// Less was done than was asked for.
    Degraded,
    /// codeteam ended while something was being published.
    Interrupted,
    /// No message in the required form exists for a commit.
    Message,
    /// The approval policy asks for it before the change is committed.
    Approval,
}

/// A step's verdict, with the tree and the change it refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepVerdict {
    /// Whether the step approved.
    pub approved: bool,
    /// The tree it judged.
    pub tree: Tree,
    /// The change it judged; `None` before there was one.
    pub patch: Option<PatchId>,
    /// Whether checks judged (their verdict applies to the tree) or reviewers (theirs applies to
    /// the change).
    pub by_checks: bool,
}

/// The results that roles have produced in a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameOutputs {
    /// The confirmed requirements.
    pub requirements: Option<String>,
    /// Questions asked, with a person's answers.
    pub answers: Vec<(Vec<String>, String)>,
    /// The analysis from before those questions were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<PartialAnalysis>,
    /// The newest design ...
    pub design: Option<Design>,
    /// ... the step that made it ...
    #[serde(default, skip_serializing_if = "is_none")]
    pub designed: StepId,
    /// ... and the earlier designs of other steps, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<(StepId, Design)>,
    /// The last implementer's own description of its change.
    pub change: Option<ClaimedChange>,
    /// What each role has contributed, in the order in which they took part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contributions: Vec<Contribution>,
    /// The contributions in brief, as a scribe has summarised them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The last message of a scribe.
    pub text: Option<String>,
    /// The brief that a scribe has written for implementers.
    pub brief: Option<String>,
    /// Whether a person wants the plan now, without further questions.
    pub settled: bool,
    /// The results of the last gate.
    pub checks: Vec<CheckResult>,
}

/// Returns true if this is the empty id, which stands for no step.
fn is_none(step: &StepId) -> bool {
    step.0.is_empty()
}

impl FrameOutputs {
    /// Returns the requirements as far as they are known.
    pub fn known_requirements(&self) -> String {
        let confirmed = self.requirements.as_deref();
        known_requirements(confirmed, self.analysis.as_ref(), &self.answers)
    }

    /// Records what was known when questions were asked. What came with an earlier round of
    /// questions stays unless there is something newer.
    pub(crate) fn record_analysis(&mut self, questions: &AnalystQuestions) {
        let spec = questions.partial_spec.as_deref().unwrap_or_default();
        let known = self.analysis.get_or_insert_default();
        for (kept, new) in [
            (&mut known.context, questions.context.as_str()),
            (&mut known.partial_spec, spec),
        ] {
            if !new.trim().is_empty() {
                new.trim().clone_into(kept);
            }
        }
        if *known == PartialAnalysis::default() {
            self.analysis = None;
        }
    }

    /// Records what a role has contributed. Its earlier contribution is replaced, because the newer
    /// one describes the whole change; a summary of the contributions is out of date then.
    pub(crate) fn record_contribution(&mut self, contribution: Contribution) {
        self.contributions
            .retain(|known| known.role != contribution.role);
        self.contributions.push(contribution);
        self.digest = None;
    }

    /// Records a step's design. It replaces the earlier design of the same step and is kept
    /// alongside those of other steps: interfaces do not make the threats go away.
    pub(crate) fn record_design(&mut self, step: &StepId, design: &Design) {
        if let Some(before) = self.design.take()
            && self.designed != *step
        {
            let of = std::mem::take(&mut self.designed);
            self.designs.push((of, before));
        }
        self.designs.retain(|(of, _)| of != step);
        self.design = Some(design.clone());
        self.designed = step.clone();
    }

    /// Returns all designs merged into one.
    pub fn merged_design(&self) -> Option<Design> {
        let newest = self.design.as_ref()?;
        if self.designs.is_empty() {
            return Some(newest.clone());
        }
        let mut whole = Design::default();
        let earlier = self.designs.iter().map(|(step, design)| (step, design));
        for (step, design) in earlier.chain([(&self.designed, newest)]) {
            let gap = if whole.design.is_empty() { "" } else { "\n\n" };
            let text = format!("{gap}### {step}\n\n{}", design.design);
            whole.design.push_str(&text);
            whole.patterns.extend_from_slice(&design.patterns);
            whole.warnings.extend_from_slice(&design.warnings);
            whole.interfaces.extend_from_slice(&design.interfaces);
        }
        Some(whole)
    }
}

impl Frame {
    /// Creates a frame that has not entered a step yet.
    pub fn new(path: FramePath, parent: Option<FramePath>, item: FrameItem, base: Tip) -> Self {
        Self {
            path,
            parent,
            item,
            step: StepId::default(),
            generation: 0,
            visits: BTreeMap::new(),
            visits_before: 0,
            stage: FrameStage::Working,
            slots: Vec::new(),
            round: 1,
            tree: base.tree.clone(),
            base,
            change: None,
            verdicts: BTreeMap::new(),
            findings: FrameFindings::default(),
            reasons: BTreeMap::new(),
            feedback: Vec::new(),
            acceptance: ChangeAcceptance::default(),
            counts: FrameCounts::default(),
            demand: FrameDemand::default(),
            outputs: FrameOutputs::default(),
            answers: PersonAnswers::default(),
            commits: Vec::new(),
            locked: Vec::new(),
            interface_request: None,
            notices: Vec::new(),
            children: None,
            conversations: BTreeMap::new(),
            work_log: WorkLog::default(),
            judgements: FrameJudgements::default(),
            team: TaskTeam::default(),
            approval: FrameApproval::default(),
        }
    }

    /// Returns the names of the checks and roles that object to the current change.
    pub fn objector_names(&self) -> Vec<String> {
        let patch = self.change.as_ref().map(|change| &change.patch);
        let approved = |step: &StepId| {
            let judged = self.judged_step(step);
            judged.is_some_and(|judged| judged.verdict.approved && judged.is_current())
        };
        self.judgements.objector_names(patch, approved)
    }

    /// Returns the objections that a person has overruled: those that still stand, or, if none do,
    /// those that stood when the person decided.
    pub fn overruled_names(&self) -> Vec<String> {
        let now = self.objector_names();
        match &self.judgements.last_decision {
            Some(decided) if now.is_empty() => decided.over.clone(),
            _ => now,
        }
    }

    /// Returns the number that the next visit to a step has.
    pub fn next_generation(&self, step: &StepId) -> u32 {
        self.visits.get(step).copied().unwrap_or(self.visits_before) + 1
    }

    /// Returns the largest number of visits to a step so far.
    pub(crate) fn most_visits(&self) -> u32 {
        let most = self.visits.values().max().copied();
        most.unwrap_or_default().max(self.visits_before)
    }

    /// Resets the counters because a person has said to continue.
    pub fn reset_counts(&mut self) {
        self.counts = FrameCounts {
            rejections_at_rebound: self.counts.rejections_at_rebound,
            ..FrameCounts::default()
        };
        self.findings.reset_rounds();
    }

    /// Returns the steps that reject the current change and that no person has overruled.
    pub fn rejecting_steps(&self) -> Vec<&StepId> {
        let judged = self.judged_steps();
        let against = judged.filter(|judged| judged.is_against() && !judged.is_overruled());
        against.map(|judged| judged.step).collect()
    }

    /// Returns the number of rounds that have led to a change. A rejection begins another round, in
    /// which there may be none.
    pub fn iterations(&self) -> u32 {
        match self.judgements.change_round {
            0 => self.round,
            made => made,
        }
    }

    /// Returns the slot of an attempt, if that attempt is still the slot's current one.
    pub fn slot(&self, id: &AttemptId) -> Option<&Slot> {
        self.slots.iter().find(|slot| &slot.id == id)
    }

    /// Returns the same slot for modification.
    pub fn slot_mut(&mut self, id: &AttemptId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| &slot.id == id)
    }

    /// Returns the conversation that a slot's worker may continue, if its role allows that.
    pub fn conversation(&self, role: &Role, slot: &Slot) -> Option<&Conversation> {
        let session = self
            .conversations
            .get(&(slot.id.step.clone(), slot.id.slot))?;
        let same = slot.worker.as_ref() == Some(&session.worker);
        let most = role.means.max_continuations;
        let most = most.unwrap_or(Conversation::MAX_CONTINUATIONS);
        (role.means.continues && same && session.turns <= most).then_some(session)
    }

    /// Returns the bodies attached to the feedback.
    pub fn attachments(&self) -> impl Iterator<Item = &BodyId> {
        self.feedback.iter().filter_map(|f| f.body.as_ref())
    }

    /// Returns true if the frame has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, FrameStage::Ended(_))
    }
}
