//! The state of a run, and how events change it.
//!
//! [`apply`] holds no policy: it records what an event says and maintains the indices (`frames`,
//! schedules, outstanding launches) that keep the cost of `decide` and `due` proportional to the
//! work that is active.

mod branch_history;
mod fold;
mod phases;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, VectorSync};
use serde::{Deserialize, Serialize};

pub use self::branch_history::{BranchMove, EndedFrame, TakenBackEvents};
pub use self::fold::apply;
pub use self::phases::{breaks_down_phases, goes_by_phase};
use crate::approval::ApprovalRules;
use crate::budget::{self, Budget, BudgetReservation, InFlightUsage, Usage};
use crate::contribution::Contribution;
use crate::event::{
    BaselineFailure, DeliveryOutcome, GateSettings, RunAccess, RunChoices, SandboxKind,
};
use crate::findings::Finding;
use crate::fork::ForkOrigin;
use crate::frame::FrameOutcome;
use crate::frame::{ChildFrames, Frame, FrameItem, Slot, SlotEnd, SlotState, Tip};
use crate::ids::{
    Account, AttemptId, Commit, EpochMillis, FramePath, PhaseId, RoleName, RunId, StepId, TaskId,
    WorkerName, fnv_hash,
};
use crate::locks::InterfaceRevision;
use crate::message::MessageFormat;
use crate::operator::{Operator, is_session_worker};
use crate::park::{ApiOutage, ParkedAccounts};
use crate::plan::{Plan, Task};
use crate::repin::PinnedWorkflow;
use crate::role::{Role, RoleKind};
use crate::rollback::RollbackRequest;
use crate::schedule::{Schedule, TaskStatus};
use crate::team::{InterventionRecord, TaskQuality};
use crate::workflow::{EachItem, Step, StepKind, Workflow};

