//! The only place in the engine that reads codeteam's own environment.

mod proxy_exceptions;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use codeteam_sandbox::egress::UserProxy;

pub use self::proxy_exceptions::ProxyExceptions;

use crate::api_keys::ApiKeys;
use crate::people;
use crate::worker_clis;
use codeteam_host::git::{GitIdentity, Repo};
use codeteam_host::process::UnconfinedLauncher;

/// Everything codeteam reads from its environment.
#[derive(Clone, Debug)]
pub struct Env {
    /// The path of codeteam's own program, if this process is it.
    pub codeteam: Option<PathBuf>,
    /// The search path for programs.
    pub path: OsString,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The folder for programs' state: `XDG_STATE_HOME`, or `.local/state` below the home.
    pub state_home: Option<PathBuf>,
    /// The folder for programs' configuration: `XDG_CONFIG_HOME`, or `.config` below the home.
    pub config_home: Option<PathBuf>,
    /// The folder for programs' caches: `XDG_CACHE_HOME`, or `.cache` below the home.
    pub cache_home: Option<PathBuf>,
    /// API keys, which no worker sees.
    pub keys: ApiKeys,
    /// Variables for models that a cloud serves; only a worker with such a provider sees them.
    pub cloud_variables: BTreeMap<&'static str, String>,
    /// The number of claude's retries of an API that does not answer, if the user sets it.
    pub claude_retries: Option<OsString>,
    /// The directories of the user's CLIs, if they are not below the home.
    pub moved_directories: BTreeMap<&'static str, OsString>,
    /// The proxy that all traffic from this machine has to go through.
    pub proxy: Option<UserProxy>,
    /// The hosts that are not behind the proxy.
    pub proxy_exceptions: ProxyExceptions,
    /// The certificate files that programs trust, if the user sets them: a network that intercepts
    /// connections has its own certificates.
    pub certificate_files: BTreeMap<&'static str, PathBuf>,
    /// The author of commits, if `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL` are set; as in git, they
    /// take precedence over the configuration.
    pub author: Option<GitIdentity>,
    /// The machine's name for the user of this process. It is not taken from a variable, which
    /// anybody can set.
    pub user: String,
    /// The token that clients of the MCP server must present, if the user has set one.
    pub mcp_token: Option<String>,
    /// The age at which a heartbeat is stale, if a test sets it. Only builds with debug assertions
    /// read it.
    pub lease_stale_ms: Option<i64>,
    /// The point at which a test wants this process to die (see [`Failpoint`]).
    pub failpoint: Option<Failpoint>,
    /// Configuration from variables such as `CODETEAM_LIMITS__MAX_MINUTES`, without the prefix.
    pub settings: Vec<(String, String)>,
}

/// The variables that a cloud's own tools use.
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
    // For gateways that sign requests themselves.
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    // The user sets these to enable a cloud at all.
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
];

/// The variables that name a file with trusted certificates.
const CERTIFICATES: &[&str] = &[
    "SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
];

/// The variable that limits the retries of claude.
pub(crate) const CLAUDE_RETRIES: &str = "CLAUDE_CODE_MAX_RETRIES";

/// Prefixes of codeteam's variables that are not part of the configuration.
const OTHER: &[&str] = &[
    "API_KEY",
    "BRANCH",
    "FAILPOINT",
    "LEASE_",
    "LOG",
    "MARK",
    "MCP_TOKEN",
    "SANDBOX_BUILD",
    "TEST_",
    "FUZZ_",
];

/// Returns the configuration from variables, sorted by name.
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

/// A point at which this process kills itself with `SIGKILL`, so that tests can show what survives.
/// Failpoints exist only in builds with debug assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failpoint {
    /// After the n-th event that this process appended is durable.
    Appended(u64),
    /// After the n-th effect of this process was performed, before its result is appended.
    Performed(u64),
    /// When this process draws its screen for the n-th time. It panics there instead of dying, because
    /// a panic is what the screen has to recover the terminal from.
    Drawn(u64),
}

