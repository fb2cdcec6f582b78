//! Performs one effect to its end and says what came of it.
//!
//! [`perform`] is one function with a small context (cancel, lines, fence in the job's id), so
//! that another driver, or a remote one, can call it. It never chooses: whatever happens becomes
//! an [`Input`], and every effect is idempotent by its id.

mod baseline;
mod caches;
mod checks;
mod clock;
mod deliver;
mod halt;
mod homes;
mod integrate;
mod places;
mod reach;
mod setup;
mod take;
mod view;
mod worker;

pub use self::baseline::{
    BaselineReport, FailingCheck, ProgressCallbacks, clear_leftovers, try_base,
};
pub(crate) use self::clock::not_before;
pub use self::clock::now;
pub use self::halt::Halt;
pub(crate) use self::homes::{clear as clear_attempts, recover as recover_logins};
pub use self::integrate::trailer;
pub(crate) use self::integrate::trailers;
pub use self::places::workspace_name;
pub use self::reach::WorkerAccess;
pub(crate) use self::reach::{placed, said};
pub(crate) use self::setup::SetupCache;
pub(crate) use self::worker::{replayed, spent};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use codeteam_core::assignment::{Assignment, assignment};
use codeteam_core::event::{BaselineFailure, GateSettings, SandboxKind};
use codeteam_core::failure::FailureCause;
use codeteam_core::frame::{Frame, FrameChange, FrameItem, SlotState, Tip};
use codeteam_core::hands::Operator;
use codeteam_core::ids::{AttemptId, BodyId, PatchId, RunId, Tree};
use codeteam_core::input::Input;
use codeteam_core::message;
use codeteam_core::role::RoleKind;
use codeteam_core::run::HeldFiles;
use codeteam_core::submission;
use codeteam_core::workflow::{Check, DeliveryMethod, StepKind};
use codeteam_core::{Effect, Run};

use codeteam_sandbox::egress;

use crate::artifacts;
use crate::bodies;
use crate::engine::Engine;
use crate::git;
use crate::process::{self, CancelToken, WaitLimit};
use crate::workspace;

/// Something due, with everything needed to do it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The attempt it is.
    pub id: AttemptId,
    /// The run it is for.
    pub run: RunId,
    /// The run's branch.
    pub branch: String,
    /// The commit the run started from.
    pub started_from: Tip,
    /// The commit the frame's work is based on.
    pub base: Tip,
    /// The task, for trailers; `run` for the run's own frame.
    pub task: String,
    /// The patch from the base to the frame's tree, if it has a change.
    pub change: Option<BodyId>,
    /// The frame's tree.
    pub tree: Tree,
    /// The files that differ between the base and the frame's tree.
    pub changed: Vec<String>,
    /// Whether what workers are told and say is kept as files for people.
    pub audit: bool,
    /// Whether a session has worked on it: the run's branch may hold what it submitted on the way,
    /// and the user's checkout holds the change.
    pub in_session: bool,
    /// Whether a session has it now, and with it a shell in the repository.
    pub by_session: bool,
    /// What the run's gates go by beside their checks, if a session began it.
    pub basis: Option<Arc<GateSettings>>,
    /// What may still fail of what failed before anything was changed, as far as that is recorded.
    pub baseline: Arc<Vec<BaselineFailure>>,
    /// What becomes of tests that fail with this change and failed before the run.
    pub old_failures: OldFailures,
    /// What confines the run's workers and gates.
    pub sandbox: SandboxKind,
    /// The context strategies that the run has pinned.
    pub strategies: Arc<BTreeMap<String, String>>,
    /// The templates of prompts that the run has pinned.
    pub templates: Arc<BTreeMap<String, String>>,
    /// What to do.
    pub what: JobKind,
}

/// What becomes of tests that fail with a change and failed before the run, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldFailures {
    /// They count like any others: the checks must pass now.
    Count,
    /// They are left to other tasks, which must repair them in the end.
    LeftToOthers,
    /// They do not count if they were recorded when the run started, or as the configuration says.
    Configured,
}

impl OldFailures {
    fn of(run: &Run, frame: &Frame) -> Self {
        if !run.may_leave_failures(frame) {
            Self::Count
        } else if run.must_pass {
            Self::LeftToOthers
        } else {
            Self::Configured
        }
    }
}