/// The state of a run: everything that follows from its events, and nothing else.
///
/// A run is only ever changed by [`apply`]. [`Run::replay`] of the log therefore yields the state
/// that the live process had, and `PartialEq` and [`Run::digest`] can compare the two.
/// [`Run::default`] is the run before its first event; its id is empty.
///
/// The state falls into four parts:
///
/// - what [`crate::Event::RunStarted`] pinned: the goal, workflow, roles, base, limits, templates
///   and configuration. It changes only by explicit events, such as raised limits or repinned
///   checks;
/// - the plan and the status of its tasks and phases;
/// - the frames under way, which hold everything about work in progress, and the frames that failed
///   and can be resumed;
/// - shared bookkeeping: outstanding launches, the budget, parked accounts, the integration queue.
///
/// Most large parts are shared (`Arc`) or persistent (`rpds`), so `decide` can clone a run
/// cheaply and try out consequences on the clone.
///
/// The serialised form is for caches that can be made again from the log at any time, and only the
/// program that wrote it may read it: the log is what stays readable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The run's id; empty before it has started.
    pub id: RunId,
    /// The goal, as the user stated it.
    pub goal: String,
    /// The files of the base commit that the goal names.
    pub goal_files: Arc<Vec<String>>,
    /// Those of them that are tests.
    #[serde(default)]
    pub goal_tests: Arc<Vec<String>>,
    /// When the run started.
    pub started: EpochMillis,
    /// The number of events applied so far.
    pub seq: u64,
    /// The workflow graph the run follows.
    pub workflow: Arc<Workflow>,
    /// The roles the run can use, by name.
    pub roles: Arc<BTreeMap<RoleName, Role>>,
    /// The commit the run started from.
    pub base: Tip,
    /// The run's branch.
    pub branch: String,
    /// The tip of the run's branch.
    pub tip: Tip,
    /// The confinement of the run's workers, described for people.
    pub confinement: String,
    /// The kind of confinement, for the engine.
    pub sandbox: SandboxKind,
    /// The plan, once there is one.
    pub plan: Option<Arc<Plan>>,
    /// Whether the run started with a plan.
    pub plan_given: bool,
    /// Other roles that could help with a task, the most suitable one first, as whoever assembled
    /// the team has said.
    pub alternatives: Arc<BTreeMap<TaskId, Vec<RoleName>>>,
    /// The index of each task in `plan.tasks`.
    pub task_positions: Arc<BTreeMap<TaskId, usize>>,
    /// The id given to a plan made in this run.
    pub plan_id: String,
    /// The maximum number of tasks in a plan.
    pub max_tasks: usize,
    /// Status and history of every task that is not pending.
    pub tasks: RedBlackTreeMapSync<TaskId, TaskRecord>,
    /// The status of every phase that is not pending.
    pub phases: RedBlackTreeMapSync<PhaseId, TaskStatus>,
    /// The frames under way. The root frame stays until the end.
    pub frames: BTreeMap<FramePath, Frame>,
    /// Frames that failed or were stopped and can be resumed; their `stage` says which.
    pub failed_frames: RedBlackTreeMapSync<FramePath, Frame>,
    /// The frames that want to integrate: the first has the turn, the others wait.
    pub integration_queue: Vec<FramePath>,
    /// Launches that have not reported what they spent, by fence.
    pub outstanding: BTreeMap<u64, OutstandingLaunch>,
    /// The fence of the latest launch.
    pub fence: u64,
    /// The limits and what has been spent.
    pub budget: Budget,
    /// The limit that stopped the run, if one did.
    pub reached_limit: Option<budget::LimitKind>,
    /// Accounts that are parked until their limit resets or their API recovers.
    pub parks: ParkedAccounts,
    /// Accounts whose API does not answer.
    pub outages: BTreeMap<Account, ApiOutage>,
    /// The accounts of workers, where they may differ from the workers' names.
    pub accounts: BTreeMap<WorkerName, Account>,
    /// Rules that every role must keep to.
    pub rules: Arc<Vec<String>>,
    /// Prompt templates other than the built-in ones, by name.
    pub templates: Arc<BTreeMap<String, String>>,
    /// Context strategies other than the built-in ones, by name.
    pub strategies: Arc<BTreeMap<String, String>>,
    /// The required form of commit messages.
    pub message_format: Arc<MessageFormat>,
    /// Who carries out the run's roles now.
    pub operator: Operator,
    /// Who carried them out when the run started.
    pub started_by: Operator,
    /// The settings of gates besides their checks, if a session started the run.
    pub gate_settings: Option<Arc<GateSettings>>,
    /// Configuration files of the project that differed from their committed version when a session
    /// started the run.
    pub edited_config: Vec<String>,
    /// The choices the person made that went into compiling the workflow.
    pub choices: Option<Arc<RunChoices>>,
    /// The failures from before the run that are still tolerated, by check. It shrinks with the
    /// commits of the run: a test that one of them has repaired must not fail again. A check listed
    /// without tests must pass.
    pub baseline: Arc<Vec<BaselineFailure>>,
    /// Whether checks that failed before the run must pass at its end.
    pub must_pass: bool,
    /// The repository's access requests that were in force when the run started.
    pub access: Arc<RunAccess>,
    /// The approval rules, if changes need an approval before they are committed.
    pub approval: Option<Arc<ApprovalRules>>,
    /// The moment of another run that it began from, if it is a fork.
    pub forked_from: Option<Arc<ForkOrigin>>,
    /// Every move of the run's branch that still counts, in order.
    pub branch_moves: VectorSync<BranchMove>,
    /// The frames that were completed or skipped, and when.
    pub ended_frames: RedBlackTreeMapSync<FramePath, EndedFrame>,
    /// The frames of phases that were completed: a rollback may resume them.
    pub ended_phases: RedBlackTreeMapSync<FramePath, Arc<Frame>>,
    /// The changes of locked interfaces that still count, in order.
    #[serde(default)]
    pub interface_revisions: Vec<Arc<InterfaceRevision>>,
    /// The events that no longer count, because the run was taken back to before them.
    pub taken_back: Vec<TakenBackEvents>,
    /// The rollback that is under way: the branch has still to be moved.
    pub rollback: Option<Arc<RollbackRequest>>,
    /// The way the run's commits were delivered at its end.
    pub delivery_outcome: Option<DeliveryOutcome>,
    /// The output of the last publish command that succeeded.
    pub published: Option<String>,
    /// The outcome, once the run has ended.
    pub outcome: Option<FrameOutcome>,
}

/// A launch that is under way, or cancelled and not yet accounted for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingLaunch {
    /// The attempt that was launched.
    pub id: AttemptId,
    /// The part of the budget that is reserved for it.
    pub reserved: BudgetReservation,
    /// Whether it counts against the budget: a worker does, a gate does not.
    pub counted: bool,
    /// The usage it has reported so far.
    pub used: Usage,
}

