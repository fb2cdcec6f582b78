//! Builds and spawns `git` processes: the environment and the options that make a call hermetic.
//! Nothing else in the engine's git code spawns.
//!
//! There are two kinds of call.
//!
//! *Plumbing* calls are nearly all of them. They see no configuration but the repository's own, no
//! attributes, and no search path: a git that wants to run a helper finds none and stops. (Plain
//! `git add -A`, for example, runs `git status` in a nested repository, with that repository's own
//! file-system monitor.) The main repository's own configuration is the user's and is trusted not
//! to be hostile, but still does not get to run anything.
//!
//! *Checkout* calls act on the user's own work tree because the user asked: discovery, status,
//! identity and merging. They see the user's configuration (global ignores, `safe.directory`,
//! large-file filters), or their answers would differ from the user's own git; hooks and monitors
//! stay off.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use codeteam_sandbox::Shim;

use super::batch_process::GitBatchProcess;
use super::{Error, ObjectFormat};
use crate::process::{
    self, BriefCommand, BriefError, BriefOutput, CommandLauncher, CommandSpec, HostView, LogWords,
    MARK, SHIM, SandboxProfile, SpawnedCommand, WaitError, WaitLimit,
};
use crate::walk::{self, SpecialFile};

/// The oldest supported git: the first with `--attr-source` (2.41), the newest feature used here.
pub const NEEDED: &str = "2.41";

/// The longest any call may take. Callers that know better narrow the thread's [`WaitLimit`].
const LONGEST: Duration = Duration::from_mins(10);

/// The subcommands that change the user's checkout.
const CHANGES: &[&str] = &[
    "merge",
    "reset",
    "read-tree",
    "update-index",
    "init",
    "commit",
];

/// The number of times a confined call is launched if something kills it or its sandbox.
const LAUNCHES: u32 = 3;

/// A search path and a home directory that contain nothing.
const NOWHERE: &str = "/nonexistent";

/// Options of every call. Each prevents configuration from running a program, or a call from doing
/// more than it was asked to.
const ALWAYS: &[&str] = &[
    // No hook of any kind runs, wherever the configuration keeps them.
    "core.hooksPath=/dev/null",
    // The file-system monitor is a program named by configuration.
    "core.fsmonitor=false",
    // No background repacking of the user's objects, which also forks.
    "gc.auto=0",
    "maintenance.auto=false",
    // Signing asks for a passphrase; commits made here are made unattended.
    "commit.gpgSign=false",
    // `log` and `merge` would run the signature checker.
    "log.showSignature=false",
    // A diff or an editor is a program named by configuration, too.
    "diff.external=",
    "core.editor=true",
    // Nothing here talks to another repository, and nothing is fetched lazily.
    "protocol.allow=never",
    "submodule.recurse=false",
    // Resolutions recorded by the user must not decide what is merged.
    "rerere.enabled=false",
    // File names are printed as they are, unless they hold control characters.
    "core.quotePath=false",
];

/// Options of plumbing calls: what is ignored, normalised or left out on disk is decided by the
/// work tree and codeteam, not by the user's settings.
const PLUMBING: &[&str] = &[
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    // A name that another system takes for `.git` is rejected when a worker's files are collected,
    // not only when they are to be committed.
    "core.protectHFS=true",
    "core.protectNTFS=true",
    // Parallel checkout starts helper processes, which would not be found.
    "checkout.workers=1",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
];

/// The parts of codeteam's own environment that git needs.
#[derive(Debug, Clone)]
pub struct GitEnvironment {
    /// `PATH`: where `git` is searched for, and what the user's own filters see.
    pub path: OsString,
    /// `HOME`, for the user's configuration.
    pub home: Option<OsString>,
    /// `XDG_CONFIG_HOME`, for the user's configuration.
    pub xdg_config_home: Option<OsString>,
    /// The path of codeteam's own program. Git is started through it so that it does not outlive
    /// codeteam.
    pub codeteam: Option<PathBuf>,
}

