//! Builds and spawns `git` processes: the environment and the options that
//! make a call hermetic. Nothing else in the engine's git code spawns.
//!
//! There are two kinds of call.
//!
//! *Plumbing* is nearly all of them. It sees no configuration but the
//! repository's own, no attributes, and no search path: a git that wants to run
//! a helper (a nested repository's `git status`, with that repository's own
//! file-system monitor, is what plain `git add -A` does) finds none and stops.
//! The main repository's own configuration is the user's and is trusted not to
//! be hostile, but still does not get to run anything.
//!
//! *Checkout* calls act on the user's own work tree because the user asked:
//! discovery, status, identity and merging. They see the user's configuration
//! (global ignores, `safe.directory`, large-file filters), or their answers
//! would differ from the user's own git; hooks and monitors stay off.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use codeteam_sandbox::Shim;

use super::{Error, ObjectFormat};
use crate::confine;
use crate::process::{
    self, BriefCommand, BriefError, BriefOutput, CommandLauncher, CommandSpec, HostView, MARK,
    SandboxProfile, SpawnedCommand, WaitError, WaitLimit,
};
use crate::walk::{self, SpecialFile};

/// The oldest git that has `--attr-source` (2.41), the newest thing used here.
pub const NEEDED: &str = "2.41";

/// How long any call may take. Whoever knows better narrows the thread's [`WaitLimit`].
const LONGEST: Duration = Duration::from_mins(10);

/// What changes the user's checkout.
const CHANGES: &[&str] = &[
    "merge",
    "reset",
    "read-tree",
    "update-index",
    "init",
    "commit",
];

/// How often a confined call is launched if something kills it or its sandbox.
const LAUNCHES: u32 = 3;

/// A search path and a home that hold nothing.
const NOWHERE: &str = "/nonexistent";

/// Options of every call. Each closes a way in which configuration runs a
/// program, or in which a call does more than it was asked to.
const ALWAYS: &[&str] = &[
    // No hook of any kind, wherever the configuration keeps them.
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
    // Nothing here talks to another repository, and none is fetched lazily.
    "protocol.allow=never",
    "submodule.recurse=false",
    // Resolutions recorded by the user must not decide what is merged.
    "rerere.enabled=false",
    // File names are printed as they are, unless they hold control characters.
    "core.quotePath=false",
];

/// Options of plumbing: what is ignored, normalised or left out on disk is
/// decided by the work tree and codeteam, not by the user's settings.
const PLUMBING: &[&str] = &[
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    // A name that another system takes for `.git` is found when a worker's
    // files are collected, not only when they are to be committed.
    "core.protectHFS=true",
    "core.protectNTFS=true",
    // Parallel checkout starts helper processes, which are not to be found.
    "checkout.workers=1",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
];

/// What git needs to know of codeteam's own environment.
#[derive(Debug, Clone)]
pub struct GitEnvironment {
    /// `PATH`: where `git` is looked for, and what the user's own filters see.
    pub path: OsString,
    /// `HOME`, for the user's configuration.
    pub home: Option<OsString>,
    /// `XDG_CONFIG_HOME`, for the user's configuration.
    pub xdg_config_home: Option<OsString>,
    /// codeteam's own program, by way of which git does not outlive it.
    pub codeteam: Option<PathBuf>,
}

/// The `git` program, found once.
#[derive(Debug, Clone)]
pub struct GitProgram(Arc<GitProgramInner>);

#[derive(Debug)]
struct GitProgramInner {
    program: PathBuf,
    environment: GitEnvironment,
    /// Found when it is first needed.
    guard: OnceLock<Option<Shim>>,
}

/// Whose configuration a call sees; see the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitConfigScope {
    Plumbing(ObjectFormat),
    Checkout,
}

/// One invocation of git, before it is spawned.
#[derive(Debug, Clone)]
pub(super) struct GitCall {
    kind: GitConfigScope,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    directory: PathBuf,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    stdin: Option<Vec<u8>>,
    held: Option<Arc<File>>,
    confined: Option<GitCallSandbox>,
}

/// What keeps a call in.
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

/// A git process that answers what it is asked, for as long as this is kept.
#[derive(Debug)]
pub(super) struct GitBatchProcess {
    child: Child,
    asks: Option<ChildStdin>,
    pub(super) answers: BufReader<ChildStdout>,
}

