//! The part of the host's file system that a worker or a gate can see.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use codeteam_core::ids::Tree;
use codeteam_core::locks::InterfaceLock;
use codeteam_sandbox::{MountAccess, MountEntry, PathKind};

use super::{Error, oid};
use codeteam_host::process::HostView;
use codeteam_host::workspace::Workspace;
use codeteam_patterns::FilePatterns;

/// The files of a repository that configure a worker's CLI: its settings, hooks, servers,
/// environment. They could redirect the worker's traffic or run other programs.
const CONFIGURES: &[&str] = &[
    ".claude",
    ".codex",
    ".gemini",
    ".mcp.json",
    ".env",
    // A CLI that was built with Bun reads these too.
    ".env.local",
    ".env.development",
    ".env.development.local",
    ".env.production",
    ".env.production.local",
    ".env.test",
    ".env.test.local",
    "bunfig.toml",
];

/// A folder with more entries than this is hidden as a whole, even parts that would stay visible:
/// nothing that a worker does may keep the next one from starting.
const MANY: usize = 200;

/// The exceptions: files that only instruct the worker and stay visible.
const INSTRUCTS: &[&str] = &[
    ".claude/CLAUDE.md",
    ".claude/CLAUDE.local.md",
    ".claude/rules",
    ".gemini/GEMINI.md",
];

/// The maximum number of files and folders that one sandbox can hide.
const COVERED: usize = 1_000;

/// Shows a worktree with its git directory. Git works inside, and reaches nothing of the user's
/// repository but its objects, read-only.
pub(super) fn show_workspace(
    workspace: &Workspace,
    access: MountAccess,
) -> Result<HostView, Error> {
    let mut view = HostView::default();
    let tree = workspace.tree_dir();
    view.show(tree.clone(), access);
    view.show(tree.join(".git"), MountAccess::ReadOnly);
    view.show(workspace.git_dir(), access);
    for objects in workspace.object_dirs()? {
        view.show(objects, MountAccess::ReadOnly);
    }
    Ok(view)
}

/// Shows the files of locked interfaces read-only in a worktree that holds a tree. One that is not as it
/// was locked stays writable, so that the worker can put it back.
pub(super) fn lock_interfaces(
    view: &mut HostView,
    locks: &[InterfaceLock],
    workspace: &Workspace,
    tree: &Tree,
) -> Result<(), Error> {
    if locks.is_empty() {
        return Ok(());
    }
    let there = workspace.tree_files(&oid(&tree.0)?)?;
    for lock in locks {
        let path = Path::new(&lock.file.path);
        let found = there.iter().find(|file| file.path == path);
        if found.is_some_and(|file| file.id.as_str() == lock.file.blob) {
            view.show(workspace.tree_dir().join(path), MountAccess::ReadOnly);
        }
    }
    Ok(())
}

/// Hides what would configure the worker's CLI, except for what the user allows by name. Everything
/// that workers can write must be shown already, because links may lead there.
pub(super) fn hide_configuration(view: &mut HostView, tree: &Path, allowed: &[String]) {
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

/// Shows a worktree without the files that a role must not see. The repository's history is hidden
/// as well, because it contains them too.
pub(super) fn show_workspace_without(
    workspace: &Workspace,
    access: MountAccess,
    patterns: &[String],
) -> Result<HostView, Error> {
    let mut view = HostView::default();
    let tree = workspace.tree_dir();
    view.show(tree.clone(), access);
    view.hide(tree.join(".git"), PathKind::File);
    let hidden = FilePatterns::for_hidden_files(patterns);
    hide_matching(&mut view, &tree, Path::new(""), &hidden);
    let count = view.entries.len();
    if count > COVERED {
        return Err(Error::TooMuchHidden { count });
    }
    Ok(view)
}

fn hide_matching(view: &mut HostView, tree: &Path, folder: &Path, hidden: &FilePatterns) {
    let entries = fs::read_dir(tree.join(folder)).into_iter().flatten();
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let text = path.to_string_lossy();
        if hidden.matches(&text) {
            // A link shows nothing that is not shown, or hidden, at its target.
            if !kind.is_symlink() {
                view.hide(tree.join(&path), kind_of(kind.is_dir()));
            }
        } else if kind.is_dir() {
            hide_matching(view, tree, &path, hidden);
        }
    }
}

fn hide_but(view: &mut HostView, tree: &Path, path: &Path, kept: &[&Path]) {
    if kept.contains(&path) {
        return;
    }
    let Some(found) = resolve_inside(view, &tree.join(path)) else {
        return;
    };
    if !is_a_workers(&found.target, tree) {
        return;
    }
    let is_dir = found.source.is_dir();
    let keeps_some = kept.iter().any(|kept| kept.starts_with(path));
    if !is_dir || !keeps_some {
        view.hide(found.target, kind_of(is_dir));
        return;
    }
    let entries = fs::read_dir(&found.source).into_iter().flatten();
    let names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    if names.len() > MANY {
        view.hide(found.target, PathKind::Directory);
        return;
    }
    for name in names {
        hide_but(view, tree, &path.join(name), kept);
    }
}

/// Returns true if a worker may have written a path: anything except the worktree's git directory,
/// which is created anew for each worker and is indispensable.
fn is_a_workers(path: &Path, tree: &Path) -> bool {
    match (path.strip_prefix(tree), tree.parent()) {
        (Ok(inside), _) => inside != Path::new("") && !inside.starts_with(".git"),
        (Err(_), Some(workspace)) => !path.starts_with(workspace),
        (Err(_), None) => true,
    }
}

