//! Finds the files of a job: the workspace of its frame, the additional ones, and objects that the
//! repository has already.

use std::sync::Arc;

use codeteam_core::frame::Tip;
use codeteam_core::ids::Tree;
use serde::Deserialize as _;

use super::{Error, Job, JobKind, oid};
use crate::config::GateConfig;
use crate::engine::Engine;
use crate::halt::Halt;
use codeteam_host::git;
use codeteam_host::process::CommandLauncher;
use codeteam_host::workspace::{self, IgnoredFiles, Workspace};

impl Job {
    /// Opens the workspace of the job. Reviewers in other slots than the first have their own, so
    /// that none can disturb another.
    pub(super) fn workspace(&self, engine: &Engine) -> Result<Workspace, Error> {
        if let (JobKind::StartWorker(_), Some(slot)) = (&self.kind, self.side_slot) {
            let name = format!("{}@s{slot}", workspace_name(&self.id.frame));
            // The tree may exist in the frame's own workspace only.
            let own = self.frame_workspace(engine)?;
            return Ok(self.open(engine, &name)?.borrowing_objects(&own));
        }
        self.frame_workspace(engine)
    }

    /// Opens the workspace in which the frame's change is made, and kept until it is integrated. If
    /// it was lost, the change is rebuilt from its patch; a session's change is in the repository
    /// already.
    fn frame_workspace(&self, engine: &Engine) -> Result<Workspace, Error> {
        let workspace = self.open(engine, &workspace_name(&self.id.frame))?;
        if self.change.is_some()
            && workspace.is_missing()
            && !self.is_known(engine, &oid(&self.tree.0)?)
        {
            // If that fails, whatever needs the tree reports it.
            let _ = self.rebuild_tree(engine, &workspace);
        }
        Ok(workspace)
    }

    /// Rebuilds the objects of the frame's tree from its patch. Returns true if the result is the
    /// same tree.
    fn rebuild_tree(&self, engine: &Engine, workspace: &Workspace) -> Result<bool, Error> {
        let Some(change) = &self.change else {
            return Ok(false);
        };
        let patch = engine.bodies.get(change.as_str())?;
        let (base, tree) = (oid(&self.base.commit.0)?, oid(&self.base.tree.0)?);
        let made = workspace.rebuild_tree(&base, &tree, &patch)?;
        Ok(made.as_str() == self.tree.as_str())
    }

    /// Runs `act`, which needs the objects of the frame's tree. Objects that the user's repository
    /// had, in no commit, are not copied; if its git has pruned them meanwhile, they are rebuilt
    /// and `act` is tried once more.
    pub(super) fn with_objects<T>(
        &self,
        engine: &Engine,
        act: impl Fn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let failed = match act() {
            Err(
                error @ (Error::Git(git::Error::Failed { .. })
                | Error::Workspace(workspace::Error::Git(git::Error::Failed { .. }))),
            ) => error,
            done => return done,
        };
        let own = self.open(engine, &workspace_name(&self.id.frame))?;
        match self.rebuild_tree(engine, &own) {
            Ok(true) => act(),
            _ => Err(failed),
        }
    }

    /// Returns true if the repository has a tree because it was in a session's checkout.
    fn is_known(&self, engine: &Engine, tree: &git::Oid) -> bool {
        self.in_session() && engine.repo.tree_of(tree).is_ok()
    }

    /// Transfers a tree of the frame's workspace to the repository. Returns `None` if it was there.
    pub(super) fn publish_tree(
        &self,
        engine: &Engine,
        tree: &git::Oid,
        base: &git::Oid,
    ) -> Result<Option<git::TransferredTree>, Error> {
        self.with_objects(engine, || {
            let workspace = self.workspace(engine)?;
            if workspace.is_missing() && self.is_known(engine, tree) {
                // The tree is in the repository already; check that it is complete.
                engine.repo.require_whole(tree, base)?;
                return Ok(None);
            }
            Ok(Some(workspace.transfer(tree, base)?))
        })
    }

