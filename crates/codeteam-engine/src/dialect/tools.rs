//! The tools of workers: their names in roles, their names in each worker, and which of them each
//! kind of role needs.
//!
//! A role names a tool by a word that means the same for every worker (`read`, `run`), or by the
//! name that one worker has for it (`read_file`, `Bash`), so that another worker can carry out the
//! role. A role that names no tools gets what its kind needs and no more, because every tool that
//! is offered is sent to the model with each request.

use codeteam_core::assignment::Assignment;
use codeteam_core::role::{ExecutionOptions, RoleKind};

/// A tool by its purpose, independent of the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolWord {
    Read,
    Search,
    List,
    Edit,
    Write,
    Run,
    Web,
}

impl ToolWord {
    const ALL: [Self; 7] = [
        Self::Read,
        Self::Search,
        Self::List,
        Self::Edit,
        Self::Write,
        Self::Run,
        Self::Web,
    ];

    /// Returns the word that roles use, followed by the workers' names for the same tool.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Read => &["read", "read_file", "Read", "read_many_files"],
            Self::Search => &[
                "search",
                "Grep",
                "grep_search",
                "search_file_content",
                "search_files",
            ],
            Self::List => &["list", "list_files", "Glob", "LS", "glob", "list_directory"],
            Self::Edit => &[
                "edit",
                "edit_file",
                "Edit",
                "MultiEdit",
                "replace",
                "apply_patch",
            ],
            Self::Write => &["write", "write_file", "Write"],
            Self::Run => &[
                "run",
                "run_command",
                "Bash",
                "run_shell_command",
                "shell",
                "exec_command",
            ],
            Self::Web => &[
                "web",
                "web_search",
                "WebSearch",
                "WebFetch",
                "google_web_search",
                "web_fetch",
            ],
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|word| word.names().contains(&name))
    }

    /// Returns the tools that a kind of role needs.
    fn needed_by(kind: RoleKind) -> &'static [Self] {
        match kind {
            RoleKind::Implementer => &[
                Self::Read,
                Self::Search,
                Self::List,
                Self::Edit,
                Self::Write,
                Self::Run,
            ],
            RoleKind::Analyst | RoleKind::Designer | RoleKind::Planner | RoleKind::Gatekeeper => {
                &[Self::Read, Self::Search, Self::List, Self::Run]
            }
            RoleKind::Scribe => &[Self::Read, Self::Search, Self::List],
        }
    }
}

/// Tools of one worker that have no counterpart in others.
const ONLY_OF_CLAUDE: &[&str] = &[
    "Agent",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterWorktree",
    "ExitWorktree",
    "KillShell",
    "LSP",
    "Monitor",
    "NotebookEdit",
    "NotebookRead",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "Workflow",
];
const ONLY_OF_GEMINI: &[&str] = &[
    "activate_skill",
    "codebase_investigator",
    "get_internal_docs",
    "invoke_agent",
    "list_background_processes",
    "read_background_output",
    "save_memory",
    "update_topic",
    "write_todos",
];
const ONLY_OF_CODEX: &[&str] = &["update_plan", "view_image", "write_stdin"];
const ONLY_OF_BUILTIN: &[&str] = &["submit"];

/// The names that one worker has for its tools.
#[derive(Debug)]
pub(super) struct ToolNames {
    /// Returns its names for a tool.
    pub(super) names_for: fn(ToolWord) -> &'static [&'static str],
    /// Its other tools.
    only: &'static [&'static str],
}

pub(super) const CLAUDE: ToolNames = ToolNames {
    names_for: |word| match word {
        ToolWord::Read => &["Read"],
        ToolWord::Search => &["Grep", "Glob"],
        ToolWord::List => &["Glob"],
        ToolWord::Edit => &["Edit"],
        ToolWord::Write => &["Write"],
        ToolWord::Run => &["Bash"],
        ToolWord::Web => &["WebSearch", "WebFetch"],
    },
    only: ONLY_OF_CLAUDE,
};

pub(super) const GEMINI: ToolNames = ToolNames {
    names_for: |word| match word {
        ToolWord::Read => &["read_file", "read_many_files"],
        ToolWord::Search => &["grep_search", "glob"],
        ToolWord::List => &["list_directory", "glob"],
        ToolWord::Edit => &["replace"],
        ToolWord::Write => &["write_file"],
        ToolWord::Run => &["run_shell_command"],
        ToolWord::Web => &["google_web_search", "web_fetch"],
    },
    only: ONLY_OF_GEMINI,
};

pub(super) const BUILTIN: ToolNames = ToolNames {
    names_for: |word| match word {
        ToolWord::Read => &["read_file"],
        ToolWord::Search => &["search"],
        ToolWord::List => &["list_files"],
        ToolWord::Edit => &["edit_file"],
        ToolWord::Write => &["write_file"],
        ToolWord::Run => &["run_command"],
        ToolWord::Web => &["web_search"],
    },
    only: ONLY_OF_BUILTIN,
};

impl ToolNames {
    /// Returns the worker's own tools that a role gets.
    pub(super) fn tools_for_role(&self, kind: RoleKind, means: &ExecutionOptions) -> Vec<String> {
        let allowed = &means.allowed_tools;
        if allowed.is_empty() {
            let words = ToolWord::needed_by(kind).iter();
            return distinct(words.flat_map(|word| (self.names_for)(*word)).copied());
        }
        let mut names = Vec::new();
        for name in allowed {
            match ToolWord::parse(plain(name)) {
                // Use the name as it is: what follows in brackets restricts it.
                _ if self.has(plain(name)) => names.push(name.as_str()),
                Some(word) => names.extend((self.names_for)(word)),
                None => names.extend(self.beginning_with(name)),
            }
        }
        distinct(names)
    }

