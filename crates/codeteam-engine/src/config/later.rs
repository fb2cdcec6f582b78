//! Keys that are read and checked, and whose feature is still to come.

use codeteam_core::yaml::{Node, Sources};

/// What is not yet in force, by its path; `*` is any key. The second is a value that needs nothing.
const LATER: &[(&str, Option<&str>)] = &[
    ("output", None),
    ("approval_gates", None),
    ("projects", None),
    ("cross_project_dependencies", None),
    ("adaptive", None),
];

/// What of the configuration is not yet in force, each with its place.
pub(super) fn notes(node: &Node, sources: &Sources) -> Vec<String> {
    let mut notes = Vec::new();
    for (path, harmless) in LATER {
        let parts: Vec<&str> = path.split('.').collect();
        find(node, &parts, "", &mut |path, node| {
            let is_default = harmless.is_some() && node.as_text() == *harmless;
            if !is_default && !node.is_null() {
                let place = sources.describe(node.place);
                notes.push(format!(
                    "`{path}` is read and checked, but not yet in force ({place})"
                ));
            }
        });
    }
    notes
}

/// Whether a key, or one above it, is not yet in force.
pub(super) fn has(path: &str) -> bool {
    LATER.iter().any(|(later, _)| {
        let rest = path.strip_prefix(later);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    })
}

fn find(node: &Node, parts: &[&str], path: &str, found: &mut dyn FnMut(&str, &Node)) {
    let Some((first, rest)) = parts.split_first() else {
        return found(path, node);
    };
    for (key, inner) in node.as_map().unwrap_or_default() {
        if *first == "*" || key.name == *first {
            let dot = if path.is_empty() { "" } else { "." };
            find(inner, rest, &format!("{path}{dot}{}", key.name), found);
        }
    }
}
