//! Events: what has happened in a run. They are facts, so they are never changed, and replay only
//! applies them.
//!
//! The names and fields here are a file format. A change of meaning gets a new [`Event::version`]
//! and a line in [`Event::read`]; golden logs of every version stay readable. For logs written
//! before a field existed, `compatibility` fills in what the field would have said.

mod access;
mod compatibility;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::access::{AccessGrant, GateSettings, RunAccess};
use crate::approval::{ApprovalBasis, ApprovalRules, Identity, RiskAssessment, TimeoutOutcome};
use crate::budget::{self, BudgetReservation, Usage};
use crate::checks::CheckResult;
use crate::context::PackedContext;
use crate::failure::{FailureAction, FailureCategory, FailureFacts};
use crate::feedback::Feedback;
use crate::findings::{Finding, FindingResolution};
use crate::fork::ForkOrigin;
use crate::frame::{
    DemandLevel, FrameChange, FrameItem, FrameOutcome, PauseReason, Question, SlotWork, Tip,
};
use crate::ids::{
    Account, AttemptId, BodyId, Commit, EpochMillis, FramePath, PersonName, PhaseId, RoleName,
    RunId, StepId, TaskId, Tree, WorkerName,
};
use crate::locks::{LockedFile, RequestedInterface};
use crate::message::MessageFormat;
use crate::operator::Operator;
use crate::park::ParkReason;
use crate::plan::{Interface, Plan, Task};
use crate::repin::PinnedWorkflow;
use crate::reply::AnswerMeaning;
use crate::risk::RiskFacts;
use crate::role::Role;
use crate::rollback::RollbackRequest;
use crate::schedule::TaskStatus;
use crate::submission::Submission;
use crate::team::{HelpRequest, Intervention, QualityScore, RefinedTask, RoleAssignment};
use crate::workflow::{Check, Workflow};

/// Something that has happened in a run.
///
/// Events are the only durable state of a run: the log is a list of them, and
/// [`crate::Run::replay`] rebuilds the run from it. Only [`crate::decide()`] creates events and
/// only [`crate::apply`] consumes them. Three rules follow:
///
/// - An event contains the result of a decision, so that replay need not decide anything again: the
///   policy may have changed since. That is why [`Event::Answered`] carries the meaning of the
///   answer, and [`Event::AttemptFailed`] its category and action.
/// - An event is never rewritten. New fields are optional, and their absence means what older
///   versions meant by it.
/// - [`Event::kind`] and the serialised field names are a file format; they stay when a variant or
///   a field gets another name in Rust.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the fields say what they are; each variant says what happened"
)]
pub enum Event {
    /// The run began; everything needed to understand it later is pinned here.
    RunStarted(Box<RunStarted>),
    /// Another process resumed the run.
    RunResumed { at: EpochMillis },
    /// The run ended.
    RunEnded {
        at: EpochMillis,
        outcome: FrameOutcome,
    },
    /// A person reopened an ended run.
    RunReopened { at: EpochMillis },