/// A path that a command can see.
struct ShownPath {
    /// The path inside the sandbox.
    target: PathBuf,
    /// The path on the host.
    source: PathBuf,
}

/// Resolves a path as it would be resolved inside the sandbox. Returns `None` if it leads to
/// nothing that is shown. A link cannot be covered by a mount, and a link that is broken on the
/// host may lead somewhere inside.
fn resolve_inside(view: &HostView, path: &Path) -> Option<ShownPath> {
    const LINKS: usize = 40;
    let mut links = 0;
    let mut target = PathBuf::from("/");
    let mut rest = backwards(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            target.pop();
            continue;
        }
        target.push(part);
        // A folder that is not shown itself may lead to one that is.
        let Some(source) = source_of(view, &target) else {
            continue;
        };
        if source.symlink_metadata().ok()?.is_symlink() {
            links += 1;
            if links > LINKS {
                return None;
            }
            target.pop();
            let to = fs::read_link(source).ok()?;
            if to.is_absolute() {
                target = PathBuf::from("/");
            }
            rest.extend(backwards(&to));
        }
    }
    let source = source_of(view, &target)?;
    Some(ShownPath { target, source })
}

/// Returns the components of a path in reverse order.
fn backwards(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

/// Returns the host path of what is shown at a path.
fn source_of(view: &HostView, path: &Path) -> Option<PathBuf> {
    let mut over = view.entries.iter().rev();
    let top = over.find(|entry| path.starts_with(entry.target()))?;
    let rest = path.strip_prefix(top.target()).ok()?;
    match top {
        MountEntry::Bind { source, .. } if rest == Path::new("") => Some(source.clone()),
        MountEntry::Bind { source, .. } => Some(source.join(rest)),
        _ => None,
    }
}

fn kind_of(is_dir: bool) -> PathKind {
    if is_dir {
        PathKind::Directory
    } else {
        PathKind::File
    }
}

#[cfg(test)]
mod tests {
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

    fn showing(tree: &tempfile::TempDir) -> HostView {
        let mut view = HostView::default();
        view.show(tree.path().to_owned(), MountAccess::Writable);
        view
    }

    fn hidden(view: &HostView, tree: &Path) -> Vec<String> {
        let mut names: Vec<String> = view
            .entries
            .iter()
            .filter_map(|entry| match entry {
                MountEntry::Hidden { target, .. } => Some(target.strip_prefix(tree).unwrap()),
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
            ".env.local",
            ".env.example",
            "src/.env",
        ]);
        let mut view = showing(&tree);
        hide_configuration(&mut view, tree.path(), &[]);
        assert_eq!(
            hidden(&view, tree.path()),
            [
                ".claude/hooks",
                ".claude/settings.json",
                ".codex",
                ".env",
                ".env.local",
                ".gemini/.env",
                ".mcp.json"
            ]
        );
    }

    #[test]
    fn a_folder_with_too_much_in_it_goes_as_a_whole() {
        let names: Vec<String> = (0..300).map(|n| format!(".claude/{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let tree = tree(&names);
        let mut view = showing(&tree);
        hide_configuration(&mut view, tree.path(), &[]);
        assert_eq!(hidden(&view, tree.path()), [".claude"]);
    }

    #[test]
    fn the_user_may_allow_a_file_by_name() {
        let tree = tree(&[".codex/config.toml", ".codex/other", ".mcp.json"]);
        let mut view = showing(&tree);
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
        link(".git", ".env");
        let mut view = showing(&tree);
        hide_configuration(&mut view, tree.path(), &[]);
        assert_eq!(hidden(&view, tree.path()), ["team/settings.json"]);
    }

    #[test]
    fn links_are_followed_to_where_they_lead_inside() {
        let (tree, cache) = (tree(&["x"]), tree(&["settings.json", "env"]));
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, tree.path().join(name)).unwrap();
        };
        link("/home/agent/cache", ".codex");
        link("way", ".mcp.json");
        link("../../../../../../home/agent/cache/env", "way");
        link(".env", ".env");
        // Covered with what is over it already.
        link(".codex", ".gemini");
        let mut view = showing(&tree);
        view.entries.push(MountEntry::Bind {
            source: cache.path().to_owned(),
            target: "/home/agent/cache".into(),
            access: MountAccess::Writable,
        });
        hide_configuration(&mut view, tree.path(), &[]);
        let hidden: Vec<&Path> = view.entries[2..].iter().map(MountEntry::target).collect();
        assert_eq!(hidden, [Path::new("/home/agent/cache")]);
    }

    #[test]
    fn patterns_hide_files_and_whole_folders() {
        let tree = tree(&["src/internal/a.rs", "src/api.rs", "docs/plan.md", "x.key"]);
        let mut view = HostView::default();
        let patterns = [
            "src/internal".to_owned(),
            "**/*.{key,pem}".to_owned(),
            "docs/".to_owned(),
        ];
        let all = FilePatterns::for_hidden_files(&patterns);
        hide_matching(&mut view, tree.path(), Path::new(""), &all);
        let mut found = hidden(&view, tree.path());
        found.sort_unstable();
        assert_eq!(found, ["docs", "src/internal", "x.key"]);
    }
}
