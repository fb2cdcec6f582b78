//! Plain data for every surface: what a run looks like from outside.
//!
//! [`RunView`] is made from the state of a run, once, and every surface reads it: `--json`, the text
//! of `status` and `show`, the closing words of a run, the dialogue, a session of an MCP client. No
//! surface reads the fields of the kernel's `Run`; where the engine wants the run itself, a surface
//! passes on [`LoadedRun::as_run`].
//!
//! The views are serialisable. Their keys are those of `--json`: keys are added, never renamed or
//! removed, as long as `VIEW_VERSION` stays the same.

mod approval;
mod attempt;
mod breakdown;
mod change;
mod compare;
mod cost;
mod folded;
mod frame;
mod idle_deadline;
mod inbox;
mod layers;
mod listing;
mod next_step;
mod question;
mod replay;
mod rollback;
mod session;
mod standing;
mod task;
#[cfg(test)]
mod tests;
mod trace;
mod workflow;

use std::mem;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use codeteam_core::Run;
use codeteam_core::budget::BudgetReservation;
use codeteam_core::event::{AccessGrant, DeliveryOutcome, SandboxKind};
use codeteam_core::frame::{Frame, FrameOutcome, FrameStage, Question};
use codeteam_core::ids::{Commit, EpochMillis, FramePath, PersonName, PhaseId, RunId, Tree};
use codeteam_core::message::CommitFacts;
use codeteam_core::operator::Operator;
use codeteam_core::plan::Plan;
use codeteam_core::rollup::{self, RunStatus};
use codeteam_core::schedule::TaskStatus;
use codeteam_core::views::{self, TaskState, TeamState};
use serde::Serialize;

pub use self::approval::{ApprovalView, DelegationView, TimeoutView, VoteStanding, VoteView};
pub use self::attempt::{AttemptState, AttemptTimeline, AttemptView};
pub use self::breakdown::{BreakdownView, InterfaceView, PlannedTaskView};
pub use self::change::ChangeView;
pub use self::compare::{ComparedRole, ComparedRun, ComparedTask, RunComparison};
pub use self::cost::{CostView, CostWords};
pub use self::folded::PhaseTasks;
pub use self::frame::{FrameView, SlotProgress, SlotView};
pub use self::idle_deadline::IdleDeadline;
pub use self::inbox::{InboxItem, InboxReason, command_in_project};
pub use self::layers::{LayerTask, LayerView, LayersView};
pub use self::listing::{RunListItem, TaskCounts};
pub use self::next_step::{NextAction, NextStep};
pub use self::question::{AnswerChoice, QuestionView};
pub use self::replay::RunReplay;
pub use self::rollback::{RollbackView, UndoneCommit};
pub use self::session::SessionFrameView;
pub use self::standing::{
    Standing, attempt_standing, frame_standing, loaded_standing, question_of, run_standing,
    task_frame, task_standing,
};
pub use self::task::{CriterionView, QualityView, TaskView};
pub use self::trace::{
    AttemptHistory, AttemptTrace, TraceOutcome, TraceStep, TraceStepKind, TraceView,
};
pub use self::workflow::{WorkflowLine, workflow_graph, workflow_lines, workflow_svg};
use crate::describe;
use crate::published::published_url;

/// The version of the form of all views. It changes when a key is renamed or removed, or changes
/// its meaning; new keys do not change it.
pub(crate) const VIEW_VERSION: u32 = 1;

