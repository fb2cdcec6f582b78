//! What a worker sees of its work tree.

use codeteam_core::assignment::Assignment;
use codeteam_host::process::HostView;
use codeteam_host::workspace::Workspace;
use codeteam_sandbox::MountAccess;

use crate::engine::Engine;
use crate::perform::{Error, Job, caches, sandbox_view, setup};

/// Builds the view of a worker: its worktree, which is writable only if the worker is asked for a
/// change. It has nothing in the files that its role excludes, or in those of the implementation if
/// that is hidden from it.
pub(super) fn show(
    job: &Job,
    assignment: &Assignment,
    internals: &[String],
    workspace: &Workspace,
    engine: &Engine,
) -> Result<HostView, Error> {
    let access = if super::changes_files(assignment) {
        MountAccess::Writable
    } else {
        MountAccess::ReadOnly
    };
    let mut view = if assignment.shown.exclude.is_empty() {
        sandbox_view::show_workspace(workspace, access)?
    } else {
        let mut hidden = assignment.shown.exclude.clone();
        hidden.extend(internals.iter().map(|path| codeteam_patterns::escape(path)));
        sandbox_view::show_workspace_without(workspace, access, &hidden)?
    };
    caches::show_caches(&mut view, job, engine)?;
    let allowed = &engine.config.sandbox.allow_files;
    sandbox_view::hide_configuration(&mut view, &workspace.tree_dir(), allowed);
    if access == MountAccess::Writable {
        let tree = &assignment.tree;
        sandbox_view::lock_interfaces(&mut view, &assignment.locked, workspace, tree)?;
    }
    // This must come last, so that whatever is hidden above is hidden at the shared path too.
    setup::show_shared(&mut view, job, workspace, engine)?;
    Ok(view)
}
