//! A table of each CLI's login files and keys.
//!
//! Everything here was observed in claude 2.1.197, codex 0.166.0 and gemini 0.61.0, run with
//! made-up logins and keys against a local server. Each of them started with nothing but its
//! credential file in an empty home, renewed an expired token and went on to its API.

/// A CLI that people log in to.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkerCli {
    /// The CLI's name, which is also that of its dialect.
    pub name: &'static str,
    /// The directory of its files, relative to the home.
    pub directory: &'static str,
    /// The variable with which the user may have moved that directory.
    pub moved_by: DirectoryVariable,
    /// The format of the login file in that directory.
    pub credentials: CredentialFormat,
    /// Variables that it needs in order to use a login without asking.
    pub env: &'static [(&'static str, &'static str)],
    /// The hosts it contacts with a login, as `host:port`.
    pub api_hosts: &'static [&'static str],
    /// The hosts where it renews a login, as `host:port`.
    pub login_hosts: &'static [&'static str],
    /// The support for a key instead of a login.
    pub keys: KeySupport,
}

/// A variable that moves a CLI's files.
#[derive(Debug, PartialEq, Eq)]
pub enum DirectoryVariable {
    /// The variable names the directory itself.
    Directory(&'static str),
    /// The variable names a home that contains the directory.
    Home(&'static str),
}

impl DirectoryVariable {
    /// Returns the name of the variable.
    pub fn variable(&self) -> &'static str {
        match self {
            Self::Directory(name) | Self::Home(name) => name,
        }
    }
}

/// The format of a file that contains a login, as a JSON object. Places in it are JSON pointers.
#[derive(Debug, PartialEq, Eq)]
pub struct CredentialFormat {
    /// The name of the file.
    pub file: &'static str,
    /// The members that make up the login. The rest of the file stays with the user: keys, and the
    /// logins of MCP servers.
    pub members: &'static [&'static str],
    /// The places that change when the login is renewed, all of them texts.
    pub tokens: &'static [&'static str],
    /// The time that distinguishes a newer login from an older one.
    pub time: CredentialTime,
    /// The place that identifies the account and must not change, if the file has one.
    pub account: Option<&'static str>,
}

/// The place of a login's time, and its form.
#[derive(Debug, PartialEq, Eq)]
pub enum CredentialTime {
    /// Milliseconds since the epoch.
    Milliseconds(&'static str),
    /// A text like `2026-01-02T03:04:05Z`.
    Text(&'static str),
}

/// The ways in which a CLI can be used with a key instead of a login.
#[derive(Debug, PartialEq, Eq)]
pub struct KeySupport {
    /// The variables in which the user may have one. The first that is set counts.
    pub keys: &'static [ApiKeyKind],
    /// The setting that points the CLI at another server.
    pub base_url: BaseUrlSetting,
    /// The server it uses by default.
    pub upstream: &'static str,
    /// The user's variable that names another server, such as a gateway. The keys are for that
    /// server then.
    pub moved_by: &'static str,
    /// Everything the CLI requests there, as method and path below the server's address.
    pub routes: &'static [(&'static str, &'static str)],
}

/// A kind of key.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiKeyKind {
    /// The user's variable.
    pub variable: &'static str,
    /// The variable that must have some value, or the CLI does not start.
    pub placeholder: &'static str,
    /// The header in which the key is sent.
    pub header: &'static str,
    /// The text before the key in the header.
    pub prefix: &'static str,
}

/// The way in which a CLI is pointed at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseUrlSetting {
    /// With an environment variable.
    Variable(&'static str),
    /// With an option of its configuration: `-c option="url"`.
    Option(&'static str),
}

/// All known CLIs.
pub const ALL: [&WorkerCli; 3] = [&CLAUDE, &CODEX, &GEMINI];

/// Claude Code. It replaces its file by a rename, and notices when the file was replaced. If the
/// server calls a token spent, it empties the tokens in the file and leaves the file in place.
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
            // With its own placeholder the CLI also declares that it is a login's token.
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

/// Codex. It writes its file in place. With `openai_base_url` it takes a key from `CODEX_API_KEY`
/// only, and it ignores `OPENAI_BASE_URL`.
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
        // This is not codex's own variable, but the one that other programs with such a key use.
        moved_by: "OPENAI_BASE_URL",
        routes: &[
            ("POST", "/responses"),
            ("POST", "/responses/compact"),
            ("GET", "/models"),
        ],
    },
};

/// The Gemini CLI. It writes its file in place. It also asks `www.googleapis.com` for the user's
/// name and sends telemetry to `play.googleapis.com`, and continues if it may not. With a key it
/// needs `security.auth.selectedType` to be `gemini-api-key` in its settings.
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
    /// Finds a CLI by its name.
    pub fn find(name: &str) -> Option<&'static WorkerCli> {
        ALL.into_iter().find(|cli| cli.name == name)
    }

    /// Returns everything that a worker with a login of this CLI has to reach, as `host:port`.
    pub fn egress(&self) -> impl Iterator<Item = &'static str> {
        self.api_hosts.iter().chain(self.login_hosts).copied()
    }
}