/// The `git` program, looked up once and shared by all clones.
///
/// It spawns every `GitCall` and enforces what the module promises: a cleared environment, fixed
/// options, a deadline, and for calls in a worker's tree a sandbox.
#[derive(Debug, Clone)]
pub struct GitProgram(Arc<GitProgramInner>);

#[derive(Debug)]
struct GitProgramInner {
    program: PathBuf,
    environment: GitEnvironment,
    /// Looked up on first use.
    guard: OnceLock<Option<Shim>>,
}

/// The configuration that a call sees; see the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitConfigScope {
    Plumbing(ObjectFormat),
    Checkout,
}

/// One invocation of git, before it is spawned.
///
/// A call starts as [`GitCall::plumbing`] or [`GitCall::checkout`], which fixes the configuration
/// it sees, and is then extended with the repository, the work tree, arguments and input. A
/// [`GitProgram`] runs it.
#[derive(Debug, Clone)]
pub(super) struct GitCall {
    kind: GitConfigScope,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    /// Whether only git has written to the work tree, so that nothing in it can make a call wait.
    is_untouched: bool,
    directory: PathBuf,
    args: Vec<OsString>,
    /// Arguments of a git command to run first in the same sandbox. Its result is ignored.
    preparation: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    stdin: Option<Vec<u8>>,
    held_file: Option<Arc<File>>,
    confined: Option<GitCallSandbox>,
}

/// The sandbox of a call.
#[derive(Clone)]
struct GitCallSandbox {
    launcher: Arc<dyn CommandLauncher>,
    view: HostView,
    mark: String,
}

impl std::fmt::Debug for GitCallSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

