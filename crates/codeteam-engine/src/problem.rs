//! Error messages for people: what went wrong, why, and what to do about it.

use std::error::Error as StdError;
use std::path::Path;

use crate::config::AccessRequest;
use crate::context::{self, strategies};
use crate::driver;
use crate::engine::Error as EngineError;
use crate::halt::Halt;
use crate::{config, diagnostic_log, find, layout, library, prompt};
use codeteam_core::shell::shell_word;
use codeteam_core::spelling::nearest;
use codeteam_core::untrusted_text::strip_active;
use codeteam_host::confine::ConfinementError;
use codeteam_host::process::RefusedHost;
use codeteam_host::{git, store, workspace};
use codeteam_report::records::RecordsError;
use codeteam_workflow::yaml::FileProblems;

/// The party that has to deal with a problem. It determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The user: the command line, or a file the user wrote, is wrong.
    User,
    /// A person must decide something first.
    Person,
    /// The machine: git, disk, permissions.
    Environment,
    /// Codeteam itself has a bug.
    Internal,
}

/// An error as a person sees it: what went wrong, the chain of causes, and hints.
#[derive(Debug)]
pub struct Problem {
    kind: ProblemKind,
    what: String,
    causes: Vec<String>,
    hints: Vec<String>,
}

impl Problem {
    fn new(kind: ProblemKind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Creates a problem of the command line, or of a file that the user wrote.
    pub fn user(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::User, what)
    }

    /// Creates a problem for which a person must decide something first.
    pub fn person(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Person, what)
    }

    /// Creates a problem of the machine: git, disk, permissions.
    pub fn environment(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Environment, what)
    }

    /// Creates a problem of codeteam itself.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(ProblemKind::Internal, what)
    }

    /// Adds an error and the chain of its causes.
    #[must_use]
    pub fn caused_by(mut self, error: &dyn StdError) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            let text = error.to_string();
            if self.causes.last() != Some(&text) && self.what != text {
                self.causes.push(text);
            }
            next = error.source();
        }
        self
    }

    /// Adds a hint about what can be done.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the hints in one line, or the causes if there are no hints.
    pub fn remedy(&self) -> String {
        let told = if self.hints.is_empty() {
            &self.causes
        } else {
            &self.hints
        };
        told.join("; ")
    }

    /// Returns everything, one item per line: what, why, and what can be done about it.
    pub fn lines(&self) -> Vec<String> {
        let causes = self.causes.iter().map(|cause| format!("because {cause}"));
        let what = std::iter::once(self.what.clone());
        what.chain(causes)
            .chain(self.hints.iter().cloned())
            .collect()
    }

    /// Returns who has to deal with it.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns what went wrong.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns the causes, the nearest first.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// Returns the hints.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<diagnostic_log::Error> for Problem {
    fn from(error: diagnostic_log::Error) -> Self {
        match &error {
            diagnostic_log::Error::Directive { .. } => Self::user(error.to_string()).hint(
                "set `CODETEAM_LOG` to `error`, `warn`, `info`, `debug`, `trace` or `off`, or to \
                 levels for some modules, such as `codeteam_host::git=debug,info`",
            ),
            diagnostic_log::Error::NoHome => {
                Self::environment(error.to_string()).hint("name a file with `--log-file`")
            }
            diagnostic_log::Error::Open { source, .. } => Self::environment(error.to_string())
                .caused_by(source)
                .hint("name a file that you may write with `--log-file`"),
        }
    }
}

