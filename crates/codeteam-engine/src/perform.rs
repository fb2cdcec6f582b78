//! Performs one effect to its end and returns the result as an input for core.
//!
//! [`perform`] is one function with a small context (cancellation, output lines, the fence in the
//! job's id), so that another driver, or a remote one, can call it. It never makes decisions:
//! whatever happens becomes an [`Input`], and every effect is idempotent by its id.

mod baseline;
mod caches;
mod certificates;
mod checks;
mod deliver;
mod integrate;
mod interfaces;
mod lent_homes;
mod move_branch;
mod notice;
mod program_query;
mod sandbox_view;
mod session_submission;
mod setup;
mod worker;
mod worker_access;
mod workspaces;

pub(crate) use self::baseline::clear_leftovers;
pub use self::baseline::{
    BaselineReport, FailingCheck, ProgressCallbacks, try_baseline, try_merged_tree,
};
pub use self::deliver::uncommitted_base;
pub(crate) use self::lent_homes::{clear as clear_attempts, recover as recover_logins};
pub use self::notice::ApprovalNotice;
pub(crate) use self::program_query::{ProgramAnswer, ProgramQuery, locate};
pub(crate) use self::setup::SetupCache;
pub use self::worker::LogLineKind;
pub(crate) use self::worker::{
    TranscriptReader, read_unfinished, replayed, spent, trace_transcript,
};
pub use self::worker_access::WorkerAccess;
pub(crate) use self::worker_access::{endpoint_settings, locate_upstream};
pub(crate) use self::workspaces::workspace_name;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use codeteam_core::assignment::{Assignment, build_assignment};
use codeteam_core::checks::CheckResult;
use codeteam_core::commit_message::draft_message;
use codeteam_core::event::{BaselineFailure, GateSettings, SandboxKind};
use codeteam_core::failure::FailureCause;
use codeteam_core::frame::{Frame, FrameChange, FrameItem, SlotState, Tip};
use codeteam_core::ids::{AttemptId, BodyId, PatchId, RunId, StepId, Tree};
use codeteam_core::input::Input;
use codeteam_core::locks::{InterfaceFile, InterfaceLock};
use codeteam_core::operator::Operator;
use codeteam_core::role::RoleKind;
use codeteam_core::run::HeldFiles;
use codeteam_core::submission;
use codeteam_core::workflow::{Check, CheckClass, CheckKind, DeliveryMethod, StepKind};
use codeteam_core::{Effect, Run};

use codeteam_sandbox::egress;

use crate::clock::now;
use crate::engine::Engine;
use crate::halt::Halt;
use codeteam_host::bodies;
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git;
use codeteam_host::process::{self, CancelToken, WaitLimit};
use codeteam_host::workspace;
use codeteam_report::artifacts;
use codeteam_report::records::RecordsError;
use codeteam_report::trailers::task_name;

/// An effect that is due, with everything needed to perform it.
///
/// A job is plain data: `job_for_effect` and `job_for_submission` copy into it what it needs from
/// the run, so that [`perform`] does not touch the run's state and can work on a thread of its own.
/// The driver starts it, and feeds the [`Input`] that [`perform`] returns back to core.
///
/// The `id` names the attempt and carries the fence, by which the processes, files and logins of
/// one launch are told apart from those of others. An effect that is repeated after a crash
/// recognises what was done already, for example a commit by its trailers.
///
/// Templates, strategies and, if a session began the run, the settings of gates are those that the
/// run has pinned, not those of the current configuration.
///
/// Most jobs work in the workspace of their frame. Checks, and reviewers in other slots than the
/// first (`side_slot`), have workspaces of their own, so that none can disturb another.
#[derive(Clone, Debug)]
pub struct Job {
    /// The attempt that this job performs.
    pub id: AttemptId,
    /// The slot, unless it is the first of those asked at the step: all others have worktrees of
    /// their own.
    pub side_slot: Option<u32>,
    /// The run that the job belongs to.
    pub run: RunId,
    /// The run's branch.
    pub branch: String,
    /// The commit the run started from.
    pub started_from: Tip,
    /// The commit the frame's work is based on.
    pub base: Tip,
    /// The task's id, for commit trailers; `run` for the run's own frame.
    pub task: String,
    /// The patch from the base to the frame's tree, if it has a change.
    pub change: Option<BodyId>,
    /// The frame's tree.
    pub tree: Tree,
    /// The files that differ between the base and the frame's tree.
    pub changed: Vec<String>,
    /// Whether the prompts and output of workers are stored as files for people.
    pub audit: bool,
    /// The operator that started the run: workers or a session.
    pub started_by: Operator,
    /// The operator that carries out assignments now.
    pub operator: Operator,
    /// The settings that the run's gates use in addition to their checks, if a session began it.
    pub gate_settings: Option<Arc<GateSettings>>,
    /// The failures on the base that are still allowed, as far as they are recorded.
    pub baseline: Arc<Vec<BaselineFailure>>,
    /// The treatment of tests that fail with this change and failed before the run as well.
    pub old_failures: OldFailures,
    /// The sandbox of the run's workers and gates.
    pub sandbox: SandboxKind,
    /// The context strategies that the run has pinned, by name.
    pub strategies: Arc<BTreeMap<String, String>>,
    /// The prompt templates that the run has pinned, by name.
    pub templates: Arc<BTreeMap<String, String>>,
    /// The operation to perform.
    pub kind: JobKind,
}