/// The output and exit status of a git process.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl GitCall {
    /// Creates a call that works only on the objects and references of `git_dir`.
    pub(super) fn plumbing(git_dir: &Path, format: ObjectFormat) -> GitCall {
        GitCall {
            kind: GitConfigScope::Plumbing(format),
            git_dir: Some(git_dir.to_owned()),
            work_tree: None,
            is_untouched: false,
            directory: git_dir.to_owned(),
            args: Vec::new(),
            preparation: Vec::new(),
            env: Vec::new(),
            stdin: None,
            held_file: None,
            confined: None,
        }
    }

    /// Creates a call in the user's checkout.
    pub(super) fn checkout(directory: &Path) -> GitCall {
        GitCall {
            kind: GitConfigScope::Checkout,
            git_dir: None,
            work_tree: None,
            is_untouched: false,
            directory: directory.to_owned(),
            args: Vec::new(),
            preparation: Vec::new(),
            env: Vec::new(),
            stdin: None,
            held_file: None,
            confined: None,
        }
    }

    /// Sets the repository explicitly, so that git neither searches for it nor checks who owns it.
    pub(super) fn git_dir(mut self, git_dir: &Path) -> GitCall {
        self.git_dir = Some(git_dir.to_owned());
        self
    }

    /// Sets the work tree of the call, and runs it at its top.
    pub(super) fn work_tree(mut self, work_tree: &Path) -> GitCall {
        self.work_tree = Some(work_tree.to_owned());
        work_tree.clone_into(&mut self.directory);
        self
    }

    /// Does the same with a work tree to which only git has written.
    pub(super) fn untouched_work_tree(self, work_tree: &Path) -> GitCall {
        let mut call = self.work_tree(work_tree);
        call.is_untouched = true;
        call
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> GitCall {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> GitCall {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Makes a confined call run another git command first. That costs a process but no second
    /// sandbox.
    pub(super) fn prepared_by<const N: usize>(mut self, args: [&str; N]) -> GitCall {
        self.preparation = args.map(OsString::from).to_vec();
        self
    }

    pub(super) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> GitCall {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> GitCall {
        self.stdin = Some(bytes);
        self
    }

    /// Gives the process a file to hold open (it becomes its input, which it does not read), so
    /// that a lock on the file lasts as long as the process even if codeteam is killed.
    pub(super) fn hold_open(mut self, file: Option<&Arc<File>>) -> GitCall {
        self.held_file = file.cloned();
        self
    }

    /// Runs the call confined. It then ends with codeteam, so it need not hold a lock; processes
    /// left by a killed sandbox are found by their mark.
    pub(super) fn confined(
        mut self,
        launcher: Arc<dyn CommandLauncher>,
        view: HostView,
        mark: String,
    ) -> GitCall {
        self.confined = Some(GitCallSandbox {
            launcher,
            view,
            mark,
        });
        self
    }

    /// Returns the command as errors show it: without the options every call has.
    fn argv(&self) -> String {
        let mut text = String::from("git");
        for arg in &self.args {
            text.push(' ');
            text.push_str(&arg.to_string_lossy());
        }
        text
    }

    /// Creates an error about the output of this call.
    pub(super) fn unexpected_output(&self, what: impl Into<String>) -> Error {
        Error::Output {
            argv: self.argv(),
            what: what.into(),
        }
    }

    /// Creates the error for a call that git refused.
    pub(super) fn failure(&self, output: GitOutput) -> Error {
        Error::Failed {
            argv: self.argv(),
            status: output.status,
            stderr: output.stderr,
        }
    }

    /// Creates the error for a call that git refused after printing the reason itself.
    pub(super) fn refusal(&self, status: ExitStatus) -> Error {
        Error::Refused {
            argv: self.argv(),
            status,
        }
    }

    pub(super) fn spawn_error(&self) -> impl Fn(io::Error) -> Error + '_ {
        |source| Error::Spawn {
            argv: self.argv(),
            source,
        }
    }

    /// Converts an interruption to the error that explains it.
    fn interruption(&self, error: BriefError, blocking: Option<SpecialFile>) -> Error {
        let argv = self.argv();
        match (error, blocking) {
            (_, Some(file)) => Error::Blocked { argv, file },
            (BriefError::Interrupted(WaitError::Cancelled), None) => Error::Cancelled { argv },
            (BriefError::Interrupted(WaitError::TimedOut) | BriefError::Stuck, None) => {
                Error::TimedOut { argv }
            }
            (BriefError::Io(source), None) => Error::Spawn { argv, source },
        }
    }

    /// Returns true if the call changes files or the index of the user's own checkout. Such a call
    /// is not interrupted half-way when a run is aborted or codeteam is killed.
    fn changes_checkout(&self) -> bool {
        let command = self.args.first();
        let changes = command.is_some_and(|name| CHANGES.iter().any(|known| name == known));
        self.kind == GitConfigScope::Checkout && changes
    }

    /// Waits for a call that was started. If it is slow, the work tree is searched for files that
    /// would block git: a pipe in the place of a `.gitignore` never ends.
    fn finish(&self, command: BriefCommand) -> Result<BriefOutput, Error> {
        let mut patience = WaitLimit::current().at_most(LONGEST);
        if self.changes_checkout() {
            patience = patience.without_cancel();
        }
        let mut blocking = None;
        let mut look = || {
            let top = self.work_tree.as_deref();
            blocking = top.and_then(|top| walk::find_blocking(top).ok().flatten());
            blocking.is_some()
        };
        let started = command.started();
        let finished = command.finish(&patience, &mut look);
        self.log_end(started, &finished);
        finished.map_err(|error| self.interruption(error, blocking))
    }
}

impl GitCall {
    /// Logs how a call ended, with the command as errors show it.
    fn log_end(&self, started: Instant, finished: &Result<BriefOutput, BriefError>) {
        let argv = format_args!("{}", LogWords(&self.args));
        let (ms, directory) = (started.elapsed().as_millis(), self.directory.display());
        let confined = self.confined.is_some();
        match finished {
            Ok(output) => {
                let status = output.status;
                tracing::debug!(
                    "git {argv}: {status}, {ms} ms, in {directory} confined={confined}"
                );
            }
            Err(error) => tracing::debug!("git {argv}: {error}, {ms} ms, in {directory}"),
        }
    }
}

impl GitProgram {
    /// Finds `git` on the given search path. No process is started.
    pub fn new(environment: GitEnvironment) -> Result<GitProgram, Error> {
        let program = std::env::split_paths(&environment.path)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join("git"))
            .find(|candidate| candidate.is_file());
        match program {
            Some(program) => Ok(GitProgram(Arc::new(GitProgramInner {
                program,
                environment,
                guard: OnceLock::new(),
            }))),
            None => Err(Error::Missing {
                path: PathBuf::from(environment.path),
            }),
        }
    }

    /// Returns true if the user has a global attributes file at the usual place.
    pub(super) fn has_attributes(&self) -> bool {
        let GitEnvironment {
            home,
            xdg_config_home,
            ..
        } = &self.0.environment;
        let below_home = home.as_ref().map(|home| Path::new(home).join(".config"));
        let config = xdg_config_home.as_ref().map(PathBuf::from).or(below_home);
        config.is_some_and(|config| config.join("git/attributes").exists())
    }

    /// Runs a call that must succeed, and returns its output.
    pub(super) fn run(&self, call: &GitCall) -> Result<Vec<u8>, Error> {
        let output = self.run_with_status(call)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(call.failure(output))
        }
    }

    /// Runs a call whose exit status is part of its answer.
    ///
    /// A confined call whose sandbox was killed is launched again: all of them can be repeated, and
    /// the work tree is not the cause.
    pub(super) fn run_with_status(&self, call: &GitCall) -> Result<GitOutput, Error> {
        for _ in 1..LAUNCHES {
            let output = call.finish(self.spawn(call, None)?)?;
            if !call.was_sandbox_killed(&output) {
                return call.convert_output(output);
            }
            call.remove_stale_lock();
        }
        let output = call.finish(self.spawn(call, None)?)?;
        if call.was_sandbox_killed(&output) {
            return Err(Error::Lost {
                argv: call.argv(),
                launches: LAUNCHES,
                status: output.status,
            });
        }
        call.convert_output(output)
    }

    /// Starts a call that answers requests one after another.
    pub(super) fn start_batch(&self, call: &GitCall) -> Result<GitBatchProcess, Error> {
        let mut command = self.command(call);
        // Nobody reads its error messages, which must not fill a pipe.
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(call.spawn_error())?;
        tracing::debug!(pid = child.id(), "git {}: started", LogWords(&call.args));
        let answers = child.stdout.take();
        let answers = answers.ok_or_else(|| call.unexpected_output("no output"))?;
        Ok(GitBatchProcess::new(child, answers))
    }

    /// Runs a call as the user's own shell would: with all of their environment and configuration,
    /// and with their terminal. Its output goes to standard error, because standard output is
    /// codeteam's.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place in `git` that hands a command over to the user's own git"
    )]
    pub(super) fn run_on_terminal(&self, call: &GitCall) -> Result<ExitStatus, Error> {
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        let mut command = Command::new(&self.0.program);
        command.args(&call.args).current_dir(&call.directory);
        // These would point to a different repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command.stdout(Stdio::from(stderr.map_err(call.spawn_error())?));
        let started = Instant::now();
        let status = command.status().map_err(call.spawn_error())?;
        let (argv, ms) = (LogWords(&call.args), started.elapsed().as_millis());
        tracing::debug!("git {argv}: {status}, {ms} ms, on the user's terminal");
        Ok(status)
    }

    /// Runs two calls and pipes the output of the first into the second.
    pub(super) fn pipe(&self, from: &GitCall, to: &GitCall) -> Result<(), Error> {
        let mut source = self.spawn(from, None)?;
        let between = source.take_stdout().map_or_else(Stdio::null, Stdio::from);
        // If the reader cannot start, the writer ends by itself: its pipe is closed.
        let sink = self.spawn(to, Some(between))?;
        let (patience, span) = (WaitLimit::current(), tracing::Span::current());
        let (sent, received) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                let (_same, _inside) = (patience.enter(), span.enter());
                to.finish(sink)
            });
            (from.finish(source), receiving.join())
        });
        let received = received.map_err(|_| to.unexpected_output("a panic of its reader"))?;
        let (sent, received) = (from.convert_output(sent?)?, to.convert_output(received?)?);
        // A writer that fails makes the reader fail too. The writer's error is the cause, unless it
        // only lost its reader.
        if !sent.status.success() && sent.status.code().is_some() {
            return Err(from.failure(sent));
        }
        if received.status.success() {
            Ok(())
        } else {
            Err(to.failure(received))
        }
    }

    fn spawn(&self, call: &GitCall, stdin: Option<Stdio>) -> Result<BriefCommand, Error> {
        let wanted = WaitLimit::current().check();
        wanted.map_err(|impatience| call.interruption(impatience.into(), None))?;
        if let Some(confined) = &call.confined {
            return self.spawn_confined(call, confined);
        }
        let mut command = self.command(call);
        let input = call.stdin.clone().filter(|_| stdin.is_none());
        command.stdin(match (stdin, &call.stdin, &call.held_file) {
            (Some(stdin), _, _) => stdin,
            (None, Some(_), _) => Stdio::piped(),
            (None, None, Some(file)) => Stdio::from(file.try_clone().map_err(call.spawn_error())?),
            (None, None, None) => Stdio::null(),
        });
        let child = command.spawn().map_err(call.spawn_error())?;
        Ok(BriefCommand::new(child, None, input))
    }

    fn spawn_confined(
        &self,
        call: &GitCall,
        confined: &GitCallSandbox,
    ) -> Result<BriefCommand, Error> {
        let plain = self.command(call);
        let (program, args) = self.confined_arguments(call, &plain);
        let variable =
            |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
        let mut env: Vec<(OsString, OsString)> = plain.get_envs().filter_map(variable).collect();
        env.push((MARK.into(), confined.mark.clone().into()));
        let spec = CommandSpec {
            program,
            args,
            cwd: call.directory.clone(),
            env,
            view: confined.view.clone(),
            disk: None,
            brief: true,
        };
        let failed = |error: process::Error| call.spawn_error()(io::Error::other(error));
        let launch = confined.launcher.launch(&spec, SandboxProfile::Executor);
        let (_, _, spawned) = launch.map_err(failed)?.spawn(process::OutputChannel::Pipes);
        let SpawnedCommand { child, hold, .. } = spawned.map_err(call.spawn_error())?;
        let mut command = BriefCommand::new(child, hold, None);
        command.serve_sandbox().map_err(call.spawn_error())?;
        Ok(command)
    }

    /// Returns the program and the arguments of a confined call. If there is a preparation, a shell
    /// runs both commands, so that they share one sandbox.
    fn confined_arguments(&self, call: &GitCall, plain: &Command) -> (OsString, Vec<OsString>) {
        let program = plain.get_program().to_owned();
        let args: Vec<OsString> = plain.get_args().map(OsStr::to_owned).collect();
        if call.preparation.is_empty() {
            return (program, args);
        }
        let first = GitCall {
            args: call.preparation.clone(),
            ..call.clone()
        };
        let first = self.command(&first);
        let mut script = OsString::new();
        for word in std::iter::once(first.get_program()).chain(first.get_args()) {
            script.push(quote_for_shell(word));
            script.push(" ");
        }
        script.push(r#">/dev/null 2>&1; exec "$0" "$@""#);
        let mut words = vec!["-c".into(), script, program];
        words.extend(args);
        ("/bin/sh".into(), words)
    }

    /// Returns the shim that makes a call end with codeteam, even if codeteam is killed. Only calls
    /// that read a work tree can be made to wait for ever; all others end in a moment, and should
    /// finish what they began.
    fn guard(&self, call: &GitCall) -> Option<&Shim> {
        let reads_files = call.work_tree.is_some() && !call.is_untouched;
        let looks = call.kind == GitConfigScope::Checkout || reads_files;
        if call.confined.is_some() || call.changes_checkout() || !looks {
            return None;
        }
        let codeteam = self.0.environment.codeteam.as_ref();
        let found = || codeteam.map(|codeteam| Shim::for_codeteam(codeteam, SHIM));
        self.0.guard.get_or_init(found).as_ref()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place in `git` that spawns"
    )]
    fn command(&self, call: &GitCall) -> Command {
        let GitProgramInner {
            program,
            environment,
            ..
        } = &*self.0;
        let mut command = match self.guard(call) {
            None => Command::new(program),
            Some(guard) => {
                let mut command = Command::new(&guard.program);
                command.args(guard.guard_arguments()).arg(program);
                command
            }
        };
        command.env_clear();
        command.env("LC_ALL", "C");
        command.env("GIT_TERMINAL_PROMPT", "0");
        // Reading a repository must not write to it.
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command.env("GIT_LITERAL_PATHSPECS", "1");
        command.env("GIT_ADVICE", "0");
        // A replaced object would make an id mean two things.
        command.env("GIT_NO_REPLACE_OBJECTS", "1");
        command.env("GIT_NO_LAZY_FETCH", "1");
        for option in ALWAYS {
            command.arg("-c").arg(option);
        }
        match call.kind {
            GitConfigScope::Plumbing(format) => {
                command
                    .env("PATH", NOWHERE)
                    .env("GIT_EXEC_PATH", NOWHERE)
                    .env("HOME", NOWHERE);
                command
                    .env("GIT_CONFIG_NOSYSTEM", "1")
                    .env("GIT_CONFIG_GLOBAL", "/dev/null");
                command.env("GIT_ATTR_NOSYSTEM", "1");
                for option in PLUMBING {
                    command.arg("-c").arg(option);
                }
                // Attributes can select filters and drivers; here there are none.
                command.arg(format!("--attr-source={}", format.empty_tree()));
            }
            GitConfigScope::Checkout => {
                command.env("PATH", &environment.path);
                if let Some(home) = &environment.home {
                    command.env("HOME", home);
                }
                if let Some(config) = &environment.xdg_config_home {
                    command.env("XDG_CONFIG_HOME", config);
                }
            }
        }
        command.envs(call.env.iter().map(|(name, value)| (name, value)));
        command.args(option("--git-dir=", call.git_dir.as_deref()));
        command.args(option("--work-tree=", call.work_tree.as_deref()));
        command.args(&call.args).current_dir(&call.directory);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // codeteam handles Ctrl-C itself; it must not end a git half-way.
        command.process_group(0);
        command
    }
}