    /// Merges the frame's tree with a tip, where both descend from `base`, and returns the diff
    /// from the tip's tree to the result. The result is stored among the workspace's own objects,
    /// if there is a workspace: in the repository nothing would refer to it until it is committed.
    pub(super) fn merge(
        &self,
        engine: &Engine,
        base: &git::Oid,
        onto: &Tip,
        ours: &git::Oid,
    ) -> Result<(git::MergeOutcome, Option<git::TreeDiff>), Error> {
        let (tip, tip_tree) = (oid(&onto.commit.0)?, oid(&onto.tree.0)?);
        self.with_objects(engine, || {
            let workspace = self.workspace(engine)?;
            if workspace.is_missing() {
                let merged = engine.repo.merge_trees(base, &tip, ours)?;
                let diff = merged.tree().map(|tree| engine.repo.diff(&tip_tree, tree));
                return Ok((merged.clone(), diff.transpose()?));
            }
            let merged = workspace.merge_trees(base, &tip, ours)?;
            let diff = merged.tree().map(|tree| workspace.diff(&tip_tree, tree));
            Ok((merged.clone(), diff.transpose()?))
        })
    }

    /// Brings the job's workspace to exactly `tree`.
    pub(super) fn prepare(&self, engine: &Engine, tree: &Tree) -> Result<Arc<Workspace>, Error> {
        let workspace = self.workspace(engine)?;
        let (wanted, base) = (oid(&tree.0)?, oid(&self.base.commit.0)?);
        if engine.clean_worktrees.take(&workspace.tree_dir(), tree) {
            workspace.renew_git_dir(&base)?;
            return Ok(Arc::new(workspace));
        }
        self.with_objects(engine, || {
            let workspace = self.workspace(engine)?;
            workspace.prepare(&wanted, &base, IgnoredFiles::Keep)?;
            Ok(Arc::new(workspace))
        })
    }

    /// Prepares a separate worktree for checks. Unless the user configures otherwise, it is another
    /// one for each tree, new or as if new, so that it contains nothing that a worker left next to
    /// the files of its change, or that its tests left when an earlier change was judged.
    pub(super) fn prepare_gate(&self, engine: &Engine, tree: &Tree) -> Result<Workspace, Error> {
        let name = format!("{}@gate", workspace_name(&self.id.frame));
        let (wanted, base) = (oid(&tree.0)?, oid(&self.base.commit.0)?);
        let anew = !self.gate_config(engine)?.keep_worktree;
        let workspace = self.with_objects(engine, || {
            let own = self.frame_workspace(engine)?;
            let workspace = self.open(engine, &name)?.borrowing_objects(&own);
            if anew {
                workspace.release()?;
            }
            workspace.prepare(&wanted, &base, IgnoredFiles::Keep)?;
            Ok(workspace)
        })?;
        self.refuse_false_objects(&workspace, &wanted)?;
        // The change is computed from the base's tree, so that must be intact too.
        let from = oid(&self.base.tree.0)?;
        if self.in_session() && !workspace.are_trees_intact(&from)? {
            return Err(false_folder(&from).into());
        }
        Ok(workspace)
    }

    /// Prepares a worktree for trying another tree than the one that is judged. It is another one
    /// each time, as for checks, unless checks keep theirs.
    pub(super) fn prepare_trial(
        &self,
        engine: &Engine,
        gate: &Workspace,
        tree: &git::Oid,
    ) -> Result<Workspace, Error> {
        let name = format!("{}@trial", workspace_name(&self.id.frame));
        let own = self.frame_workspace(engine)?;
        let workspace = self
            .open(engine, &name)?
            .borrowing_objects(&own)
            .borrowing_objects(gate);
        if !self.gate_config(engine)?.keep_worktree {
            workspace.release()?;
        }
        workspace.prepare(tree, &oid(&self.base.commit.0)?, IgnoredFiles::Keep)?;
        self.refuse_false_objects(&workspace, tree)?;
        Ok(workspace)
    }

