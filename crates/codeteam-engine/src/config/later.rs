//! Keys of features that are still to come.
//!
//! What only makes work quicker or cheaper is read, and every run warns that it has no effect yet. What
//! would hold something up, or put it in order, is refused: whoever writes it counts on it.

use codeteam_core::yaml::{Diagnostic, SourceFiles, YamlNode};

/// Keys without effect so far, and what is so without them.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("projects", "packages have no roles of their own"),
    ("adaptive", "workers are not chosen by how they did before"),
];

/// Keys that are refused, what is wrong with them, and what to write instead.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "approval_gates",
        "codeteam does not ask for approval by the risk of a change yet",
        "leave it out; `workflow: { settings: { human_approval: true } }` asks before each commit, and a \
         step's `human_approval` asks there",
    ),
    (
        "cross_project_dependencies",
        "codeteam does not order work by packages yet",
        "leave it out, and say in the plan which tasks depend on which: `dependencies: [types]`",
    ),
    (
        "task",
        "a configuration has no task",
        "give the goal to `codeteam run \"…\"`; `--workflow solo` or `--workflow team` says how",
    ),
];

/// What is configured without effect, each with its place.
pub(super) fn notes(node: &YamlNode, sources: &SourceFiles) -> Vec<String> {
    let mut notes = Vec::new();
    for (key, so) in WITHOUT_EFFECT {
        let said = node.get(key).filter(|said| !said.is_null());
        let is_off =
            |said: &YamlNode| said.get("enabled").and_then(YamlNode::as_bool) == Some(false);
        if let Some(said) = said.filter(|said| !is_off(said)) {
            let place = sources.describe(said.place);
            notes.push(format!("`{key}` has no effect yet: {so} ({place})"));
        }
    }
    notes
}

/// What a file of the configuration says that is refused.
pub(super) fn refused(node: &YamlNode) -> Vec<Diagnostic> {
    let entries = node.as_map().unwrap_or_default().iter();
    let fault = |key: &codeteam_core::yaml::YamlKey| {
        let (_, message, hint) = REFUSED.iter().find(|(known, ..)| *known == key.name)?;
        Some(Diagnostic::at(key.place, format!("`{}`: {message}", key.name)).hint(*hint))
    };
    entries.filter_map(|(key, _)| fault(key)).collect()
}

/// Whether a key, or one above it, has no effect yet.
pub(super) fn has(path: &str) -> bool {
    WITHOUT_EFFECT.iter().any(|(key, _)| {
        let rest = path.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}
