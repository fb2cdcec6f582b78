//! Worktrees of frames that have ended: what they hold is kept as a commit, then they go.
//!
//! Not an effect of the kernel: nothing in a run depends on it, a repetition does no harm, and
//! what was left behind by a crash is found again when the run is resumed or pruned. A frame that
//! failed keeps its worktree, for a person to look at and for `retry`.

use std::path::Path;
use std::sync::Arc;

use codeteam_core::Event;
use codeteam_core::event::{FrameOutcome, SandboxKind};
use codeteam_core::frame::{Frame, FrameStage, Tip};
use codeteam_core::ids::{FramePath, RunId};

use super::Driver;
use crate::engine::Engine;
use crate::git::{CommitSignature, Oid};
use crate::hand;
use crate::perform::{self, now, with_causes, workspace_name};
use crate::process::WaitLimit;
use crate::workspace::{self, RemovalOutcome, SnapshotRequest, Workspace};

/// A frame that ended and whose worktree may go; `base` is what a branch has of it.
pub(super) struct EndedFrame {
    frame: FramePath,
    base: Tip,
}

impl Driver<'_> {
    /// The ending that an event is about to be, before it is applied.
    pub(super) fn ending(&self, event: &Event) -> Option<EndedFrame> {
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

    /// Closes the worktrees of ended frames, beside the run: nothing waits for it but the end.
    pub(super) fn clean_up(&mut self, ended: Vec<EndedFrame>) {
        for EndedFrame { frame, base } in ended {
            if self.inflight.keys().any(|id| id.frame == frame) {
                // Something is being cancelled in it; `sweep_worktrees` comes back to it.
                continue;
            }
            let (engine, run) = (Arc::clone(&self.engine), self.run.id.clone());
            let sandbox = self.run.sandbox;
            let observer = Arc::clone(&self.observer);
            let interrupt = self.options.interrupt.clone();
            let close = move || {
                let _obeys = WaitLimit::obey(&interrupt);
                if let Err(error) = close_frame(&engine, &run, &frame, &base, sandbox) {
                    if interrupt.is_cancelled() {
                        // It is found again when the run is resumed or pruned.
                        return;
                    }
                    let why = with_causes(&error);
                    observer.warn(&format!(
                        "the worktree of `{frame}` was left in place: {why}"
                    ));
                }
            };
            // Without a thread for it, `sweep_worktrees` does it at the end.
            if let Ok(thread) = std::thread::Builder::new()
                .name("tidy".to_owned())
                .spawn(close)
            {
                self.tidying.retain(|t| !t.is_finished());
                self.tidying.push(thread);
            }
        }
    }

    /// Waits until nothing is being tidied up.
    pub(super) fn tidied(&mut self) {
        for thread in self.tidying.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Driver<'_> {
    /// Closes what frames of an ended run have left, because something was still running in it
    /// when they ended or because codeteam died in between.
    pub(super) fn sweep_worktrees(&mut self) {
        self.tidied();
        if !self.run.is_terminal() || !self.inflight.is_empty() {
            return;
        }
        let kept: Vec<String> = self
            .run
            .failed
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
        let root = self.engine.workspaces_of(&self.run.id);
        let _obeys = WaitLimit::obey(&self.options.interrupt);
        let mut names = workspaces_in(&root);
        let edited = names.iter();
        let edited = edited.filter(|name| is_edited(&self.engine, &self.run.id, name));
        let edited = edited.map(|name| name.trim_end_matches(hand::SUFFIX).to_owned());
        let kept: Vec<String> = kept.into_iter().chain(edited).collect();
        // What others borrow from goes last.
        names.sort_by_key(|name| !name.ends_with(hand::SUFFIX));
        for name in names {
            if kept
                .iter()
                .any(|kept| name == *kept || is_beside(&name, kept))
            {
                continue;
            }
            let closed = self
                .engine
                .workspace(&self.run.id, self.run.sandbox, &name)
                .and_then(|w| close(&self.engine, &self.run.id, &w, &name, &self.run.tip.clone()));
            if let Err(error) = closed {
                let why = with_causes(&error);
                self.observer
                    .warn(&format!("the worktree `{name}` was left in place: {why}"));
            }
        }
        let mut warn = |message: &str| self.observer.warn(message);
        // Nothing is being removed any more.
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

/// Whether a workspace is one beside a frame's own, such as a reviewer's.
fn is_beside(name: &str, own: &str) -> bool {
    name.strip_prefix(own)
        .is_some_and(|rest| rest.starts_with('@'))
}

/// Whether a person is editing in a workspace.
fn is_edited(engine: &Engine, run: &RunId, name: &str) -> bool {
    name.ends_with(hand::SUFFIX) && hand::is_in_use(engine, run, name)
}

/// The run's own frame keeps its worktree unless the run was completed.
fn keeps_its_worktree(frame: &Frame) -> bool {
    !matches!(frame.stage, FrameStage::Ended(FrameOutcome::Completed))
}

/// Keeps what a frame's worktrees hold beyond `known` and removes them.
pub(crate) fn close_frame(
    engine: &Engine,
    run: &RunId,
    frame: &FramePath,
    known: &Tip,
    sandbox: SandboxKind,
) -> Result<Vec<String>, workspace::Error> {
    let root = engine.workspaces_of(run);
    let own = workspace_name(frame);
    let mut kept = Vec::new();
    let mut names = workspaces_in(&root);
    names.retain(|name| *name == own || is_beside(name, &own));
    if names.iter().any(|name| is_edited(engine, run, name)) {
        // It goes when whoever edits there is done: at the end of the run, or by `prune`.
        return Ok(kept);
    }
    // What others borrow from goes last.
    names.sort_by_key(|name| *name == own);
    for name in names {
        let is_own = name == own;
        let workspace = engine.workspace(run, sandbox, &name)?;
        if name.ends_with(hand::SUFFIX) {
            // A person's, who may not have handed everything back.
            let lent = hand::lent_tree(engine, run, &name);
            let known = Tip {
                commit: known.commit.clone(),
                tree: lent.unwrap_or_else(|| known.tree.clone()),
            };
            kept.extend(close(engine, run, &workspace, &name, &known)?);
            continue;
        }
        if !is_own {
            // A reviewer's or the checks': not where changes are made, so there is nothing to keep.
            workspace.remove()?;
            continue;
        }
        if let Some(reference) = close(engine, run, &workspace, &name, known)? {
            kept.push(reference);
        }
    }
    // The folder goes with the last of them.
    let _ = std::fs::remove_dir(root.join(".trash"));
    Ok(kept)
}

/// Keeps and removes one workspace; returns the reference that keeps it, if one was needed.
pub(crate) fn close(
    engine: &Engine,
    run: &RunId,
    workspace: &Workspace,
    name: &str,
    known: &Tip,
) -> Result<Option<String>, workspace::Error> {
    if engine.untouched.take(&workspace.tree_dir(), &known.tree) {
        workspace.remove()?;
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

/// Where what a run's worktrees held is kept.
pub(crate) fn worktree_refs(run: &RunId) -> String {
    format!("refs/codeteam/{run}/worktree/")
}

/// A worktree's name as git takes it for part of a reference: plans that were accepted earlier may
/// have tasks such as `x.lock`.
fn escape(name: &str) -> String {
    let mut escaped = name.replace("..", ".%2e");
    if escaped.ends_with('.') || escaped.to_ascii_lowercase().ends_with(".lock") {
        let dot = escaped.rfind('.').unwrap_or(0);
        escaped.replace_range(dot..=dot, "%2e");
    }
    escaped
}

/// The name again.
pub(crate) fn unescape(name: &str) -> String {
    name.replace("%2e", ".")
}

/// The names of the workspaces in a run's folder.
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