impl From<crate::engine::SigningError> for Problem {
    fn from(error: crate::engine::SigningError) -> Self {
        Self::user(error.to_string()).caused_by(&error)
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Git(error) => error.into(),
            EngineError::Store(error) => error.into(),
            EngineError::Driver(error) => error.into(),
            EngineError::Library(library::Error::Unknown { what, name, near }) => {
                let problem = Self::user(format!("there is no {what} `{name}`"));
                match near {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint(format!("`codeteam {what} list` lists all of them")),
                }
            }
            EngineError::Library(library::Error::Invalid(problems))
            | EngineError::Config(config::Error::Invalid(problems)) => Self::user(shorten_problem_files(problems)),
            EngineError::Strategy(error) => error.into(),
            EngineError::Context(error) => error.into(),
            EngineError::NotReplaceable(ref name, ref known) => {
                let problem = Self::user(error.to_string());
                match nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint(format!("it has {}", known.join(", "))),
                }
            }
            EngineError::WrongRoleKind { owed, .. } => {
                let owes = owed.with_article();
                Self::user(error.to_string())
                    .hint(format!("choose {owes} (`codeteam role list`), or change the workflow"))
            }
            EngineError::Config(error @ config::Error::TwoFiles { .. }) => Self::user(error.to_string()),
            EngineError::Config(error @ config::Error::Read { .. }) => {
                Self::environment(error.to_string())
                    .caused_by(&error)
                    .hint("`.codeteam` must be a folder, and its files must be yours to read")
            }
            EngineError::Plan(problems) => Self::user(shorten_problem_files(problems))
                .hint("fix the plan and try again; nothing was started"),
            EngineError::Prompt(error) => error.into(),
            EngineError::NoTask(_) => {
                Self::user(error.to_string()).hint("a task is named by its `id` in the plan")
            }
            EngineError::UnknownWorker(_, ref known) => Self::user(error.to_string())
                .hint(format!("known: {}", known.join(", ")))
                .hint("`workers:` in the configuration names more"),
            EngineError::NoWorker => Self::environment(error.to_string())
                .hint("install one, for example with `npm install -g @anthropic-ai/claude-code`, and log in")
                .hint("or give the built-in worker a model API: `--worker builtin`, with `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` and `workers.builtin.model`")
                .hint("`codeteam doctor` shows what each worker lacks, `codeteam demo` needs none"),
            EngineError::Redaction(_) => Self::user(error.to_string())
                .caused_by(&error)
                .hint("`redaction: { allow: [...] }` takes regular expressions"),
            EngineError::UnknownServer(_, ref known) => {
                let hint = if known.is_empty() {
                    "name it under `mcp_servers:` in the configuration".to_owned()
                } else {
                    format!("known: {}", known.join(", "))
                };
                Self::user(error.to_string()).hint(hint)
            }
            EngineError::UnknownTool { .. } => Problem::user(error.to_string()).hint(
                "`allowed_tools` takes `read`, `write`, `edit`, `run`, `search`, `list`, `web`, and what \
                 workers call these; tools of your own come from an MCP server that the role names under \
                 `mcp_servers`",
            ),
            EngineError::NoSuchRun(_) | EngineError::Ambiguous(_) => Self::user(error.to_string())
                .hint("`codeteam status` lists the runs of this project"),
            EngineError::NoRuns => Self::user("this project has no run yet")
                .hint("`codeteam run \"what you want\"` starts one"),
            error => Self::refusal(error),
        }
    }
}