/// The files that an unfinished task of the plan will change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFiles {
    /// The task that holds them.
    pub task: TaskId,
    /// Paths, directories or patterns.
    pub files: Vec<String>,
}

/// The status and results of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task's current status.
    pub status: TaskStatus,
    /// The number of rounds it took.
    pub rounds: u32,
    /// The commits made for it.
    pub commits: Vec<Commit>,
    /// Why it failed, if it did.
    pub why: Option<String>,
    /// The findings that were still open when it was completed.
    pub findings: Vec<Finding>,
    /// What each role has contributed, once it is completed.
    pub contributions: Vec<Contribution>,
    /// The contributions in brief, if a scribe has summarised them.
    pub digest: Option<String>,
    /// The last score of its result, as of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<TaskQuality>,
    /// What a leader has decided about it, as of its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
}

impl Default for Run {
    fn default() -> Self {
        let workflow = Workflow {
            name: String::new(),
            start: StepId::default(),
            steps: BTreeMap::new(),
            max_steps: None,
            max_rounds: None,
            max_stagnant_rounds: None,
            on_exhausted: crate::workflow::ExhaustionPolicy::default(),
            severity_floor: crate::findings::Severity::default(),
            settings: BTreeMap::new(),
            small_change: None,
            quality_threshold: None,
            digest_from: None,
        };
        Self {
            id: RunId::default(),
            goal: String::new(),
            goal_files: Arc::default(),
            goal_tests: Arc::default(),
            started: EpochMillis::default(),
            seq: 0,
            workflow: Arc::new(workflow),
            roles: Arc::default(),
            base: Tip::default(),
            branch: String::new(),
            tip: Tip::default(),
            confinement: String::new(),
            sandbox: SandboxKind::default(),
            plan: None,
            plan_given: false,
            alternatives: Arc::default(),
            task_positions: Arc::default(),
            plan_id: String::new(),
            max_tasks: 0,
            tasks: RedBlackTreeMapSync::new_sync(),
            phases: RedBlackTreeMapSync::new_sync(),
            frames: BTreeMap::new(),
            failed_frames: RedBlackTreeMapSync::new_sync(),
            integration_queue: Vec::new(),
            outstanding: BTreeMap::new(),
            fence: 0,
            budget: Budget::default(),
            reached_limit: None,
            parks: ParkedAccounts::default(),
            outages: BTreeMap::new(),
            accounts: BTreeMap::new(),
            rules: Arc::default(),
            templates: Arc::default(),
            strategies: Arc::default(),
            message_format: Arc::default(),
            operator: Operator::default(),
            started_by: Operator::default(),
            gate_settings: None,
            edited_config: Vec::new(),
            choices: None,
            baseline: Arc::default(),
            must_pass: false,
            access: Arc::default(),
            approval: None,
            forked_from: None,
            branch_moves: VectorSync::new_sync(),
            ended_frames: RedBlackTreeMapSync::new_sync(),
            ended_phases: RedBlackTreeMapSync::new_sync(),
            interface_revisions: Vec::new(),
            taken_back: Vec::new(),
            rollback: None,
            delivery_outcome: None,
            published: None,
            outcome: None,
        }
    }
}

