//! The tools of workers: what roles call them, what each worker calls them, and which of them a kind
//! of role needs.
//!
//! A role names a tool by a word that means the same for every worker (`read`, `run`), or by the name
//! that some worker has for it (`read_file`, `Bash`), so that another worker can carry the role out.
//! A role that names none gets what its kind needs and no more: every tool that is offered is sent
//! to the model with each request.

use codeteam_core::assignment::Assignment;
use codeteam_core::role::{ExecutionOptions, RoleKind};

/// A tool by what it is for, whichever worker has it.
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

    /// The word that roles use, and the names that workers have for the same thing.
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

    /// What a role of a kind needs to do what it owes.
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

/// Tools of one worker that no other has.
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

/// What one worker calls its tools.
#[derive(Debug)]
pub(super) struct ToolNames {
    /// Its names for the tool that a word means.
    pub(super) of: fn(ToolWord) -> &'static [&'static str],
    /// Its further tools.
    only: &'static [&'static str],
}

pub(super) const CLAUDE: ToolNames = ToolNames {
    of: |word| match word {
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
    of: |word| match word {
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
    of: |word| match word {
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
    /// The tools of its own that a worker gets for a role.
    pub(super) fn offered(&self, kind: RoleKind, means: &ExecutionOptions) -> Vec<String> {
        let allowed = &means.allowed_tools;
        if allowed.is_empty() {
            let words = ToolWord::needed_by(kind).iter();
            return distinct(words.flat_map(|word| (self.of)(*word)).copied());
        }
        let mut names = Vec::new();
        for name in allowed {
            match ToolWord::parse(plain(name)) {
                // As it stands: what follows in brackets narrows it.
                _ if self.has(plain(name)) => names.push(name.as_str()),
                Some(word) => names.extend((self.of)(word)),
                None => names.extend(self.beginning_with(name)),
            }
        }
        distinct(names)
    }

    /// Its tools whose names begin as `name` does, if that ends in `*`. Other workers' own tools have
    /// no counterpart here, and the rest are servers' tools.
    fn beginning_with(&self, name: &str) -> Vec<&'static str> {
        let Some(start) = name.strip_suffix('*') else {
            return Vec::new();
        };
        let words = ToolWord::ALL.into_iter();
        let all = words.flat_map(self.of).chain(self.only).copied();
        all.filter(|known| known.starts_with(start)).collect()
    }

    fn has(&self, name: &str) -> bool {
        let mut words = ToolWord::ALL.into_iter();
        self.only.contains(&name) || words.any(|word| (self.of)(word).contains(&name))
    }
}

/// The tools of MCP servers that a role allows by name: `server__tool`, or `tool` alone.
pub(super) fn of_servers(means: &ExecutionOptions) -> impl Iterator<Item = &str> {
    let names = means.allowed_tools.iter().map(String::as_str);
    names.filter(|name| !is_known(name))
}

/// Whether an assignment's worker may use a tool, for workers that have no list of tools but
/// switches.
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

/// Whether an assignment's worker may look at files, change them or run something.
pub(super) fn has_tools(assignment: &Assignment) -> bool {
    let mut words = ToolWord::ALL.into_iter();
    words.any(|word| word != ToolWord::Web && may_use(assignment, word))
}

/// Whether any worker has a tool of this name, or tools whose names begin so if it ends in `*`. What
/// stands in brackets behind it narrows it.
pub(crate) fn is_known(name: &str) -> bool {
    let name = plain(name);
    let mut all = ToolWord::ALL.into_iter().flat_map(ToolWord::names);
    match name.strip_suffix('*') {
        Some(start) => all.any(|known| known.starts_with(start)),
        None => ToolWord::parse(name).is_some() || is_of_a_worker(name),
    }
}

/// The words that every worker understands, for those who named a tool that there is not.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    let words = ToolWord::ALL.into_iter();
    words.filter_map(|word| word.names().first().copied())
}

/// A tool without what narrows it.
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
        CLAUDE.offered(RoleKind::Implementer, &means)
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
                for name in (names.of)(word) {
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
            assert!(is_known(known), "{known}");
        }
        for unknown in ["backtest_runner", "raed", ""] {
            assert!(!is_known(unknown), "{unknown}");
        }
    }
}
