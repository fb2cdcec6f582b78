//! What has happened. Events are facts: they are never changed, and replay only applies them.
//!
//! The names and fields here are a file format. A change of meaning gets a new [`Event::version`]
//! and a line in [`Event::read`]; golden logs of every version stay readable.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::{self, BudgetReservation, Usage};
use crate::context::PackedContext;
use crate::failure::{FailureAction, FailureCategory, FailureFacts};
use crate::findings::{Finding, FindingResolution, ReportedFinding};
use crate::frame::{
    DemandLevel, Feedback, FrameChange, FrameItem, PauseReason, Question, SlotWork, Tip,
};
use crate::hands::Operator;
use crate::ids::{
    Account, AttemptId, BodyId, Commit, EpochMillis, FramePath, RoleName, RunId, StepId, TaskId,
    Tree, WorkerName,
};
use crate::message::MessageFormat;
use crate::park::ParkReason;
use crate::plan::Plan;
use crate::role::Role;
use crate::schedule::TaskStatus;
use crate::submission::Submission;
use crate::workflow::{Check, CheckClass, Workflow};

/// Something that has happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields say what they are; each variant says what happened"
)]
pub enum Event {
    /// The run began; everything it needs to be understood later is pinned here.
    RunStarted(Box<RunStarted>),
    /// Another process took the run up.
    RunResumed { at: EpochMillis },
    /// The run ended.
    RunEnded {
        at: EpochMillis,
        outcome: FrameOutcome,
    },
    /// A person took an ended run up again.
    RunReopened { at: EpochMillis },

    /// The run passed into other hands: from a session to workers, or back. What the session had
    /// made and not submitted goes with it.
    WorkersReassigned {
        hands: Operator,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<UnsubmittedChange>>,
    },