/// A run as every surface shows it.
///
/// [`RunView::new`] derives it from the run alone. What only the machine knows is added by whoever
/// knows it: [`RunView::with_driver`] says whether a process drives the run, which decides what a
/// person can do next. Texts are as they were recorded: a terminal must still take control
/// characters out of the goal, of questions and of findings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunView {
    /// The run's id.
    #[serde(rename = "run")]
    pub id: RunId,
    /// The goal, as the user stated it.
    pub goal: String,
    /// The status in one word, as the run's state alone says it. A run that is `running` may be
    /// driven by nobody.
    pub status: RunStatus,
    /// The seven-state view.
    pub state: TaskState,
    /// The twelve-state view.
    pub team_state: TeamState,
    /// What the run is doing, in one line.
    pub headline: String,
    /// The name of its workflow.
    pub workflow: String,
    /// Its branch, or the reference if there is no branch.
    pub branch: String,
    /// The commit it started from.
    pub base: Commit,
    /// The newest commit of its branch.
    pub tip: Commit,
    /// The tree of that commit.
    pub tree: Tree,
    /// How its commits were delivered at its end.
    pub delivered: Option<DeliveryOutcome>,
    /// The tests that failed before the run and that no commit of it has repaired.
    pub still_failing: Vec<String>,
    /// The tasks of its plan, in the plan's order.
    pub tasks: Vec<TaskView>,
    /// Its frames that have not ended.
    pub frames: Vec<FrameView>,
    /// The open questions to a person.
    pub questions: Vec<QuestionView>,
    /// What it waits for, and what can be done about it.
    pub waiting_on: Vec<String>,
    /// What it has spent.
    pub cost: CostView,
    /// How its workers are confined.
    pub confinement: String,
    /// Configuration files that differed from their committed version when a session began it.
    pub edited_config: Vec<String>,
    /// The requests of the repository that were in force when it started.
    pub trusted: Vec<AccessGrant>,
    /// The number of events so far; the last one has this number.
    pub events: u64,
    /// `VIEW_VERSION`.
    pub version: u32,
    /// When it started, in milliseconds since the epoch.
    pub started_at: EpochMillis,
    /// The id of its plan; empty if it makes none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan: String,
    /// What its plan is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_description: String,
    /// The phases of its plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseView>,
    /// Frames that ended without success and can be taken up again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stopped_frames: Vec<FrameView>,
    /// The kind of confinement.
    pub sandbox: SandboxKind,
    /// Who carries out its roles now.
    pub operator: Operator,
    /// Who did when it started.
    pub started_by: Operator,
    /// How it ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<FrameOutcome>,
    /// How many of its tasks are done, in words, if it has a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Whether it makes a plan and has no step and no role that could carry it out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plans_only: bool,
    /// The address of its pull request, if it has published one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_url: Option<String>,
    /// The run and the event that it was forked from, if it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// What a person can do now.
    pub next_steps: Vec<NextStep>,
    /// Whether it has a plan.
    #[serde(skip)]
    pub has_plan: bool,
}

/// The moment of another run that a run began from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForkedFrom {
    /// The other run.
    pub run: RunId,
    /// The last of its events that counts here.
    pub event: u64,
}

/// A phase of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseView {
    /// The phase's id.
    pub id: PhaseId,
    /// What it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The status of its tasks, rolled up.
    pub status: TaskStatus,
    /// Its interfaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceView>,
}

/// A run together with its view: what a surface holds of a run.
///
/// It reads as a [`RunView`], which is made when it is first read. [`LoadedRun::as_run`] is for
/// calls into the engine that want the run itself; surfaces pass it on and do not look into it.
/// Clones share both.
#[derive(Clone, Debug)]
pub struct LoadedRun {
    shared: Arc<SharedRun>,
}

#[derive(Debug)]
struct SharedRun {
    run: Arc<Run>,
    view: OnceLock<RunView>,
}

/// Whether this process answers one question and ends.
static ENDS_SOON: AtomicBool = AtomicBool::new(false);

/// Lets runs and their views stay in memory when nobody needs them any more: for a process that
/// answers one question and ends. To free a run of ten thousand tasks piece by piece takes a fifth of
/// the time of an answer, and the system frees all of it at once.
pub fn keep_memory_until_exit() {
    ENDS_SOON.store(true, Ordering::Relaxed);
}

impl Drop for SharedRun {
    fn drop(&mut self) {
        if ENDS_SOON.load(Ordering::Relaxed) {
            mem::forget(self.view.take());
            mem::forget(Arc::clone(&self.run));
        }
    }
}

