//! Tests the inspection of workers on a made-up machine.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;

use super::*;
use crate::api_keys::ApiKeys;
use crate::config;
use crate::env::ProxyExceptions;
use codeteam_host::process::UnconfinedLauncher;

/// A machine with nothing on it but what a test puts there.
struct MachineFixture {
    root: tempfile::TempDir,
    config: Config,
    variables: Vec<(&'static str, &'static str)>,
    waited: Mutex<Vec<String>>,
}

const CLAUDE_FLAGS: &str = "--print --output-format --json-schema --permission-mode --tools \
    --strict-mcp-config --setting-sources --session-id --resume --no-session-persistence";

impl MachineFixture {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            config: Config::default(),
            variables: Vec::new(),
            waited: Mutex::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A program that says its version, its options, and how often it was asked.
    fn install(&self, name: &str, version: &str, help: &str) {
        let asked = self.path("asked");
        let script = format!(
            "#!/bin/sh\necho x >> {}\ncase \"$1\" in --version) echo '{version}';; *) echo '{help}';; esac\n",
            asked.display()
        );
        self.install_script(name, &script);
    }

    /// Written by another process: what one of its threads has open for writing while another
    /// forks cannot be executed.
    #[expect(clippy::disallowed_methods, reason = "see above")]
    fn install_script(&self, name: &str, script: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        let written = std::process::Command::new("/bin/sh")
            .args(["-c", r#"printf '%s' "$1" > "$0" && chmod 755 "$0""#])
            .arg(self.path("bin").join(name))
            .arg(script)
            .status();
        assert!(written.unwrap().success());
    }

    fn times_asked(&self) -> usize {
        let asked = fs::read_to_string(self.path("asked")).unwrap_or_default();
        asked.lines().count()
    }

    fn env(&self) -> Env {
        let variables = self.variables.iter();
        let variables = variables.map(|(name, value)| ((*name).into(), (*value).into()));
        Env {
            codeteam: None,
            cache_home: None,
            path: self.path("bin").into(),
            home: Some(self.path("home")),
            state_home: Some(self.path("state")),
            config_home: None,
            keys: ApiKeys::from_env(variables),
            cloud_variables: BTreeMap::new(),
            claude_retries: None,
            certificate_files: BTreeMap::new(),
            moved_directories: BTreeMap::new(),
            proxy: None,
            proxy_exceptions: ProxyExceptions::default(),
            author: None,
            user: "ada".to_owned(),
            mcp_token: None,
            lease_stale_ms: None,
            failpoint: None,
            settings: Vec::new(),
        }
    }

    fn look(&self, check_network: NetworkCheck) -> Vec<WorkerDiagnosis> {
        let env = self.env();
        let bin = self.path("bin").display().to_string();
        let path = format!("{bin}:/usr/bin:/bin").into();
        let launcher = UnconfinedLauncher {
            env: vec![("PATH".into(), path)],
        };
        let look = WorkerInspector {
            config: &self.config,
            env: &env,
            codeteam: Path::new("/opt/codeteam"),
            sandbox: SandboxKind::None,
            launcher: Some(&launcher),
            with_model: BTreeSet::new(),
            network: check_network,
            waits: &|what| self.waited.lock().unwrap().push(what.to_owned()),
        };
        look.inspect_all()
    }

    fn at(&self, name: &str, check_network: NetworkCheck) -> WorkerDiagnosis {
        let mut all = self.look(check_network).into_iter();
        all.find(|looked| looked.name.as_str() == name).unwrap()
    }

    fn one(&self, name: &str) -> WorkerDiagnosis {
        self.at(name, NetworkCheck::No)
    }
}

fn claude(version: &str) -> MachineFixture {
    let machine = MachineFixture::new();
    machine.install("claude", version, CLAUDE_FLAGS);
    machine
}

fn login(expires: i64, token: &str) -> String {
    format!(
        r#"{{"claudeAiOauth":{{"accessToken":"{token}","refreshToken":"{token}","expiresAt":{expires}}}}}"#
    )
}

const LOGIN: &str = "home/.claude/.credentials.json";
const NEVER: i64 = 32_503_680_000_000;

#[test]
fn a_machine_with_nothing_has_the_scripted_worker_and_says_how_to_get_the_others() {
    let looked = MachineFixture::new().look(NetworkCheck::No);
    let names: Vec<&str> = looked.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["claude", "codex", "gemini", "builtin", "scripted"]);
    let usable: Vec<bool> = looked.iter().map(|one| one.usable).collect();
    assert_eq!(usable, [false, false, false, false, true]);
    for (one, remedies) in looked.iter().zip([
        &[
            "`npm install -g @anthropic-ai/claude-code` installs it",
            "log in with `claude auth login`, or set `ANTHROPIC_API_KEY`",
        ][..],
        &[
            "`npm install -g @openai/codex` installs it",
            "log in with `codex login`, or set `CODEX_API_KEY` or `OPENAI_API_KEY`",
        ],
        &[
            "`npm install -g @google/gemini-cli` installs it",
            "log in with `gemini`, or set `GEMINI_API_KEY`",
        ],
    ]) {
        assert!(!one.program.installed);
        assert_eq!(one.remedies, remedies);
    }
    let builtin = &looked[3];
    assert!(builtin.program.installed);
    assert!(builtin.remedies[0].contains("`ANTHROPIC_API_KEY`"));
    assert!(builtin.remedies[1].contains("`workers.builtin.model`"));
}

#[test]
fn a_program_is_asked_once_and_known_from_then_on() {
    let machine = claude("2.1.197 (Claude Code)");
    let looked = machine.one("claude");
    assert_eq!(looked.program.version.as_deref(), Some("2.1.197"));
    assert_eq!(looked.program.drivable, Some(true));
    assert_eq!(looked.program.path, Some(machine.path("bin/claude")));
    assert_eq!(machine.times_asked(), 2);
    let waited = machine.waited.lock().unwrap().clone();
    assert_eq!(waited, ["asking `claude` for its version"]);
    machine.one("claude");
    assert_eq!(machine.times_asked(), 2, "it is kept, as runs keep it");
    machine.install("claude", "2.0.1", CLAUDE_FLAGS);
    let looked = machine.one("claude");
    assert_eq!(machine.times_asked(), 4, "another program");
    assert_eq!(looked.program.drivable, Some(false));
    assert!(looked.objections[0].contains("2.0.1 is too old"));
    assert!(looked.remedies[0].contains("npm install -g"));
}

#[test]
fn a_program_that_fails_is_there_and_cannot_be_driven() {
    let machine = MachineFixture::new();
    machine.install_script("claude", "#!/bin/sh\necho broken >&2; exit 3\n");
    let looked = machine.one("claude");
    assert!(looked.program.installed && !looked.usable);
    assert_eq!(looked.program.drivable, Some(false));
    assert!(looked.objections[0].contains("failed: broken"));
    // Its interpreter is not there.
    machine.install_script("claude", "#!/nowhere/node\n");
    let looked = machine.one("claude");
    assert!(looked.program.installed, "{looked:?}");
    assert!(looked.remedies[0].contains("`sandbox.toolchains`"));
}

#[test]
fn logins_are_told_apart() {
    let mut machine = claude("2.1.197");
    let stands = |machine: &MachineFixture| {
        let looked = machine.one("claude");
        let LoginDiagnosis { by, state, .. } = looked.login;
        (by, state, looked.usable)
    };
    assert_eq!(
        stands(&machine),
        (LoginKind::Nothing, LoginState::Missing, false)
    );
    machine.write(LOGIN, &login(NEVER, "t"));
    assert_eq!(
        stands(&machine),
        (LoginKind::File, LoginState::Usable, true)
    );
    machine.write(LOGIN, &login(1, "t"));
    assert_eq!(
        stands(&machine),
        (LoginKind::File, LoginState::Expired, true)
    );
    machine.write(LOGIN, &login(1, ""));
    assert_eq!(
        stands(&machine),
        (LoginKind::File, LoginState::Ended, false)
    );
    machine.write(LOGIN, "no JSON");
    assert_eq!(
        stands(&machine),
        (LoginKind::Nothing, LoginState::Missing, false)
    );
    machine.variables = vec![("ANTHROPIC_AUTH_TOKEN", "my-key")];
    assert_eq!(stands(&machine), (LoginKind::Key, LoginState::Usable, true));
    let looked = machine.one("claude");
    assert_eq!(looked.login.from.as_deref(), Some("ANTHROPIC_AUTH_TOKEN"));
    let told = serde_json::to_string(&looked).unwrap() + &looked.summary();
    assert!(!told.contains("my-key"), "{told}");
}

#[test]
fn workers_of_the_configuration_have_their_own_accounts() {
    let mut machine = claude("2.1.197");
    let worker = |key: Option<&str>, login: Option<PathBuf>| config::WorkerConfig {
        dialect: Some(dialect::DialectName::Claude),
        account: Some("work".to_owned()),
        key: key.map(str::to_owned),
        login,
        ..config::WorkerConfig::default()
    };
    let elsewhere = machine.path("elsewhere");
    machine.config.workers = BTreeMap::from([
        ("a".to_owned(), worker(Some("WORK_KEY"), None)),
        ("b".to_owned(), worker(None, Some(elsewhere.clone()))),
    ]);
    let a = machine.one("a");
    assert_eq!(a.account.0, "work");
    assert_eq!(a.remedies, ["set `WORK_KEY`"]);
    let b = machine.one("b");
    let wanted = format!(
        "log in with `CLAUDE_CONFIG_DIR={} claude auth login`, or set `ANTHROPIC_API_KEY`",
        elsewhere.display()
    );
    assert_eq!(b.remedies, [wanted]);
    machine.write("elsewhere/.credentials.json", &login(NEVER, "t"));
    machine.variables = vec![("WORK_KEY", "k")];
    assert!(machine.one("a").usable && machine.one("b").usable);
    assert!(!machine.one("codex").usable);
}

#[test]
fn the_built_in_worker_with_a_server_of_ones_own() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut machine = MachineFixture::new();
    let worker = config::WorkerConfig {
        protocol: Some(crate::model_api::ApiProtocol::Openai),
        base_url: Some(format!("http://127.0.0.1:{port}/v1")),
        model: Some("llama".to_owned()),
        ..config::WorkerConfig::default()
    };
    machine.config.workers = BTreeMap::from([("builtin".to_owned(), worker)]);
    let answering = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer).unwrap();
        let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).unwrap();
        // Gone with the first who came.
    });
    let env = machine.env();
    let launcher = UnconfinedLauncher::default();
    let look = WorkerInspector {
        config: &machine.config,
        env: &env,
        codeteam: Path::new("/opt/codeteam"),
        sandbox: SandboxKind::None,
        launcher: Some(&launcher),
        with_model: BTreeSet::new(),
        network: NetworkCheck::Yes,
        waits: &|_| {},
    };
    let worker = Worker::find(&machine.config, &"builtin".into()).unwrap();
    let looked = look.inspect(&worker);
    answering.join().unwrap();
    assert!(looked.usable, "{looked:?}");
    assert_eq!(looked.login.by, LoginKind::Server);
    assert_eq!(looked.network.reached, Some(true));
    let host = format!("127.0.0.1:{port}");
    assert_eq!(looked.network.host, Some(host.clone()));
    let looked = look.inspect(&worker);
    assert_eq!(looked.network.reached, Some(false));
    assert!(looked.objections[0].contains(&format!("{host} is not reached: ")));
    assert!(!looked.usable);
}

#[test]
fn addresses_are_read() {
    for (url, wanted) in [
        ("https://api.example", "api.example:443"),
        ("https://api.example:8443/v1", "api.example:8443"),
        ("http://127.0.0.1:11434/v1", "127.0.0.1:11434"),
        ("http://near", "near:80"),
        ("http://[::1]/a", "[::1]:80"),
    ] {
        assert_eq!(authority(url), wanted);
    }
}
