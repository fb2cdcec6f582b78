//! A user with a home full of secrets, a repository, and programs let loose in a sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codeteam_core::event::SandboxKind;
use codeteam_engine::Engine;
use codeteam_engine::api_keys::ApiKeys;
use codeteam_engine::engine::Project;
use codeteam_engine::env::{Env, ProxyExceptions};
use codeteam_engine::logins::WorkerCli;
use codeteam_engine::perform::{self, WorkerAccess};
use codeteam_engine::workers::Worker;
use codeteam_host::git::{CommitSignature, GitEnvironment, GitIdentity, GitProgram};
use codeteam_host::process::{
    self, CancelToken, CommandLimits, CommandSpec, ExitReason, HostView, MARK, NetworkLedger,
    OutputStream, SandboxProfile,
};
use codeteam_sandbox::MountAccess;

/// A text in the user's home, beside the logins, that nobody inside may ever print.
pub(crate) const SECRET: &str = "the-users-own-secret";

const LIMITS: CommandLimits = CommandLimits {
    wall: Duration::from_mins(1),
    line_bytes: 1 << 16,
    total_bytes: 1 << 22,
    silence: None,
    grace: Duration::from_secs(1),
};

pub(crate) struct EngineFixture {
    root: tempfile::TempDir,
    pub(crate) engine: Arc<Engine>,
}

/// The end of a program inside the sandbox, and its output.
#[derive(Debug)]
pub(crate) struct ProgramResult {
    pub(crate) status: ExitReason,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl ProgramResult {
    /// Returns its output, if all went well.
    pub(crate) fn said(self) -> String {
        assert_eq!(self.status, ExitReason::Exited(0), "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        self.stdout
    }
}

impl EngineFixture {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With these variables in codeteam's own environment.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        // Not below /tmp, which is another one inside.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let home = root.path().join("home");
        for (name, text) in USERS {
            let path = home.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        let env = env(root.path(), variables);
        let repo = repository(&root.path().join("repo"), &env);
        let project = Project::find(&repo, env).unwrap();
        let engine = Engine::open(project, env!("CARGO_BIN_EXE_engine-shim").into()).unwrap();
        let engine = Arc::new(engine);
        Self { root, engine }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(relative)
    }

    /// The user's credential file.
    pub(crate) fn user(&self, cli: &WorkerCli) -> PathBuf {
        let folder = self.path("home").join(cli.directory);
        folder.join(cli.credentials.file)
    }

    /// Returns the access of a worker of that name. Its private files are in a folder of that name,
    /// too.
    pub(crate) fn reach(&self, worker: &str, folder: &str) -> WorkerAccess {
        self.try_reach(worker, folder).unwrap()
    }

    /// The same, or why it is given nothing.
    pub(crate) fn try_reach(
        &self,
        worker: &str,
        folder: &str,
    ) -> Result<WorkerAccess, perform::Error> {
        let folder = self.path(folder);
        let worker = Worker::find(&self.engine.config, &worker.into()).unwrap();
        WorkerAccess::for_worker(
            &worker,
            None,
            &self.engine,
            &folder,
            NetworkLedger::default(),
        )
    }

    /// Runs a script as a worker with that reach, in a folder of its own.
    pub(crate) fn work(&self, reach: &WorkerAccess, script: &str) -> ProgramResult {
        self.work_telling(reach, script, &mut |_| {})
    }

    /// The same; what it says is told as it does.
    pub(crate) fn work_telling(
        &self,
        reach: &WorkerAccess,
        script: &str,
        tell: &mut dyn FnMut(&str),
    ) -> ProgramResult {
        let tree = self.path("tree");
        fs::create_dir_all(&tree).unwrap();
        let mut view = HostView::default();
        view.show(tree.clone(), MountAccess::Writable);
        reach.mount_private_files(&mut view);
        let mut env = vec![(MARK.into(), "tests/engine".into())];
        env.extend(reach.env.clone());
        let spec = CommandSpec {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: tree,
            env,
            view,
            disk: None,
            brief: false,
        };
        let launcher = self.engine.launcher(SandboxKind::Bubblewrap).unwrap();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let mut sink = |line: process::OutputLine<'_>| {
            let (into, text) = match line.stream {
                OutputStream::Stdout => (&mut stdout, &line.text),
                OutputStream::Stderr => (&mut stderr, &line.text),
            };
            into.push_str(text);
            into.push('\n');
            tell(text);
        };
        let cancel = CancelToken::new();
        let (worker, launcher) = (SandboxProfile::Worker, &*launcher);
        let exit =
            process::run_command(launcher, worker, &spec, &LIMITS, &cancel, &mut sink).unwrap();
        ProgramResult {
            status: exit.status,
            stdout,
            stderr,
        }
    }
}

/// The files of the user's home. Logins have more in their files than workers are given.
const USERS: &[(&str, &str)] = &[
    (
        ".claude/.credentials.json",
        r#"{"mcpOAuth":{"x":"the-users-own-secret"},"claudeAiOauth":{"accessToken":"access-first","refreshToken":"refresh-first","expiresAt":1790000000001}}"#,
    ),
    (
        ".codex/auth.json",
        r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":"the-users-own-secret","tokens":{"id_token":"id-first","access_token":"access-first","refresh_token":"refresh-first","account_id":"me"},"last_refresh":"2026-01-02T03:04:01Z"}"#,
    ),
    (
        ".gemini/oauth_creds.json",
        r#"{"access_token":"access-first","refresh_token":"refresh-first","token_type":"Bearer","expiry_date":1790000000001,"other":"the-users-own-secret"}"#,
    ),
    (".claude/settings.json", SECRET),
    (".claude/history.jsonl", SECRET),
    (".codex/config.toml", SECRET),
    (".ssh/id_ed25519", SECRET),
];

#[expect(
    clippy::disallowed_methods,
    reason = "bubblewrap and git are where the tests' own PATH says"
)]
fn env(root: &Path, variables: &[(&str, &str)]) -> Env {
    let found = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    Env {
        codeteam: None,
        cache_home: None,
        path: std::env::var_os("PATH").unwrap(),
        home: Some(root.join("home")),
        state_home: Some(root.join("state")),
        config_home: Some(root.join("config")),
        keys: ApiKeys::from_env(found),
        cloud_variables: BTreeMap::new(),
        claude_retries: None,
        certificate_files: BTreeMap::new(),
        moved_directories: BTreeMap::new(),
        proxy: None,
        proxy_exceptions: ProxyExceptions::default(),
        author: Some(codeteam_host::git::GitIdentity::default()),
        user: "tester".to_owned(),
        mcp_token: None,
        lease_stale_ms: None,
        failpoint: None,
        settings: Vec::new(),
    }
}

fn repository(folder: &Path, env: &Env) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("file"), "hello\n").unwrap();
    let git = GitProgram::new(GitEnvironment {
        path: env.path.clone(),
        home: env.home.clone().map(PathBuf::into_os_string),
        xdg_config_home: None,
        codeteam: None,
    });
    let signature = CommitSignature {
        identity: GitIdentity {
            name: "Tester".to_owned(),
            email: "tester@example.com".to_owned(),
        },
        seconds: 1_700_000_000,
    };
    git.unwrap().init(folder, "first", &signature).unwrap();
    folder.to_owned()
}
