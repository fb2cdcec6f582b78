//! Cleans up worktrees of frames that have ended: stores their content as a commit, then removes
//! them.
//!
//! This is not an effect of the kernel: nothing in a run depends on it, repeating it does no harm,
//! and whatever a crash leaves behind is found again when the run is resumed or pruned. A frame
//! that failed keeps its worktree, for a person to inspect and for `retry`.

use std::path::Path;
use std::sync::Arc;

use codeteam_core::Event;
use codeteam_core::event::SandboxKind;
use codeteam_core::frame::FrameOutcome;
use codeteam_core::frame::{Frame, FrameStage, Tip};
use codeteam_core::ids::{FramePath, RunId};

use super::Driver;
use crate::clock::now;
use crate::engine::Engine;
use crate::manual_edit;
use crate::perform::{self, workspace_name};
use codeteam_host::error_chain::format_error_chain;
use codeteam_host::git::{CommitSignature, Oid};
use codeteam_host::process::WaitLimit;
use codeteam_host::workspace::{
    self, AnnouncedRelease, RemovalOutcome, SnapshotRequest, Workspace,
};

/// A frame that has ended and whose worktree may be removed. `base` is the part of its content that
/// is on a branch already.
pub(super) struct EndedFrame {
    frame: FramePath,
    base: Tip,
}

impl Driver<'_> {
    /// Returns the frame that `event` ends, if its worktree may be removed. To be called before the
    /// event is applied.
    pub(super) fn ended_frame(&self, event: &Event) -> Option<EndedFrame> {
        let Event::FrameEnded { frame, outcome } = event else {
            return None;
        };
        let keep = matches!(outcome, FrameOutcome::Failed(_))
            || (frame.is_root() && *outcome != FrameOutcome::Completed);
        if keep {
            return None;
        }
        let base = self.run.frames.get(frame)?.base.clone();
        Some(EndedFrame {
            frame: frame.clone(),
            base,
        })
    }

    /// Closes the worktrees of ended frames in the background: only the end of the driver waits for
    /// it.
    pub(super) fn clean_up(&mut self, ended: Vec<EndedFrame>) {
        for EndedFrame { frame, base } in ended {
            if self.inflight.keys().any(|id| id.frame == frame) {
                // A cancelled job still runs in it; `sweep_worktrees` closes it later.
                continue;
            }
            let (engine, run) = (Arc::clone(&self.engine), self.run.id.clone());
            let sandbox = self.run.sandbox;
            let observer = Arc::clone(&self.observer);
            let interrupt = self.options.interrupt.clone();
            let span = self.run_span.clone();
            // Whoever needs a work tree from now on rather waits for this one.
            let directory = engine
                .run_workspaces_folder(&run)
                .join(workspace_name(&frame));
            let pool = engine.worktree_pool(sandbox);
            let announced: Option<AnnouncedRelease> = pool.announce_release(&directory);
            let close = move || {
                let _inside = span.enter();
                let _obeys = WaitLimit::obey_cancel(&interrupt);
                if let Err(error) = close_frame(&engine, &run, &frame, &base, sandbox) {
                    if interrupt.is_cancelled() {
                        // The worktree is found again when the run is resumed or pruned.
                        return;
                    }
                    let why = format_error_chain(&error);
                    observer.warn(&format!(
                        "the worktree of `{frame}` was left in place: {why}"
                    ));
                }
                drop(announced);
            };
            // If no thread can be started, `sweep_worktrees` does it at the end.
            if let Ok(thread) = std::thread::Builder::new()
                .name("tidy".to_owned())
                .spawn(close)
            {
                self.cleanup_threads.retain(|t| !t.is_finished());
                self.cleanup_threads.push(thread);
            }
        }
    }

    /// Waits until all background clean-up has ended.
    pub(super) fn wait_for_cleanup(&mut self) {
        for thread in self.cleanup_threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Driver<'_> {
    /// Closes the worktrees that are left in an ended run, because something was still running in
    /// them when their frames ended or because codeteam died in between.
    pub(super) fn sweep_worktrees(&mut self) {
        self.wait_for_cleanup();
        if !self.run.is_terminal() || !self.inflight.is_empty() {
            return;
        }
        let kept: Vec<String> = self
            .run
            .failed_frames
            .keys()
            .chain(
                self.run
                    .frames
                    .values()
                    .filter(|f| keeps_its_worktree(f))
                    .map(|f| &f.path),
            )
            .map(workspace_name)
            .collect();
        let root = self.engine.run_workspaces_folder(&self.run.id);
        let _obeys = WaitLimit::obey_cancel(&self.options.interrupt);
        let mut names = workspaces_in(&root);
        let edited = names.iter();
        let edited = edited.filter(|name| is_edited(&self.engine, &self.run.id, name));
        let edited = edited.map(|name| name.trim_end_matches(manual_edit::SUFFIX).to_owned());
        let kept: Vec<String> = kept.into_iter().chain(edited).collect();
        // Remove the workspaces that others borrow objects from last.
        names.sort_by_key(|name| !name.ends_with(manual_edit::SUFFIX));
        for name in names {
            if kept
                .iter()
                .any(|kept| name == *kept || is_side_workspace(&name, kept))
            {
                continue;
            }
            let closed = open_for_closing(&self.engine, &self.run.id, self.run.sandbox, &name)
                .and_then(|w| {
                    close_workspace(&self.engine, &self.run.id, &w, &name, &self.run.tip.clone())
                });
            if let Err(error) = closed {
                let why = format_error_chain(&error);
                self.observer
                    .warn(&format!("the worktree `{name}` was left in place: {why}"));
            }
        }
        self.engine.worktree_pool(self.run.sandbox).trim_idle();
        let mut warn = |message: &str| self.observer.warn(message);
        // No removal is under way any more, so the trash can be emptied.
        let _ = workspace::empty_trash(&root);
        if kept.is_empty() {
            // Nothing in these folders is needed once the run has ended.
            perform::clear_attempts(&self.engine, &self.run.id, &mut warn);
            let _ = std::fs::remove_dir_all(root.join(".caches"));
            let _ = std::fs::remove_dir(&root);
        } else {
            perform::recover_logins(&self.engine, &self.run.id, &mut warn);
        }
    }
}