    /// A frame for a phase or a task was opened.
    FrameOpened {
        frame: FramePath,
        item: FrameItem,
        base: Tip,
    },
    /// A failed frame was taken up again.
    FrameResumed { frame: FramePath },
    /// A frame ended.
    FrameEnded {
        frame: FramePath,
        outcome: FrameOutcome,
    },
    /// A frame entered a step.
    StepEntered {
        frame: FramePath,
        step: StepId,
        generation: u32,
        why: EntryReason,
        /// The slots that are asked, where not all of them are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        slots: Vec<u32>,
        /// Why these slots, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },
    /// A step was left out.
    StepSkipped {
        frame: FramePath,
        step: StepId,
        /// The facts by which it was, in words, where they say more than the workflow does.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },

    /// A try began.
    AttemptStarted {
        id: AttemptId,
        work: SlotWork,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<WorkerName>,
        tree: Tree,
        #[serde(default)]
        reserved: BudgetReservation,
    },
    /// A try waits for room.
    AttemptQueued { id: AttemptId },
    /// A try waits for a time.
    AttemptPaused {
        id: AttemptId,
        until: EpochMillis,
        why: PauseReason,
    },
    /// A try failed.
    AttemptFailed {
        id: AttemptId,
        at: EpochMillis,
        facts: FailureFacts,
        category: FailureCategory,
        action: FailureAction,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transcript: Option<BodyId>,
        /// The worker's session, if it has told one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// A worker failed for good, and the next one of its role stands in for it.
    WorkerReplaced {
        id: AttemptId,
        worker: WorkerName,
        why: String,
    },
    /// A try was lost with codeteam's own process.
    AttemptLost {
        id: AttemptId,
        #[serde(default)]
        usage: Usage,
    },
    /// A cancelled try told what it had spent.
    AttemptSpent {
        id: AttemptId,
        #[serde(default)]
        usage: Usage,
    },
    /// A slot gave up; it has no verdict and never approves.
    SlotAbstained { id: AttemptId, reason: String },
    /// A worker's answer was accepted as what it owes.
    SubmissionReceived {
        id: AttemptId,
        submission: Submission,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transcript: Option<BodyId>,
        /// An implementer's tree and change, as taken from the worktree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<(Tree, FrameChange)>,
        /// A gatekeeper's vote, after its findings are weighed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vote: Option<bool>,
        /// The worker's session, if it has told one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The log as it was before a scribe shortened it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<BodyId>,
        /// The files of a session's checkout that were no longer what is judged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edited: Vec<String>,
    },
    /// Reviewers opened findings or answered for them.
    FindingsChanged {
        frame: FramePath,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        opened: Vec<Finding>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        resolved: Vec<FindingResolution>,
    },
    /// A gate's checks ran.
    GateJudged {
        id: AttemptId,
        step: StepId,
        tree: Tree,
        passed: bool,
        results: Vec<CheckResult>,
    },
    /// A step's judgement is complete. A rejection starts the next round.
    StepJudged {
        frame: FramePath,
        step: StepId,
        approved: bool,
        tree: Tree,
        /// New findings at or above the floor.
        #[serde(default)]
        opened: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        feedback: Vec<Feedback>,
    },
    /// A worker submitted a change it had submitted before.
    LoopDetected {
        frame: FramePath,
        step: StepId,
        round: u32,
    },
    /// A step failed too often in too short a time.
    BreakerOpened { frame: FramePath, step: StepId },
    /// Less is asked for from now on.
    LevelLowered {
        frame: FramePath,
        level: DemandLevel,
    },

    /// A planner's plan was taken.
    PlanProposed { plan: Box<Plan> },
    /// The plan was changed by hand.
    PlanRevised {
        plan: Box<Plan>,
        /// The frames whose changes gates must judge again, because they judge by the files of tasks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejudged: Vec<FramePath>,
    },
    /// Gates check other things from now on; what they judged before does not count any more.
    ChecksRepinned {
        by: String,
        checks: BTreeMap<StepId, Vec<Check>>,
    },
    /// A task's status was set by a decision.
    TaskChanged {
        frame: FramePath,
        task: TaskId,
        status: TaskStatus,
    },

    /// A person was asked.
    Asked {
        frame: FramePath,
        question: Box<Question>,
    },
    /// A person answered.
    Answered {
        frame: FramePath,
        question: AttemptId,
        answer: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        by: String,
        /// Whether counting starts anew.
        #[serde(default)]
        resets: bool,
        /// Whether what was written goes back as feedback.
        #[serde(default)]
        rejects: bool,
        /// Whether the change was undone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reverts: bool,
        /// Whether the rounds before no longer count as stagnant.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends_stagnation: bool,
        /// The tree and the change that the person has made of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<(Tree, FrameChange)>>,
        /// The steps whose rejection the person has overruled.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        over: Vec<StepId>,
    },
    /// A person took a change as it is, though steps are against it, without having been asked.
    Accepted {
        frame: FramePath,
        by: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// The steps whose rejection the person has overruled.
        over: Vec<StepId>,
    },
    /// A role is asked which task comes first.
    ChoiceOpened { id: AttemptId, role: RoleName },
    /// A task was chosen to come first; by whom and why, if anybody said.
    TaskChosen {
        id: AttemptId,
        task: TaskId,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// A person told the next worker something.
    NoteGiven {
        frame: FramePath,
        from: StepId,
        by: String,
        text: String,
    },
    /// A decision could not be followed.
    DecisionRefused { by: String, why: String },

    /// A change was replayed on the tip of the run's branch.
    FrameRebased {
        id: AttemptId,
        base: Tip,
        tree: Tree,
        change: FrameChange,
    },
    /// It could not be replayed; it must be done again on the new base.
    RebaseConflicted {
        id: AttemptId,
        base: Tip,
        files: Vec<String>,
    },
    /// The run's branch was not where it was expected.
    TipMoved { id: AttemptId, tip: Tip },
    /// A frame's tree is on the run's branch.
    Committed {
        id: AttemptId,
        commit: Commit,
        tree: Tree,
        message: String,
        /// What may still fail of what failed before the run, for the checks where this commit
        /// changes that; a check without tests must pass from now on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        still_failing: Vec<BaselineFailure>,
    },
    /// A frame had nothing to commit.
    NothingToCommit { frame: FramePath },
    /// Something was published.
    Published { id: AttemptId, output: String },
    /// What was committed was handed over, or left where it is.
    Delivered {
        id: AttemptId,
        outcome: DeliveryOutcome,
    },

    /// Four fifths of a limit are used up.
    BudgetWarned { what: budget::LimitKind },
    /// A worker under way has reported what it has spent so far.
    UsageMeasured { id: AttemptId, usage: Usage },
    /// More or less room is taken on the disk than was known.
    DiskMeasured { bytes: u64 },
    /// What a confined command asked of the network, and what became of it.
    NetworkUsed {
        id: AttemptId,
        hosts: Vec<HostTraffic>,
    },
    /// What a worker is shown of the project, and what had to be left out.
    ContextPacked {
        id: AttemptId,
        packed: Box<PackedContext>,
    },
    /// A limit is reached; nothing new starts, and what uses up time, money or tokens is ended.
    LimitReached { what: budget::LimitKind },
    /// A person raised a limit.
    LimitsRaised { limits: budget::BudgetLimits },
    /// An account rests.
    AccountParked {
        account: Account,
        until: EpochMillis,
        #[serde(default, skip_serializing_if = "ParkReason::is_quota")]
        why: ParkReason,
    },
    /// An account may be used again.
    AccountFreed { account: Account },
    /// Model APIs that did not answer are tried anew: somebody has taken the run up again.
    OutagesCleared,
}

/// What is pinned when a run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Its id.
    pub run: RunId,
    /// When.
    pub at: EpochMillis,
    /// What the user asked for.
    pub goal: String,
    /// The files of its base that the goal names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal_files: Vec<String>,
    /// The graph.
    pub workflow: Workflow,
    /// The roles.
    pub roles: BTreeMap<RoleName, Role>,
    /// The commit it starts from.
    pub base: Tip,
    /// Its branch.
    pub branch: String,
    /// A plan that was there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Statuses of that plan's tasks, from an earlier run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier: BTreeMap<TaskId, TaskStatus>,
    /// What may be spent.
    #[serde(default)]
    pub limits: budget::BudgetLimits,
    /// What a plan made in this run is called.
    #[serde(default)]
    pub plan_id: String,
    /// How many tasks a plan may have.
    pub max_tasks: usize,
    /// What workers and gates are confined by, for people to read.
    #[serde(default)]
    pub confinement: String,
    /// What workers and gates are confined by.
    #[serde(default)]
    pub sandbox: SandboxKind,
    /// The accounts of workers, where they may differ from their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<WorkerName, Account>,
    /// The accounts that rest as it starts, and until when: other runs have told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resting: BTreeMap<Account, EpochMillis>,
    /// What every role is told to keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The templates of prompts that are not the built-in ones, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, String>,
    /// The context strategies that are not the built-in ones, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub strategies: BTreeMap<String, String>,
    /// The form of commit messages.
    #[serde(default, skip_serializing_if = "MessageFormat::is_free")]
    pub message: MessageFormat,
    /// In whose hands it is.
    #[serde(default, skip_serializing_if = "Operator::is_workers")]
    pub hands: Operator,
    /// What gates go by beside their checks, if a session begins it: it could change that while it is
    /// judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<GateSettings>,
    /// Files of the project's configuration that were not as they are committed, if a session begins it:
    /// it may have edited them before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited_config: Vec<String>,
    /// What the person chose that the workflow was compiled with; absent in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<RunChoices>,
    /// The checks that failed before anything was changed, if only new failures count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<BaselineFailure>,
    /// Whether checks that failed before anything was changed must pass in the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_pass: bool,
    /// What the set-up asked of the network when it was tried before the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<HostTraffic>,
    /// What of the repository's requests is in force, beyond what the user's own configuration
    /// allows.
    #[serde(default, skip_serializing_if = "RunAccess::is_none")]
    pub access: RunAccess,
}

/// What a person chose when a run began, so that its workflow can be compiled again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunChoices {
    /// The workflow, if not the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Roles that are played by another one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cast: BTreeMap<String, String>,
    /// Values of the configuration that were set for this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
}

/// A check that failed on the commit a run started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineFailure {
    /// The check's name.
    pub check: String,
    /// Its command.
    pub command: String,
    /// The tests that failed, by name.
    pub tests: Vec<String>,
}

/// Something that a repository asks for beyond what the user's own configuration allows, and that
/// the user has trusted: a key of the configuration and the value asked for. Nothing is decided by it
/// here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccessGrant {
    /// The key, such as `sandbox.hosts`.
    pub key: String,
    /// The value, in one fixed form.
    pub value: String,
}