/// What a job does.
#[derive(Clone, Debug)]
pub enum JobKind {
    /// A worker carries an assignment out.
    Work(Box<Assignment>),
    /// What a session says it has done is taken in.
    Take(Box<SessionSubmission>),
    /// Checks run on a tree.
    Check {
        /// The tree.
        tree: Tree,
        /// The checks.
        checks: Vec<Check>,
        /// What the change is judged by, beside itself.
        about: Box<ChangeFacts>,
    },
    /// A change is replayed on the tip.
    Rebase {
        /// The tree it led to.
        tree: Tree,
        /// The tip.
        onto: Tip,
        /// The attempt that made it.
        by: String,
    },
    /// A tree is committed.
    Integrate {
        /// The tree.
        tree: Tree,
        /// The tip.
        onto: Tip,
        /// The message, without trailers.
        message: String,
        /// The attempt that made it.
        by: String,
        /// Who accepted it over what was held against it.
        accepted_by: Option<String>,
    },
    /// What was committed is handed over.
    Deliver {
        /// How.
        how: DeliveryMethod,
        /// The tip of the run's branch.
        tip: Tip,
    },
    /// A command is run on the host.
    Publish {
        /// The command.
        command: String,
        /// The goal in a line, for a pull request.
        title: String,
        /// The goal in full, and the run.
        body: String,
    },
}

/// An answer that a session has given to an assignment.
#[derive(Clone, Debug)]
pub struct SessionSubmission {
    /// What it was asked.
    pub kind: RoleKind,
    /// What it says.
    pub text: String,
    /// The tree that is judged.
    pub tree: Tree,
    /// The message of the commit that keeps it, if one does.
    pub draft: Option<String>,
    /// Whether that is on the run's branch, or apart.
    pub on_branch: bool,
}

/// What a change is judged by, beside itself.
#[derive(Clone, Debug, Default)]
pub struct ChangeFacts {
    /// The files of the task.
    pub files: Vec<String>,
    /// Tests that a session's task says are to change, as patterns: such a task has no list of files.
    pub tests_to_change: Vec<String>,
    /// The files of the plan's other tasks that are not done.
    pub held: Vec<HeldFiles>,
    /// Files that the plan forbids to change.
    pub forbidden: Vec<String>,
    /// The attempt that made the change.
    pub by: String,
    /// The change, whatever base it is applied to.
    pub patch: Option<PatchId>,
    /// What its author says of it.
    pub claimed: Option<submission::ClaimedChange>,
    /// The changes of other tasks of the run: whose, which, and the patch.
    pub others: Vec<(String, PatchId, BodyId)>,
}

/// What a job may use while it runs.
pub struct JobContext<'a> {
    /// Where things are and how they are done.
    pub engine: &'a Engine,
    /// Ends the job early.
    pub cancel: CancelToken,
    /// Takes what is worth showing, line by line.
    pub lines: &'a (dyn Fn(&AttemptId, &str) + Sync),
    /// Takes what the run is to know before the job's end.
    pub report: &'a dyn Fn(Input),
    /// Takes what a job that takes long is at, and that it has ended (see `Context::busy_with`).
    pub busy: &'a (dyn Fn(&AttemptId, Option<&str>) + Sync),
}

impl<'a> JobContext<'a> {
    /// Tells what a job is at, until the result is dropped.
    fn busy_with(&'a self, id: &'a AttemptId, what: &str) -> BusyGuard<'a> {
        (self.busy)(id, Some(what));
        BusyGuard { context: self, id }
    }
}

/// Something that takes long is under way.
struct BusyGuard<'a> {
    context: &'a JobContext<'a>,
    id: &'a AttemptId,
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        (self.context.busy)(self.id, None);
    }
}