/// Returns true if a workspace is an additional one of a frame, such as a reviewer's.
fn is_side_workspace(name: &str, own: &str) -> bool {
    name.strip_prefix(own)
        .is_some_and(|rest| rest.starts_with('@'))
}

/// Returns true if a person is editing in a workspace.
fn is_edited(engine: &Engine, run: &RunId, name: &str) -> bool {
    name.ends_with(manual_edit::SUFFIX) && manual_edit::is_being_edited(engine, run, name)
}

/// Returns true unless the frame was completed: the run's own frame keeps its worktree otherwise.
fn keeps_its_worktree(frame: &Frame) -> bool {
    !matches!(frame.stage, FrameStage::Ended(FrameOutcome::Completed))
}

/// Stores what a frame's worktrees contain beyond `known`, and removes them.
pub(crate) fn close_frame(
    engine: &Engine,
    run: &RunId,
    frame: &FramePath,
    known: &Tip,
    sandbox: SandboxKind,
) -> Result<Vec<String>, workspace::Error> {
    let root = engine.run_workspaces_folder(run);
    let own = workspace_name(frame);
    let mut kept = Vec::new();
    let mut names = workspaces_in(&root);
    names.retain(|name| *name == own || is_side_workspace(name, &own));
    if names.iter().any(|name| is_edited(engine, run, name)) {
        // It is removed when the person has finished: at the end of the run, or by `prune`.
        return Ok(kept);
    }
    // Remove the workspaces that others borrow objects from last.
    names.sort_by_key(|name| *name == own);
    let pool = engine.worktree_pool(sandbox).for_ended_processes();
    for name in names {
        let is_own = name == own;
        let mut workspace = engine.workspace(run, sandbox, &name)?;
        if !name.ends_with(manual_edit::SUFFIX) {
            workspace = workspace.keeping_trees(pool.clone());
        }
        if name.ends_with(manual_edit::SUFFIX) {
            // This one is a person's, who may not have submitted everything.
            let lent = manual_edit::edit_base_tree(engine, run, &name);
            let known = Tip {
                commit: known.commit.clone(),
                tree: lent.unwrap_or_else(|| known.tree.clone()),
            };
            kept.extend(close_workspace(engine, run, &workspace, &name, &known)?);
            continue;
        }
        if !is_own {
            // Reviewers and checks do not make changes in theirs, so there is nothing to store.
            workspace.release()?;
            continue;
        }
        if let Some(reference) = close_workspace(engine, run, &workspace, &name, known)? {
            kept.push(reference);
        }
    }
    // The trash folder can be removed once it is empty.
    let _ = std::fs::remove_dir(root.join(".trash"));
    Ok(kept)
}

