//! Frames: the run itself, its phases and its tasks, each at its own step of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::breaker::CircuitBreaker;
use crate::budget::{Spending, Usage};
use crate::event::{CheckResult, FrameOutcome};
use crate::feedback::AttemptFailure;
use crate::findings::FrameFindings;
use crate::ids::{
    AttemptId, BodyId, Commit, EpochMillis, FramePath, PatchId, PhaseId, RoleName, StepId, TaskId,
    Tree, WorkerName,
};
use crate::log::WorkLog;
use crate::loops::SubmittedPatches;
use crate::park::ParkReason;
use crate::record::FrameJudgements;
use crate::requirements::{PartialAnalysis, known_requirements};
use crate::role::Role;
use crate::schedule::Schedule;
use crate::submission::{AnalystQuestions, ClaimedChange, Design};

/// What a frame is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameItem {
    /// The run.
    Run,
    /// A phase of the plan.
    Phase(PhaseId),
    /// A task of the plan.
    Task(TaskId),
}

/// A commit and its tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The commit.
    pub commit: Commit,
    /// Its tree.
    pub tree: Tree,
}

/// How much is asked of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DemandLevel {
    /// All of it.
    #[default]
    Primary,
    /// The core of it only.
    Simplified,
    /// The interfaces only.
    Minimal,
}

impl DemandLevel {
    /// The next lower one.
    pub fn lower(self) -> Option<Self> {
        match self {
            Self::Primary => Some(Self::Simplified),
            Self::Simplified => Some(Self::Minimal),
            Self::Minimal => None,
        }
    }
}

/// One frame of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Where it stands in the tree of frames.
    pub path: FramePath,
    /// The frame above it.
    pub parent: Option<FramePath>,
    /// What it is for.
    pub item: FrameItem,
    /// The step it is at.
    pub step: StepId,
    /// The visit of that step, from 1.
    pub generation: u32,
    /// How often each step was visited.
    pub visits: BTreeMap<StepId, u32>,
    /// Steps entered since counting started.
    pub entered: u32,
    /// What it is doing there.
    pub stage: FrameStage,
    /// The parallel members of the step.
    pub slots: Vec<Slot>,
    /// The round, from 1: one more than the rejections so far.
    pub round: u32,
    /// Rejections since counting started, all together.
    pub rejected: u32,
    /// Rejections by each step since counting started.
    pub rejections: BTreeMap<StepId, u32>,
    /// Rejections in a row, for the rebound.
    pub since_rebound: u32,
    /// How many there were when another way was last offered.
    pub rebounded: u32,
    /// The commit its work is based on.
    pub base: Tip,
    /// Its tree: what the next attempt starts from, what is judged, what is integrated.
    pub tree: Tree,
    /// The change from the base to the tree, once an implementer has made one.
    pub change: Option<FrameChange>,
    /// The last verdict of each judging step.
    pub verdicts: BTreeMap<StepId, StepVerdict>,
    /// What reviewers and checks hold against it.
    pub findings: FrameFindings,
    /// Why each slot of the current step voted as it did.
    pub reasons: BTreeMap<u32, String>,
    /// What the next implementer must be told.
    pub feedback: Vec<Feedback>,
    /// Failures of each step.
    pub breakers: BTreeMap<StepId, CircuitBreaker>,
    /// Changes already submitted.
    pub seen: SubmittedPatches,
    /// The change a person accepted as it is, whatever had been held against it.
    pub accepted: Option<PatchId>,
    /// How much is asked.
    pub level: DemandLevel,
    /// Whether a person has accepted that less was done.
    pub level_accepted: bool,
    /// What roles have produced in this frame.
    pub outputs: FrameOutputs,
    /// What a person answered at each step.
    pub answered: BTreeMap<StepId, String>,
    /// How often an analyst has asked in this visit.
    pub question_rounds: u32,
    /// The commits made for it.
    pub commits: Vec<Commit>,
    /// The frames below, while it is at an `each` step.
    pub children: Option<ChildFrames>,
    /// What was spent on it since counting started.
    pub spent: Spending,
    /// The last session of each slot of each step.
    pub sessions: BTreeMap<(StepId, u32), Conversation>,
    /// What was done so far, for whoever goes on with it.
    pub log: WorkLog,
    /// Who accepted the change over what was held against it.
    pub accepted_by: Option<String>,
    /// The steps whose judgement of the accepted change was overruled by that.
    pub gone_over: BTreeSet<StepId>,
    /// Whether the change was handed back by a person.
    pub handed: bool,
    /// Who said what of its changes, for reports.
    pub record: FrameJudgements,
}

/// What a frame is doing at its step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameStage {
    /// Its slots are at work, or waiting to be.
    Working,
    /// A person is asked.
    Asking(Box<Question>),
    /// The frames below are at work.
    Each,
    /// It waits for its turn to integrate, or has it.
    Committing,
    /// It has ended.
    Ended(FrameOutcome),
}

