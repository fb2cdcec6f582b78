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
use std::sync::Arc;

use super::{Error, ObjectFormat};
use crate::process::{self, CommandSpec, Hold, Launcher, Profile, Spawned, View};

/// The oldest git that has `--attr-source` (2.41), the newest thing used here.
pub const NEEDED: &str = "2.41";

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
pub struct Environment {
    /// `PATH`: where `git` is looked for, and what the user's own filters see.
    pub path: OsString,
    /// `HOME`, for the user's configuration.
    pub home: Option<OsString>,
    /// `XDG_CONFIG_HOME`, for the user's configuration.
    pub xdg_config_home: Option<OsString>,
}

/// The `git` program, found once.
#[derive(Debug, Clone)]
pub struct Git(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    program: PathBuf,
    environment: Environment,
}

/// Whose configuration a call sees; see the module's documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plumbing(ObjectFormat),
    Checkout,
}

/// One invocation of git, before it is spawned.
#[derive(Debug, Clone)]
pub(super) struct Call {
    kind: Kind,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    directory: PathBuf,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    stdin: Option<Vec<u8>>,
    held: Option<Arc<File>>,
    confined: Option<Confined>,
}

/// What keeps a call in.
#[derive(Clone)]
struct Confined {
    launcher: Arc<dyn Launcher>,
    view: View,
}

