//! The tools of workers: what roles call them, what each worker calls them, and which of them a kind
//! of role needs.
//!
//! A role names a tool by a word that means the same for every worker (`read`, `run`), or by the name
//! that some worker has for it (`read_file`, `Bash`), so that another worker can carry the role out.
//! A role that names none gets what its kind needs and no more: every tool that is offered is sent
//! to the model with each request.

use codeteam_core::assignment::Assignment;
use codeteam_core::role::{Kind, Means};

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
            Self::Search => &["search", "Grep", "grep_search", "search_file_content"],
            Self::List => &["list", "list_files", "Glob", "glob", "list_directory"],
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
        all.find(|word| word.names().contains(&base_name(name)))
    }

    /// What a role of a kind needs to do what it owes.
    fn needed_by(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Implementer => &[
                Self::Read,
                Self::Search,
                Self::List,
                Self::Edit,
                Self::Write,
                Self::Run,
            ],
            Kind::Analyst | Kind::Designer | Kind::Planner | Kind::Gatekeeper => {
                &[Self::Read, Self::Search, Self::List, Self::Run]
            }
            Kind::Scribe => &[Self::Read, Self::Search, Self::List],
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
    /// The tools of its own that a worker gets for an assignment.
    pub(super) fn offered(&self, assignment: &Assignment) -> Vec<String> {
        let allowed = &assignment.means.allowed_tools;
        if allowed.is_empty() {
            let words = ToolWord::needed_by(assignment.kind).iter();
            return distinct(words.flat_map(|word| (self.of)(*word)).copied());
        }
        let mut names = Vec::new();
        for name in allowed {
            match ToolWord::parse(name) {
                _ if self.has(name) => names.push(name.as_str()),
                Some(word) => names.extend((self.of)(word)),
                // Another worker's own tool has no counterpart here; the rest are servers' tools.
                None => {}
            }
        }
        distinct(names)
    }

    fn has(&self, name: &str) -> bool {
        let name = base_name(name);
        let mut words = ToolWord::ALL.into_iter();
        self.only.contains(&name) || words.any(|word| (self.of)(word).contains(&name))
    }
}

/// The tools of MCP servers that a role allows by name: `server__tool`, or `tool` alone.
pub(super) fn of_servers(means: &Means) -> impl Iterator<Item = &str> {
    let names = means.allowed_tools.iter().map(String::as_str);
    names.filter(|name| !is_known(name, false))
}

/// Whether an assignment's worker may use a tool, for workers that have no list of tools but
/// switches.
pub(super) fn may_use(assignment: &Assignment, word: ToolWord) -> bool {
    let allowed = &assignment.means.allowed_tools;
    if allowed.is_empty() {
        return ToolWord::needed_by(assignment.kind).contains(&word);
    }
    let mut words = allowed.iter().filter_map(|name| ToolWord::parse(name));
    words.any(|known| known == word)
}

/// Whether an assignment's worker may look at files, change them or run something.
pub(super) fn has_tools(assignment: &Assignment) -> bool {
    let mut words = ToolWord::ALL.into_iter();
    words.any(|word| word != ToolWord::Web && may_use(assignment, word))
}

/// The first tool that a role allows and no worker has. A name that is nobody's may be a tool of one
/// of the role's MCP servers.
pub(crate) fn unknown(means: &Means) -> Option<&str> {
    let mut names = means.allowed_tools.iter().map(String::as_str);
    names.find(|name| !is_known(name, !means.mcp_servers.is_empty()))
}

/// Whether a role may name a tool so.
pub(crate) fn is_known(name: &str, has_servers: bool) -> bool {
    has_servers || ToolWord::parse(name).is_some() || is_of_a_worker(name)
}

/// The words that every worker understands, for a message.
pub(crate) const WORDS: &str =
    "`read`, `search`, `list`, `edit`, `write`, `run` and `web`, or a worker's own name of a tool";

/// How to name a tool that no worker has, for a message.
pub(crate) const OF_A_SERVER: &str =
    "a tool of your own is one of an MCP server, which the role names under `mcp_servers`";

fn is_of_a_worker(name: &str) -> bool {
    let mut all = [
        ONLY_OF_CLAUDE,
        ONLY_OF_GEMINI,
        ONLY_OF_CODEX,
        ONLY_OF_BUILTIN,
    ]
    .into_iter();
    all.any(|names| names.contains(&base_name(name)))
}

/// A tool's name without what stands in brackets behind it, which narrows it: `Bash(git log:*)`.
fn base_name(name: &str) -> &str {
    name.split('(').next().unwrap_or(name).trim()
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

    fn means(allowed: &[&str], servers: &[&str]) -> Means {
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Means {
            allowed_tools: texts(allowed),
            mcp_servers: texts(servers),
            ..Means::default()
        }
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
    fn a_tool_that_nobody_has_is_found() {
        let fine = means(&["read", "edit_file", "Bash(git log:*)", "Skill"], &[]);
        assert_eq!(unknown(&fine), None);
        assert_eq!(
            unknown(&means(&["read", "fly"], &[])),
            Some("fly"),
            "it is nobody's"
        );
        assert_eq!(unknown(&means(&["fly"], &["birds"])), None);
    }
}