    /// The run was handed over to another operator: from a session to workers, or back. Work that
    /// the session had not submitted goes with it.
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
    /// A failed frame was resumed.
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
        /// The slots that take part, if not all of them do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        slots: Vec<u32>,
        /// Why these slots were chosen, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
        /// The roles that have still to contribute, where the plan names them; it is the first
        /// one's turn.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        roles: Vec<RoleName>,
    },
    /// A step was skipped because its condition did not hold.
    StepSkipped {
        frame: FramePath,
        step: StepId,
        /// The facts that led to it, in words, where they add something to the workflow's
        /// condition.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        because: String,
    },

    /// An attempt started.
    AttemptStarted {
        id: AttemptId,
        work: SlotWork,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<WorkerName>,
        tree: Tree,
        #[serde(default)]
        reserved: BudgetReservation,
    },
    /// An attempt waits for room in the budget.
    AttemptQueued { id: AttemptId },
    /// An attempt waits until a given time.
    AttemptPaused {
        id: AttemptId,
        until: EpochMillis,
        why: PauseReason,
    },
    /// An attempt failed.
    AttemptFailed {
        id: AttemptId,
        at: EpochMillis,
        facts: FailureFacts,
        category: FailureCategory,
        action: FailureAction,
        #[serde(default)]
        usage: Usage,
        /// The model that did the work, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transcript: Option<BodyId>,
        /// The worker's conversation id, if it reported one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// A worker failed for good, and the role's next worker replaces it.
    WorkerReplaced {
        id: AttemptId,
        worker: WorkerName,
        why: String,
    },
    /// An attempt was lost when codeteam's own process ended.
    AttemptLost {
        id: AttemptId,
        #[serde(default)]
        usage: Usage,
    },
    /// A cancelled attempt reported what it had spent.
    AttemptSpent {
        id: AttemptId,
        #[serde(default)]
        usage: Usage,
    },
    /// A slot gave up; it has no verdict and never approves.
    SlotAbstained { id: AttemptId, reason: String },
    /// A worker's answer was accepted as a valid submission of its role.
    SubmissionReceived {
        id: AttemptId,
        submission: Submission,
        #[serde(default)]
        usage: Usage,
        /// The model that did the work, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transcript: Option<BodyId>,
        /// An implementer's tree and change, as taken from the worktree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<(Tree, FrameChange)>,
        /// A gatekeeper's vote, after its findings were weighed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vote: Option<bool>,
        /// The worker's conversation id, if it reported one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// The work log as it was before a scribe shortened it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<BodyId>,
        /// The files of a session's checkout that no longer matched what was being judged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edited: Vec<String>,
    },
    /// Reviewers or checks opened findings or resolved them.
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
        /// The number of new findings at or above the severity floor.
        #[serde(default)]
        opened: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        feedback: Vec<Feedback>,
    },
    /// A result was scored against the criteria of its task.
    QualityScored {
        id: AttemptId,
        score: QualityScore,
        /// The score that is needed.
        threshold: u8,
        /// Whether the score reaches it.
        passed: bool,
    },
    /// A leader decided what happens to a result, or to work that failed.
    Intervened {
        id: AttemptId,
        intervention: Intervention,
        reason: String,
        /// Whether a rule decided: the leader gave no usable answer, or was not asked.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_rule: bool,
        /// The round in which it happened.
        round: u32,
        /// The task before and after, if it was refined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refined: Option<Box<RefinedTask>>,
        /// The helper that joins, and what it is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        help: Option<HelpRequest>,
        /// Whether the whole run ends.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends_run: bool,
        /// The feedback for whoever tries again, unless a verdict has it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        feedback: Vec<Feedback>,
        /// The roles that work again, if it is not only the last one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        turns: Vec<RoleName>,
        /// The steps that gave no score of the change: what they said of an earlier one no longer
        /// counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unscored: Vec<StepId>,
    },
    /// A worker submitted a change that it had submitted before.
    LoopDetected {
        frame: FramePath,
        step: StepId,
        round: u32,
        /// The feedback for the worker.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        feedback: String,
    },
    /// A step failed too often in too short a time.
    BreakerOpened { frame: FramePath, step: StepId },
    /// The demand level was lowered: less is asked for from now on.
    LevelLowered {
        frame: FramePath,
        level: DemandLevel,
    },

    /// A planner's plan was accepted, or the goal itself became the plan.
    PlanProposed { plan: Box<Plan> },
    /// The plan was changed by hand.
    PlanRevised {
        plan: Box<Plan>,
        /// The frames whose changes gates must judge again, because gates take the files of tasks
        /// into account.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejudged: Vec<FramePath>,
    },
    /// A designer broke a phase down: these are its tasks and interfaces from now on.
    PhasePlanned {
        id: AttemptId,
        phase: PhaseId,
        tasks: Vec<Task>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        interfaces: Vec<Interface>,
        /// The frames whose changes gates must judge again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejudged: Vec<FramePath>,
    },
    /// A task asked for a change of a locked interface. Its own change is put aside until that is
    /// decided; `feedback` gives it back.
    InterfaceChangeRequested {
        id: AttemptId,
        request: Box<RequestedInterface>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        feedback: Vec<Feedback>,
    },
    /// A locked interface was changed on the branch, as a task had asked.
    InterfaceChanged {
        id: AttemptId,
        phase: PhaseId,
        interface: Interface,
        file: LockedFile,
        /// What those are told who build on it.
        notice: Feedback,
        /// The frames that are told; gates judge their changes again.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        told: Vec<FramePath>,
    },
    /// Roles were assigned to tasks of the plan.
    TeamAssembled {
        id: AttemptId,
        assignments: Vec<RoleAssignment>,
    },
    /// Gates use other checks from now on; their earlier verdicts no longer count.
    ChecksRepinned {
        by: String,
        checks: BTreeMap<StepId, Vec<Check>>,
    },
    /// The run goes on with another version of its workflow, and everything that belongs to it. What
    /// is under way is finished as it was begun.
    WorkflowRepinned {
        by: String,
        pinned: Box<PinnedWorkflow>,
        /// The steps whose earlier verdicts no longer count.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rejudged: Vec<StepId>,
    },
    /// A decision set a task's status.
    TaskChanged {
        frame: FramePath,
        task: TaskId,
        status: TaskStatus,
    },

    /// A person was asked a question.
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
        /// Whether the frame's counters start again.
        #[serde(default)]
        resets: bool,
        /// Whether what the person wrote goes back as feedback.
        #[serde(default)]
        rejects: bool,
        /// Whether the change was undone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reverts: bool,
        /// Whether the rounds so far no longer count as stagnant.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ends_stagnation: bool,
        /// The tree and the change that the person has made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<(Tree, FrameChange)>>,
        /// The steps whose rejection the person has overruled.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        over: Vec<StepId>,
        /// The meaning of the answer; absent in older logs only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        meaning: Option<AnswerMeaning>,
        /// How the person is known, if they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<Identity>,
    },
    /// The facts about the risk of a change were read out of it.
    RiskAssessed {
        id: AttemptId,
        tree: Tree,
        facts: Box<RiskFacts>,
    },
    /// People are asked to approve a tree; the question itself was `asked`.
    ApprovalRequested {
        frame: FramePath,
        question: AttemptId,
        tree: Tree,
        at: EpochMillis,
        assessment: Box<RiskAssessment>,
    },
    /// A notification about a pending approval was delivered by these channels, and the change goes
    /// on at `until` unless somebody objects; or it reached nobody.
    ApprovalNotified {
        frame: FramePath,
        question: AttemptId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        channels: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<EpochMillis>,
        /// When it is sent again, if it reached nobody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<EpochMillis>,
    },
    /// The notification has to be sent again before the time to object runs.
    ApprovalNoticeRenewed {
        frame: FramePath,
        question: AttemptId,
    },
    /// A person approved or rejected a tree.
    Voted {
        frame: FramePath,
        question: AttemptId,
        tree: Tree,
        by: Identity,
        approves: bool,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// An approval was not given in time.
    ApprovalTimedOut {
        frame: FramePath,
        question: AttemptId,
        /// The position of the requirement that is not met.
        requirement: usize,
        at: EpochMillis,
        outcome: TimeoutOutcome,
        /// When the time is over next.
        next: EpochMillis,
    },
    /// A person has handed their vote to somebody else; to themselves if they have taken it back.
    ApprovalDelegated {
        frame: FramePath,
        question: AttemptId,
        from: Identity,
        to: PersonName,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// The votes on a tree no longer count, because it is not what would be committed now.
    ApprovalVoided {
        frame: FramePath,
        tree: Tree,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        voters: Vec<PersonName>,
        why: String,
    },
    /// A tree may be committed by the approval policy.
    ApprovalGranted {
        frame: FramePath,
        tree: Tree,
        basis: ApprovalBasis,
        assessment: Box<RiskAssessment>,
    },
    /// A person accepted a change despite rejecting steps, without having been asked.
    Accepted {
        frame: FramePath,
        by: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// The steps whose rejection the person has overruled.
        over: Vec<StepId>,
        /// How the person is known, if they are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<Identity>,
    },
    /// A role is asked which task comes first.
    ChoiceOpened { id: AttemptId, role: RoleName },
    /// A task was chosen to come first; `why` is the role's reason, if it gave one.
    TaskChosen {
        id: AttemptId,
        task: TaskId,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// A person left a note for the next worker.
    NoteGiven {
        frame: FramePath,
        from: StepId,
        by: String,
        text: String,
    },
    /// A decision could not be carried out.
    DecisionRefused { by: String, why: String },

    /// A change was rebased onto the tip of the run's branch.
    FrameRebased {
        id: AttemptId,
        base: Tip,
        tree: Tree,
        change: FrameChange,
    },
    /// A change could not be rebased; it must be made again on the new base.
    RebaseConflicted {
        id: AttemptId,
        base: Tip,
        files: Vec<String>,
        /// The feedback for whoever makes it again.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        feedback: String,
    },
    /// The interfaces of a phase were written to their files and locked: until the phase ends, nobody
    /// else may change these files.
    InterfacesLocked {
        id: AttemptId,
        tree: Tree,
        /// The change that this makes, unless the files were there already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<Box<FrameChange>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<LockedFile>,
    },
    /// The run's branch was not where it was expected.
    TipMoved { id: AttemptId, tip: Tip },
    /// A frame's tree is on the run's branch.
    Committed {
        id: AttemptId,
        commit: Commit,
        tree: Tree,
        message: String,
        /// The failures from before the run that are still tolerated, for the checks where this
        /// commit changes that; a check listed without tests must pass from now on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        still_failing: Vec<BaselineFailure>,
    },
    /// A frame had nothing to commit.
    NothingToCommit { frame: FramePath },
    /// A publish command succeeded.
    Published { id: AttemptId, output: String },
    /// The commits were delivered, or left on the run's branch.
    Delivered {
        id: AttemptId,
        outcome: DeliveryOutcome,
    },

    /// A person decided to take the run back to an earlier moment. All work was stopped; the branch
    /// has still to be moved.
    RollbackRequested {
        request: Box<RollbackRequest>,
        /// The number of the visit in which the root frame waits for that.
        generation: u32,
    },
    /// The branch was moved, and what was done after that moment counts no longer. `found` is the
    /// commit that the branch had before; it is kept under a reference.
    RunRolledBack {
        id: AttemptId,
        request: Box<RollbackRequest>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Commit>,
    },
    /// The branch could not be moved, so that the run goes on as it was.
    RollbackAbandoned { id: AttemptId, why: String },

    /// Four fifths of a limit are used up.
    BudgetWarned { what: budget::LimitKind },
    /// A running worker has reported what it has spent so far.
    UsageMeasured { id: AttemptId, usage: Usage },
    /// The run's disk usage has changed noticeably.
    DiskMeasured { bytes: u64 },
    /// The hosts that a confined command connected to or tried to reach.
    NetworkUsed {
        id: AttemptId,
        hosts: Vec<HostTraffic>,
    },
    /// The context that was assembled for a worker, and what had to be left out.
    ContextPacked {
        id: AttemptId,
        packed: Box<PackedContext>,
    },
    /// A limit is reached; nothing new starts, and work that uses up time, money or tokens is
    /// ended.
    LimitReached { what: budget::LimitKind },
    /// A person raised a limit.
    LimitsRaised { limits: budget::BudgetLimits },
    /// An account was parked.
    AccountParked {
        account: Account,
        until: EpochMillis,
        #[serde(default, skip_serializing_if = "ParkReason::is_quota")]
        why: ParkReason,
    },
    /// A parked account may be used again.
    AccountFreed { account: Account },
    /// APIs that did not answer are tried again, because somebody resumed the run.
    OutagesCleared,
}

/// Everything that is pinned when a run starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's id.
    pub run: RunId,
    /// When it started.
    pub at: EpochMillis,
    /// The goal, as the user stated it.
    pub goal: String,
    /// The files of the base commit that the goal names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal_files: Vec<String>,
    /// Those of them that are tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal_tests: Vec<String>,
    /// The compiled workflow.
    pub workflow: Workflow,
    /// The roles, by name.
    pub roles: BTreeMap<RoleName, Role>,
    /// The commit it starts from.
    pub base: Tip,
    /// The run's branch.
    pub branch: String,
    /// A plan that existed already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Statuses of that plan's tasks, from an earlier run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier: BTreeMap<TaskId, TaskStatus>,
    /// The phases of that plan whose tasks were all done in an earlier run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub earlier_phases: BTreeSet<PhaseId>,
    /// The budget limits.
    #[serde(default)]
    pub limits: budget::BudgetLimits,
    /// The id given to a plan made in this run.
    #[serde(default)]
    pub plan_id: String,
    /// The maximum number of tasks in a plan.
    pub max_tasks: usize,
    /// The confinement of workers and gates, described for people.
    #[serde(default)]
    pub confinement: String,
    /// The kind of confinement of workers and gates.
    #[serde(default)]
    pub sandbox: SandboxKind,
    /// The accounts of workers, where they may differ from the workers' names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accounts: BTreeMap<WorkerName, Account>,
    /// The accounts that other runs have parked, and until when.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resting: BTreeMap<Account, EpochMillis>,
    /// Rules that every role must keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Prompt templates other than the built-in ones, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, String>,
    /// Context strategies other than the built-in ones, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub strategies: BTreeMap<String, String>,
    /// The required form of commit messages.
    #[serde(default, skip_serializing_if = "MessageFormat::is_free")]
    pub message: MessageFormat,
    /// Who carries out the run's roles.
    #[serde(default, skip_serializing_if = "Operator::is_workers")]
    pub hands: Operator,
    /// The settings of gates besides their checks, if a session starts the run: it could change
    /// them while it is being judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<GateSettings>,
    /// Configuration files of the project that differ from their committed version, if a session
    /// starts the run: it may have edited them beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited_config: Vec<String>,
    /// The choices the person made that went into compiling the workflow; absent in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<RunChoices>,
    /// The checks that failed before the run, if only new failures count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<BaselineFailure>,
    /// Whether checks that failed before the run must pass at its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_pass: bool,
    /// The hosts that the set-up contacted when it was tried before the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<HostTraffic>,
    /// The repository's access requests that are in force, beyond what the user's own configuration
    /// allows.
    #[serde(default, skip_serializing_if = "RunAccess::is_none")]
    pub access: RunAccess,
    /// The approval rules, if changes need an approval before they are committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Box<ApprovalRules>>,
    /// The moment of another run that it begins from, if it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<Box<ForkOrigin>>,
}

/// The choices a person made when a run began, kept so that its workflow can be compiled again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunChoices {
    /// The workflow, if not the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Roles that are played by another role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cast: BTreeMap<String, String>,
    /// Configuration values that were set for this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
}

