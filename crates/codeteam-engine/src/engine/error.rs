//! The engine's error type.

use std::path::PathBuf;

use codeteam_core::role::RoleKind;

use crate::config::AccessRequest;
use crate::driver_error::DriverError;
use crate::{config, layout, library};
use codeteam_host::confine::ConfinementError;
use codeteam_host::{bodies, git, store, workspace};
use codeteam_report::records::RecordsError;

/// The reasons why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum Error {
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Bodies(#[from] bodies::Error),
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Library(#[from] library::Error),
    #[error(transparent)]
    Workspace(#[from] workspace::Error),
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error(transparent)]
    Plan(#[from] codeteam_workflow::yaml::FileProblems),
    #[error("could not {doing} `{}`", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("there is no run `{0}`")]
    NoSuchRun(String),
    #[error("`{0}` could mean more than one run")]
    Ambiguous(String),
    #[error("there is no run yet")]
    NoRuns,
    #[error(
        "`{}` is part of a commit of this repository, so codeteam did not write it here and does not use it",
        path.display()
    )]
    CommittedLog {
        path: PathBuf,
        /// A copy of the user's own log, if this one has replaced it.
        kept: Option<PathBuf>,
    },
    #[error("`{}` was not written by your codeteam in this place, and is not used", path.display())]
    UnknownLog {
        path: PathBuf,
        /// A copy of the user's own log, if this one has replaced it.
        kept: Option<PathBuf>,
    },
    #[error(
        "`{}` is a repository of its own, so codeteam did not write the log in it here and does not use it",
        path.display()
    )]
    ForeignLog { path: PathBuf },
    #[error("the log has a run `{}`, which is not a name that codeteam gives runs", .0.escape_default())]
    MisnamedRun(String),
    #[error("event {seq} of run `{run}` cannot be read")]
    Unreadable {
        run: String,
        seq: u64,
        source: codeteam_core::event::EventReadError,
    },
    #[error("codeteam does not know the worker `{0}`")]
    UnknownWorker(String, Vec<String>),
    #[error("the workflow has no role `{0}` that another could play")]
    NotReplaceable(String, Vec<String>),
    #[error(
        "`{other}` is {}, so it cannot play `{role}`, which is {}",
        given.with_article(),
        owed.with_article()
    )]
    WrongRoleKind {
        role: String,
        owed: RoleKind,
        other: String,
        given: RoleKind,
    },
    #[error("there is no worker: neither `claude` nor `codex` nor `gemini` is installed")]
    NoWorker,
    #[error("`redaction.allow` cannot be used")]
    Redaction(#[from] codeteam_context::redact::Error),
    #[error("no MCP server `{0}` is configured")]
    UnknownServer(String, Vec<String>),
    /// A role names a tool that no worker has.
    #[error("the role `{role}` may use the tool `{tool}`, which no worker has")]
    UnknownTool {
        /// The name of the tool.
        tool: String,
        /// The role that names it.
        role: String,
    },
    #[error("neither `HOME` nor `XDG_STATE_HOME` is set, so there is no place for worktrees")]
    NoHome,
    #[error("the goal is empty")]
    EmptyGoal,
    #[error("the branch `{branch}` cannot be made, because there is a branch `{by}`")]
    BranchInTheWay { branch: String, by: String },
    #[error("git does not know who you are, so nothing can be committed in your name")]
    NoIdentity,
    #[error("`{}` is a repository of its own, which cannot be part of what a task begins with", .0.display())]
    Nested(PathBuf),
    #[error("the workflow `{0}` publishes a branch, and with `git.mode: none` there is none")]
    NothingToPublish(String),
    #[error("there is no script `{}`", .0.display())]
    NoScript(PathBuf),
    #[error("there is no plan `{}`", .0.display())]
    NoPlan(PathBuf),
    #[error(
        "the plan has phases without tasks, and the workflow `{0}` has nobody who breaks them down"
    )]
    EmptyPhases(String),
    #[error("the plan names roles that cannot carry out its tasks: {}", .0.join("; "))]
    PlanRoles(Vec<String>),
    #[error("{what} has something in it that looks like a secret ({kind})")]
    SecretName { what: String, kind: &'static str },
    #[error(transparent)]
    Prompt(#[from] crate::prompt::Error),
    #[error(transparent)]
    Strategy(#[from] crate::context::strategies::Error),
    #[error(transparent)]
    Context(#[from] crate::context::Error),
    #[error("the plan has no task `{0}`")]
    NoTask(String),
    #[error("this repository asks for more than your own configuration allows")]
    Untrusted(Vec<AccessRequest>),
    #[error("the approval policy cannot be met: {0}")]
    Approval(String),
    #[error(transparent)]
    Trust(#[from] crate::trust::Error),
    #[error("workers and gates cannot be confined here")]
    Sandbox(#[from] ConfinementError),
    #[error(transparent)]
    Layout(#[from] layout::Error),
    #[error("the JSON Schema of the validator `{check}` cannot be used: {why}")]
    Schema { check: String, why: String },
    #[error("the workflow `{0}` depends on the result of tests, but no command runs any")]
    NoTests(String),
}

impl From<RecordsError> for Error {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Store(source) => Self::Store(source),
            RecordsError::NoSuchRun(run) => Self::NoSuchRun(run),
            RecordsError::Unreadable { run, seq, source } => Self::Unreadable { run, seq, source },
        }
    }
}