/// Why a job could not be done at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file for people could not be written.
    #[error(transparent)]
    Artifacts(#[from] artifacts::Error),
    /// Git.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The workspace.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// A body could not be kept.
    #[error(transparent)]
    Bodies(#[from] bodies::Error),
    /// The process.
    #[error(transparent)]
    Process(#[from] crate::process::Error),
    /// A file.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A worker has neither a key nor a login, and would wait for an API that never answers it.
    #[error("{0}")]
    NotLoggedIn(String),
    /// A login could not be lent or given back.
    #[error(transparent)]
    Login(#[from] crate::logins::Error),
    /// A host that cannot be allowed.
    #[error(transparent)]
    Host(#[from] egress::BadEntry),
    /// A key that cannot be sent.
    #[error(transparent)]
    Key(#[from] egress::BadHeader),
    /// An API that cannot be asked.
    #[error(transparent)]
    Server(#[from] crate::logins::keys::EndpointError),
    /// More is to be hidden from a role than can be.
    #[error(
        "the role's `exclude` names {count} files and folders, more than can be covered one by one; \
         name folders (`src/internal/**`) instead of files"
    )]
    TooMuchHidden {
        /// How many.
        count: usize,
    },
    /// The job was ended before it had begun.
    #[error("it was cancelled")]
    Cancelled,
    /// There is no prompt.
    #[error(transparent)]
    Prompt(#[from] crate::prompt::Error),
    /// What a role is shown cannot be put together.
    #[error(transparent)]
    Context(#[from] crate::context::Error),
    /// A strategy that was pinned cannot be read.
    #[error(transparent)]
    Strategy(#[from] crate::context::strategies::Error),
    /// The work tree cannot be read.
    #[error(transparent)]
    Tree(#[from] codeteam_context::tree::Error),
    /// Nobody speaks to this worker.
    #[error("codeteam does not know the worker `{0}`")]
    UnknownWorker(String),
    /// Only a person can see to it.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A thread of codeteam's own panicked.
    #[error("a thread ended unexpectedly")]
    Panicked,
    /// What was pinned of the configuration cannot be read.
    #[error("what the run keeps of the configuration it began with cannot be read")]
    Grounds(#[source] serde_json::Error),
    /// What looks like a secret and is none.
    #[error(transparent)]
    Engine(#[from] Box<crate::engine::Error>),
    /// An id that is not one of git's.
    #[error("`{0}` is not an object of git")]
    NotAnObject(String),
}

impl Error {
    /// Whether it comes from what codeteam itself does on this machine (worktrees, git, processes,
    /// files) and not from what it was told to do: the next try may well succeed.
    fn is_of_the_machine(&self) -> bool {
        match self {
            Self::Artifacts(_)
            | Self::Git(_)
            | Self::Workspace(_)
            | Self::Bodies(_)
            | Self::Io { .. }
            | Self::Tree(_)
            | Self::Panicked => true,
            Self::Process(error) => !matches!(
                error,
                process::Error::NotFound { .. } | process::Error::NotExecutable { .. }
            ),
            _ => false,
        }
    }
}

/// The job of an effect, if there is anything to be performed.
pub fn job(run: &Run, effect: &Effect) -> Option<Job> {
    let id = effect.attempt()?.clone();
    let frame = run.frames.get(&id.frame)?;
    let what = match effect {
        Effect::StartWorker { id, .. } => JobKind::Work(Box::new(assignment(run, id)?)),
        Effect::RunGate { step, tree, .. } => {
            let StepKind::Gate { checks } = &run.step(step)?.kind else {
                return None;
            };
            JobKind::Check {
                tree: tree.clone(),
                checks: checks.clone(),
                about: Box::new(about(run, frame)),
            }
        }
        Effect::Rebase { tree, onto, .. } => JobKind::Rebase {
            tree: tree.clone(),
            onto: onto.clone(),
            by: frame
                .change
                .as_ref()
                .map(|c| c.by.clone())
                .unwrap_or_default(),
        },
        Effect::Integrate {
            tree,
            onto,
            message,
            by,
            accepted_by,
            ..
        } => JobKind::Integrate {
            tree: tree.clone(),
            onto: onto.clone(),
            message: message.clone(),
            by: by.clone(),
            accepted_by: accepted_by.clone(),
        },
        Effect::Deliver { how, tip, .. } => JobKind::Deliver {
            how: how.clone(),
            tip: tip.clone(),
        },
        Effect::Publish { command, .. } => JobKind::Publish {
            command: command.clone(),
            title: title(&run.goal),
            body: format!("{}\n\nCodeteam-Run: {}\n", run.goal.trim(), run.id),
        },
        Effect::Ask(_) | Effect::Wait { .. } => return None,
    };
    Some(job_of(run, frame, id, what))
}

/// The job of taking in what a session says, if that assignment is under way.
pub(crate) fn submitted(run: &Run, id: &AttemptId, text: String) -> Option<Job> {
    let assignment = assignment(run, id)?;
    let frame = run.frames.get(&id.frame)?;
    let running = frame.slot(id)?.state == SlotState::Running;
    let taken = SessionSubmission {
        kind: assignment.kind,
        text,
        tree: frame.tree.clone(),
        draft: message::draft(run, id),
        on_branch: run.workflow.delivery().is_none(),
    };
    let what = JobKind::Take(Box::new(taken));
    running.then(|| job_of(run, frame, id.clone(), what))
}

fn job_of(run: &Run, frame: &Frame, id: AttemptId, what: JobKind) -> Job {
    Job {
        id,
        run: run.id.clone(),
        branch: run.branch.clone(),
        started_from: run.base.clone(),
        base: frame.base.clone(),
        task: task_name(frame),
        change: frame.change.as_ref().map(|change| change.diff.clone()),
        tree: frame.tree.clone(),
        changed: frame
            .change
            .as_ref()
            .map(|change| change.files.clone())
            .unwrap_or_default(),
        in_session: run.began_in == Operator::Session,
        by_session: run.hands == Operator::Session,
        basis: run.basis.clone(),
        audit: artifacts::is_audited(run),
        baseline: Arc::clone(&run.baseline),
        old_failures: OldFailures::of(run, frame),
        sandbox: run.sandbox,
        templates: Arc::clone(&run.templates),
        strategies: Arc::clone(&run.strategies),
        what,
    }
}

/// What a frame's change is judged by.
fn about(run: &Run, frame: &Frame) -> ChangeFacts {
    let tasks = run.frames.values().chain(run.failed.values());
    let others = tasks
        .filter(|other| other.path != frame.path && other.item != frame.item)
        .filter(|other| matches!(other.item, FrameItem::Task(_)))
        .filter_map(|other| {
            let change = other.change.as_ref()?;
            let whose = format!("task `{}`", task_name(other));
            Some((whose, change.patch.clone(), change.diff.clone()))
        });
    ChangeFacts {
        files: run.planned_files(frame),
        held: run.files_held_by_others(frame),
        forbidden: run
            .plan
            .as_ref()
            .map(|plan| plan.forbidden.clone())
            .unwrap_or_default(),
        tests_to_change: codeteam_core::session::files_to_change(run, frame),
        by: frame
            .change
            .as_ref()
            .map(|c| c.by.clone())
            .unwrap_or_default(),
        patch: frame.change.as_ref().map(|change| change.patch.clone()),
        claimed: frame.outputs.change.clone(),
        others: others.collect(),
    }
}

/// The index that a look at the user's checkout is made by, beside a run's worktrees.
pub(crate) const SCRATCH: &str = ".session-index";

/// What leads from a base to a tree, with its diff kept.
pub(crate) fn frame_change(
    engine: &Engine,
    by: String,
    diff: &git::TreeDiff,
) -> Result<FrameChange, bodies::Error> {
    let name = |file: &git::DiffEntry| file.path.to_string_lossy().into_owned();
    Ok(FrameChange {
        by,
        patch: PatchId(diff.patch_id.clone()),
        diff: BodyId(engine.bodies.put(&diff.text)?),
        files: diff.files.iter().map(name).collect(),
        lines: diff.changed_lines(),
    })
}

/// The first line of a goal, short enough for a title.
fn title(goal: &str) -> String {
    let line = goal.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(72) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Performs a job to its end. Whatever happens becomes an input, unless codeteam itself is stopped:
/// then nothing came of it, and it is to be done again.
pub fn perform(job: &Job, context: &JobContext<'_>) -> Result<Input, Halt> {
    // Git and walks through folders end with the job.
    let _obeys = WaitLimit::obey(&context.cancel);
    let done = match &job.what {
        JobKind::Work(assignment) => worker::work(job, assignment, context),
        JobKind::Take(taken) => take::take(job, taken, context),
        JobKind::Check {
            tree,
            checks,
            about,
        } => checks::check(job, tree, checks, about, context),
        JobKind::Rebase { tree, onto, by } => integrate::rebase(job, tree, onto, by, context),
        JobKind::Integrate {
            tree,
            onto,
            message,
            by,
            accepted_by,
        } => {
            let made = integrate::ChangeOrigin {
                by,
                accepted_by: accepted_by.as_deref(),
            };
            integrate::integrate(job, tree, onto, message, &made, context)
        }
        JobKind::Deliver { how, tip } => deliver::deliver(job, how, tip, context),
        JobKind::Publish { command, .. } => checks::publish(job, command, context),
    };
    let folder = context.engine.workspaces_of(&job.run);
    match done {
        Ok(input) => match halt::full_by_result(&input, &folder) {
            Some(halt) => Err(halt),
            None => Ok(input),
        },
        Err(Error::Halt(halt)) => Err(halt),
        Err(error) => match halt::full_by_error(&error, &folder) {
            Some(halt) => Err(halt),
            None => Ok(Input::EffectFailed {
                at: now(),
                id: job.id.clone(),
                trouble: error.is_of_the_machine().then_some(FailureCause::Machine),
                message: with_causes(&error),
            }),
        },
    }
}

/// An error with everything that led to it, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let line = error.to_string();
        if !text.contains(&line) {
            text.push_str(": ");
            text.push_str(&line);
        }
        cause = error.source();
    }
    text
}

/// The name a frame goes by in trailers.
pub fn task_name(frame: &Frame) -> String {
    match &frame.item {
        FrameItem::Run => "run".to_owned(),
        FrameItem::Phase(phase) => phase.0.clone(),
        FrameItem::Task(task) => task.0.clone(),
    }
}

fn oid(text: &str) -> Result<git::Oid, Error> {
    git::Oid::parse(text).ok_or_else(|| Error::NotAnObject(text.to_owned()))
}