impl LoadedRun {
    /// Takes a run as it is now.
    pub fn new(run: impl Into<Arc<Run>>) -> Self {
        let (run, view) = (run.into(), OnceLock::new());
        Self {
            shared: Arc::new(SharedRun { run, view }),
        }
    }

    /// Returns its id, without making a view of it.
    pub fn id_of_run(&self) -> &RunId {
        &self.as_run().id
    }

    /// Returns the state of its team, without making a view of it.
    pub fn state_of_team(&self) -> TeamState {
        views::team_state(self.as_run())
    }

    /// Returns the run itself, to be handed to the engine.
    pub fn as_run(&self) -> &Run {
        &self.shared.run
    }

    /// Returns what is held back for attempts under way, so that they cannot exceed a limit together.
    pub fn reserved(&self) -> BudgetReservation {
        let mut sum = BudgetReservation::default();
        let launches = self.shared.run.outstanding.values();
        for launch in launches.filter(|launch| launch.counted) {
            let reserved = launch.reserved;
            sum.money_microusd = sum.money_microusd.saturating_add(reserved.money_microusd);
            sum.tokens = sum.tokens.saturating_add(reserved.tokens);
        }
        sum
    }

    /// Returns the people whom the run knows: those of the configuration with which it began.
    pub fn known_people(&self) -> Vec<PersonName> {
        let rules = self.shared.run.approval.iter();
        let people = rules.flat_map(|rules| rules.people.keys());
        people.cloned().collect()
    }

    /// Returns one of its frames, to be handed to the engine.
    pub fn as_frame(&self, path: &FramePath) -> Option<&Frame> {
        let run = self.as_run();
        run.frames.get(path).or_else(|| run.failed_frames.get(path))
    }

    /// Returns its plan as it is written in the plan's file.
    pub fn full_plan(&self) -> Option<&Plan> {
        self.as_run().plan.as_deref()
    }

    /// Returns the first part of a message for one commit of all its changes, if its messages have a
    /// required form.
    pub fn compose_message(&self) -> Option<String> {
        let run = self.as_run();
        let root = run.frames.get(&FramePath::root())?;
        run.message_format
            .compose(&CommitFacts::for_frame(run, root))
    }

    /// Returns the number of its last event, without making the view.
    pub fn seq(&self) -> u64 {
        self.as_run().seq
    }

    /// Returns true if nothing has happened in the run since.
    pub fn is_up_to_date(&self, now: &Run) -> bool {
        self.seq() == now.seq
    }

    /// Returns true once the run has ended, without making the view.
    pub fn is_ended(&self) -> bool {
        self.as_run().is_terminal()
    }

    /// Returns the view.
    pub fn view(&self) -> &RunView {
        let shared = &self.shared;
        shared.view.get_or_init(|| RunView::new(&shared.run))
    }
}

impl Deref for LoadedRun {
    type Target = RunView;

    fn deref(&self) -> &RunView {
        self.view()
    }
}

/// Returns the open questions of a run, without making a view of it.
pub fn open_questions(run: &Run) -> impl Iterator<Item = &Question> {
    run.frames.values().filter_map(|frame| match &frame.stage {
        FrameStage::Asking(question) => Some(&**question),
        _ => None,
    })
}

/// Returns true if there is a change in a frame of a run.
pub fn has_change(run: &Run, frame: &FramePath) -> bool {
    let frame = run.frames.get(frame);
    frame.is_some_and(|frame| frame.change.is_some())
}