    /// Prepares a worktree for running the set-up command on a tree, once for all worktrees that
    /// need its products. It is another one each time, as for checks.
    pub(super) fn prepare_setup(
        &self,
        engine: &Engine,
        asking: &Workspace,
        tree: &git::Oid,
    ) -> Result<Workspace, Error> {
        let (frame, slot) = (workspace_name(&self.id.frame), self.id.slot);
        let own = self.frame_workspace(engine)?;
        let workspace = self
            .open(engine, &format!("{frame}@setup{slot}"))?
            .borrowing_objects(&own)
            .borrowing_objects(asking);
        workspace.release()?;
        workspace.prepare(tree, &oid(&self.base.commit.0)?, IgnoredFiles::Keep)?;
        self.refuse_false_objects(&workspace, tree)?;
        Ok(workspace)
    }

    /// Refuses a worktree for checks whose content does not match its tree's id, where a session
    /// could write to the repository's objects.
    fn refuse_false_objects(&self, workspace: &Workspace, tree: &git::Oid) -> Result<(), Error> {
        if !self.in_session() {
            return Ok(());
        }
        Err(match workspace.first_altered_file(tree)? {
            None => return Ok(()),
            Some(file) if file.as_os_str().is_empty() => false_folder(tree),
            Some(file) => Halt::FalseObject {
                what: format!("`{}`", file.display()),
            },
        }
        .into())
    }

    /// Returns the settings that the run's gates use in addition to their checks: the current ones,
    /// or those pinned when a session began the run.
    pub(super) fn gate_config(&self, engine: &Engine) -> Result<GateConfig, Error> {
        match &self.gate_settings {
            None => Ok(engine.config.gate_config()),
            Some(basis) => GateConfig::deserialize(&basis.config).map_err(Error::GateConfig),
        }
    }

    /// Returns true if nothing has been committed to the run's branch yet.
    pub(super) fn is_first_commit(&self, onto: &Tip) -> bool {
        *onto == self.started_from
    }

    fn open(&self, engine: &Engine, name: &str) -> Result<Workspace, Error> {
        let opened = if self.in_session() {
            engine.workspace(&self.run, self.sandbox, name)
        } else {
            engine.pooled_workspace(&self.run, self.sandbox, name)
        };
        match opened {
            Err(workspace::Error::Sandbox(missing)) => Err(Halt::NoSandbox(missing).into()),
            opened => Ok(opened?),
        }
    }

    /// Returns the launcher that confines what this job runs.
    pub(super) fn launcher(&self, engine: &Engine) -> Result<Arc<dyn CommandLauncher>, Error> {
        let found = engine.launcher_for_config(self.sandbox, &self.gate_config(engine)?.sandbox);
        Ok(found.map_err(Halt::NoSandbox)?)
    }

    /// Tells the launcher that this job will run a confined command in the next moments. If there is
    /// no launcher, whoever needs it reports that.
    pub(super) fn expect_launch(&self, engine: &Engine) {
        if let Ok(launcher) = self.launcher(engine) {
            launcher.expect_launch();
        }
    }

    /// Returns the mark of every process that this job starts.
    pub(super) fn mark(&self, engine: &Engine) -> String {
        format!("{}/{}", engine.process_mark(&self.run), self.id.fence)
    }
}

fn false_folder(tree: &git::Oid) -> Halt {
    Halt::FalseObject {
        what: format!("a folder of the tree {tree}"),
    }
}

/// Returns the name of a frame's workspace: its path with the separators replaced.
pub(crate) fn workspace_name(frame: &codeteam_core::ids::FramePath) -> String {
    // A task's name can contain neither this nor the `@` of additional workspaces.
    frame.as_str().replace('/', "+")
}

#[cfg(test)]
mod tests {
    use codeteam_core::ids::{FramePath, is_valid_name};

    use super::workspace_name;

    #[test]
    fn no_task_has_the_name_of_anothers_worktree() {
        let root = FramePath::root();
        for beside in ["@gate", "@trial", "@setup0", "@hand", "@s1"] {
            assert!(!is_valid_name(&format!("T1{beside}")));
        }
        let nested = workspace_name(&root.child("a").child("b"));
        assert!(nested.ends_with("a+b") && !is_valid_name("a+b"));
        assert_ne!(nested, workspace_name(&root.child("a--b")));
    }
}