impl Problem {
    /// Converts the errors that keep a run from starting and are not handled above.
    fn refusal(error: EngineError) -> Self {
        match error {
            EngineError::CommittedLog { .. }
            | EngineError::ForeignLog { .. }
            | EngineError::UnknownLog { .. } => foreign_log(&error),
            EngineError::MisnamedRun(_) => Self::environment(error.to_string()).hint(
                "somebody else wrote `.codeteam/state.db`, or it is damaged: move it out of the way",
            ),
            EngineError::EmptyGoal => Self::user("the goal is empty")
                .hint("say what you want: `codeteam run \"add a --json flag\"`"),
            EngineError::BranchInTheWay { .. } => Self::user(error.to_string()).hint(
                "choose other names with `git: { branch_pattern: 'team/{run}' }` in `.codeteam/config.yml`",
            ),
            EngineError::NoIdentity => no_identity(&error),
            EngineError::Nested(ref path) => Self::user(error.to_string()).hint(format!(
                "let git ignore it (`echo /{}/ >> .git/info/exclude`), or commit it as a submodule",
                path.display()
            )),
            EngineError::NothingToPublish(_) => Self::user(error.to_string())
                .hint("set `git.mode` to `branch` or `current`, or choose another workflow"),
            EngineError::Workspace(error @ workspace::Error::NotEmpty { .. }) => {
                Self::user(error.to_string())
                    .hint("name a folder that does not exist yet with `--to`; nothing was written")
            }
            EngineError::NoHome => Self::environment(error.to_string())
                .hint("set `HOME`, or `XDG_STATE_HOME` to the absolute path of a folder you can write"),
            EngineError::NoScript(_) => Self::user(error.to_string()).hint(
                "name the script's file with `--script`, or `script` in `.codeteam/config.yml`",
            ),
            EngineError::NoPlan(_) => Self::user(error.to_string())
                .hint("name the file of an existing plan; those of runs are below `.codeteam/planning`"),
            EngineError::EmptyPhases(_) => Self::user(error.to_string())
                .hint("write tasks into the plan, or use `--workflow feature`, which has a tech lead for each phase"),
            EngineError::PlanRoles(_) => Self::user(error.to_string())
                .hint("name other roles in the plan, or leave `role` out: whoever assembles the team then chooses")
                .hint("`codeteam role list` lists all roles"),
            EngineError::SecretName { .. } => Self::user(error.to_string())
                .hint("branches, files and commits would carry it: choose another name, and replace the secret if it was real")
                .hint("what is not a secret can be named in `redaction.allow`; nothing was started"),
            EngineError::Sandbox(missing) => no_sandbox_problem(&missing),
            EngineError::Untrusted(ref requests) => untrusted_problem(&error, requests),
            EngineError::Approval(_) => Self::user(error.to_string()),
            EngineError::Trust(error) => Self::environment(error.to_string()).caused_by(&error),
            EngineError::Layout(error) => error.into(),
            EngineError::Schema { .. } => Self::user(error.to_string()).hint(
                "correct the `schema` of the role's validator, and commit it if it is a file; nothing was started",
            ),
            EngineError::NoTests(_) => Self::user(error.to_string())
                .hint("name the command under `verification: { commands: [...] }` in `.codeteam/config.yml`")
                .hint("or lay the project out for it: `codeteam init --layout strict`"),
            error => Self::environment(error.to_string()).caused_by(&error),
        }
    }
}