impl Job {
    /// Returns true if a session has worked on the run: then the run's branch may contain
    /// intermediate submissions, and the user's checkout contains the change.
    pub(crate) fn in_session(&self) -> bool {
        self.started_by == Operator::Session
    }

    /// Returns true if a session has the run now, and with it a shell in the repository.
    pub(crate) fn by_session(&self) -> bool {
        self.operator == Operator::Session
    }
}

/// The treatment of tests that fail with a change and failed before the run as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldFailures {
    /// They count like any other failure: the checks must pass now.
    Count,
    /// They are left to other tasks, which must repair them in the end.
    LeftToOthers,
    /// They do not count if they were recorded when the run started, or if the configuration allows
    /// them.
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

/// The operation that a job performs.
#[derive(Clone, Debug)]
pub enum JobKind {
    /// Lets a worker carry out an assignment.
    StartWorker(Box<Assignment>),
    /// Accepts a session's submission.
    TakeSubmission(Box<SessionSubmission>),
    /// Runs the checks of a gate on a tree.
    RunGate {
        /// The tree to check.
        tree: Tree,
        /// The checks of the gate, in order.
        checks: Vec<Check>,
        /// Facts about the change that the checks need in addition to the tree.
        about: Box<ChangeFacts>,
    },
    /// Replays a change on the tip of the run's branch.
    Rebase {
        /// The tree with the change.
        tree: Tree,
        /// The tip to replay it on.
        onto: Tip,
        /// The attempt that made the change.
        by: String,
    },
    /// Commits a tree to the run's branch.
    Integrate {
        /// The tree to commit.
        tree: Tree,
        /// The tip that becomes the parent.
        onto: Tip,
        /// The commit message, without trailers.
        message: String,
        /// The attempt that made the change.
        by: String,
        /// The person who accepted it despite objections, if somebody did.
        accepted_by: Option<String>,
    },
    /// Delivers the run's commits to the user.
    Deliver {
        /// Whether to move a branch forward or to write a patch.
        how: DeliveryMethod,
        /// The tip of the run's branch.
        tip: Tip,
    },
    /// Moves the run's branch back to an earlier commit.
    MoveBranch {
        /// That commit.
        to: Tip,
    },
    /// Reads the facts about the risk of a change.
    AssessRisk {
        /// The tree to read.
        tree: Tree,
        /// The named sets of paths.
        paths: Arc<BTreeMap<String, Vec<String>>>,
    },
    /// Notifies people of a pending approval.
    Notify(Box<ApprovalNotice>),
    /// Writes interfaces to their files.
    WriteInterfaces {
        /// The commit whose tree they are written into.
        base: Tip,
        /// The files.
        files: Vec<InterfaceFile>,
    },
    /// Runs a publish command on the host.
    Publish {
        /// The shell command.
        command: String,
        /// The goal in one line, as the title of a pull request.
        title: String,
    },
}

impl JobKind {
    /// Returns the name of the kind, for the diagnostic log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::StartWorker(_) => "worker",
            Self::TakeSubmission(_) => "submission of the session",
            Self::RunGate { .. } => "gate",
            Self::Rebase { .. } => "rebase",
            Self::Integrate { .. } => "integrate",
            Self::Deliver { .. } => "deliver",
            Self::MoveBranch { .. } => "move of the branch",
            Self::AssessRisk { .. } => "risk",
            Self::Notify(_) => "notification",
            Self::WriteInterfaces { .. } => "write_interfaces",
            Self::Publish { .. } => "publish",
        }
    }
}