/// A check that failed on the commit a run started from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineFailure {
    /// The check's name.
    pub check: String,
    /// The check's command.
    pub command: String,
    /// The names of the tests that failed.
    pub tests: Vec<String>,
}

/// Work in a session's checkout that had not been submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsubmittedChange {
    /// The frame the work belongs to.
    pub frame: FramePath,
    /// The tree of the checkout.
    pub tree: Tree,
    /// The change that leads to that tree.
    pub change: FrameChange,
}

/// The way a run's commits were delivered at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The user's branch was moved forward to them.
    Forward {
        /// The branch that was moved.
        branch: String,
        /// The commit it pointed to before.
        from: Commit,
    },
    /// They were written to a patch file.
    Patch {
        /// The file's path, relative to the top of the project.
        file: String,
    },
    /// They stay on the run's branch.
    Left {
        /// Why they were not delivered.
        why: String,
    },
}

/// The connections of a confined command to one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTraffic {
    /// The host as `name:port`.
    pub host: String,
    /// Connections that were made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allowed: u64,
    /// Connections that were refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u64,
    /// Connections that were allowed but could not be made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Bytes sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sent: u64,
    /// Bytes received.
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
    /// There were repeated rejections.
    Rebound,
    /// A person's answer led here.
    Answered,
    /// The judged change has been modified since.
    Stale,
    /// A failed frame was resumed.
    Resumed,
}