/// The frames below an `each` step.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildFrames {
    /// Which of them starts next.
    pub schedule: Schedule,
    /// The name of each, by its position in the schedule.
    pub names: Arc<Vec<String>>,
    /// The position of each, by its name.
    pub positions: Arc<BTreeMap<String, usize>>,
    /// The first failure has ended it.
    pub halted: bool,
    /// The one that a role has said comes first, until it starts.
    pub chosen: Option<usize>,
    /// How often a role was asked which one comes first.
    pub choices: u32,
}

impl ChildFrames {
    /// Where a phase or task stands in the schedule.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }
}

/// The change of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameChange {
    /// The attempt that made it, without its fence.
    pub by: String,
    /// The change itself, whatever base it is applied to.
    pub patch: PatchId,
    /// The diff from the base.
    pub diff: BodyId,
    /// The files it touches.
    pub files: Vec<String>,
    /// How many lines it adds and removes, all together; unknown where not everything in it is lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
}

/// A parallel member of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The try it is at.
    pub id: AttemptId,
    /// What it does.
    pub work: SlotWork,
    /// Who does it.
    pub worker: Option<WorkerName>,
    /// How it stands.
    pub state: SlotState,
    /// What was wrong with earlier tries of this visit.
    pub feedback: Vec<AttemptFailure>,
    /// Workers that have failed in this visit, and others stood in for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<WorkerName>,
    /// The tries of those workers: what the present one has tried is counted from there.
    #[serde(default)]
    pub tried: u32,
}

impl Slot {
    /// One that may start.
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

/// A worker's own memory of what was said, for the roles that may go on in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Whose it is.
    pub worker: WorkerName,
    /// What the worker calls it.
    pub id: String,
    /// The attempts that were made in it.
    pub turns: u32,
    /// What they have spent: some workers count from the beginning of a session.
    #[serde(default)]
    pub usage: Usage,
}

impl Conversation {
    /// So often in a row a worker may go on in the session of its last attempt; then it starts afresh: a
    /// long memory is an expensive one, and what counts is in the assignment.
    pub const MAX_CONTINUATIONS: u32 = 2;
}

/// What a slot does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotWork {
    /// A worker plays a role.
    Role(RoleName),
    /// The checks of a gate step are run; not always the step the frame is at: a tree that
    /// integration has changed is checked again.
    Gate(StepId),
    /// The change is replayed on the tip of the run's branch.
    Rebase,
    /// The tree is committed to the run's branch.
    Integrate,
    /// A command is run on the host.
    Publish,
    /// What was committed is handed over.
    Deliver,
}

/// How a slot stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotState {
    /// It may start as soon as there is room in the budget.
    Queued,
    /// It waits for a time.
    Paused {
        /// Until when.
        until: EpochMillis,
        /// Why.
        why: PauseReason,
    },
    /// It is under way.
    Running,
    /// It is done; a gatekeeper's with its vote, `None` if it abstained.
    Done(Option<bool>),
}

/// Why a slot waits for a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PauseReason {
    /// It failed and will be tried again.
    Backoff,
    /// Every account it could use rests.
    Quota,
    /// The API it could use has too many requests at once.
    #[serde(rename = "rate_limit")]
    RateLimit,
    /// The API it could use fails, or cannot be reached.
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
    /// Names the question; an answer to an older one is refused.
    pub id: AttemptId,
    /// Why it is asked.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// Points of the question, where it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<String>,
    /// What can be answered; empty if any text will do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
}

impl Question {
    /// What is said where somebody asks and tells nothing of what is clear already.
    pub const UNCLEAR: &'static str = "Some things must be clear before work starts.";
}

/// Why a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKind {
    /// The workflow says so.
    Step,
    /// The workflow says so after repeated rejections.
    Rebound,
    /// An analyst must know something.
    Analyst,
    /// Rounds, steps or tries are used up.
    Exhausted,
    /// Less was done than was asked.
    Degraded,
    /// Something was being published when codeteam died.
    Interrupted,
    /// A commit has no message that has the form.
    Message,
}

/// A verdict and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepVerdict {
    /// Whether it approved.
    pub approved: bool,
    /// The tree it judged.
    pub tree: Tree,
    /// The change it judged; `None` before there was one.
    pub patch: Option<PatchId>,
    /// Whether checks judged (they go by the tree) or reviewers (they go by the change).
    pub by_checks: bool,
}

/// Something a worker must be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// Who says it.
    pub from: StepId,
    /// What.
    pub text: String,
    /// The whole of it, where that is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyId>,
}

/// What roles have produced in a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameOutputs {
    /// Confirmed requirements.
    pub requirements: Option<String>,
    /// Questions asked and what a person answered.
    pub answers: Vec<(Vec<String>, String)>,
    /// What was found out before those questions were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<PartialAnalysis>,
    /// The newest design ...
    pub design: Option<Design>,
    /// ... the step it is of ...
    #[serde(default, skip_serializing_if = "is_none")]
    pub designed: StepId,
    /// ... and what other steps have designed before it, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub designs: Vec<(StepId, Design)>,
    /// What the last implementer said of its change.
    pub change: Option<ClaimedChange>,
    /// The last message of a scribe.
    pub text: Option<String>,
    /// The brief that a scribe has written for implementers.
    pub brief: Option<String>,
    /// Whether a person wants no more questions but the plan.
    pub settled: bool,
    /// What the last gate found.
    pub checks: Vec<CheckResult>,
}