/// A session's answer to an assignment.
#[derive(Clone, Debug)]
pub struct SessionSubmission {
    /// The kind of role that the assignment was for.
    pub kind: RoleKind,
    /// The text of the answer.
    pub text: String,
    /// The frame's tree, which a judging role judges.
    pub tree: Tree,
    /// The message of the commit that stores the change, if one does.
    pub draft: Option<String>,
    /// Whether that commit goes on the run's branch or is stored separately.
    pub on_branch: bool,
}

/// Facts about a change that its checks need in addition to the tree itself.
#[derive(Clone, Debug, Default)]
pub struct ChangeFacts {
    /// The files that the task is planned to change.
    pub files: Vec<String>,
    /// Patterns of the files that the goal, the task, its requirements or its design say are to
    /// change. Tests among them may change even if no list of files names them.
    pub files_to_change: Vec<String>,
    /// The files of the plan's other tasks that are not done yet.
    pub held: Vec<HeldFiles>,
    /// Files that the plan forbids to change.
    pub forbidden: Vec<String>,
    /// The files of interfaces that it must leave as they are.
    pub locked: Vec<InterfaceLock>,
    /// The attempt that made the change.
    pub by: String,
    /// The id of the patch, which is the same on any base.
    pub patch: Option<PatchId>,
    /// What its author claims about it.
    pub claimed: Option<submission::ClaimedChange>,
    /// The changes of other tasks of the run: a description of the task, the patch id, and the
    /// patch.
    pub others: Vec<(String, PatchId, BodyId)>,
    /// What the gate has found out about the tests of the same patch on another base.
    pub known_evidence: Vec<CheckResult>,
    /// The commands of the other gates that judge the same change: what they rest on has to stay as well.
    pub other_commands: Vec<String>,
}

/// The environment of a running job: the engine, cancellation, and callbacks.
///
/// Only `report` affects the run: it hands inputs to the driver before the job ends, such as the
/// usage so far. `lines` and `busy` are for display, and may be called from any thread of the job.
pub struct JobContext<'a> {
    /// The project that the job works on.
    pub engine: &'a Engine,
    /// Ends the job early when it is cancelled.
    pub cancel: CancelToken,
    /// Receives output worth showing, line by line.
    pub lines: &'a (dyn Fn(&AttemptId, &str) + Sync),
    /// Receives inputs that the run needs before the job ends.
    pub report: &'a dyn Fn(Input),
    /// Receives what a long job is doing, and `None` when that has ended (see `busy_with`).
    pub busy: &'a (dyn Fn(&AttemptId, Option<&str>) + Sync),
}

impl<'a> JobContext<'a> {
    /// Reports what a job is doing, until the returned guard is dropped.
    fn busy_with(&'a self, id: &'a AttemptId, what: &str) -> BusyGuard<'a> {
        (self.busy)(id, Some(what));
        BusyGuard { context: self, id }
    }
}

/// Reports the end of a long operation when it is dropped.
struct BusyGuard<'a> {
    context: &'a JobContext<'a>,
    id: &'a AttemptId,
}

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        (self.context.busy)(self.id, None);
    }
}

