//! Where a job's files are: the workspace of its frame, those beside it, and what the repository has
//! already.

use std::sync::Arc;

use codeteam_core::frame::Tip;
use codeteam_core::ids::Tree;
use serde::Deserialize as _;

use super::{Error, Halt, Job, JobKind, oid};
use crate::config::GateConfig;
use crate::engine::Engine;
use crate::git;
use crate::process::CommandLauncher;
use crate::workspace::{self, IgnoredFiles, Workspace};

impl Job {
    /// The workspace of the job's frame. Reviewers beside the first have their own, so that none
    /// can disturb another.
    pub(super) fn workspace(&self, engine: &Engine) -> Result<Workspace, Error> {
        if matches!(self.what, JobKind::Work(_)) && self.id.slot > 0 {
            let name = format!("{}@s{}", workspace_name(&self.id.frame), self.id.slot);
            // The tree may be known to the frame's own workspace only.
            let own = self.frame_workspace(engine)?;
            return Ok(self.open(engine, &name)?.borrowing(&own));
        }
        self.frame_workspace(engine)
    }

    /// The workspace that the frame's change is made in, and kept in until it is integrated. If it
    /// was lost, the change is made again from its patch; a session's is in the repository already.
    fn frame_workspace(&self, engine: &Engine) -> Result<Workspace, Error> {
        let workspace = self.open(engine, &workspace_name(&self.id.frame))?;
        if self.change.is_some()
            && workspace.is_missing()
            && !self.is_known(engine, &oid(&self.tree.0)?)
        {
            // If it cannot be, what needs the tree says so.
            let _ = self.remake(engine, &workspace);
        }
        Ok(workspace)
    }

    /// Makes the objects of the frame's tree again from its patch. Whether it is the same tree.
    fn remake(&self, engine: &Engine, workspace: &Workspace) -> Result<bool, Error> {
        let Some(change) = &self.change else {
            return Ok(false);
        };
        let patch = engine.bodies.get(change.as_str())?;
        let (base, tree) = (oid(&self.base.commit.0)?, oid(&self.base.tree.0)?);
        let made = workspace.remake(&base, &tree, &patch)?;
        Ok(made.as_str() == self.tree.as_str())
    }

