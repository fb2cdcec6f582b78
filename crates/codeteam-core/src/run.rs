//! The state of a run, and how events change it.
//!
//! [`apply`] holds no policy: it records what an event says and keeps the indices (`frames`,
//! schedules, outstanding launches) that let `decide` and `due` cost what is active.

mod fold;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rpds::RedBlackTreeMapSync;

pub use self::fold::apply;
use crate::budget::{self, Budget, BudgetReservation, InFlightUsage, Usage};
use crate::event::{
    BaselineFailure, DeliveryOutcome, FrameOutcome, GateSettings, RunAccess, RunChoices,
    SandboxKind,
};
use crate::findings::Finding;
use crate::frame::{ChildFrames, Frame, FrameItem, Tip};
use crate::hands::Operator;
use crate::ids::{
    Account, AttemptId, Commit, EpochMillis, FramePath, PhaseId, RoleName, RunId, StepId, TaskId,
    WorkerName, fnv,
};
use crate::message::MessageFormat;
use crate::park::{ApiOutage, ParkedAccounts};
use crate::plan::{Plan, Task};
use crate::role::Role;
use crate::schedule::{Schedule, TaskStatus};
use crate::workflow::{EachItem, Step, StepKind, Workflow};

/// A run: everything that follows from its events.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its id; empty before it has started.
    pub id: RunId,
    /// What the user asked for.
    pub goal: String,
    /// The files of its base that the goal names.
    pub goal_files: Arc<Vec<String>>,
    /// When it started.
    pub started: EpochMillis,
    /// How many events it has.
    pub seq: u64,
    /// The graph it follows.
    pub workflow: Arc<Workflow>,
    /// The roles it knows.
    pub roles: Arc<BTreeMap<RoleName, Role>>,
    /// The commit it started from.
    pub base: Tip,
    /// Its branch.
    pub branch: String,
    /// The tip of its branch.
    pub tip: Tip,
    /// What confines its workers.
    pub confinement: String,
    /// The same for the engine.
    pub sandbox: SandboxKind,
    /// The plan, once there is one.
    pub plan: Option<Arc<Plan>>,
    /// Whether the run began with a plan.
    pub plan_given: bool,
    /// Where each task stands in the plan.
    pub positions: Arc<BTreeMap<TaskId, usize>>,
    /// What a plan made in this run is called.
    pub plan_id: String,
    /// How many tasks a plan may have.
    pub max_tasks: usize,
    /// What is known of every task that is not pending.
    pub tasks: RedBlackTreeMapSync<TaskId, TaskRecord>,
    /// Where every phase stands that is not pending.
    pub phases: RedBlackTreeMapSync<PhaseId, TaskStatus>,
    /// Frames under way. The run's own stays to the end.
    pub frames: BTreeMap<FramePath, Frame>,
    /// Frames that failed or were stopped and may be taken up again; `stage` says which.
    pub failed: RedBlackTreeMapSync<FramePath, Frame>,
    /// Who has the turn to integrate, and who waits for it.
    pub integrating: Vec<FramePath>,
    /// Launches that have not reported what they spent.
    pub outstanding: BTreeMap<u64, OutstandingLaunch>,
    /// The last launch.
    pub fence: u64,
    /// What may be spent and was.
    pub budget: Budget,
    /// The limit that stopped it, if one did.
    pub limit: Option<budget::LimitKind>,
    /// Accounts that rest.
    pub parks: ParkedAccounts,
    /// Accounts whose API does not answer.
    pub outages: BTreeMap<Account, ApiOutage>,
    /// The accounts of workers, where they may differ from their names.
    pub accounts: BTreeMap<WorkerName, Account>,
    /// What every role is told to keep to.
    pub rules: Arc<Vec<String>>,
    /// The templates of prompts that are not the built-in ones, by name.
    pub templates: Arc<BTreeMap<String, String>>,
    /// The context strategies that are not the built-in ones, by name.
    pub strategies: Arc<BTreeMap<String, String>>,
    /// The form of commit messages.
    pub message: Arc<MessageFormat>,
    /// In whose hands it is.
    pub hands: Operator,
    /// In whose hands it began.
    pub began_in: Operator,
    /// What its gates go by beside their checks, if a session began it.
    pub basis: Option<Arc<GateSettings>>,
    /// Files of the project's configuration that were not as they are committed when a session began it.
    pub edited_config: Vec<String>,
    /// What the person chose that its workflow was compiled with.
    pub choices: Option<Arc<RunChoices>>,
    /// What may still fail of what failed before anything was changed, by check. It shrinks with the
    /// commits of the run: a test that one of them has repaired must not fail again. A check without
    /// tests must pass.
    pub baseline: Arc<Vec<BaselineFailure>>,
    /// Whether checks that failed before anything was changed must pass in the end.
    pub must_pass: bool,
    /// What of the repository's requests was in force when it started.
    pub access: Arc<RunAccess>,
    /// What became of its commits at its end.
    pub delivered: Option<DeliveryOutcome>,
    /// How it ended, if it did.
    pub outcome: Option<FrameOutcome>,
}

/// A launch under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutstandingLaunch {
    /// Which.
    pub id: AttemptId,
    /// What it may spend.
    pub reserved: BudgetReservation,
    /// Whether it counts against the budget: a worker does, a gate does not.
    pub counted: bool,
    /// What it has spent so far, as far as it has reported that.
    pub used: Usage,
}

