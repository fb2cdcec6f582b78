//! What a role may call tools, so that it can be carried out by any worker: `read`, `write`,
//! `edit`, `run`, `search`, `list`, `web`, or what one of the workers calls them. Every worker is given
//! its own names for them.

/// The words for tools, each with what the workers call it.
const WORDS: &[(&str, &[&str])] = &[
    ("read", &["Read", "read_file"]),
    ("write", &["Write", "write_file"]),
    (
        "edit",
        &["Edit", "MultiEdit", "edit_file", "replace", "apply_patch"],
    ),
    (
        "run",
        &["Bash", "run_command", "run_shell_command", "shell"],
    ),
    (
        "search",
        &["Grep", "grep_search", "search_file_content", "search_files"],
    ),
    (
        "list",
        &["Glob", "LS", "glob", "list_files", "list_directory"],
    ),
    (
        "web",
        &[
            "WebSearch",
            "WebFetch",
            "web_search",
            "google_web_search",
            "web_fetch",
        ],
    ),
];

/// Tools that one worker has and the others have nothing like.
const ONE_HAS: &[&str] = &[
    "Agent",
    "NotebookEdit",
    "NotebookRead",
    "Skill",
    "Task",
    "TodoWrite",
    "read_many_files",
    "save_memory",
    "write_todos",
];

/// The word for a tool that some worker calls by this name.
fn word_for(name: &str) -> Option<&'static str> {
    let found = WORDS
        .iter()
        .find(|(word, names)| *word == name || names.contains(&name));
    found.map(|(word, _)| *word)
}

/// Whether any worker has a tool of this name, or tools whose names begin so if it ends in `*`. What
/// stands in brackets behind it narrows it.
pub(crate) fn is_known(name: &str) -> bool {
    let name = name.split('(').next().unwrap_or(name).trim();
    let all = || {
        WORDS
            .iter()
            .flat_map(|(word, names)| [*word].into_iter().chain(names.iter().copied()))
    };
    match name.strip_suffix('*') {
        Some(start) => all().any(|known| known.starts_with(start)),
        None => word_for(name).is_some() || ONE_HAS.contains(&name),
    }
}

/// What tools may be called, for those who named one that there is not.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(word, _)| *word)
}

/// The worker's own names for the tools a role names. `own` has those of a word.
pub(super) fn named(
    words: &[String],
    own: impl Fn(&str) -> &'static [&'static str],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let is_own = WORDS
            .iter()
            .any(|(known, _)| own(known).contains(&word.as_str()));
        let known: &[&str] = match word_for(word) {
            Some(known) if !is_own => own(known),
            _ => &[],
        };
        if known.is_empty() {
            names.push(word.clone());
        } else {
            names.extend(known.iter().map(|&name| name.to_owned()));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claude(word: &str) -> &'static [&'static str] {
        match word {
            "read" => &["Read"],
            "edit" => &["Edit"],
            "search" => &["Grep", "Glob"],
            "list" => &["Glob"],
            _ => &[],
        }
    }

    fn named_for_claude(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        named(&words, claude)
    }

    #[test]
    fn what_one_worker_calls_a_tool_the_others_understand() {
        assert_eq!(
            named_for_claude(&["read_file", "edit_file"]),
            ["Read", "Edit"]
        );
        assert_eq!(named_for_claude(&["search", "list"]), ["Grep", "Glob"]);
    }

    #[test]
    fn a_workers_own_name_means_that_tool_alone() {
        assert_eq!(named_for_claude(&["Grep"]), ["Grep"]);
        assert_eq!(named_for_claude(&["Bash(git log:*)"]), ["Bash(git log:*)"]);
        assert_eq!(
            named_for_claude(&["mcp__tickets__find"]),
            ["mcp__tickets__find"]
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
