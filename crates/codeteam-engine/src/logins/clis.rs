//! What is known of each CLI's login and keys, as data.
//!
//! Everything here was seen in claude 2.1.197, codex 0.166.0 and gemini 0.61.0, run with made-up
//! logins and keys against a local server. Each of them started with nothing but its credential
//! file in an empty home, renewed an expired token and went on to its API.

/// A CLI that people log in to.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkerCli {
    /// What it is called.
    pub name: &'static str,
    /// Where it keeps its files, relative to the home.
    pub directory: &'static str,
    /// What the user may have moved that directory with.
    pub moved_by: DirectoryVariable,
    /// The login in that directory.
    pub credentials: CredentialFormat,
    /// What its environment needs for it to look for a login without being asked to.
    pub env: &'static [(&'static str, &'static str)],
    /// What it asks with a login, as `host:port`.
    pub api_hosts: &'static [&'static str],
    /// Where it renews a login, as `host:port`.
    pub login_hosts: &'static [&'static str],
    /// How it works with a key instead.
    pub keys: KeySupport,
}

/// A variable that moves a CLI's files.
#[derive(Debug, PartialEq, Eq)]
pub enum DirectoryVariable {
    /// It names the directory itself.
    Directory(&'static str),
    /// It names a home to find the directory in.
    Home(&'static str),
}

impl DirectoryVariable {
    /// The variable.
    pub fn variable(&self) -> &'static str {
        match self {
            Self::Directory(name) | Self::Home(name) => name,
        }
    }
}

/// A file that holds a login, as a JSON object. Places in it are JSON pointers.
#[derive(Debug, PartialEq, Eq)]
pub struct CredentialFormat {
    /// Its name.
    pub file: &'static str,
    /// The members that are the login. What else is in the file stays with the user: keys, and
    /// the logins of MCP servers.
    pub members: &'static [&'static str],
    /// What changes when the login is renewed, all of it text.
    pub tokens: &'static [&'static str],
    /// What tells a newer login from an older one.
    pub time: CredentialTime,
    /// What must not change, if the file says whose login it is.
    pub account: Option<&'static str>,
}

/// Where a login's time is, and how it is written.
#[derive(Debug, PartialEq, Eq)]
pub enum CredentialTime {
    /// In milliseconds since the epoch.
    Milliseconds(&'static str),
    /// As text, like `2026-01-02T03:04:05Z`.
    Text(&'static str),
}

/// How a CLI works with a key.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySupport {
    /// Where the user may have one. The first that is set counts.
    pub keys: &'static [ApiKeyKind],
    /// How the CLI is pointed at another server.
    pub base_url: BaseUrlSetting,
    /// The server it would ask otherwise.
    pub upstream: &'static str,
    /// The user's variable that names another one, such as a gateway. The keys are for that then.
    pub moved_by: &'static str,
    /// All that the CLI asks there, as method and path below the server's address.
    pub routes: &'static [(&'static str, &'static str)],
}

/// A kind of key.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiKeyKind {
    /// The user's variable.
    pub variable: &'static str,
    /// The variable in which the CLI needs some value, or it does not start.
    pub placeholder: &'static str,
    /// The header it is sent in.
    pub header: &'static str,
    /// What precedes it there.
    pub prefix: &'static str,
}