/// The reasons why a job could not be performed at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file for people could not be written.
    #[error(transparent)]
    Artifacts(#[from] artifacts::Error),
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The workspace could not be prepared, read or removed.
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    /// A body could not be stored.
    #[error(transparent)]
    Bodies(#[from] bodies::Error),
    /// The run's log could not be read.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// A process could not be started or controlled.
    #[error(transparent)]
    Process(#[from] codeteam_host::process::Error),
    /// A file operation failed.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// The operation, as a verb for the message.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A worker has neither a key nor a login, and would wait for an API that never answers it.
    #[error("{0}")]
    NotLoggedIn(String),
    /// A login could not be lent or given back.
    #[error(transparent)]
    Login(#[from] crate::logins::Error),
    /// A host in the list of allowed hosts is invalid.
    #[error(transparent)]
    Host(#[from] egress::BadEntry),
    /// A key cannot be sent as a header.
    #[error(transparent)]
    Key(#[from] egress::BadHeader),
    /// The endpoint of an API is invalid.
    #[error(transparent)]
    Server(#[from] crate::api_keys::EndpointError),
    /// A role excludes more files than can be hidden from it.
    #[error(
        "the role's `exclude` names {count} files and folders, more than can be covered one by one; \
         name folders (`src/internal/**`) instead of files"
    )]
    TooMuchHidden {
        /// The number of files and folders.
        count: usize,
    },
    /// The job was cancelled before it began.
    #[error("it was cancelled")]
    Cancelled,
    /// The prompt could not be rendered.
    #[error(transparent)]
    Prompt(#[from] crate::prompt::Error),
    /// The context of a prompt could not be assembled.
    #[error(transparent)]
    Context(#[from] crate::context::Error),
    /// A pinned strategy cannot be read.
    #[error(transparent)]
    Strategy(#[from] crate::context::strategies::Error),
    /// The worktree cannot be read.
    #[error(transparent)]
    Tree(#[from] codeteam_context::tree::Error),
    /// No dialect knows this worker.
    #[error("codeteam does not know the worker `{0}`")]
    UnknownWorker(String),
    /// Codeteam has to stop until a person resolves the cause.
    #[error(transparent)]
    Halt(#[from] Halt),
    /// A thread of codeteam's own panicked.
    #[error("a thread ended unexpectedly")]
    Panicked,
    /// The pinned configuration of the gates cannot be read.
    #[error("what the run keeps of the configuration it began with cannot be read")]
    GateConfig(#[source] serde_json::Error),
    /// The redactor could not be created from the list of allowed texts.
    #[error(transparent)]
    Engine(#[from] Box<crate::engine::Error>),
    /// An id is not a git object id.
    #[error("`{0}` is not an object of git")]
    NotAnObject(String),
}

impl Error {
    /// Returns true if the failure comes from what codeteam itself does on this machine (worktrees,
    /// git, processes, files) and not from what it was asked to do: then another attempt may well
    /// succeed.
    fn is_local_failure(&self) -> bool {
        match self {
            Self::Artifacts(_)
            | Self::Git(_)
            | Self::Workspace(_)
            | Self::Bodies(_)
            | Self::Records(_)
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

/// Builds the job of an effect. Returns `None` if there is nothing to perform, for example for a
/// question.
pub(crate) fn job_for_effect(run: &Run, effect: &Effect) -> Option<Job> {
    let id = effect.attempt()?.clone();
    let frame = run.frames.get(&id.frame)?;
    let what = match effect {
        Effect::StartWorker { id, .. } => {
            JobKind::StartWorker(Box::new(build_assignment(run, id)?))
        }
        Effect::RunGate { step, tree, .. } => {
            let StepKind::Gate { checks } = &run.step(step)?.kind else {
                return None;
            };
            JobKind::RunGate {
                tree: tree.clone(),
                checks: checks.clone(),
                about: Box::new(ChangeFacts {
                    known_evidence: known_evidence(frame, step, tree),
                    other_commands: commands_of_other_gates(run, step),
                    ..change_facts(run, frame)
                }),
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
        Effect::WriteInterfaces { base, files, .. } => JobKind::WriteInterfaces {
            base: base.clone(),
            files: files.clone(),
        },
        Effect::MoveBranch { to, .. } => JobKind::MoveBranch { to: to.clone() },
        Effect::Publish { command, .. } => JobKind::Publish {
            command: command.clone(),
            title: title(&run.goal),
        },
        Effect::AssessRisk { tree, .. } => JobKind::AssessRisk {
            tree: tree.clone(),
            paths: Arc::new(run.approval.as_ref()?.paths.clone()),
        },
        Effect::Notify { id } => JobKind::Notify(Box::new(notice::approval_notice(run, id)?)),
        Effect::Ask(_) | Effect::Wait { .. } => return None,
    };
    Some(build_job(run, frame, id, what))
}

/// Builds the job that accepts a session's submission, if its assignment is still running.
pub(crate) fn job_for_submission(run: &Run, id: &AttemptId, text: String) -> Option<Job> {
    let assignment = build_assignment(run, id)?;
    let frame = run.frames.get(&id.frame)?;
    let running = frame.slot(id)?.state == SlotState::Running;
    let taken = SessionSubmission {
        kind: assignment.kind,
        text,
        tree: frame.tree.clone(),
        draft: draft_message(run, id),
        on_branch: run.workflow.delivery_step().is_none(),
    };
    let what = JobKind::TakeSubmission(Box::new(taken));
    running.then(|| build_job(run, frame, id.clone(), what))
}

fn build_job(run: &Run, frame: &Frame, id: AttemptId, what: JobKind) -> Job {
    let first_slot = frame.slots.iter().map(|slot| slot.id.slot).min();
    Job {
        side_slot: first_slot.and_then(|first| (id.slot > first).then_some(id.slot)),
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
        started_by: run.started_by,
        operator: run.operator,
        gate_settings: run.gate_settings.clone(),
        audit: artifacts::is_audited(run),
        baseline: Arc::clone(&run.baseline),
        old_failures: OldFailures::of(run, frame),
        sandbox: run.sandbox,
        templates: Arc::clone(&run.templates),
        strategies: Arc::clone(&run.strategies),
        kind: what,
    }
}

/// Returns what a gate has found out about the tests of a change before it was replayed on another
/// commit. As a reviewer's verdict, it stands if the patch is equal.
fn known_evidence(frame: &Frame, step: &StepId, tree: &Tree) -> Vec<CheckResult> {
    let patch = frame.change.as_ref().map(|change| &change.patch);
    let gate = frame.judgements.gates.get(step);
    let gate = gate.filter(|gate| gate.tree != *tree && patch.is_some());
    let gate = gate.filter(|gate| gate.patch.as_ref() == patch);
    let results = gate.into_iter().flat_map(|gate| &gate.results);
    results
        .filter(|result| result.passed && result.class == CheckClass::Evidence)
        .cloned()
        .collect()
}

/// Collects the facts about a frame's change that its checks need.
fn change_facts(run: &Run, frame: &Frame) -> ChangeFacts {
    let tasks = run.frames.values().chain(run.failed_frames.values());
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
        locked: run.interface_locks_for(frame),
        files_to_change: codeteam_core::wanted_changes::files_to_change(run, frame),
        by: frame
            .change
            .as_ref()
            .map(|c| c.by.clone())
            .unwrap_or_default(),
        patch: frame.change.as_ref().map(|change| change.patch.clone()),
        claimed: frame.outputs.change.clone(),
        others: others.collect(),
        known_evidence: Vec::new(),
        other_commands: Vec::new(),
    }
}

/// Returns the commands of the gates beside a gate, which judge the changes of the same frames.
fn commands_of_other_gates(run: &Run, gate: &StepId) -> Vec<String> {
    let Some(own) = run.step(gate) else {
        return Vec::new();
    };
    let steps = run.workflow.steps.values();
    let others = steps.filter(|step| step.id != *gate && step.scope == own.scope);
    let checks = others.flat_map(|step| match &step.kind {
        StepKind::Gate { checks } => checks.as_slice(),
        _ => &[],
    });
    let commands = checks.filter_map(|check| match &check.what {
        CheckKind::Command(command) => Some(command.clone()),
        _ => None,
    });
    commands.collect()
}

/// The name of the git index used to read the user's checkout, in the folder of a run's worktrees.
pub(crate) const SCRATCH: &str = ".session-index";

/// Builds the change that leads from a base to a tree, and stores its diff.
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

/// Returns the first line of a goal, short enough for a title.
fn title(goal: &str) -> String {
    let line = goal.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(72) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Performs a job to its end. Whatever happens becomes an input, unless codeteam itself has to
/// stop: then the effect counts as not performed and must be repeated.
pub fn perform(job: &Job, context: &JobContext<'_>) -> Result<Input, Halt> {
    // Git commands and directory walks on this thread end when the job is cancelled.
    let _obeys = WaitLimit::obey_cancel(&context.cancel);
    let done = match &job.kind {
        JobKind::StartWorker(assignment) => worker::carry_out_assignment(job, assignment, context),
        JobKind::TakeSubmission(taken) => session_submission::take_submission(job, taken, context),
        JobKind::RunGate {
            tree,
            checks,
            about,
        } => checks::run_gate(job, tree, checks, about, context),
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
        JobKind::WriteInterfaces { base, files } => {
            interfaces::write_interfaces(job, base, files, context)
        }
        JobKind::MoveBranch { to } => move_branch::move_branch(job, to, context),
        JobKind::AssessRisk { tree, paths } => checks::assess_risk(job, tree, paths, context),
        JobKind::Notify(about) => Ok(notice::send_notice(job, about, context)),
        JobKind::Publish { command, title } => checks::publish(job, command, title, context),
    };
    let folder = context.engine.run_workspaces_folder(&job.run);
    match done {
        Ok(input) => match crate::halt::disk_full_from_result(&input, &folder) {
            Some(halt) => Err(halt),
            None => Ok(input),
        },
        Err(Error::Halt(halt)) => Err(halt),
        Err(error) => match crate::halt::disk_full_from_error(&error, &folder) {
            Some(halt) => Err(halt),
            None => Ok(Input::EffectFailed {
                at: now(),
                id: job.id.clone(),
                trouble: error.is_local_failure().then_some(FailureCause::Machine),
                message: format_error_chain(&error),
            }),
        },
    }
}

fn oid(text: &str) -> Result<git::Oid, Error> {
    git::Oid::parse(text).ok_or_else(|| Error::NotAnObject(text.to_owned()))
}
