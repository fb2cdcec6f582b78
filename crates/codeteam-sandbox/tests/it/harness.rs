//! A host with something to steal, and a command let loose in it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use codeteam_sandbox::{
    ConfinedCommand, Lifeline, MountAccess, SandboxBackend, SandboxLimits, SandboxPolicy,
    SandboxProfile, Shim, probe, system,
};

use crate::containers;

pub(crate) const BOTH: [SandboxProfile; 2] = [SandboxProfile::Worker, SandboxProfile::Executor];

/// A way to confine a command.
#[derive(Clone, Copy)]
pub(crate) struct SandboxCase {
    pub(crate) backend: &'static SandboxBackend,
    pub(crate) profile: SandboxProfile,
}

impl From<SandboxProfile> for SandboxCase {
    fn from(profile: SandboxProfile) -> Self {
        let backend = backend();
        Self { backend, profile }
    }
}

impl fmt::Debug for SandboxCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let containers = self.backend.container_backend();
        let name = containers.map_or("bubblewrap", |container| container.engine.kind.name());
        write!(f, "{name} {:?}", self.profile)
    }
}

/// Bubblewrap for both profiles and, where they start, containers. To those a
/// profile is one system call more or less, and they take longer.
pub(crate) fn everywhere() -> impl Iterator<Item = SandboxCase> {
    let contained = containers::backend().map(|backend| SandboxCase {
        backend,
        profile: SandboxProfile::Executor,
    });
    BOTH.map(SandboxCase::from).into_iter().chain(contained)
}

/// What every secret on the host says, and nobody inside may ever print.
pub(crate) const SECRET: &str = "the-secret-of-the-host";

#[expect(
    clippy::disallowed_methods,
    reason = "bubblewrap is where the tests' own PATH says"
)]
pub(crate) fn backend() -> &'static SandboxBackend {
    static BACKEND: OnceLock<SandboxBackend> = OnceLock::new();
    BACKEND.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap();
        match probe(&path, shim(), Path::new(env!("CARGO_TARGET_TMPDIR"))) {
            Ok(backend) => backend,
            Err(missing) => panic!("{missing}: {missing:?}"),
        }
    })
}

pub(crate) fn shim() -> Shim {
    Shim::standalone(env!("CARGO_BIN_EXE_sandbox-shim").into())
}

/// A directory on the host with a work tree and things beside it.
pub(crate) struct TestHost {
    directory: tempfile::TempDir,
}

/// How a command ended, and what it said.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandResult {
    /// Everything it said.
    pub(crate) fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl TestHost {
    pub(crate) fn new() -> Self {
        // Not below /tmp, which is another one inside.
        let host = Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        };
        fs::create_dir_all(host.tree().join("src")).unwrap();
        fs::write(host.tree().join(".git"), "gitdir: ../git\n").unwrap();
        fs::write(host.tree().join("src/main.txt"), "hello\n").unwrap();
        host
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(relative)
    }

    /// The work tree: the only thing a command sees of this host, writable.
    pub(crate) fn tree(&self) -> PathBuf {
        self.path("tree")
    }

    /// Writes a file beside the work tree.
    pub(crate) fn write(&self, relative: &str, text: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn policy(&self, case: impl Into<SandboxCase>) -> SandboxPolicy {
        self.limited(case, SandboxLimits::default())
    }

    pub(crate) fn limited(
        &self,
        case: impl Into<SandboxCase>,
        limits: SandboxLimits,
    ) -> SandboxPolicy {
        let mut policy = SandboxPolicy::new(case.into().profile, system::root_entries(), limits);
        policy.show(&self.tree(), MountAccess::Writable);
        policy.show(&self.tree().join(".git"), MountAccess::ReadOnly);
        policy.cwd = self.tree();
        policy
    }

    pub(crate) fn confine(
        &self,
        case: impl Into<SandboxCase>,
        policy: SandboxPolicy,
        program: &str,
        args: &[&str],
    ) -> ConfinedCommand {
        self.confine_with(case.into().backend, policy, program, args)
    }

    pub(crate) fn confine_with(
        &self,
        backend: &SandboxBackend,
        policy: SandboxPolicy,
        program: &str,
        args: &[&str],
    ) -> ConfinedCommand {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let spec = self.path(&format!("spec-{number}"));
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        backend
            .confine(policy, &spec, OsStr::new(program), &args)
            .unwrap()
    }

    /// Runs a shell script confined to its end.
    pub(crate) fn sh(&self, case: impl Into<SandboxCase>, script: &str) -> CommandResult {
        let case = case.into();
        self.run(case, self.policy(case), "sh", &["-c", script])
    }

    pub(crate) fn run(
        &self,
        case: impl Into<SandboxCase>,
        policy: SandboxPolicy,
        program: &str,
        args: &[&str],
    ) -> CommandResult {
        let confined = self.confine(case, policy, program, args);
        let (_lifeline, mut child) = spawn(&confined);
        end(&mut child)
    }
}

/// Starts a confined command. The environment is the one of the tests: nothing
/// of it may arrive.
pub(crate) fn spawn(confined: &ConfinedCommand) -> (Lifeline, Child) {
    let (lifeline, stdin) = Lifeline::new().unwrap();
    let child = command(&confined.program, &confined.args)
        .env("HOST_SECRET", SECRET)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    (lifeline, child)
}

pub(crate) fn end(child: &mut Child) -> CommandResult {
    let mut stderr = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut stdout = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut stdout)
        .unwrap();
    CommandResult {
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: errors.join().unwrap(),
        code: child.wait().unwrap().code(),
    }
}

/// The same script on the host, to show that the attack works there.
pub(crate) fn unconfined(directory: &Path, script: &str) -> CommandResult {
    let mut child = command(Path::new("sh"), &["-c".into(), script.into()])
        .current_dir(directory)
        .env("HOST_SECRET", SECRET)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    end(&mut child)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the harness spawns for all tests"
)]
pub(crate) fn command(program: &Path, args: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}