impl Event {
    /// Returns the event's name in the log.
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
            QualityScored => "quality_scored", Intervened => "intervened",
            TeamAssembled => "team_assembled", PhasePlanned => "phase_planned",
            BreakerOpened => "breaker_opened", LevelLowered => "level_lowered",
            PlanProposed => "plan_proposed", PlanRevised => "plan_revised",
            ChecksRepinned => "checks_repinned", WorkflowRepinned => "workflow_repinned",
            TaskChanged => "task_changed", Asked => "asked", Answered => "answered",
            ChoiceOpened => "choice_opened", TaskChosen => "task_chosen",
            NoteGiven => "note_given", DecisionRefused => "decision_refused", FrameRebased => "frame_rebased",
            RebaseConflicted => "rebase_conflicted", TipMoved => "tip_moved",
            InterfacesLocked => "interfaces_locked",
            InterfaceChangeRequested => "interface_change_requested",
            InterfaceChanged => "interface_changed",
            Committed => "committed", NothingToCommit => "nothing_to_commit",
            RollbackRequested => "rollback_requested", RunRolledBack => "run_rolled_back",
            RollbackAbandoned => "rollback_abandoned",
            Published => "published", Delivered => "delivered", BudgetWarned => "budget_warned",
            DiskMeasured => "disk_measured", NetworkUsed => "network_used",
            ContextPacked => "context_packed",
            UsageMeasured => "usage_measured",
            LimitReached => "limit_reached", LimitsRaised => "limits_raised",
            AccountParked => "account_parked", AccountFreed => "account_freed",
            OutagesCleared => "outages_cleared",
            RiskAssessed => "risk_assessed", ApprovalRequested => "approval_requested",
            ApprovalNotified => "approval_notified",
            ApprovalNoticeRenewed => "approval_notice_renewed", Voted => "voted",
            ApprovalTimedOut => "approval_timed_out",
            ApprovalDelegated => "approval_delegated",
            ApprovalVoided => "approval_voided", ApprovalGranted => "approval_granted",
        }
    }

    /// Returns the version of the event's format.
    pub fn version(&self) -> u32 {
        1
    }

    /// Reads an event of any version that was ever written.
    pub fn read(version: u32, json: &str) -> Result<Self, EventReadError> {
        match version {
            1 => {
                let mut event = serde_json::from_str(json).map_err(EventReadError::Form)?;
                compatibility::complete_older_event(&mut event);
                Ok(event)
            }
            newer => Err(EventReadError::Newer(newer)),
        }
    }
}

/// The reason an event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum EventReadError {
    /// It does not have the format of its version.
    #[error("the event does not have the form of its version")]
    Form(#[source] serde_json::Error),
    /// A newer codeteam wrote it.
    #[error("the event has version {0}, which a newer codeteam wrote")]
    Newer(u32),
}
