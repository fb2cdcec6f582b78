//! codeteam's entry in a client's list of MCP servers, and the file it is in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeteam_engine::env::Env;
use serde_json::Value;

use super::opencode;

/// The name under which codeteam is registered.
pub(super) const NAME: &str = "codeteam";

/// A client that can be told of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum McpClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
}

/// For whom it is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum InstallScope {
    /// For you, in every project.
    User,
    /// For everybody who works on this project: in a file of the repository.
    Project,
}

/// A client's command for starting a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerEntry {
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// The entry that exists in a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExistingEntry {
    /// There is no entry.
    Nothing,
    /// The entry; `None` if it is not a command.
    Entry(Option<ServerEntry>),
    /// The file cannot be parsed here, although its client may be able to.
    Unknown,
}

impl McpClient {
    /// Returns the client's program, which is also its name here.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// Returns the file with the client's list; `None` if the user has no home.
    pub(super) fn config_file(self, scope: InstallScope, env: &Env, top: &Path) -> Option<PathBuf> {
        let home = env.home.as_deref();
        let moved = |name: &str| env.moved_directories.get(name).map(PathBuf::from);
        Some(match (self, scope) {
            (Self::Claude, InstallScope::Project) => top.join(".mcp.json"),
            (Self::Codex, InstallScope::Project) => top.join(".codex/config.toml"),
            (Self::Gemini, InstallScope::Project) => top.join(".gemini/settings.json"),
            (Self::Opencode, InstallScope::Project) => top.join("opencode.json"),
            (Self::Opencode, InstallScope::User) => {
                let config = env.config_home.clone();
                config
                    .or(home.map(|home| home.join(".config")))?
                    .join("opencode/opencode.json")
            }
            (Self::Claude, InstallScope::User) => moved("CLAUDE_CONFIG_DIR")
                .or(home.map(Path::to_owned))?
                .join(".claude.json"),
            (Self::Codex, InstallScope::User) => moved("CODEX_HOME")
                .or(home.map(|home| home.join(".codex")))?
                .join("config.toml"),
            (Self::Gemini, InstallScope::User) => moved("GEMINI_CLI_HOME")
                .or(home.map(Path::to_owned))?
                .join(".gemini/settings.json"),
        })
    }

    /// Reads the entry in the client's file.
    pub(super) fn find_entry(self, file: &Path) -> ExistingEntry {
        match fs::read_to_string(file) {
            Ok(text) => self.parse_entry(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => ExistingEntry::Nothing,
            Err(_) => ExistingEntry::Unknown,
        }
    }

    /// Parses the entry in the text of the client's file.
    pub(super) fn parse_entry(self, text: &str) -> ExistingEntry {
        let (list, read) = match self {
            Self::Codex => ("mcp_servers", toml::from_str::<Value>(text).ok()),
            _ if text.trim().is_empty() => return ExistingEntry::Nothing,
            Self::Opencode => return opencode::find_entry(text),
            _ => ("mcpServers", serde_json::from_str(text).ok()),
        };
        let Some(read) = read else {
            return ExistingEntry::Unknown;
        };
        match read.get(list).and_then(|list| list.get(NAME)) {
            Some(entry) => ExistingEntry::Entry(ServerEntry::read(entry)),
            None => ExistingEntry::Nothing,
        }
    }

    /// Returns true if codeteam edits the file itself, because the client has no command for it.
    pub(super) fn is_edited_directly(self, scope: InstallScope) -> bool {
        self == Self::Opencode || (self, scope) == (Self::Codex, InstallScope::Project)
    }

    /// Returns the client's own command that adds an entry.
    pub(super) fn add_command(self, scope: InstallScope, entry: &ServerEntry) -> Vec<String> {
        let mut command = vec!["mcp", "add"];
        match self {
            Self::Claude => command.extend(["--scope", scope.as_str(), NAME, "--"]),
            Self::Codex => command.extend([NAME, "--"]),
            Self::Gemini | Self::Opencode => command.extend(["--scope", scope.as_str(), NAME]),
        }
        command.push(&entry.command);
        command.extend(entry.args.iter().map(String::as_str));
        command.into_iter().map(str::to_owned).collect()
    }

    /// Returns the client's own command that removes the entry.
    pub(super) fn remove_command(self, scope: InstallScope) -> Vec<String> {
        let mut command = vec!["mcp", "remove"];
        if self != Self::Codex {
            command.extend(["--scope", scope.as_str()]);
        }
        command.push(NAME);
        command.into_iter().map(str::to_owned).collect()
    }
}

impl InstallScope {
    /// Returns the name that clients use.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl ServerEntry {
    fn read(value: &Value) -> Option<Self> {
        let args = value.get("args").and_then(Value::as_array);
        let args = args.into_iter().flatten().map(|arg| arg.as_str());
        Some(Self {
            command: value.get("command")?.as_str()?.to_owned(),
            args: args
                .map(|arg| arg.map(str::to_owned))
                .collect::<Option<_>>()?,
        })
    }

    /// Formats the entry as a shell line.
    pub(super) fn shell_line(&self) -> String {
        let all = std::iter::once(&self.command).chain(&self.args);
        shell_line(all.map(String::as_str))
    }
}

/// Formats words as a shell line.
pub(super) fn shell_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    let quoted = words.into_iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(command: &str) -> ServerEntry {
        ServerEntry {
            command: command.to_owned(),
            args: vec!["mcp".to_owned()],
        }
    }

    #[test]
    fn what_is_there_is_read_in_both_forms() {
        let json = r#"{"mcpServers": {"codeteam": {"command": "x", "args": ["mcp"]}}, "other": 1}"#;
        let found = ExistingEntry::Entry(Some(entry("x")));
        assert_eq!(McpClient::Claude.parse_entry(json), found);
        assert_eq!(McpClient::Gemini.parse_entry(json), found);
        let toml = "[mcp_servers.codeteam]\ncommand = \"x\"\nargs = [\"mcp\"]\n";
        assert_eq!(McpClient::Codex.parse_entry(toml), found);
        let remote = r#"{"mcpServers": {"codeteam": {"url": "http://x"}}}"#;
        assert_eq!(
            McpClient::Claude.parse_entry(remote),
            ExistingEntry::Entry(None)
        );
        for nothing in ["", "{}", r#"{"mcpServers": {}}"#] {
            assert_eq!(
                McpClient::Claude.parse_entry(nothing),
                ExistingEntry::Nothing
            );
        }
        assert_eq!(
            McpClient::Gemini.parse_entry("{ // mine\n}"),
            ExistingEntry::Unknown
        );
    }

    #[test]
    fn a_line_can_be_pasted() {
        let words = ["/a b/codeteam", "mcp", "it's", ""];
        assert_eq!(shell_line(words), r"'/a b/codeteam' mcp 'it'\''s' ''");
    }
}