/// Opens a workspace that is to be closed. The work tree of a person is not kept for others: the
/// person may still be in it.
fn open_for_closing(
    engine: &Engine,
    run: &RunId,
    sandbox: SandboxKind,
    name: &str,
) -> Result<Workspace, workspace::Error> {
    if name.ends_with(manual_edit::SUFFIX) {
        return engine.workspace(run, sandbox, name);
    }
    engine.pooled_workspace(run, sandbox, name)
}

/// Stores the content of one workspace if necessary and removes it. Returns the reference under
/// which the content is stored, if there is one.
pub(crate) fn close_workspace(
    engine: &Engine,
    run: &RunId,
    workspace: &Workspace,
    name: &str,
    known: &Tip,
) -> Result<Option<String>, workspace::Error> {
    if engine
        .clean_worktrees
        .take(&workspace.tree_dir(), &known.tree)
    {
        workspace.release()?;
        return Ok(None);
    }
    let reference = format!("{}{}", worktree_refs(run), escape(name));
    let (Some(parent), Some(tree)) = (
        Oid::parse(known.commit.as_str()),
        Oid::parse(known.tree.as_str()),
    ) else {
        return Ok(None);
    };
    let seconds = i64::try_from(now().0 / 1_000).unwrap_or(0);
    let signature = CommitSignature {
        identity: engine.identity()?.cloned().unwrap_or_default(),
        seconds,
    };
    let message = format!("Worktree `{name}` of run {run}, as it was left");
    let removed = workspace.snapshot_and_remove(&SnapshotRequest {
        reference: &reference,
        parent: &parent,
        known_tree: &tree,
        message: &message,
        signature: &signature,
    })?;
    Ok(matches!(removed, RemovalOutcome::Kept { .. }).then_some(reference))
}

/// The prefix of the references under which the content of a run's worktrees is stored.
pub(crate) fn worktree_refs(run: &RunId) -> String {
    format!("refs/codeteam/{run}/worktree/")
}

/// Escapes a worktree's name for use in a git reference: plans that were accepted by earlier
/// versions may have tasks such as `x.lock`.
fn escape(name: &str) -> String {
    let mut escaped = name.replace("..", ".%2e");
    if escaped.ends_with('.') || escaped.to_ascii_lowercase().ends_with(".lock") {
        let dot = escaped.rfind('.').unwrap_or(0);
        escaped.replace_range(dot..=dot, "%2e");
    }
    escaped
}

/// Reverses `escape`.
pub(crate) fn unescape(name: &str) -> String {
    name.replace("%2e", ".")
}

/// Returns the names of the workspaces in a run's folder, sorted.
pub(crate) fn workspaces_in(root: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_worktree_can_be_kept_and_found_again() {
        for name in [
            "run+x.lock",
            "run+a..b",
            "run+x.",
            "run+a...",
            "run+T1@gate",
        ] {
            let escaped = escape(name);
            let is_bad = escaped.contains("..") || escaped.ends_with('.');
            let is_lock = escaped
                .rsplit_once('.')
                .is_some_and(|(_, end)| end == "lock");
            assert!(!is_bad && !is_lock, "{escaped}");
            assert_eq!(unescape(&escaped), name);
        }
    }
}