impl From<RecordsError> for Problem {
    fn from(error: RecordsError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<layout::Error> for Problem {
    fn from(error: layout::Error) -> Self {
        match error {
            layout::Error::Invalid(problems) => Self::user(shorten_problem_files(problems))
                .hint("fix it and try again; nothing was started"),
            layout::Error::NotAllowed { ref allowed, .. } => {
                let problem = Self::user(error.to_string());
                let problem = problem
                    .hint("add it to `execution.allow` there, if it may run; nothing was started");
                match allowed.as_slice() {
                    [] => problem,
                    known => problem.hint(format!("allowed: `{}`", known.join("`, `"))),
                }
            }
            layout::Error::NoProgram { ref program, .. } => {
                let problem = Self::environment(error.to_string());
                let problem = match program.as_str() {
                    "pytest" => problem.hint("install it where checks see it, with `apt install python3-pytest` or `pip install pytest`; a folder of your own is shown to them by `sandbox.toolchains`"),
                    _ => problem.hint("install it"),
                };
                problem.hint(format!(
                    "or name another command under `execution` in `{}`; nothing was started",
                    layout::POLICIES
                ))
            }
            layout::Error::Read { .. } => Self::environment(error.to_string()).caused_by(&error),
        }
    }
}

/// Builds the problem that no author for commits is known.
fn no_identity(error: &EngineError) -> Problem {
    Problem::user(error.to_string())
                .hint("`git config --global user.name \"Your Name\"` and `git config --global user.email you@example.org`")
                .hint("or `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL`; nothing was started")
}

/// The hint for a log that is the user's own after all.
const OWN_LOG: &str = "if it is your own (from an earlier version, a moved home or checkout, a backup): \
                       `codeteam trust --log` takes it over";

/// Builds the problem of a log that somebody else may have written.
fn foreign_log(error: &EngineError) -> Problem {
    let problem = Problem::person(error.to_string())
        .hint("whoever wrote it could run commands here as if you had started them");
    match error {
        EngineError::CommittedLog {
            path,
            kept: Some(kept),
        } => problem
            .hint("git has put it in the place of your own log, which codeteam has kept")
            .hint(format!(
                "`git rm --quiet --cached {} && mv {} .codeteam/state.db` puts your own back",
                shell_word(&path.display().to_string()),
                shell_word(&kept.display().to_string())
            )),
        EngineError::UnknownLog {
            path,
            kept: Some(kept),
        } => problem
            .hint(format!(
                "it has taken the place of a log that codeteam has kept: move it away, then `mv -n {} {}` \
                 puts that back",
                shell_word(&kept.display().to_string()),
                shell_word(&path.display().to_string())
            ))
            .hint(OWN_LOG),
        EngineError::CommittedLog { path, .. } | EngineError::ForeignLog { path } => problem
            .hint(format!(
                "move `{}` out of the way: a log does not belong in a commit",
                path.display()
            )),
        _ => problem.hint(OWN_LOG),
    }
}

/// Formats problems in files, with paths relative to the current directory.
fn shorten_problem_files(mut problems: FileProblems) -> String {
    if let Ok(here) = std::env::current_dir() {
        for problem in &mut problems.problems {
            if let Ok(file) = Path::new(&problem.file).strip_prefix(&here) {
                problem.file = file.display().to_string();
            }
        }
    }
    problems.to_string()
}

/// Builds the problem of requests that the user has not decided on.
fn untrusted_problem(error: &EngineError, requests: &[AccessRequest]) -> Problem {
    let asked = requests.iter().fold(error.to_string(), |text, request| {
        format!("{text}\n- {}", describe_request(request))
    });
    Problem::person(asked)
        .hint("a person decides: `codeteam trust` shows it and, if you say so, trusts the repository with exactly that; nothing was started")
        .hint("`codeteam run --untrusted` runs without it, and `trust: never` in your own `~/.config/codeteam/config.yml` always does")
}

/// Describes a request of a repository in one line: what it asks for, with which key, and where.
pub fn describe_request(request: &AccessRequest) -> String {
    let place = Path::new(&request.place);
    // Files of the repository are named relative to its top level.
    let parts: Vec<_> = place.iter().collect();
    let own = parts.iter().rposition(|part| *part == ".codeteam");
    let place: std::path::PathBuf = parts[own.unwrap_or(0)..].iter().collect();
    let key = &request.access.key;
    let key = if place.as_os_str() == key.as_str() {
        String::new()
    } else {
        format!("`{key}`, ")
    };
    // Whoever wrote the file must not be able to add lines to this message.
    let text = format!("{} ({key}{})", request.asks, place.display());
    let words: Vec<&str> = text.split_whitespace().collect();
    strip_active(&words.join(" "))
}

/// Builds the problem that there is no sandbox, so that nothing was started.
fn no_sandbox_problem(missing: &ConfinementError) -> Problem {
    Problem::environment("workers and gates cannot be confined here, so nothing was started")
        .caused_by(missing)
        .hint("`codeteam doctor` tries again and reports what works")
}

impl From<find::Error> for Problem {
    fn from(error: find::Error) -> Self {
        Self::user(error.to_string()).caused_by(&error)
    }
}

impl From<prompt::Error> for Problem {
    fn from(error: prompt::Error) -> Self {
        let error = match error {
            prompt::Error::Invalid(problems) => {
                return Self::user(shorten_problem_files(problems))
                    .hint("fix the template and try again; nothing was started");
            }
            error => error,
        };
        let problem = Self::user(error.to_string());
        match error {
            prompt::Error::Unknown {
                near: Some(near), ..
            } => problem.hint(format!("did you mean `{near}`?")),
            prompt::Error::Unknown { .. } => problem.hint(
                "a role's `template` is a file in `.codeteam/prompts/`, or one that is built in",
            ),
            prompt::Error::Read { .. } => problem.caused_by(&error),
            prompt::Error::Invalid(_) | prompt::Error::TooLong(_) | prompt::Error::TooMany(_) => {
                problem
            }
        }
    }
}

impl From<strategies::Error> for Problem {
    fn from(error: strategies::Error) -> Self {
        let error = match error {
            strategies::Error::Invalid(problems) => {
                return Self::user(shorten_problem_files(problems))
                    .hint("fix the strategy and try again; nothing was started");
            }
            error => error,
        };
        let problem = Self::user(error.to_string());
        match error {
            strategies::Error::Unknown {
                near: Some(near), ..
            } => problem.hint(near),
            strategies::Error::Unknown { .. } => problem.hint(
                "a role's `context.strategy` is a file in `.codeteam/strategies/`, or one that is built in",
            ),
            strategies::Error::Read { .. } => problem.caused_by(&error),
            strategies::Error::Pattern { .. } | strategies::Error::Invalid(_) => problem,
        }
    }
}

impl From<context::Error> for Problem {
    fn from(error: context::Error) -> Self {
        match error {
            context::Error::Prompt(error) => error.into(),
            context::Error::Git(error) => error.into(),
            context::Error::Pattern(_) => Self::user(error.to_string()),
            context::Error::Unshowable { .. } => {
                Self::user(error.to_string()).hint("leave it out of the task's files")
            }
            context::Error::CannotFit(_) => Self::user(error.to_string())
                .hint("raise the role's `context.budget`, or `limits.max_token_budget`"),
        }
    }
}

impl From<git::Error> for Problem {
    fn from(error: git::Error) -> Self {
        let problem = match &error {
            git::Error::NotARepository { .. }
            | git::Error::NoCommits { .. }
            | git::Error::Bare { .. }
            | git::Error::Dirty { .. }
            | git::Error::InTheWay { .. }
            | git::Error::NotFastForward { .. } => Self::user(error.to_string()),
            // The command was right, but the two sides cannot be merged.
            git::Error::MergeConflict { .. } => Self::environment(error.to_string()),
            _ => Self::environment(error.to_string()).caused_by(&error),
        };
        match &error {
            git::Error::NotARepository { .. } => problem
                .hint("codeteam works on a git repository with at least one commit")
                .hint("`git init`, then `git add -A` and `git commit` make one of this folder"),
            git::Error::NoCommits { .. } => {
                problem.hint("make a first commit (`git add -A`, `git commit`); a run starts from a commit")
            }
            git::Error::Bare { .. } => problem.hint("work in a checkout of it: `git worktree add ../checkout`"),
            git::Error::Missing { .. } => problem.hint("install git (`apt-get install git`)"),
            git::Error::TooOld { .. } => problem.hint("install a newer git"),
            git::Error::Refused { .. } => problem.hint("git's own message is above"),
            git::Error::Dirty { .. } => problem.hint("commit or stash them, then try again"),
            git::Error::InTheWay { .. } => problem.hint("move or commit them, then try again"),
            git::Error::RefLocked { .. } => problem.hint(
                "wait for the other git process; if none is running, move the lock file away, then try again",
            ),
            git::Error::Blocked { .. } => problem.hint("then try again; nothing was changed"),
            _ => problem,
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        match &error {
            store::Error::Held { run, pid, host, .. } => {
                Self::user(format!("another codeteam drives {run}: process {pid} on `{host}`"))
                    .hint("`codeteam log -f` watches it; `codeteam approve`, `reject`, `answer` and `abort` reach it from here")
            }
            store::Error::Fenced { .. } => {
                Self::environment("another codeteam has taken this run over")
                    .caused_by(&error)
                    .hint("nothing was lost; `codeteam log -f` watches it")
            }
            store::Error::Removed { .. } => Self::environment(error.to_string())
                .hint("if the project was moved, `codeteam resume` goes on where it is now; its workers were ended"),
            store::Error::DiskFull { .. } => Self::environment(error.to_string())
                .hint("make room, then try again; a run that has begun goes on with `codeteam resume`, and everything acknowledged is kept"),
            store::Error::ReadOnly { .. } => Self::environment(error.to_string())
                .hint("give yourself the right to write there, or copy the project to where you can: even reading the log needs two files beside it"),
            store::Error::Newer { path, found, known } => Self::user(format!(
                "`{}` was written by a newer codeteam (its schema is {found}, this one knows up to {known})",
                path.display()
            ))
            .hint("use that newer codeteam; the file was not touched"),
            store::Error::Damaged { .. } => Self::environment(error.to_string())
                .hint("move the file away to keep it; `codeteam status` then rebuilds from plan and commits"),
            store::Error::NotADatabase { .. } => Self::user(error.to_string())
                .hint("it was not touched; move the file away to keep it; `codeteam status` then rebuilds from plan and commits"),
            _ => Self::environment(error.to_string()).caused_by(&error),
        }
    }
}

impl From<driver::Error> for Problem {
    fn from(error: driver::Error) -> Self {
        match error {
            driver::Error::Store(error) => error.into(),
            driver::Error::Halt(halt) => halt.into(),
            error => Self::environment("the run cannot continue")
                .caused_by(&error)
                .hint("fix the cause, then `codeteam resume`; nothing acknowledged is lost"),
        }
    }
}

/// Adds hints about the hosts that a set-up could not reach.
fn with_refused_hosts(mut problem: Problem, refused: &[RefusedHost]) -> Problem {
    let names = |private: bool| -> Vec<&str> {
        let wanted = refused.iter().filter(|host| host.is_private == private);
        wanted.map(|host| host.host.as_str()).collect()
    };
    let unnamed = names(false).join(", ");
    if !unnamed.is_empty() {
        problem = problem.hint(format!(
            "it was refused {unnamed}; list the hosts that it may reach under `sandbox.registries`"
        ));
    }
    for host in names(true) {
        let name = host.trim_end_matches(":443");
        problem = problem.hint(format!(
            "it was refused {host}, which is named under `sandbox.registries`, because its name leads \
             to an address that is not public (a mirror of your own network?); if that is where it \
             should go, say so in your own configuration, `~/.config/codeteam/config.yml`: \
             `sandbox: {{ registries: [ {{ host: {name}, private: true }} ] }}`"
        ));
    }
    problem
}

impl Problem {
    /// Builds the problem of a halt before a run was started: there is nothing yet to resume.
    pub fn before_start(halt: Halt) -> Self {
        let problem = Self::environment(halt.to_string());
        match halt {
            Halt::SetUp { refused, .. } => with_refused_hosts(problem, &refused)
                .hint("repair `setup` in `.codeteam/config.yml`, then start the run again"),
            Halt::DiskFull { .. } => problem.hint("make room, then start the run again"),
            Halt::NoSandbox(missing) => no_sandbox_problem(&missing),
            halt => halt.into(),
        }
    }
}

impl From<Halt> for Problem {
    fn from(halt: Halt) -> Self {
        let problem = Self::environment(halt.to_string());
        match halt {
            Halt::SetUp {
                refused, pinned, ..
            } => {
                let problem = with_refused_hosts(problem, &refused);
                if pinned {
                    return problem.hint(
                        "the run keeps the configuration it began with, because a session could change it: fix `setup` in `.codeteam/config.yml`, end the run (`codeteam abort`) and start the task again",
                    );
                }
                problem.hint("fix `setup` in `.codeteam/config.yml`, then `codeteam resume`")
            }
            Halt::Included { file } => problem
                .hint(format!(
                    "put `{}` back as it was, then `codeteam resume`",
                    file.display()
                ))
                .hint("to use it as it is now, end the run (`codeteam abort`) and start the task again"),
            Halt::FalseObject { .. } => problem.hint(
                "`git fsck` names the object; remove it, let git write it again (`git hash-object -w FILE`), then `codeteam resume`",
            ),
            Halt::Untrusted { .. } => Self::person(halt.to_string())
                .hint("`codeteam trust` trusts the repository again, if it still asks for that; then `codeteam resume`")
                .hint("or end the run (`codeteam abort`) and start another; its commits stay"),
            Halt::Restricted => Self::person(halt.to_string())
                .hint("`codeteam trust --revoke`, then `codeteam resume`, continues without what it asks for")
                .hint("or end the run (`codeteam abort`) and start another; its commits stay"),
            Halt::NoSandbox(missing) => no_sandbox_problem(&missing)
                .hint("then `codeteam resume`; everything acknowledged is kept"),
            Halt::DiskFull { .. } => {
                problem.hint("make room, then `codeteam resume`; everything acknowledged is kept")
            }
            Halt::NoIdentity => problem
                .hint("set `user.name` and `user.email` (`git config`), then `codeteam resume`"),
            Halt::CheckedOut { .. } => problem
                .hint("switch that checkout to another branch, then `codeteam resume`")
                .hint("`git switch --detach` keeps its files and leaves the branch free"),
            Halt::Foreign { branch, commit } => problem.hint(format!(
                "keep it under another name (`git branch NAME {branch}`) and take it off (`git branch -f {branch} {commit}~1`), then `codeteam resume`"
            )),
            Halt::Rewritten { branch, tip } => problem.hint(format!(
                "bring it back (`git merge {tip}` on `{branch}`), then `codeteam resume`; or end the run with `codeteam abort`"
            )),
        }
    }
}