    /// Does something that needs the objects of the frame's tree. Objects that the user's repository
    /// had, in no commit, are not copied; if its git has cleared them away meanwhile, they are made
    /// again and it is tried once more.
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
        match self.remake(engine, &own) {
            Ok(true) => act(),
            _ => Err(failed),
        }
    }

    /// Whether the repository has a tree because a session's checkout held it.
    fn is_known(&self, engine: &Engine, tree: &git::Oid) -> bool {
        self.in_session && engine.repo.tree_of(tree).is_ok()
    }

    /// Gives a tree of the frame's workspace to the repository.
    pub(super) fn hand_over(
        &self,
        engine: &Engine,
        tree: &git::Oid,
        base: &git::Oid,
    ) -> Result<(), Error> {
        self.with_objects(engine, || {
            let workspace = self.workspace(engine)?;
            if workspace.is_missing() && self.is_known(engine, tree) {
                // It is taken from where it is, if all of it still is there.
                return Ok(engine.repo.require_whole(tree, base)?);
            }
            Ok(workspace.transfer(tree, base)?)
        })
    }

    /// Merges the frame's tree with a tip, where both came from `base`, and says what leads from the
    /// tip's tree to the result. That is kept among the workspace's own objects, if there is one: in
    /// the repository nothing would refer to it until it is committed.
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

    /// Makes the job's workspace hold exactly `tree`.
    pub(super) fn prepare(&self, engine: &Engine, tree: &Tree) -> Result<Arc<Workspace>, Error> {
        let workspace = self.workspace(engine)?;
        let (wanted, base) = (oid(&tree.0)?, oid(&self.base.commit.0)?);
        if engine.untouched.take(&workspace.tree_dir(), tree) {
            workspace.renew_git_dir(&base)?;
            return Ok(Arc::new(workspace));
        }
        self.with_objects(engine, || {
            let workspace = self.workspace(engine)?;
            workspace.prepare(&wanted, &base, IgnoredFiles::Keep)?;
            Ok(Arc::new(workspace))
        })
    }

    /// A work tree of their own for checks. Unless the user wants it otherwise, it is made anew for
    /// each tree: nothing is there that a worker left beside the files of its change, or had its
    /// tests leave when an earlier change was judged.
    pub(super) fn prepare_gate(&self, engine: &Engine, tree: &Tree) -> Result<Workspace, Error> {
        let name = format!("{}@gate", workspace_name(&self.id.frame));
        let (wanted, base) = (oid(&tree.0)?, oid(&self.base.commit.0)?);
        let anew = !self.grounds(engine)?.keep_worktree;
        let workspace = self.with_objects(engine, || {
            let own = self.frame_workspace(engine)?;
            let workspace = self.open(engine, &name)?.borrowing(&own);
            if anew {
                workspace.remove()?;
            }
            workspace.prepare(&wanted, &base, IgnoredFiles::Keep)?;
            Ok(workspace)
        })?;
        self.refuse_false(&workspace, &wanted)?;
        // What the change is told by.
        let from = oid(&self.base.tree.0)?;
        if self.in_session && !workspace.is_true(&from)? {
            return Err(false_folder(&from).into());
        }
        Ok(workspace)
    }

    /// A work tree for trying another tree than the one that is judged, made anew each time.
    pub(super) fn prepare_trial(
        &self,
        engine: &Engine,
        gate: &Workspace,
        tree: &git::Oid,
    ) -> Result<Workspace, Error> {
        let name = format!("{}@trial", workspace_name(&self.id.frame));
        let own = self.frame_workspace(engine)?;
        let workspace = self.open(engine, &name)?.borrowing(&own).borrowing(gate);
        if !self.grounds(engine)?.keep_worktree {
            workspace.remove()?;
        }
        workspace.prepare(tree, &oid(&self.base.commit.0)?, IgnoredFiles::Keep)?;
        self.refuse_false(&workspace, tree)?;
        Ok(workspace)
    }

    /// A work tree for running the set-up command on a tree, once for all work trees that need what it
    /// makes; made anew each time.
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
            .borrowing(&own)
            .borrowing(asking);
        workspace.remove()?;
        workspace.prepare(tree, &oid(&self.base.commit.0)?, IgnoredFiles::Keep)?;
        self.refuse_false(&workspace, tree)?;
        Ok(workspace)
    }

    /// Refuses a work tree for checks that is not what its tree's name means, where a session has had
    /// the repository's objects to write to.
    fn refuse_false(&self, workspace: &Workspace, tree: &git::Oid) -> Result<(), Error> {
        if !self.in_session {
            return Ok(());
        }
        Err(match workspace.untrue(tree)? {
            None => return Ok(()),
            Some(file) if file.as_os_str().is_empty() => false_folder(tree),
            Some(file) => Halt::FalseObject {
                what: format!("`{}`", file.display()),
            },
        }
        .into())
    }

    /// What the run's gates go by beside their checks: what is configured, or was when a session began
    /// it.
    pub(super) fn grounds(&self, engine: &Engine) -> Result<GateConfig, Error> {
        match &self.basis {
            None => Ok(engine.config.grounds()),
            Some(basis) => GateConfig::deserialize(&basis.config).map_err(Error::Grounds),
        }
    }

    /// Whether nothing has been committed to the run's branch yet.
    pub(super) fn is_first_commit(&self, onto: &Tip) -> bool {
        *onto == self.started_from
    }

    fn open(&self, engine: &Engine, name: &str) -> Result<Workspace, Error> {
        match engine.workspace(&self.run, self.sandbox, name) {
            Err(workspace::Error::Sandbox(missing)) => Err(Halt::NoSandbox(missing).into()),
            opened => Ok(opened?),
        }
    }

    /// What confines what this job runs.
    pub(super) fn launcher(&self, engine: &Engine) -> Result<Arc<dyn CommandLauncher>, Error> {
        let found = engine.launcher_by(self.sandbox, &self.grounds(engine)?.sandbox);
        Ok(found.map_err(Halt::NoSandbox)?)
    }

    /// The mark of every process this job starts.
    pub(super) fn mark(&self, engine: &Engine) -> String {
        format!("{}/{}", engine.mark_of(&self.run), self.id.fence)
    }
}

fn false_folder(tree: &git::Oid) -> Halt {
    Halt::FalseObject {
        what: format!("a folder of the tree {tree}"),
    }
}

/// The name of a frame's workspace: its path with the separators replaced.
pub fn workspace_name(frame: &codeteam_core::ids::FramePath) -> String {
    // Neither this nor the `@` of those beside it can be in the name of a task.
    frame.as_str().replace('/', "+")
}

#[cfg(test)]
mod tests {
    use codeteam_core::ids::{FramePath, is_plain};

    use super::workspace_name;

    #[test]
    fn no_task_has_the_name_of_anothers_worktree() {
        let root = FramePath::root();
        for beside in ["@gate", "@trial", "@setup0", "@hand", "@s1"] {
            assert!(!is_plain(&format!("T1{beside}")));
        }
        let nested = workspace_name(&root.child("a").child("b"));
        assert!(nested.ends_with("a+b") && !is_plain("a+b"));
        assert_ne!(nested, workspace_name(&root.child("a--b")));
    }
}