/// Quotes a word so that a shell takes it literally.
fn quote_for_shell(word: &OsStr) -> OsString {
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            byte => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

fn option(name: &str, path: Option<&Path>) -> Option<OsString> {
    path.map(|path| {
        let mut option = OsString::from(name);
        option.push(path);
        option
    })
}

impl GitCall {
    /// Returns true if something other than codeteam killed the sandbox of a call, or git in it.
    fn was_sandbox_killed(&self, output: &BriefOutput) -> bool {
        // As in a shell, a signal is reported as 128 plus its number.
        let code = output.status.code();
        let killed = code.is_none_or(|code| KILLED.contains(&code));
        self.confined.is_some() && killed
    }

    /// Removes the lock of a call that was killed. Nobody else writes in a private git directory.
    fn remove_stale_lock(&self) {
        if let Some(git_dir) = &self.git_dir {
            let _ = std::fs::remove_file(git_dir.join("index.lock"));
        }
    }

    fn convert_output(&self, output: BriefOutput) -> Result<GitOutput, Error> {
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if !output.was_confined {
            return Err(Error::Unconfined {
                argv: self.argv(),
                status: output.status,
                said: stderr,
            });
        }
        Ok(GitOutput {
            status: output.status,
            stdout: output.stdout,
            stderr,
        })
    }
}

/// The exit codes for `SIGKILL` and `SIGTERM`.
const KILLED: [i32; 2] = [137, 143];
