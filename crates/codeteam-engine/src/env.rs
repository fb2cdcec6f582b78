//! The only place in the engine that reads codeteam's own environment.

mod direct;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_sandbox::egress::UserProxy;

pub use self::direct::ProxyExceptions;

use crate::git::GitIdentity;
use crate::logins::clis;
use crate::logins::keys::ApiKeys;

/// What codeteam takes from its environment.
#[derive(Clone, Debug)]
pub struct Env {
    /// codeteam's own program, if that is what runs here.
    pub codeteam: Option<PathBuf>,
    /// Where programs are looked for.
    pub path: OsString,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Where programs keep state: `XDG_STATE_HOME`, or `.local/state` below the home.
    pub state_home: Option<PathBuf>,
    /// Where programs keep configuration: `XDG_CONFIG_HOME`, or `.config` below the home.
    pub config_home: Option<PathBuf>,
    /// Where programs keep what they can do without: `XDG_CACHE_HOME`, or `.cache` below the home.
    pub cache_home: Option<PathBuf>,
    /// API keys, which no worker sees.
    pub keys: ApiKeys,
    /// What a model that a cloud serves is reached with; only a worker of such a provider sees it.
    pub cloud: BTreeMap<&'static str, String>,
    /// How often claude asks an API again that does not answer, if the user says.
    pub claude_retries: Option<OsString>,
    /// Where the user's CLIs keep their files, if not below the home.
    pub moved: BTreeMap<&'static str, OsString>,
    /// The proxy that everything has to go through to leave this machine.
    pub proxy: Option<UserProxy>,
    /// What does not have to.
    pub direct: ProxyExceptions,
    /// Who makes commits, if `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL` say it; as in git, they come
    /// before what is configured.
    pub author: Option<GitIdentity>,
    /// Who decides, as the log names them.
    pub user: String,
    /// What clients of the MCP server must know, if the user has chosen it.
    pub mcp_token: Option<String>,
    /// How old a heartbeat may be before its run may be taken over, if a test says so. Only
    /// builds with debug assertions listen.
    pub lease_stale_ms: Option<i64>,
    /// Where a test wants this process to die (see [`Failpoint`]).
    pub failpoint: Option<Failpoint>,
    /// What is configured by variables: `CODETEAM_LIMITS__MAX_MINUTES`, without its beginning.
    pub settings: Vec<(String, String)>,
}

/// What a cloud's own tools go by.
const CLOUD: &[&str] = &[
    "AWS_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLOUD_ML_REGION",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    // For those whose gateway signs.
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    // By these the user says that a cloud is to be used at all.
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
];

/// The variable by which claude is told how often to ask again.
pub(crate) const CLAUDE_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";

/// Variables of codeteam's that are no part of the configuration.
const OTHER: &[&str] = &[
    "API_KEY",
    "BRANCH",
    "FAILPOINT",
    "LEASE_",
    "MARK",
    "MCP_TOKEN",
    "SANDBOX_BUILD",
    "TEST_",
    "FUZZ_",
];

/// What is configured by variables, in the order of their names.
fn settings(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    let said = variables.filter_map(|(name, value)| {
        let name = name.to_str()?.strip_prefix("CODETEAM_")?.to_owned();
        let other = OTHER.iter().any(|other| name.starts_with(other));
        (!other).then(|| (name, value.to_string_lossy().into_owned()))
    });
    let mut said: Vec<(String, String)> = said.collect();
    said.sort();
    said
}

/// A place at which this process kills itself with `SIGKILL`, so that tests can show what survives.
/// Only builds with debug assertions have any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failpoint {
    /// After the n-th event this process appended is durable.
    Appended(u64),
    /// After the n-th effect of this process was performed, before its result is appended.
    Performed(u64),
}

impl Env {
    /// The user's own folder of configuration, roles, workflows and documents, whether it exists or not.
    pub fn user_folder(&self) -> Option<PathBuf> {
        let home = self.config_home.as_ref();
        home.map(|home| home.join("codeteam"))
    }

    /// Reads the environment.
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    pub fn read() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from);
        let below_home = |name: &str, default: &str| {
            let said = variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute());
            said.or_else(|| home.as_ref().map(|home| home.join(default)))
        };
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let own = std::env::current_exe().ok();
        Self {
            // Tests are other programs.
            codeteam: own.filter(|path| path.file_name().is_some_and(|name| name == "codeteam")),
            path: variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()),
            state_home: below_home("XDG_STATE_HOME", ".local/state"),
            config_home: below_home("XDG_CONFIG_HOME", ".config"),
            cache_home: below_home("XDG_CACHE_HOME", ".cache"),
            author: author(text),
            user: text("USER")
                .or_else(|| text("LOGNAME"))
                .unwrap_or_else(|| format!("user-{}", rustix::process::getuid().as_raw())),
            mcp_token: text("CODETEAM_MCP_TOKEN"),
            lease_stale_ms: text("CODETEAM_LEASE_STALE_MS")
                .filter(|_| cfg!(debug_assertions))
                .and_then(|text| text.parse().ok()),
            failpoint: text("CODETEAM_FAILPOINT").and_then(|text| Failpoint::parse(&text)),
            settings: settings(std::env::vars_os()),
            keys: ApiKeys::from_env(std::env::vars_os()),
            cloud: CLOUD
                .iter()
                .filter_map(|&name| Some((name, text(name)?)))
                .collect(),
            claude_retries: variable(CLAUDE_RETRIES),
            moved: clis::ALL
                .iter()
                .map(|cli| cli.moved_by.variable())
                .filter_map(|name| Some((name, variable(name)?)))
                .collect(),
            proxy: ["HTTPS_PROXY", "https_proxy"]
                .into_iter()
                .find_map(text)
                .and_then(|proxy| UserProxy::parse(&proxy).ok()),
            direct: ["NO_PROXY", "no_proxy"]
                .into_iter()
                .find_map(text)
                .map_or_else(ProxyExceptions::default, |names| {
                    ProxyExceptions::parse(&names)
                }),
            home,
        }
    }

    /// Where to keep what was worked out about a repository, or about any folder.
    pub fn context_cache(&self, root: &Path) -> Option<PathBuf> {
        let root = root.canonicalize().ok()?;
        let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let caches = self.cache_home.as_ref()?.join("codeteam/context");
        Some(caches.join(&name[..16]))
    }
}

/// Who makes commits, if both of what makes somebody known to git are said.
fn author(text: impl Fn(&str) -> Option<String>) -> Option<GitIdentity> {
    let either = |one: &str, other: &str| text(one).or_else(|| text(other));
    Some(GitIdentity {
        name: either("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")?,
        email: either("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")?,
    })
}

impl Failpoint {
    fn parse(text: &str) -> Option<Self> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let (place, n) = text.split_once(':')?;
        let n = n.parse().ok()?;
        match place {
            "appended" => Some(Self::Appended(n)),
            "performed" => Some(Self::Performed(n)),
            _ => None,
        }
    }
}

/// The key of the built-in worker, which is given it in its environment.
#[expect(clippy::disallowed_methods, reason = "this is the module that may")]
pub fn api_key() -> Option<String> {
    std::env::var("CODETEAM_API_KEY").ok()
}

/// Ends this process as a power cut would: no destructor runs, nothing is flushed.
pub fn die() {
    let own = rustix::process::getpid();
    // Nothing can be done if the kernel refuses, and nothing depends on it outside tests.
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
}