impl GitBatchProcess {
    pub(super) fn ask(&mut self, question: &[u8]) -> io::Result<()> {
        match &mut self.asks {
            Some(asks) => asks.write_all(question),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Asks no more: what comes next would not be the answer.
    pub(super) fn give_up(&mut self) {
        self.asks = None;
    }
}

impl Drop for GitBatchProcess {
    fn drop(&mut self) {
        // It ends when nobody asks any more.
        self.asks = None;
        let _ = io::copy(&mut self.answers, &mut io::sink());
        let _ = self.child.wait();
    }
}

/// What a git process left behind.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl GitCall {
    /// A call on objects and references of `git_dir` alone.
    pub(super) fn plumbing(git_dir: &Path, format: ObjectFormat) -> GitCall {
        GitCall {
            kind: GitConfigScope::Plumbing(format),
            git_dir: Some(git_dir.to_owned()),
            work_tree: None,
            directory: git_dir.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
            held: None,
            confined: None,
        }
    }

    /// A call in the user's checkout.
    pub(super) fn checkout(directory: &Path) -> GitCall {
        GitCall {
            kind: GitConfigScope::Checkout,
            git_dir: None,
            work_tree: None,
            directory: directory.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
            held: None,
            confined: None,
        }
    }

    /// Names the repository, so that git neither searches nor asks who owns it.
    pub(super) fn git_dir(mut self, git_dir: &Path) -> GitCall {
        self.git_dir = Some(git_dir.to_owned());
        self
    }

    /// The call is about this work tree, and runs at its top.
    pub(super) fn work_tree(mut self, work_tree: &Path) -> GitCall {
        self.work_tree = Some(work_tree.to_owned());
        work_tree.clone_into(&mut self.directory);
        self
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

    pub(super) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> GitCall {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> GitCall {
        self.stdin = Some(bytes);
        self
    }

    /// Gives the process a file to hold open (it becomes its input, which it
    /// does not read), so that a lock on it lasts as long as the process even
    /// if codeteam is killed.
    pub(super) fn holding(mut self, file: Option<&Arc<File>>) -> GitCall {
        self.held = file.cloned();
        self
    }

    /// Runs it confined. It ends with codeteam then, so that it need not hold anything; what a
    /// killed sandbox leaves is found by its mark.
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

    /// The command as errors show it: without the options every call has.
    fn argv(&self) -> String {
        let mut text = String::from("git");
        for arg in &self.args {
            text.push(' ');
            text.push_str(&arg.to_string_lossy());
        }
        text
    }

    /// An error about what this call printed.
    pub(super) fn unexpected(&self, what: impl Into<String>) -> Error {
        Error::Output {
            argv: self.argv(),
            what: what.into(),
        }
    }

    /// The error of a call that git refused.
    pub(super) fn failed(&self, output: GitOutput) -> Error {
        Error::Failed {
            argv: self.argv(),
            status: output.status,
            stderr: output.stderr,
        }
    }

    /// The error of a call that git refused, and said so itself.
    pub(super) fn refused(&self, status: ExitStatus) -> Error {
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

    /// Why a call has no output.
    fn ended(&self, error: BriefError, blocking: Option<SpecialFile>) -> Error {
        let argv = self.argv();
        match (error, blocking) {
            (_, Some(file)) => Error::Blocked { argv, file },
            (BriefError::Impatient(WaitError::Cancelled), None) => Error::Cancelled { argv },
            (BriefError::Impatient(WaitError::TimedOut) | BriefError::Stuck, None) => {
                Error::TimedOut { argv }
            }
            (BriefError::Io(source), None) => Error::Spawn { argv, source },
        }
    }

    /// Whether the call changes files or the index of the user's own checkout. Such a call is not
    /// broken off half-way because a run is aborted or codeteam is killed.
    fn changes_checkout(&self) -> bool {
        let command = self.args.first();
        let changes = command.is_some_and(|name| CHANGES.iter().any(|known| name == known));
        self.kind == GitConfigScope::Checkout && changes
    }

    /// Waits for the end of a call that was started. If it is slow, the work tree is searched for
    /// files that git would wait for: a pipe in the place of a `.gitignore` never ends.
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
        let finished = command.finish(&patience, &mut look);
        finished.map_err(|error| self.ended(error, blocking))
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

    /// Whether the user keeps attributes for all repositories, at the usual place.
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

    /// Runs a call that must succeed, and returns what it printed.
    pub(super) fn run(&self, call: &GitCall) -> Result<Vec<u8>, Error> {
        let output = self.attempt(call)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(call.failed(output))
        }
    }

    /// Runs a call whose exit status is part of its answer.
    ///
    /// A confined call whose sandbox was killed is launched again: all of them can be repeated, and
    /// nothing of the work tree is to blame.
    pub(super) fn attempt(&self, call: &GitCall) -> Result<GitOutput, Error> {
        for _ in 1..LAUNCHES {
            let output = call.finish(self.spawn(call, None)?)?;
            if !call.is_lost(&output) {
                return call.output(output);
            }
            call.forget_lock();
        }
        let output = call.finish(self.spawn(call, None)?)?;
        if call.is_lost(&output) {
            return Err(Error::Lost {
                argv: call.argv(),
                launches: LAUNCHES,
                status: output.status,
            });
        }
        call.output(output)
    }

    /// Starts a call that answers while it is asked.
    pub(super) fn talk(&self, call: &GitCall) -> Result<GitBatchProcess, Error> {
        let mut command = self.command(call);
        // Nobody reads what it complains about, which must not fill a pipe.
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(call.spawn_error())?;
        let answers = child.stdout.take();
        let answers = answers.ok_or_else(|| call.unexpected("no output"))?;
        Ok(GitBatchProcess {
            asks: child.stdin.take(),
            child,
            answers: BufReader::new(answers),
        })
    }

    /// Runs a call as the user's own shell would: with all of their environment and configuration, and
    /// with their terminal. Its output goes to standard error, for standard output is codeteam's.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place in `git` that hands a command over to the user's own git"
    )]
    pub(super) fn hand_over(&self, call: &GitCall) -> Result<ExitStatus, Error> {
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        let mut command = Command::new(&self.0.program);
        command.args(&call.args).current_dir(&call.directory);
        // They would name another repository than the one that is meant.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command.stdout(Stdio::from(stderr.map_err(call.spawn_error())?));
        command.status().map_err(call.spawn_error())
    }

    /// Runs two calls, the first one's output being the second one's input.
    pub(super) fn pipe(&self, from: &GitCall, to: &GitCall) -> Result<(), Error> {
        let mut source = self.spawn(from, None)?;
        let between = source.take_stdout().map_or_else(Stdio::null, Stdio::from);
        // If the reader cannot start, the writer ends by itself: its pipe is gone.
        let sink = self.spawn(to, Some(between))?;
        let patience = WaitLimit::current();
        let (sent, received) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| {
                let _same = patience.enter();
                to.finish(sink)
            });
            (from.finish(source), receiving.join())
        });
        let received = received.map_err(|_| to.unexpected("a panic of its reader"))?;
        let (sent, received) = (from.output(sent?)?, to.output(received?)?);
        // A writer that fails makes the reader fail too; the first is the cause,
        // unless it only lost its reader.
        if !sent.status.success() && sent.status.code().is_some() {
            return Err(from.failed(sent));
        }
        if received.status.success() {
            Ok(())
        } else {
            Err(to.failed(received))
        }
    }

    fn spawn(&self, call: &GitCall, stdin: Option<Stdio>) -> Result<BriefCommand, Error> {
        let wanted = WaitLimit::current().check();
        wanted.map_err(|impatience| call.ended(impatience.into(), None))?;
        if let Some(confined) = &call.confined {
            return self.spawn_confined(call, confined);
        }
        let mut command = self.command(call);
        let input = call.stdin.clone().filter(|_| stdin.is_none());
        command.stdin(match (stdin, &call.stdin, &call.held) {
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
        let variable =
            |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
        let mut env: Vec<(OsString, OsString)> = plain.get_envs().filter_map(variable).collect();
        env.push((MARK.into(), confined.mark.clone().into()));
        let spec = CommandSpec {
            program: plain.get_program().to_owned(),
            args: plain.get_args().map(OsStr::to_owned).collect(),
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
        command.serve().map_err(call.spawn_error())?;
        Ok(command)
    }

    /// What a call is started by so that it ends with codeteam, even if that is killed. Only what
    /// looks at a work tree can be made to wait for ever; everything else ends in a moment, and had
    /// better do what it began.
    fn guard(&self, call: &GitCall) -> Option<&Shim> {
        let looks = call.kind == GitConfigScope::Checkout || call.work_tree.is_some();
        if call.confined.is_some() || call.changes_checkout() || !looks {
            return None;
        }
        let codeteam = self.0.environment.codeteam.as_ref();
        let found = || codeteam.map(|codeteam| Shim::of(codeteam, confine::SHIM));
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
                command.args(guard.guard()).arg(program);
                command
            }
        };
        command.env_clear();
        command.env("LC_ALL", "C");
        command.env("GIT_TERMINAL_PROMPT", "0");
        // Looking at a repository must not write to it.
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
                // Attributes name filters and drivers; here there are none.
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
        // Ctrl-C is for codeteam to handle; it must not end a git half-way.
        command.process_group(0);
        command
    }
}

fn option(name: &str, path: Option<&Path>) -> Option<OsString> {
    path.map(|path| {
        let mut option = OsString::from(name);
        option.push(path);
        option
    })
}

impl GitCall {
    /// Whether something killed the sandbox of a call, or git in it, which codeteam did not.
    fn is_lost(&self, output: &BriefOutput) -> bool {
        // As a shell says it, a signal is 128 more than its number.
        let code = output.status.code();
        let killed = code.is_none_or(|code| KILLED.contains(&code));
        self.confined.is_some() && killed
    }

    /// Removes the lock of a call that was killed. Nobody else writes in a private git directory.
    fn forget_lock(&self) {
        if let Some(git_dir) = &self.git_dir {
            let _ = std::fs::remove_file(git_dir.join("index.lock"));
        }
    }

    fn output(&self, output: BriefOutput) -> Result<GitOutput, Error> {
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

/// The codes of `SIGTERM` and `SIGKILL`.
const KILLED: [i32; 2] = [137, 143];