impl Env {
    /// Returns the user's own folder of configuration, roles, workflows and documents, whether it
    /// exists or not.
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
            // In tests, the executable is another program.
            codeteam: own.filter(|path| path.file_name().is_some_and(|name| name == "codeteam")),
            path: variable("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()),
            state_home: below_home("XDG_STATE_HOME", ".local/state"),
            config_home: below_home("XDG_CONFIG_HOME", ".config"),
            cache_home: below_home("XDG_CACHE_HOME", ".cache"),
            author: author(text),
            user: people::user_of_uid(people::own_uid())
                .unwrap_or_else(|| format!("uid-{}", people::own_uid())),
            mcp_token: text("CODETEAM_MCP_TOKEN"),
            lease_stale_ms: text("CODETEAM_LEASE_STALE_MS")
                .filter(|_| cfg!(debug_assertions))
                .and_then(|text| text.parse().ok()),
            failpoint: text("CODETEAM_FAILPOINT").and_then(|text| Failpoint::parse(&text)),
            settings: settings(std::env::vars_os()),
            keys: ApiKeys::from_env(std::env::vars_os()),
            cloud_variables: CLOUD
                .iter()
                .filter_map(|&name| Some((name, text(name)?)))
                .collect(),
            claude_retries: variable(CLAUDE_RETRIES),
            certificate_files: CERTIFICATES
                .iter()
                .filter_map(|&name| Some((name, PathBuf::from(variable(name)?))))
                .filter(|(_, file)| file.is_absolute())
                .collect(),
            moved_directories: worker_clis::ALL
                .iter()
                .map(|cli| cli.moved_by.variable())
                .filter_map(|name| Some((name, variable(name)?)))
                .collect(),
            proxy: ["HTTPS_PROXY", "https_proxy"]
                .into_iter()
                .find_map(text)
                .and_then(|proxy| UserProxy::parse(&proxy).ok()),
            proxy_exceptions: ["NO_PROXY", "no_proxy"]
                .into_iter()
                .find_map(text)
                .map_or_else(ProxyExceptions::default, |names| {
                    ProxyExceptions::parse(&names)
                }),
            home,
        }
    }

    /// Returns the secrets among what was read: the keys, and what a cloud's tools sign with.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let cloud = self.cloud_variables.iter();
        let cloud = cloud.filter(|(name, _)| names_secret(name));
        let keys = self.keys.secrets().map(str::to_owned);
        keys.chain(cloud.map(|(_, value)| value.clone())).collect()
    }

    /// Returns the paths that are private to the user: the whole home, the places of keys,
    /// configuration and codeteam's own state, and the repository with its checkout. Worktrees and
    /// a repository's objects are shown by name, on top of that.
    pub fn private_paths(&self, repo: Option<&Repo>) -> Vec<PathBuf> {
        let home = self.home.iter().flat_map(|home| {
            let inside = [".ssh", ".gnupg", ".aws", ".config", ".profile"];
            let inside = inside.map(|name| home.join(name));
            std::iter::once(home.clone()).chain(inside)
        });
        let state = self.state_home.iter().map(|state| state.join("codeteam"));
        let config = self
            .config_home
            .iter()
            .map(|config| config.join("codeteam"));
        let repo = repo
            .iter()
            .flat_map(|repo| [repo.top_level(), repo.common_dir()]);
        let all = home
            .chain(state)
            .chain(config)
            .chain(repo.map(Path::to_owned));
        let mut found: Vec<PathBuf> = all.filter_map(|path| path.canonicalize().ok()).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Returns a launcher that runs commands on the host, as the user would.
    pub fn unconfined_launcher(&self) -> UnconfinedLauncher {
        let mut variables = vec![("PATH".into(), self.path.clone())];
        let home = self.home.iter();
        variables.extend(home.map(|home| ("HOME".into(), home.clone().into())));
        UnconfinedLauncher { env: variables }
    }

    /// Returns a variable that the user's configuration names, such as one with a secret.
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    #[expect(clippy::unused_self, reason = "whoever has no environment cannot ask")]
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    /// Returns the folder for cached facts about a repository or any other folder.
    pub fn context_cache(&self, root: &Path) -> Option<PathBuf> {
        let root = root.canonicalize().ok()?;
        let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let caches = self.cache_home.as_ref()?.join("codeteam/context");
        Some(caches.join(&name[..16]))
    }
}

/// Returns true if a variable with this name contains a secret.
pub(crate) fn names_secret(name: &str) -> bool {
    let parts = ["TOKEN", "SECRET", "PASSWORD"];
    name.ends_with("KEY") || parts.iter().any(|part| name.contains(part))
}

/// Returns the author of commits, if both the name and the address are set.
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
            "drawn" => Some(Self::Drawn(n)),
            _ => None,
        }
    }
}

/// Returns the key of the built-in worker, which it gets in its environment.
#[expect(clippy::disallowed_methods, reason = "this is the module that may")]
pub fn api_key() -> Option<String> {
    std::env::var("CODETEAM_API_KEY").ok()
}

/// Returns what the user wants to have logged (see [`diagnostic_log`](crate::diagnostic_log)): the
/// directives in `CODETEAM_LOG`, if there are any.
#[expect(clippy::disallowed_methods, reason = "this is the module that may")]
pub fn log_directives() -> Option<String> {
    let directives = std::env::var_os("CODETEAM_LOG")?;
    let directives = directives.to_string_lossy().trim().to_owned();
    (!directives.is_empty()).then_some(directives)
}

/// Ends this process as a power cut would: no destructor runs, nothing is flushed.
pub fn die() {
    let own = rustix::process::getpid();
    // If the kernel refuses, nothing can be done, and nothing depends on it outside tests.
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
}
