//! What a worker or a gate is shown of the host.

use std::fs;
use std::path::{Component, Path, PathBuf};

use codeteam_core::workflow::glob_matches;
use codeteam_sandbox::{Access, Kind};

use super::Error;
use crate::process::View;
use crate::workspace::Workspace;

/// What of a repository configures a worker's CLI: its settings, hooks, servers, environment. What
/// it says there could send the worker's traffic elsewhere or run programs beside it.
const CONFIGURES: &[&str] = &[".claude", ".codex", ".gemini", ".mcp.json", ".env"];

/// What of it only instructs the worker, and stays.
const INSTRUCTS: &[&str] = &[
    ".claude/CLAUDE.md",
    ".claude/CLAUDE.local.md",
    ".claude/rules",
    ".gemini/GEMINI.md",
];

/// A work tree with its git, which works inside and reaches nothing of the user's repository but
/// its objects, read-only.
pub(super) fn of(workspace: &Workspace, access: Access) -> Result<View, Error> {
    let mut view = View::default();
    let tree = workspace.tree_dir();
    view.show(tree.clone(), access);
    view.show(tree.join(".git"), Access::ReadOnly);
    view.show(workspace.git_dir(), access);
    for objects in workspace.object_dirs()? {
        view.show(objects, Access::ReadOnly);
    }
    Ok(view)
}

/// Covers what would configure the worker's CLI, but for what the user allows by name.
pub(super) fn hide_configuration(view: &mut View, tree: &Path, allowed: &[String]) {
    let kept: Vec<&Path> = INSTRUCTS
        .iter()
        .copied()
        .chain(allowed.iter().map(String::as_str))
        .map(Path::new)
        .collect();
    for name in CONFIGURES {
        hide_but(view, tree, Path::new(name), &kept);
    }
}

/// Covers the files that a role is not to see. Nothing of the repository's history is shown then
/// either: it has them too.
pub(super) fn without(workspace: &Workspace, access: Access, patterns: &[String]) -> View {
    let mut view = View::default();
    let tree = workspace.tree_dir();
    view.show(tree.clone(), access);
    view.hide(tree.join(".git"), Kind::File);
    hide_matching(&mut view, &tree, Path::new(""), patterns);
    view
}

fn hide_matching(view: &mut View, tree: &Path, folder: &Path, patterns: &[String]) {
    let entries = fs::read_dir(tree.join(folder)).into_iter().flatten();
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let text = path.to_string_lossy();
        if patterns.iter().any(|pattern| glob_matches(pattern, &text)) {
            // A link shows nothing that is not shown, or hidden, where it leads to.
            if !kind.is_symlink() {
                view.hide(tree.join(&path), kind_of(kind.is_dir()));
            }
        } else if kind.is_dir() {
            hide_matching(view, tree, &path, patterns);
        }
    }
}

fn hide_but(view: &mut View, tree: &Path, path: &Path, kept: &[&Path]) {
    if kept.contains(&path) {
        return;
    }
    let Some(real) = inside(tree, path) else {
        return;
    };
    let keeps_some = kept.iter().any(|kept| kept.starts_with(path));
    if !real.is_dir() || !keeps_some {
        view.hide(real.clone(), kind_of(real.is_dir()));
        return;
    }
    let entries = fs::read_dir(&real).into_iter().flatten();
    for entry in entries.flatten() {
        hide_but(view, tree, &path.join(entry.file_name()), kept);
    }
}

/// What a path of the work tree really is, if it is in there: nothing can lie over a link, and what
/// a link leads to outside does not exist for the worker.
fn inside(tree: &Path, path: &Path) -> Option<PathBuf> {
    let base = tree.canonicalize().ok()?;
    let real = base.join(path).canonicalize().ok()?;
    let rest = real.strip_prefix(&base).ok()?;
    let is_below = rest.components().next().is_some_and(|first| {
        first != Component::Normal(".git".as_ref()) && matches!(first, Component::Normal(_))
    });
    is_below.then(|| tree.join(rest))
}

fn kind_of(is_dir: bool) -> Kind {
    if is_dir { Kind::Directory } else { Kind::File }
}

#[cfg(test)]
mod tests {
    use codeteam_sandbox::Entry;

    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        for file in files {
            let path = tree.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        tree
    }

    fn hidden(view: &View, tree: &Path) -> Vec<String> {
        let mut names: Vec<String> = view
            .entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Hidden { target, .. } => Some(target.strip_prefix(tree).unwrap()),
                _ => None,
            })
            .map(|path| path.display().to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn instructions_stay_and_configuration_goes() {
        let tree = tree(&[
            "CLAUDE.md",
            "AGENTS.md",
            ".claude/CLAUDE.md",
            ".claude/settings.json",
            ".claude/hooks/x.sh",
            ".codex/config.toml",
            ".gemini/.env",
            ".mcp.json",
            ".env",
            "src/.env",
        ]);
        let mut view = View::default();
        hide_configuration(&mut view, tree.path(), &[]);
        assert_eq!(
            hidden(&view, tree.path()),
            [
                ".claude/hooks",
                ".claude/settings.json",
                ".codex",
                ".env",
                ".gemini/.env",
                ".mcp.json"
            ]
        );
    }

    #[test]
    fn the_user_may_allow_a_file_by_name() {
        let tree = tree(&[".codex/config.toml", ".codex/other", ".mcp.json"]);
        let mut view = View::default();
        let allowed = [".codex/config.toml".to_owned(), ".mcp.json".to_owned()];
        hide_configuration(&mut view, tree.path(), &allowed);
        assert_eq!(hidden(&view, tree.path()), [".codex/other"]);
    }

    #[test]
    fn links_are_followed_within_the_tree_and_not_out_of_it() {
        let tree = tree(&["team/settings.json", "team/CLAUDE.md"]);
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, tree.path().join(name)).unwrap();
        };
        link("team", ".claude");
        link("/etc", ".codex");
        link(".git/x", ".env");
        let mut view = View::default();
        hide_configuration(&mut view, tree.path(), &[]);
        assert_eq!(hidden(&view, tree.path()), ["team/settings.json"]);
    }

    #[test]
    fn patterns_hide_files_and_whole_folders() {
        let tree = tree(&["src/internal/a.rs", "src/api.rs", "docs/plan.md", "x.key"]);
        let mut view = View::default();
        let patterns = ["src/internal".to_owned(), "**/*.key".to_owned()];
        hide_matching(&mut view, tree.path(), Path::new(""), &patterns);
        assert_eq!(hidden(&view, tree.path()), ["src/internal", "x.key"]);
    }
}