/// How a CLI is told which server to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseUrlSetting {
    /// By an environment variable.
    Variable(&'static str),
    /// By an option of its configuration: `-c option="url"`.
    Option(&'static str),
}

/// Every CLI that is known.
pub const ALL: [&WorkerCli; 3] = [&CLAUDE, &CODEX, &GEMINI];

/// Replaces its file by renaming another, and notices one that was replaced. If the server calls
/// a token spent, it empties the tokens in the file and leaves it there.
pub const CLAUDE: WorkerCli = WorkerCli {
    name: "claude",
    directory: ".claude",
    moved_by: DirectoryVariable::Directory("CLAUDE_CONFIG_DIR"),
    credentials: CredentialFormat {
        file: ".credentials.json",
        members: &["claudeAiOauth"],
        tokens: &["/claudeAiOauth/accessToken", "/claudeAiOauth/refreshToken"],
        time: CredentialTime::Milliseconds("/claudeAiOauth/expiresAt"),
        account: None,
    },
    env: &[],
    api_hosts: &["api.anthropic.com:443"],
    login_hosts: &["platform.claude.com:443"],
    keys: KeySupport {
        keys: &[
            ApiKeyKind {
                variable: "ANTHROPIC_API_KEY",
                placeholder: "ANTHROPIC_API_KEY",
                header: "x-api-key",
                prefix: "",
            },
            bearer("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"),
            // With its own placeholder it also says that it is a login's token.
            bearer("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        ],
        base_url: BaseUrlSetting::Variable("ANTHROPIC_BASE_URL"),
        upstream: "https://api.anthropic.com",
        moved_by: "ANTHROPIC_BASE_URL",
        routes: &[
            ("POST", "/v1/messages"),
            ("POST", "/v1/messages/count_tokens"),
            ("GET", "/v1/models"),
            ("GET", "/v1/models/*"),
            ("HEAD", "/"),
        ],
    },
};

/// Writes its file in place. With `openai_base_url` it takes a key from `CODEX_API_KEY` alone, and
/// it does not heed `OPENAI_BASE_URL`.
pub const CODEX: WorkerCli = WorkerCli {
    name: "codex",
    directory: ".codex",
    moved_by: DirectoryVariable::Directory("CODEX_HOME"),
    credentials: CredentialFormat {
        file: "auth.json",
        members: &["auth_mode", "tokens", "last_refresh"],
        tokens: &[
            "/tokens/id_token",
            "/tokens/access_token",
            "/tokens/refresh_token",
        ],
        time: CredentialTime::Text("/last_refresh"),
        account: Some("/tokens/account_id"),
    },
    env: &[],
    api_hosts: &["chatgpt.com:443"],
    login_hosts: &["auth.openai.com:443"],
    keys: KeySupport {
        keys: &[
            bearer("CODEX_API_KEY", "CODEX_API_KEY"),
            bearer("OPENAI_API_KEY", "CODEX_API_KEY"),
        ],
        base_url: BaseUrlSetting::Option("openai_base_url"),
        upstream: "https://api.openai.com/v1",
        // Not codex's own, but what everybody else who takes such a key goes by.
        moved_by: "OPENAI_BASE_URL",
        routes: &[
            ("POST", "/responses"),
            ("POST", "/responses/compact"),
            ("GET", "/models"),
        ],
    },
};

/// Writes its file in place. It also asks `www.googleapis.com` for the user's name and tells
/// `play.googleapis.com` about itself, and goes on when it may not. With a key it needs
/// `security.auth.selectedType` to be `gemini-api-key` in its settings.
pub const GEMINI: WorkerCli = WorkerCli {
    name: "gemini",
    directory: ".gemini",
    moved_by: DirectoryVariable::Home("GEMINI_CLI_HOME"),
    credentials: CredentialFormat {
        file: "oauth_creds.json",
        members: &[
            "access_token",
            "refresh_token",
            "id_token",
            "token_type",
            "scope",
            "expiry_date",
        ],
        tokens: &["/access_token", "/refresh_token"],
        time: CredentialTime::Milliseconds("/expiry_date"),
        account: None,
    },
    env: &[("GOOGLE_GENAI_USE_GCA", "true")],
    api_hosts: &["cloudcode-pa.googleapis.com:443"],
    login_hosts: &["oauth2.googleapis.com:443"],
    keys: KeySupport {
        keys: &[ApiKeyKind {
            variable: "GEMINI_API_KEY",
            placeholder: "GEMINI_API_KEY",
            header: "x-goog-api-key",
            prefix: "",
        }],
        base_url: BaseUrlSetting::Variable("GOOGLE_GEMINI_BASE_URL"),
        upstream: "https://generativelanguage.googleapis.com",
        moved_by: "GOOGLE_GEMINI_BASE_URL",
        routes: &[
            ("POST", "/v1beta/models/*:generateContent"),
            ("POST", "/v1beta/models/*:streamGenerateContent"),
            ("POST", "/v1beta/models/*:countTokens"),
            ("GET", "/v1beta/models"),
            ("GET", "/v1beta/models/*"),
        ],
    },
};

const fn bearer(variable: &'static str, placeholder: &'static str) -> ApiKeyKind {
    ApiKeyKind {
        variable,
        placeholder,
        header: "authorization",
        prefix: "Bearer ",
    }
}

impl WorkerCli {
    /// The one with this name.
    pub fn named(name: &str) -> Option<&'static WorkerCli> {
        ALL.into_iter().find(|cli| cli.name == name)
    }

    /// All that a worker with a login of this CLI has to reach, as `host:port`.
    pub fn egress(&self) -> impl Iterator<Item = &'static str> {
        self.api_hosts.iter().chain(self.login_hosts).copied()
    }
}