/// Whether it is no step at all.
fn is_none(step: &StepId) -> bool {
    step.0.is_empty()
}

impl FrameOutputs {
    /// What is known of the requirements.
    pub fn known_requirements(&self) -> String {
        let confirmed = self.requirements.as_deref();
        known_requirements(confirmed, self.analysis.as_ref(), &self.answers)
    }

    /// Keeps what is known beside questions. What an earlier round of questions came with stays
    /// unless there is something newer.
    pub(crate) fn take_analysis(&mut self, questions: &AnalystQuestions) {
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

    /// Takes a step's design. It stands in place of what that step designed before, and beside what
    /// other steps did: interfaces do not make the threats go away.
    pub(crate) fn take_design(&mut self, step: &StepId, design: &Design) {
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

    /// All designs as one.
    pub fn whole_design(&self) -> Option<Design> {
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
    /// A frame that has not entered a step yet.
    pub fn new(path: FramePath, parent: Option<FramePath>, item: FrameItem, base: Tip) -> Self {
        Self {
            path,
            parent,
            item,
            step: StepId::default(),
            generation: 0,
            visits: BTreeMap::new(),
            entered: 0,
            stage: FrameStage::Working,
            slots: Vec::new(),
            round: 1,
            rejected: 0,
            rejections: BTreeMap::new(),
            since_rebound: 0,
            rebounded: 0,
            tree: base.tree.clone(),
            base,
            change: None,
            verdicts: BTreeMap::new(),
            findings: FrameFindings::default(),
            reasons: BTreeMap::new(),
            feedback: Vec::new(),
            breakers: BTreeMap::new(),
            seen: SubmittedPatches::default(),
            accepted: None,
            level: DemandLevel::Primary,
            level_accepted: false,
            outputs: FrameOutputs::default(),
            answered: BTreeMap::new(),
            question_rounds: 0,
            commits: Vec::new(),
            children: None,
            spent: Spending::default(),
            sessions: BTreeMap::new(),
            log: WorkLog::default(),
            accepted_by: None,
            gone_over: BTreeSet::new(),
            handed: false,
            record: FrameJudgements::default(),
        }
    }

    /// The checks and the roles that speak against its change now, by name.
    pub fn against(&self) -> Vec<String> {
        let patch = self.change.as_ref().map(|change| &change.patch);
        let approved = |step: &StepId| {
            let judged = self.verdicts.get(step);
            judged.is_some_and(|v| v.approved && v.patch.as_ref() == patch)
        };
        self.record.against(patch, approved)
    }

    /// What a person has taken its change over: what speaks against it still, or did when they said
    /// so.
    pub fn overruled(&self) -> Vec<String> {
        let now = self.against();
        match &self.record.decided {
            Some(decided) if now.is_empty() => decided.over.clone(),
            _ => now,
        }
    }

    /// Starts counting anew: a person has said to go on.
    pub fn reset_counts(&mut self) {
        self.entered = 0;
        self.rejected = 0;
        self.rejections.clear();
        self.since_rebound = 0;
        self.breakers.clear();
        self.seen.clear();
        self.findings.forget_rounds();
        self.spent = Spending::default();
    }

    /// The steps that are against the change it has, and that no person has overruled.
    pub fn held_against(&self) -> Vec<&StepId> {
        let patch = self.change.as_ref().map(|change| &change.patch);
        let accepted = patch.is_some() && self.accepted.as_ref() == patch;
        let against = self.verdicts.iter().filter(|(step, verdict)| {
            !verdict.approved
                && verdict.patch.is_some()
                && verdict.patch.as_ref() == patch
                && !(accepted && self.gone_over.contains(*step))
        });
        against.map(|(step, _)| step).collect()
    }

    /// How many rounds have led to a change. A rejection begins another round, in which there may be none.
    pub fn iterations(&self) -> u32 {
        match self.record.made {
            0 => self.round,
            made => made,
        }
    }

    /// The slot an attempt belongs to, if it is still the current one.
    pub fn slot(&self, id: &AttemptId) -> Option<&Slot> {
        self.slots.iter().find(|slot| &slot.id == id)
    }

    /// The same, to change it.
    pub fn slot_mut(&mut self, id: &AttemptId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| &slot.id == id)
    }

    /// The session that a slot's worker may go on in, if its role may.
    pub fn session(&self, role: &Role, slot: &Slot) -> Option<&Conversation> {
        let session = self.sessions.get(&(slot.id.step.clone(), slot.id.slot))?;
        let same = slot.worker.as_ref() == Some(&session.worker);
        let most = role.means.max_continuations;
        let most = most.unwrap_or(Conversation::MAX_CONTINUATIONS);
        (role.means.continues && same && session.turns <= most).then_some(session)
    }

    /// The bodies that belong to the feedback.
    pub fn attachments(&self) -> impl Iterator<Item = &BodyId> {
        self.feedback.iter().filter_map(|f| f.body.as_ref())
    }

    /// Whether the frame has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.stage, FrameStage::Ended(_))
    }
}
