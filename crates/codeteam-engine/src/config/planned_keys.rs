//! Keys of features that are still to come, or are gone.
//!
//! A key that would only make work faster or cheaper is accepted, and every run warns that it has
//! no effect yet. A key that would block or order work is refused, because whoever writes it relies
//! on it. So is a key of a feature that was taken out.

use codeteam_workflow::yaml::{Diagnostic, SourceFiles, YamlNode};

/// Keys that have no effect yet, and what that means.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("projects", "packages have no roles of their own"),
    ("adaptive", "workers are not chosen by how they did before"),
];

/// Keys that are refused, the reason, and what to write instead.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "cross_project_dependencies",
        "codeteam does not order work by packages yet",
        "leave it out, and say in the plan which tasks depend on which: `dependencies: [types]`",
    ),
    (
        "embeddings",
        "codeteam no longer finds files with an embedding model",
        "leave it out; files are found by words, names, imports and past commits, and a step's or a role's \
         `context` names those that must be shown",
    ),
];

/// Returns notes about configured keys without effect, each with its position.
pub(super) fn list_ineffective_keys(node: &YamlNode, sources: &SourceFiles) -> Vec<String> {
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

/// Returns faults for the refused keys in a configuration file.
pub(super) fn list_refused_keys(node: &YamlNode) -> Vec<Diagnostic> {
    let entries = node.as_map().unwrap_or_default().iter();
    let fault = |key: &codeteam_workflow::yaml::YamlKey| {
        let (_, message, hint) = REFUSED.iter().find(|(known, ..)| *known == key.name)?;
        Some(Diagnostic::at(key.place, format!("`{}`: {message}", key.name)).with_hint(*hint))
    };
    entries.filter_map(|(key, _)| fault(key)).collect()
}

/// Returns true if a key, or one above it, has no effect yet.
pub(super) fn is_planned_key(path: &str) -> bool {
    WITHOUT_EFFECT.iter().any(|(key, _)| {
        let rest = path.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}
