//! Confines, marks and limits the processes that a run starts.

use std::ffi::OsString;
use std::sync::Arc;

use codeteam_core::event::SandboxKind;
use codeteam_core::ids::RunId;

use super::Engine;
use crate::config;
use codeteam_host::confine::{Confinement, ConfinementError};
use codeteam_host::process::{CommandLauncher, DiskLimit, MARK, UnconfinedLauncher};
use codeteam_host::workspace::{self, Workspace, WorktreePool};

impl Engine {
    /// Returns the launcher that confines workers and gates. The first call checks that it works.
    pub fn launcher(
        &self,
        sandbox: SandboxKind,
    ) -> Result<Arc<dyn CommandLauncher>, ConfinementError> {
        self.launcher_for_config(sandbox, &self.config.sandbox)
    }

    /// Returns the launcher for the given sandbox configuration. It is created once and cached.
    pub(crate) fn launcher_for_config(
        &self,
        sandbox: SandboxKind,
        config: &config::SandboxConfig,
    ) -> Result<Arc<dyn CommandLauncher>, ConfinementError> {
        let key = (sandbox, format!("{config:?}"));
        let mut known = self
            .launchers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(launcher) = known.get(&key) {
            return Ok(Arc::clone(launcher));
        }
        let specs = self.workspaces.join(".sandbox");
        let settings =
            config.confinement_settings(&self.env, Some(&self.repo), &self.codeteam, &specs);
        let confinement = Confinement::find(sandbox, &settings)?;
        let launcher: Arc<dyn CommandLauncher> = match confinement {
            Some(confinement) => Arc::new(confinement),
            None => Arc::new(self.unconfined()),
        };
        known.insert(key, Arc::clone(&launcher));
        Ok(launcher)
    }

    /// Returns a launcher that runs commands on the host, as the user would.
    pub(crate) fn unconfined(&self) -> UnconfinedLauncher {
        self.env.unconfined_launcher()
    }

    /// Opens a workspace of a run. Git commands that touch files written by a worker are confined
    /// as the run's workers are.
    pub(crate) fn workspace(
        &self,
        run: &RunId,
        sandbox: SandboxKind,
        name: &str,
    ) -> Result<Workspace, workspace::Error> {
        let workspace = Workspace::open(&self.repo, &self.run_workspaces_folder(run), name)?;
        match sandbox {
            SandboxKind::None => Ok(workspace),
            SandboxKind::Bubblewrap | SandboxKind::Container => {
                let mark = format!("{}/git", self.process_mark(run));
                workspace.confined(&self.launcher(sandbox)?, &mark)
            }
        }
    }

    /// Opens a workspace of a run that starts with a work tree that an earlier one has left, and
    /// leaves its own. Sessions and people have the rights of the user, so that nothing is known
    /// about what they leave; for them there is [`Engine::workspace`].
    pub(crate) fn pooled_workspace(
        &self,
        run: &RunId,
        sandbox: SandboxKind,
        name: &str,
    ) -> Result<Workspace, workspace::Error> {
        let workspace = self.workspace(run, sandbox, name)?;
        Ok(workspace.keeping_trees(self.worktree_pool(sandbox)))
    }

    /// Returns the work trees that are kept for the runs of this repository.
    pub(crate) fn worktree_pool(&self, sandbox: SandboxKind) -> WorktreePool {
        WorktreePool::open(&self.workspaces, sandbox != SandboxKind::None)
    }

    /// Returns how much a command may leave on disk in a workspace.
    pub(crate) fn disk_limit(workspace: &Workspace, config: &config::SandboxConfig) -> DiskLimit {
        let megabytes = config.limits.disk_mb;
        DiskLimit {
            folders: vec![workspace.tree_dir(), workspace.git_dir()],
            bytes: megabytes.unwrap_or(config::DISK_MB).saturating_mul(1 << 20),
        }
    }

    /// Returns the mark that every process of a run carries. Two projects may have runs of the same
    /// name, so the mark contains the repository too: sweeping one run must never reach another's
    /// processes.
    pub(crate) fn process_mark(&self, run: &RunId) -> String {
        let repository = self
            .workspaces
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        format!("{repository}/{run}")
    }

    /// Returns the environment of a child process: what it needs, its mark, and nothing else of
    /// codeteam's own environment.
    pub(crate) fn child_env(
        mark: &str,
        more: Vec<(OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "dumb".into()),
            (MARK.into(), mark.into()),
        ];
        env.extend(more);
        env
    }
}