/// The files that an unfinished task of the plan is to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFiles {
    /// The task.
    pub task: TaskId,
    /// Paths, folders, patterns.
    pub files: Vec<String>,
}

/// What is known of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskRecord {
    /// Where it stands.
    pub status: TaskStatus,
    /// Rounds it took.
    pub rounds: u32,
    /// The commits made for it.
    pub commits: Vec<Commit>,
    /// Why it failed, if it did.
    pub why: Option<String>,
    /// The findings that were open when it was completed.
    pub findings: Vec<Finding>,
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
        };
        Self {
            id: RunId::default(),
            goal: String::new(),
            goal_files: Arc::default(),
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
            positions: Arc::default(),
            plan_id: String::new(),
            max_tasks: 0,
            tasks: RedBlackTreeMapSync::new_sync(),
            phases: RedBlackTreeMapSync::new_sync(),
            frames: BTreeMap::new(),
            failed: RedBlackTreeMapSync::new_sync(),
            integrating: Vec::new(),
            outstanding: BTreeMap::new(),
            fence: 0,
            budget: Budget::default(),
            limit: None,
            parks: ParkedAccounts::default(),
            outages: BTreeMap::new(),
            accounts: BTreeMap::new(),
            rules: Arc::default(),
            templates: Arc::default(),
            strategies: Arc::default(),
            message: Arc::default(),
            hands: Operator::default(),
            began_in: Operator::default(),
            basis: None,
            edited_config: Vec::new(),
            choices: None,
            baseline: Arc::default(),
            must_pass: false,
            access: Arc::default(),
            delivered: None,
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

    /// Whether it has begun.
    pub fn has_started(&self) -> bool {
        !self.id.0.is_empty()
    }

    /// Whether it has ended.
    pub fn is_terminal(&self) -> bool {
        self.outcome.is_some()
    }

    /// A number that is the same for the same state.
    pub fn digest(&self) -> u64 {
        fnv(&format!("{self:?}"))
    }

    /// The account that a worker's use is counted against.
    pub fn account(&self, worker: &WorkerName) -> Account {
        let account = self.accounts.get(worker).cloned();
        account.unwrap_or_else(|| Account(worker.0.clone()))
    }

    /// What the attempts under way have spent so far.
    pub fn under_way(&self) -> InFlightUsage {
        self.spent_by(|_| true)
    }

    /// What the attempts under way in one frame have spent so far.
    pub fn under_way_in(&self, frame: &FramePath) -> InFlightUsage {
        self.spent_by(|launch| launch.id.frame == *frame)
    }

    fn spent_by(&self, counts: impl Fn(&OutstandingLaunch) -> bool) -> InFlightUsage {
        let mut sum = InFlightUsage::default();
        for launch in self.outstanding.values().filter(|l| l.counted && counts(l)) {
            sum.add(launch.reserved, launch.used);
        }
        sum
    }

    /// A step of the workflow.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.workflow.steps.get(id)
    }

    /// The step a frame is at.
    pub fn step_of(&self, frame: &Frame) -> Option<&Step> {
        self.step(&frame.step)
    }

    /// The task a frame is for.
    pub fn task_of(&self, frame: &Frame) -> Option<&Task> {
        match &frame.item {
            FrameItem::Task(id) => self.task(id),
            FrameItem::Run | FrameItem::Phase(_) => None,
        }
    }

    /// A task of the plan.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.plan.as_ref()?.tasks.get(*self.positions.get(id)?)
    }

    /// The files that the plan names for what a frame does: those of its task, of the tasks of its
    /// phase, or, for the run itself, of all tasks. Empty if one of these tasks names none, since it
    /// may touch any file then.
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

    /// The files of the plan's unfinished tasks that are not a frame's own.
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

    /// Whether tests that failed before the run may still fail with a frame's change. Where the checks
    /// must pass in the end, they may as long as other tasks are left that can repair them.
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

    /// The tests that failed before the run, and that no commit of it has repaired.
    pub fn unrepaired_tests(&self) -> impl Iterator<Item = &str> {
        let failures = self.baseline.iter();
        failures.flat_map(|failure| failure.tests.iter().map(String::as_str))
    }

    /// The tasks of the plan that a frame carries out.
    fn tasks_of(&self, frame: &Frame) -> impl Iterator<Item = &Task> {
        let item = frame.item.clone();
        let tasks = self.plan.iter().flat_map(|plan| &plan.tasks);
        tasks.filter(move |task| match &item {
            FrameItem::Run => true,
            FrameItem::Phase(phase) => task.phase.as_ref() == Some(phase),
            FrameItem::Task(id) => task.id == *id,
        })
    }

    /// Where a task stands.
    pub fn task_status(&self, id: &TaskId) -> TaskStatus {
        self.tasks
            .get(id)
            .map_or(TaskStatus::Pending, |record| record.status)
    }

    /// The schedule of an `each` step in a frame: the tasks of the plan, or of the frame's phase,
    /// or the phases. `counts` says which statuses are kept; the others are pending again.
    fn children_of(
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
            (EachItem::Phase, _) => Cow::Owned(plan.of_phases()),
            (EachItem::Task, FrameItem::Phase(phase)) => Cow::Owned(plan.of_phase(phase)),
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