impl Run {
    /// Rebuilds a run from its events.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a crate::Event>) -> Self {
        let mut run = Self::default();
        for event in events {
            apply(&mut run, event);
        }
        run
    }

    /// Returns true once [`crate::Event::RunStarted`] has been applied.
    pub fn has_started(&self) -> bool {
        !self.id.0.is_empty()
    }

    /// Returns what the run has pinned of its workflow.
    pub fn pinned_workflow(&self) -> PinnedWorkflow {
        PinnedWorkflow {
            workflow: Workflow::clone(&self.workflow),
            roles: BTreeMap::clone(&self.roles),
            templates: BTreeMap::clone(&self.templates),
            strategies: BTreeMap::clone(&self.strategies),
            rules: Vec::clone(&self.rules),
            accounts: self.accounts.clone(),
        }
    }

    /// Returns true once the run has ended.
    pub fn is_terminal(&self) -> bool {
        self.outcome.is_some()
    }

    /// Returns a hash of the state: equal states have equal digests.
    pub fn digest(&self) -> u64 {
        fnv_hash(&format!("{self:?}"))
    }

    /// Returns true if an attempt under way is carried out by a session.
    pub(crate) fn is_session_attempt(&self, id: &AttemptId) -> bool {
        let slot = self.frames.get(&id.frame).and_then(|f| f.slot(id));
        let slot = slot.filter(|_| self.operator == Operator::Session);
        slot.and_then(|slot| slot.worker.as_ref())
            .is_some_and(is_session_worker)
    }

    /// Returns the account that a worker's usage is counted against.
    pub fn worker_account(&self, worker: &WorkerName) -> Account {
        let account = self.accounts.get(worker).cloned();
        account.unwrap_or_else(|| Account(worker.0.clone()))
    }

    /// Returns what the attempts under way have spent so far.
    pub fn in_flight_usage(&self) -> InFlightUsage {
        self.sum_outstanding(|_| true)
    }

    /// Returns what the attempts under way in one frame have spent so far.
    pub fn in_flight_usage_in(&self, frame: &FramePath) -> InFlightUsage {
        self.sum_outstanding(|launch| launch.id.frame == *frame)
    }

    fn sum_outstanding(&self, counts: impl Fn(&OutstandingLaunch) -> bool) -> InFlightUsage {
        let mut sum = InFlightUsage::default();
        for launch in self.outstanding.values().filter(|l| l.counted && counts(l)) {
            sum.add(launch.reserved, launch.used);
        }
        sum
    }

    /// Returns a step of the workflow.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.workflow.steps.get(id)
    }

    /// Returns the step of gatekeepers that a frame is at, or was at when it ended, if it has given
    /// no verdict on the frame's change because somebody who had to judge it gave up.
    pub fn unjudged_step<'a>(&self, frame: &'a Frame) -> Option<&'a StepId> {
        if frame.change.is_none() || frame.team.failure.is_some() {
            return None;
        }
        let StepKind::Role(role) = &self.step(&frame.step)?.kind else {
            return None;
        };
        let mut roles = role.slots.iter().filter_map(|name| self.roles.get(name));
        let judges = roles.any(|role| role.kind == RoleKind::Gatekeeper);
        let verdict = frame.judged_step(&frame.step);
        let is_judged = verdict.is_some_and(|judged| judged.is_current());
        let gave_up = |slot: &Slot| slot.state == SlotState::Done(SlotEnd::Abstained);
        let is_missing = judges && !is_judged && frame.slots.iter().any(gave_up);
        is_missing.then_some(&frame.step)
    }

    /// Returns the step a frame is at.
    pub fn frame_step(&self, frame: &Frame) -> Option<&Step> {
        self.step(&frame.step)
    }

    /// Returns the role that an attempt plays at a step of the workflow: the one that took part in
    /// that visit, where the plan names the role, and otherwise the slot's.
    pub fn role_of_attempt(&self, id: &AttemptId) -> Option<&RoleName> {
        let StepKind::Role(step) = &self.step(&id.step)?.kind else {
            return None;
        };
        let frame = self.frames.get(&id.frame);
        let frame = frame.or_else(|| self.failed_frames.get(&id.frame));
        let played = frame.and_then(|frame| frame.team.player(&id.step, id.generation));
        played.or_else(|| step.slots.get(id.slot as usize))
    }

    /// Returns the task a frame is for, if it is for one.
    pub fn frame_task(&self, frame: &Frame) -> Option<&Task> {
        match &frame.item {
            FrameItem::Task(id) => self.task(id),
            FrameItem::Run | FrameItem::Phase(_) => None,
        }
    }

    /// Returns a task of the plan.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.plan.as_ref()?.tasks.get(*self.task_positions.get(id)?)
    }

    /// Returns the files that the plan names for a frame's work: those of its task, of the tasks of
    /// its phase, or, for the root frame, of all tasks. Empty if one of these tasks names none,
    /// since it may then touch any file.
    pub fn planned_files(&self, frame: &Frame) -> Vec<String> {
        let mut files = BTreeSet::new();
        for task in self.tasks_of(frame) {
            if task.files.is_empty() {
                return Vec::new();
            }
            files.extend(&task.files);
        }
        files.into_iter().cloned().collect()
    }

    /// Returns the files of the plan's unfinished tasks that do not belong to this frame.
    pub fn files_held_by_others(&self, frame: &Frame) -> Vec<HeldFiles> {
        let own: BTreeSet<&TaskId> = self.tasks_of(frame).map(|task| &task.id).collect();
        let tasks = self.plan.iter().flat_map(|plan| &plan.tasks);
        tasks
            .filter(|task| !own.contains(&task.id) && !task.files.is_empty())
            .filter(|task| !self.task_status(&task.id).satisfies())
            .map(|task| HeldFiles {
                task: task.id.clone(),
                files: task.files.clone(),
            })
            .collect()
    }

    /// Returns true if tests that failed before the run may still fail with a frame's change. Where
    /// the checks must pass in the end, they may fail only while other tasks are left that can
    /// repair them.
    pub fn may_leave_failures(&self, frame: &Frame) -> bool {
        if !self.must_pass {
            return true;
        }
        let is_own = |task: &Task| match &frame.item {
            FrameItem::Run => true,
            FrameItem::Phase(phase) => task.phase.as_ref() == Some(phase),
            FrameItem::Task(id) => task.id == *id,
        };
        let mut tasks = self.plan.iter().flat_map(|plan| &plan.tasks);
        tasks.any(|task| !is_own(task) && !self.task_status(&task.id).satisfies())
    }

    /// Returns the tests that failed before the run and that no commit of it has repaired.
    pub fn unrepaired_tests(&self) -> impl Iterator<Item = &str> {
        let failures = self.baseline.iter();
        failures.flat_map(|failure| failure.tests.iter().map(String::as_str))
    }

    /// Returns the tasks of the plan that a frame carries out.
    pub(crate) fn tasks_of(&self, frame: &Frame) -> impl Iterator<Item = &Task> {
        let item = frame.item.clone();
        let tasks = self.plan.iter().flat_map(|plan| &plan.tasks);
        tasks.filter(move |task| match &item {
            FrameItem::Run => true,
            FrameItem::Phase(phase) => task.phase.as_ref() == Some(phase),
            FrameItem::Task(id) => task.id == *id,
        })
    }

    /// Returns the status of a task.
    pub fn task_status(&self, id: &TaskId) -> TaskStatus {
        self.tasks
            .get(id)
            .map_or(TaskStatus::Pending, |record| record.status)
    }

    /// Builds the schedule of an `each` step in a frame: the tasks of the plan, or of the frame's
    /// phase, or the phases. `counts` selects the statuses that are kept; all others become pending
    /// again.
    fn build_children(
        &self,
        frame: &Frame,
        step: &Step,
        counts: fn(TaskStatus) -> bool,
    ) -> Option<ChildFrames> {
        let StepKind::Each { over, cap, .. } = &step.kind else {
            return None;
        };
        let plan = self.plan.as_ref()?;
        let subset = match (over, &frame.item) {
            (EachItem::Phase, _) => Cow::Owned(plan.phases_as_plan()),
            (EachItem::Task, FrameItem::Phase(phase)) => Cow::Owned(plan.plan_for_phase(phase)),
            (EachItem::Task, _) => Cow::Borrowed(plan.as_ref()),
        };
        let names: Vec<String> = subset.tasks.iter().map(|t| t.id.0.clone()).collect();
        let status = |name: &str| match over {
            EachItem::Phase => self.phases.get(&PhaseId::from(name)).copied(),
            EachItem::Task => self.tasks.get(&TaskId::from(name)).map(|r| r.status),
        };
        let earlier: BTreeMap<usize, TaskStatus> = names
            .iter()
            .enumerate()
            .filter_map(|(i, name)| Some((i, status(name)?)))
            .filter(|(_, status)| counts(*status))
            .collect();
        let mut schedule = Schedule::new(&subset, *cap, &earlier);
        for (i, name) in names.iter().enumerate() {
            if self.frames.contains_key(&frame.path.child(name)) {
                schedule.start(i);
            }
        }
        let positions = names.iter().cloned().zip(0..).collect();
        Some(ChildFrames {
            schedule,
            names: Arc::new(names),
            positions: Arc::new(positions),
            halted: false,
            chosen: None,
            choices: 0,
        })
    }
}