impl std::fmt::Debug for Confined {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

/// A git process, with what holds it to life if it is confined.
struct Started {
    child: Child,
    hold: Option<Box<dyn Hold>>,
}

/// A git process that answers what it is asked, for as long as this is kept.
#[derive(Debug)]
pub(super) struct Talk {
    child: Child,
    asks: Option<ChildStdin>,
    pub(super) answers: BufReader<ChildStdout>,
}

impl Talk {
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

impl Drop for Talk {
    fn drop(&mut self) {
        // It ends when nobody asks any more.
        self.asks = None;
        let _ = io::copy(&mut self.answers, &mut io::sink());
        let _ = self.child.wait();
    }
}

/// What a git process left behind.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Call {
    /// A call on objects and references of `git_dir` alone.
    pub(super) fn plumbing(git_dir: &Path, format: ObjectFormat) -> Call {
        Call {
            kind: Kind::Plumbing(format),
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
    pub(super) fn checkout(directory: &Path) -> Call {
        Call {
            kind: Kind::Checkout,
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
    pub(super) fn git_dir(mut self, git_dir: &Path) -> Call {
        self.git_dir = Some(git_dir.to_owned());
        self
    }

    /// The call is about this work tree, and runs at its top.
    pub(super) fn work_tree(mut self, work_tree: &Path) -> Call {
        self.work_tree = Some(work_tree.to_owned());
        work_tree.clone_into(&mut self.directory);
        self
    }

    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Call {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Call {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Call {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    pub(super) fn stdin(mut self, bytes: Vec<u8>) -> Call {
        self.stdin = Some(bytes);
        self
    }

    /// Gives the process a file to hold open (it becomes its input, which it
    /// does not read), so that a lock on it lasts as long as the process even
    /// if codeteam is killed.
    pub(super) fn holding(mut self, file: Option<&Arc<File>>) -> Call {
        self.held = file.cloned();
        self
    }

    /// Runs it confined. It ends with codeteam then, so that it need not hold anything.
    pub(super) fn confined(mut self, launcher: Arc<dyn Launcher>, view: View) -> Call {
        self.confined = Some(Confined { launcher, view });
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
    pub(super) fn failed(&self, output: Output) -> Error {
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
}

impl Git {
    /// Finds `git` on the given search path. No process is started.
    pub fn new(environment: Environment) -> Result<Git, Error> {
        let program = std::env::split_paths(&environment.path)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join("git"))
            .find(|candidate| candidate.is_file());
        match program {
            Some(program) => Ok(Git(Arc::new(Inner {
                program,
                environment,
            }))),
            None => Err(Error::Missing {
                path: PathBuf::from(environment.path),
            }),
        }
    }

    /// Runs a call that must succeed, and returns what it printed.
    pub(super) fn run(&self, call: &Call) -> Result<Vec<u8>, Error> {
        let output = self.attempt(call)?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(call.failed(output))
        }
    }

    /// Runs a call whose exit status is part of its answer.
    pub(super) fn attempt(&self, call: &Call) -> Result<Output, Error> {
        let started = self.spawn(call, None)?;
        collect(started).map_err(call.spawn_error())
    }

    /// Starts a call that answers while it is asked.
    pub(super) fn talk(&self, call: &Call) -> Result<Talk, Error> {
        let mut command = self.command(call);
        // Nobody reads what it complains about, which must not fill a pipe.
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(call.spawn_error())?;
        let answers = child.stdout.take();
        let answers = answers.ok_or_else(|| call.unexpected("no output"))?;
        Ok(Talk {
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
    pub(super) fn hand_over(&self, call: &Call) -> Result<ExitStatus, Error> {
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
    pub(super) fn pipe(&self, from: &Call, to: &Call) -> Result<(), Error> {
        let mut source = self.spawn(from, None)?;
        let between = source
            .child
            .stdout
            .take()
            .map_or_else(Stdio::null, Stdio::from);
        // If the reader cannot start, the writer ends by itself: its pipe is gone.
        let sink = self.spawn(to, Some(between));
        let sent = collect(source).map_err(from.spawn_error())?;
        let received = collect(sink?).map_err(to.spawn_error())?;
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

    fn spawn(&self, call: &Call, stdin: Option<Stdio>) -> Result<Started, Error> {
        if let Some(confined) = &call.confined {
            return self.spawn_confined(call, confined);
        }
        let mut command = self.command(call);
        command.stdin(match (stdin, &call.stdin, &call.held) {
            (Some(stdin), _, _) => stdin,
            (None, Some(_), _) => Stdio::piped(),
            (None, None, Some(file)) => Stdio::from(file.try_clone().map_err(call.spawn_error())?),
            (None, None, None) => Stdio::null(),
        });
        let mut child = command.spawn().map_err(call.spawn_error())?;
        if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), &call.stdin) {
            // Git reads all its input before it prints, so this cannot deadlock.
            match pipe.write_all(bytes) {
                // Its exit status says why it stopped reading.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(call.spawn_error()(error));
                }
                _ => {}
            }
        }
        Ok(Started { child, hold: None })
    }

    fn spawn_confined(&self, call: &Call, confined: &Confined) -> Result<Started, Error> {
        let plain = self.command(call);
        let variable =
            |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
        let spec = CommandSpec {
            program: plain.get_program().to_owned(),
            args: plain.get_args().map(OsStr::to_owned).collect(),
            cwd: call.directory.clone(),
            env: plain.get_envs().filter_map(variable).collect(),
            view: confined.view.clone(),
            disk: None,
            brief: true,
        };
        let failed = |error: process::Error| call.spawn_error()(io::Error::other(error));
        let launch = confined.launcher.launch(&spec, Profile::Executor);
        let (_, _, spawned) = launch.map_err(failed)?.spawn(process::Output::Pipes);
        let Spawned {
            child, mut hold, ..
        } = spawned.map_err(call.spawn_error())?;
        if let Some(hold) = &mut hold {
            hold.started().map_err(call.spawn_error())?;
        }
        Ok(Started { child, hold })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the one place in `git` that spawns"
    )]
    fn command(&self, call: &Call) -> Command {
        let Inner {
            program,
            environment,
        } = &*self.0;
        let mut command = Command::new(program);
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
            Kind::Plumbing(format) => {
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
            Kind::Checkout => {
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

fn collect(started: Started) -> io::Result<Output> {
    let Started { child, mut hold } = started;
    let output = child.wait_with_output()?;
    if hold.as_mut().is_some_and(|hold| !hold.was_confined()) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!(
            "could not confine git: {}",
            said.trim()
        )));
    }
    Ok(Output {
        status: output.status,
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