impl RunView {
    /// Makes the view of a run.
    pub fn new(run: &Run) -> Self {
        let tasks = run.plan.iter().flat_map(|plan| &plan.tasks);
        let active = run.frames.values().filter(|frame| !frame.is_ended());
        let ended = run.frames.values().filter(|frame| frame.is_ended());
        let effects = codeteam_core::due(run);
        let plan = run.plan.as_ref().map(|plan| plan.plan_id.as_str());
        let plan = plan.filter(|id| !id.is_empty()).unwrap_or(&run.plan_id);
        let mut view = Self {
            id: run.id.clone(),
            goal: run.goal.clone(),
            status: rollup::run_status(run),
            state: views::task_state(run),
            team_state: views::team_state(run),
            headline: describe::headline(run),
            workflow: run.workflow.name.clone(),
            branch: run.branch.clone(),
            base: run.base.commit.clone(),
            tip: run.tip.commit.clone(),
            tree: run.tip.tree.clone(),
            delivered: run.delivery_outcome.clone(),
            still_failing: run.unrepaired_tests().map(str::to_owned).collect(),
            tasks: tasks.map(|task| TaskView::new(run, task)).collect(),
            frames: active.map(|frame| FrameView::new(run, frame)).collect(),
            questions: QuestionView::all_open(run),
            waiting_on: effects.iter().filter_map(describe::wait_text).collect(),
            cost: CostView::new(run),
            confinement: run.confinement.clone(),
            edited_config: run.edited_config.clone(),
            trusted: run.access.granted.iter().cloned().collect(),
            events: run.seq,
            version: VIEW_VERSION,
            started_at: run.started,
            plan: plan.to_owned(),
            plan_description: run
                .plan
                .as_ref()
                .map_or_else(String::new, |plan| plan.description.clone()),
            phases: phases(run),
            stopped_frames: ended
                .chain(run.failed_frames.values())
                .map(|frame| FrameView::new(run, frame))
                .collect(),
            sandbox: run.sandbox,
            operator: run.operator,
            started_by: run.started_by,
            outcome: run.outcome.clone(),
            progress: describe::task_progress(run),
            plans_only: views::plans_only(run),
            published_url: published_url(run).map(str::to_owned),
            forked_from: run.forked_from.as_deref().map(|origin| ForkedFrom {
                run: origin.run.clone(),
                event: origin.event,
            }),
            next_steps: Vec::new(),
            has_plan: run.plan.is_some(),
        };
        view.next_steps = next_step::next_steps(&view, None);
        view
    }

    /// Says whether a process drives the run now: if none does, somebody can resume it.
    #[must_use]
    pub fn with_driver(mut self, driven: bool) -> Self {
        self.next_steps = next_step::next_steps(&self, Some(driven));
        self
    }

    /// Returns true once the run has ended.
    pub fn is_ended(&self) -> bool {
        self.outcome.is_some()
    }

    /// Returns true if something was committed.
    pub fn has_commits(&self) -> bool {
        self.tip != self.base
    }

    /// Returns the task of this id.
    pub fn task(&self, id: &str) -> Option<&TaskView> {
        self.tasks.iter().find(|task| task.id.as_str() == id)
    }

    /// Returns the frame of this path, whether it is under way or not.
    pub fn frame(&self, path: &FramePath) -> Option<&FrameView> {
        self.all_frames().find(|frame| frame.path == *path)
    }

    /// Returns the frame of this name, such as `task-001`.
    pub fn frame_named(&self, name: &str) -> Option<&FrameView> {
        self.all_frames().find(|frame| frame.path.name() == name)
    }

    /// Returns all frames: those under way first.
    pub fn all_frames(&self) -> impl Iterator<Item = &FrameView> {
        self.frames.iter().chain(&self.stopped_frames)
    }

    /// Returns the frames whose change was rejected, and whose rejection nobody has overruled; and
    /// those that ended because nobody has judged the change.
    pub fn refused_changes(&self) -> impl Iterator<Item = &FrameView> {
        self.all_frames()
            .filter(|frame| !frame.rejected_by.is_empty() || frame.unjudged_by.is_some())
    }

    /// Says which tests still fail as they did before the run, if there are any.
    pub fn still_failing_text(&self) -> Option<String> {
        describe::still_failing_text(&self.still_failing)
    }
}

fn phases(run: &Run) -> Vec<PhaseView> {
    let titles = run.plan.iter().flat_map(|plan| &plan.phases);
    let statuses = rollup::phase_statuses(run);
    let locks = run.interface_locks();
    let phases = titles.zip(statuses);
    phases
        .map(|(phase, (id, status))| PhaseView {
            id,
            title: phase.title.clone(),
            status,
            interfaces: InterfaceView::all_of(&locks, phase),
        })
        .collect()
}