/// What of a repository's requests was in force when a run started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAccess {
    /// What the user had trusted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub granted: BTreeSet<AccessGrant>,
    /// Whether the user wanted it to run without any of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricted: bool,
}

impl RunAccess {
    /// Whether nothing was asked for, or nobody asked what was.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What gates go by beside their checks, as it was when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSettings {
    /// What the configuration says of it. Nothing is decided by that here.
    #[serde(default)]
    pub config: serde_json::Value,
    /// The files in no commit that work trees get a copy of: their paths, and hashes of what they hold.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub included: BTreeMap<String, String>,
}

/// What a session had in its checkout and had not submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsubmittedChange {
    /// Whose change it is.
    pub frame: FramePath,
    /// The tree.
    pub tree: Tree,
    /// The change.
    pub change: FrameChange,
}

/// What became of a run's commits at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The user's branch was moved forward to them.
    Forward {
        /// The branch.
        branch: String,
        /// Where it was.
        from: Commit,
    },
    /// They were written to a file.
    Patch {
        /// The file, from the top of the project.
        file: String,
    },
    /// They stay on the run's branch.
    Left {
        /// Why.
        why: String,
    },
}

/// A host that a confined command asked for, as often as it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTraffic {
    /// `name:port`.
    pub host: String,
    /// Connections that were made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allowed: u64,
    /// Connections that were refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
    /// Connections that were allowed and could not be made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Bytes that went out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Bytes that came in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub received: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What workers and gates are confined by.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum SandboxKind {
    /// Nothing: they have the user's own rights.
    #[default]
    None,
    /// Bubblewrap.
    Bubblewrap,
    /// Podman or docker.
    Container,
}