    /// Returns the worker's tools that match `name`, if that ends in `*`. Otherwise the name is
    /// either a tool that only another worker has, without a counterpart here, or a tool of an MCP
    /// server.
    fn beginning_with(&self, name: &str) -> Vec<&'static str> {
        let Some(start) = name.strip_suffix('*') else {
            return Vec::new();
        };
        let words = ToolWord::ALL.into_iter();
        let all = words.flat_map(self.names_for).chain(self.only).copied();
        all.filter(|known| known.starts_with(start)).collect()
    }

    fn has(&self, name: &str) -> bool {
        let mut words = ToolWord::ALL.into_iter();
        self.only.contains(&name) || words.any(|word| (self.names_for)(word).contains(&name))
    }
}

/// Returns the tools of MCP servers that a role allows by name: `server__tool`, or `tool` alone.
pub(super) fn server_tools(means: &ExecutionOptions) -> impl Iterator<Item = &str> {
    let names = means.allowed_tools.iter().map(String::as_str);
    names.filter(|name| !is_known_tool(name))
}

/// Returns true if an assignment's worker may use a tool, for workers that have switches instead of
/// a list of tools.
pub(super) fn may_use(assignment: &Assignment, word: ToolWord) -> bool {
    let allowed = &assignment.means.allowed_tools;
    if allowed.is_empty() {
        return ToolWord::needed_by(assignment.kind).contains(&word);
    }
    let mut words = allowed
        .iter()
        .filter_map(|name| ToolWord::parse(plain(name)));
    words.any(|known| known == word)
}

/// Returns true if an assignment's worker may read files, change them or run something.
pub(super) fn has_tools(assignment: &Assignment) -> bool {
    let mut words = ToolWord::ALL.into_iter();
    words.any(|word| word != ToolWord::Web && may_use(assignment, word))
}

/// Returns true if any worker has a tool of this name, or one with this prefix if the name ends in
/// `*`. Text in brackets after the name restricts the tool and is ignored.
pub(crate) fn is_known_tool(name: &str) -> bool {
    let name = plain(name);
    let mut all = ToolWord::ALL.into_iter().flat_map(ToolWord::names);
    match name.strip_suffix('*') {
        Some(start) => all.any(|known| known.starts_with(start)),
        None => ToolWord::parse(name).is_some() || is_of_a_worker(name),
    }
}

/// Returns true if one of the named tools searches the web.
pub(crate) fn searches_web(names: &[String]) -> bool {
    let mut words = names.iter().filter_map(|name| ToolWord::parse(plain(name)));
    words.any(|word| word == ToolWord::Web)
}

/// Returns the words that every worker understands, for hints about an unknown tool.
pub(crate) fn list_tool_words() -> impl Iterator<Item = &'static str> {
    let words = ToolWord::ALL.into_iter();
    words.filter_map(|word| word.names().first().copied())
}

/// Returns the name of a tool without its restriction.
fn plain(name: &str) -> &str {
    name.split('(').next().unwrap_or(name).trim()
}

fn is_of_a_worker(name: &str) -> bool {
    let mut all = [
        ONLY_OF_CLAUDE,
        ONLY_OF_GEMINI,
        ONLY_OF_CODEX,
        ONLY_OF_BUILTIN,
    ]
    .into_iter();
    all.any(|names| names.contains(&name))
}

fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if seen.iter().all(|known| known != name) {
            seen.push(name.to_owned());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named_for_claude(allowed: &[&str]) -> Vec<String> {
        let means = ExecutionOptions {
            allowed_tools: allowed.iter().map(|&name| name.to_owned()).collect(),
            ..ExecutionOptions::default()
        };
        CLAUDE.tools_for_role(RoleKind::Implementer, &means)
    }

    #[test]
    fn every_name_is_one_tool() {
        let all = ToolWord::ALL.into_iter().flat_map(ToolWord::names);
        let mut all: Vec<&str> = all.copied().collect();
        all.extend(ONLY_OF_CLAUDE.iter().chain(ONLY_OF_GEMINI));
        all.extend(ONLY_OF_CODEX.iter().chain(ONLY_OF_BUILTIN));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "a name means two tools");
    }

    #[test]
    fn what_a_worker_calls_its_tools_is_known_by_word() {
        for names in [&CLAUDE, &GEMINI, &BUILTIN] {
            for word in ToolWord::ALL {
                for name in (names.names_for)(word) {
                    assert!(ToolWord::parse(name).is_some(), "`{name}`");
                }
            }
        }
    }

    #[test]
    fn what_one_worker_calls_a_tool_the_others_understand() {
        assert_eq!(
            named_for_claude(&["read_file", "edit_file"]),
            ["Read", "Edit"]
        );
        assert_eq!(named_for_claude(&["search", "list"]), ["Grep", "Glob"]);
        assert_eq!(named_for_claude(&["read", "write_todos"]), ["Read"]);
    }

    #[test]
    fn a_workers_own_name_means_that_tool_alone() {
        assert_eq!(named_for_claude(&["Grep"]), ["Grep"]);
        assert_eq!(named_for_claude(&["Bash(git log:*)"]), ["Bash(git log:*)"]);
        assert_eq!(
            named_for_claude(&["Web*", "Skill"]),
            ["WebSearch", "WebFetch", "Skill"]
        );
    }

    #[test]
    fn only_tools_that_some_worker_has_are_known() {
        for known in [
            "read",
            "read_file",
            "Bash(git log:*)",
            "TodoWrite",
            "glob",
            "read_*",
        ] {
            assert!(is_known_tool(known), "{known}");
        }
        for unknown in ["backtest_runner", "raed", ""] {
            assert!(!is_known_tool(unknown), "{unknown}");
        }
    }
}