/// How a frame or a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameOutcome {
    /// Everything it names is done.
    Completed,
    /// It was given up.
    Failed(String),
    /// A person said to leave it out.
    Skipped,
    /// It was stopped before its end.
    Cancelled,
    /// A person ended the run.
    Aborted(String),
}

/// Why a frame entered a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryReason {
    /// The frame starts here.
    Start,
    /// The step before led here.
    Next,
    /// Work is sent back.
    Rejected,
    /// The step before failed.
    Failed,
    /// After repeated rejections.
    Rebound,
    /// A person said so.
    Answered,
    /// What was judged has changed since.
    Stale,
    /// A failed frame was taken up again.
    Resumed,
}

/// What one check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Its name.
    pub name: String,
    /// What kind of check it was.
    #[serde(default, skip_serializing_if = "is_static")]
    pub class: CheckClass,
    /// Whether it passed.
    pub passed: bool,
    /// A few lines that say why, for people and for feedback.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What it found that does not fail it, and that a person should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<CheckRemark>,
    /// The tests that failed and are not held against the change, because they failed before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_failing: Vec<String>,
    /// What it found file by file, or function by function.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<CheckMeasure>,
    /// All of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BodyId>,
    /// What it ended with, if it was a command: 124 if it took too long, as shells have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What does not fail it and is for a reviewer to judge. Each becomes a finding of the gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ReportedFinding>,
}

/// What a check that passed has to say nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckRemark {
    /// It found something that is only told.
    Noted,
    /// Whether the tests prove anything could not be found out.
    Unproved,
}

/// One of the things a check looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckMeasure {
    /// What it is: `File Length (src/api.py)`.
    pub of: String,
    /// Whether it is as it should be.
    pub passed: bool,
    /// How it stands: `120/500 lines`.
    pub found: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_static(class: &CheckClass) -> bool {
    *class == CheckClass::Static
}

impl Event {
    /// The event's name in the log.
    pub fn kind(&self) -> &'static str {
        macro_rules! names {
            ($($variant:ident => $name:literal),* $(,)?) => {
                match self { $(Self::$variant { .. } => $name,)* }
            };
        }
        names! {
            RunStarted => "run_started", RunResumed => "run_resumed", RunEnded => "run_ended",
            RunReopened => "run_reopened", WorkersReassigned => "workers_reassigned",
            Accepted => "accepted", FrameOpened => "frame_opened",
            FrameResumed => "frame_resumed", FrameEnded => "frame_ended",
            StepEntered => "step_entered", StepSkipped => "step_skipped",
            AttemptStarted => "attempt_started", AttemptQueued => "attempt_queued",
            AttemptPaused => "attempt_paused", AttemptFailed => "attempt_failed",
            WorkerReplaced => "worker_replaced",
            AttemptLost => "attempt_lost", AttemptSpent => "attempt_spent",
            SlotAbstained => "slot_abstained", SubmissionReceived => "submission_received",
            FindingsChanged => "findings_changed", GateJudged => "gate_judged",
            StepJudged => "step_judged", LoopDetected => "loop_detected",
            BreakerOpened => "breaker_opened", LevelLowered => "level_lowered",
            PlanProposed => "plan_proposed", PlanRevised => "plan_revised",
            ChecksRepinned => "checks_repinned",
            TaskChanged => "task_changed", Asked => "asked", Answered => "answered",
            ChoiceOpened => "choice_opened", TaskChosen => "task_chosen",
            NoteGiven => "note_given", DecisionRefused => "decision_refused", FrameRebased => "frame_rebased",
            RebaseConflicted => "rebase_conflicted", TipMoved => "tip_moved",
            Committed => "committed", NothingToCommit => "nothing_to_commit",
            Published => "published", Delivered => "delivered", BudgetWarned => "budget_warned",
            DiskMeasured => "disk_measured", NetworkUsed => "network_used",
            ContextPacked => "context_packed",
            UsageMeasured => "usage_measured",
            LimitReached => "limit_reached", LimitsRaised => "limits_raised",
            AccountParked => "account_parked", AccountFreed => "account_freed",
            OutagesCleared => "outages_cleared",
        }
    }

    /// The version of the event's form.
    pub fn version(&self) -> u32 {
        1
    }

    /// Reads an event of any version that was ever written.
    pub fn read(version: u32, json: &str) -> Result<Self, EventReadError> {
        match version {
            1 => serde_json::from_str(json).map_err(EventReadError::Form),
            newer => Err(EventReadError::Newer(newer)),
        }
    }
}

/// Why an event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventReadError {
    /// It does not have the form of its version.
    #[error("the event does not have the form of its version")]
    Form(#[source] serde_json::Error),
    /// A newer codeteam wrote it.
    #[error("the event has version {0}, which a newer codeteam wrote")]
    Newer(u32),
}
